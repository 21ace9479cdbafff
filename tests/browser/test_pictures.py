"""The page looks as it did when somebody last looked at it."""

import shutil
from itertools import combinations

import numpy as np
import pytest

pytestmark = pytest.mark.browser

TOLERANCE = 3.0
"""Of 255: the same page on the same machine differs by 0.1, one more line of text by 5, a lost table by more."""


def test_the_page_looks_as_expected(browser, showcase, pictures, tmp_path):
    taken = pictures.take(tmp_path, showcase, browser)
    assert {path.name for path in taken} == {path.name for path in pictures.EXPECTED.glob("*.png")}
    apart = {path.name: pictures.difference(path, pictures.EXPECTED / path.name) for path in taken}
    changed = {name: round(value, 1) for name, value in apart.items() if value > TOLERANCE}
    assert changed == {}, "run `make screenshots`, look at the pictures and commit them if they are right"


def test_a_kept_picture_is_the_one_that_was_taken(pictures, tmp_path):
    """Scaling and few colours made a third of what may differ: a picture against itself, at another width."""
    from PIL import Image

    rng = np.random.default_rng(0)
    whole, kept = tmp_path / "whole.png", tmp_path / "kept.png"
    noise = rng.integers(0, 256, (422, 195, 3), dtype=np.uint8).repeat(2, axis=0).repeat(2, axis=1)
    Image.fromarray(noise // 64 * 64).save(whole)
    shutil.copy(whole, kept)
    pictures.halve(kept)
    assert pictures.difference(whole, kept) < 0.5


def test_pictures_of_different_things_are_told_apart(pictures):
    """The comparison can fail: no two expected pictures of one shape pass for each other."""
    for one, two in combinations(sorted(pictures.EXPECTED.glob("page-*.png")), 2):
        assert pictures.difference(one, two) > TOLERANCE, (one.name, two.name)


def test_a_page_without_its_table_is_noticed(browser, showcase, pictures, tmp_path):
    broken = tmp_path / "report.html"
    broken.write_text(
        showcase.read_text(encoding="utf-8").replace('id="summary"', 'id="summary" hidden'), encoding="utf-8"
    )
    taken = pictures.take(tmp_path, broken, browser)
    apart = {path.name: pictures.difference(path, pictures.EXPECTED / path.name) for path in taken}
    assert apart["page-wide-light.png"] > TOLERANCE
    assert apart["page-wide-dark.png"] > TOLERANCE


def test_pictures_are_small(pictures):
    sizes = [path.stat().st_size for path in pictures.EXPECTED.glob("*.png")]
    assert len(sizes) == 10
    assert sum(sizes) < 300_000
