"""What the shipped bank measures: which graphs, which configurations, in which order."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np

from graphnetz._core.errors import UsageError, unknown_name
from graphnetz._core.readers import regular
from graphnetz.datasets import CARDS, real_graphs
from graphnetz.graphs import as_graph
from graphnetz.graphs.compressed import Graph
from graphnetz.selection import carried  # noqa: F401 - registers the real graphs
from graphnetz.selection.bank import PerformanceBank, own_name
from graphnetz.selection.collection import Collection, read_collection
from graphnetz.selection.example import read_labelled
from graphnetz.selection.space import BANK_TASKS, Configuration, core_space
from graphnetz.selection.space import TASK_TYPES as TASKS
from graphnetz.selection.synthetic import make

SIZES = (500, 850, 1200, 3100)
_LABELLED = frozenset({"block_model", "random_partition", "mixed_homophily", "digits", "breast_cancer", "wine"})


@dataclass(frozen=True)
class GraphSpec:
    """A graph that can be made again: family, parameters and seed."""

    family: str
    params: tuple[tuple[str, Any], ...] = ()
    seed: int = 0

    @property
    def name(self) -> str:
        """Name of the graph it makes."""
        return "-".join([self.family, *(f"{key}={value}" for key, value in self.params), f"seed={self.seed}"])

    @property
    def recipe(self) -> str:
        """What takes part in the draw of its splits."""
        return self.name

    @property
    def labelled(self) -> bool:
        """Whether the graph has node labels."""
        return self.family in _LABELLED

    def build(self) -> Graph:
        """Make the graph."""
        return make(self.family, self.seed, **dict(self.params))


@dataclass(frozen=True)
class FileSpec:
    """A graph of the user's own: an edge list file, with a file of node classes or without."""

    path: Path
    labels: Path | None = None
    family: str = "own"
    seed: int = 0
    recipe: str = ""

    @cached_property
    def name(self) -> str:
        """Name of the file without its ending, and a digest of what it holds."""
        return self._graph.name

    @property
    def labelled(self) -> bool:
        """Whether nodes have classes."""
        return self.labels is not None

    def build(self) -> Graph:
        """Read the graph."""
        return self._graph

    @cached_property
    def _graph(self) -> Graph:
        graph = read_labelled(self.path, self.labels)
        return replace(graph, name=own_name(graph))


@dataclass(frozen=True)
class CardSpec:
    """A real graph of the catalogue by the name of its card: edges and features, since some nodes have no class."""

    name: str
    root: str = "data/benchmark"
    seed: int = 0
    labelled: bool = False
    recipe: str = ""

    @property
    def family(self) -> str:
        """Category of the catalogue."""
        return CARDS[self.name].category

    def build(self) -> Graph:
        """Load the graph, fetching it where it is not at hand."""
        loaded = CARDS[self.name].loader(Path(self.root) / self.family / self.name)
        data = loaded[0] if isinstance(loaded, Sequence) or hasattr(loaded, "slices") else loaded
        features = None if data.x is None else data.x.numpy()
        return as_graph(data.edge_index.T.numpy(), int(data.num_nodes), features=features, name=self.name)


@dataclass(frozen=True)
class CollectionSpec:
    """Many graphs with a class each: a dataset of the catalogue, a folder in TU layout, a ``.pt`` file or a table."""

    source: str
    labels: Path | None = None
    root: str = "data/benchmark"
    seed: int = 0
    labelled: bool = False
    recipe: str = ""

    @cached_property
    def name(self) -> str:
        """Name of the dataset; of one's own data a digest of what they hold as well."""
        return self.source if self._listed else own_name(self._held)

    @property
    def family(self) -> str:
        """Category of the catalogue, or ``own``."""
        return CARDS[self.source].category if self._listed else "own"

    @property
    def simulated(self) -> bool:
        """Whether it is generated."""
        return self._listed and CARDS[self.source].simulated

    def build(self) -> Collection:
        """Read the graphs."""
        return replace(self._held, name=self.name)

    @property
    def _listed(self) -> bool:
        return self.source in CARDS and not Path(self.source).exists()

    @cached_property
    def _held(self) -> Collection:
        return read_collection(self.source, labels=self.labels, root=self.root)


Spec = GraphSpec | FileSpec | CardSpec | CollectionSpec
COLLECTIONS = ("digits_superpixels", "csl", "algo_connected", "algo_bipartite", "algo_eulerian", "algo_clique_number")
"""Collections that any machine can make, for ``select collect --task graph_cls``."""


def own_collections(files: Sequence[Path], labels: Sequence[Path] = ()) -> tuple[CollectionSpec, ...]:
    """Collections of one's own; tables want their classes in the same order."""
    if labels and len(labels) != len(files):
        raise UsageError(f"There are {len(files)} --graph and {len(labels)} --labels. Give one of each per collection.")
    tables = map(CollectionSpec, map(str, files), labels) if labels else map(CollectionSpec, map(str, files))
    return tuple(tables)


def carried_graphs() -> tuple[CardSpec, ...]:
    """Every real graph of the catalogue, from the one list `graphnetz.datasets.real_graphs`."""
    return tuple(map(CardSpec, real_graphs()))


