"""`run_benchmark`: plan, run what is missing, report."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import graphnetz.kernels as kernels
from graphnetz._core.errors import UsageError, unknown_name
from graphnetz.engine.adaptive import run_rounds, seed_rule
from graphnetz.engine.cost.footprint import refuse_too_large
from graphnetz.engine.executors import EXECUTORS, Executor, Limits, drive
from graphnetz.engine.identity.environment import environment, environment_key
from graphnetz.engine.outputs import assemble, write_outputs
from graphnetz.engine.plan import Plan, choose_seeds, choose_tasks, make_plan
from graphnetz.engine.preregistration import analysis_plan, count_again, register, registration_section
from graphnetz.engine.progress import Estimator, Progress
from graphnetz.engine.search import SearchSpace
from graphnetz.engine.store import Store
from graphnetz.engine.trackers import Listener, listening
from graphnetz.engine.worker import Workbench
from graphnetz.kernels.sampling import load_sampling
from graphnetz.models import ModelSpec, named_specs
from graphnetz.records import Cell, CellResult, Protocol, Task
from graphnetz.report import BenchmarkReport


def run_benchmark(
    category: str | None = None,
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
    search: SearchSpace | None = None,
    *,
    out: str | Path | None = None,
    workers: int | None = None,
    backend: str = "local",
    address: str | None = None,
    gpus: float | None = None,
    protocol: Protocol | Mapping[str, Any] | None = None,
    model_kwargs: Mapping[str, Mapping[str, Any]] | None = None,
    model_protocol: Mapping[str, Mapping[str, Any]] | None = None,
    transform: Callable[[Any], Any] | Mapping[str, Callable[[Any], Any]] | None = None,
    timeout: float | None = None,
    memory: float | None = None,
    save_predictions: bool = False,
    save_weights: bool = False,
    strict_env: bool = False,
    retry_failed: bool = False,
    settings: Mapping[str, Any] | None = None,
    on_planned: Callable[[], None] | None = None,
    precision: float | None = None,
    max_seeds: int | None = None,
    log: str | Sequence[str] | None = None,
) -> BenchmarkReport:
    """Train every compatible (task, model, seed) cell and return the statistical report.

    Parameters
    ----------
    category, tasks
        A category of the catalogue, or the tasks themselves (Task objects or names): one of the two.
    models
        A class, a registered name, a sequence of either, or a dict name -> class | ModelSpec |
        (class, task types, factory).
    root
        Where datasets are kept, as ``root/<category>/<dataset>/``.
    seeds
        Default 0..9. Cells are paired by seed, so every model gets the same ones. ``"auto"`` runs seeds in
        rounds and stops each comparison when it is decided.
    out
        Run folder. With it the run is kept and resumed: only missing cells are trained. Without it
        nothing is reused.
    workers, backend, address, gpus
        How many cells at a time (default: one per core), ``"local"``, ``"serial"`` or ``"ray"``; for
        Ray the address of a running cluster and the graphics processors per cell (a fraction shares one).
    protocol
        Overrides for all models, for instance ``{"lr": 1e-3, "selection": "best_val"}``.
    model_kwargs, model_protocol
        The same per model: constructor arguments and protocol overrides.
    transform
        A PyG transform for every task, or a mapping from task names.
    timeout, memory
        Limits per cell in seconds and megabytes; a cell above them is a named failure.
    save_predictions, save_weights
        Keep test-set outputs in the store, trained weights in the run folder.
    strict_env, retry_failed
        Train again what was made in an environment other than the workers', or what failed.
    log
        Trackers that get every cell as it ends: ``"tensorboard:DIR"``, ``"mlflow"``, ``"wandb:PROJECT"``, or several.
        Nothing leaves this machine unless their own settings say so.
    precision, max_seeds
        With ``seeds="auto"``: the largest difference that does not matter (models closer than this are
        practically equivalent), and the budget of seeds per model and task (default 30).
    """
    specs = _specs(models, model_kwargs)
    chosen = _transformed_tasks(choose_tasks(category, tasks, task_type, only), transform)
    rule = seed_rule(seeds, precision, max_seeds)
    chosen_seeds = tuple(range(rule.max_seeds)) if rule else choose_seeds(seeds, seed)
    if save_weights and out is None:
        raise UsageError("save_weights needs a run folder. Pass out=DIR as well.")
    workbench = Workbench(
        tasks={task.name: task for task in chosen},
        specs=specs,
        root=str(root),
        search=search,
        save_predictions=save_predictions,
        weights=str(Path(out) / "weights") if save_weights and out is not None else None,
    )
    options = {name: value for name, value in (("address", address), ("gpus", gpus)) if value}
    if options and backend != "ray":
        raise UsageError(f"{' and '.join(options)} is for Ray clusters, not for the backend {backend!r}. Use 'ray'.")
    executor = EXECUTORS[backend](workers=workers, **options)
    overrides = _overrides(protocol, hidden_channels, device)
    with listening(log, None if out is None else Path(out)) as listen, _opened(out) as store:
        plan = make_plan(workbench, chosen_seeds, protocol=overrides, epochs=epochs, model_protocol=model_protocol)
        started = time.time()
        kernels.load()  # compiled here, once: workers inherit them
        if any(cell.protocol.batch_nodes is not None for cell in plan.cells):
            load_sampling()
        if backend != "ray" or memory is not None:  # the free memory of a cluster's nodes is not known here
            keys = [cell.key for cell in plan.cells]
            done = set() if retry_failed or strict_env else set(keys) - set(store.missing(keys))
            refuse_too_large(plan, workbench, workers=workers, limit=memory, done=done)
        if on_planned is not None:
            on_planned()
        planned = analysis_plan(plan, rule=rule, search=search)
        register(store, planned, None if out is None else Path(out))
        _forget(store, plan, executor, strict_env=strict_env, retry_failed=retry_failed)

        def train(part: Plan) -> None:
            store.plan(part.cells)
            limits = Limits(timeout, memory)
            execute(store, part, workbench, executor, limits=limits, verbose=verbose, listen=listen)

        if rule is None:
            train(plan)
        else:
            plan = run_rounds(store, plan, rule, train)
        _explain_environments(store, plan, executor)
        store.write_section(registration_section(store, planned, plan, None if out is None else Path(out)))
        config = dict(settings or {}) | {"hidden_channels": hidden_channels, "epochs": epochs, "task_type": task_type}
        if rule is not None:
            config["auto"] = rule.as_dict()
        report = assemble(store, plan, workbench, config=config, started=started)
        if out is not None:
            _ = report.analysis.comparisons  # every test is run here, once; what is written only reads it
            write_outputs(report, store, Path(out), started=started)
    return report


def _specs(models: Any, model_kwargs: Mapping[str, Mapping[str, Any]] | None) -> dict[str, ModelSpec]:
    specs = named_specs(models)
    for name, kwargs in (model_kwargs or {}).items():
        if name not in specs:
            raise unknown_name("model", name, specs)
        specs[name] = specs[name].with_kwargs(kwargs)
    return specs


def _transformed_tasks(tasks: list[Task], transform: Any) -> list[Task]:
    if transform is None:
        return tasks
    import dataclasses

    table = transform if isinstance(transform, Mapping) else {task.name: transform for task in tasks}
    for name in table:
        if name not in {task.name for task in tasks}:
            raise unknown_name("task", name, [task.name for task in tasks])
    return [dataclasses.replace(t, transform=table[t.name]) if t.name in table else t for t in tasks]


def _overrides(protocol: Protocol | Mapping[str, Any] | None, hidden: int, device: Any) -> dict[str, Any]:
    if isinstance(protocol, Protocol):
        given = protocol.as_dict()
        given.pop("epochs")
    else:
        given = dict(protocol or {})
    given.setdefault("hidden_channels", hidden)
    given.setdefault("device", _device(device))
    return given


def _device(device: Any) -> str:
    if device is None or device == "auto":
        import torch

        return "cuda" if torch.cuda.is_available() else "cpu"
    return str(device)


class _Temporary(AbstractContextManager["Store"]):
    """A store that lives as long as one call."""

    def __enter__(self) -> Store:
        self.folder = tempfile.TemporaryDirectory(prefix="graphnetz-")
        self.store = Store.create(self.folder.name)
        return self.store

    def __exit__(self, *_: object) -> None:
        self.store.close()
        self.folder.cleanup()


def _opened(out: str | Path | None) -> AbstractContextManager[Store]:
    return _Temporary() if out is None else Store.create(out)


def _forget(store: Store, plan: Plan, executor: Executor, *, strict_env: bool, retry_failed: bool) -> None:
    """Forget results that the caller wants made again, and remember that their test splits were seen."""
    if not (retry_failed or strict_env):
        return
    results = list(store.results([cell.key for cell in plan.cells], histories=False))
    again = {result.key for result in results if retry_failed and not result.ok}
    if strict_env and results:
        here = _worker_environments(plan, executor)
        again |= {result.key for result in results if result.environment not in here}
    if again:
        count_again(store, sum(result.key in again and result.ok for result in results))
        store.reset(again)


def _worker_environments(plan: Plan, executor: Executor) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for device in sorted({cell.protocol.device for cell in plan.cells}):
        found |= executor.environments(device)
    return found


def _explain_environments(store: Store, plan: Plan, executor: Executor) -> None:
    """Keep what the environment keys of results stand for, when they are not this process's own."""
    here = environment()
    store.write_environment(environment_key(here), here)
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
