"""Places that models may have across tasks of this kind, all of them right together."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import special

from graphnetz._core.errors import UsageError
from graphnetz.stats._common import Bools, Floats, check_share
from graphnetz.stats.corrections import adjust

# Statistics held at a time: 8 MB, however many pairs and flips there are.
_CHUNK = 1_000_000
_ALL_FLIPS = 12  # up to here every pattern of signs is tried: 2,048, as many as are drawn for more tasks
_WORK = 250_000_000  # pairs times flips: 1,000 models take 500 flips, which cost power and no validity


@dataclass(frozen=True, eq=False)
class RankSets:
    """Simultaneous confidence sets of places.

    Attributes
    ----------
    low, high
        Best and worst place of each model that the tasks leave open; 1 is best.
    better
        ``better[i, j]``: whether model i is shown to be placed above model j.
    means
        Mean value of each model over blocks.
    n
        Independent blocks of tasks.
    alpha
        All sets hold together with probability ``1 - alpha``.
    reason
        Why nothing could be shown, whatever the values; empty otherwise.

    Examples
    --------
    >>> from graphnetz.stats import rank_sets
    >>> found = rank_sets([[3.0, 2.0, 2.1], [3.2, 1.9, 2.2], [3.1, 2.2, 2.0]] * 3)
    >>> list(zip(found.low.tolist(), found.high.tolist()))
    [(1, 1), (2, 3), (2, 3)]
    """

    low: npt.NDArray[np.intp]
    high: npt.NDArray[np.intp]
    better: Bools
    means: Floats
    n: int
    alpha: float
    reason: str = ""


def rank_sets(
    values: npt.ArrayLike,
    *,
    alpha: float = 0.05,
    blocks: Sequence[Hashable] | None = None,
    flips: int = 2000,
    seed: int = 0,
) -> RankSets:
    """Say which places every model may have, so that all statements hold together.

    Every two models are compared over blocks of tasks. The differences of a block change sign together for all
    pairs, which keeps how pairs depend on each other, and the largest studentised difference is stepped down
    (Westfall and Young 1993). A pair is told apart when both this and Holm's correction of the t-test say so: the
    larger of two critical values. Places follow by counting (Mogstad, Romano, Shaikh and Wilhelm 2024).

    Parameters
    ----------
    values
        ``[task, model]``, greater is better, in units that mean the same on every task: negative ranks always do.
    alpha
        Probability that any of the sets is wrong.
    blocks
        One label per task; tasks of one block depend on each other and are averaged first.
    flips, seed
        Number and seed of the patterns of signs where there are too many to try all.

    Returns
    -------
    RankSets
        Best and worst place per model.

    Notes
    -----
    Exact where the differences of a task are as likely with the opposite sign. With n blocks no p is below
    2^(1-n), so 6 blocks are needed before anything can be shown at 0.05.

    Examples
    --------
    >>> from graphnetz.stats import rank_sets
    >>> rank_sets([[0.9, 0.8], [0.7, 0.6], [0.8, 0.6]]).reason
    '3 independent tasks cannot show a place at 0.05 by sign flips, whatever the scores: at least 6 are needed'
    """
    check_share(alpha, "alpha")
    table = np.asarray(values, dtype=np.float64)
    if table.ndim != 2 or not np.isfinite(table).all():
        raise UsageError(f"Values have shape {table.shape}; pass a table of tasks x models without gaps.")
    table = block_means(table, blocks)
    n, k = table.shape
    better: Bools = np.zeros((k, k), dtype=np.bool_)
    reason = ""
    if 2.0 ** (1 - n) > alpha:
        need = int(np.ceil(1 - np.log2(alpha)))
        reason = (
            f"{n} independent task{'' if n == 1 else 's'} cannot show a place at {alpha:g} by sign flips, "
            f"whatever the scores: at least {need} are needed"
        )
    elif k > 1:
        first, second = _apart(table, alpha, flips, seed)
        better[first, second] = True
    means = table.mean(axis=0) if n else np.full(k, np.nan)
    return RankSets(1 + better.sum(axis=0), k - better.sum(axis=1), better, means, n, alpha, reason)


def block_means(table: Floats, blocks: Sequence[Hashable] | None) -> Floats:
    """Average the tasks of a block: they depend on each other."""
    if blocks is None:
        return table
    if len(blocks) != len(table):
        raise UsageError(f"blocks has {len(blocks)} entries; pass one per task ({len(table)}).")
    places: dict[Hashable, list[int]] = {}
    for row, block in enumerate(blocks):
        places.setdefault(block, []).append(row)
    return np.array([table[rows].mean(axis=0) for rows in places.values()]).reshape(len(places), table.shape[1])


def _apart(table: Floats, alpha: float, flips: int, seed: int) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Pairs (better, worse) that are told apart."""
    n, k = table.shape
    # Drawn signs meet the tasks in one order, however they were listed: a run and a board of it say the same.
    table = table[np.lexsort(table[:, np.argsort(table.sum(axis=0), kind="stable")].T)]
    i, j = np.triu_indices(k, 1)
    centred = table - table.mean(axis=1, keepdims=True)
    gram = centred.T @ centred
    squares = gram[i, i] + gram[j, j] - 2 * gram[i, j]
    # Two models with the same values everywhere have no difference to test.
    same = squares <= 1e-12 * (gram[i, i] + gram[j, j])
    scale = np.where(same, np.inf, n * squares)
    sums = centred.sum(axis=0)
    # u = t^2 / (t^2 + n - 1) rises with |t| and stays finite where all differences are equal.
    u = np.minimum((sums[i] - sums[j]) ** 2 / scale, 1.0)
    order = np.argsort(u, kind="stable")
    i, j, u, scale = i[order], j[order], u[order], scale[order]
    stepped = _step_down(centred, (i, j), u, scale, _signs(n, min(flips, max(200, _WORK // i.size)), seed))
    with np.errstate(divide="ignore"):
        plain = 2 * special.stdtr(n - 1, -np.sqrt((n - 1) * u / (1 - u)))
    yes = np.flatnonzero(np.maximum(stepped, adjust(plain)) <= alpha)
    ahead = sums[i[yes]] > sums[j[yes]]
    return np.where(ahead, i[yes], j[yes]), np.where(ahead, j[yes], i[yes])


def _signs(n: int, flips: int, seed: int) -> Floats:
    """Patterns of signs, the observed one first; a pattern and its opposite give the same statistic."""
    if n <= _ALL_FLIPS:
        bits = (np.arange(2 ** (n - 1))[:, None] >> np.arange(n)) & 1
        return np.where(bits == 1, -1.0, 1.0)
    signs: Floats = np.random.default_rng(seed).choice(np.array([-1.0, 1.0]), size=(max(1, flips), n))
    signs[0] = 1.0
    return signs


def _step_down(
    centred: Floats, pairs: tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]], u: Floats, scale: Floats, signs: Floats
) -> Floats:
    """Adjusted p of pairs that are sorted by their statistic ``u``."""
    i, j = pairs
    hits = np.zeros(u.size)
    bar = u * (1 - 1e-9)  # equal statistics compare as equal
    step = max(1, _CHUNK // u.size)
    for start in range(0, len(signs), step):
        sums = signs[start : start + step] @ centred
        flipped = sums.take(i, axis=1)
        flipped -= sums.take(j, axis=1)
        flipped *= flipped
        flipped /= scale
        np.maximum.accumulate(flipped, axis=1, out=flipped)
        hits += (flipped >= bar).sum(axis=0)
    monotone: Floats = np.maximum.accumulate(hits[::-1])[::-1] / len(signs)
    return monotone
