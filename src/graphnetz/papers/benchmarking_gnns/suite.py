"""The studies of Dwivedi et al. (2023) as suites: which models, budgets and seeds, and what was published.

Published figures (``published.csv``, Tables 3 to 16) are mean and population standard deviation over runs, shares as
fractions of one, named after our tasks and models; "GCN-vanilla" is the paper's vanilla GCN. Where
a paper trains every seed on every fold, a figure counts as many runs as ours do: folds, because runs on one fold differ
by their initial weights only.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from graphnetz.datasets.suites import SUITES
from graphnetz.papers.benchmarking_gnns import tasks
from graphnetz.records.suite import Published, Suite, read_published

if TYPE_CHECKING:
    from graphnetz.models import ModelSpec

CITATION = "Dwivedi et al., Benchmarking Graph Neural Networks, JMLR 24(43), 2023"

_MESSAGE_PASSING = ("MLP", "GCN-vanilla", "GraphSAGE", "GCN", "MoNet", "GAT", "GatedGCN", "GIN")
_ISOTROPY = ("GCN-vanilla", "GCN", "GraphSAGE", "GIN", "GAT", "MoNet", "GatedGCN")
_EDGES = (
    "GatedGCN-isotropic", "GatedGCN-edgefeat", "GatedGCN", "GatedGCN-E", "GAT-isotropic", "GAT-edgefeat",
    "GAT-edgerepr", "GAT-edgerepr-E", "GraphSAGE", "GraphSAGE-edgefeat", "GraphSAGE-edgerepr", "GraphSAGE-edgerepr-E",
)  # fmt: skip
_SCALED = ("GCN", "GraphSAGE", "GAT", "MoNet", "GatedGCN", "GIN")
_ALL_BUT_JOINT = frozenset({"node_cls", "edge_cls", "link_pred", "graph_reg", "graph_cls"})
_BUDGETS = {"100k": (4, 100_000), "500k": (16, 500_000)}
"""Layers and parameters of the two rows of the budget study."""


def _specs(names: tuple[str, ...], kinds: frozenset[str] | None = None, **kwargs: Any) -> dict[str, ModelSpec]:
    """Registered models, on some task types only, with constructor arguments where they take them."""
    from graphnetz.models import MODELS, ModelSpec  # torch, which listing suites must not import

    out = {}
    for name in names:
        spec = MODELS[f"bgnn.{name}"]
        served = spec.task_types if kinds is None else spec.task_types & kinds
        accepted = {key: value for key, value in kwargs.items() if spec.accepts(key)}
        out[f"bgnn.{name}"] = ModelSpec(spec.cls, served, spec.factory, {**spec.kwargs, **accepted})
    return out


# On CSL and CYCLES the encoding stands in place of the constant feature, as published.
_REPLACED = {"pe_mode": "replace"}


def _joint() -> dict[str, ModelSpec]:
    return _specs(("GIN-GRU", "GatedGCN-GRU"))


def _whole() -> dict[str, ModelSpec]:
    return _specs((*_MESSAGE_PASSING, "GatedGCN-E", "RingGNN", "3WLGNN"), _ALL_BUT_JOINT, **_REPLACED) | _joint()


def _cycles() -> dict[str, ModelSpec]:
    # Sums as published for CYCLES; on CSL, where all graphs have 41 nodes, a mean differs by a factor only.
    return _specs(("GIN", "GatedGCN"), frozenset({"graph_cls"}), readout="sum", **_REPLACED) | _joint()


def _graphs() -> dict[str, ModelSpec]:
    return _specs((*_MESSAGE_PASSING, "3WLGNN"), frozenset({"graph_cls"}), **_REPLACED)


def _scaled() -> dict[str, ModelSpec]:
    return {
        f"{name}-{label}": spec
        for label, (layers, _) in _BUDGETS.items()
        for name, spec in _specs(_SCALED, num_layers=layers).items()
    }


_STUDIES = ("13", "14", "15", "16 (second run)")
"""Tables that ask something else than which architecture is best, and what repeats another row."""


@functools.cache
def rows() -> tuple[Published, ...]:
    """Return every row of Tables 3 to 16, in the order of the paper."""
    return read_published("graphnetz.papers.benchmarking_gnns")


@functools.cache
def figures(*budgets: str, tables: tuple[str, ...] = (), suffixed: bool = False) -> tuple[Published, ...]:
    """Return published figures by budget or by table; ``suffixed`` adds the budget to the names of models."""
    found = [
        row for row in rows()
        if (row.table in tables if tables else row.table not in _STUDIES) and (not budgets or _budget(row) in budgets)
    ]  # fmt: skip
    return tuple(dataclasses.replace(r, model=f"{r.model}-{_budget(r)}") if suffixed else r for r in found)


def _budget(row: Published) -> str:
    return row.more["budget"]


def _study(
    name: str,
    make: Callable[..., Any],
    models: Callable[[], Mapping[str, ModelSpec]],
    *budgets: str,
    budget: int = 100_000,
    tables: tuple[str, ...] = (),
    **more: Any,
) -> None:
    """Register one study."""
    found = functools.partial(figures, *budgets, tables=tables, suffixed="model_protocol" in more)
    SUITES.add(
        name,
        Suite(
            name, make, models, tasks.SEEDS, {"budget": budget}, sizes=tasks.SIZES,
            published=found, citation=f"mean ± population s.d., {CITATION}",
            reductions=tasks.REDUCED, **more,
        ),
    )  # fmt: skip


_study("benchmarking-gnns", tasks.benchmarking_gnns, _whole, "100k", "40k")
_study("pe-study", tasks.pe_study, _cycles, "100k")
_study("csl-study", tasks.csl_study, _graphs, "100k")
_study("anisotropy-study", tasks.anisotropy_study, functools.partial(_specs, _ISOTROPY), "100k")
_study("edge-study", tasks.edge_study, functools.partial(_specs, _EDGES), tables=("14", "15"), budget=27_000)
_study(
    "budget-study", tasks.budget_study, _scaled, *_BUDGETS,
    model_protocol={f"bgnn.{m}-{label}": {"budget": n} for label, (_, n) in _BUDGETS.items() for m in _SCALED},
)  # fmt: skip
