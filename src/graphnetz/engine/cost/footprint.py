"""Whether one training step on a whole graph fits into memory, said before anything is trained.

One step of the model itself is run on four small graphs with the task's features, and the bytes of the
tensors that are alive together are counted. A step's memory is a sum of terms in nodes, arcs and (for
global attention) nodes squared, so four small graphs give its value on the real one.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Data

import graphnetz.kernels as kernels
from graphnetz._core.errors import UsageError
from graphnetz._core.rng import generator, seed_everything, training_context
from graphnetz.engine.cost.alive import Alive
from graphnetz.engine.cost.folders import rehearse
from graphnetz.engine.executors import Limits, LocalExecutor, default_workers, memory, results_of
from graphnetz.engine.fitting import build_model
from graphnetz.engine.plan import GraphSize, Plan
from graphnetz.engine.worker import LARGE_ARCS, Workbench
from graphnetz.graphs.folder import GraphFolder
from graphnetz.records import Cell, CellResult
from graphnetz.tasktypes import TASK_TYPES, Split, TaskType
from graphnetz.tasktypes.pairs import Pairs
from graphnetz.tasktypes.sampled import SAMPLED
from graphnetz.tasktypes.streamed import FolderData

ARC_BYTES = 128
"""Bytes per arc beside the step's tensors: the split's copy, and the structures sorted both ways."""

HOLES, ROW_BYTES = 1.8, 64
"""What a process takes for every byte alive, where rows per arc (of so many bytes) and rows per node alternate.

