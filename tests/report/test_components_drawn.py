"""The picture of shares: as figure and as SVG of the page, readable with twelve tasks."""

import re
from dataclasses import replace

import pytest

from graphnetz.records import Components
from graphnetz.report.charts import components_bar
from graphnetz.report.plots import draw_components


def shares(task="cora", **changes):
    given = {"seed_share": 0.2, "split_share": 0.0, "example_share": 0.7, "rest_share": 0.1} | changes
    return Components(task, "GCN", "<MLP>", **given)


def test_every_comparison_is_one_whole_bar_in_both_pictures():
    found = [shares(f"task {i}", example_share=0.6, split_share=0.1) for i in range(12)]
    figure, axes = draw_components(found)
    ends = [bar.get_x() + bar.get_width() for bar in axes.patches[-12:]]
    assert ends == pytest.approx([1.0] * 12)
    assert len(axes.get_yticklabels()) == 12
    assert figure.get_figheight() > 4
    svg = str(components_bar(found[0]))
    assert "&lt;MLP&gt;" in svg
    assert "<MLP>" not in svg
    widths = [float(w) for w in re.findall(r'class="m share c\d" x="[\d.]+%" width="([\d.]+)%"', svg)]
    assert widths == pytest.approx([20, 10, 60, 10])


def test_without_components_nothing_is_drawn_and_the_reason_is_said():
    none = Components("cora", "GCN", "MLP", reason="predictions were not kept")
    assert components_bar(none) is None
    _, axes = draw_components([none])
    assert axes.texts[0].get_text() == "predictions were not kept"


def test_long_names_lose_letters_and_not_a_model():
    found = [replace(shares("digits_superpixels"), a="GraphSAGE", b="GraphTransformer")]
    _, axes = draw_components(found)
    assert axes.get_yticklabels()[0].get_text() == "digits_superpixels\nGraphSAGE − GraphTransformer"
    assert "GraphSAGE − GraphTransformer" in str(components_bar(found[0]))


def test_one_seed_per_split_is_one_part_that_names_both():
    found = [shares(seed_share=0.3, split_share=float("nan"), n_seeds=10, n_splits=10)]
    _, axes = draw_components(found)
    assert axes.get_legend_handles_labels()[1] == ["split and seed", "example", "rest"]
    svg = str(components_bar(found[0]))
    assert "split and seed 30 %" in svg
    assert ">seed<" not in svg
