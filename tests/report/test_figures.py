"""Every figure: drawn from records, labelled with what was given, the same bytes twice."""

import numpy as np
import pandas as pd
import pytest
from matplotlib import rcParams
from matplotlib.figure import Figure

from graphnetz._core.errors import UsageError
from graphnetz.records.analysis import Comparison
from graphnetz.records.views import (
    CellView,
    Curve,
    CurvePanel,
    Grid,
    ProfileView,
    RankSetView,
    RankView,
    TaskRow,
    clique_levels,
)
from graphnetz.report import BenchmarkReport, plots, write
from graphnetz.report.style import figure_bytes, palette, save_figure

MODELS = ("GCN", "a_b$%", "_hidden", "</script>" + "x" * 300)


def cell(mean, half=0.01, mark=""):
    return CellView(mean, mean - half, mean + half, half, 10, mark)


@pytest.fixture
def grid():
    rows = (
        TaskRow(
            "cora",
            "Test accuracy",
            True,
            (cell(0.8, mark="best"), cell(0.79, mark="tied"), cell(0.5), CellView(note="n")),
            "social",
        ),
        TaskRow("$zinc$", "Test MAE", False, (cell(0.5), cell(0.3, np.nan), CellView(), cell(0.4))),
    )
    return Grid(MODELS, rows, n_seeds=10, tie_rule="tied")


def pair(task="cora", a="GCN", b="a_b$%", p=0.01):
    return Comparison(task, a, b, True, 10, 0.02, dz=1.0, p_decided=p, sim_low=0.01, sim_high=0.03, different=p <= 0.05)


def ranks(rejected=True, cliques=((0, 1), (1, 2))):
    return RankView(("A", "B", "C"), (1.2, 2.0, 2.8), 12, 1.0, cliques, rejected, 0.01 if rejected else 0.6, 0.05)


def texts(fig):
    return [t.get_text() for t in fig.findobj(lambda artist: hasattr(artist, "get_text"))]


def places(**other):
    return RankSetView(
        ("A", "$B_1$", "C"), (1.2, 2.0, 2.8), (1, 1, 3), (2, 2, 3), (0, 1, 0), n_tasks=9, n_blocks=8, **other
    )


def drawings(grid):
    x = np.arange(1.0, 6)
    curve = Curve("GCN", x, x / 5, x / 5 - 0.1, x / 5 + 0.1)
    return {
        "bars": lambda: plots.draw_bars(grid),
        "forest": lambda: plots.draw_forest(grid, sort_within=True),
        "dashboard": lambda: plots.draw_dashboard(grid),
        "matrix": lambda: plots.draw_pairwise_matrix([pair(), pair("$zinc$", p=np.nan)], MODELS),
        "list": lambda: plots.draw_pairwise_list([pair(), pair("$zinc$", p=0.4)]),
        "critical": lambda: plots.draw_critical_difference(ranks()),
        "curves": lambda: plots.draw_learning_curves([CurvePanel("cora", "Test accuracy", [curve])], MODELS),
        "places": lambda: plots.draw_rank_sets(places()),
        "profiles": lambda: plots.draw_profiles(ProfileView(MODELS[:2], x / 5, np.array([x / 5, x / 6]), 2, 9)),
        "history": lambda: plots.draw_history({"train_loss": [1, 0.5], "test_acc": [0.1, 0.9]}),
    }


NAMES = ("bars", "forest", "dashboard", "matrix", "list", "critical", "curves", "places", "profiles", "history")


@pytest.mark.parametrize("name", NAMES)
def test_two_drawings_have_the_same_bytes(grid, name):
    first, second = (drawings(grid)[name]()[0] for _ in range(2))
    for fmt in ("pdf", "png", "svg"):
        data = figure_bytes(first, fmt, tight=False)
        assert data == figure_bytes(second, fmt, tight=False)
        assert b"CreationDate" not in data
        assert b"Matplotlib" not in data


def test_drawing_leaves_global_state_alone(grid):
    import matplotlib

    before = dict(rcParams)
    plots.draw_bars(grid)
    assert dict(rcParams) == before
    assert not matplotlib._pylab_helpers.Gcf.get_all_fig_managers()


def test_bars_have_the_height_of_the_means(grid):
    _, axes = plots.draw_bars(grid)
    heights = sorted(bar.get_height() for bar in axes[0].patches if np.isfinite(bar.get_height()))
    assert heights == [0.5, 0.79, 0.8]
    _, only = plots.draw_bars(grid, axes[0])
    assert only is axes[0]


def test_metrics_do_not_share_an_axis(grid):
    for draw in (plots.draw_bars, plots.draw_forest):
        _, axes = draw(grid)
        assert len(axes) == 2
    _, one = plots.draw_forest(grid.head(1))
    assert one.get_xlabel() == "Test accuracy ↑"


def test_critical_difference_draws_one_bar_per_clique():
    def bars(fig):
        return [line for line in fig.axes[0].lines if line.get_linewidth() > 3]

    fig, _ = plots.draw_critical_difference(ranks())
    assert len(bars(fig)) == 2
    spans = sorted(tuple(line.get_xdata()) for line in bars(fig))
    assert spans[0][1] > spans[1][0]  # overlapping cliques
    heights = {line.get_ydata()[0] for line in bars(fig)}
    assert len(heights) == 2  # and therefore on two lines


