"""`graphnetz compare`, `merge`, `leaderboard` and `serve`: commands over finished or running folders."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from graphnetz._core.errors import UsageError
from graphnetz.cli.app import FAILED_CELLS, OK, answer, app, put, say

if TYPE_CHECKING:
    from graphnetz.engine.store import Store
    from graphnetz.records import Section
    from graphnetz.report import BenchmarkReport
    from graphnetz.report.compare_runs import RunComparison


@app.command()
def compare(
    first: Annotated[Path, typer.Argument(help="A run folder, a results.json or a CSV of scores.")],
    second: Annotated[Path, typer.Argument(help="Another one.")],
    alpha: Annotated[float, typer.Option(help="Level of the tests after Holm.")] = 0.05,
    method: Annotated[str, typer.Option(help="Paired test: t, wilcoxon or sign.")] = "t",
    fail_if_worse: Annotated[
        bool, typer.Option("--fail-if-worse", help="End with 1 if anything became worse.")
    ] = False,
    margin: Annotated[float, typer.Option(help="Only what changed by more than this counts.")] = 0.0,
    as_json: Annotated[bool, typer.Option("--json", help="Print as JSON.")] = False,
) -> int:
    """Say what changed between two runs, paired by task, model and seed where they share seeds and data."""
    from graphnetz.cli.load import load_report
    from graphnetz.report.compare_runs import compare_reports
    from graphnetz.report.jsonio import jsonable

    found = compare_reports(load_report(first), load_report(second), alpha=alpha, method=method, margin=margin)
    data = lambda: jsonable(asdict(found) | {"summary": found.sentence()})  # noqa: E731
    answer(as_json, data, lambda: _print_comparison(found))
    return FAILED_CELLS if fail_if_worse and found.worse else OK


def _print_comparison(found: RunComparison) -> None:
    from graphnetz._core.text import clean, number, p_value, shorten
    from graphnetz.cli.show import console_of, print_table

    console = console_of(240)  # names are cut at 40 letters, never wrapped
    console.print(found.sentence())
    moved = [c for c in found.changes if c.verdict != "identical"]
    if moved:
        columns = ("task", "model", "metric", "seeds", "first", "second", "difference", "adjusted p", "verdict")
        rows = []
        for c in moved:
            low, high = (number(bound, signed=True) for bound in (c.sim_low, c.sim_high))
            span = f" [{low}, {high}]" if c.sim_low == c.sim_low else ""
            rows.append((
                shorten(c.task, 40), shorten(c.model, 40), clean(c.metric), str(c.n), number(c.first), number(c.second),
                number(c.diff, signed=True) + span, p_value(c.p_holm), c.verdict,
            ))  # fmt: skip
        print_table(console, columns, rows)
    for why in dict.fromkeys(c.reason for c in moved if c.reason):
        tasks = ", ".join(dict.fromkeys(f"{clean(c.task)} / {clean(c.model)}" for c in moved if c.reason == why))
        console.print(f"{tasks}: {clean(why)}")
    for task, why in found.incomparable:
        console.print(f"not compared: {clean(task)}, because {clean(why)}")
    for what, name in found.only:
        console.print(f"{clean(what)}: {clean(name)}")
    for key, old, new in found.settings:
        console.print(f"setting {clean(key)}: {clean(old)} -> {clean(new)}")


@app.command()
def merge(
    runs: Annotated[list[Path], typer.Argument(help="Run folders whose cells belong together.")],
    out: Annotated[Path, typer.Option(help="A new folder for the merged run.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print results as JSON.")] = False,
) -> int:
    """Put the cells of several runs into one folder, with one store and one report."""
    from graphnetz.cli.show import print_report
    from graphnetz.report.compare_runs import merge_reports

    _new_folder(out)
    merged = merge_reports(_reports(runs), names=_labels(runs))
    stored = [run for run in runs if (run / "store.sqlite").is_file()]
    # A store beside a report must hold all of its cells; without some of them it would contradict it.
    with _merged_store(stored if len(stored) == len(runs) else [], out) as store:
        _keep_settings(runs, out)
        if store is not None:
            store.publish([result.key for result in merged.results], done=False)
        merged.write(out)
        if store is not None:
            store.publish([result.key for result in merged.results], done=True)
            store.checkpoint_to_one_file()
    if as_json:
        put(merged.to_json(histories=False), end="")
    else:
        print_report(merged, out)
    return OK


def _keep_settings(runs: list[Path], out: Path) -> None:
    """Copy the settings of every part to ``parts/``: a merged folder is no run of its own and has none."""
    from graphnetz._core.paths import slug, write_file

    for label, run in zip(_labels(runs), runs, strict=True):
        settings = run / "config.toml"
        if settings.is_file() and settings.stat().st_size < 1 << 20:
            text = settings.read_text(encoding="utf-8", errors="replace")
            write_file(out / "parts" / f"{slug(label)}.toml", text)


@contextmanager
def _merged_store(runs: list[Path], out: Path) -> Iterator[Store | None]:
    """One store with the cells of all runs; where one failed and another did not, with the one that did not."""
    from graphnetz.engine.store import Store

    if not runs:
        yield None
        return
    with Store.create(out) as target:
        for ok in (True, False):
            for run in runs:
                with Store.open(run, readonly=True) as source:
                    target.plan(source.cells())
                    target.adopt(result for result in source.results() if result.ok == ok)
        for run in runs:
            with Store.open(run, readonly=True) as source:
                for key, body in source.read_environments().items():
                    target.write_environment(key, body)
                for section in source.read_sections():
                    target.write_section(section)
        yield target


@app.command()
def leaderboard(
    runs: Annotated[
        list[Path], typer.Argument(help="Bundles, run folders, results.json files or CSV files of scores.")
    ],
    out: Annotated[Path, typer.Option(help="Folder of the site.")] = Path("site"),
    title: Annotated[str, typer.Option(help="Heading of the page.")] = "Leaderboard",
    as_json: Annotated[bool, typer.Option("--json", help="Print the places as JSON.")] = False,
) -> int:
    """Write a static page of many runs: places as intervals, groups that cannot be told apart, who was verified."""
    from graphnetz._core.paths import write_file
    from graphnetz._core.text import shorten
    from graphnetz.analysis.standings import standings_section
    from graphnetz.report.compare_runs import merge_reports
    from graphnetz.report.jsonio import jsonable
    from graphnetz.report.page import render_page
    from graphnetz.report.pagedata import build_page
    from graphnetz.report.tables import csv_text

    with ExitStack() as stack:  # predictions of bundles are read while the analysis is made
        reports = _reports(runs, stack)
        merged = merge_reports(reports, names=_labels(runs), rename=True)
        merged.config["title"] = title
        states = _verified(runs)
        checked = _checked_pairs(reports, _labels(runs), states)
        found, across = merged.analysis.places, merged.analysis.rank_sets
    places = [(m, across.mean_ranks[i], across.low[i], across.high[i], across.missing[i])
              for i, m in enumerate(across.models)]  # fmt: skip
    board = standings_section(found, merged.scores.tasks, across)
    merged.sections = [board, _verified_section(_labels(runs), states), *merged.sections]
    rows = [
        (p.task, p.model, p.mean, p.low, p.high, p.n, p.first, p.last, p.models, checked.get((p.task, p.model), NOT))
        for p in found
    ]
    columns = (
        "task", "model", "mean", "ci_low", "ci_high", "n_seeds", "first_place", "last_place", "models", "verified",
    )  # fmt: skip
    files = {
        "index.html": render_page(build_page(merged)),
        "leaderboard.csv": csv_text(columns, rows),
        "places.csv": csv_text(("model", "mean_rank", "first_place", "last_place", "tasks_omitted"), places),
        "results.json": merged.to_json(histories=False),
    }
    for name, text in files.items():
        write_file(out / name, text)
    lines = []
    for task in merged.scores.tasks:
        first = [
            shorten(p.model, 60) + ("" if checked.get((task, p.model), NOT) != NOT else f" ({NOT})")
            for p in found
            if p.task == task and p.first == 1
        ]
        lines.append(f"{shorten(task, 60)}: {', '.join(first)}" + (" (not told apart)" if len(first) > 1 else ""))
    lines += [f"all tasks: {across.text(i)}: {shorten(m, 60)}" for i, m in enumerate(across.models)][:10]
    lines.append(f"Page: {out / 'index.html'}")
    data = [asdict(p) | {"verified": checked.get((p.task, p.model), NOT)} for p in found]
    return answer(as_json, lambda: jsonable(data), lambda: put("\n".join(lines)))


NOT = "not verified"


def _verified(runs: list[Path]) -> list[str]:
    """What is known here of each run: how many of its cells were trained again, or that it was not verified."""
    from graphnetz.cli.verify import receipt_of

    return [(receipt_of(run) if run.is_file() else "") or NOT for run in runs]


def _checked_pairs(reports: list[BenchmarkReport], labels: list[str], states: list[str]) -> dict[tuple[str, str], str]:
    """State of every (task, model) of the board: verified where all runs that it comes from are."""
    found: dict[tuple[str, str], set[str]] = {}
    for report, label, state in zip(reports, labels, states, strict=True):
        for result in report.results:
            for name in (result.model, f"{result.model} ({label})"):
                found.setdefault((result.task, name), set()).add(state)
    return {pair: NOT if NOT in kinds else "verified" for pair, kinds in found.items()}


def _verified_section(labels: list[str], states: list[str]) -> Section:
    from graphnetz.records import Section, Table

    count = sum(state != NOT for state in states)
    verdict = f"{count} of {len(states)} runs were verified here before they were listed."
    note = "Verified: digests hold, metrics follow from the predictions, and a random part was trained again."
    table = Table(("Run", "State"), tuple(zip(labels, states, strict=True)), note)
    level = "info" if count == len(states) else "warning"
    return Section("verified", "Verified runs", verdict, tables=(table,), level=level)


@app.command()
def serve(
    folder: Annotated[Path, typer.Argument(help="A run folder, also one that is being filled.")],
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port on this machine; 0 takes a free one.")] = 8765,
) -> int:
    """Show progress and report in a browser of this machine; nobody else can connect."""
    from graphnetz.cli.live import HOST, make_server

    try:
        server = make_server(folder, port)
    except (OSError, OverflowError) as error:
        raise UsageError(f"Cannot listen on port {port}: {error}. Choose another with --port, or 0.") from error
    say(f"Serving {folder} on http://{HOST}:{server.server_address[1]}/ - stop with Ctrl-C.")
    try:
        server.serve_forever(poll_interval=0.2)
    except KeyboardInterrupt:
        say("Stopped.")
    finally:
        server.server_close()
    return OK


def _reports(runs: list[Path], stack: ExitStack | None = None) -> list[BenchmarkReport]:
    from graphnetz.cli.load import load_report

    if stack is None or not any(run.suffix == ".zip" for run in runs):
        return [load_report(run) for run in runs]
    from graphnetz.engine.bundle import opened

    return [load_report(stack.enter_context(opened(run))[0] if run.suffix == ".zip" else run) for run in runs]


def _labels(runs: list[Path]) -> list[str]:
    """A short name per run, with a number where two folders are named alike."""
    out: list[str] = []
    for run in runs:
        name = run.resolve().name if run.is_dir() else run.stem
        out.append(name if name not in out else f"{name} {len(out) + 1}")
    return out


def _new_folder(out: Path) -> None:
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise UsageError(f"{str(out)!r} exists and is not empty. Name a new folder with --out.")
