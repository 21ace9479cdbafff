"""From settings to a plan: what a configuration stands for, with every name looked up."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from graphnetz._core.device import resolve_device
from graphnetz._core.errors import UnknownNameError, UsageError, unknown_name
from graphnetz._core.paths import slug
from graphnetz.analysis.comparisons import known_test
from graphnetz.datasets import SUITES, find_task, iter_benchmark_tasks, task_from_edges
from graphnetz.datasets.custom import standardised
from graphnetz.engine.adaptive import seed_rule
from graphnetz.engine.executors import EXECUTORS
from graphnetz.engine.plan import Plan, make_plan
from graphnetz.engine.search import SearchSpace, read_space
from graphnetz.engine.worker import Workbench
from graphnetz.models import ModelSpec, named_specs
from graphnetz.records import Protocol, Replication, Suite, Task
from graphnetz.records.config import DEFAULT_MODELS, DEFAULT_SEEDS, PROTOCOLS, RunConfig
from graphnetz.records.config_files import load_config
from graphnetz.records.references import label_of
from graphnetz.records.seed_rule import SeedRule
from graphnetz.tasktypes import known_task_type
from graphnetz.tasktypes.hard import HardNegatives, Then

__all__ = [
    "DEFAULT_MODELS",
    "PROTOCOLS",
    "Brought",
    "Run",
    "RunConfig",
    "load_config",
    "mirrored",
    "resolve",
    "resolve_tasks",
]

MIRROR = "GRAPHNETZ_MIRROR"


@dataclass(frozen=True)
class Brought:
    """What a caller in Python brings beside settings: objects instead of names."""

    tasks: Iterable[Task | str] | Task | str | None = None
    only: Sequence[str] | None = None
    models: Any = None
    search: SearchSpace | None = None
    protocol: Protocol | Mapping[str, Any] | None = None
    model_kwargs: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    model_protocol: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    transform: Callable[[Any], Any] | Mapping[str, Callable[[Any], Any]] | None = None

    @property
    def nothing(self) -> bool:
        """Whether the settings alone say what is run, so that a file can repeat it."""
        return self == Brought()


@dataclass(frozen=True)
class Run:
    """A configuration with every name looked up: one thing to plan, to price or to run."""

    config: RunConfig
    tasks: tuple[Task, ...]
    specs: Mapping[str, ModelSpec]
    seeds: tuple[int, ...]
    rule: SeedRule | None
    protocol: Mapping[str, Any]
    model_protocol: Mapping[str, Mapping[str, Any]]
    search: SearchSpace | None = None
    in_folds: Mapping[str, tuple[int, ...]] = field(default_factory=dict)

    def seeds_of(self, task: str) -> tuple[int, ...]:
        """Return the seeds of a task's cells: those of the run, or each of them on every fold."""
        return self.in_folds.get(task, self.seeds)

    def plan(self) -> tuple[Workbench, Plan]:
        """Load what must be loaded, and list the cells."""
        config = self.config
        weights = str(Path(config.out) / "weights") if config.save_weights and config.out is not None else None
        workbench = Workbench(
            tasks={task.name: task for task in self.tasks},
            specs=dict(self.specs),
            root=config.root,
            search=self.search,
            save_predictions=config.save_predictions,
            weights=weights,
        )
        return workbench, make_plan(
            workbench, self.seeds, protocol=self.protocol, model_protocol=self.model_protocol or None,
            in_folds=self.in_folds,
        )  # fmt: skip


