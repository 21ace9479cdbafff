"""Figures are complete, say what a page holds, and can be read at the size they are printed in."""

import re
from collections import namedtuple
from itertools import pairwise

import numpy as np
import pytest
from matplotlib.collections import PathCollection
from matplotlib.text import Text

from graphnetz._core.errors import UnknownNameError
from graphnetz.report import plots
from graphnetz.report.colours import BETTER, COLOURS, MARKERS, UNDECIDED, WORSE, look_of
from graphnetz.report.figures import FIGURES, digested, draw_pages, listed_pairs, page_counts, write_figures
from graphnetz.report.style import SIZES, palette

Point = namedtuple("Point", "model score seconds front", defaults=(True,))
PAGED = ("forest", "dots", "dashboard", "bars", "pairwise_matrix", "pairwise_list", "learning_curves")


def words(page):
    return [t.get_text() for t in page.findobj(Text) if t.get_visible() and t.get_text().strip()]


def note(page):
    return " ".join(text.get_text() for text in reversed(page.texts))


@pytest.fixture(scope="module")
def large(build):
    """30 tasks, 20 models, one of them with scores on its bound."""
    rng = np.random.default_rng(3)
    metric = {f"task_{t}": "test_mae" if t % 3 == 2 else "test_acc" for t in range(30)}
    means = {task: {f"Model{m}": 0.5 + 0.3 * rng.random() for m in range(20)} for task in metric}
    return build(means, seeds=3, sd=0.005, metric=metric).analysis


@pytest.fixture(scope="module")
def pages(large):
    return {name: draw_pages(large, name) for name in PAGED}


@pytest.mark.parametrize("name", PAGED)
def test_every_task_of_a_large_report_is_drawn(large, pages, name):
    tasks = set(large.scores.tasks)
    titles = [axes.get_title(loc=side) for page in pages[name] for axes in page.axes for side in ("left", "center")]
    ticks = [
        t.get_text()
        for page in pages[name]
        for axes in page.axes
        for t in (*axes.get_xticklabels(), *axes.get_yticklabels())
    ]
    shown = [text for text in titles + ticks if text in tasks]
    assert set(shown) == tasks
    assert len(shown) == 30


@pytest.mark.parametrize("name", PAGED)
def test_pages_say_which_of_how_many_they_hold(pages, name):
    found = [
        re.search(r"Page (\d+) of (\d+): (tasks|comparisons) (\d+)(?: to (\d+))? of (\d+)\.", note(p))
        for p in pages[name]
    ]
    assert len(found) > 1
    assert all(found)
    spans = [(int(m[4]), int(m[5] or m[4])) for m in found]
    assert spans[0][0] == 1
    assert all(b[0] == a[1] + 1 for a, b in pairwise(spans))
    assert spans[-1][1] == int(found[0][6])
    assert [int(m[1]) for m in found] == list(range(1, len(found) + 1))
    assert {int(m[2]) for m in found} == {len(found)}


def test_every_run_model_and_comparison_is_drawn(large, pages):
    def marks(name):
        drawn = (c for p in pages[name] for a in p.axes for c in a.collections if isinstance(c, PathCollection))
        return sum(len(c.get_offsets()) for c in drawn)

    assert marks("dots") == 30 * 20 * 3
    assert marks("forest") == 30 * 20
    assert sum(len(a.get_yticks()) for p in pages["pairwise_list"] for a in p.axes) == 30 * 19
    assert sum(len(a.lines) for p in pages["learning_curves"] for a in p.axes) == 30 * 20
    (page,) = draw_pages(large, "rank_sets")
    assert len(page.axes[0].get_yticks()) == 20
    (page,) = draw_pages(large, "win_rates")
    assert page.axes[0].images[0].get_array().shape == (20, 20)


