"""What happens inside one cell: load, split, build, fit, measure."""

from __future__ import annotations

import copy
import dataclasses
from collections import OrderedDict
from collections.abc import Mapping, Set
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from torch import nn
from torch_geometric.data import Data

import graphnetz.kernels as kernels
from graphnetz._core import malloc
from graphnetz._core.device import require_device
from graphnetz._core.errors import DataError, GraphnetzError
from graphnetz._core.paths import slug
from graphnetz._core.rng import training_context
from graphnetz.engine.fitting import search_once, train_once
from graphnetz.engine.guard import Guard, TamperedError, Watch, private, switched, switches, threads_fixed
from graphnetz.engine.identity.code import users_files
from graphnetz.engine.identity.reads import note_reads, seen, watched
from graphnetz.engine.predictions import examined, kept_predictions
from graphnetz.engine.quiet import is_quiet
from graphnetz.engine.search import SearchSpace
from graphnetz.engine.weights import SUFFIX, write_weights
from graphnetz.metrics import METRICS
from graphnetz.models import ModelSpec
from graphnetz.models.budget import budget_notes
from graphnetz.models.spec import MultiTaskFactory
from graphnetz.records import LAYERS_NOTE, Cell, CellResult, GraphList, Replication, Task
from graphnetz.tasktypes import TASK_TYPES, DivergedError, Fit, Split, TaskType, shown
from graphnetz.tasktypes.graph_level import OnGraphs, evaluation_batches
from graphnetz.tasktypes.overlap import refuse_overlap
from graphnetz.tasktypes.packing import PackedGraphs
from graphnetz.tasktypes.streamed import FolderData

LARGE_ARCS = 1 << 19
"""Arcs from which rows per arc take megabytes: kept when they are freed, they leave holes of the same size again."""

_SPLITS_KEPT = 12
_SPLIT_BYTES = 64 * 2**20


