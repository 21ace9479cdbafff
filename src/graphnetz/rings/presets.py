"""Tuning presets: a quick one for a coffee break, and the paper's grid (Coupette et al. 2025, Tables 4, 5, 12)."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from graphnetz._core.errors import UsageError, unknown_name


@dataclass(frozen=True)
class Tuning:
    """How models are tuned and run on every mode.

    Parameters
    ----------
    search
        Values to try, as keywords of ``SearchSpace``; chosen by validation within every run.
    protocol
        Settings shared by all runs. Edge attributes are disregarded, as in the paper: structural
        perturbations have none.
    epochs, runs
        Epochs per training and runs (seeds: initialisation and split) per mode.
    vary
        Draw a fresh random perturbation for every run.
    test_share
        Share of the graphs to test on, for datasets without a split of their own; None leaves the
        benchmark's 10 %.
    crossed
        Seeds by what they vary, all of them crossed, in the place of ``runs`` (Table 12 of the paper): every seed of
        the initialisation is trained on every split and, in the random modes, every draw.
    models, graph_models
        Architectures unless others are asked for; ``graph_models`` take their place where graphs are the examples.
    note
        Said in the report.

    Examples
    --------
    >>> from graphnetz.rings import PRESETS, Tuning
    >>> Tuning(runs=30).runs, PRESETS["paper"].runs
    (30, 100)
    """

    search: Mapping[str, Any] = field(default_factory=dict)
    protocol: Mapping[str, Any] = field(default_factory=dict)
    epochs: int = 100
    runs: int = 10
    vary: bool = True
    test_share: float | None = 0.2
    models: tuple[str, ...] = ("GCN", "GAT", "GIN")
    graph_models: tuple[str, ...] = ()
    crossed: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    note: str = ""


GRANULAR = {
    "initialisation": (42, 7, 123, 56, 89),
    "split": (67, 23, 77, 88, 54),
    "perturbation": (34, 12, 99, 45, 10),
}
"""Seeds of the paper's finer evaluation (Table 12)."""
PRESETS: dict[str, Tuning] = {
    "quick": Tuning(
        # Three updates per epoch on a dataset the size of MUTAG: at 1e-3 nothing is learned in time. The last
        # epoch counts, because the best of many on a few validation graphs is the first lucky one.
        search={"lr": (1e-2, 3e-3), "model": {"dropout": (0.1,), "heads": (4,)}},
        protocol={"hidden_channels": 32, "batch_size": 64, "selection": "last", "eval_every": 50},
        epochs=50,
        runs=20,
    ),
    "paper": Tuning(
        search={
            "lr": (1e-2, 1e-3),
            "weight_decay": (5e-4, 5e-3),
            "hidden_channels": (128, 256),
            "batch_size": (64, 128),
            "model": {"dropout": (0.1, 0.5)},
        },
        protocol={"selection": "best_val"},
        epochs=200,
        runs=100,
        graph_models=("rings.GCN", "rings.GAT", "rings.GIN"),
    ),
}
"""Named tunings: ``"quick"`` takes minutes, ``"paper"`` is the grid of the RINGS paper."""
PRESETS["crossed"] = dataclasses.replace(
    PRESETS["paper"],
    crossed=GRANULAR,
    runs=25,
    note="Seeds are crossed as in Table 12 of the paper: 25 runs on five splits, 125 in the random modes. Runs of one "
    "split are one unit, and five units decide nothing.",
)


def tuning_of(tuning: str | Tuning | Mapping[str, Any], *, runs: int | None = None) -> Tuning:
    """Resolve a preset name, a `Tuning`, or changes to the quick preset; ``runs`` overrides."""
    if isinstance(tuning, Tuning):
        chosen = tuning
    elif isinstance(tuning, str):
        if tuning not in PRESETS:
            raise unknown_name("tuning preset", tuning, PRESETS)
        chosen = PRESETS[tuning]
    else:
        known = {item.name for item in dataclasses.fields(Tuning)}
        for key in tuning:
            if key not in known:
                raise unknown_name("tuning key", key, known)
        chosen = dataclasses.replace(PRESETS["quick"], **tuning)
    if runs is not None and chosen.crossed:
        raise UsageError("The seeds of this tuning are crossed; their number is the number of runs. Leave runs out.")
    if runs is not None:
        chosen = dataclasses.replace(chosen, runs=runs)
    if chosen.runs < 2:
        raise UsageError(f"Separability compares distributions of runs; {chosen.runs} given, at least 2 are needed.")
    return chosen
