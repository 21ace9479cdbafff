"""`run_benchmark`: settings, plan, run what is missing, report."""

from __future__ import annotations

import dataclasses
import inspect
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import graphnetz.kernels as kernels
from graphnetz._core.errors import UsageError
from graphnetz._core.paths import refuse_links
from graphnetz._core.text import shorten
from graphnetz.datasets.fitness import fitness_section
from graphnetz.engine.adaptive import run_rounds
from graphnetz.engine.config import Brought, Run, mirrored, resolve
from graphnetz.engine.cost.estimate import recorded_cells
from graphnetz.engine.cost.footprint import refuse_too_large
from graphnetz.engine.cost.reference import reference_cell
from graphnetz.engine.energy import counted
from graphnetz.engine.executors import EXECUTORS, Executor, Limits, drive
from graphnetz.engine.identity.environment import environment, environment_key
from graphnetz.engine.identity.reads import stale
from graphnetz.engine.outputs import assemble, repeated_section, write_examples, write_outputs, write_toml
from graphnetz.engine.plan import Plan
from graphnetz.engine.preregistration import analysis_plan, count_again, register, registered
from graphnetz.engine.progress import Estimator, Progress
from graphnetz.engine.search import SearchSpace
from graphnetz.engine.shards import part_of
from graphnetz.engine.store import Store
from graphnetz.engine.trackers import Listener, listening
from graphnetz.engine.worker import Workbench
from graphnetz.kernels.sampling import load_sampling
from graphnetz.models import named_specs
from graphnetz.records import Cell, CellResult, Protocol, RunConfig, Task
from graphnetz.records.config import parameters
from graphnetz.report import BenchmarkReport
from graphnetz.report.sections import combine, planned_and_read
from graphnetz.report.tuning import tuning_section


def run_benchmark(
    category: str | RunConfig | None = None,
    models: Any = None,
    root: str = "data/benchmark",
    hidden_channels: int = 64,
    epochs: int | None = None,
    only: Sequence[str] | None = None,
    verbose: bool = True,
    seeds: int | Iterable[int] | str | None = None,
    seed: int | None = None,
    task_type: str | None = None,
    tasks: Iterable[Task | str] | Task | str | None = None,
    device: Any = "auto",
    search: SearchSpace | Mapping[str, Any] | str | None = None,
    *,
    protocol: str | Protocol | Mapping[str, Any] | None = None,
    model_kwargs: Mapping[str, Mapping[str, Any]] | None = None,
    model_protocol: Mapping[str, Mapping[str, Any]] | None = None,
    transform: Callable[[Any], Any] | Mapping[str, Callable[[Any], Any]] | None = None,
    strict_env: bool = False,
    retry_failed: bool = False,
    **settings: Any,
) -> BenchmarkReport:
    """Train every compatible (task, model, seed) cell and return the statistical report.

    Every setting of `graphnetz.records.RunConfig` is a keyword, with the meaning it has in a configuration
    file and on the command line. With ``out`` the run is kept, and only missing cells are trained when it is called
    again; without it nothing is reused.

    Parameters
    ----------
    category, tasks
        A category of the catalogue, or the tasks themselves (Task objects or names): one of the two. Or a
        `RunConfig` in the first place, which says everything.
    models
        A class, a registered name, a sequence of either, or a dict name -> class | ModelSpec |
        (class, task types, factory).
    root
        Where datasets are kept, as ``root/<category>/<dataset>/``.
    hidden_channels, epochs
        Width of hidden layers, and training epochs; None takes each task's own.
    only
        Names of tasks of the category to run; None runs all.
    verbose
        Show progress.
    seeds, seed
        ``seeds=3`` means seeds 0, 1 and 2, a list means itself, the default is 10; ``seed=3`` is that one seed.
        Cells are paired by seed, so every model gets the same ones. ``"auto"`` runs seeds in rounds and stops each
        comparison when it is decided.
    task_type
        Only tasks of this type.
    device
        ``"auto"``, ``"cpu"``, ``"cuda:0"``, ...
    search
        Tune inside every cell by validation: ``"default"`` takes the space of each model; a dict such as
        ``{"lr": [0.01, 0.001], "GAT": {"heads": [1, 8]}}`` or a `SearchSpace` says what to try; None searches nothing.
    protocol
        Overrides for all models, for instance ``{"lr": 1e-3, "selection": "best_val"}``, or the name of a
        protocol such as ``"paper"``. Single protocol keys are keywords too: ``lr=1e-3``.
    model_kwargs, model_protocol
        The same per model: constructor arguments and protocol overrides.
    transform
        A PyG transform for every task, or a mapping from task names.
    strict_env, retry_failed
        Train again what was made in an environment other than the workers', or what failed.

    Returns
    -------
    BenchmarkReport
        Intervals, paired tests, ranks, verdicts, figures and files.

    Examples
    --------
    >>> import networkx as nx
    >>> from graphnetz import run_benchmark, task_from_networkx
    >>> task = task_from_networkx("karate", nx.karate_club_graph(), label="club")
    >>> options = {"seeds": range(2), "epochs": 2, "backend": "serial", "verbose": False}  # short, to be quick here
    >>> run_benchmark(models=["GCN", "MLP"], tasks=task, **options)
    BenchmarkReport(1 tasks, 2 models, 2 seeds)
    """
    values = locals()
    named = settings | {
        key: values[key]
        for key, item in _CORE.items()
        if key in RunConfig.model_fields and values[key] is not None
        if item.default is None or values[key] != item.default
    }
    if not isinstance(protocol, str):
        named.pop("protocol", None)
    if isinstance(search, SearchSpace):
        del named["search"]
    brought = Brought(
        tasks=tasks, only=only, models=models, search=search if isinstance(search, SearchSpace) else None,
        protocol=None if isinstance(protocol, str) else protocol,
        model_kwargs=model_kwargs or {}, model_protocol=model_protocol or {}, transform=transform,
    )  # fmt: skip
    if isinstance(category, RunConfig):
        del named["category"]
        config = RunConfig.read(category.model_dump(exclude_unset=True) | named) if named else category
    else:
        brought = _names_or_objects(named, brought)
        config = RunConfig.read(named)
    return run(
        resolve(config, brought), resumable=brought.nothing,
        verbose=verbose, strict_env=strict_env, retry_failed=retry_failed,
    )  # fmt: skip


