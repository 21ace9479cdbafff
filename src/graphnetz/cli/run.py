"""`graphnetz run` and `graphnetz resume`."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Annotated, Any

import typer

from graphnetz._core.errors import UsageError
from graphnetz.cli.app import FAILED_CELLS, OK, app, remember_folder, say

FLAGS = (
    "log", "budget", "size",
    "suite", "category", "task", "task_type", "graph", "labels", "features", "model", "protocol", "epochs",
    "hidden_channels", "lr", "weight_decay", "batch_nodes", "selection", "patience", "workers", "backend", "address",
    "gpus", "timeout", "memory", "mirror", "root", "out", "save_predictions", "save_weights", "precision", "max_seeds",
)  # fmt: skip
"""Flags that are keys of the configuration as they are."""


@app.command()
def run(
    config: Annotated[Path | None, typer.Argument(help="A TOML file whose keys equal the flags.")] = None,
    suite: Annotated[str | None, typer.Option(help="A named suite of tasks (see 'graphnetz list suites').")] = None,
    size: Annotated[
        str | None, typer.Option(help="Of a study's data: 'published', or 'small' for minutes on two cores.")
    ] = None,
    category: Annotated[str | None, typer.Option(help="All curated tasks of a category.")] = None,
    task: Annotated[list[str] | None, typer.Option(help="A task by name; repeat for several.")] = None,
    task_type: Annotated[
        str | None, typer.Option(help="Keep only tasks of this type; with --graph: what to predict.")
    ] = None,
    graph: Annotated[
        str | None, typer.Option(help="Your own graph: edges as CSV (source, target), GraphML, GML or npz.")
    ] = None,
    labels: Annotated[
        str | None, typer.Option(help="Classes for --graph: CSV with the columns node and label.")
    ] = None,
    features: Annotated[
        str | None, typer.Option(help="Numbers for --graph: CSV with the column node and one column per feature.")
    ] = None,
    model: Annotated[list[str] | None, typer.Option(help="A model by name; repeat for several.")] = None,
    protocol: Annotated[str | None, typer.Option(help="'default', or 'paper' for that of GraphNetz.")] = None,
    seeds: Annotated[str | None, typer.Option(help="How many seeds, a list such as 0,1,5, or auto.")] = None,
    precision: Annotated[
        float | None, typer.Option(help="With --seeds auto: the largest difference that does not matter, such as 0.01.")
    ] = None,
    max_seeds: Annotated[
        int | None, typer.Option(help="With --seeds auto: at most this many seeds per model and task (30).")
    ] = None,
    epochs: Annotated[int | None, typer.Option(help="Epochs instead of each task's own.")] = None,
    hidden_channels: Annotated[int | None, typer.Option(help="Width of the encoders.")] = None,
    budget: Annotated[
        str | None, typer.Option(help="Parameters per model such as 100k: each gets the closest width.")
    ] = None,
    lr: Annotated[float | None, typer.Option(help="Learning rate instead of each task's own.")] = None,
    weight_decay: Annotated[float | None, typer.Option(help="Weight decay instead of each task's own.")] = None,
    batch_nodes: Annotated[
        int | None, typer.Option(help="Train on batches of this many nodes with sampled neighbours.")
    ] = None,
    fanouts: Annotated[
        str | None, typer.Option(help="Neighbours sampled per node and layer, such as 10,10 (-1: all).")
    ] = None,
    selection: Annotated[str | None, typer.Option(help="Report the 'last' epoch or the 'best_val' one.")] = None,
    patience: Annotated[
        int | None, typer.Option(help="Stop after this many epochs without a better validation.")
    ] = None,
    workers: Annotated[int | None, typer.Option(help="Cells at a time; default: one per core.")] = None,
    backend: Annotated[str | None, typer.Option(help="local, serial or ray.")] = None,
    address: Annotated[str | None, typer.Option(help="Address of a Ray cluster.")] = None,
    gpus: Annotated[float | None, typer.Option(help="Graphics processors per cell on Ray, 0.25 for a share.")] = None,
    timeout: Annotated[float | None, typer.Option(help="Seconds a cell may take.")] = None,
    memory: Annotated[float | None, typer.Option(help="Megabytes a cell may use.")] = None,
    mirror: Annotated[str | None, typer.Option(help="Folder or URL asked before the network.")] = None,
    root: Annotated[str | None, typer.Option(help="Where datasets are kept.")] = None,
    out: Annotated[str | None, typer.Option(help="Run folder; an existing one is resumed.")] = None,
    save_predictions: Annotated[bool | None, typer.Option("--save-predictions", help="Keep test-set outputs.")] = None,
    save_weights: Annotated[bool | None, typer.Option("--save-weights", help="Keep trained weights.")] = None,
    log: Annotated[
        list[str] | None, typer.Option(help="Also log cells to tensorboard[:DIR], mlflow[:ADDRESS] or wandb[:PROJECT].")
    ] = None,
    retry_failed: Annotated[bool, typer.Option("--retry-failed", help="Train failed cells again.")] = False,
    strict_env: Annotated[bool, typer.Option("--strict-env", help="Re-run cells made in another environment.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the plan and its cost, train nothing.")] = False,
    audit: Annotated[
        bool, typer.Option("--audit", help="Look for leaks in the tasks first; the report shows what was found.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print results as JSON.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress.")] = False,
) -> int:
    """Train every compatible (task, model, seed) cell and write the report folder."""
    from graphnetz.engine.config import load_config

    given = locals()
    flags = {key: given[key] for key in FLAGS} | {"seeds": _seeds(seeds), "fanouts": _fanouts(fanouts)}
    resolved = load_config(config, flags)
    if audit and not dry_run:
        from graphnetz.cli.decide import audit_before

        audit_before(resolved, _tasks(resolved))
    return _run(
        resolved, retry_failed=retry_failed, strict_env=strict_env, dry_run=dry_run, as_json=as_json, quiet=quiet
    )


@app.command()
def resume(
    folder: Annotated[Path, typer.Argument(help="The run folder.")],
    retry_failed: Annotated[bool, typer.Option("--retry-failed", help="Train failed cells again.")] = False,
    workers: Annotated[int | None, typer.Option(help="Cells at a time.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print results as JSON.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress.")] = False,
) -> int:
    """Go on with a run: only missing cells are trained."""
    from graphnetz.engine.config import load_config

    path = folder / "config.toml"
    if not path.exists():
        _refuse_merged(folder)
        raise UsageError(f"{str(folder)!r} holds no config.toml. Give the folder of an earlier 'graphnetz run'.")
    resolved = load_config(path, {"workers": workers, "out": str(folder)})
    return _run(resolved, retry_failed=retry_failed, strict_env=False, dry_run=False, as_json=as_json, quiet=quiet)


def _refuse_merged(folder: Path) -> None:
    """Say of a merged folder where its cells came from, instead of that it lacks a file."""
    from graphnetz.cli.load import read_provenance

    config = read_provenance(folder / "provenance.json").get("config")
    names = config.get("merged") if isinstance(config, dict) else None
    if isinstance(names, list) and names:
        listed = " and ".join(str(name)[:60] for name in names[:6]) + (" and others" if len(names) > 6 else "")
        raise UsageError(
            f"{str(folder)!r} was merged from {listed} and is no run of its own. Resume the parts (their settings are "
            f"in {str(folder / 'parts')!r}), then merge again."
        )


def _seeds(text: str | None) -> int | list[int] | str | None:
    if text is None or text == "auto":
        return text
    try:
        numbers = [int(part) for part in text.split(",") if part.strip()]
    except ValueError:
        raise UsageError(f"--seeds takes a count, a list such as 0,1,5, or auto, got {text!r}.") from None
    if "," in text:
        return numbers
    if not numbers:
        raise UsageError("--seeds is empty: give a count such as 10 or a list such as 0,1,5.")
    return numbers[0]


def _fanouts(text: str | None) -> list[int] | None:
    if text is None:
        return None
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise UsageError(f"--fanouts takes one number per layer such as 10,10, got {text!r}.") from None


def _run(config: Any, *, retry_failed: bool, strict_env: bool, dry_run: bool, as_json: bool, quiet: bool) -> int:
    if config.mirror:
        os.environ["GRAPHNETZ_MIRROR"] = config.mirror
    from graphnetz.cli.data import print_published
    from graphnetz.cli.show import print_report
    from graphnetz.cli.studies import print_study, study_arguments
    from graphnetz.engine.outputs import write_toml
    from graphnetz.engine.run import run_benchmark

    folder = config.folder()
    arguments = {
        "category": config.category, "models": config.models(), "root": config.root,
        "hidden_channels": config.hidden_channels,
        "epochs": config.epochs, "seeds": config.seed_list(), "task_type": config.task_type, "tasks": _tasks(config),
        "device": config.device, "protocol": config.overrides(),
    }  # fmt: skip
    arguments |= study_arguments(config)
    if dry_run:
        from graphnetz.cli.show import print_estimate

        if arguments["seeds"] == "auto":  # the whole budget: what is saved depends on the scores
            arguments["seeds"] = list(range(config.max_seeds or 30))
        return print_estimate(arguments, folder, config, as_json=as_json)
    remember_folder(str(folder))
    # The folder is made and the settings written before the first cell, so that `resume` works after a crash.
    settings = config.model_dump(exclude={"out"}) | {"out": str(folder)}
    report = run_benchmark(
        **arguments, out=folder, workers=config.workers, backend=config.backend, address=config.address,
        gpus=config.gpus, timeout=config.timeout, memory=config.memory, save_predictions=config.save_predictions,
        save_weights=config.save_weights, strict_env=strict_env, retry_failed=retry_failed, verbose=not quiet,
        log=config.log, precision=config.precision, max_seeds=config.max_seeds,
        settings={"suite": config.suite}, on_planned=lambda: write_toml(folder / "config.toml", settings),
    )  # fmt: skip
    if as_json:
        print(json.dumps(json.loads(report.to_json()), indent=1))
    else:
        print_report(report, folder)
        print_published(report, config.suite)
        print_study(report, config.suite)
    failed = [result for result in report.results if not result.ok]
    for result in failed[:20]:
        say(f"{result.status}: {result.task} / {result.model} / seed {result.seed}: {result.error}")
    if len(failed) > 20:
        say(f"... and {len(failed) - 20} more failed cells, listed in {folder / 'report.html'}")
    return FAILED_CELLS if failed else OK


def _tasks(config: Any) -> list[Any] | None:
    """Tasks named one by one, a suite, or (with a category) none: run_benchmark takes those itself."""
    from graphnetz.datasets import find_task

    given = [
        name for name, value in (("suite", config.suite), ("category", config.category), ("task", config.task)) if value
    ]
    if len(given) > 1 and "category" in given:
        raise UsageError(f"--{given[0]} and --{given[1]} exclude each other. Give one of them.")
    if config.graph:
        return [_own_task(config)]
    if config.category:
        return None
    if config.task and config.suite:
        names = {task.name: task for task in _suite(config)}
        return [names.get(name) or find_task(name) for name in config.task]
    if config.task:
        return [find_task(name) for name in config.task]
    return _suite(config)


def _suite(config: Any) -> list[Any]:
    """Tasks of the suite, at the size asked for where it has sizes."""
    from graphnetz.datasets import SUITES
    from graphnetz.datasets.bgnn import STUDIES

    make: Any = SUITES[config.suite or "default"]
    tasks: list[Any] = make(config.size) if config.suite in STUDIES else make()
    return tasks


def _own_task(config: Any) -> Any:
    """One task from the user's files, named after the file of edges."""
    from graphnetz._core.paths import slug
    from graphnetz.datasets import task_from_edges

    return task_from_edges(
        slug(Path(config.graph).stem), config.graph,
        labels=config.labels, features=config.features, task_type=config.task_type,
    )  # fmt: skip
