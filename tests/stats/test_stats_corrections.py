import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.multitest import multipletests

from graphnetz._core.errors import UnknownNameError, UsageError
from graphnetz.stats import CORRECTIONS, adjust

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


@given(p=families, random=st.randoms(use_true_random=False))
@pytest.mark.parametrize("name", list(CORRECTIONS))
def test_contract_every_correction_is_equivariant_bounded_and_never_below_raw(p, random, name):
    adjusted = adjust(p, method=name)
    order = list(range(len(p)))
    random.shuffle(order)
    np.testing.assert_allclose(adjust(np.array(p)[order], method=name), adjusted[order], atol=1e-12)
    assert (adjusted >= np.array(p) - 1e-15).all()
    assert (adjusted <= 1).all()
    assert adjust([0.03], method=name)[0] == 0.03


@pytest.mark.parametrize("name", list(CORRECTIONS))
def test_an_undefined_test_stays_undefined_and_still_counts(name):
    got = adjust([0.01, math.nan, 0.02], method=name)
    assert math.isnan(got[1])
    np.testing.assert_allclose(got[[0, 2]], adjust([0.01, 1.0, 0.02], method=name)[[0, 2]])
    assert (got[[0, 2]] >= adjust([0.01, 0.02], method=name)).all()
    assert adjust([], method=name).size == 0


def test_bad_input_is_refused_in_a_sentence():
    with pytest.raises(UnknownNameError, match="Did you mean 'holm'"):
        adjust([0.1], method="hom")
    with pytest.raises(UsageError, match=r"outside 0\.\.1"):
        adjust([1.2])
    with pytest.raises(UsageError, match="one-dimensional"):
        adjust([[0.1]])
