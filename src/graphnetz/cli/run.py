"""`graphnetz run` and `graphnetz resume`."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from graphnetz._core.errors import UsageError
from graphnetz._core.grouping import grouped
from graphnetz._core.text import clean, seeds_word
from graphnetz.cli.app import FAILED_CELLS, OK, answer, app, remember_folder, say
from graphnetz.cli.settings import KEY, SettingsCommand

if TYPE_CHECKING:
    from graphnetz.records import CellResult, RunConfig

RetryFailed = Annotated[bool, typer.Option("--retry-failed", help="Train failed cells again.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print results as JSON.")]
Quiet = Annotated[bool, typer.Option("--quiet", help="No progress.")]


_AGAIN = "; the folder's own is not obeyed, it may be a stranger's."


@app.command(cls=SettingsCommand)
def run(
    ctx: typer.Context,
    config: Annotated[Path | None, typer.Argument(help="A TOML file whose keys equal the options.")] = None,
    retry_failed: RetryFailed = False,
    strict_env: Annotated[bool, typer.Option("--strict-env", help="Re-run cells made in another environment.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the plan and its cost, train nothing.")] = False,
    audit: Annotated[
        bool, typer.Option("--audit", help="Look for leaks in the tasks first; the report shows what was found.")
    ] = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> int:
    """Train every compatible (task, model, seed) cell and write the report folder."""
    from graphnetz.records.config_files import load_config

    chosen = load_config(config, ctx.meta[KEY])
    if dry_run:
        from graphnetz.cli.show import print_estimate

        return print_estimate(chosen, as_json=as_json)
    if config is None and not any(getattr(chosen, name) for name in _CHOOSES) and not _agreed():
        return OK
    if audit:
        from graphnetz.cli.decide import audit_before

        audit_before(chosen)
    return _run(chosen, retry_failed=retry_failed, strict_env=strict_env, as_json=as_json, quiet=quiet)


_CHOOSES = ("suite", "category", "task", "task_type", "graph", "model")
"""Settings that say what to train; a run without any of them is the default suite, which takes long."""


def _agreed() -> bool:
    """Say what a run without a suite would do, and ask a person for a yes; a program has to name the suite."""
    from graphnetz.datasets import SUITES

    suite = SUITES["default"]
    tasks, seeds = [task.name for task in suite()], seeds_word(len(suite.seeds or range(10)))
    what = f"the default suite: {len(tasks)} tasks ({', '.join(tasks)}), every model that serves them, {seeds}"
    ways = "'graphnetz run --suite default' trains it, --suite quick takes less than a minute, --dry-run shows the cost"
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError(f"Nothing says what to train. Without a suite it would be {what}. {ways}.")
    say(f"This would train {what}. {ways}.")
    return typer.confirm("Train the default suite now?", default=False)


@app.command()
def resume(
    folder: Annotated[Path, typer.Argument(help="The run folder.")],
    retry_failed: RetryFailed = False,
    workers: Annotated[int | None, typer.Option(help="Cells at a time.")] = None,
    mirror: Annotated[
        str | None, typer.Option(help=f"Folder or URL asked for datasets before the network{_AGAIN}")
    ] = None,
    root: Annotated[str | None, typer.Option(help=f"Where datasets are kept{_AGAIN}")] = None,
    backend: Annotated[str | None, typer.Option(help=f"Executor: local, serial or ray{_AGAIN}")] = None,
    address: Annotated[str | None, typer.Option(help=f"Address of a Ray cluster{_AGAIN}")] = None,
    gpus: Annotated[float | None, typer.Option(help=f"Graphics processors per cell on Ray{_AGAIN}")] = None,
    log: Annotated[list[str] | None, typer.Option(help=f"Also log cells to a tracker{_AGAIN}")] = None,
    model: Annotated[
        list[str] | None, typer.Option(help=f"A model of the run that is code, such as path.py:Class{_AGAIN}")
    ] = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> int:
    """Go on with a run: only missing cells are trained."""
    from graphnetz._core.paths import refuse_links
    from graphnetz.records.config_files import resumed_config

    if not (folder / "config.toml").exists():
        _refuse_merged(folder)
        raise UsageError(f"{str(folder)!r} holds no config.toml. Give the folder of an earlier 'graphnetz run'.")
    refuse_links(folder)
    again = {"mirror": mirror, "root": root, "backend": backend, "address": address, "gpus": gpus, "log": log}
    again["model"] = model
    chosen, left = resumed_config(folder, again | {"workers": workers, "out": str(folder)})
    if left:
        say(f"Not taken from the folder's config.toml: {shlex.join(left)}. Repeat it after 'resume' if it is yours.")
    return _run(chosen, retry_failed=retry_failed, strict_env=False, as_json=as_json, quiet=quiet)


MOST_REASONS = 20


def failure_lines(failed: Sequence[CellResult], total: int) -> list[str]:
    """One line per model and reason, with the cells it concerns; the reason names file and line of the user's code."""
    groups = grouped(failed, lambda result: (result.model, str(result.status), str(result.error)))
    lines = []
    for (model, status, error), cells in list(groups.items())[:MOST_REASONS]:
        tasks = grouped(cells, lambda result: result.task)
        where = "; ".join(
            f"{task} {'seed' if len(mine) == 1 else 'seeds'} {_seeds([cell.seed for cell in mine])}"
            for task, mine in list(tasks.items())[:4]
        ) + (f" and {len(tasks) - 4} more tasks" if len(tasks) > 4 else "")
        lines.append(clean(f"{model} {status} on {len(cells)} of {total} cells ({where}): {error}"))
    if len(groups) > MOST_REASONS:
        lines.append(f"and {len(groups) - MOST_REASONS} more reasons; report.html lists every failed cell")
    return lines