_CORE = inspect.signature(run_benchmark).parameters


def _signature() -> inspect.Signature:
    """The published signature, then every other setting by keyword."""
    shown = [item for item in _CORE.values() if item.kind is not item.VAR_KEYWORD]
    shown += [
        inspect.Parameter(
            key, inspect.Parameter.KEYWORD_ONLY, default=item.get_default(call_default_factory=True),
            annotation=item.annotation,
        )
        for key, item in RunConfig.model_fields.items()
        if key not in _CORE
    ]  # fmt: skip
    return inspect.Signature(shown, return_annotation=BenchmarkReport)


run_benchmark.__signature__ = _signature()  # type: ignore[attr-defined]
run_benchmark.__doc__ = inspect.cleandoc(run_benchmark.__doc__ or "").replace(
    "\nReturns\n", parameters(key for key in RunConfig.model_fields if key not in _CORE) + "\nReturns\n", 1
)


def _names_or_objects(named: dict[str, Any], brought: Brought) -> Brought:
    """Names that a caller gave as ``tasks`` and ``models`` are settings; refuse a call that leaves one of them open."""
    chosen = [key for key in ("category", "suite", "task", "graph") if named.get(key)]
    if (brought.tasks is None) == (not chosen):
        raise UsageError("Pass either `category` or `tasks=` (one of them, not both).")
    if brought.models is None and not named.keys() & {"model", "suite", "protocol"}:
        named_specs(None)  # raises: which models is for the caller to say
    for key, many in (("task", "tasks"), ("model", "models")):
        given = getattr(brought, many)
        listed = [given] if isinstance(given, str) else list(given) if isinstance(given, list | tuple) else []
        if listed and all(isinstance(name, str) for name in listed):
            named[key] = listed
            brought = dataclasses.replace(brought, **{many: None})  # type: ignore[arg-type]
    return brought


