"""Learning curves: mean and interval over seeds, epoch by epoch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from graphnetz.metrics import bounds_of
from graphnetz.records import CellResult
from graphnetz.records.analysis import Histories
from graphnetz.records.views import Curve, CurvePanel, bounds_for
from graphnetz.stats.intervals import student_quantile


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
            values = np.concatenate([curve.mean for curve in curves])
            panels.append(CurvePanel(task, labels[task], tuple(curves), bounds_for(values, bounds_of(keys[task]))))
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
