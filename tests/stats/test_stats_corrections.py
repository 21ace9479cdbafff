import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.multitest import multipletests

from graphnetz._core.errors import UnknownNameError, UsageError
from graphnetz.stats import CORRECTIONS, adjust
from graphnetz.testing import check_correction

families = st.lists(st.one_of(st.floats(0, 1), st.sampled_from([0.0, 0.01, 0.05, 1.0])), min_size=1, max_size=25)


@settings(max_examples=30)
@given(p=families)
@pytest.mark.parametrize(("ours", "theirs"), [("holm", "holm"), ("bonferroni", "bonferroni"), ("bh", "fdr_bh")])
def test_adjusted_p_values_agree_with_statsmodels(p, ours, theirs):
    np.testing.assert_allclose(adjust(p, method=ours), multipletests(p, method=theirs)[1], atol=1e-9)


@given(families)
def test_holm_lies_between_raw_and_bonferroni_and_keeps_the_order(p):
    raw, holm = np.array(p), adjust(p)
    assert (holm >= raw).all()
    assert (holm <= adjust(p, method="bonferroni") + 1e-15).all()
    assert (adjust(p, method="bh") <= holm + 1e-12).all()
    assert (np.diff(holm[np.argsort(raw, kind="stable")]) >= 0).all()


@pytest.mark.parametrize("name", list(CORRECTIONS))
def test_contract_of_every_correction(name):
    check_correction(name)
    assert adjust([], method=name).size == 0


def test_bad_input_is_refused_in_a_sentence():
    with pytest.raises(UnknownNameError, match="Did you mean 'holm'"):
        adjust([0.1], method="hom")
    with pytest.raises(UsageError, match=r"outside 0\.\.1"):
        adjust([1.2])
    with pytest.raises(UsageError, match="one-dimensional"):
        adjust([[0.1]])
