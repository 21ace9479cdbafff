"""What to measure: the graphs of the shipped bank, and pairs of graph and configuration to train."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from graphnetz.selection.bank import PerformanceBank
from graphnetz.selection.graph import Graph
from graphnetz.selection.space import Configuration, core_space
from graphnetz.selection.synthetic import make

_SIZES = (400, 800, 1600, 3200, 5000)
_LABELLED = frozenset({"block_model", "random_partition", "mixed_homophily"})


@dataclass(frozen=True)
class GraphSpec:
    """A graph that can be made again: family, parameters and seed."""

    family: str
    params: tuple[tuple[str, Any], ...]
    seed: int

    @property
    def name(self) -> str:
        """Name of the graph it makes."""
        return "-".join([self.family, *(f"{key}={value}" for key, value in self.params), f"seed={self.seed}"])

    @property
    def labelled(self) -> bool:
        """Whether the graph has node labels."""
        return self.family in _LABELLED

    def build(self) -> Graph:
        """Make the graph."""
        return make(self.family, self.seed, **dict(self.params))


@dataclass(frozen=True)
class Measurement:
    """One pair to train: the engine turns it into cells."""

    graph: GraphSpec
    configuration: Configuration
    task_type: str


_VARIANTS: dict[str, tuple[dict[str, Any], ...]] = {
    "erdos_renyi": ({"degree": 6.0}, {"degree": 16.0}),
    "barabasi_albert": ({"attach": 2}, {"attach": 5}, {"attach": 10}),
    "watts_strogatz": (
        {"neighbours": 6, "rewire": 0.05},
        {"neighbours": 6, "rewire": 0.3},
        {"neighbours": 12, "rewire": 0.1},
    ),
    "powerlaw_cluster": (
        {"attach": 3, "triangle": 0.3},
        {"attach": 3, "triangle": 0.9},
        {"attach": 8, "triangle": 0.6},
    ),
    "kronecker": ({"degree": 8.0, "skew": 0.45}, {"degree": 16.0, "skew": 0.57}),
    "block_model": (
        {"classes": 4, "degree": 8.0, "inside": 0.85, "signal": 0.5},
        {"classes": 8, "degree": 12.0, "inside": 0.7, "signal": 0.2},
        {"classes": 3, "degree": 6.0, "inside": 0.1, "signal": 0.8},
        {"classes": 5, "degree": 20.0, "inside": 0.5, "signal": 0.0},
    ),
    "random_partition": (
        {"mean_size": 20, "degree": 8.0, "inside": 0.9, "signal": 0.3},
        {"mean_size": 60, "degree": 12.0, "inside": 0.7, "signal": 0.6},
        {"mean_size": 40, "degree": 16.0, "inside": 0.4, "signal": 0.1},
    ),
    "mixed_homophily": (
        {"classes": 4, "degree": 8.0, "low": 0.1, "high": 0.9, "signal": 0.4},
        {"classes": 6, "degree": 10.0, "low": 0.4, "high": 1.0, "signal": 0.2},
        {"classes": 3, "degree": 14.0, "low": 0.0, "high": 0.5, "signal": 0.6},
        {"classes": 2, "degree": 5.0, "low": 0.6, "high": 1.0, "signal": 0.1},
        {"classes": 10, "degree": 9.0, "low": 0.2, "high": 0.7, "signal": 1.0},
    ),
}


def bank_graphs(task_type: str = "link_pred") -> tuple[GraphSpec, ...]:
    """The graphs of the shipped bank: every variant at every size, each with its own seed."""
    out: list[GraphSpec] = []
    for family, variants in _VARIANTS.items():
        for number, variant in enumerate(variants):
            for size in _SIZES:
                out.append(GraphSpec(family, (("nodes", size), *variant.items()), 100 * number + len(out)))
    return tuple(spec for spec in out if task_type != "node_cls" or spec.labelled)


def collection_plan(
    task_type: str,
    *,
    graphs: Sequence[GraphSpec] | None = None,
    configurations: Sequence[Configuration] | None = None,
    bank: PerformanceBank | None = None,
) -> Iterator[Measurement]:
    """Pairs still to be measured, small graphs first; pairs with a record in ``bank`` are left out."""
    chosen = sorted(graphs or bank_graphs(task_type), key=lambda spec: dict(spec.params).get("nodes", 0))
    candidates = tuple(configurations or core_space(task_type))
    done = set() if bank is None else {(r.graph, r.configuration) for r in bank.records if r.task_type == task_type}
    for spec in chosen:
        for configuration in candidates:
            if (spec.name, configuration) not in done:
                yield Measurement(spec, configuration, task_type)


def propose_next(bank: PerformanceBank, task_type: str, count: int) -> tuple[tuple[str, Configuration], ...]:
    """Propose the pairs whose measurement would tell most: uncertain configurations on bare graphs.

    The value of a pair is the spread of its configuration over the graphs (row means removed) times
    the standard error scale of both its row and its column, so that one graph does not take all.
    """
    table = bank.matrix(task_type)
    seen = np.isfinite(table.P)
    rows, columns = seen.sum(axis=1).astype(float), seen.sum(axis=0).astype(float)
    residual = table.P - np.where(rows > 0, np.nansum(table.P, axis=1) / np.maximum(rows, 1), np.nan)[:, None]
    overall = float(np.nanstd(residual)) or 1.0
    spread = np.sqrt((np.nansum(residual**2, axis=0) + overall**2) / (columns + 1))
    out: list[tuple[str, Configuration]] = []
    for _ in range(min(count, int((~seen).sum()))):
        value = np.where(seen, -np.inf, spread[None, :] / np.sqrt((1 + rows)[:, None] * (1 + columns)[None, :]))
        i, j = np.unravel_index(int(value.argmax()), value.shape)
        out.append((table.graphs[i], table.configurations[j]))
        seen[i, j] = True
        rows[i] += 1
        columns[j] += 1
    return tuple(out)
