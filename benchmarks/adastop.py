"""AdaStop in short: a group-sequential permutation test for several agents (Mathieu et al. 2023), written anew.

Scores are compared by the absolute difference of sums. In every interim, the scores that two agents got in
it are permuted between them. The largest statistic over the comparisons still open is held against a
bound, found from the permutations that no earlier interim has rejected, such that ``alpha / interims`` is
spent per interim; after a rejection the bound is found again for those that are left. What is left at the
last interim is called equal; here it counts as undecided, because no test has shown it.
"""

from __future__ import annotations

import numpy as np


def adastop(
    scores: np.ndarray, pairs: list[tuple[int, int]], *, per_interim: int, interims: int, alpha: float = 0.05,
    permutations: int = 1000, seed: int = 0,
) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
    """Return which pairs of ``scores[model, seed]`` differ, and how many seeds each model was run."""
    rng = np.random.default_rng(seed)
    m, n = len(pairs), per_interim
    first, second = (list(side) for side in zip(*pairs, strict=True))
    sums = np.zeros((permutations, m))  # row 0: as observed
    alive = np.ones((permutations, m), dtype=bool)  # permutations that no bound so far would have rejected
    different, seeds = np.zeros(m, dtype=bool), np.full(len(scores), n)
    for k in range(interims):
        block = scores[:, k * n : (k + 1) * n]
        both = np.concatenate([block[first], block[second]], axis=1)
        order = np.argsort(rng.random((permutations, 2 * n)), axis=1)
        order[0] = np.arange(2 * n)
        sign = np.where(order < n, 1.0, -1.0)
        sums += sign @ both.T
        for model in range(len(scores)):
            if any(model in pair and not done for pair, done in zip(pairs, different, strict=True)):
                seeds[model] = (k + 1) * n
        while not different.all():
            left = np.flatnonzero(~different)
            unseen = alive[:, left].all(axis=1)
            largest = np.where(unseen, np.abs(sums[:, left]).max(axis=1), -np.inf)
            allowed = int(alpha / interims * permutations)
            bound = np.sort(largest)[::-1][allowed]
            top = left[np.abs(sums[0, left]).argmax()]
            if not np.abs(sums[0, top]) > bound:
                alive[:, left] &= (np.abs(sums[:, left]).max(axis=1) <= bound)[:, None]
                break
            different[top] = True
        if different.all():
            break
    return different, seeds
