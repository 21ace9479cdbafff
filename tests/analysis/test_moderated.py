"""The moderated t-test as a choice that is named in the plan."""

import numpy as np
from tests.analysis.test_faults import table_of

from graphnetz.analysis import AnalysisOptions, analyse
from graphnetz.stats import moderated_t


def test_a_report_draws_the_variances_of_a_task_together():
    rng = np.random.default_rng(0)
    values = 0.7 + rng.normal(0, 0.01, (1, 4, 10)) + np.array([0.015, 0.0, 0.0, 0.0])[None, :, None]
    found = analyse(table_of(values), AnalysisOptions(method="moderated"))
    x = values[0].T
    pairs = [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]
    expected = moderated_t(x[:, [i for i, _ in pairs]] - x[:, [j for _, j in pairs]]).p
    assert np.allclose([pair.p for pair in found.comparisons], expected)
    assert {pair.decided_by for pair in found.comparisons} == {"moderated"}
    plain = analyse(table_of(values)).comparisons
    assert min(pair.p for pair in found.comparisons) < min(pair.p for pair in plain)
    assert "moderated t test" in str(found.verdicts[-1])
