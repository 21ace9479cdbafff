"""`graphnetz plan` and `graphnetz reproduce`, and what `doctor --task` prints."""

from __future__ import annotations

import dataclasses
import math
import os
from pathlib import Path
from typing import Annotated, Any

import typer

from graphnetz._core.errors import GraphnetzError, UsageError
from graphnetz._core.text import clean
from graphnetz.cli.app import FAILED_CELLS, OK, answer, app, put, say


@app.command()
def plan(
    effect: Annotated[float, typer.Option(help="The difference that must not be missed, such as 0.01.")],
    pilot: Annotated[Path | None, typer.Argument(help="A pilot: run folder, results.json or CSV of scores.")] = None,
    power: Annotated[float, typer.Option(help="Probability of detecting it.")] = 0.8,
    reach: Annotated[
        str, typer.Option(help="How far the claim shall reach: split, dataset, source or tasks; default: as the seeds.")
    ] = "",
    source: Annotated[Path | None, typer.Option("--from", help="The pilot, as an option.")] = None,
    sd: Annotated[float | None, typer.Option(help="Without a pilot: spread of seed-wise differences.")] = None,
    models: Annotated[int, typer.Option(help="Without a pilot: how many models.")] = 2,
    tasks: Annotated[int, typer.Option(help="Without a pilot: how many tasks.")] = 1,
    alpha: Annotated[float, typer.Option(help="Level of the comparisons of one task.")] = 0.05,
    as_json: Annotated[bool, typer.Option("--json", help="Print as JSON.")] = False,
) -> int:
    """Say how many seeds, splits, test examples and tasks a claim needs, and how long they take."""
    from graphnetz.analysis.planning import plan_from_pilot, plan_from_sd

    place = pilot or source
    if (place is None) == (sd is None) or (pilot and source):
        raise UsageError("Give a pilot (a folder, or --from DIR), or the spread of seed-wise differences: --sd 0.02.")
    if place is None:
        made = plan_from_sd(float(sd or 0), effect=effect, power=power, alpha=alpha, models=models, tasks=tasks)
    else:
        from graphnetz.cli.load import load_report

        seen = load_report(place).analysis
        parts = getattr(seen, "components", ())
        made = plan_from_pilot(seen, effect=effect, power=power, alpha=alpha, reach=reach, components=parts)
    return answer(as_json, made.as_dict, lambda: _print_plan(made))


def _print_plan(made: Any) -> None:
    from graphnetz.engine.progress import clock

    put(f"To detect {made.effect:g} with probability {made.power:g} at {made.alpha:g} after Holm within each task:")
    for row in made.tasks:
        time = row.seconds_per_seed * row.seeds if row.seeds else math.nan
        typical = f"; typical pair: {row.seeds_typical:,}" if row.seeds_typical else ""
        cost = f"; {clock(time)}" if math.isfinite(time) else ""
        put(f"{clean(row.task)[:28]:28} {_REACHED[row.reach]:16} {row.said(made.effect, made.power)}{typical}{cost}")
    put("Numbers are for the two models with the widest spread, ranges for its 95 % interval.")
    if made.seconds:
        put(f"One core: about {clock(made.seconds)} ({made.seconds / 3600:.2f} hours).")
    if math.isfinite(made.critical_difference):
        of = f"{made.models} models, {made.n_tasks} tasks"
        put(f"Critical difference of mean ranks: {made.critical_difference:.2f} ({of}).")
    if made.tasks_needed:
        high = f"{made.tasks_high:,}" if made.tasks_high else "more than 10,000"
        put(
            f"Other tasks: {made.tasks_needed:,} tasks ({made.tasks_low:,} to {high}) would detect a difference of "
            f"{made.effect:g} with {100 * made.power:g} % probability (critical difference then "
            f"{made.critical_difference_then:.2f})."
        )
    elif made.reach == "tasks":
        put("Other tasks: the pilot needs at least 3 tasks whose scores are shares and whose differences vary.")


_REACHED = {
    "split": "this split", "dataset": "this dataset", "source": "this source", "unknown": "these seeds"
}  # fmt: skip