@dataclass
class Workbench:
    """Tasks, models and data of a run; calling it with a cell trains that cell.

    A cell is lent data and libraries and must leave them as they were, or it fails as ``tampered``. Models of this
    package are known to do so. Any other (`foreign`) gets a copy of the data, and what it did to classes, libraries and
    globals of its modules is undone. Where its code could do more than that (it is not `quiet`), a worker that can fork
    trains it in a child of its own: it calls `prepare`, and the child `apart`.

    The driver fills ``datasets`` before any worker is forked, so workers share it. Only catalogue
    generators, which are pure functions of the seed, are loaded where they are needed. ``found`` holds
    what a seed varies for tasks that do not say so themselves.
    """

    tasks: Mapping[str, Task]
    specs: dict[str, ModelSpec]
    root: str
    search: SearchSpace | None = None
    save_predictions: bool = True
    weights: str | None = None
    datasets: dict[tuple[str, int | None], Any] = field(default_factory=dict)
    found: dict[str, Replication | None] = field(default_factory=dict)
    _splits: OrderedDict[tuple[str, int, str], Split] = field(default_factory=OrderedDict)
    _files: dict[tuple[str, str], Set[str]] = field(default_factory=dict)
    _quiet: dict[str, bool] = field(default_factory=dict)
    _ready: tuple[str, Split] | None = None
    _guard: Guard | None = None

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_ready": None, "_guard": None}  # about one process; another makes its own

    def dataset(self, name: str, seed: int) -> Any:
        """Return the data of a task for a seed, loading it at most once where that is possible."""
        task = self.tasks[name]
        key = (name, seed if task.seeded else None)
        if key not in self.datasets:
            loaded = self.load(name, seed)
            if task.seeded:
                return loaded  # a fresh sample per seed: keeping them all would only cost memory
            self.datasets[key] = loaded
        return self.datasets[key]

    def load(self, name: str, seed: int) -> Any:
        """Run the task's loader and transform."""
        task = self.tasks[name]
        folder = Path(self.root, task.category or "custom", slug(task.card.name if task.card else task.name))
        loaded = task.loader(str(folder), seed=seed) if task.seeded else task.loader(str(folder))
        return _transformed(loaded, task.transform) if task.transform is not None else loaded

    def split(self, name: str, seed: int, *, dtype: str = "float32") -> Split:
        """Return the split of a task for a seed; recent small ones are kept."""
        key = (name, seed, dtype)
        if key in self._splits:
            self._splits.move_to_end(key)
            return self._splits[key]
        task = self.tasks[name]
        try:
            dataset = self.dataset(name, seed)
            split = TASK_TYPES[task.task_type].split(dataset, seed)
        except DataError as error:
            raise DataError(f"Task {name!r}: {error}") from error
        if trust := _info(dataset).get("trust"):
            split.notes = (*split.notes, str(trust))  # files that no published checksum could be compared with
        if task.after_split is not None:
            with watched(self.root):
                split = task.after_split(split, seed)
        split.metric = task.metric or split.metric
        found = self.found.get(name, "unknown") if task.seeded else None
        split.replication = task.replication or found or split.replication
        if _size(split) < _SPLIT_BYTES:
            self._splits[key] = split
            while len(self._splits) > _SPLITS_KEPT:
                self._splits.popitem(last=False)
        return split

    @staticmethod
    def refuse_overlap(name: str, split: Split) -> None:
        """Refuse a split whose parts share examples; a microsecond where that was asked before."""
        try:
            refuse_overlap(split)
        except DataError as error:
            raise DataError(f"Task {name!r}: {error}") from error

    def seen_by(self, cell: Cell) -> Split:
        """Return the split as the models of a cell see it."""
        split = self.split(cell.task, cell.seed, dtype=cell.protocol.dtype)
        if cell.protocol.edge_attributes:
            return split
        if "no_edge_attributes" not in split.cache:
            split.cache["no_edge_attributes"] = without_edge_attributes(split)
        found: Split = split.cache["no_edge_attributes"]
        return found

    def prepare(self, cell: Cell) -> None:
        """Make in a worker what the child that trains a cell will find ready; no code of a model runs here.

        Parameters
        ----------
        cell
            The cell that the child will train.
        """
        self._ready = None
        with training_context(cell.seed, dtype=cell.protocol.dtype):
            split, kind = self.seen_by(cell), TASK_TYPES[self.tasks[cell.task].task_type]
            self._lent(split, kind)
            _index(split)
            if self.save_predictions:
                examined(split)
        self._ready = (cell.key, split)
        self._guarded()

    def foreign(self, cell: Cell) -> bool:
        """Whether the model of a cell has code that is not of this package or PyTorch Geometric."""
        return not self.specs[cell.model].is_ours

    def quiet(self, cell: Cell) -> bool:
        """Whether a foreign model can leave nothing behind but what is put back; found once, before it is built."""
        if cell.model not in self._quiet:
            spec = self.specs[cell.model]
            built = () if isinstance(spec.factory, MultiTaskFactory | None) else (spec.factory,)
            self._quiet[cell.model] = is_quiet(spec.cls, *built, *spec.kwargs.values())
        return self._quiet[cell.model]

    def apart(self, cell: Cell) -> CellResult:
        """Train one cell in a process that ends with it: nothing needs to be copied or put back."""
        return self._run(cell, copies=False)

    def __call__(self, cell: Cell) -> CellResult:
        """Train one cell. Exceptions of a user's code pass through to the executor, which files them."""
        if not self.foreign(cell):
            return self._run(cell, copies=False)
        with self._guarded().restoring():
            return self._run(cell, copies=True)

    def lent(self, cell: Cell) -> CellResult:
        """Train one cell on the data themselves, in a process that is replaced when they are tampered with."""
        with self._guarded().restoring():
            return self._run(cell, copies=False)

    def _run(self, cell: Cell, *, copies: bool) -> CellResult:
        files = self._written_by_user(cell)
        if not files:
            return self._call(cell, copies=copies)
        with watched(self.root, fresh=True):
            try:
                result = self._call(cell, copies=copies)
            except Exception as error:
                note_reads(error, seen(files))
                raise
        return dataclasses.replace(result, reads=seen(files))

    def _written_by_user(self, cell: Cell) -> Set[str]:
        """Files whose code may read what no key knows; found once for each model on each task."""
        if (cell.task, cell.model) not in self._files:
            spec, hook = self.specs[cell.model], self.tasks[cell.task].after_split
            self._files[cell.task, cell.model] = users_files((spec.cls, spec.factory, dict(spec.kwargs), hook))
        return self._files[cell.task, cell.model]

    def _call(self, cell: Cell, *, copies: bool) -> CellResult:
        where = require_device(cell.protocol.device)
        with training_context(cell.seed, threads=cell.protocol.threads, dtype=cell.protocol.dtype):
            ready = self._ready is not None and self._ready[0] == cell.key
            split = self._ready[1] if ready else self.seen_by(cell)  # type: ignore[index]
            kind = TASK_TYPES[self.tasks[cell.task].task_type]
            self.refuse_overlap(cell.task, split)
            own = private(split) if copies else split
            own = own.to(where) if where.type != "cpu" else own
            watch, before, guard = self._lent(own, kind), switches(), self._guarded()
            raised: Exception | None = None
            try:
                with threads_fixed(), malloc.giving_back(malloc.is_saving() and is_large(own.data)):
                    outcome, model, trace = self._train(cell, own)
            except Exception as error:
                raised = error
            refused = [str(raised)] if isinstance(raised, TamperedError) else []
            if changes := [*refused, *watch.changed(), *switched(before), *guard.changed()]:
                self._splits.clear()
                return _named(cell, split, status="tampered", error=_tampering(cell.model, changes))
            if isinstance(raised, DivergedError):
                return _named(cell, split, status="diverged", error=str(raised))
            if raised is not None:
                raise raised
        return self._result(cell, split, outcome, model, trace)

    def _lent(self, split: Split, kind: TaskType) -> Watch:
        """Note what the models of a split are lent; once per split."""
        if "watch" not in split.cache:
            lent = shown(split, kind.answers)
            if isinstance(lent.data, PackedGraphs) and isinstance(kind, OnGraphs):
                for part in ("val", "test"):
                    evaluation_batches(lent, part)
            split.cache["watch"] = Watch.over(lent)
        found: Watch = split.cache["watch"]
        return found

    def _guarded(self) -> Guard:
        if self._guard is None:
            specs = self.specs.values()
            code = [(spec.factory, dict(spec.kwargs)) for spec in specs] + [t.after_split for t in self.tasks.values()]
            self._guard = Guard([spec.cls for spec in specs], code)
        return self._guard

    def _train(self, cell: Cell, split: Split) -> tuple[Fit, Any, tuple[dict[str, Any], ...]]:
        spec, kind = self.specs[cell.model], TASK_TYPES[self.tasks[cell.task].task_type]
        space = None if self.search is None else self.search.of(cell.model, spec)
        fixed = space is None or space.is_empty or (spec.kind == "predictor" and not space.default)
        if space is None or fixed or len(space) < 2:
            return (*train_once(kind, spec, split, cell.protocol, cell.seed), ())
        return search_once(kind, spec, split, cell, space)

    def _result(
        self, cell: Cell, split: Split, outcome: Fit, model: Any, trace: tuple[dict[str, Any], ...]
    ) -> CellResult:
        predictions = kept_predictions(split, outcome.scores["test"]) if self.save_predictions else None
        if self.weights is not None and isinstance(model, nn.Module):
            write_weights(Path(self.weights) / f"{cell.key}{SUFFIX}", model)
        notes = budget_notes(count_parameters(model), cell.protocol.budget)
        if outcome.layers:
            notes = (*notes, LAYERS_NOTE + outcome.layers)
        return _named(
            cell, dataclasses.replace(split, notes=(*split.notes, *notes)),
            device=_device_of(model), metrics=outcome.metrics, history=outcome.history,
            epochs=outcome.epochs, best_epoch=outcome.best_epoch,
            parameters=count_parameters(model), trace=trace, predictions=predictions,
        )  # fmt: skip


