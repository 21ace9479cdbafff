"""Nothing is said that is not measured: claims, rows, result file and page belong together."""

import math

import pytest

from calibration import page
from calibration.claims import rows
from calibration.rows import ALWAYS, AT_MOST_5, NEVER, Bound, Measured, Row, share
from graphnetz.records.analysis import CLAIMS

ROWS = rows()


@pytest.mark.parametrize("claim", CLAIMS)
def test_every_claim_has_a_row(claim):
    assert any(row.claim == claim for row in ROWS), f"{claim} of claims.toml is simulated nowhere: add a Row"


def test_every_row_has_a_claim_and_a_situation_of_its_own():
    names = [(row.claim, row.situation) for row in ROWS]
    assert {claim for claim, _ in names} <= set(CLAIMS)
    assert len(set(names)) == len(names)
    assert not any("|" in situation for _, situation in names)


def cells_of_page():
    lines = [line for line in page.PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if not line.startswith("| claim ")]


def test_the_page_is_that_of_the_result_file():
    assert page.PAGE.read_text(encoding="utf-8") == page.text(page.read())


def test_the_page_has_every_row_and_no_other():
    told = {(cells[0], cells[1]) for cells in cells_of_page() if cells[0] != page.OUTPUTS}
    assert told == {(row.claim, row.situation) for row in ROWS}, "run `make calibrate`"


def test_the_page_promises_what_the_rows_promise():
    promised = {(row.claim, row.situation): str(row.promised) for row in ROWS}
    for claim, situation, bound, *_ in cells_of_page():
        assert bound == promised.get((claim, situation), str(NEVER))


def test_every_row_of_the_page_is_measured():
    missing = [cells[:2] for cells in cells_of_page() if "not measured" in cells[3]]
    assert missing == []


# What a row is


def test_bounds_in_words():
    assert [str(bound) for bound in (AT_MOST_5, Bound(low=0.94), Bound(0.03, 0.06))] == [
        "at most 0.05", "at least 0.94", "0.03 to 0.06",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("value", "n", "bound", "held"),
    [
        (0.05, 2000, AT_MOST_5, True),
        (0.0646, 2000, AT_MOST_5, True),  # three times sqrt(.05 * .95 / 2000) = 0.0146
        (0.0647, 2000, AT_MOST_5, False),
        (0.02, 2000, Bound(0.03, 0.06), True),
        (0.018, 2000, Bound(0.03, 0.06), False),
        (1 / 2000, 2000, NEVER, False),
        (0.999, 1000, ALWAYS, False),
        (math.nan, 0, AT_MOST_5, False),
    ],
)
def test_a_promise_holds_up_to_three_monte_carlo_errors(value, n, bound, held):
    assert Measured(value, n).held(bound) is held


def test_a_figure_that_is_no_share_brings_its_own_error():
    assert Measured(1.12, 100, 0.01).held(Bound(high=1.1))
    assert not Measured(1.14, 100, 0.01).held(Bound(high=1.1))


def test_a_row_draws_the_same_numbers_every_time():
    row = Row("interval", "x", AT_MOST_5, lambda n, rng: share(rng.random(n) < 0.05), 100)
    assert row.run() == row.run()
    assert row.run(0.5).replicates == 50


def test_the_page_says_what_was_not_measured():
    row = Row("interval", "x", AT_MOST_5, lambda n, rng: Measured(math.nan, 0, note="why"), 100)
    text = page.text([page.entry(row, row.run())])
    assert "| interval | x | at most 0.05 | not measured (why) | 0 | **no** |" in text
