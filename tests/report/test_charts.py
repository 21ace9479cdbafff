"""Charts of the page: well-formed, escaped, and with the numbers they were given."""

import math
import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphnetz.records.views import CellView, Curve, CurvePanel, Grid, RankView, TaskRow
from graphnetz.report import charts
from graphnetz.report.charts.base import Scale, legend, look, padded

EVIL = "</script><img src=x onerror=alert(1)>"


def tree(markup):
    return ET.fromstring(f"<root>{markup}</root>")


def make_grid(models=("A", EVIL)):
    cells = (CellView(0.8, 0.79, 0.81, 0.01, 10, "best"), CellView(0.7, math.nan, math.nan, math.nan, 1))
    rows = (
        TaskRow("t1", "Test accuracy", True, cells),
        TaskRow(EVIL, "Test accuracy", True, (cells[0], CellView(note="not run"))),
        TaskRow("t3", "Test MAE", False, cells),
    )
    return Grid(models, rows, n_seeds=10)


def titles(root):
    return [mark.find("title").text for mark in root.iter("g") if (mark.get("class") or "").startswith("m ")]


def test_forest_has_a_panel_per_metric_and_a_mark_per_value():
    root = tree(charts.forest_chart(make_grid()))
    panels = [svg for svg in root.iter("svg") if svg.get("class") == "chart"]
    assert len(panels) == 2
    words = titles(root)
    assert len(words) == 5
    assert words[0] == "t1: A · Test accuracy 0.8000 [0.790, 0.810] · 10 seeds · best mean over shared seeds"
    assert any(EVIL in text for text in words)  # as text
    assert not list(root.iter("img"))


def test_marks_lie_where_the_axis_says():
    """Ticks and marks use one scale: a mark at a tick's value has the tick's position."""
    cells = (CellView(0.6, 0.4, 0.8, 0.2, 5), CellView(1.0, 0.9, 1.1, 0.1, 5))
    root = tree(charts.forest_chart(Grid(("A", "B"), (TaskRow("t", "m", True, cells),))))
    ticks = {t.text: float(t.get("x")) for t in root.iter("text") if t.get("class") == "tick"}
    first = next(g for g in root.iter("g") if "s0" in (g.get("class") or "") and g.get("class").startswith("m"))
    assert float(first.find("circle").get("cx")) == pytest.approx(ticks["0.6"], abs=0.11)
    ends = [float(v) for v in re.findall(r"M(\S+) \S+H(\S+)", first.find("path").get("d"))[0]]
    assert ends == pytest.approx([ticks["0.4"], ticks["0.8"]], abs=0.11)


@given(st.floats(-1e6, 1e6), st.floats(1e-6, 1e6), st.floats(0, 1))
def test_scale_is_monotone_and_its_ticks_lie_inside(low, width, share):
    scale = Scale(low, low + width, 100.0, 500.0)
    value = scale.low + share * (scale.high - scale.low)
    assert 99.9 <= scale(value) <= 500.1
    ticks = scale.ticks()
    slack = 1e-6 * (scale.high - scale.low)
    assert all(scale.low - slack <= t <= scale.high + slack for t in ticks)
    assert ticks == sorted(ticks)


def test_log_scale():
    scale = Scale(1.0, 100.0, 0.0, 2.0, log=True)
    assert [scale(v) for v in (1.0, 10.0, 100.0)] == pytest.approx([0.0, 1.0, 2.0])
    assert scale.ticks() == [1.0, 10.0, 100.0]
    assert all(2.0 <= t <= 7.0 for t in Scale(2.0, 7.0, 0, 1, log=True).ticks())


def test_equal_or_missing_values_still_have_an_axis():
    assert padded([math.nan]) == (0.0, 1.0)
    same = Scale(0.5, 0.5, 0, 10)
    assert same(0.5) == pytest.approx(5.0)


def test_critical_difference_names_every_model_once():
    ranks = RankView(("A", EVIL, "C"), (1.2, 2.0, 2.8), 9, 1.1, ((0, 1), (1, 2)), True, 0.001, 0.05)
    root = tree(charts.critical_chart(ranks))
    assert titles(root) == [
        f"{m} · mean rank {r:.2f} over 9 tasks" for m, r in zip(ranks.models, ranks.mean_ranks, strict=True)
    ]
    assert sum(p.get("class") == "clique" for p in root.iter("path")) == 2
    assert charts.critical_chart(RankView(("A",), (1.0,), 1, math.nan, (), False, math.nan, 0.05)) is None


def test_long_curves_are_thinned_but_keep_their_ends():
    x = np.arange(1.0, 2001.0)
    curve = Curve("A", x, x / 2000, x / 2000 - 0.1, x / 2000 + 0.1)
    markup = charts.curves_chart([CurvePanel("t", "Test accuracy", (curve,))], ("A",))
    words = titles(tree(markup))
    assert words[0].startswith("A · epoch 1 ·")
    assert words[-1].startswith("A · epoch 2000 · 1.0000")
    assert len(words) == 12
    assert len(markup) < 20_000
    assert charts.curves_chart([], ("A",)) is None


def test_cost_chart_needs_seconds():
    grid = make_grid()
    assert charts.cost_chart(grid, {}) is None
    root = tree(charts.cost_chart(grid, {("t1", "A"): 2.0, ("t1", EVIL): 20.0, ("t3", "A"): math.nan}))
    assert [text.split(" · ")[2] for text in titles(root)] == ["2 s per cell", "20 s per cell"]


def test_looks_repeat_only_after_colours_and_shapes_are_used_up():
    assert len({look(i) for i in range(88)}) == 88
    assert EVIL not in legend((EVIL,), [0])
