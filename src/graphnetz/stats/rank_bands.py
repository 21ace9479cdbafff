"""Places of very many models, without comparing every two of them."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from graphnetz._core.errors import UsageError
from graphnetz.stats._common import Floats, check_share
from graphnetz.stats.intervals import student_quantile
from graphnetz.stats.rank_sets import block_means

LEAST_BLOCKS = 30
"""Independent tasks below which nothing is shown: so high a quantile leans on means being nearly normal."""


@dataclass(frozen=True, eq=False)
class RankBands:
    """Simultaneous sets of places from intervals of the means.

    Attributes
    ----------
    low, high
        Best and worst place of each model that the tasks leave open; 1 is best.
    means, half
        Mean value of each model over blocks, and half the length of its interval; all intervals hold together.
    n
        Independent blocks of tasks.
    alpha
        All sets hold together with probability ``1 - alpha``.
    reason
        Why nothing could be shown, whatever the values; empty otherwise.

    Examples
    --------
    >>> from graphnetz.stats import rank_bands
    >>> found = rank_bands([[3.0, 1.0, 2.0], [3.1, 1.2, 2.1]] * 20)
    >>> list(zip(found.low.tolist(), found.high.tolist()))
    [(1, 1), (3, 3), (2, 2)]
    """

    low: npt.NDArray[np.intp]
    high: npt.NDArray[np.intp]
    means: Floats
    half: Floats
    n: int
    alpha: float
    reason: str = ""


def rank_bands(values: npt.ArrayLike, *, alpha: float = 0.05, blocks: Sequence[Hashable] | None = None) -> RankBands:
    """Say which places every model may have, from one interval per model.

    The mean of every model gets a t interval at ``1 - alpha / models`` (Bonferroni), so that all hold together; a model
    stands above another where their intervals do not touch, and places follow by counting (Klein, Wright and Wieczorek
    2020). Sets are mostly wider than those of `rank_sets`, which looks at every difference of two models; time grows
    with the number of models and not with that of pairs.

    Parameters
    ----------
    values
        ``[task, model]``, greater is better, in units that mean the same on every task: negative ranks always do.
    alpha
        Probability that any of the sets is wrong.
    blocks
        One label per task; tasks of one block depend on each other and are averaged first.

    Returns
    -------
    RankBands
        Best and worst place per model.

    Examples
    --------
    >>> from graphnetz.stats import rank_bands
    >>> rank_bands([[0.9, 0.8], [0.7, 0.6]]).reason
    '2 independent tasks are too few for intervals of 2 models that hold together: at least 30 are needed'
    """
    check_share(alpha, "alpha")
    table = np.asarray(values, dtype=np.float64)
    if table.ndim != 2 or not np.isfinite(table).all():
        raise UsageError(f"Values have shape {table.shape}; pass a table of tasks x models without gaps.")
    table = block_means(table, blocks)
    n, k = table.shape
    means = table.mean(axis=0) if n else np.full(k, np.nan)
    if n < LEAST_BLOCKS or k < 2:
        reason = (
            f"{n} independent task{'' if n == 1 else 's'} are too few for intervals of {k:,} models that hold "
            f"together: at least {LEAST_BLOCKS} are needed"
        )
        low, high = np.ones(k, dtype=np.intp), np.full(k, k, dtype=np.intp)
        return RankBands(low, high, means, np.full(k, np.nan), n, alpha, reason if k > 1 else "")
    half = student_quantile(n - 1, 1 - alpha / (2 * k)) * table.std(axis=0, ddof=1) / np.sqrt(n)
    bottom, top = means - half, means + half
    above = k - np.searchsorted(np.sort(bottom), top, side="right")  # models whose whole interval lies higher
    below = np.searchsorted(np.sort(top), bottom, side="left")
    return RankBands(1 + above, k - below, means, half, n, alpha)
