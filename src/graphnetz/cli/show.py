"""What commands print: tables and verdicts on a terminal, plain text in a pipe."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def _console() -> Any:
    from rich.console import Console

    return Console(highlight=False, soft_wrap=True)


def print_report(report: Any, folder: Path | None) -> None:
    """Print means with intervals per task, then what may be said about them."""
    from rich.markup import escape
    from rich.table import Table

    console = _console()
    summary = report.summary()
    table = Table(title="mean ± 95 % interval over seeds", title_justify="left")
    table.add_column("task")
    for model in report.models:
        table.add_column(escape(model), justify="right")
    for task in dict.fromkeys(summary.index.get_level_values(0)):
        cells = []
        for model in report.models:
            if (task, model) not in summary.index or not summary.loc[(task, model), "n_seeds"]:
                cells.append("n/a")
                continue
            row = summary.loc[(task, model)]
            half = f" ± {row['ci_half']:.3f}" if row["ci_half"] == row["ci_half"] else ""
            cells.append(f"{row['mean']:.3f}{half}")
        table.add_row(escape(task), *cells)
    console.print(table)
    for line in report.verdicts():
        console.print(f"- {escape(str(line))}")
    if folder is not None:
        console.print(f"\nReport: {escape(str(folder / 'report.html'))}")


def print_estimate(arguments: dict[str, Any], folder: Path, config: Any, *, as_json: bool) -> int:
    """Show the cells of a plan and what they would cost; refuse a plan over its memory limit."""
    from graphnetz.benchmark.estimate import estimate_plan

    estimate = estimate_plan(arguments, folder, workers=config.workers, memory=config.memory)
    if as_json:
        print(json.dumps(estimate.as_dict(), indent=1))
    else:
        print(estimate.text())
    estimate.refuse_if_over()
    return 0
