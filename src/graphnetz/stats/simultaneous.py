"""Intervals of all differences of a family at once, in agreement with the decision that Holm makes."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt
from scipy import special

from graphnetz._core.errors import UsageError
from graphnetz.stats._common import RELATIVE_TOLERANCE, Bools, Floats, check_share
from graphnetz.stats.corrections import CORRECTIONS

SPARE = 0.2
"""Share of alpha that the intervals of rejected pairs may miss together, beside what Holm's rejections may."""

MAX_T_SEEDS = 10
"""From this many shared seeds on the correlation of the pairs is known well enough for max-t."""

PLUG_IN = 0.9
"""Share of alpha that max-t uses; the rest is for a correlation that is estimated from the same seeds."""

_EXACT_FLIPS = 16
_BLOCK = 250_000
_KEPT = 4_000_000
"""Simulated values at a time, which stay in the cache of a core, and of a stream that is kept for the next task."""

Bounds = tuple[Floats, Floats, Floats, Bools]


@dataclass(frozen=True, eq=False)
class Simultaneous:
    """Differences of all pairs of a family with intervals that hold together.

    Attributes
    ----------
    estimate, error, df, n
        Mean difference per pair, its standard error, degrees of freedom and number of seeds.
    p, p_adjusted
        Two-sided, raw and after Holm; where the same difference stands on every seed, the sign-flip p, of which
        ``p_adjusted`` is the family-wise one. NaN where nothing can be tested.
    low, high
        Simultaneous interval. It excludes zero, or ends at zero and does not hold it, exactly where ``rejected``.
    rejected
        Whether the pair differs.
    constant
        Whether the difference is the same, and not zero, on every seed.
    method
        ``"holm"`` or ``"max_t"``: which intervals were taken.
    far_level
        One-sided confidence of the outer bound of a rejected pair, taken alone.

    Examples
    --------
    >>> from graphnetz.stats import simultaneous
    >>> found = simultaneous([[0.10, 0.01], [0.12, -0.02], [0.11, 0.02]])
    >>> found.rejected.tolist(), found.method, found.low.round(3).tolist()
    ([True, False], 'holm', [0.029, -0.048])
    """

    estimate: Floats
    error: Floats
    df: Floats
    n: npt.NDArray[np.int64]
    p: Floats
    p_adjusted: Floats
    low: Floats
    high: Floats
    rejected: Bools
    constant: Bools
    method: str
    far_level: float


def holm_intervals(
    estimate: npt.ArrayLike,
    error: npt.ArrayLike,
    df: npt.ArrayLike,
    *,
    alpha: float = 0.05,
    p: npt.ArrayLike | None = None,
) -> Bounds:
    """Return intervals of a family of differences that agree with Holm's decision on each of them.

    A retained pair has the level that remains, alpha over the number of retained pairs, and holds zero. A rejected pair
    does not go beyond zero and does not hold it: an interval that ends there is half-open, ``(0, high]`` or
    ``[low, 0)`` (Strassburger and Bretz 2008, Guilbaud 2008, whose one-sided bounds are zero unless all pairs are
    rejected). Where all are rejected no null is left to guard, and both sides have Bonferroni's level alpha over the
    family. Otherwise both sides of the rejected pairs miss with probability alpha / 5 together, so they say how large
    a difference is at little cost: all intervals hold with probability about 1 - 1.2 alpha or more where every false
    rejection and every wrong sign counts as a miss, and 1 - alpha where a bound of zero is taken to hold zero.

    Parameters
    ----------
    estimate, error, df
        Mean difference per pair, its standard error and degrees of freedom; the last axis is the family. A pair that
        is NaN counts in the size of the family and stays NaN.
    alpha
        Family-wise level.
    p
        Two-sided p per pair where another test than t decides. Intervals stay those of t; where t alone would
        exclude zero but p does not reject, the error is the one with which t would have given this p.

    Returns
    -------
    tuple of ndarray
        Lower and upper bounds, p after Holm, and whether each pair is rejected. A pair without an error is a point
        where it is rejected or zero, and NaN where no test decides.

    Examples
    --------
    >>> from graphnetz.stats import holm_intervals
    >>> low, high, p, rejected = holm_intervals([0.10, 0.01], [0.01, 0.01], 9)
    >>> low.round(3).tolist(), high.round(3).tolist(), rejected.tolist()
    ([0.063, -0.013], [0.137, 0.033], [True, False])
    """
    check_share(alpha, "alpha")
    x, e, nu = np.broadcast_arrays(*(np.asarray(v, dtype=np.float64) for v in (estimate, error, df)))
    raw = t_p(x, e, nu) if p is None else np.broadcast_to(np.asarray(p, dtype=np.float64), x.shape)
    adjusted = np.where(np.isnan(raw), np.nan, CORRECTIONS["holm"](np.where(np.isnan(raw), 1.0, raw)))
    # A difference of exactly zero has no direction: there is nothing to claim, whatever a rank test says.
    rejected = (adjusted <= alpha) & (x != 0)
    return *_holm_bounds(x, e, nu, alpha, rejected, raw), adjusted, rejected


