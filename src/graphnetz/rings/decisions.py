"""Does a dataset need its structure, its features? Decided by direct tests of the original against each perturbation.

The rules, in one place:

- A comparison is paired: what counts is the difference of the original and a perturbation on the same run. Runs that
  share a fold or a fixed split are averaged first, so that whole blocks and no single runs are counted.
- Structure (features) is *informative* when the original is shown better than each of its perturbations. All of them
  must be shown, so none needs a correction.
- It is *uninformative* when the original is shown to be less than a margin better than at least one of them:
  equivalent to it, or worse. One is enough, so the level is divided by their number.
- Both can be shown, for an advantage below the margin: then it is uninformative, because such an advantage does not
  matter. Where neither is shown, nothing is said but how many runs would be enough.
- Tests are t-tests of block means, each claim at half of alpha on its side, as a 1 - alpha interval has it. What n
  blocks say never counts more than the chance 2^-n of their signs: n equal differences are no proof.
- Looking several times (runs in rounds) takes the levels of `graphnetz.stats.boundaries`; what was shown once stays.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
import numpy.typing as npt
from scipy import special

from graphnetz._core.errors import UsageError
from graphnetz.metrics import METRICS, label_of
from graphnetz.rings.rules import PERTURBED, Outcome
from graphnetz.stats import repeated_interval, seeds_needed
from graphnetz.stats.boundaries import check_looks, look_levels

Array = npt.NDArray[np.float64]
Part = Literal["structure", "features"]

ALPHA = 0.05
MARGIN_SHARE = 0.02
"""Default margin as a share of a metric's range: two points of accuracy."""
ROUNDS_SHARE = 0.7
"""Share of alpha that runs in rounds spend: where bad runs are rare and large, early t-tests are anti-conservative."""
POWER = 0.8
"""Chance of a decision that the number of missing runs is stated for."""
MOST_RUNS = 100_000


@dataclass(frozen=True)
class Rule:
    """How runs are turned into decisions.

    Parameters
    ----------
    alpha
        Level of each kind of claim: a false "informative" and a false "uninformative" are each at most this likely.
    margin
        Largest advantage of the original that does not matter, in units of the metric; None takes two per cent of a
        metric's range, and zero for metrics without one.
    looks
        Numbers of runs at which is looked, the last one the budget; empty looks once, at all runs there are.
    splits
        Fixed splits that the runs take in turn; 0 when every run has its own.
    spending
        How alpha is spread over the looks.

    Examples
    --------
    >>> from graphnetz.rings import Rule
    >>> Rule().margin_of("acc"), Rule(margin=0.01).margin_of("acc"), Rule().margin_of("mae")
    (0.02, 0.01, 0.0)
    """

    alpha: float = ALPHA
    margin: float | None = None
    looks: tuple[int, ...] = ()
    splits: int = 0
    spending: str = "linear"

    def __post_init__(self) -> None:
        if not 0 < self.alpha < 1:
            raise UsageError(f"alpha must lie between 0 and 1, got {self.alpha}; 0.05 is usual.")
        if self.margin is not None and not (self.margin >= 0 and math.isfinite(self.margin)):
            raise UsageError(
                f"margin={self.margin} is no difference; give the largest one that does not matter, such as 0.02."
            )
        if self.looks:
            check_looks(self.looks)

    def margin_of(self, metric: str) -> float:
        """Return the margin for a metric, the stated one or the default.

        Parameters
        ----------
        metric
            Its key, such as ``acc``.

        Returns
        -------
        float
            In units of the metric.

        Examples
        --------
        >>> from graphnetz.rings import Rule
        >>> Rule().margin_of("auc")
        0.02
        """
        if self.margin is not None:
            return self.margin
        low, high = METRICS[metric].bounds if metric in METRICS else (-math.inf, math.inf)
        return MARGIN_SHARE * (high - low) if math.isfinite(high - low) else 0.0


@dataclass(frozen=True)
class Against:
    """The original against one perturbation, on one metric.

    Attributes
    ----------
    mode
        Code of the perturbation.
    units
        Runs that both have, or blocks of them where runs share a fold or a fixed split.
    difference, low, high, spread
        Mean advantage of the original (positive: the original is better), its interval, and the standard deviation
        over units.
    p_better, p_within
        One-sided p of "the original is better", and of "it is less than the margin better".
    better, within
        Whether each of the two is shown.

    Examples
    --------
    >>> from graphnetz.rings import decide_modes
    >>> runs = {"o": [0.9, 0.91, 0.92] * 4, "eg": [0.7, 0.72, 0.71] * 4}
    >>> item = decide_modes(runs, "acc")["structure"].against[0]
    >>> item.mode, item.units, round(item.difference, 2), item.better
    ('eg', 12, 0.2, True)
    """

    mode: str
    units: int
    difference: float
    low: float
    high: float
    spread: float
    p_better: float
    p_within: float
    better: bool
    within: bool