def own_graphs(files: Sequence[Path], labels: Sequence[Path] = ()) -> tuple[FileSpec, ...]:
    """Edge lists and, in the same order, their files of node classes."""
    if labels and len(labels) != len(files):
        raise UsageError(f"There are {len(files)} --graph and {len(labels)} --labels. Give one of each per graph.")
    for file in (*files, *labels):
        regular(file, give="Give edge lists with --graph and their node classes with --labels.")
    specs = tuple(map(FileSpec, files, labels or (None,) * len(files)))
    names = [spec.name for spec in specs]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise UsageError(f"Two files hold the same graph, {twice!r}. Give each graph once.")
    return specs


@dataclass(frozen=True)
class Measurement:
    """One pair to train: the engine turns it into cells."""

    graph: Spec
    configuration: Configuration
    task_type: str


@cache
def _tables() -> dict[str, Any]:
    """The tables of the shipped bank.

    ``variants``: families with their parameters; ``large``: number of the variant and nodes, three per
    round, two of three with classes; ``carried``: real graphs; ``space``: methods with their settings;
    ``graph_space``: the same for graph classification.
    """
    text = (resources.files("graphnetz.selection") / "shipped" / "plan.json").read_text(encoding="utf-8")
    return dict(json.loads(text))


def bank_graphs(task_type: str = "link_pred") -> tuple[GraphSpec, ...]:
    """The graphs of the shipped bank in the order of measurement.

    Every variant comes once per round, with another size in each, so that any prefix is a mixture.
    """
    variants, out = _tables()["variants"], []
    for turn in range(len(SIZES)):
        for number, (family, variant) in enumerate(variants):
            size = SIZES[(number + turn) % len(SIZES)]
            out.append(GraphSpec(family, (("nodes", size), *variant.items()), 10 * number + turn))
        for number, size in _tables()["large"][3 * turn : 3 * turn + 3]:
            family, variant = variants[number]
            out.append(GraphSpec(family, (("nodes", size), *variant.items()), 10 * number + len(SIZES)))
        real = _tables()["carried"][2 * turn : 2 * turn + 2]
        out.extend(GraphSpec(family, tuple(params.items())) for family, params in real)
    return tuple(spec for spec in out if task_type != "node_cls" or spec.labelled)


def bank_space(task_type: str) -> tuple[Configuration, ...]:
    """The configurations of the shipped bank: a spread over the table, and baselines without edges or features."""
    made = (
        Configuration.from_json({"method": method, "settings": row.items()})
        for method, rows in _tables()["graph_space" if task_type == "graph_cls" else "space"] for row in rows
    )  # fmt: skip
    return tuple(item for item in made if item.serves(task_type))


def collection_plan(
    task_type: str,
    *,
    graphs: Sequence[Spec] | None = None,
    configurations: Sequence[Configuration] | None = None,
    bank: PerformanceBank | None = None,
) -> Iterator[Measurement]:
    """Pairs still to be measured, graph by graph; pairs with a record in ``bank`` are left out."""
    candidates = tuple(configurations or core_space(task_type))
    done = set() if bank is None else {(r.graph, r.configuration) for r in bank.records if r.task_type == task_type}
    for spec in graphs or bank_graphs(task_type):
        for configuration in candidates:
            if (spec.name, configuration) not in done:
                yield Measurement(spec, configuration, task_type)


def bank_plan(
    bank: PerformanceBank | None = None,
    *,
    task_types: Sequence[str] = TASKS,
    graphs: Sequence[Spec] | None = None,
) -> Iterator[Measurement]:
    """The plan of the shipped bank: graph after graph, each with all its configurations for every task."""
    for spec in graphs if graphs is not None else bank_graphs():
        for task_type in task_types:
            if _serves(spec, task_type):
                yield from collection_plan(task_type, graphs=(spec,), configurations=bank_space(task_type), bank=bank)


def _serves(spec: Spec, task_type: str) -> bool:
    if isinstance(spec, CollectionSpec):
        return task_type == "graph_cls"
    return task_type == "link_pred" or (task_type == "node_cls" and spec.labelled)


def chosen_plan(
    bank: PerformanceBank,
    *,
    task_types: Sequence[str] = TASKS,
    files: Sequence[Spec] = (),
    graphs: int | None = None,
    propose: int | None = None,
) -> list[Measurement]:
    """What ``graphnetz select collect`` is asked to measure and the bank does not hold yet.

    Parameters
    ----------
    files
        Graphs, or collections of graphs, of the user's own to measure instead of the built-in ones.
    graphs
        Only the first of the built-in graphs.
    propose
        Only this many pairs, the most informative ones of each task type by `propose_next`.
    """
    for task_type in task_types:
        if task_type not in BANK_TASKS:
            raise unknown_name("task type of the bank", task_type, BANK_TASKS)
    single: tuple[Spec, ...] = bank_graphs()[:graphs] if {*task_types} & {*TASKS} else ()
    several = tuple(map(CollectionSpec, COLLECTIONS))[:graphs] if "graph_cls" in task_types else ()
    specs = tuple(files) or (*single, *several)
    if propose is None:
        return list(bank_plan(bank, task_types=task_types, graphs=specs))
    by_name = {spec.name: spec for spec in specs}
    out: list[Measurement] = []
    for task_type in task_types:
        ranked = propose_next(bank, task_type, bank.matrix(task_type).P.size)
        pairs = [(by_name[name], configuration) for name, configuration in ranked if name in by_name]
        out.extend(Measurement(spec, configuration, task_type) for spec, configuration in pairs[:propose])
    return out


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
