"""The experiments of the RINGS paper as suites: every dataset in its six modes, named ``dataset@mode``.

Tables 6 and 7 (accuracy and AUROC), 13 (regression) and 15 and 16 (with GPS). A run of ours draws a fresh split, fresh
weights and a fresh perturbation; `graphnetz.rings.evaluate` with ``tuning="crossed"`` crosses the seeds of Table 12.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from graphnetz.datasets.cards import CARDS, task_of
from graphnetz.datasets.suites import SUITES
from graphnetz.records import DatasetCard, Task
from graphnetz.records.suite import Published, Suite, read_published

if TYPE_CHECKING:
    from graphnetz.models import ModelSpec

CITATION = "Coupette, Wayland, Simons and Rieck, No Metric to Rule Them All, ICML 2025"
MODES = ("o", "eg", "cg", "rg", "cf", "rf")
DRAWN = ("rg", "rf")
EPOCHS = 200
CARD_OF = {
    "AIDS": "aids", "COLLAB": "collab", "DD": "dd", "Enzymes": "enzymes_attributes", "IMDB-B": "imdb_binary",
    "IMDB-M": "imdb_multi", "MUTAG": "mutag", "NCI1": "nci1", "Peptides": "peptides_func",
    "Proteins": "proteins_full", "QM9": "qm9", "Reddit-B": "reddit_binary", "Reddit-M": "reddit_multi",
    "ZINC-12k": "zinc",
}  # fmt: skip
"""Our task for each dataset of the paper; there is none for MolHIV."""
CLASSIFIED = tuple(name for name in CARD_OF.values() if name not in ("qm9", "zinc"))


@dataclass(frozen=True)
class ModeOf:
    """A dataset in one of its modes, perturbed when it is loaded: listing suites must not import torch."""

    loader: Callable[..., Any]
    code: str

    def __call__(self, root: Any) -> Any:
        """Load and perturb."""
        return self._perturbed(root)

    def __reduce__(self) -> tuple[Any, ...]:
        # What perturbs is part of what describes this object, so that its code is part of a cell's key.
        return type(self), (self.loader, self.code), {"_perturbed": self._perturbed}

    @functools.cached_property
    def _perturbed(self) -> Callable[..., Any]:
        from graphnetz.rings.presets import PRESETS
        from graphnetz.rings.tasks import perturb_task

        task = Task("any", "graph_cls", self.loader)
        made = perturb_task(task, self.code, vary=True, test_share=PRESETS["paper"].test_share)
        return made.loader


class DrawnModeOf(ModeOf):
    """A mode that is drawn afresh for every seed."""

    def __call__(self, root: Any, *, seed: int) -> Any:  # type: ignore[override]
        """Load and perturb for one seed."""
        return self._perturbed(root, seed=seed)


def mode_tasks(names: Sequence[str]) -> list[Task]:
    """Return the tasks ``name@mode`` of some datasets.

    Parameters
    ----------
    names
        Tasks of ours, or ``enzymes_attributes``.

    Returns
    -------
    list of Task
        Six per dataset; AUROC is the headline of classification, as in the paper.

    Examples
    --------
    >>> [task.name for task in mode_tasks(["mutag"])]
    ['mutag@o', 'mutag@eg', 'mutag@cg', 'mutag@rg', 'mutag@cf', 'mutag@rf']
    """
    return [_mode(_original(name), code) for name in names for code in MODES]


def _original(name: str) -> Task:
    if name != "enzymes_attributes":
        return task_of(name)
    card = dataclasses.replace(CARDS["enzymes"], features=21)
    return dataclasses.replace(task_of("enzymes"), name=name, loader=enzymes_attributes, card=card)


def enzymes_attributes(root: str) -> Any:
    """Return the 600 enzymes with their 18 attributes and 3 labels."""
    from graphnetz.datasets.sources.tu import tu_dataset

    return tu_dataset(root, "ENZYMES", use_node_attr=True)


def _mode(task: Task, code: str) -> Task:
    loader = (DrawnModeOf if code in DRAWN else ModeOf)(task.loader, code)
    metric = "mae" if task.task_type == "graph_reg" else "auc"
    name = f"{task.name}@{code}"
    # A fresh perturbation per seed makes no fresh dataset: seeds draw splits, as without one.
    return dataclasses.replace(
        task, name=name, loader=loader, metric=metric, epochs=EPOCHS, graph=task.block,
        replication=task.replication or ("init" if _own_split(task.card) else "resplit"),
    )  # fmt: skip


def _own_split(card: DatasetCard | None) -> bool:
    return card is not None and card.name in ("zinc", "peptides_func")


def separability_study() -> list[Task]:
    """Return the classification datasets of RINGS, each in six modes (Tables 6 and 7)."""
    return mode_tasks(CLASSIFIED)


def regression_study() -> list[Task]:
    """Return QM9 and ZINC-12k, each in six modes (Table 13)."""
    return mode_tasks(("qm9", "zinc"))


def transformer_study() -> list[Task]:
    """Return MUTAG, NCI1 and PROTEINS_full, each in six modes, for GPS beside GCN, GAT and GIN (Tables 15, 16)."""
    return mode_tasks(("mutag", "nci1", "proteins_full"))


RUNS = {"6": 100, "7": 100, "13": 25, "15": 25, "16": 25}
"""Runs behind a figure of each table; Tables 13, 15 and 16: those of a mode that is not drawn, at most."""


def figures(*tables: str) -> tuple[Published, ...]:
    """Return published figures of some tables, under our names.

    Parameters
    ----------
    *tables
        Their numbers.

    Returns
    -------
    tuple of Published
        One per dataset, mode and model.

    Examples
    --------
    >>> [row.mean for row in figures("6") if (row.task, row.model) == ("mutag@o", "rings.GIN")]
    [0.767]
    """
    out = []
    for row in read_published("graphnetz.papers.rings"):
        if row.table in tables and row.task in CARD_OF:
            name = f"{CARD_OF[row.task]}@{row.more['mode']}"
            model = row.model if row.model == "GPS" else f"rings.{row.model}"
            out.append(dataclasses.replace(row, task=name, model=model, n=RUNS[row.table]))
    return tuple(out)


def _models(*names: str) -> Mapping[str, ModelSpec]:
    from graphnetz.models import MODELS  # torch, which listing suites must not import

    return {name: MODELS[name] for name in names}


PROTOCOL = {"edge_attributes": False, "selection": "best_val", "lr": 1e-3, "hidden_channels": 128, "batch_size": 64}
"""Within the paper's grid (Table 5), where nothing is searched."""
_OURS = ("rings.GCN", "rings.GAT", "rings.GIN")


def _study(name: str, make: Callable[[], list[Task]], models: Sequence[str], tables: Sequence[str], runs: int) -> None:
    SUITES.add(
        name,
        Suite(
            name, make, functools.partial(_models, *models), range(runs), PROTOCOL,
            published=functools.partial(figures, *tables), citation=f"mean and s.d. over runs, {CITATION}",
        ),
    )  # fmt: skip


_study("rings", separability_study, _OURS, ("6", "7"), 100)
_study("rings-regression", regression_study, _OURS[:1], ("13",), 25)
_study("rings-transformer", transformer_study, (*_OURS, "GPS"), ("15", "16"), 25)
