"""Aggregates, Bradley-Terry and the mixed model against other packages and plain loops."""

import itertools
import math

import numpy as np
import pandas as pd
import pytest
import scipy.stats as sps
import statsmodels.formula.api as smf

from calibration.across import improvement_rates, tie_rates
from graphnetz._core.errors import UsageError
from graphnetz.stats import aggregate_scores, bradley_terry, mixed_model, normalise, pareto_front, standardise

# Two models, runs x tasks, and what rliable 1.2.0 makes of them.
X = np.array([[0.33, 1.23, 0.25], [0.23, 0.45, 0.3], [0.87, 0.15, 1.17], [1.12, 0.0, 0.7], [0.14, 0.34, 0.54]])
Y = np.array([[0.23, 0.47, 0.93], [0.26, 0.19, 0.67], [0.95, 0.92, 0.88], [0.06, 0.94, 0.65], [0.87, 0.41, 0.22]])


def test_aggregates_agree_with_rliable():
    found = aggregate_scores(np.stack([X.T, Y.T], axis=1))
    assert found.iqm == pytest.approx([0.44555555555555554, 0.5955555555555555])
    assert found.gap == pytest.approx([0.5133333333333334, 0.42333333333333334])
    assert found.improvement[0, 1] == pytest.approx(0.44)
    assert found.improvement[1, 0] == pytest.approx(0.56)
    for tau, share in zip(found.taus, found.profiles[0], strict=True):
        assert share == (tau < X).mean()
    assert (found.n_tasks, found.n_runs) == (3, 15)


def test_intervals_are_those_of_resampled_seeds_within_tasks():
    values = np.stack([X.T, Y.T], axis=1)
    found = aggregate_scores(values, n_resamples=4000)
    rng = np.random.default_rng(1)
    drawn = [np.concatenate([rng.choice(task, task.size) for task in X.T]) for _ in range(4000)]
    iqms = [sps.trim_mean(runs, 0.25) for runs in drawn]
    assert (found.iqm_low[0], found.iqm_high[0]) == pytest.approx(np.quantile(iqms, [0.025, 0.975]), abs=0.02)
    gaps = [1 - np.minimum(runs, 1).mean() for runs in drawn]
    assert (found.gap_low[0], found.gap_high[0]) == pytest.approx(np.quantile(gaps, [0.025, 0.975]), abs=0.02)


def test_seeds_that_a_model_misses_are_left_out_for_all():
    values = np.stack([X.T, Y.T], axis=1)
    holed = values.copy()
    holed[1, 0, 2] = np.nan
    found = aggregate_scores(holed)
    assert found.n_runs == 14
    kept = np.append(np.delete(X.T[1], 2), [X.T[0], X.T[2]])
    assert found.iqm[0] == pytest.approx(sps.trim_mean(kept, 0.25))
    assert np.isnan(aggregate_scores(values[:, :, :1]).iqm_low).all()  # one seed has no interval
    with pytest.raises(UsageError, match="share seeds"):
        aggregate_scores(np.full((2, 2, 2), np.nan))


def test_normalised_scores_run_from_the_worst_to_the_best_mean():
    rng = np.random.default_rng(0)
    values = rng.normal(size=(4, 3, 5))
    values[3] = 0.7
    found = normalise(values, [True, False, True, True])
    means = found.mean(axis=2)
    assert means[:3].min(axis=1) == pytest.approx(np.zeros(3), abs=1e-12)
    assert means[:3].max(axis=1) == pytest.approx(np.ones(3))
    assert (found[3] == 0.5).all()
    assert means[1].argmax() == values[1].mean(axis=1).argmin()
    wins = aggregate_scores(found).wins
    assert wins + wins.T == pytest.approx(np.ones((3, 3)))
    ahead = [means[t, 0] > means[t, 1] for t in range(3)]
    assert wins[0, 1] == (sum(ahead) + 0.5) / 4


def test_pareto_front_agrees_with_its_definition():
    rng = np.random.default_rng(2)
    score, cost = rng.integers(0, 6, 30) / 5, rng.integers(0, 6, 30) / 5
    score[0] = np.nan
    found = pareto_front(score, cost)
    for i in range(30):
        beaten = any(
            score[j] >= score[i] and cost[j] <= cost[i] and (score[j] > score[i] or cost[j] < cost[i])
            for j in range(30)
        )
        assert found[i] == (not beaten and math.isfinite(score[i]))


def test_strengths_without_ties_agree_with_choix():
    wins = [[0, 5, 7, 2], [3, 0, 4, 0], [1, 2, 0, 3], [1, 0, 2, 0]]
    found = bradley_terry(wins, prior=0.0)
    # choix 0.4.1, ilsr_pairwise; models 1 and 3 never met
    assert found.strength == pytest.approx([0.861606, 0.269728, -0.538481, -0.592853], abs=1e-5)
    assert found.tie == 0.0
    assert found.p_win + found.p_win.T + found.p_tie == pytest.approx(np.ones((4, 4)))


