"""Models ranked across tasks: Friedman, Nemenyi, pairwise Wilcoxon, stability of the order."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations

import numpy as np
import numpy.typing as npt
from scipy import special

from graphnetz._core.errors import UsageError
from graphnetz.stats._common import RELATIVE_TOLERANCE, Bools, Floats, check_share, mid_ranks, score_table
from graphnetz.stats.corrections import adjust
from graphnetz.stats.paired import paired_test

# Ranks permuted at a time: 32 MB, however many permutations are asked for.
_CHUNK = 4_000_000


@dataclass(frozen=True, eq=False)
class FriedmanResult:
    """Omnibus test that all models rank alike.

    Attributes
    ----------
    n, k
        Tasks and models.
    mean_ranks
        Mean rank of each model; 1 is best.
    chi2, p_chi2
        The statistic without tie correction (GraphNetz paper, eq. 6) and its chi-square p.
    chi2_ties, p_ties
        The same corrected for ties.
    f, p_f
        The Iman-Davenport statistic built on ``chi2_ties``, and its p.
    p_permutation
        p from permuting ranks within tasks; NaN where it was not needed.
    p, rejected, alpha
        The p that decides, the decision and its level.
    decided_by
        Where ``p`` comes from: ``"permutation"`` below 10 tasks or 5 models, where the
        approximations are off, and ``"f"`` otherwise.
    reason
        Why there is no test; empty otherwise.

    Examples
    --------
    >>> from graphnetz.stats import friedman
    >>> result = friedman([[1, 2, 3], [1, 2, 3], [1, 3, 2], [1, 2, 3]])
    >>> result.decided_by, result.rejected
    ('permutation', True)
    """

    n: int
    k: int
    mean_ranks: Floats
    chi2: float
    p_chi2: float
    chi2_ties: float
    p_ties: float
    f: float
    p_f: float
    p_permutation: float
    p: float
    rejected: bool
    alpha: float
    decided_by: str
    reason: str = ""


@dataclass(frozen=True, eq=False)
class NemenyiResult:
    """Critical difference of mean ranks.

    Attributes
    ----------
    cd
        Critical difference: mean ranks further apart than this differ.
    q, alpha
        Studentised range quantile over the square root of 2, and the level it belongs to.
    order
        Model indices from best to worst mean rank.
    cliques
        The maximal runs of two or more models, in that order, whose mean ranks span at most ``cd``:
        no two models of a clique can be told apart. A model in no clique differs from every other.

    Examples
    --------
    >>> from graphnetz.stats import nemenyi
    >>> nemenyi([1.2, 2.0, 2.8], 10).cliques
    ((0, 1), (1, 2))
    """

    cd: float
    q: float
    alpha: float
    order: tuple[int, ...]
    cliques: tuple[tuple[int, ...], ...]


@dataclass(frozen=True, eq=False)
class WilcoxonHolmResult:
    """Pairwise Wilcoxon tests over tasks with Holm correction (Benavoli et al. 2016).

    Attributes
    ----------
    pairs
        Index pairs of models, in the order of the arrays below.
    p_raw, p_adjusted, rejected
        p before and after Holm's correction, and whether the pair differs at ``alpha``.
    mean_ranks, order
        Mean rank of each model, and model indices from best to worst.
    cliques
        Maximal sets of two or more models of which no two differ, each in that order. A test that is not about ranks
        may tell apart two models that both tie with a third between them, so a clique may leave models out.
    alpha
        Family-wise level.
    reason
        Why no pair could differ, when the tasks are too few; empty otherwise.

    Examples
    --------
    >>> from graphnetz.stats import wilcoxon_holm
    >>> wilcoxon_holm([[0.9, 0.8], [0.7, 0.6], [0.8, 0.6]], [True] * 3).reason
    '3 tasks cannot reach 0.05 after Holm over 1 pairs, whatever the scores'
    """

    pairs: tuple[tuple[int, int], ...]
    p_raw: Floats
    p_adjusted: Floats
    rejected: Bools
    mean_ranks: Floats
    order: tuple[int, ...]
    cliques: tuple[tuple[int, ...], ...]
    alpha: float
    reason: str = ""


@dataclass(frozen=True, eq=False)
class RankStability:
    """How mean ranks move when these tasks are drawn again with replacement.

    ``p_best`` is no probability that a model is best on tasks of this kind: read for the model that came out first, it
    is too high, because that model was picked by the same tasks. `rank_sets` says which places are left open.

    Attributes
    ----------
    p_best
        Share of resampled task lists in which each model has the best mean rank (ties shared).
    mean_rank_low, mean_rank_high
        Percentile interval of each mean rank.
    p_order
        ``[i, j]``: share in which i ranks better than j (a tie counts half; 0.5 on the diagonal).

    Examples
    --------
    >>> from graphnetz.stats import rank_stability
    >>> rank_stability([[0.9, 0.8], [0.7, 0.6], [0.5, 0.6]], [True] * 3).p_order.shape
    (2, 2)
    """

    p_best: Floats
    mean_rank_low: Floats
    mean_rank_high: Floats
    p_order: Floats


def rank_rows(values: npt.ArrayLike, greater_is_better: Sequence[bool]) -> Floats:
    """Rank the models of every task; 1 is best, ties share their mean rank.

    Parameters
    ----------
    values
        Scores ``[task, model]`` without NaN.
    greater_is_better
        One direction per task.

    Returns
    -------
    ndarray
        Ranks ``[task, model]``. Scores that differ by rounding only are ties.

    Examples
    --------
    >>> from graphnetz.stats import rank_rows
    >>> rank_rows([[0.8, 0.9, 0.8], [1.0, 2.0, 3.0]], [True, False]).tolist()
    [[2.5, 1.0, 2.5], [1.0, 2.0, 3.0]]
    """
    table, better = score_table(values, greater_is_better)
    signed = np.where(better[:, None], -table, table)
    rows = [mid_ranks(row, RELATIVE_TOLERANCE * np.abs(row)) for row in signed]
    return np.array(rows).reshape(table.shape)


def friedman_chi2(mean_ranks: npt.ArrayLike, n: int) -> float:
    """Friedman's statistic of mean ranks, without tie correction.

    Parameters
    ----------
    mean_ranks
        Mean rank of each model.
    n
        Number of tasks the means rest on.

    Returns
    -------
    float
        Compare with a chi-square of k - 1 degrees of freedom for k models.

    Examples
    --------
    >>> from graphnetz.stats import friedman_chi2
    >>> friedman_chi2([1.0, 2.0, 3.0], 10)
    20.0
    """
    means = np.asarray(mean_ranks, dtype=np.float64)
    k = means.size
    return float(12 * n / (k * (k + 1)) * ((means**2).sum() - k * (k + 1) ** 2 / 4))


def friedman(
    ranks: npt.ArrayLike,
    *,
    alpha: float = 0.05,
    permutations: int = 10_000,
    seed: int = 0,
) -> FriedmanResult:
    """Test whether the models' mean ranks differ more than chance allows.

    Parameters
    ----------
    ranks
        Output of `rank_rows`, ``[task, model]``.
    alpha
        Level of the decision.
    permutations, seed
        Number and seed of the within-task permutations used below 10 tasks or 5 models.

    Returns
    -------
    FriedmanResult
        Statistics, p-values and the decision; NaN with a reason below 2 tasks or 2 models.

    Examples
    --------
    >>> from graphnetz.stats import friedman, rank_rows
    >>> ranks = rank_rows([[0.9, 0.8, 0.7]] * 6, [True] * 6)
    >>> friedman(ranks).rejected
    True
    """
    check_share(alpha, "alpha")
    table = np.asarray(ranks, dtype=np.float64)
    if table.ndim != 2:
        raise UsageError(f"ranks have {table.ndim} dimensions; pass a table of tasks x models from rank_rows.")
    n, k = table.shape
    means = table.mean(axis=0) if n else np.full(k, math.nan)
    if n < 2 or k < 2:
        reason = f"ranking needs at least 2 tasks and 2 models, here {n} and {k}"
        return _no_friedman(n, k, means, alpha, reason)
    chi2 = max(0.0, friedman_chi2(means, n))
    spread = (table**2).sum() - n * k * (k + 1) ** 2 / 4
    if spread <= 0:
        return _no_friedman(n, k, means, alpha, "all models tie on every task")
    chi2_ties = float((k - 1) * n**2 * ((means - (k + 1) / 2) ** 2).sum() / spread)
    room = n * (k - 1) - chi2_ties
    # Every task giving the same order leaves no residual: F is infinite and its p is 0.
    f = (n - 1) * chi2_ties / room if room > 1e-9 else math.inf
    p_f = float(special.fdtrc(k - 1, (k - 1) * (n - 1), f)) if math.isfinite(f) else 0.0
    # Below this the chi-square and F approximations miss their level (see the statistics page).
    small = n < 10 or k < 5
    p_permutation = _friedman_permutation(table, permutations, seed) if small else math.nan
    p = p_permutation if small else p_f
    p_chi2, p_ties = (float(special.chdtrc(k - 1, value)) for value in (chi2, chi2_ties))
    decided_by = "permutation" if small else "f"
    forms = (chi2, p_chi2, chi2_ties, p_ties, f, p_f, p_permutation)
    return FriedmanResult(n, k, means, *forms, p, p <= alpha, alpha, decided_by)


def nemenyi(mean_ranks: npt.ArrayLike, n: int, *, alpha: float = 0.05) -> NemenyiResult:
    """Return the Nemenyi critical difference of ``n`` tasks and the cliques it leaves.

    Read it only after `friedman` rejected. Two models differ when their mean ranks are more than
    ``cd`` apart; q is the studentised range quantile over the square root of 2 (Demsar 2006).

    Parameters
    ----------
    mean_ranks
        Mean rank of each model.
    n
        Number of tasks.
    alpha
        Family-wise level over all pairs.

    Returns
    -------
    NemenyiResult
        Critical difference, order and cliques.

    Examples
    --------
    >>> from graphnetz.stats import nemenyi
    >>> round(nemenyi([1.2, 2.0, 2.8], 10).cd, 3)
    1.048
    """
    check_share(alpha, "alpha")
    means = np.asarray(mean_ranks, dtype=np.float64)
    k = means.size
    if k < 2 or n < 1:
        raise UsageError(f"A critical difference needs at least 2 models and 1 task, here {k} and {n}.")
    q = _nemenyi_q(k, alpha)
    cd = q * math.sqrt(k * (k + 1) / (6 * n))
    order = _order(means)
    # A span that equals cd up to rounding is still inside: the rule is "more than cd apart".
    cliques = _runs(order, lambda i, j: bool(abs(means[i] - means[j]) <= cd * (1 + 1e-12)))
    return NemenyiResult(cd, q, alpha, order, cliques)


def wilcoxon_holm(values: npt.ArrayLike, greater_is_better: Sequence[bool], alpha: float = 0.05) -> WilcoxonHolmResult:
    """Compare every two models over tasks by the Wilcoxon signed-rank test with Holm correction.

    Unlike Nemenyi, the verdict on two models does not depend on which others were ranked with them
    (Benavoli et al. 2016). It ranks score differences between tasks, so it assumes that a large
    difference on one task is comparable with a large one on another.

    Parameters
    ----------
    values
        Scores ``[task, model]`` without NaN.
    greater_is_better
        One direction per task.
    alpha
        Family-wise level.

    Returns
    -------
    WilcoxonHolmResult
        p-values per pair, and the cliques of models that do not differ.

    Examples
    --------
    >>> from graphnetz.stats import wilcoxon_holm
    >>> scores = [[0.80 + 0.01 * task, 0.70] for task in range(8)]
    >>> wilcoxon_holm(scores, [True] * 8).p_adjusted.tolist()
    [0.0078125]
    """
    check_share(alpha, "alpha")
    table, better = score_table(values, greater_is_better)
    signed = np.where(better[:, None], table, -table)
    k = table.shape[1]
    pairs = tuple(combinations(range(k), 2))
    tests = [paired_test(signed[:, i], signed[:, j], method="wilcoxon") for i, j in pairs]
    raw = np.array([test.p for test in tests], dtype=np.float64)
    adjusted = adjust(raw)
    rejected = adjusted <= alpha
    apart = {pair for pair, yes in zip(pairs, rejected, strict=True) if yes}
    means = rank_rows(table, greater_is_better).mean(axis=0)
    order = _order(means)
    cliques = _maximal_cliques(order, lambda i, j: (min(i, j), max(i, j)) not in apart)
    # The signed-rank test of n tasks cannot give less than 2^(1-n), and Holm multiplies the first by all pairs.
    smallest = 2.0 ** (1 - table.shape[0]) * len(pairs)
    reason = ""
    if smallest > alpha:
        reason = f"{table.shape[0]} tasks cannot reach {alpha} after Holm over {len(pairs)} pairs, whatever the scores"
    return WilcoxonHolmResult(pairs, raw, adjusted, rejected, means, order, cliques, alpha, reason)


def rank_stability(
    values: npt.ArrayLike,
    greater_is_better: Sequence[bool],
    *,
    n_resamples: int = 2000,
    level: float = 0.95,
    seed: int = 0,
) -> RankStability:
    """Resample the tasks with replacement and see how the mean ranks move.

    Parameters
    ----------
    values
        Scores ``[task, model]`` without NaN.
    greater_is_better
        One direction per task.
    n_resamples, seed
        Number and seed of the resampled task lists.
    level
        Coverage of the intervals of the mean ranks.

    Returns
    -------
    RankStability
        Shares and intervals, one entry per model.

    Examples
    --------
    >>> from graphnetz.stats import rank_stability
    >>> rank_stability([[0.9, 0.8], [0.7, 0.6], [0.5, 0.6]], [True] * 3).p_best.round(2).tolist()
    [0.74, 0.26]
    """
    check_share(level, "level")
    ranks = rank_rows(values, greater_is_better)
    n, k = ranks.shape
    if n == 0 or n_resamples < 1:
        raise UsageError(f"Rank stability needs at least 1 task and 1 resample, here {n} and {n_resamples}.")
    # Twice a rank sum is a whole number, so ties between models are exact.
    weights = np.random.default_rng(seed).multinomial(n, np.full(n, 1 / n), size=n_resamples)
    sums = np.rint(weights @ (2 * ranks))
    best = sums == sums.min(axis=1, keepdims=True)
    p_best = (best / best.sum(axis=1, keepdims=True)).mean(axis=0)
    p_order = np.empty((k, k))
    for i in range(k):  # one model at a time keeps memory at resamples x models
        mine = sums[:, i : i + 1]
        p_order[i] = ((mine < sums) + 0.5 * (mine == sums)).mean(axis=0)
    low, high = np.quantile(sums / (2 * n), [(1 - level) / 2, (1 + level) / 2], axis=0)
    return RankStability(p_best, low, high, p_order)


@lru_cache(maxsize=256)
def _nemenyi_q(k: int, alpha: float) -> float:
    from scipy.stats import studentized_range  # half a second, which a report of one task does without

    return float(studentized_range.ppf(1 - alpha, k, np.inf)) / math.sqrt(2)


def _order(mean_ranks: Floats) -> tuple[int, ...]:
    return tuple(int(i) for i in np.argsort(mean_ranks, kind="stable"))


def _runs(order: tuple[int, ...], together: Callable[[int, int], bool]) -> tuple[tuple[int, ...], ...]:
    """Maximal runs of ``order`` in which every two models are ``together``."""
    runs: list[tuple[int, int]] = []
    for start in range(len(order)):
        stop = start + 1
        while stop < len(order) and all(together(order[i], order[stop]) for i in range(start, stop)):
            stop += 1
        # A run that ends where an earlier one ends is part of it.
        if stop - start > 1 and (not runs or stop > runs[-1][1]):
            runs.append((start, stop))
    return tuple(order[start:stop] for start, stop in runs)


def _maximal_cliques(order: tuple[int, ...], together: Callable[[int, int], bool]) -> tuple[tuple[int, ...], ...]:
    """Maximal sets of two or more models that are pairwise ``together`` (Bron and Kerbosch 1973, with pivots)."""
    k = len(order)
    near = [{j for j in range(k) if j != i and together(order[i], order[j])} for i in range(k)]
    found: list[tuple[int, ...]] = []
    stack: list[tuple[tuple[int, ...], set[int], set[int]]] = [((), set(range(k)), set())]
    while stack:
        members, free, seen = stack.pop()
        if not free and not seen and len(members) > 1:
            found.append(tuple(sorted(members)))
        if not free:
            continue
        pivot = max(free | seen, key=lambda v: len(near[v] & free))
        for v in free - near[pivot]:
            stack.append(((*members, v), free & near[v], seen & near[v]))
            free, seen = free - {v}, seen | {v}
    return tuple(tuple(order[i] for i in clique) for clique in sorted(found))


def _friedman_permutation(ranks: Floats, permutations: int, seed: int) -> float:
    """Share of within-task permutations whose rank sums spread at least as much as the observed."""
    if permutations < 1:
        raise UsageError(f"permutations={permutations} is too small; pass at least 1, better 10,000.")
    rng = np.random.default_rng(seed)
    doubled = np.rint(2 * ranks)  # whole numbers: equal statistics compare as equal
    observed = (doubled.sum(axis=0) ** 2).sum()
    step = max(1, _CHUNK // doubled.size)
    hits = 0
    for start in range(0, permutations, step):
        block = np.broadcast_to(doubled, (min(step, permutations - start), *doubled.shape))
        sums = rng.permuted(block, axis=2).sum(axis=1)
        hits += int(((sums**2).sum(axis=1) >= observed).sum())
    # The data count as one of the permutations, so that p is never 0 (Phipson and Smyth 2010).
    return (1 + hits) / (1 + permutations)


def _no_friedman(n: int, k: int, means: Floats, alpha: float, reason: str) -> FriedmanResult:
    nan = math.nan
    return FriedmanResult(n, k, means, nan, nan, nan, nan, nan, nan, nan, nan, False, alpha, "none", reason)