@pytest.mark.parametrize("size", SIZES)
def test_letters_are_readable_and_stand_on_the_paper(build, size):
    names = ("GCN", "GraphTransformerLarge", "a_b$%", "MLP", "GIN")
    means = {
        t: {m: 0.9 + 0.02 * i for i, m in enumerate(names)} for t in ("cora", "a_very_long_task_name_indeed", "zinc")
    }
    analysis = build(
        means,
        seeds=4,
        sd=0.01,
        metric={"cora": "test_acc", "a_very_long_task_name_indeed": "test_auc", "zinc": "test_mae"},
    ).analysis
    for name in FIGURES:
        for page in draw_pages(analysis, name, size=size):
            width, height = page.get_size_inches()
            if name != "critical_difference":  # spans both columns
                assert width == SIZES[size].width, name
            assert height <= SIZES[size].height + 1.0, (name, height)
            page.canvas.draw()
            box = page.bbox
            unseen = {id(label) for axes in page.axes for label in hidden_ticks(axes)}
            for text in page.findobj(Text):
                if not text.get_visible() or not text.get_text().strip() or id(text) in unseen:
                    continue
                assert text.get_fontsize() >= 7, (name, text.get_text())
                extent = text.get_window_extent()
                inside = extent.x0 >= box.x0 - 2 and extent.x1 <= box.x1 + 2 and extent.y1 <= box.y1 + 2
                assert inside, (name, size, text.get_text(), extent.bounds, box.bounds)
                assert extent.y0 >= box.y0 - 2, (name, size, text.get_text(), extent.bounds, box.bounds)


def hidden_ticks(axes):
    """Labels of ticks beyond the ends of an axis, which are not drawn."""
    for axis in (axes.xaxis, axes.yaxis):
        low, high = sorted(axis.get_view_interval())
        for tick in (*axis.majorTicks, *axis.minorTicks):
            if not low <= tick.get_loc() <= high:
                yield from (tick.label1, tick.label2)


def test_an_unknown_size_or_figure_is_answered_with_the_known_ones(mixed):
    with pytest.raises(UnknownNameError, match="Did you mean 'forest'"):
        mixed.figures("forests")
    with pytest.raises(UnknownNameError, match="column"):
        mixed.figures("forest", size="poster")


@pytest.mark.parametrize(("metric", "good"), [("test_acc", 0.9), ("test_mae", 0.1)])
def test_better_has_one_colour_whatever_the_direction(build, metric, good):
    bad = 1 - good
    pairs = build({"t": {"A": good, "B": bad, "C": bad}}, metric=metric, seeds=6).comparisons()
    first = next(p for p in pairs if (p.a, p.b) == ("A", "B"))
    _, axes = plots.draw_pairwise_list([first])
    assert axes.lines[0].get_color() == BETTER
    _, axes = plots.draw_pairwise_matrix([first], ["A", "B"])
    red, _, blue, _ = axes.images[0].get_array()[0, 1]
    assert blue > red
    _, axes = plots.draw_pairwise_matrix([first], ["B", "A"])
    red, _, blue, _ = axes.images[0].get_array()[0, 1]
    assert red > blue
    assert len({BETTER, WORSE, UNDECIDED}) == 3


def test_the_list_starts_from_the_best_and_changes_no_decision(build):
    means = {t: {m: 0.5 + 0.05 * i for i, m in enumerate("ABCDE")} for t in ("x", "y")}
    analysis = build(means, seeds=5).analysis
    pairs, said = listed_pairs(analysis)
    assert "every pair" in said
    assert {(p.task, p.a) for p in pairs} == {("x", "E"), ("y", "E")}
    own = {(p.task, frozenset((p.a, p.b))): p for p in analysis.comparisons}
    for pair in pairs:
        same = own[pair.task, frozenset((pair.a, pair.b))]
        assert (pair.better, pair.different, pair.p_decided) == (same.better, same.different, same.p_decided)
        assert pair.sim_low <= pair.mean_diff <= pair.sim_high


def test_axes_are_per_task_and_end_at_the_bounds_of_the_metric(build):
    analysis = build({"easy": {"A": 0.999, "B": 0.99}, "hard": {"A": 0.02, "B": 0.01}}, seeds=5, sd=0.0005).analysis
    (page,) = draw_pages(analysis, "forest")
    easy, hard = (axes.get_xlim() for axes in page.axes)
    assert easy[0] > 0.9
    assert hard[1] < 0.1
    for name in ("forest", "dots"):
        (page,) = draw_pages(analysis, name)
        assert all(axes.get_xlim()[0] >= 0 and axes.get_xlim()[1] <= 1 for axes in page.axes)
    for name in ("dashboard", "bars"):
        (page,) = draw_pages(analysis, name)
        assert all(max(axes.get_yticks()) <= 1 and axes.spines["left"].get_bounds()[1] <= 1 for axes in page.axes)
    percent = build({"t": {"A": 81.0, "B": 79.0}}, seeds=5, sd=0.5).analysis
    (page,) = draw_pages(percent, "forest")
    assert page.axes[0].get_xlim()[1] > 75  # not on the scale of the metric: its bounds do not hold


