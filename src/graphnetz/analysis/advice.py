"""What the next hour buys most by: more seeds, more splits or a larger test set."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from graphnetz._core.text import number
from graphnetz.records import Components
from graphnetz.stats.components import half_width

SEEDS, SPLITS, EXAMPLES = "more seeds", "more splits", "a larger test set"
LABELS = {EXAMPLES: 1.1}
"""New test examples need labels, which no clock counts: they are named first where they gain a tenth more."""
MOST = 100_000
"""Seeds beyond which nobody goes."""


@dataclass(frozen=True)
class Option:
    """One way to spend the time, and the width of the interval that it is expected to leave."""

    what: str
    seeds: int
    splits: int
    examples: float
    width: float


@dataclass(frozen=True)
class Advice:
    """What to buy next for one comparison.

    Attributes
    ----------
    task, a, b
        The comparison.
    seconds, width
        Time to spend, and the width that the interval for new examples has now.
    options
        What the time may buy, the narrowest interval first.
    reason
        Why there is no advice; empty otherwise.

    Examples
    --------
    >>> advise(Components("cora", "GCN", "MLP", reason="predictions were not kept"), 2.0).reason
    'predictions were not kept'
    """

    task: str
    a: str
    b: str
    seconds: float
    width: float = math.nan
    options: tuple[Option, ...] = ()
    reason: str = ""

    @property
    def text(self) -> str:
        """The advice in one sentence; empty where there is none."""
        if not self.options:
            return ""
        best, *others = self.options
        time = "hour" if self.seconds == 3600 else f"{self.seconds:.0f} seconds"
        rest = "; ".join(f"{other.what}: {number(other.width)}" for other in others)
        gain = (
            f"narrows from {number(self.width)} to {number(best.width)} ({100 * (1 - best.width / self.width):.0f} %)"
        )
        words = f"The next {time} buys most by {best.what}: the interval of {self.a} - {self.b} for new examples {gain}"
        return f"{words}; {rest}." if rest else f"{words}."


def advise(components: Components, costs: float, *, seconds: float = 3600.0, fresh: float | None = None) -> Advice:
    """Say what narrows the interval for new examples most for the same time.

    Parameters
    ----------
    components
        Of one comparison, from `components_of`.
    costs
        Seconds of one seed: the cells of both models together.
    seconds
        Time to spend.
    fresh
        Test examples that could be added; None takes as many as each seed has now. All seeds are then run again.

    Returns
    -------
    Advice
        Expected widths at 95 %.

    Examples
    --------
    >>> found = Components(
    ...     "cora", "GCN", "MLP", 1e-6, math.nan, 0.2, 0.1, n_seeds=10, n_splits=1, n_examples=500, n_tested=500,
    ...     pool=500,
    ... )
    >>> advise(found, 2.0).options[0].what
    'a larger test set'
    """
    c = components
    out = Advice(c.task, c.a, c.b, seconds)
    if c.reason or not math.isfinite(c.example) or not c.n_seeds:
        return replace(out, reason=c.reason or "there are no components of variance")
    if not 0 < costs < math.inf:
        return replace(out, reason="the seconds of a cell are not known")
    extra = min(MOST, int(seconds // costs))
    options = [with_more(c, what, extra) for what in ways(c)] if extra else []
    if extra >= c.n_seeds:
        options.append(with_more(c, EXAMPLES, extra - c.n_seeds, fresh=c.n_tested if fresh is None else fresh))
    if not options:
        return replace(out, reason=f"one more seed takes {costs:.3g} seconds, more than there are")
    return replace(
        out,
        width=expected_width(c),
        options=tuple(sorted(options, key=lambda option: option.width * LABELS.get(option.what, 1.0))),
    )


def ways(c: Components) -> tuple[str, ...]:
    """What further cells can be: where each seed has a split of its own, a further seed is a further split."""
    if c.n_splits == c.n_seeds and c.n_splits > 1:
        return (SPLITS,)
    return (SEEDS, SPLITS) if c.n_splits > 1 else (SEEDS,)


def with_more(c: Components, what: str, extra: int, *, fresh: float = 0.0) -> Option:
    """Return what ``extra`` seeds, on splits of their own or not, and ``fresh`` test examples would leave."""
    own = what == SPLITS or (c.n_splits == c.n_seeds and c.n_splits > 1)
    more = replace(
        c, n_seeds=c.n_seeds + extra, n_splits=c.n_splits + (extra if own else 0), n_tested=c.n_tested + fresh,
        pool=c.pool + fresh, n_examples=c.n_examples + int(fresh),
    )  # fmt: skip
    return Option(what, more.n_seeds, more.n_splits, more.n_tested, expected_width(more))


def expected_width(c: Components, level: float = 0.95) -> float:
    """Width of the interval for new examples that these components give with their numbers of everything."""
    seed, split, example, rest = (0.0 if math.isnan(v) else v for v in (c.seed, c.split, c.example, c.rest))
    rows = c.n_splits if c.n_splits > 1 else c.n_seeds
    shared = example / c.pool
    # Splits draw their test examples from one pool: what they share does not shrink with their number.
    own = example * (1 / c.n_tested - 1 / c.pool) / c.n_splits
    varies = seed / c.n_seeds + (split / c.n_splits if c.n_splits > 1 else 0.0) + own + rest / (c.n_seeds * c.n_tested)
    variance = varies + shared
    if rows < 2 or not variance > 0:
        return math.nan
    uncertain = varies**2 / (rows - 1) + shared**2 / max(1, c.n_examples - 1)
    return 2 * half_width(math.sqrt(variance), variance**2 / uncertain, level)


def cost_of(c: Components, costs: float, width: float, what: str) -> tuple[float, float]:
    """Return seconds until the interval is expected to be as narrow as ``width``, and how many of what that buys.

    Infinite where no number of it does.
    """
    low, high = 0, 1

    def wide(amount: int) -> bool:
        fresh = float(amount) if what == EXAMPLES else 0.0
        return not with_more(c, what, 0 if fresh else amount, fresh=fresh).width <= width

    limit = MOST * (100 if what == EXAMPLES else 1)
    while wide(high) and high < limit:
        low, high = high, 2 * high
    if wide(high):
        return math.inf, math.inf
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if wide(middle) else (low, middle)
    return costs * (c.n_seeds if what == EXAMPLES else high), high
