"""From arguments to cells: which tasks, which models, which seeds, and what cannot go together."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from torch_geometric.data import Data

from graphnetz._core.errors import DownloadError, MissingExtraError, UsageError, unknown_name
from graphnetz.engine.cost.parameters import BudgetCheck
from graphnetz.engine.identity.data import seed_effect
from graphnetz.engine.identity.keys import CellKeys
from graphnetz.engine.identity.reads import watched
from graphnetz.engine.trial import tried
from graphnetz.engine.worker import Workbench, require_ok
from graphnetz.metrics import METRICS, label_of
from graphnetz.models import ModelSpec
from graphnetz.records import Cell, Protocol, Task
from graphnetz.report import TaskInfo
from graphnetz.tasktypes import Split, known_task_type
from graphnetz.tasktypes.overlap import repeated
from graphnetz.tasktypes.ranked import among_all
from graphnetz.tasktypes.sampled import SAMPLED, check_samples
from graphnetz.tasktypes.streamed import FolderData, unfit_for_folder


@dataclass(frozen=True)
class GraphSize:
    """Size of the one graph of a task."""

    nodes: int
    arcs: int
    features: int


@dataclass(frozen=True)
class Plan:
    """Cells to be run and everything that was decided before running them.

    ``fleeting`` are the notes about cells that cannot be resumed.
    """

    cells: tuple[Cell, ...]
    tasks: tuple[Task, ...]
    models: tuple[str, ...]
    seeds: tuple[int, ...]
    info: Mapping[str, TaskInfo]
    absent: Mapping[tuple[str, str], str]
    fingerprints: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    fleeting: tuple[str, ...] = ()
    sizes: Mapping[str, GraphSize] = field(default_factory=dict)
    repeated: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def folds(self) -> list[str]:
        """Say which tasks train every seed on every fold, and how many there are of both."""
        seeds: dict[str, set[int]] = {}
        for cell in self.cells:
            seeds.setdefault(cell.task, set()).add(cell.seed)
        rules = {task.name: task.cross_validation for task in self.tasks if task.name in seeds}
        return [f"{name}: {rule.words(len(seeds[name]))}" for name, rule in rules.items() if rule is not None]


def _unfit(name: str, spec: ModelSpec, split: Split) -> str | None:
    """Why a model cannot be asked what a split asks; None where it can."""
    if spec.kind == "predictor" and among_all(split) and not hasattr(spec.cls, "score_all"):
        return f"{name} scores given pairs and cannot rank all entities; --metric auc asks for pairs"
    if isinstance(split.data, FolderData) and (reason := unfit_for_folder(spec.cls)):
        return f"{name} {reason}"
    fits_itself = spec.kind == "predictor" or callable(getattr(spec.cls, "fit", None))
    if split.train_data is not None and fits_itself and not getattr(spec.cls, "inductive", False):
        return f"{name} reads the whole graph when it is fitted, and this task keeps test nodes out of training"
    return None


_WITHHELD = (
    "Task {!r} has edge attributes, which no model is given: some take them and some cannot. "
    "edge_attributes = true (--edge-attributes) gives them to those that can."
)


def resolve_protocol(task: Task, overrides: Mapping[str, Any]) -> Protocol:
    """Task type defaults, then the task's own settings, then the caller's."""
    kind = known_task_type(task.task_type)
    base = Protocol().replace(**{**kind.defaults, "epochs": task.epochs})
    resolved = base.replace(**task.protocol).replace(**overrides)
    # Like batch_size, sampling applies where it means something: a suite may hold other task types.
    return resolved if kind.name in SAMPLED else resolved.replace(batch_nodes=None, fanouts=None)


def make_plan(
    workbench: Workbench,
    seeds: tuple[int, ...],
    *,
    protocol: Mapping[str, Any],
    model_protocol: Mapping[str, Mapping[str, Any]] | None = None,
    in_folds: Mapping[str, tuple[int, ...]] | None = None,
) -> Plan:
    """Load what must be loaded in the driver, check it, and list the cells in plan order.

    ``in_folds`` holds the seeds of tasks that train every seed on every fold.
    """
    own = in_folds or {}
    single = model_protocol or {}
    for name in single:
        if name not in workbench.specs:
            raise unknown_name("model", name, workbench.specs)
    info: dict[str, TaskInfo] = {}
    sizes: dict[str, GraphSize] = {}
    keys = CellKeys(lambda name: _searched(workbench, name))
    unavailable: list[str] = []
    remarks: list[str] = []
    absent: dict[tuple[str, str], str] = {}
    copies: dict[str, tuple[str, ...]] = {}
    cells: list[Cell] = []
    budgets = BudgetCheck()
    for task in workbench.tasks.values():
        try:
            first = _prepare(workbench, task, own.get(task.name, seeds), remarks)
        except (DownloadError, MissingExtraError) as error:  # a file that cannot be had costs its task, not the run
            unavailable.append(f"{task.name}: {error}")
            absent |= {(task.name, model): unavailable[-1] for model in workbench.specs}
            continue
        info[task.name] = task_info(task, first, splits=fixed_splits(_held(workbench, task.name, None)))
        _check_folds(task, info[task.name].splits)
        if found := tuple(text for text, _ in repeated(first)):
            copies[task.name] = found
            remarks.extend(f"Task {task.name!r}: {text}" for text in found)
        remarks.extend(f"Task {task.name!r}: {note}." for note in first.notes)
        if (size := _graph_size(first)) is not None:
            sizes[task.name] = size
        planned = len(cells)
        data_key = keys.data(task, functools.partial(_held, workbench, task.name))
        resolved_for = functools.partial(_resolved, task, protocol, single)
        undeclared = _undeclared_models(workbench, task, first, resolved_for)
        with watched(workbench.root):  # where no process can be made for it, what it reads is read here
            answers = tried(known_task_type(task.task_type), undeclared, first)
        for name, spec in list(workbench.specs.items()):
            if not spec.serves(task.task_type):
                absent[task.name, name] = f"{name} does not serve {task.task_type}"
                continue
            if (unfit := _unfit(name, spec, first)) is not None:
                absent[task.name, name] = unfit
                continue
            resolved = resolved_for(name)
            if name in answers:
                spec, reason = answers[name]
                if reason:
                    absent[task.name, name] = reason
                    continue
                workbench.specs[name] = spec
            # A budget builds the model, which may read and remember.
            with watched(workbench.root) if resolved.budget is not None else contextlib.nullcontext():
                budgets.look(task, name, spec, first.dims, resolved)
            if resolved.batch_nodes is not None:
                check_samples(first, task.name)
            for seed in own.get(task.name, seeds):
                key = keys.cell(task, data_key(seed), name, spec, resolved, seed)
                cells.append(Cell(key, task.name, name, seed, resolved))
        if first.dims.edge_dim is not None and not any(cell.protocol.edge_attributes for cell in cells[planned:]):
            remarks.append(_WITHHELD.format(task.name))
    if protocol.get("batch_nodes") is not None and cells and all(c.protocol.batch_nodes is None for c in cells):
        raise UsageError(
            f"batch_nodes samples neighbours for {', '.join(sorted(SAMPLED))} and none of the chosen tasks is one. "
            "Leave it out."
        )
    budgets.refuse()
    if unavailable and not info:
        raise DownloadError(" ".join(unavailable))
    if not cells:
        reasons = "; ".join(sorted({reason.rstrip(".") for reason in absent.values()}))
        advice = " Choose others, or adapt an encoder with _multi_task_factory." if "does not serve" in reasons else ""
        raise UsageError(f"No model serves any of the chosen tasks: {reasons}.{advice}")
    run = tuple(dict.fromkeys(cell.seed for cell in cells)) if own else seeds
    return Plan(
        tuple(cells), tuple(workbench.tasks.values()), tuple(workbench.specs), run, info, absent,
        fingerprints=keys.fingerprints, notes=(*keys.notes, *remarks, *budgets.remarks), fleeting=tuple(keys.notes),
        sizes=sizes, repeated=copies,
    )  # fmt: skip


def _resolved(task: Task, protocol: Mapping[str, Any], single: Mapping[str, Mapping[str, Any]], name: str) -> Protocol:
    """How one model is trained on a task."""
    return resolve_protocol(task, {**task.model_protocol.get(name, {}), **protocol, **single.get(name, {})})


def _undeclared_models(
    workbench: Workbench, task: Task, split: Split, resolved: Callable[[str], Protocol]
) -> dict[str, tuple[ModelSpec, Protocol]]:
    """Networks that may do a task and do not say whether they can, with how they would be trained."""
    return {
        name: (spec, resolved(name))
        for name, spec in workbench.specs.items()
        if not spec.declared and spec.kind == "encoder" and spec.serves(task.task_type)
        and _unfit(name, spec, split) is None
    }  # fmt: skip


def _check_folds(task: Task, splits: int) -> None:
    rule = task.cross_validation
    if rule is not None and rule.folds != splits:
        raise UsageError(
            f"Task {task.name!r} declares {rule.folds} folds, and its data carry {splits or 'no fixed'} splits. "
            "Declare as many as there are."
        )


def _searched(workbench: Workbench, name: str) -> dict[str, Any] | None:
    """What is searched for one model, as its cells are named by it."""
    search = workbench.search
    if search is None or search.is_empty:
        return None
    return search.of(name, workbench.specs[name]).as_dict() if search.own else search.as_dict()


def _graph_size(split: Split) -> GraphSize | None:
    """Size of a split with one graph; batches of many graphs are bounded by ``batch_size``."""
    data = split.data
    if getattr(data, "x", None) is None or getattr(data, "edge_index", None) is None:
        return None
    return GraphSize(int(data.num_nodes or 0), int(data.edge_index.size(1)), int(data.x.size(-1)))


def _held(workbench: Workbench, name: str, seed: int | None) -> Any:
    return workbench.datasets.get((name, seed))


def _prepare(workbench: Workbench, task: Task, seeds: tuple[int, ...], remarks: list[str]) -> Split:
    """Load data that workers inherit."""
    if task.seeded and task.card is None:
        # A user's generator runs here, once per seed in plan order, so that its side effects are seen.
        for seed in seeds:
            workbench.datasets[task.name, seed] = workbench.load(task.name, seed)
    if task.seeded and task.replication is None and len(seeds) > 1:
        found = seed_effect(*(workbench.dataset(task.name, seed) for seed in seeds[:2]))
        workbench.found[task.name] = found
        remarks.append(_undeclared(task.name, seeds, found))
    return require_ok(workbench, task.name, seeds[0])


def _undeclared(name: str, seeds: tuple[int, ...], found: str | None) -> str:
    seen = {
        "resplit": "differs in the split only, so that runs share data (resplit)",
        "regenerate": "differs, so that a seed counts as fresh data (regenerate)",
        "unknown": "cannot be compared, so that runs are taken to share data (unknown)",
        None: "is the same, so that the split decides",
    }[found]
    return (
        f"Task {name!r} takes a seed and does not declare what it varies. Found out: the data of seeds {seeds[0]} and "
        f"{seeds[1]} {seen}. Declare it with replication=."
    )


def fixed_splits(dataset: Any) -> int:
    """How many splits a dataset carries for the seeds to take in turn; 0 where it has none, or one for all."""
    splits = getattr(dataset, "splits", None)
    if isinstance(splits, Sequence):
        return len(splits) if len(splits) > 1 else 0
    listed = dataset is not None and not isinstance(dataset, Data) and len(dataset) == 1
    mask = getattr(dataset[0] if listed else dataset, "train_mask", None)
    return int(mask.size(1)) if mask is not None and mask.dim() == 2 and mask.size(1) > 1 else 0


def task_info(task: Task, split: Split, *, splits: int = 0) -> TaskInfo:
    """What the report must know of a task even when every cell of it failed."""
    metric = f"test_{split.metric}"
    return TaskInfo(
        metric=metric,
        label=label_of(metric),
        greater_is_better=METRICS[split.metric].greater_is_better,
        replication=split.replication,
        test_ratio=split.n_test / split.n_train if split.n_train else float("nan"),
        block=task.block,
        category=task.category or "",
        task_type=task.task_type,
        n_test=split.n_test,
        splits=splits,
    )