@dataclass(frozen=True)
class Decision:
    """Whether structure or features are informative on one metric.

    Attributes
    ----------
    part
        ``"structure"`` or ``"features"``.
    metric
        Key of the metric.
    outcome
        ``"informative"``, ``"uninformative"`` or ``"undecided"``.
    against
        The direct comparisons it rests on.
    margin, alpha
        As stated before the runs were read.
    runs
        Runs of the original.
    blocks
        Whether runs were averaged by fold or fixed split.

    Examples
    --------
    >>> from graphnetz.rings import decide_modes
    >>> few = decide_modes({"o": [0.9, 0.8], "eg": [0.7, 0.75]}, "acc")["structure"]
    >>> few.outcome, few.needed
    ('undecided', 8)
    """

    part: Part
    metric: str
    outcome: Outcome
    against: tuple[Against, ...]
    margin: float
    alpha: float
    runs: int
    blocks: bool = False

    @cached_property
    def needed(self) -> int | None:
        """About how many runs (blocks, where runs are clustered) decide what is undecided, with a chance of 0.8.

        Taken from means and spreads as they seem to be; None when decided, or when that cannot be said.
        """
        if self.outcome != "undecided" or not self.against or any(math.isnan(item.spread) for item in self.against):
            return None
        better = [_enough(item.difference, item.spread, self.alpha) for item in self.against]
        share = self.alpha / len(self.against)
        within = [_enough(self.margin - item.difference, item.spread, share) for item in self.against]
        least = min(max(better), min(within))
        return None if math.isinf(least) else max(int(least), max(item.units for item in self.against) + 1)

    @property
    def sentence(self) -> str:
        """The decision with the comparisons behind it, in plain words."""
        name = label_of(self.metric)
        if not self.against:
            codes = ", ".join(PERTURBED[self.part])
            return f"{name}: {self.part} undecided, because none of {codes} was trained beside the original."
        return f"{name}: {self.part} {self.outcome}, {self._because()}"

    def _because(self) -> str:
        if self.outcome == "informative":
            return f"the original is better than {_listed(self.against)}."
        if self.outcome == "uninformative":
            shown = [item for item in self.against if item.within]
            how = f"not even {self.margin:g} better" if self.margin else "worse"
            return f"the original is {how} than {_listed(shown)}."
        if self.blocks and all(item.units < 2 for item in self.against):
            return f"all {self.runs} runs share one split, which decides nothing about {_listed(self.against)}."
        unit = "folds or splits" if self.blocks else "runs"
        more = f"about {self.needed} {unit} would decide it" if self.needed else f"no number of {unit} can be stated"
        open_ = [item for item in self.against if not item.better] or list(self.against)
        return f"{self.runs} runs show too little about {_listed(open_)}; {more}."


def _listed(items: Sequence[Against]) -> str:
    return ", ".join(f"{item.mode} ({item.difference:+.3f}, {_between(item)})" for item in items)


def _between(item: Against) -> str:
    finite = math.isfinite(item.low) and math.isfinite(item.high)
    return f"{item.low:+.3f} to {item.high:+.3f}" if finite else "no interval"


def decide_modes(
    scores: Mapping[str, Sequence[float]],
    metric: str,
    *,
    rule: Rule | None = None,
    greater_is_better: bool | None = None,
    blocks: Sequence[Hashable] | None = None,
) -> dict[Part, Decision]:
    """Decide whether structure and features are informative, from paired runs of the original and its perturbations.

    Parameters
    ----------
    scores
        Runs by mode, in the same order for every mode; NaN marks a failed run. ``o`` is the original.
    metric
        What the scores are; it names the margin and, unless given, the direction.
    rule
        Level, margin and looks; default `Rule()`.
    greater_is_better
        Direction, for metrics that are not declared.
    blocks
        One label per run: runs of one fold or fixed split carry the same one and are averaged. None takes every run
        for itself, or the ``splits`` of the rule in turn.

    Returns
    -------
    dict of Decision
        By ``"structure"`` and ``"features"``.

    Examples
    --------
    >>> from graphnetz.rings import decide_modes
    >>> wave = [0.00, 0.01, 0.02, 0.01] * 5
    >>> runs = {mode: [level + w for w in wave] for mode, level in (("o", 0.9), ("eg", 0.7), ("cg", 0.6), ("rf", 0.9))}
    >>> {part: found.outcome for part, found in decide_modes(runs, "acc").items()}
    {'structure': 'informative', 'features': 'uninformative'}
    """
    if "o" not in scores:
        raise UsageError(f"Decisions compare with the original 'o', which is not among {', '.join(scores) or 'none'}.")
    rule = rule or Rule()
    better = METRICS[metric].greater_is_better if greater_is_better is None else greater_is_better
    runs = {mode: np.asarray(values, dtype=np.float64) for mode, values in scores.items()}
    if len({values.shape for values in runs.values()}) > 1:
        raise UsageError("Decisions pair runs: give every mode the same runs in the same order, NaN for failed ones.")
    count = len(runs["o"])
    labels = _numbered(blocks, count, rule.splits)
    sign = 1.0 if better else -1.0
    out: dict[Part, Decision] = {}
    parts: tuple[Part, ...] = ("structure", "features")
    for part in parts:
        gaps = {mode: sign * (runs["o"] - runs[mode]) for mode in PERTURBED[part] if mode in runs}
        out[part] = _decide(part, metric, gaps, labels, rule)
    return out


