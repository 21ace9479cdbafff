"""What commands print: tables and verdicts on a terminal, plain text in a pipe."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def _console(width: int) -> Any:
    """A terminal has its own width; a pipe or a file takes whatever is printed."""
    import sys

    from rich.console import Console

    return Console(highlight=False, soft_wrap=True, width=None if sys.stdout.isatty() else max(width, 80))


def print_report(report: Any, folder: Path | None) -> None:
    """Print means with intervals per task, then what may be said about them."""
    from rich.markup import escape

    wide = 34 + sum(max(16, len(model) + 3) for model in report.models)
    console = _console(wide)
    cells = _cells(report)
    if console.is_terminal and console.width < wide:
        for task, row in cells.items():
            console.print(f"[bold]{escape(task)}[/bold]")
            for model, text in row.items():
                console.print(f"  {escape(model):24} {text}")
    else:
        from rich.table import Table

        table = Table(title="mean ± half-width of the 95 % interval over seeds", title_justify="left")
        table.add_column("task", no_wrap=True)
        for model in report.models:
            table.add_column(escape(model), justify="right", no_wrap=True)
        for task, row in cells.items():
            table.add_row(escape(task), *(row[model] for model in report.models))
        console.print(table, width=wide)
    if report.config.get("budgets"):
        console.print(escape(_counts(report)))
    for line in report.verdicts():
        console.print(f"- {escape(str(line))}")
    if folder is not None:
        console.print(f"\nReport: {escape(str(folder / 'report.html'))}")


def _counts(report: Any) -> str:
    """Parameters of every model that has any, task by task."""
    rows: dict[str, list[str]] = {}
    for (task, model), count in report.analysis.parameters.items():
        rows.setdefault(task, []).append(f"{model} {count:,}")
    return "\n".join(f"parameters on {task}: {', '.join(models)}" for task, models in rows.items())


def _cells(report: Any) -> dict[str, dict[str, str]]:
    """Texts by task and model."""
    from graphnetz._core.text import number

    rows: dict[str, dict[str, str]] = {}
    for stat in report.analysis.cells:
        half = f" ± {number(stat.half)}" if stat.half == stat.half else ""
        text = f"{number(stat.mean)}{half}" if stat.n else "failed"
        rows.setdefault(stat.task, dict.fromkeys(report.models, "n/a"))[stat.model] = text
    return rows


def print_estimate(arguments: dict[str, Any], folder: Path, config: Any, *, as_json: bool) -> int:
    """Show the cells of a plan and what they would cost; refuse a plan over its memory limit."""
    from graphnetz.engine.cost.estimate import estimate_plan

    estimate = estimate_plan(arguments, folder, workers=config.workers, memory=config.memory)
    if as_json:
        print(json.dumps(estimate.as_dict(), indent=1))
    else:
        print(estimate.text())
    estimate.refuse_if_over()
    return 0
