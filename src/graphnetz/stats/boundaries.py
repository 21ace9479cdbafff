"""Group-sequential boundaries for t-tests, as nominal p-levels.

Looking at the same comparison several times needs a stricter level at each look. Textbook
boundaries assume a known variance; applied to t statistics of five seeds they let too many false
positives through. Here the levels are computed for the t statistics themselves, which is possible
because of a fact about normal samples: under the null the ratio ``u = sum(x) / sqrt(sum(x^2))`` is
independent of ``sum(x^2)`` (Basu 1955), so u at successive looks is a Markov chain in one dimension
that knows no variance. The chain is propagated on a grid, like the recursive integration of
Armitage, McPherson and Rowe (1969) for known variance.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from itertools import pairwise

import numpy as np
from scipy import special
from scipy.linalg import eigh_tridiagonal

from graphnetz._core.errors import UsageError
from graphnetz._core.registry import Registry
from graphnetz.stats._common import Floats, check_share
from graphnetz.stats.eprocess import ANYTIME, anytime_levels

Spending = Callable[[float, float], float]
"""``spending(alpha, fraction) -> alpha spent`` when a fraction of the planned seeds has been seen."""

SPENDING: Registry[Spending] = Registry("spending function", entry_points="graphnetz.spending", accepts=callable)
"""Spending functions by name: how much of alpha may be used when a share of the seeds has been seen."""

FIRST_ROUND = 0.9
"""Share of alpha for the first round over fixed splits: later ones say little that is new."""

_REACH = 7.6  # grid of normal scores; one-sided levels down to 1e-14
_CELLS = 304
# Rounds of scaling a transition to the marginals that are known exactly; see `_transition`.
_BALANCING = 20
# A share of alpha this small lies at the edge of the grid: the look then spends nothing.
_NEGLIGIBLE = 1e-13


@SPENDING.register("obrien_fleming")
def _obrien_fleming(alpha: float, fraction: float) -> float:
    """O'Brien-Fleming type (Lan and DeMets 1983): almost nothing early, nearly all at the end."""
    return float(2 * special.ndtr(special.ndtri(alpha / 2) / math.sqrt(fraction)))


@SPENDING.register("pocock")
def _pocock(alpha: float, fraction: float) -> float:
    """Pocock type (Lan and DeMets 1983): similar levels at every look."""
    return alpha * math.log(1 + (math.e - 1) * fraction)


@SPENDING.register("linear")
def _linear(alpha: float, fraction: float) -> float:
    """In proportion to the seeds seen: between the other two."""
    return alpha * fraction


def check_looks(looks: tuple[int, ...]) -> tuple[int, ...]:
    """Return the schedule as plain integers when it is usable."""
    plan = tuple(int(n) for n in looks)
    if not plan or plan[0] < 2 or any(b <= a for a, b in pairwise(plan)):
        raise UsageError(f"looks={looks} is no schedule; pass increasing numbers of seeds, the first at least 2.")
    return plan


def look_levels(
    looks: tuple[int, ...], alpha: float, spending: str, sides: int = 2, splits: int = 0
) -> tuple[float, ...]:
    """Return the p-level of each look under any rule, also where seeds take fixed splits in turn.

    Parameters
    ----------
    looks, alpha, sides
        As in `nominal_levels`.
    spending
        A spending function, or ``"anytime"`` for the e-process of `anytime_levels`.
    splits
        Fixed splits that the seeds take in turn; 0 when every seed has its own. Looks after the first round over
        the splits see the same splits again: how much that repeats is unknown, so each gets a share of alpha of
        its own (Bonferroni), see `round_shares`.

    Returns
    -------
    tuple of float
        One level per look.

    Examples
    --------
    >>> from graphnetz.stats.boundaries import look_levels
    >>> [round(level, 4) for level in look_levels((5, 10, 20), 0.05, "pocock", splits=5)]
    [0.045, 0.0025, 0.0025]
    """
    first = first_round(looks, splits)
    if first < len(looks) or 0 < splits < looks[0]:
        share, *later = round_shares(len(looks) - first + 1, spending)
        head = nominal_levels(looks[:first], alpha * share, within_round(spending), sides)
        return (*head, *(alpha * part for part in later))
    return anytime_levels(looks, alpha, sides) if spending == ANYTIME else nominal_levels(looks, alpha, spending, sides)


def first_round(looks: tuple[int, ...], splits: int) -> int:
    """Count the looks that come before a split is seen again (at least one): all of them without fixed splits."""
    return max(1, sum(n <= splits for n in looks)) if splits else len(looks)


