"""Performance separability: which modes of a dataset can be told apart by what models reach on them?"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from itertools import combinations
from typing import Literal

import numpy as np
import pandas as pd

from graphnetz import stats
from graphnetz._core.errors import UsageError, unknown_name
from graphnetz._core.registry import Registry
from graphnetz._core.rng import generator
from graphnetz.rings import _resampling as resampling
from graphnetz.rings._resampling import Array, Ints, TwoSample
from graphnetz.rings.complementarity import RingsWarning
from graphnetz.rings.decisions import block_means
from graphnetz.rings.relation import differs_in, order_groups, place_p, spread_p
from graphnetz.rings.rules import Groups, format_relation

CORRECTIONS = ("bonferroni", "holm", "none")
FEW_RUNS = 20


@dataclass(frozen=True)
class Comparison:
    """One pair of modes; ``mean_diff`` is mean(a) - mean(b).

    ``differs`` says in what a separable pair differs (place, spread, shape), and ``above`` which of the two its own
    test shows to have the higher scores; both are empty where nothing is shown.
    """

    a: str
    b: str
    statistic: float
    p: float
    mean_diff: float
    n_a: int
    n_b: int
    low: float = math.nan
    high: float = math.nan
    differs: str = ""
    above: str = ""


@dataclass(frozen=True)
class SeparabilityResult:
    """Which modes are separable, as pairs, groups and one relation string: a description, not a decision.

    Attributes
    ----------
    comparisons
        One record per pair of modes, with statistic, p and difference of means.
    p_adj, separable
        Adjusted p and decision, in the order of ``comparisons``.
    groups
        Best group first: every mode of an earlier group was shown better than every mode of a later one. Modes of one
        group are not ordered (see `order_groups`).
    means, runs
        Mean score and number of runs by mode.
    statistic, alpha, correction
        As given.
    greater_is_better
        Direction of the metric.
    notes
        What the numbers cannot carry.
    reachable
        False when runs or permutations are too few for every pair to be called separable, whatever
        the scores.

    Examples
    --------
    >>> from graphnetz.rings import separability
    >>> original, edgeless = [0.90 + i / 1000 for i in range(12)], [0.80 + i / 1000 for i in range(12)]
    >>> result = separability({"o": original, "eg": edgeless}, permutations=1000)
    >>> result.groups, result.reachable
    ((('o',), ('eg',)), True)
    """

    comparisons: tuple[Comparison, ...] = field(repr=False)
    p_adj: tuple[float, ...] = field(repr=False)
    separable: tuple[bool, ...] = field(repr=False)
    groups: Groups
    means: Mapping[str, float]
    runs: Mapping[str, int]
    statistic: str
    alpha: float
    correction: str
    greater_is_better: bool = True
    notes: tuple[str, ...] = ()
    reachable: bool = True

    @property
    def relation(self) -> str:
        """The groups in one line, such as ``o > cg/rg > eg`` (``<`` where less is better)."""
        return format_relation(self.groups, greater_is_better=self.greater_is_better)

    @property
    def pairwise(self) -> pd.DataFrame:
        """Table of all pairs: a, b, statistic, p, p_adj, separable, mean_diff, interval, runs, differs, above."""
        frame = pd.DataFrame([asdict(item) for item in self.comparisons])
        frame = frame.assign(p_adj=self.p_adj, separable=self.separable)
        first = ["a", "b", "statistic", "p", "p_adj", "separable", "mean_diff", "low", "high", "n_a", "n_b"]
        return frame[[*first, "differs", "above"]]


@dataclass(frozen=True)
class _Plan:
    """The samples with everything a statistic may need to compare a pair of them."""

    samples: Mapping[str, Array]
    blocks: Mapping[str, Ints] | None
    permutations: int
    level: float
    seed: int
    exchange: str = "runs"
    cache: dict[tuple[object, ...], object] = field(default_factory=dict)

    def rng(self, *words: int | str) -> np.random.Generator:
        """Return the generator of one purpose; pairs of equal sizes share it and thus their draws."""
        return generator("separability", self.seed, *words)

    def units(self, mode: str) -> Array:
        """Return the runs of a mode, or their means by block where whole blocks are exchanged."""
        values = self.samples[mode]
        return values if self.blocks is None or self.exchange == "runs" else block_means(values, self.blocks[mode])

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """All pairs of modes in the order given."""
        return list(combinations(self.samples, 2))


DIRECTIONS: dict[str, Callable[[Comparison], float]] = {
    "ks": lambda item: item.mean_diff,
    "ranksum": lambda item: item.statistic,
    "signedrank": lambda item: item.statistic - item.n_a * (item.n_a + 1) / 4,
    "bootstrap": lambda item: item.low + item.high,
}
"""By statistic: positive where the first mode of a pair stands higher. KS has none of its own, so means speak."""
COMPARES_PLACES = ("ranksum", "signedrank", "bootstrap")
"""Statistics that see a difference in place only; what KS sees may be one of spread."""

Statistic = Callable[[_Plan], list[Comparison]]
STATISTICS: Registry[Statistic] = Registry("separability statistic")


def separability(
    scores: Mapping[str, Sequence[float]],
    *,
    statistic: str = "ks",
    alpha: float = 0.01,
    permutations: int = 10_000,
    correction: str | None = None,
    greater_is_better: bool = True,
    blocks: Sequence[Hashable] | Mapping[str, Sequence[Hashable]] | None = None,
    exchange: Literal["runs", "blocks"] | None = None,
    seed: int = 0,
) -> SeparabilityResult:
    """Compare the performance distributions of all modes of one dataset.

    Parameters
    ----------
    scores
        Runs by mode: the scores of the best model of each mode. NaN (a failed run) is dropped.
    statistic
        ``ks`` (Kolmogorov-Smirnov) or ``ranksum`` (Wilcoxon, unpaired) with a permutation test;
        ``signedrank`` (Wilcoxon, paired: run i of one mode belongs to run i of the other), exact;
        ``bootstrap``: the 1 - alpha percentile interval of the difference of means excludes zero.
    alpha
        Family-wise level; an adjusted p must lie strictly below it.
    permutations
        Permutations or resamples.
    correction
        ``bonferroni`` (default), ``holm`` or ``none``, over all pairs. For ``bootstrap`` the
        default is ``none``, as in the paper; ``bonferroni`` widens its intervals.
    greater_is_better
        False for errors such as MAE.
    blocks
        Labels of the runs (fold and seed), one per run, or one sequence per mode. Labels of modes
        are then permuted within blocks only, and the bootstrap resamples runs jointly.
    exchange
        What the permutation moves: single ``runs`` within their block, or whole ``blocks``. Several
        runs per fold that share what a mode does to that fold are not independent; only exchanging
        whole folds keeps the level then, and it needs many folds. None takes whole blocks as soon as
        a mode has several runs in one.
    seed
        Seed of the permutations.

    Returns
    -------
    SeparabilityResult
        With a warning and a note when runs or permutations are too few to reach ``alpha``.

    Examples
    --------
    >>> from graphnetz.rings import separability
    >>> original, edgeless = [0.90 + i / 1000 for i in range(12)], [0.80 + i / 1000 for i in range(12)]
    >>> separability({"o": original, "eg": edgeless}, permutations=1000).relation
    'o > eg'
    """
    function = STATISTICS[statistic]
    chosen = correction or ("none" if statistic == "bootstrap" else "bonferroni")
    if chosen not in CORRECTIONS:
        raise unknown_name("correction", chosen, CORRECTIONS)
    if statistic == "bootstrap" and chosen == "holm":
        raise UsageError("Holm steps through p-values; intervals of the bootstrap take 'bonferroni' or 'none'.")
    if exchange not in ("runs", "blocks", None) or (exchange == "blocks" and blocks is None):
        raise UsageError(f"exchange is 'runs', or 'blocks' together with blocks=; got {exchange!r}.")
    if not 0 < alpha < 1 or permutations < 1:
        raise UsageError(f"alpha must lie in (0, 1) and permutations be positive, got {alpha} and {permutations}.")
    samples, labels, notes = _prepare(scores, blocks, paired=statistic == "signedrank")
    count = len(samples) * (len(samples) - 1) // 2
    level = alpha / count if chosen != "none" else alpha
    plan = _Plan(samples, labels, permutations, level, seed, exchange or _exchange(labels))
    comparisons = function(plan)
    p_adj = adjust([item.p for item in comparisons], chosen)
    if statistic == "bootstrap":
        separable = [item.low > 0 or item.high < 0 for item in comparisons]
    else:
        separable = [p < alpha for p in p_adj]
    comparisons = [_placed(plan, item, statistic, apart) for item, apart in zip(comparisons, separable, strict=True)]
    limits = _reachability(plan, statistic)
    notes += limits
    for note in notes:
        warnings.warn(note, RingsWarning, stacklevel=2)
    means = {mode: float(values.mean()) for mode, values in samples.items()}
    return SeparabilityResult(
        comparisons=tuple(comparisons),
        p_adj=tuple(p_adj),
        separable=tuple(separable),
        groups=order_groups(tuple(samples), _above(comparisons, greater_is_better=greater_is_better)),
        means=means,
        runs={mode: len(values) for mode, values in samples.items()},
        statistic=statistic,
        alpha=alpha,
        correction=chosen,
        greater_is_better=greater_is_better,
        notes=tuple(notes),
        reachable=statistic == "bootstrap" or not limits,
    )


def adjust(p: Sequence[float], correction: str) -> list[float]:
    """Adjust p-values for their number; NaN stays NaN and counts as a member of the family."""
    return list(p) if correction == "none" else [float(value) for value in stats.adjust(p, method=correction)]


def _exchange(labels: Mapping[str, Ints] | None) -> str:
    """Exchange whole blocks as soon as one mode has several runs in a block: such runs are not independent."""
    repeated = labels is not None and any(len(np.unique(item)) < len(item) for item in labels.values())
    return "blocks" if repeated else "runs"


def _placed(plan: _Plan, item: Comparison, statistic: str, apart: bool) -> Comparison:
    """Add to a separable pair what differs, and which of the two stands higher by its own test."""
    if not apart:
        return item
    x, y = plan.samples[item.a], plan.samples[item.b]
    blocks = None if plan.blocks is None else (plan.blocks[item.a], plan.blocks[item.b])
    place, spread = place_p(x, y, blocks=blocks), spread_p(x, y)
    sign = DIRECTIONS.get(statistic, DIRECTIONS["ks"])(item)
    if statistic in COMPARES_PLACES:
        place = 0.0
    differs = differs_in(place, spread, plan.level)
    above = (item.a if sign > 0 else item.b) if "place" in differs and sign else ""
    return replace(item, differs=differs, above=above)


def _above(comparisons: Sequence[Comparison], *, greater_is_better: bool) -> list[tuple[str, str]]:
    """Return the pairs (better, worse) that were shown."""
    pairs = [(c.above, c.b if c.above == c.a else c.a) for c in comparisons if c.above]
    return pairs if greater_is_better else [(b, a) for a, b in pairs]


def _prepare(
    scores: Mapping[str, Sequence[float]],
    blocks: Sequence[Hashable] | Mapping[str, Sequence[Hashable]] | None,
    *,
    paired: bool,
) -> tuple[dict[str, Array], dict[str, Ints] | None, list[str]]:
    """Check the runs, drop failed ones and number the blocks."""
    raw = {mode: np.asarray(values, dtype=float).reshape(-1) for mode, values in scores.items()}
    if len(raw) < 2:
        raise UsageError(f"Separability compares modes; {len(raw)} given. Give runs of at least two.")
    if any(np.isinf(values).any() for values in raw.values()):
        raise UsageError("Scores must be finite numbers, or NaN for a failed run.")
    lengths = {len(values) for values in raw.values()}
    labels = None
    if blocks is not None:
        given = blocks if isinstance(blocks, Mapping) else dict.fromkeys(raw, blocks)
        labels = _number_blocks(raw, given)
    keep = {mode: np.isfinite(values) for mode, values in raw.items()}
    if paired:
        if len(lengths) > 1:
            raise UsageError(f"Paired comparison needs equally many runs in every mode, got {sorted(lengths)}.")
        together = np.logical_and.reduce(list(keep.values()))
        keep = dict.fromkeys(keep, together)
    notes = []
    dropped = sum(int((~mask).sum()) for mask in keep.values())
    if dropped:
        notes.append(f"{dropped} runs without a score were dropped.")
    samples = {mode: values[keep[mode]] for mode, values in raw.items()}
    empty = [mode for mode, values in samples.items() if not len(values)]
    if empty:
        raise UsageError(f"No finished run for {', '.join(empty)}. Leave such modes out.")
    if labels is not None:
        labels = {mode: values[keep[mode]] for mode, values in labels.items()}
    return samples, labels, notes


def _number_blocks(raw: Mapping[str, Array], given: Mapping[str, Sequence[Hashable]]) -> dict[str, Ints]:
    number: dict[Hashable, int] = {}
    out = {}
    for mode, values in raw.items():
        if len(given.get(mode, ())) != len(values):
            raise UsageError(
                f"blocks needs one label per run of {mode!r} ({len(values)}), got {len(given.get(mode, ()))}."
            )
        out[mode] = np.array([number.setdefault(label, len(number)) for label in given[mode]], dtype=np.int64)
    return out


def _reachability(plan: _Plan, statistic: str) -> list[str]:
    """Say when even perfectly separated runs could not be called separable."""
    fewest = min(len(values) for values in plan.samples.values())
    if statistic == "bootstrap":
        fewest = min(len(plan.units(mode)) for mode in plan.samples)
        unit = "runs" if plan.blocks is None or plan.exchange == "runs" else "blocks of runs"
        short = f"Bootstrap intervals of {fewest} {unit} are too narrow; use at least {FEW_RUNS} per mode."
        return [short] if fewest < FEW_RUNS else []
    notes = []
    if statistic != "signedrank" and 1 / (1 + plan.permutations) >= plan.level:
        needed = math.floor(1 / plan.level) - 1
        while 1 / (1 + needed) >= plan.level:
            needed += 1
        notes.append(
            f"{plan.permutations} permutations cannot reach the level {plan.level:.2g} of one pair; "
            f"use at least {needed}."
        )
    smallest = max(smallest_p(plan, a, b, statistic) for a, b in plan.pairs)
    if smallest >= plan.level:
        notes.append(
            f"With {fewest} runs per mode the smallest possible p is {smallest:.2g}, not below the level "
            f"{plan.level:.2g} of one pair: some pairs cannot be called separable, whatever the scores. Add runs."
        )
    return notes


def smallest_p(plan: _Plan, a: str, b: str, statistic: str) -> float:
    """Smallest p-value that perfectly separated runs of two modes can get."""
    n_a, n_b = len(plan.samples[a]), len(plan.samples[b])
    if statistic == "signedrank":
        return min(1.0, 2.0 / 2.0 ** len(plan.units(a)))
    if plan.blocks is None:
        return min(1.0, 2 / math.comb(n_a + n_b, n_a))
    if plan.exchange == "blocks":
        return min(1.0, 2.0 / 2.0 ** len(set(plan.blocks[a])))
    ways = 1
    for block in set(plan.blocks[a]) | set(plan.blocks[b]):
        inside_a, inside_b = int((plan.blocks[a] == block).sum()), int((plan.blocks[b] == block).sum())
        ways *= math.comb(inside_a + inside_b, inside_a)
    return min(1.0, 2 / ways)


def _permutation(plan: _Plan, name: str) -> list[Comparison]:
    """Compare all pairs by a permutation test; equal sizes share their label draws."""
    out = []
    for a, b in plan.pairs:
        x, y = plan.samples[a], plan.samples[b]
        sample = TwoSample.of(x, y)
        count = resampling.COUNTS[name]
        observed = int(count(sample, sample.is_a[None])[0])
        p = resampling.permutation_p(observed, count(sample, _labels(plan, a, b, sample)))
        value = resampling.STATISTICS[name](sample)
        out.append(Comparison(a, b, value, p, float(x.mean() - y.mean()), len(x), len(y)))
    return out


def _labels(plan: _Plan, a: str, b: str, sample: TwoSample) -> resampling.Labels:
    """Label rows in sorted order."""
    n_a, n_b, size = sample.n_a, sample.n_b, plan.permutations
    if plan.blocks is None:
        # One set of draws serves all pairs of these sizes: Bonferroni and Holm hold under any dependence between pairs.
        key: tuple[object, ...] = ("free", n_a, n_b)
        if key not in plan.cache:
            plan.cache[key] = resampling.free_labels(n_a, n_b, size=size, rng=plan.rng("free", n_a, n_b))
        return plan.cache[key]  # type: ignore[return-value]
    block_a, block_b = plan.blocks[a], plan.blocks[b]
    in_pairs = np.array_equal(block_a, block_b) and len(np.unique(block_a)) == n_a
    key = ("pairs", n_a) if in_pairs else (plan.exchange, a, b)
    if key not in plan.cache:
        rng = plan.rng(*(str(word) for word in key))
        if plan.exchange == "blocks":
            plan.cache[key] = resampling.swapped_blocks(block_a, block_b, size=size, rng=rng)
        elif in_pairs:
            plan.cache[key] = resampling.paired_labels(n_a, size=size, rng=rng)
        else:
            plan.cache[key] = resampling.blocked_labels(block_a, block_b, size=size, rng=rng)
    return plan.cache[key][:, sample.order]  # type: ignore[index, no-any-return]


for _name in resampling.COUNTS:
    STATISTICS.add(_name, partial(_permutation, name=_name))


@STATISTICS.register("signedrank")
def _signed_rank(plan: _Plan) -> list[Comparison]:
    out = []
    for a, b in plan.pairs:
        x, y = plan.units(a), plan.units(b)
        value, p, kept = resampling.signed_rank_p(x - y)
        out.append(Comparison(a, b, value, p, float(x.mean() - y.mean()), kept, kept))
    return out


@STATISTICS.register("bootstrap")
def _bootstrap(plan: _Plan) -> list[Comparison]:
    """Percentile interval of the difference of means; p is the level at which it just touches zero."""
    size, names = plan.permutations, list(plan.samples)
    samples = [plan.units(name) for name in names]
    joint = plan.blocks is not None and all(np.array_equal(plan.blocks[name], plan.blocks[names[0]]) for name in names)
    if joint:
        drawn = resampling.paired_bootstrap_means(samples, size=size, rng=plan.rng("bootstrap"))
    else:
        drawn = [
            resampling.bootstrap_means(values, size=size, rng=plan.rng("bootstrap", index))
            for index, values in enumerate(samples)
        ]
    means = dict(zip(names, drawn, strict=True))
    out = []
    for a, b in plan.pairs:
        difference = means[a] - means[b]
        low, high = np.quantile(difference, [plan.level / 2, 1 - plan.level / 2])
        if min(len(plan.units(a)), len(plan.units(b))) < 2:  # nothing to resample
            low, high = -math.inf, math.inf
        tail = min(int((difference <= 0).sum()), int((difference >= 0).sum()))
        x, y = plan.units(a), plan.units(b)
        observed = float(x.mean() - y.mean())
        p = min(1.0, 2 * (1 + tail) / (1 + size))
        out.append(Comparison(a, b, observed, p, observed, len(x), len(y), float(low), float(high)))
    return out
