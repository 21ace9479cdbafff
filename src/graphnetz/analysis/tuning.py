"""Default against tuned settings: what was chosen, what it brought, and which claims survive it."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from graphnetz._core.text import counted, names, shorten
from graphnetz.records import CellResult, ScoreTable
from graphnetz.records.analysis import Comparison, Verdict
from graphnetz.records.tuning import Survival, Tuned, Tuning
from graphnetz.stats.tuning import expected_best

if TYPE_CHECKING:
    from graphnetz.analysis.analysis import Analysis


def tuning(found: Analysis) -> Tuning | None:
    """Return what the searches inside the cells of an analysis changed; None where there were none."""
    searched = [cell for cell in found.facts.cells if cell.ok and _trials(cell)]
    if not searched:
        return None
    groups: dict[tuple[str, str], list[CellResult]] = {}
    for cell in searched:
        groups.setdefault((cell.task, cell.model), []).append(cell)
    rows = tuple(_tuned(cells) for cells in groups.values())
    before = found.untuned
    return Tuning(rows) if before is None else Tuning(rows, tuple(_survival(before.comparisons, found.comparisons)))


def default_table(scores: ScoreTable, cells: Iterable[CellResult]) -> ScoreTable | None:
    """Return the scores with default settings in place of tuned ones; None without any, or where one was not kept."""
    cells = [cell for cell in cells if cell.ok and _trials(cell)]
    if not cells:
        return None
    values = np.array(scores.values)
    place = tuple({name: i for i, name in enumerate(held)} for held in (scores.tasks, scores.models, scores.seeds))
    for cell in cells:
        value = _default(cell)
        if value is None:
            return None
        where = tuple(index.get(key) for index, key in zip(place, (cell.task, cell.model, cell.seed), strict=True))
        if None not in where:
            values[where] = value
    return dataclasses.replace(scores, values=values)


def task_words(found: Tuning | None, task: str) -> list[Verdict]:
    """Say of the differences on one task whether they survive tuning."""
    rows = found.of(task) if found is not None else ()
    if not rows:
        return []
    held, after, before, turned = (
        [row for row in rows if row.verdict == kind] for kind in ("both", "tuned only", "default only", "reversed")
    )
    said = []
    if held:
        said.append(f"{counted(len(held), 'difference')} that default settings show {_do(held)} shown after tuning too")
    for words, part in (
        ("only after tuning", after), ("only with default settings, not after tuning", before),
        ("the other way round with default settings", turned),
    ):  # fmt: skip
        if part:
            said.append(f"{_pairs(part)} {words}")
    text = "Tuning: " + "; ".join(said) + "."
    return [Verdict("warning" if len(held) < len(rows) else "different", task, text)]


def _do(rows: Sequence[Survival]) -> str:
    return "is" if len(rows) == 1 else "are"


def _pairs(rows: Sequence[Survival]) -> str:
    shown = names([f"{shorten(row.better)} over {shorten(row.worse)}" for row in rows[:4]])
    more = f" and {len(rows) - 4} more" if len(rows) > 4 else ""
    return f"{shown}{more} {_do(rows)} shown"


def _trials(cell: CellResult) -> list[dict[str, Any]]:
    """Candidates of the search inside a cell; the trace of a failure holds something else."""
    key = f"val_{cell.metric.removeprefix('test_')}"
    return [dict(row) for row in cell.trace if key in row or "error" in row]


def _default(cell: CellResult) -> float | None:
    for row in _trials(cell):
        if row.get("default") is True:
            value = row.get(cell.metric)
            return float(value) if isinstance(value, int | float) else None
    return None


def _tuned(cells: Sequence[CellResult]) -> Tuned:
    first = cells[0]
    key, sign = f"val_{first.metric.removeprefix('test_')}", 1 if first.greater_is_better else -1
    curves, counts = [], {}  # type: ignore[var-annotated]
    for cell in cells:
        rows = [row for row in _trials(cell) if isinstance(row.get(key), int | float)]
        curves.append(expected_best([row[key] for row in rows], greater_is_better=first.greater_is_better))
        best = max(rows, key=lambda row: sign * row[key], default={})
        settings = {name for row in rows for name in row} - {key, cell.metric, "default", "error"}
        for name in sorted(settings):
            value = str(best[name]) if name in best else "default"
            counts.setdefault(name.removeprefix("model."), Counter())[value] += 1
    length = min(len(curve) for curve in curves)
    before = [_default(cell) for cell in cells]
    return Tuned(
        first.task, first.model, len(cells), max(len(_trials(cell)) for cell in cells),
        float("nan") if None in before else float(np.mean([value for value in before if value is not None])),
        float(np.mean([cell.value for cell in cells])),
        tuple((name, tuple(held.most_common())) for name, held in counts.items()),
        tuple(float(value) for value in np.mean([curve[:length] for curve in curves], axis=0)) if length else (),
    )  # fmt: skip


def _survival(before: Sequence[Comparison], after: Sequence[Comparison]) -> Iterable[Survival]:
    old = {(pair.task, pair.a, pair.b): pair for pair in before}
    for pair in after:
        other = old.get((pair.task, pair.a, pair.b))
        was = other is not None and other.different
        if not pair.different and not was:
            continue
        shown = pair if pair.different or other is None else other
        verdict = "tuned only" if not was else "default only" if not pair.different else "both"
        if verdict == "both" and other is not None and other.better != pair.better:
            verdict = "reversed"
        better = str(shown.better)
        yield Survival(pair.task, better, pair.b if better == pair.a else pair.a, verdict)