def resolve(config: RunConfig, brought: Brought | None = None) -> Run:
    """Look up everything a configuration names; the one way from settings to cells.

    Parameters
    ----------
    config
        The settings. The suite they name fills in models, seeds and protocol that they leave open.
    brought
        Objects that a caller in Python gave instead of names.

    Returns
    -------
    Run
        Its ``config`` holds the seeds that were chosen, so that a resumed run has the same ones.

    Examples
    --------
    >>> run = resolve(RunConfig.read({"task": "les_miserables", "model": "GCN", "seeds": 3}))
    >>> run.seeds, [task.name for task in run.tasks], list(run.specs)
    ((0, 1, 2), ['les_miserables'], ['GCN'])
    """
    brought = brought or Brought()
    if config.save_weights and config.out is None:
        raise UsageError("save_weights needs a run folder. Pass out=DIR as well.")
    try:
        known_test(config.pairwise_method or "t")
    except UnknownNameError as error:
        raise UsageError(f"The setting 'pairwise_method' is wrong: {error}") from error
    suite = _suite(config, brought)
    specs = _specs(config, brought, suite)
    tasks = resolve_tasks(config, brought)
    wanted = config.seed_list() or suite.seeds_at(config.size) or list(range(DEFAULT_SEEDS))
    rule = seed_rule(wanted, config.precision, config.max_seeds)
    seeds = tuple(range(rule.max_seeds)) if rule else tuple(int(seed) for seed in wanted)
    in_folds = {} if rule else _in_folds(tasks, seeds, asked=config.seed_list() is not None)
    # Written down as asked for, they would win over the seeds that tasks with folds have of their own.
    own = any(task.cross_validation is not None and task.cross_validation.seeds for task in tasks)
    if config.seed is None and config.seeds is None and not own:
        config = config.model_copy(update={"seeds": wanted})
    protocol, single = _protocols(config, brought, suite, specs)
    search = brought.search or read_space(config.search, specs, trials=config.trials)
    return Run(config, tuple(tasks), specs, seeds, rule, protocol, single, search, in_folds)


def _in_folds(tasks: Iterable[Task], seeds: Sequence[int], *, asked: bool) -> dict[str, tuple[int, ...]]:
    """Seeds of the cells of tasks with cross-validation: each on every fold."""
    out = {}
    for task in tasks:
        if (rule := task.cross_validation) is not None:
            out[task.name] = rule.numbers(seeds if asked or rule.seeds is None else rule.seeds)
    return out


def _suite(config: RunConfig, brought: Brought) -> Suite:
    """The suite that is run. Tasks that are named without one take nothing of the default suite's settings."""
    suite = SUITES[config.suite or "default"]
    elsewhere = config.task or config.category or config.graph or brought.tasks is not None
    return Suite(suite.name, suite.make) if config.suite is None and elsewhere else suite


def resolve_tasks(config: RunConfig, brought: Brought | None = None) -> list[Task]:
    """Return the tasks that a configuration names, or that its caller brought, in order."""
    brought = brought or Brought()
    kind, only, given = config.task_type, brought.only, brought.tasks
    if kind is not None:
        known_task_type(kind)
    if given is not None:
        listed = [given] if isinstance(given, Task | str) else list(given)
        chosen = [find_task(item) if isinstance(item, str) else item for item in listed]
    else:
        chosen = _named_tasks(config)
    chosen = [task for task in chosen if kind in (None, task.task_type)]
    for task in chosen:
        known_task_type(task.task_type)
    names = [task.name for task in chosen]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise UsageError(f"Duplicate task names {twice}. Give each task its own name.")
    for name in only or ():
        if name not in names:
            raise unknown_name("task", name, names)
    chosen = [task for task in chosen if only is None or task.name in only]
    if not chosen:
        raise UsageError(f"No task is left: category={config.category!r}, task_type={kind!r}, only={only!r}.")
    chosen = _hardened(chosen, config)
    return _transformed(_declared(_measured(chosen, config), config.replication), brought.transform)


def _named_tasks(config: RunConfig) -> list[Task]:
    """One graph of one's own, a category, or tasks named one by one or by their suite.

    A suite with models of its own has no place for other tasks.
    """
    if config.graph is not None:
        return [standardised(task_from_edges(
            slug(Path(config.graph).stem), config.graph, labels=config.labels, features=config.features,
            label_column=config.label_column, task_type=config.task_type,
        ))]  # fmt: skip
    if config.category is not None:
        return list(iter_benchmark_tasks(category=config.category, task_type=config.task_type))
    if config.suite is None and config.task:
        return [find_task(name) for name in config.task]
    suite = SUITES[config.suite or "default"]
    tasks = {task.name: task for task in suite(config.size)}
    for name in config.task:
        if name not in tasks and suite.models is None:
            tasks[name] = find_task(name)
        elif name not in tasks:
            raise unknown_name(f"task of the suite {suite.name!r}:", name, tasks)
    return [tasks[name] for name in config.task or tasks]


def _hardened(tasks: list[Task], config: RunConfig) -> list[Task]:
    """Link tasks whose true edges are ranked among hard negatives of their own; other tasks as they are."""
    if config.negatives != "hard":
        return tasks
    if not any(task.task_type == "link_pred" for task in tasks):
        raise UsageError(
            "negatives = 'hard' is about link prediction, and none of the chosen tasks is that. Leave it out."
        )
    hard, out = HardNegatives(), []
    for task in tasks:
        hook = hard if task.after_split is None else Then(hard, task.after_split)
        changed = dataclasses.replace(task, after_split=hook, metric="mrr")
        out.append(changed if task.task_type == "link_pred" else task)
    return out


