"""Bayesian signed-rank test: probabilities of better, worse and practically equal."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from graphnetz._core.errors import UsageError
from graphnetz.stats._common import Floats, finite_vector

# Weights drawn at a time: 16 MB, however many draws are asked for.
_CHUNK = 2_000_000


@dataclass(frozen=True)
class BayesResult:
    """Posterior probabilities that the difference is below, inside or above the region of equivalence.

    With differences a - b of a metric where more is better, ``p_right`` speaks for a.

    Attributes
    ----------
    p_left, p_rope, p_right
        Probabilities of "b is better", "practically equal" and "a is better"; they sum to 1.
    reason
        Why the probabilities are NaN; empty otherwise.

    Examples
    --------
    >>> from graphnetz.stats import bayes_signed_rank
    >>> bayes_signed_rank([0.02, 0.03, 0.01, 0.02], rope=0.005).p_right > 0.9
    True
    """

    p_left: float
    p_rope: float
    p_right: float
    reason: str = ""


def bayes_signed_rank(
    differences: npt.ArrayLike,
    *,
    rope: float = 0.0,
    prior: float = 0.5,
    n_samples: int = 50_000,
    seed: int = 0,
) -> BayesResult:
    """Bayesian version of the Wilcoxon signed-rank test (Benavoli et al. 2014).

    The distribution of differences is a Dirichlet process whose prior puts weight ``prior`` on a
    difference of 0; each posterior draw weighs the observations and asks where the mean of two
    random differences falls.

    Parameters
    ----------
    differences
        One mean difference per task (or per seed); NaN entries are dropped.
    rope
        Half-width of the region of practical equivalence, in units of the metric. With 0 only
        left and right compete.
    prior
        Weight of the pseudo-observation at 0, in observations.
    n_samples, seed
        Posterior draws and their seed; the Monte-Carlo error is at most ``0.5 / sqrt(n_samples)``.

    Returns
    -------
    BayesResult
        Probabilities of left, inside and right; NaN with a reason when no difference is finite.

    Examples
    --------
    >>> from graphnetz.stats import bayes_signed_rank
    >>> found = bayes_signed_rank([0.02, 0.03, 0.01, 0.02, 0.0], rope=0.005)
    >>> round(found.p_left, 2), round(found.p_rope, 2), round(found.p_right, 2)
    (0.0, 0.03, 0.97)
    """
    if rope < 0 or not math.isfinite(rope):
        raise UsageError(f"rope={rope} is not a half-width; pass 0 or a positive number.")
    if not prior > 0 or n_samples < 1:
        raise UsageError(f"prior={prior} and n_samples={n_samples} must both be positive.")
    d = finite_vector(differences, "differences")
    if d.size == 0:
        return BayesResult(math.nan, math.nan, math.nan, "there is no difference to look at")
    # The pseudo-observation at 0 stands first; the prior is its weight.
    points = np.concatenate([[0.0], d])
    concentration = np.ones(points.size)
    concentration[0] = prior
    rng = np.random.default_rng(seed)
    votes = np.zeros(3)
    step = max(1, _CHUNK // points.size)
    for start in range(0, n_samples, step):
        weights = rng.dirichlet(concentration, min(step, n_samples - start))
        votes += _votes(region_shares(weights, points, rope), competing_rope=rope > 0)
    left, inside, right = votes / n_samples
    return BayesResult(float(left), float(inside), float(right))


def region_shares(weights: Floats, points: Floats, rope: float) -> Floats:
    """Posterior mass ``[draw, (left, rope, right)]`` of the pairwise means of ``points``.

    A pair exactly on a boundary counts half on either side.
    """
    # The mean of two differences passes rope where their sum passes 2 rope.
    sums = points[:, None] + points[None, :]
    above = np.heaviside(sums - 2 * rope, 0.5)
    below = np.heaviside(-sums - 2 * rope, 0.5)
    right = ((weights @ above) * weights).sum(axis=1)
    left = ((weights @ below) * weights).sum(axis=1)
    return np.stack([left, 1 - left - right, right], axis=1)


def _votes(shares: Floats, *, competing_rope: bool) -> Floats:
    """Count the draws each region wins; exact ties are shared."""
    if not competing_rope:
        shares = np.where(np.array([False, True, False]), -np.inf, shares)
    # Symmetric data give left and right the same share up to rounding: that is a tie.
    winners = shares >= shares.max(axis=1, keepdims=True) - 1e-12
    votes: Floats = (winners / winners.sum(axis=1, keepdims=True)).sum(axis=0)
    return votes
