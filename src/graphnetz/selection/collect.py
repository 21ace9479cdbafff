"""Filling the bank through the engine: resumable, parallel, a few graphs at a time."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from graphnetz._core.errors import UsageError
from graphnetz.graphs.compressed import Graph
from graphnetz.records import Cell, CellResult, Task
from graphnetz.records.task import ExampleNames
from graphnetz.selection.bank import PerformanceBank, PerformanceRecord
from graphnetz.selection.building import engine_model
from graphnetz.selection.collection import Collection
from graphnetz.selection.plan import CollectionSpec, GraphSpec, Measurement, Spec
from graphnetz.selection.space import Configuration
from graphnetz.selection.splits import graph_split, stored_split

PROTOCOL = {
    "optimiser": "adam", "lr": 1e-2, "hidden_channels": 32, "selection": "best_val", "patience": 30, "eval_every": 5,
}  # fmt: skip
"""How every encoder of the bank is trained, for at most `EPOCHS` epochs."""

EPOCHS = 300
GRAPH_EPOCHS, GRAPH_BATCH = 60, 32
"""Epochs of graph classification, and graphs in a step of training: an epoch has many steps."""

_CHUNK = 10
_WARM: set[str] = set()
"""Models that this process has run."""


def measured_task(
    graph: Graph | Collection,
    task_type: str,
    *,
    splits: Path | None = None,
    epochs: int | None = None,
    recipe: str = "",
) -> Task:
    """Return a graph as a task with the splits of the bank, one per seed; ``recipe`` as in `stored_split`.

    A node without features gets a number, for which encoders learn a vector (as in GLEMOS, Park et
    al., 2023). A collection of graphs is given as it is; the engine describes nodes without features by degrees.
    """
    if isinstance(graph, Collection):
        return _graphs_task(graph, task_type, epochs or GRAPH_EPOCHS)
    if task_type == "graph_cls":
        raise UsageError("Graph classification asks for many graphs with a class each, not one graph.")
    if task_type == "node_cls" and graph.labels is None:
        raise UsageError("Node classification needs labels. Give a PyG Data with y, or as_graph(..., labels=...).")

    def load(root: str | None = None, *, seed: int = 0) -> Any:  # noqa: ARG001 - loaders take the data folder
        split = stored_split(graph, task_type, splits, seed, recipe=recipe)
        return _data(graph, task_type, split, scale=not recipe)

    name = f"{graph.name} {task_type}"
    names = ExampleNames(graph.node_names, graph.class_names if task_type == "node_cls" else ())
    return Task(name, task_type, load, epochs or EPOCHS, replication="resplit", graph=graph.name, names=names)


def _graphs_task(held: Collection, task_type: str, epochs: int) -> Task:
    from graphnetz.records import GraphList

    if task_type != "graph_cls":
        raise UsageError(f"Many graphs with a class each are for graph_cls, not {task_type}.")
    graphs = [_classed(graph, label) for graph, label in zip(held.graphs, held.labels.tolist(), strict=True)]

    def load(root: str | None = None, *, seed: int = 0) -> Any:  # noqa: ARG001 - loaders take the data folder
        return GraphList(graphs, splits=graph_split(held.labels, seed))

    return Task(
        f"{held.name} {task_type}", task_type, load, epochs, protocol={"batch_size": GRAPH_BATCH},
        replication="resplit", graph=held.name, names=ExampleNames(classes=held.class_names),
    )  # fmt: skip


def _classed(graph: Any, label: int) -> Any:
    """The graph with its class numbered from 0, and nothing that names it."""
    import torch

    out = graph.clone()
    out.y = torch.tensor([label])
    return out


def _data(graph: Graph, task_type: str, split: dict[str, Any], *, scale: bool = True) -> Any:
    import torch
    from torch_geometric.data import Data

    def both(pairs: Any) -> Any:
        return torch.from_numpy(np.concatenate([pairs, pairs[:, ::-1]]).T.copy())

    features = graph.features
    if features is None:
        x = torch.arange(graph.num_nodes)[:, None]
    else:
        dense = features.toarray() if hasattr(features, "toarray") else features
        x = torch.tensor(np.asarray(dense), dtype=torch.float32)
        x = x * feature_factor(x) if scale else x  # generated features have a length of their own
    if task_type != "link_pred":
        labels = torch.tensor(graph.labels)
        data = Data(x=x, edge_index=both(graph.edges), y=labels.clamp(min=0))
        for part in ("train", "val", "test"):
            mask = torch.zeros(graph.num_nodes, dtype=torch.bool)
            mask[torch.from_numpy(split[part])] = True
            data[f"{part}_mask"] = mask & (labels >= 0)  # a node without a class is in no part
        return data
    data = Data(x=x, edge_index=both(split["train"]), train_pos_edge_index=torch.from_numpy(split["train"].T.copy()))
    for part in ("val", "test"):
        data[f"{part}_pos_edge_index"] = torch.from_numpy(split[part].T.copy())
        data[f"{part}_neg_edge_index"] = torch.from_numpy(split[f"{part}_negative"].T.copy())
    return data


def feature_factor(x: Any) -> float:
    """The number that makes a row as long as the learned vector of a node without features.

    Term weights of a few hundredths would hardly move a model within the patience of the protocol.
    """
    length = float((x * x).sum(dim=1).mean().sqrt())
    return PROTOCOL["hidden_channels"] ** 0.5 / length if length > 0 else 1.0  # type: ignore[operator]


@dataclass(frozen=True)
class Effort:
    """How much a collection may use."""

    workers: int | None = None
    backend: str = "local"
    timeout: float | None = None
    epochs: int | None = None


@dataclass(frozen=True)
class OnProcessor:
    """Runs a cell and files processor seconds as its cost.

    A cell has one thread, so these are the seconds of an idle machine, whatever else ran meanwhile.
    The executor keeps a time that it is given. A model that this process has not seen runs for an
    epoch first: imports and compilation are paid once, and are not the price of a training run.
    """

    run_one: Callable[[Cell], CellResult]

    def __call__(self, cell: Cell) -> CellResult:
        """Run the cell."""
        if cell.model not in _WARM:
            self.run_one(replace(cell, protocol=cell.protocol.replace(epochs=1)))
            _WARM.add(cell.model)
        begin = time.process_time()
        result = self.run_one(cell)
        return replace(result, seconds=time.process_time() - begin)


def collect(
    plan: Iterable[Measurement],
    out: str | Path,
    *,
    bank: PerformanceBank | None = None,
    effort: Effort | None = None,
    on_chunk: Callable[[PerformanceBank], None] | None = None,
    verbose: bool = False,
) -> PerformanceBank:
    """Measure the pairs of a plan and return ``bank`` with the new records.

    The folder ``out`` keeps the store of the engine, the splits and ``bank.npz``, which is written
    after every few graphs: a collection that was stopped goes on where it was.
    """
    folder = Path(out)
    total = bank if bank is not None else PerformanceBank()
    for chunk in _chunks(plan):
        _measure(chunk, folder, total, effort or Effort(), verbose)
        total.save(folder / "bank.npz")
        if on_chunk is not None:
            on_chunk(total)
    return total


def _chunks(plan: Iterable[Measurement]) -> Iterator[list[Measurement]]:
    chunk: list[Measurement] = []
    seen: set[tuple[Spec, str]] = set()
    for item in plan:
        if (item.graph, item.task_type) not in seen and len(seen) == _CHUNK:
            yield chunk
            chunk, seen = [], set()
        seen.add((item.graph, item.task_type))
        chunk.append(item)
    if chunk:
        yield chunk


def _measure(chunk: Sequence[Measurement], folder: Path, bank: PerformanceBank, effort: Effort, verbose: bool) -> None:
    import graphnetz.kernels as kernels
    from graphnetz.engine.executors import EXECUTORS, Limits
    from graphnetz.engine.plan import make_plan
    from graphnetz.engine.run import execute
    from graphnetz.engine.store import Store
    from graphnetz.engine.worker import Workbench

    made = {spec: spec.build() for spec in dict.fromkeys(item.graph for item in chunk)}
    tasks = [
        measured_task(made[spec], task_type, splits=folder / "splits", epochs=effort.epochs, recipe=spec.recipe)
        for spec, task_type in dict.fromkeys((item.graph, item.task_type) for item in chunk)
    ]
    configurations = {item.configuration.name: item.configuration for item in chunk}
    workbench = Workbench(
        {task.name: task for task in tasks},
        {name: engine_model(item) for name, item in configurations.items()},
        str(folder / "data"),
    )
    wanted = {(f"{item.graph.name} {item.task_type}", item.configuration.name) for item in chunk}
    with Store.create(folder) as store:
        plan = make_plan(workbench, (0,), protocol=PROTOCOL)
        plan = replace(plan, cells=tuple(cell for cell in plan.cells if (cell.task, cell.model) in wanted))
        kernels.load()
        store.plan(plan.cells)
        executor = EXECUTORS[effort.backend](workers=effort.workers)
        execute(store, plan, OnProcessor(workbench), executor, limits=Limits(effort.timeout, None), verbose=verbose)
        results = list(store.results([cell.key for cell in plan.cells], histories=False))
    by_task = {task.name: (task.graph, task.task_type) for task in tasks}
    for spec, graph in made.items():
        if spec.name not in bank.graphs:
            found = not isinstance(spec, GraphSpec)
            found = found and not (isinstance(spec, CollectionSpec) and spec.simulated)
            marks = found or isinstance(spec, CollectionSpec)
            marked = sorted({item.task_type for item in chunk if item.graph == spec}) if marks else []
            origin = f"{spec.family}, seed {spec.seed}" if isinstance(spec, GraphSpec) else spec.family
            bank.add_graph(spec.name, graph, domain=spec.family, origin=origin, real=found, task_types=marked)
    for result in results:
        if result.ok and np.isfinite(result.value):
            name, task_type = by_task[result.task]
            bank.add(record_of(result, str(name), configurations[result.model], task_type))


def record_of(result: CellResult, graph: str, configuration: Configuration, task_type: str) -> PerformanceRecord:
    """Turn a result of the engine into a record of the bank."""
    metrics = {k.removeprefix("test_"): float(v) for k, v in result.metrics.items() if k.startswith("test_")}
    value = result.value if result.greater_is_better else -result.value
    return PerformanceRecord(
        graph, configuration, task_type, value, result.metric.removeprefix("test_"), metrics,
        result.seconds, result.peak_memory, result.seed,
    )  # fmt: skip
