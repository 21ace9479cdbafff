"""Stacked shares: where the spread of each difference comes from."""

from __future__ import annotations

import math
from collections.abc import Sequence

from markupsafe import Markup

from graphnetz._core.text import shorten
from graphnetz.records import Components
from graphnetz.records.examples import PARTS
from graphnetz.report.charts.base import Canvas, Scale, frame, legend

WIDTH, LEFT, RIGHT, STEP = 880.0, 260.0, 24.0, 22.0


def components_chart(found: Sequence[Components]) -> Markup | None:
    """Draw one bar per comparison, cut into the shares of seed, split, example and rest; None without any."""
    drawn = [c for c in found if math.isfinite(c.example_share)]
    if not drawn:
        return None
    top, base = 10.0, 10.0 + STEP * len(drawn)
    canvas = Canvas(
        WIDTH, base + 34, label=f"Shares of variance of {len(drawn)} differences; the table holds the values."
    )
    scale = Scale(0.0, 1.0, LEFT, WIDTH - RIGHT)
    for r, c in enumerate(drawn):
        y, at = top + r * STEP, 0.0
        # Cut one by one: of one text the middle is left out, which is the name of a model.
        task, a, b = shorten(c.task, 14), shorten(c.a, 9), shorten(c.b, 9)
        canvas.text(LEFT - 10, y + 14, f"{task}: {a} − {b}", anchor="end", width=40)
        for part, share in c.shares.items():
            if share > 0:
                i = PARTS.index(part)
                canvas.rect(scale(at), y + 3, scale(at + share) - scale(at), STEP - 6, f"share c{i}")
                # The words stand in the bar, so that the parts are told apart without colour too.
                if share >= 0.12:
                    middle = scale(at + share / 2)
                    canvas.text(middle, y + 15, f"{part} {100 * share:.0f} %", anchor="middle", style="tick")
                at += share
    for tick in (0.0, 0.25, 0.5, 0.75, 1.0):
        canvas.text(scale(tick), base + 16, f"{100 * tick:.0f} %", anchor="middle", style="tick")
    canvas.line(LEFT, base, WIDTH - RIGHT, base)
    shown = [i for i, part in enumerate(PARTS) if any(part in c.shares for c in drawn)]
    return frame([canvas.svg()], label="Where the spread comes from", head=legend(PARTS, shown))
