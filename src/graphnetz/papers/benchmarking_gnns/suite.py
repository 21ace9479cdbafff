"""The studies of Dwivedi et al. (2023) as named suites: which models, budgets and seeds, and what was published."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from graphnetz._core.errors import unknown_name
from graphnetz.analysis.sizes import parameter_counts
from graphnetz.datasets import SUITES
from graphnetz.datasets.bgnn import SIZES, Size
from graphnetz.models import MODELS, ModelSpec
from graphnetz.papers.benchmarking_gnns import tables as tables
from graphnetz.records import Task
from graphnetz.stats import welch_interval

SEEDS = (41, 95, 12, 35)
"""The published seeds."""

LARGE_LAYERS = 16

Published = Mapping[tuple[str, str], tuple[float, float, int]]


@dataclass(frozen=True)
class Study:
    """Models by name, the budget of each, seeds by size, and published figures by (task, model)."""

    name: str
    models: Mapping[str, ModelSpec]
    published: Published
    budget: int = 100_000
    budgets: Mapping[str, int] = field(default_factory=dict)
    seeds: Mapping[Size, tuple[int, ...]] = field(default_factory=lambda: {"published": SEEDS, "small": SEEDS})

    def tasks(self, size: Size) -> list[Task]:
        """Tasks of the study at a size."""
        if size not in SIZES:
            raise unknown_name("size", size, SIZES)
        make: Any = SUITES[self.name]
        made: list[Task] = make(size)
        return made

    def arguments(self, size: Size, *, budget: int | None = None) -> dict[str, Any]:
        """Keyword arguments for `run_benchmark`; a budget given here is that of all models."""
        own = {} if budget is not None else {name: {"budget": value} for name, value in self.budgets.items()}
        return {
            "tasks": self.tasks(size), "models": dict(self.models), "seeds": list(self.seeds[size]),
            "protocol": {"budget": budget or self.budget}, "model_protocol": own,
        }  # fmt: skip


@dataclass(frozen=True)
class Beside:
    """One of our cells beside the published one; ``verdict`` says what the Welch interval of the difference allows.

    ``low`` and ``high`` bound our mean minus the published one at 95 %. ``same_data`` is False for reduced sizes and
    for datasets of our own generators: a difference is then no sign of an error.
    """

    task: str
    model: str
    parameters: int
    ours: float
    smallest: float
    largest: float
    runs: int
    published: float
    published_sd: float
    low: float
    high: float
    verdict: Literal["compatible", "differs", "too wide to say"]
    same_data: bool


def _specs(names: tuple[str, ...], kinds: frozenset[str] | None = None, **kwargs: Any) -> dict[str, ModelSpec]:
    """Registered models, on some task types only, with constructor arguments where they take them."""
    out = {}
    for name in names:
        spec = MODELS[f"bgnn.{name}"]
        served = spec.task_types if kinds is None else spec.task_types & kinds
        accepted = {key: value for key, value in kwargs.items() if spec.accepts(key)}
        out[f"bgnn.{name}"] = ModelSpec(spec.cls, served, spec.factory, {**spec.kwargs, **accepted})
    return out


def _figures(*parts: Mapping[str, Mapping[str, tuple[float, float]]], suffix: str = "") -> Published:
    out: dict[tuple[str, str], tuple[float, float, int]] = {}
    for part in parts:
        for task, models in part.items():
            unit = 100.0 if task in tables.PERCENT else 1.0
            for model, (mean, sd) in models.items():
                out[task, model + suffix] = (mean / unit, sd / unit, tables.RUNS.get(task, 4))
    return out


_MESSAGE_PASSING = ("MLP", "GCN-vanilla", "GraphSAGE", "GCN", "MoNet", "GAT", "GatedGCN", "GIN")
_ISOTROPY = ("GCN-vanilla", "GCN", "GraphSAGE", "GIN", "GAT", "MoNet", "GatedGCN")
_EDGES = (
    "GatedGCN-isotropic", "GatedGCN-edgefeat", "GatedGCN", "GatedGCN-E", "GAT-isotropic", "GAT-edgefeat",
    "GAT-edgerepr", "GAT-edgerepr-E", "GraphSAGE", "GraphSAGE-edgefeat", "GraphSAGE-edgerepr", "GraphSAGE-edgerepr-E",
)  # fmt: skip
_SCALED = ("GCN", "GraphSAGE", "GAT", "MoNet", "GatedGCN", "GIN")
_ALL_BUT_JOINT = frozenset({"node_cls", "edge_cls", "link_pred", "graph_reg", "graph_cls"})


def _joint() -> dict[str, ModelSpec]:
    return _specs(("GIN-GRU", "GatedGCN-GRU"))


def _scaled() -> tuple[dict[str, ModelSpec], dict[str, int], Published]:
    models, budgets = {}, {}
    for label, layers, budget in (("100k", 4, 100_000), ("500k", LARGE_LAYERS, 500_000)):
        for name, spec in _specs(_SCALED, num_layers=layers).items():
            models[f"{name}-{label}"], budgets[f"{name}-{label}"] = spec, budget
    figures = {
        **_figures(tables.SMALL_BUDGET, suffix="-100k"),
        **_figures(tables.LARGE_BUDGET, suffix="-500k"),
    }
    return models, budgets, figures


def _studies() -> dict[str, Study]:
    # On CSL and CYCLES the encoding stands in place of the constant feature, as published.
    replaced = {"pe_mode": "replace"}
    graphs = _specs((*_MESSAGE_PASSING, "3WLGNN"), frozenset({"graph_cls"}), **replaced)
    # Sums as published for CYCLES; on CSL, where all graphs have 41 nodes, a mean differs by a factor only.
    cycles = _specs(("GIN", "GatedGCN"), frozenset({"graph_cls"}), readout="sum", **replaced)
    whole = _specs((*_MESSAGE_PASSING, "GatedGCN-E", "RingGNN", "3WLGNN"), _ALL_BUT_JOINT, **replaced) | _joint()
    scaled, budgets, figures = _scaled()
    folds: Mapping[Size, tuple[int, ...]] = {"published": tuple(range(20)), "small": tuple(range(5))}
    hundred: Mapping[Size, tuple[int, ...]] = {"published": tuple(range(100)), "small": tuple(range(5))}
    rows = _figures(tables.SMALL_BUDGET)
    pe_rows = _figures(tables.SMALL_BUDGET, tables.CYCLES)
    return {
        study.name: study
        for study in (
            Study("benchmarking-gnns", whole, rows),
            Study("pe-study", cycles | _joint(), pe_rows, seeds=folds),
            Study("csl-study", graphs, rows, seeds=hundred),
            Study("anisotropy-study", _specs(_ISOTROPY), rows),
            Study("edge-study", _specs(_EDGES), _figures(tables.EDGES), budget=27_000),
            Study("budget-study", scaled, figures, budgets=budgets),
        )
    }


_made: dict[str, Study] = {}


def study(name: str) -> Study:
    """Return a study by name."""
    known = studies()
    if name not in known:
        raise unknown_name("study", name, known)
    return known[name]


def studies() -> Mapping[str, Study]:
    """Every study by name."""
    if not _made:
        _made.update(_studies())
    return _made


def beside(report: Any, chosen: Study) -> list[Beside]:
    """Put every finished cell of a report beside the published figure of its task and model, where there is one.

    A reduced task ("_small") is put beside the row of the full one, and marked as other data.
    """
    out = []
    counts = parameter_counts(report.results)
    for (task, model), row in report.summary().iterrows():
        full = str(task).removesuffix("_small")
        figure = chosen.published.get((full, str(model)))
        if figure is None or not row["n_seeds"]:
            continue
        mean, sd, runs = figure
        values = report.scores.cell(task, model)
        finite = values[~(values != values)]
        spread = float(row["std"]) if row["std"] == row["std"] else math.nan
        found = welch_interval(float(row["mean"]), spread, int(row["n_seeds"]), mean, sd, runs, wide=_wide(mean))
        out.append(
            Beside(
                str(task),
                str(model),
                counts.get((str(task), str(model)), 0),
                float(row["mean"]),
                float(finite.min()),
                float(finite.max()),
                int(row["n_seeds"]),
                mean,
                sd,
                found.low,
                found.high,
                found.verdict,
                same_data=full == task and not full.startswith("cycles"),
            )
        )
    return out


def _wide(mean: float) -> float:
    """Half-width beyond which an interval around zero says nothing: 5 % of the published mean, at least 0.01."""
    return max(0.05 * abs(mean), 0.01)