def test_pages_of_an_earlier_writing_are_removed(build, tmp_path, monkeypatch):
    monkeypatch.setattr("graphnetz.report.figures.FIGURES", {"dots": FIGURES["dots"]})
    many = build({f"t{i}": {"A": 0.5, "B": 0.6} for i in range(20)}, seeds=2).analysis
    write_figures(many, tmp_path)
    names = sorted(p.name for p in tmp_path.iterdir())
    assert names == ["dots-1.png", "dots-2.png", "dots.pdf"]
    (tmp_path / "mine.png").write_bytes(b"x")
    write_figures(build({"t": {"A": 0.5, "B": 0.6}}, seeds=2).analysis, tmp_path)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["dots.pdf", "dots.png", "mine.png"]
    assert digested(tmp_path) == ["dots.pdf", "dots.png"]


def test_models_have_one_look_in_every_figure_also_where_some_are_left_out(build):
    means = {t: {m: 0.5 + 0.1 * i for i, m in enumerate("ABCD") if (t, m) != ("z", "A")} for t in ("x", "y", "z")}
    analysis = build(means, seeds=4).analysis
    assert "A" not in analysis.aggregates.models
    (page,) = draw_pages(analysis, "profiles")
    assert [line.get_color() for line in page.axes[0].lines] == list(COLOURS[1:4])
    assert "Without A, which lacks a comparable result on some task." in note(page)
    looks = palette(3)
    assert [(look.colour, look.marker) for look in looks] == [
        (COLOURS[i], {"circle": "o", "square": "s", "diamond": "D"}[MARKERS[look_of(i)[1]]]) for i in range(3)
    ]


def test_counts_of_pages_are_known_without_drawing(large):
    counts = page_counts(large)
    assert counts["rank_sets"] == 1
    assert counts["dots"] == 8
    assert "components" not in counts  # no predictions were kept


def test_a_figure_alone_says_what_its_intervals_and_marks_are(large, pages):
    """A PNG is seen without its caption."""
    for name in ("forest", "dashboard", "bars"):
        assert "Mean and 95 % interval (Student's t) over 3 seeds." in note(pages[name][0]), name
    listed = note(pages["pairwise_list"][0])
    assert "simultaneous 95 % intervals" in listed
    assert "Holm-adjusted p" in listed
    assert "how far the difference is shown" in listed
    assert "the darker, the larger" in note(pages["pairwise_matrix"][0])
    # The same marks as on the page.
    assert "★ best mean over shared seeds · ≈ cannot be told apart from the best" in note(pages["dashboard"][0])
    signs = {text for text in words(pages["dashboard"][0]) if text in "★≈*="}
    assert signs <= {"★", "≈"}
    assert "★" in signs


def test_panels_of_a_dashboard_look_alike(build):
    """Values stood above the bars of tasks that few models serve, and signs alone above the others."""
    means = {"few": {f"Model{m}": 0.3 + 0.04 * m for m in range(3)}}
    for many, shown in ((8, True), (9, False)):
        means["many"] = {f"Model{m}": 0.3 + 0.04 * m for m in range(many)}
        (page,) = draw_pages(build(means, seeds=3, sd=0.005).analysis, "dashboard")
        values = [any(re.match(r"0\.\d{3}", text.get_text()) for text in axes.texts) for axes in page.axes]
        assert values == [shown, shown]


def test_rates_of_twenty_models_are_written(large):
    (page,) = draw_pages(large, "win_rates")
    numbers = [int(text) for text in words(page) if text.isdigit()]
    assert len(numbers) == 20 * 19
    (axes,) = page.axes
    assert axes.get_position().x1 > 0.9  # the paper is used