def _measured(tasks: list[Task], config: RunConfig) -> list[Task]:
    """Tasks with another headline metric, which their task type must compute."""
    metric, plain = config.metric, PROTOCOLS[config.protocol].plain_metrics
    if metric is None:
        return [dataclasses.replace(t, metric=None) if t.task_type in plain and _is_official(t) else t for t in tasks]
    for task in tasks:
        known = known_task_type(task.task_type).metrics
        if metric not in known:
            raise UsageError(
                f"The setting 'metric' is wrong: {task.name} is a task of type {task.task_type}, which has "
                f"{', '.join(known)} (got {metric!r}). Choose one of these, or tasks of one type."
            )
    return [dataclasses.replace(task, metric=metric) for task in tasks]


def _is_official(task: Task) -> bool:
    """Whether the headline metric is that of the dataset's card, and not one that a suite has chosen."""
    return task.card is not None and task.metric == task.card.metric_of(task.task_type)


def _declared(tasks: list[Task], replication: Replication | None) -> list[Task]:
    """Tasks told what their seed varies; what is declared, or seen in masks and split lists, stands."""
    return [
        dataclasses.replace(task, replication=replication) if task.seeded and task.replication is None else task
        for task in tasks
    ]


def _transformed(tasks: list[Task], transform: Any) -> list[Task]:
    if transform is None:
        return tasks
    table = transform if isinstance(transform, Mapping) else {task.name: transform for task in tasks}
    for name in table:
        if name not in {task.name for task in tasks}:
            raise unknown_name("task", name, [task.name for task in tasks])
    return [dataclasses.replace(t, transform=table[t.name]) if t.name in table else t for t in tasks]


def _specs(config: RunConfig, brought: Brought, suite: Suite) -> dict[str, ModelSpec]:
    own = dict(suite.models()) if suite.models is not None else {}
    chosen: Any = brought.models
    if chosen is None:
        chosen = config.model or own or config.models()
        if own and config.model:
            chosen = {label_of(name): own.get(name) or name for name in config.model}
    specs = named_specs(chosen, code=True)  # settings are the user's own; `resumed_config` looked at those of a folder
    for name, kwargs in brought.model_kwargs.items():
        if name not in specs:
            raise unknown_name("model", name, specs)
        specs[name] = specs[name].with_kwargs(kwargs)
    return specs


def _protocols(
    config: RunConfig, brought: Brought, suite: Suite, specs: Mapping[str, ModelSpec]
) -> tuple[dict[str, Any], dict[str, Mapping[str, Any]]]:
    """Settings of all models and of single ones: the suite's, then those that were asked for."""
    asked = config.overrides()
    if isinstance(brought.protocol, Protocol):
        asked |= brought.protocol.as_dict()
        asked.pop("epochs")  # a whole protocol says how to train, each task how long
    else:
        asked |= dict(brought.protocol or {})
    if config.epochs is not None:
        asked["epochs"] = config.epochs
    asked.setdefault("device", config.device)
    there = "address" in EXECUTORS[config.backend].takes  # what other machines have is found out by them
    asked["device"] = resolve_device(asked["device"], here=not there)
    dropped = set(asked) | ({"budget"} if config.asks_for_width else set())
    every = {key: value for key, value in suite.protocol.items() if key not in dropped} | asked
    single = {
        name: {key: value for key, value in changes.items() if key not in dropped}
        for name, changes in suite.model_protocol.items()
        if name in specs
    }
    theirs = {name: changes for name, changes in single.items() if changes} | dict(brought.model_protocol)
    for changes in theirs.values():
        if "device" in changes:
            resolve_device(changes["device"], here=not there)
    return every, theirs


@contextmanager
def mirrored(config: RunConfig) -> Iterator[None]:
    """Ask the mirror of the settings before the network, here and in every worker started meanwhile."""
    before = os.environ.get(MIRROR)
    if config.mirror:
        os.environ[MIRROR] = config.mirror
    try:
        yield
    finally:
        if config.mirror:
            os.environ.pop(MIRROR)
            os.environ.update({} if before is None else {MIRROR: before})
