"""What commands print: tables and verdicts on a terminal, plain text in a pipe."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from graphnetz._core.grouping import grouped
from graphnetz._core.text import printable, shorten
from graphnetz.cli.app import answer, put

if TYPE_CHECKING:
    from graphnetz.records import RunConfig


class SafeConsole:
    """A terminal to print on: names are shown as they are, and nothing in them reaches it as an escape sequence."""

    def __init__(self, **options: Any) -> None:
        from rich.console import Console

        self._console = Console(highlight=False, markup=False, emoji=False, **options)

    @property
    def is_terminal(self) -> bool:
        """Whether a terminal shows what is printed."""
        return bool(self._console.is_terminal)

    @property
    def width(self) -> int:
        """Columns of the terminal."""
        return int(self._console.width)

    def print(self, item: Any, **options: Any) -> None:
        """Print a text, or a table whose cells `cell` has made safe."""
        self._console.print(printable(item) if isinstance(item, str) else item, **options)


def cell(value: object) -> str:
    """Return a cell of a table: one line, as a terminal may show it."""
    return printable(value).replace("\n", " ")


def console_of(width: int) -> SafeConsole:
    """A terminal has its own width, a pipe or a file takes whatever is printed."""
    import sys

    columns = None if sys.stdout.isatty() else max(width, 80)
    return SafeConsole(soft_wrap=True, width=columns)


def print_table(
    console: SafeConsole, columns: Sequence[str], rows: Iterable[Sequence[Any]], *, title: str | None = None,
    right: Sequence[str] = (), no_wrap: bool = False, whole: int = 0,
) -> None:  # fmt: skip
    """Print a table without lines; ``right`` names the columns whose ends stand below each other.

    The first ``whole`` columns are never cut or broken, however narrow the terminal is.
    """
    from rich.table import Table

    table = Table(title=title, title_justify="left", box=None, pad_edge=False)
    texts = [[cell(value) for value in row] for row in rows]
    for i, column in enumerate(columns):
        least = max([len(column), *(len(row[i]) for row in texts)]) if i < whole else None
        side: Literal["left", "right"] = "right" if column in right else "left"
        table.add_column(column, no_wrap=no_wrap or i < whole, justify=side, min_width=least, overflow="fold")
    for row in texts:
        table.add_row(*row)
    console.print(table)


def print_report(report: Any, folder: Path | None) -> None:
    """Print means with intervals per task, then what may be said about them."""
    metrics = {row.task: f"{row.metric} {row.arrow}" for row in report.analysis.grid.rows}
    wide = 40 + max(map(len, metrics.values()), default=0) + sum(max(16, len(model) + 3) for model in report.models)
    console = console_of(wide)
    cells = _cells(report)
    if console.is_terminal and console.width < wide:
        for task, row in cells.items():
            console.print(f"{cell(task)}, {cell(metrics[task])}", style="bold")
            for model, text in row.items():
                console.print(f"  {cell(model):24} {text}")
    else:
        from rich.table import Table

        table = Table(title="mean ± half-width of the 95 % interval over seeds", title_justify="left")
        table.add_column("task", no_wrap=True)
        table.add_column("metric", no_wrap=True)
        for model in report.models:
            table.add_column(cell(model), justify="right", no_wrap=True)
        for task, row in cells.items():
            table.add_row(cell(task), cell(metrics[task]), *(row[model] for model in report.models))
        console.print(table, width=wide)
    if report.config.get("budgets"):
        console.print(_counts(report))
    for about, lines in grouped(report.verdicts(), lambda line: line.about).items():
        console.print(f"\n{shorten(about, 60)}", style="bold")
        for line in lines:
            console.print(f"- {cell(line)}")
    _print_shifts(console, report)
    if folder is not None:
        console.print(f"\nReport: {folder / 'report.html'!s}")


def _print_shifts(console: SafeConsole, report: Any) -> None:
    """Print what models lose on examples of another kind than they were trained on, where tasks have such."""
    from graphnetz._core.text import number

    rows = [
        (
            s.task,
            s.model,
            s.label,
            number(s.test),
            number(s.other),
            f"{number(s.loss)} [{number(s.low)}, {number(s.high)}]",
        )
        for s in report.analysis.shifts
    ]
    if rows:
        title = "out of distribution: loss against the test score (positive is worse), 95 % interval over seeds"
        columns = ("task", "model", "metric", "test", "out of distribution", "loss")
        print_table(console, columns, rows, title=title, right=columns[3:], no_wrap=True)


def _counts(report: Any) -> str:
    """Parameters of every model that has any, task by task."""
    rows: dict[str, list[str]] = {}
    for (task, model), count in report.analysis.parameters.items():
        rows.setdefault(cell(task), []).append(f"{cell(model)} {count:,}")
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


def print_estimate(config: RunConfig, *, as_json: bool) -> int:
    """Show the cells of a plan and what they would cost; refuse a plan over its memory limit."""
    from graphnetz.engine.cost.estimate import estimate_plan

    estimate = estimate_plan(config)
    answer(as_json, estimate.as_dict, lambda: put(estimate.text()))
    estimate.refuse_if_over()
    return 0


def _known(value: float) -> str:
    return f"{value:.3f}" if value == value else ""


def print_beside(report: Any, suite: str | None) -> None:
    """Print our numbers beside the published ones, when the suite has a published table."""
    from graphnetz.datasets import SUITES

    if suite is None or SUITES[suite].published is None:
        return
    from graphnetz.analysis.published import beside, rows_inside

    rows, console = beside(report, SUITES[suite]), console_of(240)
    if not rows:
        console.print("No cell of this run has a published counterpart.")
    trained = any(row.train == row.train for row in rows)
    columns = (
        "task", "model", "parameters", "published", "ours", "min", "max", "difference (95 %)",
        *(("train, published", "train, ours") if trained else ()), "verdict",
    )  # fmt: skip
    table = []
    for row in rows:
        between = f" ({row.low:+.3f} to {row.high:+.3f})" if row.low == row.low else ""
        spread = row.published_sd if row.inside is None else row.half_width
        where = "" if row.inside is None else ", inside" if row.inside else ", outside"
        table.append((
            row.task, row.model, f"{row.parameters:,}", f"{row.published:.3f} ± {spread:.3f}",
            f"{row.ours:.3f}", f"{row.smallest:.3f}", f"{row.largest:.3f}", f"{row.difference:+.3f}{between}",
            *((_known(row.published_train), _known(row.train)) if trained else ()),
            row.verdict + where + ("" if row.same_data else " (other data)"),
        ))  # fmt: skip
    if rows:
        print_table(console, columns, table, title="beside the published numbers", right=columns[2:-1], no_wrap=True)
        kinds = dict.fromkeys(row.verdict for row in rows)
        counts = (f"{sum(row.verdict == kind for row in rows)} {kind}" for kind in kinds)
        console.print(f"{', '.join(counts)} of {len(rows)} cells.")
    if any(row.inside is not None for row in rows):
        inside, whole = rows_inside(rows, SUITES[suite])
        words = "our mean in the published interval widened by 0.02"
        console.print(f"{len(inside)} of {len(whole)} rows have every model inside: {words}.")
        if left := [task for task in dict.fromkeys(row.task for row in rows) if task not in whole]:
            console.print(f"Not run with every model: {', '.join(left)}.")
    if not all(row.same_data for row in rows):
        console.print(
            "Other data: a reduced size or a generator of our own; a difference there is no sign of an error."
        )
    console.print(f"Published: {SUITES[suite].citation}.")