def absent_lines(reasons: Mapping[tuple[str, str], str]) -> list[str]:
    """One line per model that some task was not trained with: each reason once, and on how many tasks it holds."""
    lines = []
    for model, pairs in grouped(sorted(reasons), lambda pair: pair[1]).items():
        why = grouped(pairs, lambda pair: reasons[pair].removeprefix(f"{pair[1]} ").rstrip("."))
        said = [f"{reason} ({len(found)} task{'s'[: len(found) != 1]})" for reason, found in why.items()]
        lines.append(clean(f"n/a: {model} {'; '.join(said)}"))
    return lines


def _seeds(seeds: Sequence[int]) -> str:
    """``0 to 9``, or the seeds one by one where some are missing."""
    found = sorted(seeds)
    if len(found) > 2 and found == list(range(found[0], found[-1] + 1)):
        return f"{found[0]} to {found[-1]}"
    return ", ".join(map(str, found[:8])) + (f" and {len(found) - 8} more" if len(found) > 8 else "")


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


def _run(config: RunConfig, *, retry_failed: bool, strict_env: bool, as_json: bool, quiet: bool) -> int:
    from graphnetz.cli.show import print_beside, print_report
    from graphnetz.engine.config import resolve
    from graphnetz.engine.run import run as train

    folder = config.folder()
    remember_folder(str(folder), config.to_repeat())
    chosen = resolve(config.model_copy(update={"out": str(folder)}))
    report = train(chosen, verbose=not quiet, retry_failed=retry_failed, strict_env=strict_env)
    answer(as_json, lambda: json.loads(report.to_json()), lambda: print_report(report, folder))
    if not as_json:
        print_beside(report, config.suite)
    if config.shard:
        say(f"This is part {config.shard}. When all parts are there: graphnetz merge PART... --out FOLDER")
    failed = [result for result in report.results if not result.ok]
    tried = {(result.task, result.model) for result in failed}  # these have a line of their own, with the reason
    absent = {pair: why for pair, why in report.scores.reasons.items() if pair not in tried}
    for line in (*absent_lines(absent), *failure_lines(failed, len(report.results))):
        say(line)
    return FAILED_CELLS if failed else OK
