"""Progress: a live bar on a terminal, plain lines elsewhere, both with the time that is left."""

from __future__ import annotations

import html
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from graphnetz.records import Cell, CellResult
from graphnetz.report.notebook import kernel


class Estimator:
    """Seconds left, from the cells recorded so far (those of earlier sittings included)."""

    def __init__(self, cells: Iterable[Cell], recorded: Mapping[tuple[str, str], tuple[int, float]]) -> None:
        self.left = Counter((cell.task, cell.model) for cell in cells)
        self.count: dict[Any, int] = defaultdict(int)
        self.total: dict[Any, float] = defaultdict(float)
        for pair, (count, mean) in recorded.items():
            self._note(pair, count, mean * count)

    def _note(self, pair: tuple[str, str], count: int, seconds: float) -> None:
        for key in (pair, pair[1], None):  # of the pair, of its model, of all
            self.count[key] += count
            self.total[key] += seconds

    def add(self, result: CellResult) -> None:
        """Take a finished cell into account."""
        pair = (result.task, result.model)
        self.left[pair] -= 1
        if result.seconds == result.seconds:
            self._note(pair, 1, result.seconds)

    def seconds(self, workers: int) -> float:
        """Estimated wall-clock seconds, NaN before anything is known."""
        if not self.count[None]:
            return float("nan")
        work = 0.0
        for pair, left in self.left.items():
            known = next(key for key in (pair, pair[1], None) if self.count[key])
            work += max(left, 0) * self.total[known] / self.count[known]
        return work / max(workers, 1)


def clock(seconds: float) -> str:
    """Readable duration: ``1 h 02 min``, ``3 min 20 s``, ``12 s``."""
    if seconds != seconds:
        return "unknown"
    whole = round(seconds)
    if whole >= 3600:
        return f"{whole // 3600} h {whole % 3600 // 60:02d} min"
    if whole >= 60:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole} s"


class _Line:
    """One line below a notebook cell that is written again and again: a log would push the results out of sight."""

    def __init__(self, shell: Any) -> None:
        self.publish = shell.display_pub.publish
        self.name = f"graphnetz-{id(self)}"
        self.begun = False

    def show(self, words: str, share: float) -> None:
        """Write the line."""
        bar = f'<progress max="1" value="{share:.3f}"></progress> {html.escape(words)}'
        data, about = {"text/html": bar, "text/plain": words}, {"display_id": self.name}
        self.publish(data, transient=about, update=self.begun)
        self.begun = True


class Progress:
    """Shows cells done, failed and running."""

    def __init__(self, total: int, done: int, estimator: Estimator, *, workers: int, verbose: bool) -> None:
        self.total, self.done, self.failed = total, done, 0
        self.running: dict[str, str] = {}
        self.estimator, self.workers, self.verbose = estimator, workers, verbose
        self.started = self.last = time.monotonic()
        self.said = -1
        self.live: Any = None
        self.line: _Line | None = None

    def __enter__(self) -> Progress:
        if self.verbose and sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import BarColumn, TextColumn
            from rich.progress import Progress as Bar

            self.live = Bar(
                TextColumn("{task.completed}/{task.total} cells"), BarColumn(), TextColumn("{task.fields[note]}"),
                console=Console(stderr=True), transient=True, auto_refresh=False,
            )  # fmt: skip
            self.bar = self.live.add_task("", total=self.total, completed=self.done, note="")
            self.live.start()
        elif self.verbose and (shell := kernel()) is not None:
            self.line = _Line(shell)
        return self

    def __exit__(self, *_: object) -> None:
        if self.live is not None:
            self.live.stop()

    def start(self, cell: Cell) -> None:
        """Note that a cell was handed out."""
        self.running[cell.key] = f"{cell.task} / {cell.model} / {cell.seed}"

    def result(self, result: CellResult) -> None:
        """Count a finished cell."""
        self.running.pop(result.key, None)
        self.done += 1
        self.failed += not result.ok
        self.estimator.add(result)
        self.tick()

    def tick(self) -> None:
        """Refresh: at once on a terminal, in a log after seconds with news and after a minute without."""
        if not self.verbose:
            return
        now = time.monotonic()
        shown = 0.2 if self.live is not None else 0.5 if self.line is not None else 0.0
        pause = shown or (5.0 if self.done != self.said else 60.0)
        if now - self.last < pause and self.done < self.total:
            return
        self.last, self.said = now, self.done
        seconds = self.estimator.seconds(self.workers)
        left = f"about {clock(seconds)} left" if seconds == seconds else "time left unknown until a cell is done"
        failed = f", {self.failed} failed" if self.failed else ""
        if self.live is not None:
            from rich.markup import escape

            current = escape(next(iter(self.running.values()), ""))[:60]
            self.live.update(self.bar, completed=self.done, note=f"{left}{failed}  {current}")
            self.live.refresh()
            return
        said = f"{self.done}/{self.total} cells{failed}, {left}"
        if self.line is not None:
            self.line.show(said, self.done / max(1, self.total))
        else:
            print(said, file=sys.stderr, flush=True)
