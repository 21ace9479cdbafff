"""Permutation nulls of two-sample statistics, sorted once and counted in integers.

All statistics are exact integers, so "at least as extreme" needs no tolerance for rounding.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from graphnetz._core.errors import UsageError

Array = npt.NDArray[np.float64]
Labels = npt.NDArray[np.int8]
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class TwoSample:
    """Two samples pooled and sorted.

    ``ends`` marks the last position of every tied stretch, ``ranks`` are doubled mid-ranks, and
    ``is_a`` tells which positions the first sample holds.
    """

    n_a: int
    n_b: int
    order: Ints = field(repr=False)
    is_a: Labels = field(repr=False)
    ends: Ints = field(repr=False)
    ranks: Ints = field(repr=False)

    @classmethod
    def of(cls, a: Array, b: Array) -> TwoSample:
        """Pool and sort."""
        pooled = np.concatenate([a, b])
        order = np.argsort(pooled, kind="stable")
        ordered = pooled[order]
        last = np.append(ordered[1:] != ordered[:-1], True)
        ends = np.flatnonzero(last)
        first = np.concatenate([[0], ends[:-1] + 1])
        ranks = np.repeat(first + ends + 2, ends - first + 1)
        return cls(len(a), len(b), order, (order < len(a)).astype(np.int8), ends, ranks)


def ks_counts(sample: TwoSample, labels: Labels) -> Ints:
    """Return n_a n_b D for every row of labels (positions in sorted order)."""
    total = sample.n_a + sample.n_b
    cumulative = np.cumsum(labels, axis=1, dtype=np.int32)
    if len(sample.ends) < total:
        cumulative = cumulative[:, sample.ends]
    cumulative *= total
    cumulative -= ((sample.ends + 1) * sample.n_a).astype(np.int32)
    largest = np.maximum(cumulative.max(axis=1), -cumulative.min(axis=1))
    return np.asarray(largest, dtype=np.int64)


def ranksum_counts(sample: TwoSample, labels: Labels) -> Ints:
    """Return twice the distance of the first sample's rank sum from its expectation."""
    total = sample.n_a + sample.n_b
    sums = labels.astype(np.float64) @ sample.ranks.astype(np.float64)  # exact: far below 2^53
    return np.abs(sums.astype(np.int64) - sample.n_a * (total + 1))


COUNTS: dict[str, Callable[[TwoSample, Labels], Ints]] = {"ks": ks_counts, "ranksum": ranksum_counts}


def ks_statistic(sample: TwoSample) -> float:
    """Two-sided Kolmogorov-Smirnov distance."""
    return float(ks_counts(sample, sample.is_a[None])[0]) / (sample.n_a * sample.n_b)


def ranksum_statistic(sample: TwoSample) -> float:
    """Standardised rank sum of the first sample (normal approximation with tie correction)."""
    total = sample.n_a + sample.n_b
    ranks = sample.ranks / 2
    spread = sample.n_a * sample.n_b * np.var(ranks) * total / (total - 1) / total if total > 1 else 0.0
    centred = float(ranks[sample.is_a == 1].sum()) - sample.n_a * (total + 1) / 2
    return centred / float(np.sqrt(spread)) if spread > 0 else 0.0


STATISTICS: dict[str, Callable[[TwoSample], float]] = {"ks": ks_statistic, "ranksum": ranksum_statistic}


def free_labels(n_a: int, n_b: int, *, size: int, rng: np.random.Generator) -> Labels:
    """Draw label rows with ``n_a`` ones among ``n_a + n_b`` places, all arrangements equally likely."""
    rows = np.zeros((size, n_a + n_b), dtype=np.int8)
    rows[:, :n_a] = 1
    return rng.permuted(rows, axis=1, out=rows)


def blocked_labels(block_a: Ints, block_b: Ints, *, size: int, rng: np.random.Generator) -> Labels:
    """Draw label rows for the pooled samples in which labels move within a block only."""
    blocks = np.concatenate([block_a, block_b])
    labels = np.concatenate([np.ones(len(block_a), np.int8), np.zeros(len(block_b), np.int8)])
    rows = np.empty((size, len(blocks)), dtype=np.int8)
    for block in np.unique(blocks):
        where = np.flatnonzero(blocks == block)
        inside = np.broadcast_to(labels[where], (size, len(where))).copy()
        rows[:, where] = rng.permuted(inside, axis=1)
    return rows


def paired_labels(n: int, *, size: int, rng: np.random.Generator) -> Labels:
    """Draw label rows for n pairs (first samples first) in which each pair is swapped or not."""
    kept = rng.integers(0, 2, size=(size, n), dtype=np.int8)
    return np.concatenate([kept, 1 - kept], axis=1)


def swapped_blocks(block_a: Ints, block_b: Ints, *, size: int, rng: np.random.Generator) -> Labels:
    """Draw label rows in which all runs of a block change sides together."""
    names = np.unique(np.concatenate([block_a, block_b]))
    in_a, in_b = (np.bincount(np.searchsorted(names, item), minlength=len(names)) for item in (block_a, block_b))
    if not np.array_equal(in_a, in_b):
        raise UsageError(
            "Exchanging whole blocks needs equally many runs of both modes in every block. Leave out the runs that one "
            "of them lacks, or give exchange='runs' where runs of a block are independent."
        )
    kept = rng.integers(0, 2, size=(size, len(names)), dtype=np.int8)
    return np.concatenate(
        [kept[:, np.searchsorted(names, block_a)], 1 - kept[:, np.searchsorted(names, block_b)]], axis=1
    )


def permutation_p(observed: int, null: Ints) -> float:
    """Return (1 + #{null >= observed}) / (1 + B): never zero, valid at every level."""
    # The data count as one of the permutations, so that p is never 0 (Phipson and Smyth 2010).
    return (1 + int((null >= observed).sum())) / (1 + len(null))


def signed_rank_p(differences: Array) -> tuple[float, float, int]:
    """Return (rank sum of positive differences, exact two-sided p, pairs after dropping zeros).

    The null counts all sign patterns of the mid-ranks by one pass over the pairs; p is NaN when no
    difference is left.
    """
    kept = differences[differences != 0]
    n = len(kept)
    if n == 0:
        return 0.0, float("nan"), 0
    sample = TwoSample.of(np.abs(kept), np.empty(0))
    doubled = np.empty(n, dtype=np.int64)
    doubled[sample.order] = sample.ranks
    total = int(doubled.sum())
    chance = np.zeros(total + 1)
    chance[0] = 1.0
    for rank in doubled:
        shifted = np.zeros_like(chance)
        shifted[rank:] = chance[: len(chance) - rank]
        chance = (chance + shifted) / 2
    positive = int(doubled[kept > 0].sum())
    far = np.abs(2 * np.arange(total + 1) - total) >= abs(2 * positive - total)
    return positive / 2, float(min(1.0, chance[far].sum())), n


def bootstrap_means(values: Array, *, size: int, rng: np.random.Generator) -> Array:
    """Return means of ``size`` resamples with replacement."""
    drawn = values[rng.integers(len(values), size=(size, len(values)))]
    return np.asarray(drawn.mean(axis=1))


def paired_bootstrap_means(samples: Sequence[Array], *, size: int, rng: np.random.Generator) -> list[Array]:
    """Resample runs jointly, so that samples keep their pairing."""
    index = rng.integers(len(samples[0]), size=(size, len(samples[0])))
    return [values[index].mean(axis=1) for values in samples]