def _numbered(blocks: Sequence[Hashable] | None, count: int, splits: int) -> npt.NDArray[np.int64]:
    if blocks is None:
        return np.arange(count) % splits if splits else np.arange(count)
    if len(blocks) != count:
        raise UsageError(f"blocks needs one label per run ({count}), got {len(blocks)}.")
    number: dict[Hashable, int] = {}
    return np.array([number.setdefault(label, len(number)) for label in blocks], dtype=np.int64)


def _decide(part: Part, metric: str, gaps: Mapping[str, Array], labels: npt.NDArray[np.int64], rule: Rule) -> Decision:
    margin, count = rule.margin_of(metric), len(labels)
    if not gaps:
        return Decision(part, metric, "undecided", (), margin, rule.alpha, count)
    looks = rule.looks or (max(count, 2),)
    level, level_within = (_levels(rule, looks, share) for share in (rule.alpha, rule.alpha / len(gaps)))
    reached = [(n, *pair) for n, *pair in zip(looks, level, level_within, strict=True) if n <= max(count, 2)]
    better, within = dict.fromkeys(gaps, False), dict.fromkeys(gaps, False)
    outcome: Outcome = "undecided"
    found: dict[str, Against] = {}
    for look, own, shared in reached or [(count, 0.0, 0.0)]:  # before the first look nothing is claimed
        for mode, gap in gaps.items():
            units = block_means(gap[:look], labels[:look])
            p_better, p_within = one_sided(units, 0.0), one_sided(-units, -margin)
            better[mode] |= p_better <= own
            within[mode] |= p_within <= shared
            shown = (*repeated_interval(units, 2 * own), _spread(units))
            found[mode] = Against(mode, units.size, *shown, p_better, p_within, better[mode], within[mode])
        if any(within.values()):
            outcome = "uninformative"
        elif all(better.values()):
            outcome = "informative"
        if outcome != "undecided":
            break
    clustered = len(np.unique(labels)) < count
    return Decision(part, metric, outcome, tuple(found.values()), margin, rule.alpha, count, blocks=clustered)


def _levels(rule: Rule, looks: tuple[int, ...], alpha: float) -> tuple[float, ...]:
    """One-sided level of every look."""
    spent = alpha * ROUNDS_SHARE if len(looks) > 1 else alpha
    return tuple(level / 2 for level in look_levels(looks, spent, rule.spending, 2, rule.splits))


def block_means(values: Array, labels: npt.NDArray[np.int64]) -> Array:
    """Return the mean of every block that has a finite value, in the order of the labels."""
    there = np.isfinite(values)
    if there.all() and (np.diff(labels) > 0).all():
        return values
    total = np.bincount(labels[there], weights=values[there])
    count = np.bincount(labels[there])
    means: Array = total[count > 0] / count[count > 0]
    return means


def one_sided(units: Array, bound: float) -> float:
    """Return p of "the mean lies above ``bound``"; NaN with fewer than two units, never below 2^-n of n units."""
    n = units.size
    if n < 2:
        return math.nan
    gap, spread = float(units.mean()) - bound, _spread(units)
    floor = 0.5**n
    if spread == 0:  # one and the same difference: only its signs count
        return floor if gap > 0 else 1.0
    return max(floor, float(special.stdtr(n - 1, -gap / (spread / math.sqrt(n)))))


def _spread(units: Array) -> float:
    """Standard deviation, 0 up to rounding; NaN with fewer than two units."""
    if units.size < 2:
        return math.nan
    spread = float(units.std(ddof=1))
    return 0.0 if spread <= 1e-12 * max(1.0, float(np.abs(units).max())) else spread


def _enough(gap: float, spread: float, alpha: float) -> float:
    """Units that show a mean of ``gap`` above zero with the stated power; infinite for one that is not above."""
    floor = math.ceil(-math.log2(alpha / 2))
    if gap <= 0:
        return math.inf
    if spread == 0:
        return floor
    found = seeds_needed(gap, spread, alpha=alpha, power=POWER, max_n=MOST_RUNS)
    return math.inf if found is None else max(found, floor)
