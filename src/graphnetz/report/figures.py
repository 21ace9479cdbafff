"""From records to what the renderers draw."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np

from graphnetz._core.errors import unknown_name
from graphnetz.analysis.comparisons import CellStat, Comparison, standing
from graphnetz.analysis.scores import Histories
from graphnetz.metrics import label_of
from graphnetz.records import CellResult, ScoreTable
from graphnetz.records.task_info import TaskInfo
from graphnetz.report.views import BothView, CellView, Curve, CurvePanel, Grid, Mark, PairView, TaskRow
from graphnetz.stats.intervals import student_quantile

INTERVAL_WORDS = {"t": "Student's t", "bootstrap": "percentile bootstrap", "bca": "BCa bootstrap"}
TIE_WORDS = {
    "holm": "cannot be told apart from the best by the Holm-adjusted paired test",
    "overlap": "its interval overlaps that of the best",
}
TieRule = Literal["holm", "overlap"]


def build_grid(
    table: ScoreTable,
    stats: Sequence[CellStat],
    grouped: Mapping[str, Sequence[Comparison]],
    tasks: Mapping[str, TaskInfo],
    *,
    level: float,
    method: str,
    tie_rule: str = "holm",
) -> Grid:
    """Return the summary as tasks by models, with best and tied cells marked."""
    if tie_rule not in TIE_WORDS:
        raise unknown_name("tie rule", tie_rule, TIE_WORDS)
    found = {(stat.task, stat.model): stat for stat in stats}
    rows = []
    for t, task in enumerate(table.tasks):
        place = standing(table, t, grouped.get(task, ()))
        tied = set(place.tied) if place else set()
        best = found.get((task, place.best)) if place else None
        cells = []
        for model in table.models:
            stat = found.get((task, model))
            if stat is None:
                cells.append(CellView(note=table.reasons.get((task, model), "not run")))
                continue
            i = stat.plain
            close = model in tied if tie_rule == "holm" else _overlap(stat, best)
            mark: Mark = "best" if best is stat else "tied" if close else ""
            cells.append(CellView(i.mean, i.low, i.high, i.half, i.n, mark, stat.note or i.reason))
        info = tasks[task]
        rows.append(
            TaskRow(
                task, info.label, info.greater_is_better, tuple(cells), info.category, info.task_type, info.replication
            )
        )
    return Grid(
        table.models, tuple(rows), level, len(table.seeds), INTERVAL_WORDS.get(method, method), TIE_WORDS[tie_rule]
    )


def _overlap(stat: CellStat, best: CellStat | None) -> bool:
    return best is not None and stat.plain.high >= best.plain.low and stat.plain.low <= best.plain.high


def pair_views(
    pairs: Sequence[Comparison], *, decisive: bool = False, bounds: Sequence[Comparison] | None = None
) -> list[PairView]:
    """Comparisons for drawing: by the chosen test, or by the one that verdicts use.

    ``bounds`` are the same comparisons at another level, to take intervals from.
    """
    out = []
    for p, b in zip(pairs, bounds if bounds is not None else pairs, strict=True):
        low, high = b.decisive_bounds if decisive else (b.low, b.high)
        value, hit = (p.decisive_p, p.different) if decisive else (p.p_adjusted, p.significant)
        out.append(PairView(p.task, p.a, p.b, p.mean_diff, low, high, p.dz, value, hit, p.n, p.reason))
    return out


def both_views(t: Sequence[Comparison], w: Sequence[Comparison]) -> list[BothView]:
    """Paired t and Wilcoxon side by side."""
    return [
        BothView(x.task, x.a, x.b, x.mean_diff, x.p_adjusted, y.p_adjusted, x.significant, y.significant, y.reachable)
        for x, y in zip(t, w, strict=True)
    ]


def curve_label(key: str | None, info: TaskInfo) -> str:
    """Axis label of a learning curve."""
    return label_of(key) if key else info.label


def curve_panels(
    histories: Histories,
    keys: Mapping[str, str],
    labels: Mapping[str, str],
    *,
    level: float,
    results: Sequence[CellResult] = (),
) -> list[CurvePanel]:
    """Mean and t interval over seeds, epoch by epoch; runs that stopped early count while they last."""
    length = {(r.task, r.model): max(r.epochs, 1) for r in results if r.ok}
    panels = []
    for task, models in histories.items():
        curves = []
        for model, runs in models.items():
            series = [np.asarray(run[keys[task]], dtype=float) for run in runs if len(run.get(keys[task], ()))]
            if series and max(map(len, series)) > 1:
                curves.append(_curve(model, series, level, length.get((task, model), 0)))
        if curves:
            panels.append(CurvePanel(task, labels[task], tuple(curves)))
    return panels


def _curve(model: str, series: Sequence[np.ndarray], level: float, epochs: int) -> Curve:
    steps = max(map(len, series))
    stack = np.full((len(series), steps), np.nan)
    for row, values in zip(stack, series, strict=True):
        row[: len(values)] = values
    stack[~np.isfinite(stack)] = np.nan
    n = np.isfinite(stack).sum(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.nansum(stack, axis=0) / np.where(n > 0, n, np.nan)
        variance = np.nansum((stack - mean) ** 2, axis=0) / np.where(n > 1, n - 1, np.nan)
        quantile = {int(k): student_quantile(int(k) - 1, (1 + level) / 2) for k in np.unique(n) if k > 1}
        half = np.array([quantile.get(int(k), np.nan) for k in n]) * np.sqrt(variance / n)
    every = max(1, round(epochs / steps)) if epochs else 1
    return Curve(model, np.arange(1, steps + 1, dtype=float) * every, mean, mean - half, mean + half)
