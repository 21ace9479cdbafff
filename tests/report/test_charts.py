"""Charts of the page: well-formed, escaped, and with the numbers they were given."""

import math
import re
import xml.etree.ElementTree as ET
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphnetz.records.views import CellView, Curve, CurvePanel, DotRow, Grid, RankSetView, RankView, TaskRow
from graphnetz.report import charts
from graphnetz.report.charts.base import Scale, legend, look, padded, thinned, trail

EVIL = "</script><img src=x onerror=alert(1)>"
SHORT = "</script><img…or=alert(1)>"


def tree(markup):
    # A place where a name may break is no text, and closes itself in HTML only.
    return ET.fromstring(f"<root>{markup}</root>".replace("<wbr>", ""))


def make_grid(models=("A", EVIL)):
    cells = (CellView(0.8, 0.79, 0.81, 0.01, 10, "best"), CellView(0.7, math.nan, math.nan, math.nan, 1))
    rows = (
        TaskRow("t1", "Test accuracy", True, cells),
        TaskRow(EVIL, "Test accuracy", True, (cells[0], CellView(note="not run"))),
        TaskRow("t3", "Test MAE", False, cells),
    )
    return Grid(models, rows, n_seeds=10)


def titles(root):
    marks = (mark for mark in root.iter("g") if (mark.get("class") or "").split()[:1] == ["m"])
    return [mark.find("title").text for mark in marks]


def dots(row, models=("A", EVIL)):
    return [DotRow(m, (c.mean,) * c.n, tuple(range(c.n))) for m, c in zip(models, row.cells, strict=True) if c.n]


def test_a_card_has_a_row_per_model_a_dot_per_run_and_the_numbers_in_letters():
    row = make_grid().rows[0]
    root = tree(charts.forest_rows(row, ("A", EVIL), dots(row), number_of=3))
    rows = next(root.iter("tbody")).findall("tr")
    assert [tr.find("th/bdi").text for tr in rows] == ["A", SHORT]  # best first, as text
    assert [tr.get("data-m") for tr in rows] == ["0", "1"]
    assert sum(c.get("class") == "m d" for c in root.iter("circle")) == 11
    assert "A · mean 0.8000 [0.790, 0.810] · 10 seeds" in titles(root)
    words = ["".join(tr.findall("td")[1].itertext()) for tr in rows]
    assert words == ["0.800 ± 0.010★", "0.700"]
    assert not list(root.iter("img"))
    turned = make_grid().rows[2]
    root = tree(charts.forest_rows(turned, ("A", EVIL), dots(turned), number_of=0))
    assert [th.text for th in root.iter("bdi")] == [SHORT, "A"]  # lower is better there
    empty = TaskRow("t", "m", True, (CellView(note="not run"),))
    assert charts.forest_rows(empty, ("A",), [], number_of=0) is None


def test_marks_lie_where_the_axis_says():
    """Ticks and marks use one scale: a mark at a tick's value has the tick's position."""
    cells = (CellView(0.6, 0.4, 0.8, 0.2, 5), CellView(1.0, 0.9, 1.1, 0.1, 5))
    root = tree(charts.forest_rows(TaskRow("t", "m", True, cells), ("A", "B"), [], number_of=0))
    ticks = {t.text: float(t.get("x").strip("%")) for t in root.iter("text") if t.get("class").startswith("tick")}
    row = next(tr for tr in root.iter("tr") if tr.get("data-m") == "0")
    (mark,) = [g for g in row.iter("g") if g.get("class") == "m mean"]
    assert float(mark.find("use").get("x").strip("%")) == pytest.approx(ticks["0.6"], abs=0.02)
    (bar,) = [line for line in row.iter("line") if line.get("class") == "bar"]
    ends = [float(bar.get(x).strip("%")) for x in ("x1", "x2")]
    assert ends == pytest.approx([ticks["0.4"], ticks["0.8"]], abs=0.02)


