"""Colours are told apart by everybody: simulated colour blindness, and the contrast of what is written on them."""

from itertools import combinations

import numpy as np
import pytest

from graphnetz.report import colours
from graphnetz.report.charts.base import look, symbol
from graphnetz.report.style import palette

# Machado, Oliveira and Fernandes (2009), table 1, severity 1.0: what a dichromat sees, in linear RGB.
SEEN = {
    "nobody": np.eye(3),
    "protanopia": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
    "deuteranopia": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    ),
    "tritanopia": np.array(
        [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]]
    ),
}


def linear(text):
    value = np.array([int(text[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    return np.where(value <= 0.04045, value / 12.92, ((value + 0.055) / 1.055) ** 2.4)


def lab(text, eyes):
    """CIE L*a*b* under D65, after the simulated eyes."""
    to_xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
    xyz = to_xyz @ np.clip(SEEN[eyes] @ linear(text), 0, 1) / np.array([0.95047, 1.0, 1.08883])
    f = np.where(xyz > 216 / 24389, np.cbrt(xyz), (24389 / 27 * xyz + 16) / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def distance(a, b, eyes):
    return float(np.linalg.norm(lab(a, eyes) - lab(b, eyes)))


def contrast(a, b):
    light, dark = sorted((float(np.array([0.2126, 0.7152, 0.0722]) @ linear(text)) for text in (a, b)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def test_the_yardstick_is_right():
    """White, a published contrast, and red and green that a deuteranope sees nearly alike."""
    assert lab("#FFFFFF", "nobody") == pytest.approx([100, 0, 0], abs=0.02)
    assert contrast("#FFFFFF", "#767676") == pytest.approx(4.54, abs=0.01)
    assert distance("#A4543C", "#6F7A33", "deuteranopia") < distance("#A4543C", "#6F7A33", "nobody") / 2


@pytest.mark.parametrize("eyes", SEEN)
@pytest.mark.parametrize("set_", ["COLOURS", "DARK"])
def test_models_of_near_colours_have_other_markers(eyes, set_):
    """No eye needs colour: wherever two colours come close, the shapes differ; the first six are far apart anyway."""
    table = getattr(colours, set_)
    for i, j in combinations(range(len(table)), 2):
        if distance(table[i], table[j], eyes) < 20:
            assert symbol(i) != symbol(j), (eyes, i, j)
    assert min(distance(a, b, eyes) for a, b in combinations(table[:6], 2)) > 12, eyes


@pytest.mark.parametrize("eyes", SEEN)
def test_better_and_worse_are_apart_for_every_eye(eyes):
    assert distance(colours.BETTER, colours.WORSE, eyes) > 40
    for side in (0, 1):
        assert distance(colours.GROUNDS["pos"][side], colours.GROUNDS["neg"][side], eyes) > 10


@pytest.mark.parametrize("eyes", SEEN)
@pytest.mark.parametrize("side", [0, 1])
def test_the_heat_table_is_ordered_by_lightness_for_every_eye(eyes, side):
    steps = np.diff([lab(colour, eyes)[0] for colour in colours.HEAT[side]])
    assert (np.sign(steps) == (-1 if side == 0 else 1)).all()
    assert np.abs(steps).min() > 2


def test_text_and_marks_have_contrast():
    ink = ("#1B2129", "#E8EAED")
    for side, paper in enumerate(("#FFFFFF", "#1D2024")):
        assert min(contrast(colour, paper) for colour in (colours.COLOURS, colours.DARK)[side]) >= 3
        grounds = [*colours.HEAT[side], *(pair[side] for pair in colours.GROUNDS.values())]
        assert min(contrast(ink[side], ground) for ground in grounds) >= 4.5


def test_page_and_figures_give_a_model_the_same_look():
    shapes = {
        "o": "circle",
        "s": "square",
        "D": "diamond",
        "^": "up",
        "v": "down",
        "P": "plus",
        "<": "left",
        ">": "right",
    }
    rules = colours.css()
    for i, paper in enumerate(palette(30)):
        colour, marker = colours.look_of(i)
        assert paper.colour == colours.COLOURS[colour]
        assert shapes[paper.marker] == colours.MARKERS[marker]
        assert look(i)[0] == f"c{colour}"
        assert f".c{colour} {{ --c: {paper.colour}; }}" in rules
        assert symbol(i) == f"m{marker}"
