"""Places across tasks: one bar per model, all of which hold together."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from graphnetz.records.views import RankSetView
from graphnetz.report.charts.base import Canvas, Scale, frame

WIDTH, LEFT, RIGHT, STEP, TOP = 880.0, 190.0, 90.0, 26.0, 12.0


def places_chart(view: RankSetView, models: Sequence[str]) -> Markup | None:
    """Draw the places that each model may have, best mean rank first; ``models`` gives everyone its usual look."""
    if len(view.models) < 2 or view.n_tasks < 2:
        return None  # one task says nothing about others
    look = {model: i for i, model in enumerate(models)}
    base, k = TOP + STEP * len(view.models), len(view.models)
    words = "; ".join(f"{model} {view.text(i)}" for i, model in enumerate(view.models))
    canvas = Canvas(WIDTH, base + 26, label=f"Places, best mean rank first: {words}.")
    scale = Scale(1, k, LEFT, WIDTH - RIGHT)
    for i in range(0, k, 2):
        canvas.rect(0, TOP + i * STEP, WIDTH, STEP, "band")
    for place in range(1, k + 1, max(1, k // 12)):
        canvas.line(scale(place), TOP, scale(place), base, "grid")
        canvas.text(scale(place), base + 16, str(place), anchor="middle", style="tick")
    for i, model in enumerate(view.models):
        y = TOP + (i + 0.5) * STEP
        canvas.text(LEFT - 16, y + 4, model, anchor="end", width=24)
        canvas.line(scale(view.low[i]), y, scale(view.high[i]), y, "clique")
        tip = f"{model}: place {view.text(i)} of {k}, mean rank {view.mean_ranks[i]:.2f}"
        canvas.mark(look.get(model, i), scale(view.mean_ranks[i]), y, tip)
        canvas.text(WIDTH - RIGHT + 16, y + 4, view.text(i), style="tick")
    return frame([canvas.svg()], label="Chart: places across tasks")
