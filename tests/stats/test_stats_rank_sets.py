import itertools
import sys

import numpy as np
import pytest
import scipy.stats as sps

from calibration.across import POPULATIONS, rank_set_rates
from calibration.simulate import monte_carlo_error
from graphnetz._core.errors import UsageError
from graphnetz.stats import adjust, rank_bands, rank_rows, rank_sets


def brute_force(values, alpha):
    """Every pattern of signs, every pair by scipy's t, stepping down by explicit maxima over the pairs that remain."""
    n, k = values.shape
    pairs = list(itertools.combinations(range(k), 2))
    rows = [np.array(signs) for signs in itertools.product([1, -1], repeat=n)]

    def size(signs, pair):
        d = signs * (values[:, pair[0]] - values[:, pair[1]])
        return abs(sps.ttest_1samp(d, 0).statistic)

    seen = {pair: size(np.ones(n), pair) for pair in pairs}
    plain = dict(
        zip(pairs, adjust([sps.ttest_1samp(values[:, i] - values[:, j], 0).pvalue for i, j in pairs]), strict=True)
    )
    low, high, left, before = np.ones(k, int), np.full(k, k), list(pairs), 0.0
    while left:
        best = max(left, key=seen.__getitem__)
        p = np.mean([max(size(signs, pair) for pair in left) >= seen[best] - 1e-9 for signs in rows])
        before = max(before, p)
        if max(before, plain[best]) <= alpha:
            i, j = best if values[:, best[0]].mean() > values[:, best[1]].mean() else best[::-1]
            low[j] += 1
            high[i] -= 1
        left.remove(best)
    return low, high


@pytest.mark.parametrize("seed", range(3))
def test_places_agree_with_brute_force_over_all_signs(seed):
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(7, 4)) + np.array([0.0, 1.0, 2.0, 5.0])
    found = rank_sets(values)
    low, high = brute_force(values, 0.05)
    assert found.low.tolist() == low.tolist()
    assert found.high.tolist() == high.tolist()
    assert found.high[3] < 4  # something is shown, so the comparison means something


def test_drawn_signs_agree_with_all_of_them(monkeypatch):
    values = np.random.default_rng(4).normal(size=(11, 5)) + np.arange(5)
    exact = rank_sets(values)
    monkeypatch.setattr(sys.modules["graphnetz.stats.rank_sets"], "_ALL_FLIPS", 1)
    drawn = rank_sets(values, flips=20_000)
    assert drawn.better.tolist() == exact.better.tolist()


@pytest.mark.parametrize(("tasks", "seed"), [(12, 10), (12, 39), (20, 10), (20, 19)])
def test_places_do_not_depend_on_the_order_of_tasks_and_models(tasks, seed):
    """A board lists the tasks of a run by name, and said that a model may be 3rd to 11th where its report said 9th."""
    rng = np.random.default_rng(seed)
    values = np.linspace(0, 1.1, 8) + rng.normal(0, 0.8, (tasks, 8))
    table = -np.argsort(np.argsort(-values, axis=1), axis=1).astype(float)
    first = rank_sets(table)
    for _ in range(20):
        rows, columns = rng.permutation(tasks), rng.permutation(8)
        again = rank_sets(table[rows][:, columns])
        assert again.low.tolist() == first.low[columns].tolist()
        assert again.high.tolist() == first.high[columns].tolist()


def test_blocks_count_once_and_identical_models_are_never_told_apart():
    values = np.random.default_rng(0).normal(size=(6, 3)) + np.array([0.0, 8.0, 8.0])
    values[:, 2] = values[:, 1]
    alone = rank_sets(values)
    twice = rank_sets(np.repeat(values, 2, axis=0), blocks=[b for b in range(6) for _ in range(2)])
    assert twice.n == 6
    assert alone.low.tolist() == twice.low.tolist() == [3, 1, 1]
    assert alone.high.tolist() == twice.high.tolist() == [3, 2, 2]
    few = rank_sets(np.repeat(values[:3], 4, axis=0), blocks=np.repeat(np.arange(3), 4).tolist())
    assert (few.low.tolist(), few.high.tolist()) == ([1, 1, 1], [3, 3, 3])
    assert "at least 6" in few.reason
    # The same difference on every task is as clear as a sign test can make it.
    assert rank_sets(np.tile([2.0, 1.0], (6, 1))).high.tolist() == [1, 2]


def test_bad_input_is_refused():
    with pytest.raises(UsageError, match="without gaps"):
        rank_sets([[1.0, np.nan]])
    with pytest.raises(UsageError, match="one per task"):
        rank_sets(np.ones((3, 2)), blocks=["a"])


@pytest.mark.parametrize("population", sorted(POPULATIONS))
@pytest.mark.parametrize(("tasks", "models"), [(8, 5), (12, 3)])
def test_all_places_hold_together(population, tasks, models):
    rates = rank_set_rates(population, tasks, models, replicates=400)
    assert rates["coverage"] >= 0.95 - 3 * monte_carlo_error(0.95, 400)


def test_bands_of_many_models_hold_together_and_are_wider_on_average():
    rng = np.random.default_rng(5)
    held, widths = [], []
    for _ in range(60):
        scores = rng.normal(size=(40, 30)) + 1.5 * (np.arange(30) < 10)
        ranks = rank_rows(scores, [True] * 40)
        bands, sets = rank_bands(-ranks), rank_sets(-ranks, flips=200)
        widths.append(((bands.high - bands.low).mean(), (sets.high - sets.low).mean()))
        held.append((bands.low <= np.where(np.arange(30) < 10, 1, 11)).all()
                    and (bands.high >= np.where(np.arange(30) < 10, 10, 30)).all())  # fmt: skip
        assert (bands.high - bands.low).mean() < 29  # something is shown
    assert np.mean(held) >= 0.95
    assert np.mean(widths, axis=0)[0] > np.mean(widths, axis=0)[1]


def test_bands_count_what_lies_apart_as_brute_force_does():
    rng = np.random.default_rng(6)
    values = rng.normal(size=(60, 12)) + np.linspace(0, 3, 12)
    found = rank_bands(values, blocks=np.arange(60) // 2)
    table = values.reshape(30, 2, 12).mean(axis=1)
    half = sps.t.ppf(1 - 0.05 / 24, 29) * sps.sem(table, axis=0)
    mean = table.mean(axis=0)
    np.testing.assert_allclose(found.half, half, rtol=1e-10)
    for i in range(12):
        assert found.low[i] == 1 + sum(mean[j] - half[j] > mean[i] + half[i] for j in range(12))
        assert found.high[i] == 12 - sum(mean[j] + half[j] < mean[i] - half[i] for j in range(12))


def test_bands_say_nothing_of_few_tasks_and_of_equal_models():
    assert "at least 30 are needed" in rank_bands(np.eye(20)).reason
    assert rank_bands(np.zeros((40, 3))).high.tolist() == [3, 3, 3]
    assert rank_bands(np.ones((40, 1))).reason == ""
