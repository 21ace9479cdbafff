"""Strips of dots: every run has its mark, on the page and on paper."""

import xml.etree.ElementTree as ET
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.collections import PathCollection

from graphnetz.records.views import CellView, DotPanel, DotRow, TaskRow, swarm
from graphnetz.report import charts
from graphnetz.report.plots import draw_dots

EVIL = "</script><img src=x onerror=alert(1)>"


def panel(models=3, seeds=10, *, better=True):
    rng = np.random.default_rng(0)
    rows = []
    for m in range(models):
        values = tuple(float(v) for v in 0.8 + 0.01 * rng.normal(size=seeds))
        rows.append(DotRow(f"m{m}" if m else EVIL, values, tuple(range(seeds))))
    first = rows[0]
    rows[0] = DotRow(first.model, (0.1, *first.values[1:]), first.seeds, collapsed=(0,), failed=(seeds, seeds + 1))
    return DotPanel("cora", "Test accuracy", better, tuple(rows))


def drawn(shown):
    """The card of a task with the runs of ``shown``."""
    cells = tuple(
        CellView(row.mean, n=len(row.values), planned=len(row.values) + len(row.failed)) for row in shown.rows
    )
    models = [row.model for row in shown.rows]
    task = TaskRow(shown.task, shown.label, shown.greater_is_better, cells)
    markup = charts.forest_rows(task, models, shown.rows, number_of=0).replace("<wbr>", "")  # is never closed
    return ET.fromstring(f"<root>{markup}</root>")


def marks(root, style):
    return [c for c in root.iter("circle") if c.get("class") == style]


@pytest.mark.parametrize(("models", "seeds"), [(3, 3), (3, 50), (30, 10)])
def test_every_run_has_a_mark_with_its_words(models, seeds):
    shown = panel(models, seeds)
    root = drawn(shown)
    dots, hollow = marks(root, "m d"), marks(root, "m d hollow")
    assert len(dots) == models * seeds - 1
    assert [c.find("title").text for c in hollow] == [f"{EVIL} · seed 0 · 0.1000 · collapsed, off the axis"]
    said = {c.find("title").text for c in dots}
    assert f"m{models - 1} · seed {seeds - 1} · {shown.rows[-1].values[-1]:.4f}" in said
    assert not list(root.iter("img"))
    (gone,) = [span for span in root.iter("span") if span.get("class") == "lost"]
    assert (gone.text, gone.get("title")) == ("✕2", f"2 of {seeds + 2} runs failed")


def test_a_collapsed_run_does_not_squeeze_the_others():
    """Dots lie on the axis of the runs that did not collapse: where its ticks say."""
    shown = panel(2, 10)
    root = drawn(shown)
    ticks = {
        float(t.text): float(t.get("x").strip("%")) for t in root.iter("text") if t.get("class").startswith("tick")
    }
    (low, at_low), *_, (high, at_high) = sorted(ticks.items())
    assert low > 0.5
    value = shown.rows[1].values[-1]
    (dot,) = [c for c in marks(root, "m d") if c.find("title").text == f"m1 · seed 9 · {value:.4f}"]
    expected = at_low + (value - low) / (high - low) * (at_high - at_low)
    assert float(dot.get("cx").strip("%")) == pytest.approx(expected, abs=0.05)


def test_direction_is_said():
    root = drawn(panel(2, 5, better=False))
    assert any("lower is better" in "".join(td.itertext()) for td in root.iter("td"))


@given(st.lists(st.floats(0, 100), max_size=60), st.floats(0.1, 10))
def test_swarm_keeps_marks_apart_while_there_is_room(at, room):
    steps = swarm(at, room)
    assert all(abs(step) <= 4 for step in steps)
    placed = sorted(zip(at, steps, strict=True))
    for (x, step), (y, other) in pairwise(placed):
        assert y - x >= room or step != other


def test_paper_figure_has_a_panel_per_task_and_a_point_per_run():
    shown = panel(3, 10)
    figure, axes = draw_dots([shown, panel(3, 10, better=False)], [row.model for row in shown.rows])
    assert len(axes) == 2
    points = sum(len(dots.get_offsets()) for dots in axes[0].collections if isinstance(dots, PathCollection))
    assert points == 29
    outside = [line for line in axes[0].lines if len(line.get_xdata()) == 1]
    assert len(outside) == 3
    assert axes[0].get_xlabel().endswith("↑")
    assert axes[1].get_xlabel().endswith("↓")
    words = [text.get_text() for text in figure.legends[0].get_texts()]
    assert words == ["one run", "mean of runs without collapse", "collapsed (off the axis)", "failed"]


def test_no_run_is_said_in_words():
    figure, _ = draw_dots([], [])
    assert any("No run finished" in text.get_text() for text in figure.axes[0].texts)
