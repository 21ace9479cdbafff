"""Influences against scikit-learn's weighted scores, finite differences, and DeLong's variance written out."""

import numpy as np
import pytest
from sklearn.metrics import average_precision_score, f1_score, r2_score, recall_score, roc_auc_score

from graphnetz.stats.contributions import ap_influence, auc_influence, placements, r2_influence, ratio_influence

RNG = np.random.default_rng(7)
N = 60
TRUTH = RNG.random(N) < 0.4
SCORES = {"distinct": RNG.normal(size=N) + TRUTH, "tied": np.round(RNG.normal(size=N) + TRUTH)}
GUESS = (RNG.random(N) < 0.5) | TRUTH & (RNG.random(N) < 0.5)
VALUES, FITTED = RNG.normal(size=(N, 2)), RNG.normal(size=(N, 2))


def by_differences(score):
    """N times the derivative of a weighted score by each weight."""
    found = []
    for i in range(N):
        up, down = np.ones(N), np.ones(N)
        up[i], down[i] = 1 + 1e-5, 1 - 1e-5
        found.append(N * (score(up) - score(down)) / 2e-5)
    return np.array(found)


@pytest.mark.parametrize("kind", SCORES)
@pytest.mark.parametrize(("ours", "theirs"), [(auc_influence, roc_auc_score), (ap_influence, average_precision_score)])
def test_rankings_against_weighted_scores(kind, ours, theirs):
    score = SCORES[kind]
    found = ours(TRUTH, score)
    wanted = by_differences(lambda weight: theirs(TRUTH, score, sample_weight=weight))
    np.testing.assert_allclose(found, wanted, atol=1e-7)
    assert abs(found.sum()) < 1e-10


def test_ratios_against_weighted_scores():
    f1 = ratio_influence(2.0 * (TRUTH & GUESS), 1.0 * TRUTH + GUESS)
    np.testing.assert_allclose(f1, by_differences(lambda w: f1_score(TRUTH, GUESS, sample_weight=w)), atol=1e-7)
    recall = ratio_influence(1.0 * (TRUTH & GUESS), 1.0 * TRUTH)
    np.testing.assert_allclose(recall, by_differences(lambda w: recall_score(TRUTH, GUESS, sample_weight=w)), atol=1e-7)
    assert ratio_influence(np.zeros(3), np.zeros(3)).tolist() == [0, 0, 0]


def test_r2_against_weighted_scores():
    # Both columns share one total here, as in the metric.
    def score(weight):
        mean = np.average(VALUES, axis=0, weights=weight)
        wrong = (weight[:, None] * np.square(VALUES - FITTED)).sum()
        return 1 - wrong / (weight[:, None] * np.square(VALUES - mean)).sum()

    np.testing.assert_allclose(r2_influence(VALUES, FITTED), by_differences(score), atol=1e-6)
    one = by_differences(lambda w: r2_score(VALUES[:, 0], FITTED[:, 0], sample_weight=w))
    np.testing.assert_allclose(r2_influence(VALUES[:, :1], FITTED[:, :1]), one, atol=1e-6)


@pytest.mark.parametrize("kind", SCORES)
def test_variance_is_that_of_delong(kind):
    score = SCORES[kind]
    positive, negative = score[TRUTH], score[~TRUTH]
    kernel = (positive[:, None] > negative) + 0.5 * (positive[:, None] == negative)
    above, below = placements(positive, negative)
    np.testing.assert_allclose(above, kernel.mean(axis=1))
    np.testing.assert_allclose(below, kernel.mean(axis=0))
    m, n = kernel.shape
    delong = kernel.mean(axis=1).var(ddof=1) / m + kernel.mean(axis=0).var(ddof=1) / n
    influence = auc_influence(TRUTH, score)
    ours = (influence[TRUTH] ** 2).sum() * m / (m - 1) + (influence[~TRUTH] ** 2).sum() * n / (n - 1)
    np.testing.assert_allclose(ours / N**2, delong, rtol=1e-12)
    np.testing.assert_allclose(above.mean(), roc_auc_score(TRUTH, score), rtol=1e-12)
