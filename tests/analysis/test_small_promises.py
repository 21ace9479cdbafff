"""Small promises of the analysis, each of which a changed line of it would break."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats

from graphnetz.analysis import curves, replication
from graphnetz.analysis.acceptance import retrained_sentence
from graphnetz.analysis.registration import without_plan


def test_nothing_retrained_is_said():
    assert retrained_sentence(860, 0) == "No cell of 860 was retrained."


def test_one_plan_that_is_not_here_is_not_several():
    assert "is not here" in str(without_plan(["a" * 40, "a" * 40]).to_json())
    assert "were planned in 2 plans" in str(without_plan(["a" * 40, "b" * 40]).to_json())


def test_the_band_of_a_curve_is_the_interval_of_student():
    series = [[0.1, 0.5, 0.9], [0.3, 0.4, 0.8], [0.2, 0.6]]
    found = curves._curve("m", series, 0.95, 0)
    for step in range(3):
        values = np.array([one[step] for one in series if len(one) > step])
        low, high = stats.t.interval(0.95, len(values) - 1, loc=values.mean(), scale=stats.sem(values))
        assert (found.mean[step], found.low[step], found.high[step]) == pytest.approx((values.mean(), low, high))


@pytest.mark.parametrize(
    ("values", "verdict"),
    [
        ([0.80, 0.81, 0.80, 0.81], "shown"),
        ([0.60, 0.61, 0.60, 0.61], "contradicted"),
        ([0.70, 0.84, 0.70, 0.84], "not shown"),
        ([0.60, 0.90, 0.55, 0.75], "not shown"),
        ([0.80], "not shown"),
    ],
)
def test_a_published_level_is_contradicted_only_by_the_whole_interval(values, verdict):
    scores = SimpleNamespace(cell=lambda task, model: None, by_split=lambda task, cell: np.array(values))
    claim = SimpleNamespace(model="GCN", level=0.8, within=0.05)
    assert replication._level(SimpleNamespace(scores=scores), "cora", claim)[0] == verdict
