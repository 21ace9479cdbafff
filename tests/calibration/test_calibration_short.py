"""Short form of `make calibrate`: every claim, its cheaper situations, a few replicates, less than a minute in all."""

import re

import pytest

from calibration.claims import rows
from graphnetz.records.analysis import CLAIMS

LONG = re.compile("9 models|5 models, [13]0 seeds|n_train = 10|n_train = 50")  # left to the long form
SHARE = 0.02
ERRORS = 4.0  # with so many rows and few replicates three would be missed by chance


@pytest.mark.parametrize("claim", CLAIMS)
def test_what_is_said_is_false_at_most_as_often_as_promised(claim):
    missed = []
    for row in rows():
        if row.claim == claim and not LONG.search(row.situation):
            found = row.run(SHARE)
            if not found.held(row.promised, ERRORS):
                figure = f"{found.value:.3f} in {found.replicates} {found.note}".rstrip()
                missed.append(f"{row.situation}: {figure}, promised {row.promised}")
    assert missed == []
