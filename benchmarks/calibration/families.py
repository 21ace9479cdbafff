"""Simulated tasks with known means: how often the statements about all pairs of a task are true.

Scores are in units of their standard deviation, layouts in standard errors of a mean difference. What is measured are
the product functions: those that take whole arrays at once over all replicates, the others replicate by replicate.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import combinations

import numpy as np
from scipy import special

from graphnetz._core.registry import Registry
from graphnetz.stats import (
    adjust,
    holm_intervals,
    minimum_detectable_effect,
    moderated_t,
    seeds_needed,
    shrunken_gap,
    simultaneous,
)
from graphnetz.stats._common import Bools, Floats

Noise = Callable[[np.random.Generator, tuple[int, int, int]], Floats]

ROWS: Registry[Noise] = Registry("row")
"""Noise of scores ``[replicate, seed, model]`` with mean 0, by name."""

LAYOUTS: Registry[Callable[[int], Floats]] = Registry("layout")
"""True means of k models in standard errors of a difference, by name."""

LAYOUTS.add("all equal", np.zeros)
LAYOUTS.add("one better", lambda k: np.where(np.arange(k) == k - 1, 6.0, 0.0))
LAYOUTS.add("all different", lambda k: 2.0 * np.arange(k, dtype=np.float64))
LAYOUTS.add("two equal, others far apart", lambda k: 100.0 * np.maximum(np.arange(k) - 1, 0))

ROWS.add("normal", lambda rng, shape: rng.normal(size=shape))
ROWS.add("t3", lambda rng, shape: rng.standard_t(3, size=shape) / math.sqrt(3))
ROWS.add("heteroscedastic 1:10", lambda rng, shape: rng.normal(size=shape) * np.geomspace(1, 10, shape[-1]))
ROWS.add("50 test items", lambda rng, shape: (rng.binomial(50, 0.8, shape) - 40) / math.sqrt(8))


@ROWS.register("correlated pair")
def _correlated(rng: np.random.Generator, shape: tuple[int, int, int]) -> Floats:
    z = rng.normal(size=shape)
    z[..., 1] = 0.95 * z[..., 0] + math.sqrt(1 - 0.95**2) * z[..., 1]
    return z


def _one_lognormal(sigma: float) -> Noise:
    def draw(rng: np.random.Generator, shape: tuple[int, int, int]) -> Floats:
        z = rng.normal(size=shape)
        variance = math.expm1(sigma**2) * math.exp(sigma**2)
        z[..., 0] = (np.exp(sigma * z[..., 0]) - math.exp(sigma**2 / 2)) / math.sqrt(variance)
        return z

    return draw


ROWS.add("one lognormal, shape 0.5", _one_lognormal(0.5))
ROWS.add("one lognormal, shape 1", _one_lognormal(1.0))


@ROWS.register("one collapses in 1 of 20")
def _collapse(rng: np.random.Generator, shape: tuple[int, int, int]) -> Floats:
    z = rng.normal(size=shape)
    z[..., 0] += 1.0 - 20.0 * (rng.random(shape[:2]) < 0.05)
    return z


def draw_pairs(
    row: str, layout: str, *, models: int, seeds: int, replicates: int, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """Differences ``[replicate, seed, pair]`` of simulated tasks, and the true ones ``[pair]``."""
    means = LAYOUTS[layout](models) * math.sqrt(2 / seeds)
    scores = ROWS[row](rng, (replicates, seeds, models)) + means
    first, second = (list(side) for side in zip(*combinations(range(models), 2), strict=True))
    return scores[..., first] - scores[..., second], means[first] - means[second]


def decide(d: Floats, *, alpha: float, draws: int) -> tuple[Floats, Floats, Bools, Bools]:
    """Bounds, rejections and use of max-t of every replicate, as `simultaneous` gives them."""
    n = d.shape[1]
    mean, error = d.mean(axis=1), d.std(axis=1, ddof=1) / math.sqrt(n)
    error = np.where(error < 1e-12, 0.0, error)
    low, high, _, rejected = holm_intervals(mean, error, n - 1, alpha=alpha)
    tight = np.zeros(len(d), dtype=bool)
    # All at once where Holm alone speaks; one by one where max-t or sign flips may.
    for i in range(len(d)) if draws else np.flatnonzero((error == 0).any(axis=1)):
        found = simultaneous(d[i], alpha=alpha, draws=draws, scale=1.0)
        low[i], high[i], rejected[i], tight[i] = found.low, found.high, found.rejected, found.method == "max_t"
    return low, high, rejected, tight


def coverage_of_simultaneous(
    row: str = "normal",
    layout: str = "all equal",
    *,
    models: int = 5,
    seeds: int = 10,
    alpha: float = 0.05,
    draws: int = 0,
    replicates: int = 5000,
    seed: int = 0,
) -> dict[str, float]:
    """Joint coverage of all intervals of a task; ``draws`` above 0 lets max-t intervals take part.

    Returns
    -------
    dict
        ``strict`` counts a false rejection as a miss although its interval ends at zero, ``closed`` takes such an
        interval to hold zero; ``false`` is the share of tasks with a false rejection or a wrong sign, ``max_t`` the
        share that used max-t, ``contradictions`` the share with a star beside an interval that holds zero inside.
    """
    rng = np.random.default_rng([seed, models, seeds])
    d, truth = draw_pairs(row, layout, models=models, seeds=seeds, replicates=replicates, rng=rng)
    low, high, rejected, tight = decide(d, alpha=alpha, draws=draws)
    # A pair that cannot be tested has no interval, so none that could miss.
    held = (np.isnan(low) | ((low <= truth + 1e-9) & (truth - 1e-9 <= high))).all(axis=1)
    wrong = rejected & ((truth == 0) | (np.sign(low + high) != np.sign(truth)))
    inside = ~np.isnan(low) & (rejected == ((low < 0) & (high > 0)))
    return {
        "strict": float((held & ~wrong.any(axis=1)).mean()),
        "closed": float(held.mean()),
        "false": float(wrong.any(axis=1).mean()),
        "max_t": float(tight.mean()),
        "contradictions": float((inside & (d != 0).any(axis=1)).any(axis=1).mean()),
    }


def false_claims(row: str = "normal", layout: str = "all equal", **options: float) -> float:
    """Share of tasks in which a pair is called different that is not, or the wrong way round."""
    return coverage_of_simultaneous(row, layout, **options)["false"]  # type: ignore[arg-type]


def exaggeration(
    gap: float,
    *,
    layout: str = "steps",
    row: str = "normal",
    models: int = 5,
    seeds: int = 10,
    replicates: int = 2000,
    seed: int = 0,
) -> dict[str, float]:
    """Mean printed gap of the best model over the runner-up, divided by the mean true gap of the models so named.

    Means are ``gap`` standard errors of a difference apart (``steps``), or only the first is that much better
    (``one``). Where scatter hides the gap, the mean true gap of whoever was picked is near 0.
    """
    rng = np.random.default_rng([seed, models, seeds])
    truth = np.arange(models)[::-1] * 1.0 if layout == "steps" else 1.0 * (np.arange(models) == 0)
    truth *= gap * math.sqrt(2 / seeds)
    totals = np.zeros(3)
    for scores in ROWS[row](rng, (replicates, seeds, models)) + truth:
        found = shrunken_gap(scores)
        best, second = found.order[:2]
        totals += found.gap[second], found.shrunken[second], truth[best] - truth[second]
    return {"observed": float(totals[0] / totals[2]), "shrunken": float(totals[1] / totals[2])}


def moderated_rates(
    row: str = "normal",
    *,
    models: int = 5,
    seeds: int = 10,
    effect: float = 2.5,
    alpha: float = 0.05,
    replicates: int = 2000,
    seed: int = 0,
) -> dict[str, float]:
    """Size and power of plain and moderated t with Holm, and how often moderation was on.

    Size is the share of tasks of equal models with a false rejection; power the share of true differences found where
    one model is better by ``effect`` standard errors of a difference.
    """
    rng = np.random.default_rng([seed, models, seeds])
    d, _ = draw_pairs(row, "all equal", models=models, seeds=seeds, replicates=replicates, rng=rng)
    pairs = list(combinations(range(models), 2))
    better = np.array([(models - 1 == j) for _, j in pairs])
    shifted = d - better * effect * math.sqrt(2 / seeds)
    null, on = zip(*(_both(table, alpha) for table in d), strict=True)
    found, _ = zip(*(_both(table, alpha) for table in shifted), strict=True)
    out = {"moderated_share": float(np.mean(on))}
    for place, name in enumerate(("plain", "moderated")):
        out[f"{name}_size"] = float(np.mean([test[place].any() for test in null]))
        out[f"{name}_power"] = float(np.mean([test[place][better].mean() for test in found]))
    out["gain"] = out["moderated_power"] / max(out["plain_power"], 1e-9)
    return out


def _both(d: Floats, alpha: float) -> tuple[tuple[Bools, Bools], bool]:
    n = len(d)
    error = d.std(axis=0, ddof=1) / math.sqrt(n)
    with np.errstate(invalid="ignore", divide="ignore"):
        plain = np.where(error > 1e-12, 2 * special.stdtr(n - 1, -np.abs(d.mean(axis=0)) / error), np.nan)
    found = moderated_t(d)
    return (np.asarray(adjust(plain) <= alpha), np.asarray(adjust(found.p) <= alpha)), not found.reason


def seeds_range_coverage(
    row: str = "normal", *, seeds: int = 10, effect: float = 1.0, replicates: int = 5000, seed: int = 0
) -> float:
    """Share of ranges "N seeds (low to high)" that hold the number that the true spread needs.

    Power depends on effect over spread only, so the spread at which N seeds just suffice is known in closed form;
    `seeds_range` is monotone in the spread and needs no search per replicate.
    """
    rng = np.random.default_rng([seed, seeds])
    d = ROWS[row](rng, (replicates, seeds, 2))
    d, spread = d[..., 0] - d[..., 1], math.sqrt(2)
    if row.startswith("hetero"):
        spread = math.sqrt(101)
    need = seeds_needed(effect * spread, spread)
    assert need is not None
    most = effect * spread / minimum_detectable_effect(1.0, need)
    least = effect * spread / minimum_detectable_effect(1.0, need - 1) if need > 2 else 0.0
    square = d.var(axis=1, ddof=1) * (seeds - 1)
    low, high = (np.sqrt(square / special.chdtri(seeds - 1, tail)) for tail in (0.025, 0.975))
    return float(((low <= most) & (high > least)).mean())
