"""`graphnetz run` and `graphnetz resume`."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from graphnetz._core.errors import UsageError
from graphnetz._core.text import clean
from graphnetz.cli.app import FAILED_CELLS, OK, answer, app, remember_folder, say
from graphnetz.cli.settings import KEY, SettingsCommand

if TYPE_CHECKING:
    from graphnetz.records import RunConfig

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
    from graphnetz.records.config import load_config

    chosen = load_config(config, ctx.meta[KEY])
    if dry_run:
        from graphnetz.cli.show import print_estimate

        return print_estimate(chosen, as_json=as_json)
    if audit:
        from graphnetz.cli.decide import audit_before

        audit_before(chosen)
    return _run(chosen, retry_failed=retry_failed, strict_env=strict_env, as_json=as_json, quiet=quiet)


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
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> int:
    """Go on with a run: only missing cells are trained."""
    from graphnetz._core.paths import refuse_links
    from graphnetz.records.config import resumed_config

    if not (folder / "config.toml").exists():
        _refuse_merged(folder)
        raise UsageError(f"{str(folder)!r} holds no config.toml. Give the folder of an earlier 'graphnetz run'.")
    refuse_links(folder)
    again = {"mirror": mirror, "root": root, "backend": backend, "address": address, "gpus": gpus, "log": log}
    chosen, left = resumed_config(folder, again | {"workers": workers, "out": str(folder)})
    if left:
        say(f"Not taken from the folder's config.toml: {shlex.join(left)}. Repeat it after 'resume' if it is yours.")
    return _run(chosen, retry_failed=retry_failed, strict_env=False, as_json=as_json, quiet=quiet)


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
    failed = [result for result in report.results if not result.ok]
    for result in failed[:20]:
        say(clean(f"{result.status}: {result.task} / {result.model} / seed {result.seed}: {result.error}"))
    if len(failed) > 20:
        say(f"... and {len(failed) - 20} more failed cells, listed in {folder / 'report.html'}")
    return FAILED_CELLS if failed else OK