def test_places_say_every_set_and_keep_the_looks_of_the_models():
    view = RankSetView(("B", "A", EVIL), (1.25, 2.0, 2.75), (1, 1, 2), (2, 3, 3), (0, 0, 4), n_tasks=8, n_blocks=8)
    root = tree(charts.places_rows(view, ("A", "B", EVIL)))
    rows = next(root.iter("tbody")).findall("tr")
    assert [(tr.find("th/bdi").text, tr.get("data-m"), tr.findall("td")[1].text) for tr in rows] == [
        ("B", "1", "1 to 2"), ("A", "0", "1 to 3"), (SHORT, "2", "2 to 3"),
    ]  # fmt: skip
    assert titles(root)[2] == f"{EVIL}: place 2 to 3 of 3, mean rank 2.75, 4 of 8 tasks omitted and ranked worst"
    assert charts.places_rows(RankSetView(("A", "B"), n_tasks=1), ("A", "B")) is None


def test_many_places_unfold_and_none_is_lost():
    k = 30
    names = tuple(f"m{i}" for i in range(k))
    view = RankSetView(names, tuple(1.0 + i for i in range(k)), (1,) * k, (k,) * k, (0,) * k, n_tasks=9, n_blocks=9)
    root = tree(charts.places_rows(view, names))
    assert [th.text for th in root.iter("bdi")] == list(names)
    assert root.find("details/summary").text == "18 more models"


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
    markup = charts.curves_panel(CurvePanel("t", "Test accuracy", (curve,)), ("A",))
    words = titles(tree(markup))
    assert words[0].startswith("A · epoch 1 ·")
    assert words[-1].startswith("A · epoch 2000 · 1.0000")
    assert len(words) == 6
    assert len(markup) < 20_000


def test_cost_chart_needs_seconds():
    grid = make_grid()
    assert charts.cost_chart(grid, {}) is None
    root = tree(charts.cost_chart(grid, {("t1", "A"): 2.0, ("t1", EVIL): 20.0, ("t3", "A"): math.nan}))
    assert [text.split(" · ")[2] for text in titles(root)] == ["2 s per cell", "20 s per cell"]


def test_looks_repeat_only_after_colours_and_shapes_are_used_up():
    assert len({look(i) for i in range(88)}) == 88
    assert EVIL not in legend((EVIL,), [0])


@given(st.lists(st.tuples(st.floats(0, 900), st.floats(0, 900)), min_size=2, max_size=30))
def test_a_trail_leads_through_its_points(points):
    """Read back as SVG reads it: steps add up to every point within a twentieth of a pixel."""
    start, steps = trail(points)[1:].split("l")
    x, y = map(float, re.findall(r"-?(?:\d+\.?\d*|\.\d+)", start))
    numbers = [float(text) for text in re.findall(r"-?(?:\d+(?:\.\d+)?|\.\d+)", steps)]
    assert len(numbers) == 2 * (len(points) - 1)
    assert (x, y) == pytest.approx(points[0], abs=0.051)
    for dx, dy, point in zip(numbers[::2], numbers[1::2], points[1:], strict=True):
        x, y = x + dx, y + dy
        assert (x, y) == pytest.approx(point, abs=0.051)


@given(st.lists(st.floats(0, 200, allow_subnormal=False), min_size=2, max_size=60))
def test_a_thinned_line_passes_where_the_whole_one_does(heights):
    points = [(5.0 * i, height) for i, height in enumerate(heights)]
    kept = thinned(points)
    assert kept[0] == points[0]
    assert kept[-1] == points[-1]
    xs, ys = zip(*kept, strict=True)
    slope = np.interp([x for x, _ in points], xs, ys) - heights
    # A vertical gap is longer than the distance to a steep line.
    steep = [abs((d - b) / (c - a)) for (a, b), (c, d) in pairwise(kept)]
    assert np.abs(slope).max() <= 0.15 * math.hypot(1, max(steep)) + 1e-9


def test_a_flat_line_is_two_points():
    assert thinned([(float(i), 3.0) for i in range(80)]) == [(0.0, 3.0), (79.0, 3.0)]
