"""Learning curves as small multiples."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from markupsafe import Markup

from graphnetz.records.views import Curve, CurvePanel, number
from graphnetz.report.charts.base import Canvas, Scale, frame, legend, look, padded, px, tick_text

WIDTH, HEIGHT, LEFT, TOP, BOTTOM = 340.0, 220.0, 46.0, 26.0, 34.0
POINTS = 12
"""Marks per curve that can be pointed at."""
VERTICES = 160
"""Vertices per curve: more than a panel has pixels for."""


def curves_chart(panels: Sequence[CurvePanel], models: Sequence[str]) -> Markup | None:
    """Draw mean and band over epochs, one panel per task."""
    if not panels:
        return None
    place = {model: i for i, model in enumerate(models)}
    shown = sorted({place[curve.model] for panel in panels for curve in panel.curves})
    drawn = [_panel(panel, place) for panel in panels]
    return frame(drawn, label="Learning curves", head=legend(models, shown), style="multiples")


def _panel(panel: CurvePanel, place: dict[str, int]) -> Markup:
    canvas = Canvas(WIDTH, HEIGHT, label=f"Learning curves on {panel.task}: {panel.label} by epoch.")
    xs = [float(v) for c in panel.curves for v in (c.x[0], c.x[-1])]
    ys = [float(v) for c in panel.curves for part in (c.mean, c.low, c.high) for v in part]
    across = Scale(min(xs), max(xs), LEFT, WIDTH - 10)
    up = Scale(*padded(ys), HEIGHT - BOTTOM, TOP)
    canvas.text(LEFT, 15, panel.task, style="head", width=36)
    for tick in up.ticks(5):
        canvas.line(LEFT, up(tick), WIDTH - 10, up(tick), "grid")
        canvas.text(LEFT - 6, up(tick) + 4, tick_text(tick), anchor="end", style="tick")
    for tick in across.ticks(5):
        canvas.text(across(tick), HEIGHT - BOTTOM + 15, tick_text(tick), anchor="middle", style="tick")
    canvas.line(LEFT, HEIGHT - BOTTOM, WIDTH - 10, HEIGHT - BOTTOM)
    canvas.text((LEFT + WIDTH) / 2, HEIGHT - 4, f"epoch · {panel.label}", anchor="middle", style="tick", width=44)
    for curve in panel.curves:
        _curve(canvas, curve, place[curve.model], across, up)
    return canvas.svg()


def _curve(canvas: Canvas, curve: Curve, index: int, across: Scale, up: Scale) -> None:
    colour, _ = look(index)
    keep = _spread(len(curve.x), VERTICES)
    banded = [i for i in keep if math.isfinite(curve.low[i]) and math.isfinite(curve.high[i])]
    if len(banded) > 1:
        edge = [
            *_points(curve.x, curve.high, banded, across, up),
            *_points(curve.x, curve.low, banded, across, up)[::-1],
        ]
        canvas.path("M" + "L".join(edge) + "Z", f"area {colour} s{index}")
    line = _points(curve.x, curve.mean, [i for i in keep if math.isfinite(curve.mean[i])], across, up)
    if len(line) > 1:
        canvas.path("M" + "L".join(line), f"curve {colour} s{index}")
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
) -> list[str]:
    return [f"{px(across(float(x[i])))} {px(up(float(y[i])))}" for i in at]
