"""`graphnetz compare`, `merge`, `leaderboard` and `serve`: commands over finished or running folders."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from graphnetz._core.errors import UsageError
from graphnetz.cli.app import FAILED_CELLS, OK, answer, app, put, say

if TYPE_CHECKING:
    from graphnetz.analysis.gate import Gate
    from graphnetz.cli.field import Notes
    from graphnetz.engine.store import Store
    from graphnetz.records import Section
    from graphnetz.records.findings import Finding
    from graphnetz.report import BenchmarkReport
    from graphnetz.report.compare_runs import RunComparison


@app.command()
def compare(
    first: Annotated[Path, typer.Argument(help="A run folder, a results.json, a baseline or a CSV of scores.")],
    second: Annotated[Path, typer.Argument(help="Another one, the newer.")],
    alpha: Annotated[float, typer.Option(help="Level of the tests after Holm.")] = 0.05,
    method: Annotated[str, typer.Option(help="Paired test: t, wilcoxon or sign.")] = "t",
    fail_if_worse: Annotated[
        bool, typer.Option("--fail-if-worse", help="A gate: one-sided tests; end with 1 if anything became worse.")
    ] = False,
    margin: Annotated[float, typer.Option(help="Only what changed by more than this counts.")] = 0.0,
    strict: Annotated[
        bool, typer.Option("--strict", help="With --fail-if-worse: drops that cannot be tested fail too.")
    ] = False,
    junit: Annotated[Path | None, typer.Option(help="Write the gate's outcome here as JUnit XML.")] = None,
    markdown: Annotated[Path | None, typer.Option(help="Write the gate's outcome here as Markdown.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print as JSON.")] = False,
) -> int:
    """Say what changed between two runs, paired by task, model and seed where they share seeds and data."""
    from graphnetz.cli.load import load_report
    from graphnetz.report.compare_runs import compare_reports
    from graphnetz.report.jsonio import jsonable

    two = load_report(first), load_report(second)
    if fail_if_worse:
        options = {"alpha": alpha, "method": method, "margin": margin, "strict": strict}
        return _gate(*two, options, junit=junit, markdown=markdown, as_json=as_json)
    if strict or junit or markdown:
        raise UsageError("--strict, --junit and --markdown belong to the gate. Add --fail-if-worse.")
    found = compare_reports(*two, alpha=alpha, method=method, margin=margin)
    data = lambda: jsonable(asdict(found) | {"summary": found.sentence()})  # noqa: E731
    return answer(as_json, data, lambda: _print_comparison(found))


def _gate(
    first: BenchmarkReport, second: BenchmarkReport, options: dict[str, Any], *, junit: Path | None,
    markdown: Path | None, as_json: bool,
) -> int:  # fmt: skip
    """Hold a candidate against a baseline; the exit code says whether it may pass."""
    from graphnetz._core.paths import write_file
    from graphnetz.report import gates
    from graphnetz.report.jsonio import jsonable

    found = gates.gate_reports(first, second, **options)
    if junit is not None:
        write_file(junit, gates.junit(found))
    if markdown is not None:
        write_file(markdown, gates.gate_markdown(found))
    answer(as_json, lambda: jsonable(found.as_dict()), lambda: _print_gate(found))
    return FAILED_CELLS if found.failed else OK


def _print_gate(found: Gate) -> None:
    from graphnetz._core.text import clean, shorten
    from graphnetz.cli.show import console_of, print_table
    from graphnetz.report.gates import COLUMNS, cells

    console = console_of(200)
    console.print(found.sentence())
    shown = [row for row in found.rows if row.outcome != "fine"] or found.rows
    print_table(console, COLUMNS, [tuple(shorten(text, 40) for text in cells(row)) for row in shown])
    for row in shown:
        if row.reason and row.outcome != "fine":
            console.print(f"{shorten(row.task, 40)} / {shorten(row.model, 40)}: {clean(row.reason)}")
    for task, why in found.incomparable:
        console.print(f"not compared: {clean(task)}, because {clean(why)}")
    if found.unsure:
        console.print(
            "What these seeds cannot test passes, unless --strict is given; five seeds or more can be tested."
        )


@app.command()
def baseline(
    source: Annotated[Path, typer.Argument(help="A run folder, a results.json or a CSV of scores.")],
    out: Annotated[Path, typer.Option(help="The file to write.")] = Path("baseline.json"),
    as_json: Annotated[bool, typer.Option("--json", help="Print as JSON.")] = False,
) -> int:
    """Keep the scores of a run in one small file, for 'graphnetz compare' to hold later runs against."""
    from graphnetz._core.text import counted
    from graphnetz.cli.load import load_report
    from graphnetz.report.baseline import baseline_of, write_baseline

    report = load_report(source)
    made, digest = write_baseline(report, out), baseline_of(report)["digest"]
    data = {"baseline": str(made), "cells": len(report.results), "digest": digest}
    words = f"{made}: {counted(len(report.results), 'score')}, digest {digest[:16]}. "
    words += f"Hold a run against it: graphnetz compare {made} RUN --fail-if-worse"
    return answer(as_json, lambda: data, lambda: put(words))


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
    for words in _missing_parts(runs):
        say(words)
    stored = [run for run in runs if (run / "store.sqlite").is_file()]
    # A store beside a report must hold all of its cells; without some of them it would contradict it.
    with _merged_store(stored if len(stored) == len(runs) else [], out) as store:
        _keep_settings(runs, out)
        if store is not None:
            from graphnetz.engine.store.keep import write_examples

            store.publish([result.key for result in merged.results], done=False)
            write_examples(merged, store, merged.results, out)
        merged.write(out)
        if store is not None:
            store.publish([result.key for result in merged.results], done=True)
            store.checkpoint_to_one_file()
    if as_json:
        put(merged.to_json(histories=False), end="")
    else:
        print_report(merged, out)
    return OK


def _missing_parts(runs: list[Path]) -> list[str]:
    """Say which parts of ``--shard`` are not among the runs: what they hold is not in the report."""
    from graphnetz._core.readers import read_toml
    from graphnetz.records.config import parse_shard

    there: dict[int, set[int]] = {}
    for run in runs:
        shard = read_toml(run / "config.toml").get("shard") if (run / "config.toml").is_file() else None
        if shard is not None:
            place, parts = parse_shard(str(shard))
            there.setdefault(parts, set()).add(place)
    found = []
    for parts, places in there.items():
        first = [f"{place}/{parts}" for place in range(1, min(parts, 1000) + 1) if place not in places]
        listed = ", ".join(first[:10]) + (", ..." if len(first) > 10 else "")
        if missing := parts - len(places):
            what, are = ("Part", "is") if missing == 1 else ("Parts", "are")
            found.append(f"{what} {listed} {are} not here: the report lacks the cells of {missing} of {parts} parts.")
    return found


def _keep_settings(runs: list[Path], out: Path) -> None:
    """Copy the settings of every part to ``parts/``: a merged folder is no run of its own and has none."""
    from graphnetz._core.paths import slug, write_file

    for label, run in zip(_labels(runs), runs, strict=True):
        settings = run / "config.toml"
        if settings.is_file() and settings.stat().st_size < 1 << 20:
            text = settings.read_text(encoding="utf-8", errors="replace")
            write_file(out / "parts" / f"{slug(label)}.toml", text)


def _keep_plan(runs: list[Path], target: Store, out: Path) -> None:
    """Parts of one plan stay under it; cells of several plans have none that they could be held against."""
    from graphnetz.engine.store import Store
    from graphnetz.engine.store.keep import register

    metas = []
    for run in runs:
        with Store.open(run, readonly=True) as source:
            metas.append(source.read_meta())
    plans = [dict(meta.get("analysis_plan") or {}) for meta in metas]
    if plans and all(plan and plan.get("hash") == plans[0].get("hash") for plan in plans):
        register(target, plans[0]["plan"], out)
        late = max(int(meta.get("plan_came_late", 0)) for meta in metas)
        again = sum(int(meta.get("evaluated_again", 0)) for meta in metas)
        target.write_meta({"plan_came_late": late} | ({"evaluated_again": again} if again else {}))


@contextmanager
def _merged_store(runs: list[Path], out: Path) -> Iterator[Store | None]:
    """One store with the cells of all runs; where one failed and another did not, with the one that did not."""
    from graphnetz.engine.store import Store

    if not runs:
        yield None
        return
    with Store.create(out) as target:
        _keep_plan(runs, target, out)
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
        list[Path],
        typer.Argument(
            help="Bundles, run folders, results.json files, CSV files of scores; or Parquet files of cells and folders "
            "of them, for millions of cells."
        ),
    ],
    out: Annotated[Path, typer.Option(help="Folder of the site; cells in Parquet give its board.csv.")] = Path("site"),
    title: Annotated[str, typer.Option(help="Heading of the page.")] = "Leaderboard",
    findings: Annotated[
        bool,
        typer.Option("--findings", help="A first page of what the tasks show together, each sentence with its rows."),
    ] = False,
    more: Annotated[
        list[Path] | None, typer.Option(help="With --findings: a JSON file of further findings; repeat for several.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the places as JSON.")] = False,
) -> int:
    """Write a static page of many runs: places as intervals, groups that cannot be told apart, who was verified."""
    from graphnetz._core.paths import write_file
    from graphnetz._core.text import shorten
    from graphnetz.cli.cells import board_of_cells, cells_in
    from graphnetz.report.compare_runs import merge_reports
    from graphnetz.report.jsonio import jsonable
    from graphnetz.report.leaderboard import standings_section, write_site

    if files := cells_in(runs):
        return board_of_cells(files, out, as_json=as_json)
    if more and not findings:
        raise UsageError("--more adds to a page of findings. Add --findings.")
    with ExitStack() as stack:  # predictions of bundles are read while the analysis is made
        reports = _reports(runs, stack)
        merged = merge_reports(reports, names=_labels(runs), rename=True)
        merged.config["title"] = title
        states = _verified(runs)
        checked = _checked_pairs(reports, _labels(runs), states)
        found, across = merged.analysis.places, merged.analysis.rank_sets
        merged.sections = [standings_section(merged), _verified_section(_labels(runs), states), *merged.sections]
        told, notes = _findings(merged, more or []) if findings else ([], {})
        write_site(merged, out, checked=checked, findings=told, notes=notes)
        for path in more or []:
            write_file(out / path.name, path.read_text(encoding="utf-8"))
    lines = []
    for task in merged.scores.tasks:
        first = [
            shorten(p.model, 60) + ("" if checked.get((task, p.model), NOT) != NOT else f" ({NOT})")
            for p in found
            if p.task == task and p.first == 1
        ]
        lines.append(f"{shorten(task, 60)}: {', '.join(first)}" + (" (not told apart)" if len(first) > 1 else ""))
    lines += [f"all tasks: {across.text(i)}: {shorten(m, 60)}" for i, m in enumerate(across.models)][:10]
    lines += [found.text for found in told]
    lines.append(f"Page: {out / 'index.html'}")
    data = [asdict(p) | {"verified": checked.get((p.task, p.model), NOT)} for p in found]
    return answer(as_json, lambda: jsonable(data), lambda: put("\n".join(lines)))


def _findings(merged: BenchmarkReport, more: list[Path]) -> tuple[list[Finding], Notes]:
    """Sentences over all tasks, from cells, from what is known of the datasets and from files; and tables of tasks."""
    from graphnetz.analysis.findings import findings
    from graphnetz.cli.field import fitness_notes, generated, read_more

    tasks = merged.scores.tasks
    told = list(findings(merged.analysis, generated=generated(tasks)))
    notes: Notes = {}
    for found, tables in (fitness_notes(tasks), *(read_more(path, tasks) for path in more)):
        told += found
        for task, rows in tables.items():
            notes.setdefault(task, []).extend(rows)
    return told, notes


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