@app.command()
def reproduce(
    source: Annotated[Path, typer.Argument(help="A run folder, or a results.json from elsewhere.")],
    sample: Annotated[int | None, typer.Option(help="Train only this many cells; default: all.")] = None,
    tolerance: Annotated[float, typer.Option(help="Largest difference that counts as close.")] = 1e-6,
    workers: Annotated[int | None, typer.Option(help="Cells at a time.")] = None,
    mirror: Annotated[str | None, typer.Option(help="Folder or URL asked before the network.")] = None,
    root: Annotated[str, typer.Option(help="Where datasets are kept.")] = "data/benchmark",
    model: Annotated[
        list[str] | None,
        typer.Option(help="A model of the run that is code, such as path.py:Class; never its folder's."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print as JSON.")] = False,
) -> int:
    """Train published cells again and say which agree, and within what tolerance."""
    if not source.exists():
        raise UsageError(f"There is no {str(source)!r}. Give a run folder or a results.json.")
    if mirror:
        os.environ["GRAPHNETZ_MIRROR"] = mirror
    from graphnetz.engine.reproduce import reproduce as again

    found = again(source, sample=sample, tolerance=tolerance, root=root, workers=workers, models=model or ())
    rows = [{k: None if v != v else v for k, v in dataclasses.asdict(row).items()} for row in found]
    answer(as_json, lambda: rows, lambda: _print_reproduced(found, tolerance))
    return OK if found and all(row.verdict in ("exact", "close") for row in found) else FAILED_CELLS


def _print_reproduced(found: list[Any], tolerance: float) -> None:
    for row in found:
        if row.verdict != "exact":
            gap = f"{row.metric}: difference {row.difference:.3g}" if math.isfinite(row.difference) else row.reason
            gap += f" ({row.reason})" if row.difference == 0 or row.reason.startswith("its file") else ""
            say(clean(f"{row.verdict}: {row.task} / {row.model} / seed {row.seed}: {gap}"))
    count = {name: sum(row.verdict == name for row in found) for name in ("exact", "close", "differs", "not run")}
    put(
        f"{len(found)} cells: {count['exact']} agree to the last bit, {count['close']} within {tolerance:g}, "
        f"{count['differs']} differ, {count['not run']} could not be run."
    )
    worst = max((row.difference for row in found if math.isfinite(row.difference)), default=math.nan)
    if math.isfinite(worst):
        put(f"Largest difference: {worst:.3g}.")


def audit_tasks(names: list[str], *, root: str, mirror: str | None, out: Path | None, as_json: bool) -> int:
    """Inspect tasks for leaks and print what was found; with ``out`` the report there shows it too."""
    if mirror:
        os.environ["GRAPHNETZ_MIRROR"] = mirror
    from graphnetz.audit import audit, audit_section
    from graphnetz.datasets import task_from_edges
    from graphnetz.graphs.folder import is_folder

    tasks = [task_from_edges(Path(name).resolve().name, name) if is_folder(name) else name for name in names]
    findings = [item for task in tasks for item in audit(task, root=root)]
    lines = [f"[{item.level}] {item.task}: {item.check}: {item.message}" for item in findings]
    nothing = f"No check found anything on {', '.join(names)}."
    answer(as_json, lambda: list(map(dataclasses.asdict, findings)), lambda: put("\n".join(lines) or nothing))
    if out is not None:
        from graphnetz.report.sections import write_section

        written = write_section(out, audit_section(findings, names))
        say(f"Written to {written}; 'graphnetz report {out}' shows it.")
    return FAILED_CELLS if any(item.level == "leak" for item in findings) else OK


def audit_before(config: Any) -> None:
    """Inspect the tasks of a run before it begins; a task that cannot be loaded is left to the run to name."""
    if config.mirror:
        os.environ["GRAPHNETZ_MIRROR"] = config.mirror
    from graphnetz.audit import audit, audit_section
    from graphnetz.engine.config import resolve_tasks
    from graphnetz.report.sections import write_section

    findings: list[Any] = []
    seen: list[str] = []
    for task in resolve_tasks(config):
        try:
            findings += audit(task, root=config.root)
        except GraphnetzError as error:
            say(f"not audited: {task.name}: {error}")
        else:
            seen.append(task.name)
    for item in findings:
        say(str(item))
    if seen:
        write_section(config.folder(), audit_section(findings, seen))
