"""Strengths of models from who beat whom, with ties, where not everybody met everybody."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import optimize

from graphnetz._core.errors import UsageError
from graphnetz.stats._common import Floats


@dataclass(frozen=True, eq=False)
class BradleyTerry:
    """Davidson's (1970) model of comparisons that may end in a tie.

    Attributes
    ----------
    strength, error
        Log strengths around a mean of 0, and their standard errors.
    tie
        Davidson's nu: two models of equal strength tie with probability nu / (2 + nu).
    p_win, p_tie
        ``[i, j]``: probabilities that i beats j, and that they tie.
    n
        Comparisons.
    reason
        Why there are no strengths; empty otherwise.

    Examples
    --------
    >>> from graphnetz.stats import bradley_terry
    >>> found = bradley_terry([[0, 6], [2, 0]], prior=0.0)
    >>> round(float(found.p_win[0, 1]), 3)
    0.75
    """

    strength: Floats
    error: Floats
    tie: float
    p_win: Floats
    p_tie: Floats
    n: float
    reason: str = ""


def bradley_terry(wins: npt.ArrayLike, ties: npt.ArrayLike | None = None, *, prior: float = 0.1) -> BradleyTerry:
    """Fit strengths to wins and ties.

    Parameters
    ----------
    wins
        ``wins[i, j]``: how often i beat j; pairs that never met stay 0, so models may miss tasks.
    ties
        ``ties[i, j]``, symmetric: how often i and j tied. None stands for no ties.
    prior
        Precision of a normal prior on the log strengths. It keeps the strength of a model that won everything
        finite; 0 is plain maximum likelihood.

    Returns
    -------
    BradleyTerry
        Strengths, their errors, and the probabilities they stand for.

    Examples
    --------
    >>> from graphnetz.stats import bradley_terry
    >>> found = bradley_terry([[0, 3], [3, 0]], [[0, 4], [4, 0]], prior=0.0)
    >>> round(float(found.p_tie[0, 1]), 2)
    0.4
    """
    won = np.asarray(wins, dtype=np.float64)
    tied = np.zeros_like(won) if ties is None else np.asarray(ties, dtype=np.float64)
    if won.ndim != 2 or won.shape[0] != won.shape[1] or tied.shape != won.shape:
        raise UsageError(f"wins and ties have shapes {won.shape} and {tied.shape}; pass two tables of models x models.")
    if (won < 0).any() or (tied < 0).any() or not np.allclose(tied, tied.T) or not prior >= 0:
        raise UsageError("Counts and the prior must be 0 or more and ties symmetric; count every tie in both places.")
    k, draws = len(won), float(tied.sum()) / 2
    n = float(won.sum()) + draws
    if n == 0 or k < 2:
        nothing = np.full(k, math.nan)
        none = np.full((k, k), math.nan)
        return BradleyTerry(nothing, nothing, math.nan, none, none, n, "no two models were compared")
    start = np.append(np.zeros(k), 0.0)
    found = optimize.minimize(
        _loss,
        start,
        args=(won, tied, prior),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": 5000, "ftol": 1e-14, "gtol": 1e-9},
    )
    strength = found.x[:-1] - found.x[:-1].mean()
    tie = math.exp(float(found.x[-1])) if draws else 0.0
    p_win, p_tie = _chances(strength, tie)
    return BradleyTerry(strength, _errors(p_win, p_tie, won, tied, prior), tie, p_win, p_tie, n)


def _chances(strength: Floats, tie: float) -> tuple[Floats, Floats]:
    half = (strength[:, None] - strength) / 2
    top, bottom = np.exp(half - np.abs(half)), np.exp(-half - np.abs(half))
    even = tie * np.exp(-np.abs(half))
    total = top + bottom + even
    return top / total, even / total


def _loss(x: Floats, won: Floats, tied: Floats, prior: float) -> tuple[float, Floats]:
    strength, tie = x[:-1], math.exp(min(float(x[-1]), 50.0)) if tied.any() else 0.0
    p_win, p_tie = _chances(strength, tie)
    met = won + won.T + tied
    with np.errstate(divide="ignore", invalid="ignore"):
        drawn = np.where(tied > 0, tied * np.log(p_tie), 0.0).sum() / 2
        value = -np.where(won > 0, won * np.log(p_win), 0.0).sum() - drawn + prior * (strength**2).sum() / 2
    # What was scored minus what was expected, a tie being half a win.
    slope = met * (p_win + p_tie / 2) - won - tied / 2
    by_tie = (met * p_tie - tied).sum() / 2
    return float(value), np.append(slope.sum(axis=1) + prior * strength, by_tie)


def _errors(p_win: Floats, p_tie: Floats, won: Floats, tied: Floats, prior: float) -> Floats:
    """Standard errors of strengths around their mean, for a known share of ties."""
    score = p_win + p_tie / 2
    spread = (won + won.T + tied) * (p_win + p_tie / 4 - score**2)
    np.fill_diagonal(spread, 0.0)
    information = np.diag(spread.sum(axis=1) + prior) - spread
    result: Floats = np.sqrt(np.diag(np.linalg.pinv(information, hermitian=True)).clip(min=0.0))
    return result
