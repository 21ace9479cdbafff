"""Strips of dots: every run has its mark, on the page and on paper."""

import re
import xml.etree.ElementTree as ET
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphnetz.records.views import DotPanel, DotRow, swarm
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


def tree(markup):
    return ET.fromstring(f"<root>{markup}</root>")


def marks(root, style):
    return [g for g in root.iter("g") if (g.get("class") or "").endswith(style)]


@pytest.mark.parametrize(("models", "seeds"), [(3, 3), (3, 50), (30, 10)])
def test_every_run_has_a_mark_with_its_words(models, seeds):
    shown = panel(models, seeds)
    root = tree(charts.dots_chart([shown], [row.model for row in shown.rows]))
    dots, hollow = marks(root, "dot"), marks(root, "hollow")
    assert len(dots) == models * seeds - 1
    assert [g.find("title").text for g in hollow] == [
        f"{EVIL} · seed 0 · 0.1000 · collapsed", f"{EVIL} · seed {seeds} · failed", f"{EVIL} · seed {seeds + 1} · failed",
    ]  # fmt: skip
    assert dots[-1].find("title").text == f"m{models - 1} · seed {seeds - 1} · {shown.rows[-1].values[-1]:.4f}"
    assert not list(root.iter("img"))
    label = next(svg for svg in root.iter("svg")).get("aria-label")
    assert f"{models} models, {models * seeds} finished runs, 1 of them collapsed, 2 runs failed" in label


def test_a_collapsed_run_does_not_squeeze_the_others():
    """Dots lie on the axis of the runs that did not collapse: where its ticks say."""
    shown = panel(2, 10)
    root = tree(charts.dots_chart([shown], [row.model for row in shown.rows]))
    ticks = {t.text: float(t.get("x")) for t in root.iter("text") if t.get("class") == "tick" and "." in t.text[:3]}
    (low, at_low), *_, (high, at_high) = sorted((float(k), v) for k, v in ticks.items())
    assert low > 0.5
    dot = marks(root, "dot")[-1]
    x = float(re.search(r"M(\S+) ", dot.find("path").get("d"))[1])
    expected = at_low + (shown.rows[1].values[-1] - low) / (high - low) * (at_high - at_low)
    assert x == pytest.approx(expected, abs=0.2)


def test_direction_and_looks_are_those_of_the_report():
    shown = panel(2, 5, better=False)
    root = tree(charts.dots_chart([shown], ["other", *[row.model for row in shown.rows]]))
    assert any("← lower is better" in (t.text or "") for t in root.iter("text"))
    assert {g.get("class") for g in marks(root, "dot")} == {"m c1 s1 dot", "m c2 s2 dot"}
    assert charts.dots_chart([DotPanel("t", "m", True, (DotRow("a", (), ()),))], ["a"]) is None


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
    points = sum(len(dots.get_offsets()) for dots in axes[0].collections)
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
