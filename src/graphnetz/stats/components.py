"""Where the spread of a difference comes from: seeds, splits, examples, and what is left."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import special

from graphnetz._core.errors import UsageError
from graphnetz.stats._common import RELATIVE_TOLERANCE, Bools, Floats
from graphnetz.stats.intervals import student_quantile

MIN_BLOCKS = 50
"""Fewer communities than this say too little about how their own sums vary."""

MIN_ROWS = 5
"""Fewer rows often vary less than their own examples make them vary; then the latter is counted, as a floor."""

Ints = npt.NDArray[np.int64]
_NAN = math.nan


@dataclass(frozen=True)
class CrossedResult:
    """A mean difference for new examples, splits and initialisations, and the components of its variance.

    Attributes
    ----------
    mean, error, df, p
        Mean over splits of the mean over their test examples, its standard error with Satterthwaite's degrees of
        freedom, and the two-sided p of a mean of 0.
    seed, split, example, rest
        Variances of one (seed, example) value, at least 0. ``split`` is NaN where it cannot be told from ``seed``,
        ``rest`` where it cannot be told from ``example`` (no example was tested twice); the other one holds both.
    seed_share, split_share, example_share, rest_share
        What each brings to the variance of the mean, as shares of 1.
    rows_error
        Standard error of the mean over rows alone, as if no two rows shared an example.
    n_rows
        Units that were taken as independent rows: splits where there are several with several seeds each, else seeds.
    n_seeds, n_splits, n_examples
        How many there are.
    n_tested, pool
        Test examples of one seed, and how many examples the splits draw them from, as their overlap tells (infinite
        where no two share one).
    widest
        Which variance of shared examples was the widest: ``"iid"``, ``"blocks"`` or ``"dyadic"``.
    reason
        Why there is no error; empty otherwise.

    Examples
    --------
    >>> crossed_components([[1, 0, 1, 0], [1, 1, 0, 0]], [0, 0]).mean
    0.5
    """

    mean: float = _NAN
    error: float = _NAN
    df: float = _NAN
    p: float = _NAN
    seed: float = _NAN
    split: float = _NAN
    example: float = _NAN
    rest: float = _NAN
    seed_share: float = _NAN
    split_share: float = _NAN
    example_share: float = _NAN
    rest_share: float = _NAN
    rows_error: float = _NAN
    n_rows: int = 0
    n_seeds: int = 0
    n_splits: int = 0
    n_examples: int = 0
    n_tested: float = _NAN
    pool: float = _NAN
    widest: str = "iid"
    reason: str = ""


@dataclass(frozen=True, eq=False)
class Design:
    """Who tested what: all that pairs of models with the same finished cells share; made by `design`."""

    seeds: Ints
    columns: Ints
    group: Ints
    counts: Ints
    there: Bools
    n: Floats
    reuse: float
    spread: float
    blocks: Ints | None
    nodes: Ints | None
    dyads: Ints | None

    @property
    def averaged(self) -> bool:
        """Whether several seeds share each of several splits, so that rows are splits."""
        return 1 < len(self.counts) < len(self.seeds)


def design(
    there: npt.ArrayLike, splits: Sequence[int], *, blocks: npt.ArrayLike | None = None,
    ends: npt.ArrayLike | None = None, nested: bool = False,
) -> Design:  # fmt: skip
    """Return what a table of seeds x examples shares between all pairs that were tested on the same cells.

    Parameters
    ----------
    there
        ``[seed, example]``: whether the example was tested by the seed.
    splits
        Number of the split of every seed; equal numbers mean the same test examples.
    blocks, ends
        Community of every example, and the two nodes of every pair, where examples of one graph depend on each other.
    nested
        Whether every seed drew examples of its own, so that equal columns are not the same example.

    Returns
    -------
    Design
        For `crossed_components`.

    Examples
    --------
    >>> design([[True, True, False], [False, True, True]], [0, 1]).reuse
    0.25
    """
    mask = np.asarray(there, dtype=np.bool_)
    if mask.ndim != 2 or len(splits) != mask.shape[0]:
        raise UsageError(
            f"The table has shape {mask.shape} and {len(splits)} splits were given; pass an array "
            "[seed, example] and one split per seed."
        )
    seeds, columns = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
    _, group, counts = np.unique(np.asarray(splits)[seeds], return_inverse=True, return_counts=True)
    mask = mask if len(seeds) == mask.shape[0] and len(columns) == mask.shape[1] else mask[np.ix_(seeds, columns)]
    averaged = 1 < len(counts) < len(seeds)
    rows = mask[np.unique(group, return_index=True)[1]] if averaged else mask
    n = rows.sum(axis=1).astype(np.float64)
    reuse, spread = _overlap(rows, n, nested=nested)
    block = None if blocks is None or nested else _numbered(np.asarray(blocks)[columns])
    nodes = dyads = None
    if ends is not None and not nested:
        pairs = np.sort(np.asarray(ends)[columns], axis=1)
        nodes = _numbered(pairs).reshape(pairs.shape)
        dyads = _numbered(nodes[:, 0] * (nodes.max(initial=0) + 1) + nodes[:, 1])
    return Design(seeds, columns, group, counts, rows, n, reuse, spread, block, nodes, dyads)


def _numbered(values: npt.NDArray[np.int64]) -> Ints:
    return np.unique(values, return_inverse=True)[1].astype(np.int64)


def _overlap(rows: Bools, n: Floats, *, nested: bool) -> tuple[float, float]:
    """Mean of o / (n n') over pairs of rows that share o examples, and what their products of residuals add up to."""
    count = len(n)
    if count < 2 or nested:
        return 0.0, 0.0
    full = rows.astype(np.float32)
    shared = (full @ full.T).astype(np.float64)
    product = np.outer(n, n)
    # A residual is taken from the mean of its own row, which holds the example itself.
    expected = shared * (1 - 1 / n[:, None] - 1 / n[None, :] + shared / product)
    off = ~np.eye(count, dtype=np.bool_)
    return float((shared / product)[off].mean()), float(expected[off].sum())


def crossed_components(
    d: npt.ArrayLike, splits: Sequence[int], *, blocks: npt.ArrayLike | None = None,
    ends: npt.ArrayLike | None = None, nested: bool = False, given: Design | None = None,
) -> CrossedResult:  # fmt: skip
    """Estimate a mean difference for new examples, splits and initialisations, with components of its variance.

    Parameters
    ----------
    d
        Differences of contributions ``[seed, example]`` of two models, NaN where the example was not tested.
    splits
        Number of the split of every seed; equal numbers mean the same test examples.
    blocks, ends
        Community of every example (used from 50 communities on), and the two nodes of every pair: examples of one
        graph depend on each other, and the widest of the variances is taken.
    nested
        Whether every seed drew examples of its own.
    given
        The `design` of this table, where many pairs share it.

    Returns
    -------
    CrossedResult
        By the method of moments.

    Notes
    -----
    Rows are independent but for the examples they share. With S2 the sample variance of R row means and c the mean
    covariance of two row means, S2 has expectation var - c, so the mean of the rows has variance S2 / R + c. Only c
    needs a model: the product of two residuals of one example for independent examples, of two sums over a community,
    or of two pairs with a common node (Aronow, Samii and Assenova 2015).

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> found = crossed_components(rng.normal(0.1, 1, 500) + rng.normal(0, 0.1, (10, 1)), [0] * 10)
    >>> round(found.example, 1), round(found.seed, 2), found.n_examples
    (1.0, 0.01, 500)
    """
    table = np.asarray(d, dtype=np.float64)
    plan = given or design(np.isfinite(table), splits, blocks=blocks, ends=ends, nested=nested)
    if len(plan.seeds) != table.shape[0] or len(plan.columns) != table.shape[1]:
        table = table[np.ix_(plan.seeds, plan.columns)]
    sizes: dict[str, Any] = {"n_seeds": len(plan.seeds), "n_splits": len(plan.counts), "n_examples": len(plan.columns)}
    if not len(plan.seeds):
        return CrossedResult(reason="the two models share no seed")
    y = _split_rows(table, plan) if plan.averaged else table
    y = y if plan.there.all() else np.where(plan.there, y, 0.0)
    means = y.sum(axis=1) / plan.n
    mean, count = float(means.mean()), len(means)
    if count < 2:
        return CrossedResult(mean, n_rows=count, **sizes, reason="one seed does not tell how seeds vary")
    z = np.where(plan.there, y - means[:, None], 0.0)
    between = float(means.var(ddof=1))
    shared, uncertainty, widest, example = _shared_variance(z, plan)
    parts = _parts(table, z, plan, between=between, example=example, shared=shared)
    if count < MIN_ROWS:
        between = between - min(0.0, parts["row"][0])
    variance = between / count + shared
    del parts["row"]
    total = sum(v for _, v in parts.values() if v > 0)
    shares = _shares(parts, total, "split" if plan.averaged else "seed", between / count, count)
    values: dict[str, Any] = {name: max(0.0, v) if v == v else v for name, (v, _) in parts.items()}
    found = CrossedResult(
        mean, **values, **shares,
        rows_error=math.sqrt(between / count), n_rows=count, **sizes, n_tested=float(plan.n.mean()),
        pool=1 / plan.reuse if plan.reuse > 0 else math.inf, widest=widest,
    )  # fmt: skip
    if math.sqrt(variance) <= RELATIVE_TOLERANCE * float(np.abs(means).max()):
        return _constant(found)
    df = variance**2 / ((between / count) ** 2 / (count - 1) + uncertainty / 2)
    error = math.sqrt(variance)
    p = float(2 * special.stdtr(df, -abs(mean) / error))
    return replace(found, error=error, df=df, p=p)


def _shares(parts: dict[str, tuple[float, float]], total: float, few: str, brought: float, rows: int) -> dict[str, Any]:
    """Shares of 1. A variance of ``few`` rows is right on average, its share of a total that holds it is too small.

    The second-order term of that ratio is added to it and taken from the others.
    """
    if not total > 0:
        return {f"{name}_share": _NAN for name in parts}
    shares = {name: max(0.0, v) / total for name, (_, v) in parts.items()}
    if 0 < (own := shares[few]) < 1:
        more = (1 - own) * min(1.0, 2 * (brought / total) ** 2 / (rows + 1))
        shares = {name: v + more if name == few else v * (1 - own - more) / (1 - own) for name, v in shares.items()}
    return {f"{name}_share": v for name, v in shares.items()}


def _constant(found: CrossedResult) -> CrossedResult:
    if abs(found.mean) <= RELATIVE_TOLERANCE:
        return replace(found, error=0.0, df=math.inf, p=1.0)
    return replace(found, error=0.0, reason="the difference is the same on every example and seed")


def _split_rows(table: Floats, plan: Design) -> Floats:
    """Mean over the seeds of every split."""
    rows = np.zeros((len(plan.counts), table.shape[1]))
    np.add.at(rows, plan.group, table)
    means: Floats = rows / plan.counts[:, None]
    return means


def _shared_variance(z: Floats, plan: Design) -> tuple[float, float, str, float]:
    """Covariance of two row means, the variance of that estimate, which one it is, and the variance of examples."""
    count = len(plan.n)
    scale = plan.reuse / plan.spread if plan.spread > 0 else 0.0
    if not scale:
        return 0.0, 0.0, "iid", _NAN
    ways = {"iid": (_products(z) * scale, 1.0)}
    u = z / plan.n[:, None] / math.sqrt(count * (count - 1))
    if plan.blocks is not None and (groups := int(plan.blocks.max(initial=-1)) + 1) >= MIN_BLOCKS:
        ways["blocks"] = (_products(_sums(u, plan.blocks, groups)), groups / (groups - 1))
    if plan.nodes is not None and plan.dyads is not None:
        nodes = int(plan.nodes.max(initial=-1)) + 1
        at_nodes = _sums(u, plan.nodes[:, 0], nodes) + _sums(u, plan.nodes[:, 1], nodes)
        loops = plan.nodes[:, 0] == plan.nodes[:, 1]
        at_nodes -= _sums(u * loops, plan.nodes[:, 0], nodes)
        # Two pairs with both nodes in common were counted at either node.
        dyads = _sums(u * ~loops, plan.dyads, int(plan.dyads.max(initial=-1)) + 1)
        ways["dyadic"] = (np.append(_products(at_nodes), -_products(dyads).sum()), nodes / max(1, nodes - 1))
    sums = {name: float(q.sum()) * factor for name, (q, factor) in ways.items()}
    widest = max(sums, key=sums.__getitem__)
    q, factor = ways[widest]
    uncertainty = float(q.var() * q.size**2 / max(1, q.size - 1)) * factor**2
    return max(0.0, sums[widest]), uncertainty, widest, sums["iid"] / plan.reuse


def _products(z: Floats) -> Floats:
    """Sum over ordered pairs of different rows of their products, for every column."""
    total = z.sum(axis=0)
    products: Floats = total * total - np.einsum("re,re->e", z, z)
    return products


def _sums(z: Floats, groups: Ints, count: int) -> Floats:
    return np.stack([np.bincount(groups, row, count) for row in z])


def _parts(
    table: Floats, z: Floats, plan: Design, *, between: float, example: float, shared: float
) -> dict[str, tuple[float, float]]:
    """Every component as a variance of one value, and what it brings to the variance of the mean."""
    rows, inverse = len(plan.n), float((1 / plan.n).mean())
    within = float((np.einsum("re,re->r", z, z) / np.maximum(plan.n - 1, 1)).mean())
    seen = example == example
    row = between - within * inverse + (max(0.0, example) * plan.reuse if seen else 0.0)
    rest = within - max(0.0, example) if seen else 0.0
    brought = (max(0.0, example) if seen else within) * inverse / rows
    # Examples that depend on each other bring more than their own variance: what they bring counts.
    brought += shared - shared / rows if seen else 0.0
    effective = max(max(0.0, example), shared / plan.reuse) if seen else within
    if not plan.averaged:
        out = {"row": (row, 0.0), "seed": (row, row / rows), "split": (_NAN, 0.0), "example": (effective, brought)}
        return out | {"rest": (rest if seen else _NAN, rest * inverse / rows)}
    seed, noise = _within_splits(table, plan)
    share = float((1 / plan.counts).mean())
    split = row - seed * share
    if not seen:
        effective, rest = within - noise * share, noise * share
        brought = effective * inverse / rows
    return {
        "row": (row, 0.0),
        "seed": (seed, seed * share / rows),
        "split": (split, split / rows),
        "example": (effective, brought),
        "rest": (rest + noise * (1 - share), rest * inverse / rows),
    }


def _within_splits(table: Floats, plan: Design) -> tuple[float, float]:
    """Variance of seeds on one split, and of what is left there, pooled over the splits with several seeds."""
    seed, noise, weight = 0.0, 0.0, 0
    for split in np.flatnonzero(plan.counts > 1):
        y = table[plan.group == split][:, plan.there[split]]
        k, n = y.shape
        means = y.mean(axis=1)
        left = y - means[:, None]
        left = left - left.mean(axis=0)
        residual = float((left**2).sum()) / ((k - 1) * max(1, n - 1))
        seed += (k - 1) * (float(means.var(ddof=1)) - residual / n)
        noise += (k - 1) * residual
        weight += k - 1
    return seed / weight, noise / weight


def half_width(error: float, df: float, level: float = 0.95) -> float:
    """Half the width of the interval that an error with its degrees of freedom gives."""
    return student_quantile(df, (1 + level) / 2) * error
