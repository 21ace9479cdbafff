"""p-values that stay valid when one looks several times and stops at will."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from graphnetz.stats._common import Floats
from graphnetz.stats.boundaries import check_looks, first_round, nominal_levels, round_shares, within_round
from graphnetz.stats.eprocess import ANYTIME, anytime_p

_SMALLEST, _LARGEST, _POINTS = 1e-10, 0.5, 80


@lru_cache(maxsize=64)
def _levels(looks: tuple[int, ...], spending: str) -> tuple[Floats, Floats]:
    """Logarithms of levels of the whole sequence ``[point]`` and of the looks ``[look, point]``."""
    alphas = np.geomspace(_SMALLEST, _LARGEST, _POINTS)
    table = np.array([nominal_levels(looks, float(alpha), spending) for alpha in alphas]).T
    return np.log(alphas), np.log(np.maximum(table, 1e-300))


def repeated_p(p: npt.ArrayLike, looks: tuple[int, ...], *, spending: str = "pocock", splits: int = 0) -> float:
    """Return the smallest level of the whole sequence at which one of the looks so far rejects.

    Parameters
    ----------
    p
        Two-sided t p-values at the looks so far, in order; NaN where a look has none.
    looks, spending, splits
        The planned looks and how alpha is spent over them, as in `look_levels`.

    Notes
    -----
    The value may be held against any alpha, whatever made one stop (Jennison and Turnbull 1989). It
    is read from a table of levels between 1e-10 and 0.5; outside, it is 1e-10 or 1. NaN when no look
    has a p-value.

    Examples
    --------
    >>> round(repeated_p([0.0226], (10, 20, 30)), 3)
    0.05
    """
    seen = np.atleast_1d(np.asarray(p, dtype=np.float64))
    first = first_round(looks, splits)
    if first < len(looks) or 0 < splits < looks[0]:  # every look has a share of alpha of its own
        share, *later = round_shares(len(looks) - first + 1, spending)
        head = repeated_p(seen[:first], looks[:first], spending=within_round(spending))
        own = [head / share, *(value / part for value, part in zip(seen[first:], later, strict=False))]
        return float(min(1.0, np.fmin.reduce(own)))
    if spending == ANYTIME:
        return anytime_p(seen, looks)
    alphas, table = _levels(check_looks(looks), spending)
    found = math.nan
    for value, row in zip(seen, table, strict=False):
        if math.isnan(value):
            continue
        at = math.log(max(value, 1e-300))
        alpha = 1.0 if at > row[-1] else float(np.exp(np.interp(at, row, alphas)))
        found = alpha if math.isnan(found) else min(found, alpha)
    return found