def t_p(estimate: Floats, error: Floats, df: Floats) -> Floats:
    """Two-sided t p; 1 for a difference of zero without spread, NaN for another one without."""
    with np.errstate(invalid="ignore", divide="ignore"):
        p: Floats = 2 * special.stdtr(df, -np.abs(estimate) / error)
    return np.where(error > 0, p, np.where((estimate == 0) & (error == 0), 1.0, np.nan))


def _holm_bounds(x: Floats, e: Floats, df: Floats, alpha: float, rejected: Bools, p: Floats) -> tuple[Floats, Floats]:
    m = x.shape[-1]
    retained = m - rejected.sum(axis=-1, keepdims=True)
    sides = np.where(retained == 0, alpha / 2, SPARE * alpha / 2) / m
    tail = np.where(rejected, sides, alpha / (2 * np.maximum(retained, 1)))
    critical = -special.stdtrit(df, tail)
    half = critical * e
    # A retained pair holds zero inside: at its end it would look like a rejected one.
    with np.errstate(invalid="ignore", divide="ignore"):
        wider = np.clip(critical / -special.stdtrit(df, p / 2), 1 + 1e-9, 2.0) * np.abs(x)
    half = np.where(~rejected & (half <= np.abs(x)) & (e > 0), wider, half)
    low, high = _to_zero(x, x - half, x + half, rejected)
    unknown = (e == 0) & ~rejected & (x != 0)
    return np.where(unknown, np.nan, low), np.where(unknown, np.nan, high)


def _to_zero(x: Floats, low: Floats, high: Floats, rejected: Bools) -> tuple[Floats, Floats]:
    """Draw the bounds of rejected pairs to zero where they went beyond it."""
    return (
        np.where(rejected & (x > 0), np.maximum(low, 0.0), low),
        np.where(rejected & (x < 0), np.minimum(high, 0.0), high),
    )


def max_t_intervals(
    differences: npt.ArrayLike,
    *,
    alpha: float = 0.05,
    rejected: npt.ArrayLike | None = None,
    draws: int = 10_000,
    seed: int = 0,
) -> Bounds:
    """Return max-t intervals, which use how the pairs correlate.

    Critical values are quantiles of the largest ``|t|`` of ``draws`` normal samples that have the correlation of
    ``differences`` and as many seeds; each pair is divided by its own standard deviation.

    Parameters
    ----------
    differences
        Seeds x pairs, complete, and no pair without spread.
    alpha
        Family-wise level.
    rejected
        What another procedure decided: retained pairs then share the level alpha, and rejected ones a fifth of it, as
        in `holm_intervals`. Without it one critical value serves all pairs.
    draws, seed
        Size and seed of the simulation.

    Returns
    -------
    tuple of ndarray
        Lower and upper bounds, p adjusted by the distribution of the largest ``|t|``, and whether each interval
        excludes zero (without ``rejected``: where p is at most 0.9 alpha).

    Examples
    --------
    >>> import numpy as np
    >>> from graphnetz.stats import max_t_intervals
    >>> d = np.random.default_rng(0).normal([0.02, 0.0], 0.01, (10, 2))
    >>> max_t_intervals(d)[3].tolist()
    [True, False]
    """
    d = _family(differences)
    check_share(alpha, "alpha")
    n, m = d.shape
    mean, sd = d.mean(axis=0), d.std(axis=0, ddof=1) if n > 1 else np.zeros(m)
    if not (np.isfinite(d).all() and (sd > 0).all()):
        raise UsageError("Differences hold NaN or a pair without spread; pass complete pairs of two or more seeds.")
    error = sd / math.sqrt(n)
    gone = np.zeros(m, dtype=np.bool_) if rejected is None else np.asarray(rejected, dtype=np.bool_)
    some = bool(gone.any() and not gone.all())
    # What remains after the correlation, too, was estimated from these seeds.
    kept = alpha * PLUG_IN
    everywhere, left = _largest_t(d - mean, ~gone if some else gone | True, draws, seed)
    half = np.where(gone & some, _critical(everywhere, SPARE * kept), _critical(left, kept)) * error
    p = (1 + draws - np.searchsorted(everywhere, np.abs(mean) / error, side="left")) / (1 + draws)
    return mean - half, mean + half, p, np.abs(mean) > half


