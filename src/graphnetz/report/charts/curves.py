"""Learning curves as small multiples."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from markupsafe import Markup

from graphnetz.records.views import Curve, CurvePanel, number
from graphnetz.report.charts.base import Panel, Scale, frame, legend, look, padded, thinned, trail

POINTS = 6
"""Marks per curve that can be pointed at."""
VERTICES, EDGES = 80, 40
"""Vertices of a curve and of each edge of its band: a panel is 280 pixels wide, and a page holds hundreds of curves."""


def curves_panel(panel: CurvePanel, models: Sequence[str]) -> Markup:
    """Draw mean and band over epochs of one task."""
    place = {model: i for i, model in enumerate(models)}
    shown = sorted(place[curve.model] for curve in panel.curves)
    return frame([_panel(panel, place)], label=f"Learning curves on {panel.task}", head=legend(models, shown))


def _panel(panel: CurvePanel, place: dict[str, int]) -> Markup:
    xs = [float(v) for c in panel.curves for v in (c.x[0], c.x[-1])]
    ys = [float(v) for c in panel.curves for part in (c.mean, c.low, c.high) for v in part]
    words = f"Learning curves on {panel.task}: {panel.label} by epoch."
    canvas = Panel("", (min(xs), max(xs)), padded(ys), label=words, foot=f"epoch · {panel.label}")
    for curve in panel.curves:
        _curve(canvas, curve, place[curve.model])
    return canvas.svg()


def _curve(canvas: Panel, curve: Curve, index: int) -> None:
    across, up = canvas.across, canvas.up
    colour, _ = look(index)
    keep = _spread(len(curve.x), VERTICES)
    edges = _spread(len(curve.x), EDGES)
    banded = [i for i in edges if math.isfinite(curve.low[i]) and math.isfinite(curve.high[i])]
    if len(banded) > 1:
        high, low = (_points(curve.x, part, banded, across, up) for part in (curve.high, curve.low))
        canvas.path(trail([*thinned(high), *thinned(low[::-1])]) + "z", f"area {colour} s{index}")
    line = _points(curve.x, curve.mean, [i for i in keep if math.isfinite(curve.mean[i])], across, up)
    if len(line) > 1:
        canvas.path(trail(thinned(line)), f"curve {colour} s{index}")
    for i in _spread(len(curve.x), POINTS):
        if math.isfinite(curve.mean[i]):
            span = f" [{number(curve.low[i])}, {number(curve.high[i])}]" if math.isfinite(curve.low[i]) else ""
            words = f"{curve.model} · epoch {curve.x[i]:g} · {number(float(curve.mean[i]), digits=4)}{span}"
            canvas.mark(index, across(float(curve.x[i])), up(float(curve.mean[i])), words)


def _spread(n: int, most: int) -> list[int]:
    """At most ``most`` positions, the first and the last among them."""
    if n <= most:
        return list(range(n))
    return sorted({round(i * (n - 1) / (most - 1)) for i in range(most)})


def _points(
    x: npt.NDArray[np.float64], y: npt.NDArray[np.float64], at: Sequence[int], across: Scale, up: Scale
) -> list[tuple[float, float]]:
    return [(across(float(x[i])), up(float(y[i]))) for i in at]
