"""The simulated worlds have the truth they claim, and what the product says about them is read correctly."""

import math

import numpy as np
import pytest
from scipy import stats

from calibration import said, worlds
from calibration.worlds import WORLDS
from graphnetz.records.analysis import Claim, Comparison, Evidence

SHAPE = (4000, 3, 10)


@pytest.mark.parametrize("name", list(WORLDS))
def test_contract_models_of_a_world_have_the_means_it_claims(name):
    world = WORLDS[name](np.random.default_rng(0), SHAPE)
    truth = world.truth if world.all_runs is None else world.all_runs
    # Differences over the runs that both models finish, one mean per replicate: an ordinary t-test is the witness.
    for a, b in ((0, 1), (1, 2)):
        d = np.nanmean(world.scores[:, a] - world.scores[:, b], axis=1) - (truth[:, a] - truth[:, b])
        assert stats.ttest_1samp(d[np.isfinite(d)], 0.0).pvalue > 1e-3


@pytest.mark.parametrize("ratio", worlds.RATIOS)
def test_splits_are_centred_given_the_dataset(ratio):
    world = worlds.resplit(ratio, splits=400)(np.random.default_rng(1), (10, 2, 40))
    assert world.scores.mean(axis=(0, 2)) == pytest.approx(worlds.CENTRE)
    sizes = world.n_test / ratio
    assert sizes == pytest.approx(round(sizes), abs=0.6)


def test_a_learner_of_splits_is_nearest_centroid():
    """Against a plain loop over splits and examples."""
    rng = np.random.default_rng(2)
    data = worlds.Dataset.draw(rng, 20, 2)
    train, jitter = worlds.masks(rng, 3, 20, 12), np.zeros((2, 3))
    assert train.sum(axis=1).tolist() == [12, 12, 12]
    got = worlds.split_scores(rng, data, train, jitter)
    for m in range(2):
        for s in range(3):
            x, y, there = data.features[m], data.labels, train[s] > 0
            centres = [x[there & (y == c)].mean() for c in (0, 1)]
            guess = [int(abs(v - centres[1]) < abs(v - centres[0])) for v in x[~there]]
            assert got[m, s] == pytest.approx(np.mean(guess == y[~there]))


def test_examples_average_to_the_scores():
    world = worlds.new_examples(0.25)(np.random.default_rng(3), (5, 2, 4))
    np.testing.assert_allclose(np.nanmean(world.examples, axis=3), world.scores)
    tested = np.isfinite(world.examples).sum(axis=3)
    assert (tested == 40).all()  # a quarter of what is trained on: 40 of 200


def test_two_valued_differences_agree_by_chance_as_often_as_coins_do():
    world = worlds.two_valued(np.random.default_rng(4), (20_000, 2, 5))
    d = world.scores[:, 0] - world.scores[:, 1]
    assert (np.ptp(d, axis=1) < 1e-12).mean() == pytest.approx(2 * 0.5**5, abs=0.006)


def test_what_is_said_is_read_from_records():
    """A difference as clear as day is said, in the right direction, by comparisons and standings."""
    world = worlds.lifted(WORLDS["normal"](np.random.default_rng(5), (3, 2, 10)), np.array([0.2, 0.0]))
    (batch,) = said.analysed(world)
    assert said.better(batch, "split") == [{("m0", "m1")}] * 3
    assert said.better(batch, "dataset") == [set()] * 3
    for spans in said.spans(batch):
        for low, high, true in spans:
            assert true == pytest.approx(0.2)
            assert low < 0.2 < high


def test_a_ladder_is_found_wherever_a_comparison_holds_it():
    rungs = (Claim(Evidence("split", 0.1), shown=True), Claim(Evidence("source", 0.1)))
    pair = Comparison("t", "a", "b", True, 10, 0.1)
    assert said.ladder(pair) == {}
    object.__setattr__(pair, "claims", rungs)
    assert list(said.ladder(pair)) == ["split", "source"]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("; 23 seeds (13 to 42) would detect a difference of 0.01 with 80 % probability.", [(13, 42, 0.01)]),
        ("1,200 splits (900 to more than 10,000) would detect a difference of 1e-05.", [(900, math.inf, 1e-5)]),
        ("; 40 seeds would detect a difference of 0.008. (paired t test)", [(40, 40, 0.008)]),
        ("nothing would be seen", []),
    ],
)
def test_ranges_of_seeds_are_read_from_sentences(text, found):
    assert said.seeds_ranges(text) == found