def is_large(data: Any) -> bool:
    """Whether freed arrays of a graph are given back under a memory limit, which halves what attention takes on it."""
    return isinstance(data, Data) and data.num_edges >= LARGE_ARCS


def _index(split: Split) -> None:
    """Make what the kernels keep with the tensors of a graph."""
    data = split.data
    if isinstance(data, FolderData):
        _ = data.sampler
    elif not isinstance(data, PackedGraphs):
        kernels.input_features(data.x)
        kernels.structure_of(data.edge_index, int(data.num_nodes or 0))


def _tampering(model: str, changes: list[str]) -> str:
    return (
        f"{model} changed what it was lent: {'; '.join(changes[:5])}. Work on copies (x = data.x - data.x.mean(0) "
        "instead of -=), and leave libraries and their settings alone."
    )


def _device_of(model: Any) -> str:
    """Where the parameters of a model are; predictors compute on the processor."""
    first = next(iter(model.parameters()), None) if isinstance(model, nn.Module) else None
    return "cpu" if first is None else str(first.device)


def _named(cell: Cell, split: Split, *, device: str | None = None, **values: Any) -> CellResult:
    metric = f"test_{split.metric}"
    return CellResult(
        cell.key, cell.task, cell.model, cell.seed,
        metric=metric, greater_is_better=METRICS[split.metric].greater_is_better,
        replication=split.replication, n_train=split.n_train, n_test=split.n_test, notes=split.notes,
        protocol=cell.protocol if device is None else cell.protocol.replace(device=device), **values,
    )  # fmt: skip