def run(
    chosen: Run, *, resumable: bool = True, verbose: bool = True, strict_env: bool = False, retry_failed: bool = False
) -> BenchmarkReport:
    """Plan what a configuration asks for, train what is missing, and report.

    Parameters
    ----------
    chosen
        What `graphnetz.engine.config.resolve` made of a configuration.
    resumable
        Whether the settings alone say what is run: they are then written to ``config.toml`` of the run folder.
    verbose, strict_env, retry_failed
        As in `run_benchmark`.

    Returns
    -------
    BenchmarkReport
        The report, written to the run folder where there is one.
    """
    config, rule = chosen.config, chosen.rule
    out = None if config.out is None else Path(config.out)
    executor = _executor(config)
    _refuse_folder(out)
    with mirrored(config), ExitStack() as stack:
        # Everything that can be refused is refused before the first file is made.
        workbench, plan = chosen.plan()
        method = config.pairwise_method or "t"
        planned = analysis_plan(plan, rule=rule, search=chosen.search, method=method)  # of all parts together
        plan = part_of(plan, config.shard, whole_tasks=rule is not None)
        started = time.time()
        if verbose:
            print(_first_line(plan, chosen), file=sys.stderr, flush=True)
        _prepare(out, plan, workbench, config, again=retry_failed or strict_env)
        listen, store = stack.enter_context(listening(config.log, out)), stack.enter_context(_opened(out))
        if out is not None and resumable:
            # Before the first cell, so that `resume` works after a crash.
            write_toml(out / "config.toml", config.kept() | {"out": str(out)})
        register(store, planned, out)
        again = _forget(store, plan, executor, strict_env=strict_env, retry_failed=retry_failed)
        plan = dataclasses.replace(plan, notes=(*plan.notes, *again))
        if verbose and out is not None:
            for note in (*plan.fleeting, *again):
                print(note, file=sys.stderr, flush=True)
        limits = Limits(config.timeout, config.memory)
        train = partial(execute, store, run_one=workbench, executor=executor, limits=limits, verbose=verbose,
                        listen=listen)  # fmt: skip
        with counted(store, elsewhere="address" in EXECUTORS[config.backend].takes):
            if rule is None:
                train(plan)
            else:
                plan = run_rounds(store, plan, rule, train)
        _explain_environments(store, plan, executor)
        if plan.repeated:
            store.write_section(repeated_section(plan))
        if known := fitness_section(plan.tasks):
            store.write_section(known)
        facts = {"suite": config.suite, "hidden_channels": config.hidden_channels or Protocol.hidden_channels}
        facts |= {"epochs": config.epochs, "task_type": config.task_type}
        if rule is not None:
            facts["auto"] = rule.as_dict()
        report = assemble(store, plan, workbench, config=facts, started=started)
        report.pairwise_method = method
        report.examples_in = out
        if (tuned := tuning_section(report.analysis.tuning)) is not None:
            report.sections = combine(report.sections, [tuned])
        report.sections = planned_and_read(report, registered(store, len(report.results)))
        if out is not None:
            write_examples(report, store, plan.cells, out)
            _ = report.analysis.comparisons  # every test is run here, once; what is written only reads it
            write_outputs(report, store, out, started=started)
    return report


def _executor(config: RunConfig) -> Executor:
    kind = EXECUTORS[config.backend]
    options = {name: value for name in ("address", "gpus") if (value := getattr(config, name))}
    if stray := [name for name in options if name not in kind.takes]:
        raise UsageError(
            f"{' and '.join(stray)} is for Ray clusters, not for the backend {config.backend!r}. Use 'ray'."
        )
    return kind(workers=config.workers, **options)


def _first_line(plan: Plan, chosen: Run) -> str:
    """Say what was understood: how many cells of which seeds."""
    seeds = chosen.seeds
    row = len(seeds) > 2 and seeds == tuple(range(seeds[0], seeds[-1] + 1))
    listed = f"{seeds[0]} to {seeds[-1]}" if row else ", ".join(str(seed) for seed in seeds)
    counts = {"task": len(plan.info), "model": len(plan.models), "seed": len(seeds)}
    folds = "".join(f"; {words}" for words in plan.folds())
    if len(plan.folds()) == len(plan.info):  # each task names the seeds inside its folds
        listed, _ = "", counts.pop("seed")
    sizes = " x ".join(f"{count} {name}{'s'[: count != 1]}" for name, count in counts.items())
    sizes += f" ({listed})" if listed else ""
    part = f"Part {chosen.config.shard} of " if chosen.config.shard else ""
    unfit = len(plan.absent)
    gaps = f", without {unfit} pair{'s'[: unfit != 1]} of task and model that {'do' if unfit != 1 else 'does'} not fit"
    most, many = "at most " if chosen.rule else "", len(plan.cells)
    return f"{part}{sizes}{folds}: {most}{many} cell{'s'[: many != 1]}{gaps if unfit else ''}."