def within_round(spending: str) -> str:
    """How the first round over fixed splits is read: it ends with the splits, so the e-process is not needed."""
    return "pocock" if spending == ANYTIME else spending


def round_shares(count: int, spending: str) -> tuple[float, ...]:
    """Shares of alpha for rounds over fixed splits: most for the first, half of the rest for each that follows.

    Later rounds only reduce the part of the initialisation. With a budget the last one takes all that is left.
    """
    if count == 1:
        return (1.0,)
    later = [(1.0 - FIRST_ROUND) * 0.5 ** (index + 1) for index in range(count - 1)]
    return (FIRST_ROUND, *later[:-1], later[-1] * (1 if spending == ANYTIME else 2))


def unit_means(d: Floats, splits: int) -> Floats:
    """Return what a test may count, along the last axis: seeds, or means per split once splits are seen again.

    Runs on one split differ by their initial weights only and are no further splits.
    """
    n = d.shape[-1]
    if not splits or n <= splits:
        return d
    rounds = d.reshape(*d.shape[:-1], n // splits, splits)
    there = np.isfinite(rounds)
    count = there.sum(axis=-2)
    means: Floats = np.where(there, rounds, 0.0).sum(axis=-2) / np.where(count, count, np.nan)
    return means


@lru_cache(maxsize=4096)
def nominal_levels(
    looks: tuple[int, ...], alpha: float, spending: str = "obrien_fleming", sides: int = 2
) -> tuple[float, ...]:
    """Return the p-level to use at each look so that all looks together have level ``alpha``.

    Parameters
    ----------
    looks
        Numbers of seeds at which the comparison is read, increasing, the last one the budget.
    alpha
        Level of the whole sequence.
    spending
        How much of ``alpha`` each look may use: ``"obrien_fleming"`` (strict early),
        ``"pocock"`` (similar at every look) or ``"linear"``.
    sides
        2 for two-sided p-values of a t-test, 1 for one-sided ones (equivalence).

    Returns
    -------
    tuple of float
        One level per look; 0 where a look has nothing to spend.

    Examples
    --------
    >>> from graphnetz.stats import nominal_levels
    >>> [round(level, 4) for level in nominal_levels((10, 20, 30), 0.05, "pocock")]
    [0.0226, 0.0206, 0.0205]
    """
    plan = check_looks(looks)
    check_share(alpha, "alpha")
    if sides not in (1, 2):
        raise UsageError(f"sides={sides} is neither 1 nor 2.")
    spend = SPENDING[spending]
    edges = _edges()
    mass = _tail_masses(special.ndtr(edges[: _CELLS // 2 + 1]))
    spent, levels = 0.0, []
    for index, n in enumerate(plan):
        if index:
            mass = mass @ _transition(plan[index - 1], n)
        # Each side has its own budget, as Lan and DeMets have it.
        target = min(alpha / sides, spend(alpha / sides, n / plan[-1])) if index + 1 < len(plan) else alpha / sides
        if target - spent < _NEGLIGIBLE:
            levels.append(0.0)
            continue
        z, mass = _cut(mass, edges, target - spent, both=sides == 2)
        spent = target
        levels.append(float(sides * special.ndtr(z)))
    return tuple(levels)


def _cut(mass: Floats, edges: Floats, share: float, *, both: bool) -> tuple[float, Floats]:
    """Find the lower boundary beyond which ``share`` of the mass lies, and remove that mass."""
    below = np.concatenate([[0.0], np.cumsum(mass)])
    cell = int(np.searchsorted(below, share, side="right")) - 1
    # Tails fall like exp(-z^2 / 2): interpolate their logarithm.
    low, high = np.log(max(below[cell], 1e-300)), np.log(below[cell + 1])
    inside = (math.log(share) - low) / (high - low)
    kept = mass.copy()
    kept[:cell] = 0.0
    kept[cell] = below[cell + 1] - share
    if both:
        kept[::-1][:cell] = 0.0
        kept[::-1][cell] = kept[cell]
    return float(edges[cell] + inside * (edges[cell + 1] - edges[cell])), kept


def _edges() -> Floats:
    return np.linspace(-_REACH, _REACH, _CELLS + 1)


def _tail_masses(lower_cdf: Floats) -> Floats:
    """Cell masses of a symmetric law from its cdf on the lower half of the edges."""
    half = np.diff(lower_cdf)
    return np.concatenate([half, half[::-1]])


@lru_cache(maxsize=256)
def _transition(n: int, following: int) -> Floats:
    """Probability of moving between cells from look ``n`` to look ``following``, under the null.

    Cells are intervals of the normal score of the t-test's own p-value, so that each look is
    standard normal on its own.
    """
    edges = _edges()
    centres = (edges[1:] + edges[:-1])[: _CELLS // 2] / 2
    start, stop = _ratio(centres, n), _ratio(edges, following)
    cdf = _step_by_one(start, stop, n) if following - n == 1 else _step_by_many(start, stop, n, following - n)
    cdf[:, 0], cdf[:, -1] = 0.0, 1.0
    upper = np.maximum(np.diff(cdf, axis=1), 0.0)
    full = np.concatenate([upper, upper[::-1, ::-1]])
    # Cells blur the chain a little. Scaling it back to what is known exactly (rows sum to 1, and the
    # next look is standard normal again) removes that error from the tails.
    marginal = _tail_masses(special.ndtr(edges[: _CELLS // 2 + 1]))
    for _ in range(_BALANCING):
        full = full * (marginal / np.maximum(marginal @ full, 1e-300))
        full = full / full.sum(axis=1, keepdims=True)
    full.setflags(write=False)
    return full


def _ratio(z: Floats, n: int) -> Floats:
    """Ratio u of the sample whose t-test has the normal score ``z``."""
    t = np.sign(z) * -special.stdtrit(n - 1, special.ndtr(-np.abs(z)))
    ratio: Floats = np.sqrt(n) * t / np.sqrt(n - 1 + t**2)
    return ratio


def _step_by_many(start: Floats, stop: Floats, n: int, more: int) -> Floats:
    """P(u' <= stop | u = start) when two or more seeds are added.

    u' = u sqrt(w) + v sqrt(1 - w), where w ~ Beta(n/2, more/2) is the old share of the sum of
    squares and v the ratio of the new seeds alone, all independent.
    """
    # The law of v has square-root edges for two or three new seeds and is smooth from four on.
    w, weights = _beta_nodes(n / 2, more / 2, 16 if more > 3 else 40)
    cdf = np.zeros((start.size, stop.size))
    for share, weight in zip(w, weights, strict=True):
        v = (stop[None, :] - start[:, None] * math.sqrt(share)) / math.sqrt((1 - share) * more)
        inner = np.clip(v, -1.0, 1.0)
        tail = special.betainc((more - 1) / 2, 0.5, 1 - inner**2) / 2
        cdf += weight * np.where(inner < 0, tail, 1 - tail)
    return cdf


def _beta_nodes(a: float, b: float, count: int) -> tuple[Floats, Floats]:
    """Gauss quadrature of a Beta(a, b) law, by the eigenvalues of its Jacobi matrix (Golub and Welsch 1969).

    scipy's Jacobi rule scales by a factor that overflows for some hundred seeds; this one has none.
    """
    alpha, beta = b - 1, a - 1
    total = alpha + beta
    k = np.arange(1.0, count)
    double = 2 * k + total
    diagonal = np.concatenate([[(beta - alpha) / (total + 2)], (beta**2 - alpha**2) / (double * (double + 2))])
    square = (
        4 * k * (k + alpha) * (k + beta) * (k + total) / (double**2 * (double + 1) * np.maximum(double - 1, 1e-300))
    )
    square[0] = 4 * (1 + alpha) * (1 + beta) / ((2 + total) ** 2 * (3 + total))
    nodes, vectors = eigh_tridiagonal(diagonal, np.sqrt(square))
    return (np.asarray(nodes) + 1) / 2, np.asarray(vectors)[0] ** 2


def _step_by_one(start: Floats, stop: Floats, n: int) -> Floats:
    """P(u' <= stop | u = start) when one seed is added: v is a sign, and w = cos^2 of an angle."""
    down = _one_sign(start[:, None], stop[None, :], n)
    up = 1 - _one_sign(-start[:, None], -stop[None, :], n)
    return (down + up) / 2


def _one_sign(u: Floats, y: Floats, n: int) -> Floats:
    """P(u cos(a) - sin(a) <= y) with cos^2(a) ~ Beta(n/2, 1/2)."""
    shift = np.arctan2(1.0, u)
    turn = np.arccos(np.clip(y / np.hypot(u, 1.0), -1.0, 1.0))
    first = np.clip(turn - shift, 0.0, math.pi / 2)
    last = np.clip(2 * math.pi - turn - shift, 0.0, math.pi / 2)
    at_first, at_last = (special.betainc(n / 2, 0.5, np.cos(angle) ** 2) for angle in (first, last))
    probability: Floats = np.maximum(at_first - at_last, 0.0)
    return probability