def count_parameters(model: Any) -> int:
    """Trainable numbers of a model; 0 for predictors."""
    return sum(p.numel() for p in model.parameters() if p.requires_grad) if isinstance(model, nn.Module) else 0


def without_edge_attributes(split: Split) -> Split:
    """A view of the split whose models never hear of edge attributes."""
    if split.dims.edge_dim is None:
        return split
    data = copy.copy(split.data)
    if hasattr(data, "edge"):
        data = dataclasses.replace(data, edge={k: v for k, v in data.edge.items() if k != "edge_attr"})
    else:
        data.edge_attr = None
    trained = copy.copy(split.train_data)
    if trained is not None:
        trained.edge_attr = None
    dims = dataclasses.replace(split.dims, edge_dim=None)
    return dataclasses.replace(split, data=data, train_data=trained, dims=dims, cache={})


def _transformed(loaded: Any, transform: Any) -> Any:
    if isinstance(loaded, Data):
        return transform(loaded)
    graphs = [loaded[i] for i in range(len(loaded))]
    # A transform with `many` does equal graphs together, which one by one it could not.
    out = transform.many(graphs) if hasattr(transform, "many") else [transform(graph) for graph in graphs]
    kept = {key: getattr(loaded, key) for key in ("splits", "replication") if hasattr(loaded, key)}
    return GraphList(out, **kept, info=_info(loaded))


def _info(loaded: Any) -> Mapping[str, Any]:
    """Facts about raw data that a dataset of the catalogue brings; a user's attribute of that name may be anything."""
    found = getattr(loaded, "info", None)
    return found if isinstance(found, Mapping) else {}


def _size(split: Split) -> int:
    data = split.data
    if hasattr(data, "node"):
        return sum(int(v.nbytes) for v in (*data.node.values(), *data.edge.values(), data.edge_index))
    return 0 if isinstance(data, FolderData) else int(data.x.nbytes + data.edge_index.nbytes)


def require_ok(workbench: Workbench, name: str, seed: int) -> Split:
    """Load and split one task in the driver, so that bad data is refused before anything is trained."""
    try:
        split = workbench.split(name, seed)
        workbench.refuse_overlap(name, split)
        return split
    except GraphnetzError:
        raise
    except Exception as error:  # a user's loader may raise anything; name the task and keep the cause
        raise DataError(f"Task {name!r}: its loader or split raised {type(error).__name__}: {error}") from error