def test_critical_difference_says_when_the_omnibus_does_not_reject():
    fig, _ = plots.draw_critical_difference(ranks(rejected=False, cliques=((0, 1, 2),)))
    assert any("does not reject" in text for text in texts(fig))
    assert any(text == "CD = 1.00" for text in texts(fig))
    nothing = RankView(("A",), (1.0,), 1, np.nan, (), False, np.nan, 0.05, reason="one task only")
    fig, _ = plots.draw_critical_difference(nothing)
    assert "one task only" in texts(fig)


def test_ruler_is_as_long_as_the_critical_difference():
    _, ax = plots.draw_critical_difference(ranks())
    axis = max((line for line in ax.lines if line.get_linewidth() == 1.1), key=lambda line: np.ptp(line.get_xdata()))
    ruler = next(line for line in ax.lines if line.get_linewidth() == 1.3 and np.ptp(line.get_xdata()) > 0)
    per_rank = np.ptp(axis.get_xdata()) / 2  # ranks 1 to 3
    assert np.ptp(ruler.get_xdata()) == pytest.approx(1.0 * per_rank)


def test_matrix_orients_differences_by_row_and_column():
    fig, _ = plots.draw_pairwise_matrix([pair(a="a_b$%", b="GCN")], ("GCN", "a_b$%"))
    assert "-0.020" in texts(fig)  # GCN is the row, so the sign turns


def test_looks_differ_beyond_the_palette():
    looks = palette(40)
    assert len(set(looks)) == 40
    assert len({look.colour for look in looks[:11]}) == 11


def test_save_figure_writes_whole_files(tmp_path):
    fig = Figure()
    files = save_figure(fig, tmp_path / "deep" / "x.svg")
    assert sorted(f.name for f in files) == ["x.pdf", "x.png", "x.svg"]
    assert all(f.stat().st_size for f in files)
    with pytest.raises(UsageError, match="Unknown figure format 'gif'"):
        save_figure(fig, tmp_path / "x", formats=("gif",))


def test_sections_draw_by_kind():
    series = {"series": {"a": {"x": [0, 1], "y": [1, None]}, "b": {"x": [0, 1], "y": [0, 1], "text": ["p", "q"]}}}
    for kind, data in {
        "bar": {"labels": ["a"], "values": [1.0], "low": [0.5], "high": [1.5]},
        "line": series,
        "scatter": series,
        "heatmap": {"rows": ["a"], "columns": ["b", "c"], "values": [[1, None]]},
        "grouped_bar": {"labels": ["a", "b"], "series": {"x": [1, 2]}, "error": {"x": [0.1, 0.2]}},
    }.items():
        fig, _ = plots.draw_figure(kind, data)
        assert figure_bytes(fig, "png")
    with pytest.raises(KeyError, match="Did you mean 'bar'"):
        plots.draw_figure("bars", {})


def test_lean_fonts_change_the_time_and_not_the_picture():
    """The layout tables that the quick font lacks are never read: pixels are the same."""
    from graphnetz.report.style import lean_fonts, page_files

    def picture():
        grid = Grid(("A", "B"), (TaskRow("Tävö AVAT", "Test accuracy", True, (CellView(0.8), CellView(0.7))),))
        return page_files([plots.draw_bars(grid)[0]], "x", formats=("png", "pdf"))

    usual = picture()
    with lean_fonts():
        lean = picture()
        assert lean == picture()
    assert lean["x.png"] == usual["x.png"]
    assert lean["x.pdf"].startswith(b"%PDF")
    assert picture() == usual


def test_a_bar_of_places_reaches_from_the_best_to_the_worst_and_says_what_is_omitted():
    _, axes = plots.draw_rank_sets(places())
    bars = [(p.get_x() + 0.25, p.get_x() + p.get_width() - 0.25) for p in axes.patches if p.get_height() < 0.6]
    np.testing.assert_allclose(bars, [(1, 2), (1, 2), (3, 3)])
    labels = [t.get_text() for t in axes.get_yticklabels()]
    assert labels[0] == "A"
    assert labels[1].endswith("(1 omitted)")
    assert axes.get_ylim()[0] > axes.get_ylim()[1]  # best at the top
    assert "9 tasks on 8 graphs" in texts(axes.figure)[-1]


def test_a_clique_with_a_gap_never_joins_the_model_between():
    """A and C are not told apart, B differs from both: no thick bar may pass B."""
    view = ranks(cliques=((0, 2),))
    (spans, level), = clique_levels(view)  # fmt: skip
    assert (spans, level) == (((1.2, 1.2), (2.8, 2.8)), 0)
    _, axes = plots.draw_critical_difference(view)
    thick = [line.get_xdata() for line in axes.lines if line.get_linewidth() == 3.2]
    assert len(thick) == 2
    assert max(x[1] - x[0] for x in thick) < 10


def test_models_that_nothing_varies_have_no_p():
    rows = [("t", m, s, x, "test_acc", "init") for m, x in (("A", 0.8), ("B", 0.5)) for s in range(8)]
    frame = pd.DataFrame(rows, columns=["task", "model", "seed", "score", "metric", "replication"])
    report = BenchmarkReport.from_scores(frame)
    (pair,) = report.comparisons()
    assert pair.p_words == "no test"
    _, axes = plots.draw_pairwise_list([pair])
    assert [text.get_text() for text in axes.texts] == ["no test · split"]
    _, axes = plots.draw_pairwise_matrix([pair], ["A", "B"])
    assert [text.get_text() for text in axes.texts] == ["+0.300", "no test"]
    files = write.report_texts(report, ())
    assert "\\cellcolor{khaki}no test" in files["pairwise.tex"]
    assert 'no test <span class="mark">significant' in files["report.html"]