def _refuse_folder(out: Path | None) -> None:
    """Refuse a run folder that is none, or that leads elsewhere."""
    if out is None:
        return
    try:
        taken = out.exists() and not out.is_dir()
    except (OSError, ValueError) as error:  # a name that is too long, or holds a NUL
        reason = getattr(error, "strerror", None) or error
        raise UsageError(f"Cannot use the folder {shorten(out, 80)!r}: {reason}. Choose another with out.") from error
    if taken:
        raise UsageError(f"The run folder {str(out)!r} is a file. Choose a folder with out.")
    refuse_links(out)


def _prepare(out: Path | None, plan: Plan, workbench: Workbench, config: RunConfig, *, again: bool) -> None:
    """Compile here what workers inherit, and refuse cells that cannot fit into memory."""
    kernels.load()
    if any(cell.protocol.batch_nodes is not None for cell in plan.cells):
        load_sampling()
    elsewhere = "address" in EXECUTORS[config.backend].takes
    if not elsewhere or config.memory is not None:  # the free memory of a cluster's nodes is not known here
        done = set() if again or out is None else recorded_cells(out, plan)[0]
        refuse_too_large(plan, workbench, workers=config.workers, limit=config.memory, done=done)


@contextmanager
def _opened(out: Path | None) -> Iterator[Store]:
    """Open the store of a run folder, or one that lives as long as one call."""
    with ExitStack() as stack:
        where = out or stack.enter_context(tempfile.TemporaryDirectory(prefix="graphnetz-"))
        yield stack.enter_context(Store.create(where))


def _forget(store: Store, plan: Plan, executor: Executor, *, strict_env: bool, retry_failed: bool) -> list[str]:
    """Forget results that the caller wants made again, and those that rest on what has changed; say which and why.

    The store remembers that their test splits were seen.
    """
    reads = store.reads()
    changed = stale({cell.key: reads[cell.key] for cell in plan.cells if cell.key in reads})
    if not (retry_failed or strict_env or changed):
        return []
    results = list(store.results([cell.key for cell in plan.cells], histories=False))
    again = {result.key for result in results if result.key in changed or (retry_failed and not result.ok)}
    if strict_env and results:
        here = _worker_environments(plan, executor)
        again |= {result.key for result in results if result.environment not in here}
    if again:
        count_again(store, sum(result.key in again and result.ok for result in results))
        store.reset(again)
    causes = Counter((result.model, changed[result.key]) for result in results if result.key in changed)
    return [
        f"{count} cell{'s'[: count != 1]} of model {model!r} {'are' if count != 1 else 'is'} trained again: {reason}."
        for (model, reason), count in causes.items()
    ]


def _worker_environments(plan: Plan, executor: Executor) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for device in sorted({cell.protocol.device for cell in plan.cells}):
        found |= executor.environments(device)
    return found


def _explain_environments(store: Store, plan: Plan, executor: Executor) -> None:
    """Keep what the environment keys of results stand for, when they are not this process's own."""
    here = environment()
    if environment_key(here) not in store.read_environments():
        store.write_environment(environment_key(here), here | {"reference": reference_cell()})
    if store.unexplained_environments():
        for key, facts in _worker_environments(plan, executor).items():
            store.write_environment(key, facts)


def execute(
    store: Store,
    plan: Plan,
    run_one: Callable[[Cell], CellResult],
    executor: Executor,
    *,
    limits: Limits,
    verbose: bool,
    listen: Listener | None = None,
) -> None:
    """Run the missing cells of a plan and show how far it is; ``listen`` hears of every cell that ends."""
    store.plan(plan.cells)
    missing = set(store.missing([cell.key for cell in plan.cells]))
    todo = [cell for cell in plan.cells if cell.key in missing]
    recorded = {pair: (count, mean) for pair, (count, mean, _) in store.durations().items()}
    workers = executor.workers or os.cpu_count() or 1
    done = len(plan.cells) - len(todo)
    by_key = {cell.key: cell for cell in todo}

    def ended(result: CellResult) -> None:
        progress.result(result)
        if listen is not None:
            listen(by_key[result.key], result)

    with Progress(len(plan.cells), done, Estimator(todo, recorded), workers=workers, verbose=verbose) as progress:
        drive(
            store, todo, run_one, executor=executor, limits=limits,
            on_start=progress.start, on_result=ended, tick=progress.tick,
        )  # fmt: skip