Freed blocks of one size do not fit the next request of another, and the C library keeps them. Measured for attention on
graphs of 10,000 and 50,000 nodes: 1.6 to 2.1. Where all rows are per node, as in GCN, it is 1, and so it is on large
graphs under a memory limit, whose arrays are given back.
"""

_PROBES = ((512, 2048), (1024, 2048), (1536, 2048), (512, 6144))


SMALL = 2_000
"""Nodes and arcs below which a graph is not called large, however little memory a cell may use."""


def refuse_too_large(
    plan: Plan, workbench: Workbench, *, workers: int | None, limit: float | None, done: Set[str] = frozenset()
) -> None:
    """Raise when training some pair on its whole graph needs more memory than a worker may use.

    Parameters
    ----------
    plan, workbench
        What is going to be run.
    workers, limit
        Cells at a time, and the megabytes each may use; None takes the share of what is free.
    done
        Keys of cells that are not going to be trained.
    """
    cells = [cell for cell in plan.cells if cell.key not in done]
    groups: dict[tuple[str, str], Cell] = {}
    for cell in cells:
        groups.setdefault((cell.task, cell.model), cell)
    count = min(workers or default_workers(Limits(memory_mb=limit)), len(cells))
    budget = limit * 1e6 if limit is not None else memory.available() / max(count, 1)
    suspects = [cell for cell in groups.values() if _suspicious(cell, plan.sizes, workbench, budget)]
    prices = estimate(workbench, plan.sizes, suspects, limited=limit is not None)
    for cell, needed in zip(suspects, prices, strict=True):
        if needed is not None and needed > budget and cell.task not in plan.sizes:
            raise UsageError(
                f"{cell.task} / {cell.model} needs about {needed / 1e6:.0f} MB beside the graph on disk and a worker "
                f"may use {budget / 1e6:.0f} MB: take smaller --batch-nodes or --fanouts, fewer --workers, or raise "
                "--memory."
            )
        if needed is not None and needed > budget:
            raise UsageError(
                f"{cell.task} / {cell.model} needs about {needed / 1e6:.0f} MB to train on the whole graph and a "
                f"worker may use {budget / 1e6:.0f} MB: train on sampled neighbours "
                '(--batch-nodes 1024 --fanouts 10,10, or protocol={"batch_nodes": 1024, "fanouts": (10, 10)}), '
                "use fewer --workers, or raise --memory."
            )


def _suspicious(cell: Cell, sizes: Mapping[str, GraphSize], workbench: Workbench, budget: float) -> bool:
    """Whether a generous bound is over the budget; most graphs are far too small to be looked at."""
    if isinstance(workbench.datasets.get((cell.task, None)), GraphFolder):
        return True
    sampled_type = workbench.tasks[cell.task].task_type in SAMPLED
    size = sizes.get(cell.task)
    encoder = workbench.specs[cell.model].kind == "encoder"
    if cell.protocol.batch_nodes is not None or size is None or not sampled_type or not encoder:
        return False
    if size.nodes + size.arcs < SMALL:
        return False  # sampling would not help; the probe of --dry-run and the memory limit speak for these
    wide = cell.protocol.hidden_channels
    return 4.0 * (size.nodes * (size.features + 64 * wide) + size.arcs * 32 * wide) > budget


def estimate(
    workbench: Workbench, sizes: Mapping[str, GraphSize], cells: Sequence[Cell], *, limited: bool
) -> list[float | None]:
    """Bytes that training each cell takes above its worker's baseline; None where the model's step failed.

    ``limited`` says whether workers have a memory limit: they give large arrays back then. The steps run in a
    supervised worker: what crashes there is left for the run itself to report.
    """
    price = Footprint(workbench, dict(sizes), limited)
    results = results_of(LocalExecutor(workers=1), cells, price, limits=Limits(seconds=600.0))
    found = [results[cell.key] for cell in cells]
    return [max(one.metrics["bytes"], one.peak_memory) if one.ok else None for one in found]


@dataclass(frozen=True)
class Footprint:
    """Calling it with a cell prices one training step of it, or rehearses it on a graph folder; nothing is kept."""

    workbench: Workbench
    sizes: Mapping[str, GraphSize]
    limited: bool
    before: list[float] = field(default_factory=list)  # resident bytes of the process at the first call in it

    def __call__(self, cell: Cell) -> CellResult:
        """Return a result with the metric ``bytes``; its peak memory is a price too."""
        if not self.before:
            self.before.append(memory.resident())
        spec, kind = self.workbench.specs[cell.model], TASK_TYPES[self.workbench.tasks[cell.task].task_type]
        with training_context(cell.seed, dtype=cell.protocol.dtype):
            split = self.workbench.seen_by(cell)
            if isinstance(split.data, FolderData):
                needed = rehearse(kind, spec, split, cell.protocol, cell.seed, before=self.before[0])
                peak = math.nan  # of the rehearsal, which the executor measures as it does that of a cell
            else:
                seed_everything(cell.seed)
                model = build_model(kind, spec, split, cell.protocol).train()
                peaks = [step_bytes(kind, model, small_split(split, *probe)) for probe in _PROBES]
                needed, peak = resident(peaks, self.sizes[cell.task], limited=self.limited), 0.0
        return CellResult(
            cell.key, cell.task, cell.model, cell.seed, metric="none", metrics={"bytes": needed}, peak_memory=peak
        )


def extrapolate(peaks: Sequence[float], size: GraphSize) -> float:
    """Value at the real size of ``c + a n + q n^2 + b m`` through the peaks of the four small graphs."""
    step = float((_terms(peaks) * _powers(size)).sum())
    return step + ARC_BYTES * size.arcs + 4.0 * size.nodes * size.features


def resident(peaks: Sequence[float], size: GraphSize, *, limited: bool) -> float:
    """What a process takes for a step: the bytes alive, and holes between them where rows of two kinds alternate."""
    terms, powers = _terms(peaks), _powers(size)
    parts = terms * powers
    step = float(parts.sum())
    given_back = limited and size.arcs >= LARGE_ARCS
    mixed = bool(not given_back and terms[3] > ROW_BYTES and 0.1 * step < parts[3] < 0.9 * step)
    return extrapolate(peaks, size) + ((HOLES - 1.0) * step if mixed else 0.0)


def _powers(size: GraphSize) -> np.ndarray:
    return np.array([1.0, size.nodes, float(size.nodes) ** 2, size.arcs])


def _terms(peaks: Sequence[float]) -> np.ndarray:
    rows = [[1.0, n, n**2, m] for n, m in _PROBES]
    terms = np.linalg.solve(np.array(rows), np.asarray(peaks, dtype=np.float64))
    terms[1:] = np.maximum(terms[1:], 0.0)
    if terms[2] < 1e-3 * terms[1]:  # rounding of allocations, not a square
        terms[1], terms[2] = max((peaks[2] - peaks[0]) / (_PROBES[2][0] - _PROBES[0][0]), 0.0), 0.0
    return terms


def small_split(split: Split, nodes: int, arcs: int) -> Split:
    """The split's features on a random graph of a given size, all of whose nodes or pairs train."""
    rng, data = generator("footprint", nodes, arcs), split.data
    rows = torch.from_numpy(rng.integers(0, int(data.num_nodes or 1), nodes))
    edges = torch.from_numpy(rng.integers(0, max(data.num_edges, 1), arcs))
    small = Data(edge_index=torch.from_numpy(rng.integers(0, nodes, (2, arcs))), num_nodes=nodes)
    for key, value in data.to_dict().items():
        if isinstance(value, Tensor) and value.dim() and key not in ("edge_index", "ptr"):
            if data.is_node_attr(key):
                small[key] = value[rows]
            elif data.is_edge_attr(key):
                small[key] = value[edges]
    if isinstance(split.train, Pairs):
        count = max(arcs * len(split.train) // max(data.num_edges, 1), 1)
        chosen = torch.from_numpy(rng.integers(0, len(split.train), count))
        relation = None if split.train.relation is None else split.train.relation[chosen]
        pairs = Pairs(torch.from_numpy(rng.integers(0, nodes, (2, count))), split.train.label[chosen], relation)
        return dataclasses.replace(split, data=small, train=pairs, cache={})
    labels = None if split.labels is None else split.labels[rows]
    return dataclasses.replace(split, data=small, train=torch.arange(nodes), labels=labels, cache={})


def step_bytes(kind: TaskType, model: Any, split: Split) -> int:
    """Bytes of the tensors alive at the worst moment of one forward and backward pass."""
    for parameter in model.parameters():
        parameter.grad = None
    # As the engine trains it: plain layers hold messages that the kernels never build.
    with kernels.accelerate(model, split.data), Alive() as alive:
        kind.loss(model, split, split.data).backward()  # type: ignore[no-untyped-call]
    return int(alive.peak)
