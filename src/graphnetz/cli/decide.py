"""`graphnetz plan` and `graphnetz reproduce`, and what `doctor --task` prints."""

from __future__ import annotations

import dataclasses
import math
import os
from pathlib import Path
from typing import Annotated, Any

import typer

from graphnetz._core.errors import GraphnetzError, UsageError
from graphnetz.cli.app import FAILED_CELLS, OK, answer, app, say


@app.command()
def plan(
    effect: Annotated[float, typer.Option(help="The difference that must not be missed, such as 0.01.")],
    power: Annotated[float, typer.Option(help="Probability of detecting it.")] = 0.8,
    source: Annotated[Path | None, typer.Option("--from", help="A pilot: run folder, results.json or scores.")] = None,
    sd: Annotated[float | None, typer.Option(help="Without a pilot: spread of seed-wise differences.")] = None,
    models: Annotated[int, typer.Option(help="Without a pilot: how many models.")] = 2,
    tasks: Annotated[int, typer.Option(help="Without a pilot: how many tasks.")] = 1,
    alpha: Annotated[float, typer.Option(help="Level of the comparisons of one task.")] = 0.05,
    as_json: Annotated[bool, typer.Option("--json", help="Print as JSON.")] = False,
) -> int:
    """Say how many seeds and tasks an effect needs, how long they take, and the critical difference."""
    from graphnetz.analysis.planning import plan_from_pilot, plan_from_sd

    if (source is None) == (sd is None):
        raise UsageError("Give a pilot with --from DIR, or the spread of seed-wise differences with --sd 0.02.")
    if source is None:
        made = plan_from_sd(float(sd or 0), effect=effect, power=power, alpha=alpha, models=models, tasks=tasks)
    else:
        from graphnetz.cli.load import load_report

        made = plan_from_pilot(load_report(source).analysis, effect=effect, power=power, alpha=alpha)
    return answer(as_json, made.as_dict, lambda: _print_plan(made))


def _print_plan(made: Any) -> None:
    from graphnetz.engine.progress import clock

    print(f"To detect {made.effect:g} with probability {made.power:g} at {made.alpha:g} after Holm within each task:")
    print(f"{'task':28} {'seeds':>7} {'typical':>8} {'at worst':>9} {'sd':>9} {'time':>14}")
    for row in made.tasks:
        time = row.seconds_per_seed * row.seeds if row.seeds else math.nan
        print(
            f"{row.task[:28]:28} {_count(row.seeds):>7} {_count(row.seeds_typical):>8} {_count(row.seeds_high):>9} "
            f"{row.sd:9.4f} {clock(time):>14}"
        )
    never = [row.task for row in made.tasks if row.seeds is None]
    if never:
        print(
            f"No number of seeds does on {', '.join(never)}: runs share training data, or more than 10,000 are needed."
        )
    print("seeds: the two models with the widest spread; typical: the median pair; at worst: upper end of the spread.")
    print(f"One core: about {clock(made.seconds)} ({made.seconds / 3600:.2f} hours).")
    if math.isfinite(made.critical_difference):
        of = f"{made.models} models, {made.n_tasks} tasks"
        print(f"Critical difference of mean ranks: {made.critical_difference:.2f} ({of}).")
    if made.tasks_needed:
        print(
            f"Tasks that would detect a mean difference of {made.effect:g} over tasks: {made.tasks_needed} "
            f"(critical difference then {made.critical_difference_then:.2f})."
        )


def _count(value: int | None) -> str:
    return "none" if value is None else str(value)


@app.command()
def reproduce(
    source: Annotated[Path, typer.Argument(help="A run folder, or a results.json from elsewhere.")],
    sample: Annotated[int | None, typer.Option(help="Train only this many cells; default: all.")] = None,
    tolerance: Annotated[float, typer.Option(help="Largest difference that counts as close.")] = 1e-6,
    workers: Annotated[int | None, typer.Option(help="Cells at a time.")] = None,
    mirror: Annotated[str | None, typer.Option(help="Folder or URL asked before the network.")] = None,
    root: Annotated[str, typer.Option(help="Where datasets are kept.")] = "data/benchmark",
    as_json: Annotated[bool, typer.Option("--json", help="Print as JSON.")] = False,
) -> int:
    """Train published cells again and say which agree, and within what tolerance."""
    if not source.exists():
        raise UsageError(f"There is no {str(source)!r}. Give a run folder or a results.json.")
    if mirror:
        os.environ["GRAPHNETZ_MIRROR"] = mirror
    from graphnetz.engine.reproduce import reproduce as again

    found = again(source, sample=sample, tolerance=tolerance, root=root, workers=workers)
    rows = [{k: None if v != v else v for k, v in dataclasses.asdict(row).items()} for row in found]
    answer(as_json, lambda: rows, lambda: _print_reproduced(found, tolerance))
    return OK if found and all(row.verdict in ("exact", "close") for row in found) else FAILED_CELLS


def _print_reproduced(found: list[Any], tolerance: float) -> None:
    for row in found:
        if row.verdict != "exact":
            gap = f"difference {row.difference:.3g}" if math.isfinite(row.difference) else row.reason
            say(f"{row.verdict}: {row.task} / {row.model} / seed {row.seed}: {gap}")
    count = {name: sum(row.verdict == name for row in found) for name in ("exact", "close", "differs", "not run")}
    print(
        f"{len(found)} cells: {count['exact']} agree to the last bit, {count['close']} within {tolerance:g}, "
        f"{count['differs']} differ, {count['not run']} could not be run."
    )
    worst = max((row.difference for row in found if math.isfinite(row.difference)), default=math.nan)
    if math.isfinite(worst):
        print(f"Largest difference: {worst:.3g}.")


def audit_tasks(names: list[str], *, root: str, mirror: str | None, out: Path | None, as_json: bool) -> int:
    """Inspect tasks for leaks and print what was found; with ``out`` the report there shows it too."""
    if mirror:
        os.environ["GRAPHNETZ_MIRROR"] = mirror
    from graphnetz.audit import audit, audit_section

    findings = [item for name in names for item in audit(name, root=root)]
    lines = [f"[{item.level}] {item.task}: {item.check}: {item.message}" for item in findings]
    nothing = f"No check found anything on {', '.join(names)}."
    answer(as_json, lambda: list(map(dataclasses.asdict, findings)), lambda: print("\n".join(lines) or nothing))
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
