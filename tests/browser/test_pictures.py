"""The page looks as it did when somebody last looked at it."""

from itertools import combinations

import pytest

pytestmark = pytest.mark.browser

TOLERANCE = 5.0
"""Of 255: another font moves a picture by less; a lost table or a wrong colour by more."""


def test_the_page_looks_as_expected(browser, showcase, pictures, tmp_path):
    taken = pictures.take(tmp_path, showcase, browser)
    assert {path.name for path in taken} == {path.name for path in pictures.EXPECTED.glob("*.png")}
    apart = {path.name: pictures.difference(path, pictures.EXPECTED / path.name) for path in taken}
    changed = {name: round(value, 1) for name, value in apart.items() if value > TOLERANCE}
    assert changed == {}, "run `make screenshots`, look at the pictures and commit them if they are right"


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
    assert sum(sizes) < 500_000
