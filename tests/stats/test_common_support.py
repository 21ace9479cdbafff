"""Means that are compared rest on the seeds that all compared models share."""

from __future__ import annotations

import numpy as np

from graphnetz.analysis.ranking import rank_models
from graphnetz.records import ScoreTable


def table(values, *, splits=0, better=True):
    tasks, models, seeds = values.shape
    return ScoreTable(
        tasks=tuple(f"task{t}" for t in range(tasks)), models=tuple("ABCDEFGHI"[:models]), seeds=tuple(range(seeds)),
        values=values, greater_is_better=(better,) * tasks, metrics=("test_acc",) * tasks,
        replication=("init",) * tasks, test_ratio=(np.nan,) * tasks, blocks=tuple(f"g{t}" for t in range(tasks)),
        splits=(splits,) * tasks,
    )  # fmt: skip


def crasher(tasks=8, seeds=10, hard=4):
    """B is 0.02 worse than A on every seed, and crashes on the hard ones, where everybody is 0.2 worse."""
    rng = np.random.default_rng(0)
    base = 0.8 + 0.005 * rng.normal(size=(tasks, seeds))
    base[:, :hard] -= 0.2
    values = np.stack([base, base - 0.02, base - 0.05], axis=1)
    values[:, 1, :hard] = np.nan
    return table(values)


def test_a_dominated_model_that_crashes_on_hard_seeds_is_not_first():
    scores = crasher()
    own = scores.means()
    assert (own[:, 1] > own[:, 0]).all()  # what the first edition ranked
    found = rank_models(scores)
    assert found.models == ("A", "B", "C")
    assert found.mean_ranks.tolist() == [1.0, 2.0, 3.0]
    np.testing.assert_allclose(found.values[:, 0] - found.values[:, 1], 0.02)


def test_a_model_that_hardly_finished_is_missing_and_takes_no_seeds_away():
    values = np.arange(40.0).reshape(1, 4, 10)
    values[0, 2, 1:] = np.nan
    values[0, 3, 7] = np.nan
    models, shared = table(values).common("task0")
    assert models == ("A", "B", "D")
    assert shared.tolist() == [True] * 7 + [False] + [True] * 2
    means = table(values).common_means()
    assert np.isnan(means[0, 2])
    assert means[0, 0] == np.delete(np.arange(10.0), 7).mean()


def test_no_more_models_are_left_out_than_needed():
    # Of two models with four seeds each, the one whose seeds nobody else has goes.
    values = np.full((1, 4, 8), np.nan)
    values[0, 0, :], values[0, 1, :4], values[0, 2, 4:], values[0, 3, :4] = 1.0, 1.0, 1.0, 1.0
    models, shared = table(values).common("task0")
    assert models == ("A", "B", "D")
    assert shared.tolist() == [True] * 4 + [False] * 4


def test_nothing_and_one_seed():
    empty = table(np.full((1, 2, 3), np.nan))
    models, shared = empty.common("task0")
    assert models == ()
    assert not shared.any()
    assert np.isnan(empty.common_means()).all()
    single = table(np.array([[[0.5], [0.6]]]))
    assert single.common("task0")[0] == ("A", "B")


def test_seeds_of_one_fold_are_averaged_first():
    # Fold 0 has three seeds, fold 1 one (the others crashed): folds count alike, not seeds.
    values = np.array([[[1.0, 0.0, 1.0, 0.0, 1.0, 0.0], [0.5, 0.5, 0.5, np.nan, 0.5, np.nan]]])
    assert table(values, splits=2).common_means().tolist() == [[0.5, 0.5]]