def test_strengths_agree_with_logistic_regression_of_statsmodels():
    rng = np.random.default_rng(3)
    wins = rng.integers(1, 9, (4, 4)) * (1 - np.eye(4, dtype=int))
    rows = [(i, j) for i in range(4) for j in range(4) for _ in range(wins[i, j])]
    design = np.array([np.eye(4)[i] - np.eye(4)[j] for i, j in rows])[:, 1:]
    flip = rng.random(len(rows)) < 0.5
    frame = pd.DataFrame(np.where(flip[:, None], -design, design), columns=["b", "c", "d"]).assign(won=(~flip) * 1.0)
    fit = smf.logit("won ~ 0 + b + c + d", frame).fit(disp=0)
    found = bradley_terry(wins, prior=0.0)
    assert found.strength[1:] - found.strength[0] == pytest.approx(fit.params.to_numpy(), abs=1e-4)
    centre = np.vstack([np.zeros(3), np.eye(3)]) - 0.25
    errors = np.sqrt(np.diag(centre @ fit.cov_params().to_numpy() @ centre.T))
    assert found.error == pytest.approx(errors, rel=1e-3)


def test_ties_follow_davidson_by_enumeration():
    """Two models, 6 wins, 2 losses, 4 ties: the likelihood is that of three outcomes, so shares are met exactly."""
    found = bradley_terry([[0, 6], [2, 0]], [[0, 4], [4, 0]], prior=0.0)
    assert found.p_win[0, 1] == pytest.approx(6 / 12, abs=1e-5)
    assert found.p_win[1, 0] == pytest.approx(2 / 12, abs=1e-5)
    assert found.p_tie[0, 1] == pytest.approx(4 / 12, abs=1e-5)
    assert found.tie == pytest.approx(4 / math.sqrt(6 * 2), abs=1e-4)
    assert found.strength[0] - found.strength[1] == pytest.approx(math.log(3), abs=1e-4)


def test_a_model_that_wins_everything_stays_finite():
    found = bradley_terry([[0, 9, 9], [0, 0, 5], [0, 4, 0]])
    assert np.isfinite(found.strength).all()
    assert found.strength[0] > 1
    assert "no two models" in bradley_terry(np.zeros((2, 2))).reason
    with pytest.raises(UsageError, match="symmetric"):
        bradley_terry(np.zeros((2, 2)), [[0, 1], [0, 0]])


def draw(tasks=6, models=4, seeds=5, seed=0):
    rng = np.random.default_rng(seed)
    return (
        np.array([0.0, 0.3, 0.6, 1.2])[:models, None]
        + rng.normal(0, 1.0, (tasks, 1, 1))
        + rng.normal(0, 0.4, (tasks, models, 1))
        + rng.normal(0, 0.3, (tasks, 1, seeds))
        + rng.normal(0, 0.2, (tasks, models, seeds))
    )


def test_a_balanced_design_is_solved_in_closed_form():
    """Effects are means, and their error is the mean square of the interaction over the runs of a model."""
    values = draw()
    found = mixed_model(values)
    cells = values.mean(axis=2)
    effects = cells.mean(axis=0) - cells.mean()
    assert found.effect == pytest.approx(effects, abs=1e-6)
    left = cells - cells.mean(axis=1, keepdims=True) - effects
    variance = (left**2).sum() / (5 * 3) / 6 * (1 - 1 / 4)
    assert found.error == pytest.approx(np.full(4, math.sqrt(variance)), rel=2e-3)
    within = values - cells[:, :, None]
    within = within - within.mean(axis=1, keepdims=True)
    assert found.rest == pytest.approx(math.sqrt((within**2).sum() / (6 * 3 * 4)), rel=2e-3)


def test_missing_cells_agree_with_mixedlm_of_statsmodels():
    values = draw(seed=1)
    values[0, 1] = values[3, 2] = np.nan
    values[4, 0, 2:] = np.nan
    found = mixed_model(values)
    frame = pd.DataFrame(
        [(t, f"m{m}", s, values[t, m, s]) for t, m, s in itertools.product(range(6), range(4), range(5))],
        columns=["task", "model", "seed", "y"],
    ).dropna()
    parts = {"model": "0 + C(model)", "seed": "0 + C(seed)"}
    fit = smf.mixedlm("y ~ 0 + model", frame, groups="task", vc_formula=parts, re_formula="1").fit(reml=True)
    effects = fit.fe_params.to_numpy()
    assert found.effect == pytest.approx(effects - effects.mean(), abs=2e-3)
    assert found.rest == pytest.approx(math.sqrt(fit.scale), rel=0.01)
    centre = np.eye(4) - 0.25
    covariance = centre @ fit.cov_params().iloc[:4, :4].to_numpy() @ centre
    assert found.error == pytest.approx(np.sqrt(np.diag(covariance)), rel=0.02)


def test_what_cannot_be_fitted_says_why():
    assert "at least 3 tasks" in mixed_model(draw(tasks=2)).reason
    empty = draw()
    empty[:, 1] = np.nan
    assert "no value on any task" in mixed_model(empty).reason
    scaled = standardise(draw() * 100 + 5, [True] * 6)
    assert scaled.std(axis=(1, 2), ddof=1) == pytest.approx(np.ones(6))


def test_stated_shares_are_near_the_truth():
    assert abs(improvement_rates("t2", replicates=200)["gap"]) < 0.05
    found = tie_rates(replicates=100)
    assert abs(found["gap"]) < 0.05