def _critical(ordered: Floats, alpha: float) -> float:
    """Draw beyond which p is at most alpha, so that p and interval cannot disagree."""
    return float(ordered[ordered.size - max(1, math.floor(alpha * (1 + ordered.size)))])


def _largest_t(centred: Floats, some: Bools, draws: int, seed: int) -> tuple[Floats, Floats]:
    """Sorted draws of the largest ``|t|`` of all and of some pairs, for normal samples as correlated as ``centred``."""
    n, m = centred.shape
    _, size, rows = np.linalg.svd(centred / np.sqrt((centred**2).sum(axis=0)), full_matrices=False)
    keep = size > 1e-7 * size[0]
    # k models give k (k - 1) / 2 pairs of rank k - 1; float32 is exact enough for a quantile of 10,000 draws.
    root = (size[keep, None] * rows[keep]).astype(np.float32)
    top, start = np.empty((2, draws)), 0
    for drawn in _normals(draws, n * root.shape[0], max(1, _BLOCK // (n * m)), seed):
        z = (drawn.reshape(-1, root.shape[0]) @ root).reshape(-1, n, m)
        # The first row stands for the mean, the other n - 1 for its variance: they are independent.
        square = z[:, 0] ** 2 * (n - 1) / np.einsum("cnm,cnm->cm", z[:, 1:], z[:, 1:])
        stop = start + len(z)
        top[:, start:stop] = square.max(axis=1), square[:, some].max(axis=1)
        start = stop
    both = np.sort(np.sqrt(top), axis=1)
    return both[0], both[1]


def _normals(draws: int, columns: int, step: int, seed: int) -> Iterator[npt.NDArray[np.float32]]:
    """Blocks of ``step`` rows of one stream; tasks of one shape draw the same numbers, so a small stream is kept."""
    rng = np.random.default_rng(seed)
    kept = _kept_normals(draws * columns, seed).reshape(draws, columns) if draws * columns <= _KEPT else None
    for start in range(0, draws, step):
        count = min(step, draws - start)
        yield kept[start : start + count] if kept is not None else rng.standard_normal((count, columns), np.float32)


@lru_cache(maxsize=2)
def _kept_normals(count: int, seed: int) -> npt.NDArray[np.float32]:
    drawn = np.random.default_rng(seed).standard_normal(count, np.float32)
    drawn.flags.writeable = False
    return drawn


def sign_flip_p(differences: npt.ArrayLike, *, scale: float = 0.0, draws: int = 20_000, seed: int = 0) -> Floats:
    """Family-wise p of every pair by flipping the signs of whole seeds.

    One flip turns a seed of all pairs at once, so the pairs keep their dependence. The statistic is
    ``|sum d| / sqrt(n sum d^2)``, which is a function of ``|t|`` and also defined without spread, where it
    is 1; each pair is held against the largest of the family (Westfall and Young 1993, single step).

    Parameters
    ----------
    differences
        Seeds x pairs; a NaN is a seed that a pair lacks.
    scale
        Size of the scores behind the differences, to tell zero from rounding.
    draws, seed
        Flips and their seed where there are more than 16 seeds; up to there all are enumerated.

    Returns
    -------
    ndarray
        One p per pair: 1 for identical scores, NaN without any seed.

    Examples
    --------
    >>> from graphnetz.stats import sign_flip_p
    >>> sign_flip_p([[0.3, 0.1], [0.3, -0.1], [0.3, 0.0], [0.3, 0.1], [0.3, 0.2], [0.3, 0.1]]).tolist()
    [0.03125, 0.4375]
    """
    d = _family(differences)
    n = np.isfinite(d).sum(axis=0)
    x = np.where(np.abs(d) > RELATIVE_TOLERANCE * scale, np.nan_to_num(d), 0.0)
    size = np.sqrt(n * (x**2).sum(axis=0))
    unit = np.divide(x, size, out=np.zeros_like(x), where=size > 0)
    seeds = d.shape[0]
    if seeds <= _EXACT_FLIPS:  # the first sign stays: turning all of them changes no |sum|
        bits = np.arange(2 ** max(seeds - 1, 0))[:, None] >> np.arange(seeds) & 1
    else:
        bits = np.random.default_rng(seed).integers(0, 2, (draws, seeds))
        bits[0] = 0  # what was observed is one of the flips
    largest = np.sort(np.abs((1.0 - 2.0 * bits) @ unit).max(axis=1, initial=0.0))
    observed = np.abs(unit.sum(axis=0))
    p = 1 - np.searchsorted(largest, observed - 1e-9, side="left") / largest.size
    return np.where(n > 0, np.where(size > 0, p, 1.0), np.nan)


def simultaneous(
    differences: npt.ArrayLike,
    *,
    alpha: float = 0.05,
    p: npt.ArrayLike | None = None,
    bounds: tuple[float, float] = (-math.inf, math.inf),
    scale: float = 0.0,
    draws: int = 10_000,
) -> Simultaneous:
    """Compare all pairs of a family: Holm decides, and the intervals agree with it.

    From 10 complete seeds on max-t takes the place of Bonferroni's levels in the intervals where every retained pair
    holds zero and they are narrower, summed over pairs in units of their standard errors. A difference that is the
    same on every seed has no t; it counts in the family and is decided by the family-wise sign-flip p, its interval is
    that one value, or NaN where it is not called different. Identical scores have p = 1 and the interval from 0 to 0.

    Parameters
    ----------
    differences
        Seeds x pairs; a NaN is a seed that a pair lacks.
    alpha
        Family-wise level.
    p
        Raw p per pair where another test than t decides.
    bounds
        Range that differences of the metric can have, such as (-1, 1).
    scale
        Largest absolute score behind the differences: those that agree to 1e-12 of it are the same.
    draws
        Simulations of the max-t intervals; 0 leaves these out.

    Returns
    -------
    Simultaneous
        One entry per pair.

    Examples
    --------
    >>> from graphnetz.stats import simultaneous
    >>> found = simultaneous([[0.3, 0.0]] * 6)
    >>> found.p_adjusted.tolist(), found.rejected.tolist(), found.low.tolist()
    ([0.03125, 1.0], [True, False], [0.3, 0.0])
    """
    d = _family(differences)
    n, mean, error, constant = _moments(d, scale)
    df: Floats = n - np.float64(1)
    raw = t_p(mean, error, df) if p is None else np.asarray(p, dtype=np.float64)
    raw = np.where(constant | (n < 2), np.nan, raw)
    low, high, adjusted, rejected = holm_intervals(mean, error, df, alpha=alpha, p=raw)
    method, far = "holm", 1 - (1 if rejected.all() else SPARE) * alpha / 2 / max(1, d.shape[1])
    if constant.any():
        flip = sign_flip_p(d, scale=scale)
        called = constant & (flip <= alpha)
        raw, adjusted = np.where(constant, 2.0 ** (1.0 - n), raw), np.where(constant, flip, adjusted)
        low, high, rejected = np.where(called, mean, low), np.where(called, mean, high), rejected | called
    elif p is None and draws and n.min(initial=MAX_T_SEEDS) >= MAX_T_SEEDS and np.isfinite(d).all() and error.all():
        tight = max_t_intervals(d, alpha=alpha, rejected=rejected, draws=draws)
        narrow, wide = _to_zero(mean, *tight[:2], rejected)
        # Retained pairs must hold zero by themselves: drawn there, they would hide a disagreement.
        if not (tight[3] & ~rejected).any() and ((wide - narrow) / error).sum() < ((high - low) / error).sum():
            low, high, method = narrow, wide, "max_t"
            far = float(special.stdtr(df, (tight[1] - mean) / error).max(initial=0.0))
    low, high = np.clip(low, *bounds), np.clip(high, *bounds)
    return Simultaneous(mean, error, df, n, raw, adjusted, low, high, rejected, constant, method, far)


def _family(differences: npt.ArrayLike) -> Floats:
    d = np.asarray(differences, dtype=np.float64)
    if d.ndim != 2:
        raise UsageError(f"Differences have {d.ndim} dimensions; pass a table of seeds x pairs.")
    return d


def _moments(d: Floats, scale: float) -> tuple[npt.NDArray[np.int64], Floats, Floats, Bools]:
    """Seeds, mean and standard error of every pair, and whether its difference is the same and not zero."""
    here = np.isfinite(d)
    n, x = here.sum(axis=0), np.where(here, d, 0.0)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = x.sum(axis=0) / n
        error = np.sqrt((np.where(here, x - mean, 0.0) ** 2).sum(axis=0) / (n - 1.0) / n)
    slack = RELATIVE_TOLERANCE * np.maximum(scale, np.abs(x).max(axis=0, initial=0.0))
    spread = np.where(here, d, -np.inf).max(axis=0, initial=-np.inf) - np.where(here, d, np.inf).min(
        axis=0, initial=np.inf
    )
    still = (n > 1) & (spread <= slack)
    same = still & (np.abs(mean) <= slack)
    return n, np.where(same, 0.0, mean), np.where(still, 0.0, np.where(n > 1, error, np.nan)), still & ~same