def test_names_of_usual_length_are_whole(build):
    names = ("GradientBoosting", "CorrectAndSmooth", "GraphTransformer", *(f"Model{i}" for i in range(17)))
    means = {t: {m: 0.5 + 0.01 * i for i, m in enumerate(names)} for t in ("x", "y")}
    analysis = build(means, seeds=3).analysis
    for name in ("pairwise_matrix", "win_rates", "critical_difference"):
        for page in draw_pages(analysis, name):
            assert set(names) <= set(words(page)), name


def test_ranks_and_names_of_a_diagram_do_not_touch(build):
    means = {f"t{t}": {f"Model{m:02d}": 0.9 - 0.02 * m for m in range(24)} for t in range(8)}
    (page,) = draw_pages(build(means, seeds=3).analysis, "critical_difference")
    page.canvas.draw()
    boxes = {t.get_text(): t.get_window_extent() for t in page.findobj(Text) if t.get_text().strip()}
    lines = {}
    for text, box in boxes.items():
        if text.startswith("Model") or re.fullmatch(r"\d+\.\d\d", text):
            lines.setdefault(round(box.y0 / 4), []).append((box.x0, box.x1))
    spans = [sorted(found) for found in lines.values()]
    assert sum(map(len, spans)) == 48
    assert all(b[0] - a[1] > 3 for found in spans for a, b in pairwise(found))


def test_a_diagram_says_how_many_models_it_leaves_out(build):
    means = {t: {m: 0.5 + 0.1 * i for i, m in enumerate("ABCD") if (t, m) != ("z", "A")} for t in ("x", "y", "z")}
    (page,) = draw_pages(build(means, seeds=4).analysis, "critical_difference")
    assert any("3 of 4 models, 3 tasks" in text for text in words(page))


@pytest.mark.parametrize("models", [2, 7, 10, 11, 23])
def test_a_legend_stands_on_the_paper(models):
    """Handles too: letters alone were measured, and columns are filled unevenly."""
    names = ("MLP", "GCN", "GAT", "GraphSAGE", "GIN", "GatedGCN", "PNA", "GraphTransformer", "ChebNet", "SGC")
    many = [f"{names[m % 10]}{m // 10 or ''}" for m in range(models)]
    entries = plots.base.model_entries(many, palette(models), range(models))
    page, _ = plots.base.sheet([1.0], legend=entries)
    page.canvas.draw()
    box = page.legends[0].get_window_extent()
    assert box.x0 >= page.bbox.x0
    assert box.x1 <= page.bbox.x1
    assert box.y0 >= page.axes[0].get_window_extent().y1


def test_names_beside_marks_of_a_front_cover_no_mark():
    points = [Point(f"Model{i:02d}", i / 19, 1.0 + i) for i in range(20)]
    page, axes = plots.draw_pareto(points, [p.model for p in points])
    page.canvas.draw()
    names = [text.get_window_extent() for text in axes.texts]
    marks = axes.transData.transform([(p.seconds, p.score) for p in points])
    assert len(names) == 20
    assert not any(box.x0 < x < box.x1 and box.y0 < y < box.y1 for box in names for x, y in marks)
    assert min(box.x0 for box in names) >= axes.get_window_extent().x0  # room was made on the left


def test_epochs_are_whole_numbers(pages):
    for page in pages["learning_curves"]:
        assert all(float(t).is_integer() for axes in page.axes for t in axes.get_xticks())
        assert "Mean over seeds and 95 % t interval, epoch by epoch." in note(page)


def test_a_figure_of_places_says_why_they_are_open(build):
    means = {t: {"A": 0.5, "B": 0.6} for t in ("x", "y", "z")}
    (page,) = draw_pages(build(means, seeds=4).analysis, "rank_sets")
    assert "3 independent tasks cannot show a place at 0.05 by sign flips" in note(page)


def test_one_seed_is_not_said_to_have_intervals(build):
    report = build({t: {"A": 0.5, "B": 0.6} for t in ("x", "y")}, seeds=1)
    for name in ("forest", "bars", "dashboard"):
        assert "One seed: values without interval." in note(draw_pages(report.analysis, name)[0])
    assert report.grid().words == "One seed: values without interval"
