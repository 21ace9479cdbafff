"""Simulated adaptive benchmarks: false decisions, decided share and cost of the sequential rules."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from scipy import special

from graphnetz._core.registry import Registry
from graphnetz.records.seed_rule import ANYTIME_FIRST, FIRST_LOOK, SeedRule
from graphnetz.stats._common import Bools, Floats, variance_factor
from graphnetz.stats.boundaries import nominal_levels, unit_means
from graphnetz.stats.corrections import CORRECTIONS
from graphnetz.stats.futility import sign_flip_p
from graphnetz.stats.sequential import FamilyState

NoiseSampler = Callable[[np.random.Generator, tuple[int, ...]], Floats]

NOISE: Registry[NoiseSampler] = Registry("noise")
"""Noise of scores ``[family, model, seed]`` with mean 0 and deviation near 1, by name."""

FIRST_LOOKS = {"auto": FIRST_LOOK, "anytime": ANYTIME_FIRST}

UNIT = 0.005  # deviation of one model's scores over seeds


@NOISE.register("normal")
def _normal(rng: np.random.Generator, shape: tuple[int, ...]) -> Floats:
    return rng.normal(size=shape)


@NOISE.register("skewed")
def _skewed(rng: np.random.Generator, shape: tuple[int, ...]) -> Floats:
    """All models have the same long lower tail (skewness -2), so that differences are heavy-tailed."""
    return 1.0 - rng.exponential(size=shape)


@NOISE.register("one_skewed")
def _one_skewed(rng: np.random.Generator, shape: tuple[int, ...]) -> Floats:
    """One model has a longer lower tail (skewness -1), the others are normal: skewed differences."""
    noise = rng.normal(size=shape)
    noise[:, 0] = 2.0 - rng.gamma(4.0, 0.5, size=noise[:, 0].shape)
    return noise


@NOISE.register("discrete")
def _discrete(rng: np.random.Generator, shape: tuple[int, ...]) -> Floats:
    """Scores on a grid of 1/1000, five steps to a deviation."""
    return np.round(rng.normal(size=shape) * UNIT * 1000) / (UNIT * 1000)


@NOISE.register("tied")
def _tied(rng: np.random.Generator, shape: tuple[int, ...]) -> Floats:
    """On a coarse grid, and every second seed gives all models the same score."""
    noise = np.round(rng.normal(size=shape))
    noise *= rng.random((shape[0], 1, shape[2])) < 0.5
    return noise * math.sqrt(2.0)


@NOISE.register("t3")
def _t3(rng: np.random.Generator, shape: tuple[int, ...]) -> Floats:
    return rng.standard_t(3, size=shape) / math.sqrt(3.0)


@NOISE.register("heteroscedastic")
def _heteroscedastic(rng: np.random.Generator, shape: tuple[int, ...]) -> Floats:
    """Deviations from 1 for the first model to 10 for the last."""
    return rng.normal(size=shape) * np.geomspace(1.0, 10.0, shape[1])[:, None]


@NOISE.register("50 items")
def _items(rng: np.random.Generator, shape: tuple[int, ...]) -> Floats:
    """Accuracies on 50 test items, 80 % right."""
    return (rng.binomial(50, 0.8, size=shape) - 40.0) / math.sqrt(8.0)


@NOISE.register("lognormal")
def _lognormal(rng: np.random.Generator, shape: tuple[int, ...]) -> Floats:
    """One model lognormal with shape 0.5, the others normal."""
    noise = rng.normal(size=shape)
    skewed = np.exp(0.5 * rng.normal(size=noise[:, 0].shape))
    noise[:, 0] = (skewed - math.exp(0.125)) / math.sqrt((math.exp(0.25) - 1.0) * math.exp(0.25))
    return noise


@NOISE.register("collapse")
def _collapse(rng: np.random.Generator, shape: tuple[int, ...]) -> Floats:
    """One model falls to chance in 1 of 20 runs; claims are about runs without collapse, so the others are the null."""
    noise = rng.normal(size=shape)
    noise[:, 0] -= 60.0 * (rng.random(noise[:, 0].shape) < 0.05)
    return noise


@dataclass(frozen=True)
class SequentialRates:
    """What an adaptive benchmark did, averaged over simulated tasks.

    ``false_different`` and ``false_equivalent`` are shares of families (tasks) with at least one
    false decision, ``*_anywhere`` the same per benchmark of ``tasks`` tasks. ``cells`` is the share
    of the cells of the full budget that was run, ``agreement`` the share of decided comparisons
    whose decision is true (of the kind that the offsets make true), ``interval_miss`` the share of
    families in which any repeated interval, at the stop of its comparison, misses the truth.
    """

    false_different: float
    false_equivalent: float
    false_different_anywhere: float
    decided: float
    cells: float
    agreement: float
    interval_miss: float
    families: int


def sequential_rates(
    noise: str = "normal",
    *,
    looks: tuple[int, ...] = (5, 10, 15, 20, 25, 30),
    offsets: tuple[float, ...] = (0.0, 0.0, 0.0, 0.0, 0.0),
    margin: float = 0.01,
    alpha: float = 0.05,
    spending: str = "obrien_fleming",
    correlation: float = 0.0,
    futility: float = 0.0,
    splits: int = 0,
    split_share: float = 0.5,
    aware: bool = True,
    tasks: int = 10,
    benchmarks: int = 200,
    seed: int = 0,
) -> SequentialRates:
    """Run simulated benchmarks of ``tasks`` x ``len(offsets)`` models under the sequential rules.

    ``offsets`` are the models' true means; a NaN ``margin`` asks for differences only. A pair with
    equal means is a true null of "different"; a pair ``margin`` or more apart is a true null of
    "equivalent". ``correlation`` is the share of the
    variance of a difference that all seeds have in common (random splits of one dataset), ``futility``
    the chance below which a comparison is given up. With ``splits``, seeds take fixed splits in turn, which have
    ``split_share`` of the variance; unless ``aware``, the rule takes them for seeds.
    """
    rng = np.random.default_rng([seed, tasks, len(offsets)])
    parts = []
    step = max(1, 1_500_000 // (tasks * len(offsets) ** 2 * looks[-1]))
    for start in range(0, benchmarks, step):
        families = min(step, benchmarks - start) * tasks
        d = _differences(noise, families, offsets, looks[-1], correlation, rng, splits, split_share)
        state = FamilyState(families, d.shape[1], looks, alpha, spending, splits=splits if aware else 0)
        parts.append(_run(state, d, offsets, margin, correlation, futility))
    false_different, false_equivalent, decided, cells, right, miss = (
        np.concatenate(column) for column in zip(*parts, strict=True)
    )
    return SequentialRates(
        float(false_different.mean()),
        float(false_equivalent.mean()),
        float(false_different.reshape(-1, tasks).any(axis=1).mean()),
        float(decided.mean()),
        float(cells.mean()),
        float(right.sum() / max(decided.sum(), 1e-300)),
        float(miss.mean()),
        int(false_different.size),
    )


def peeking_rates(
    noise: str = "normal",
    *,
    looks: tuple[int, ...] = (5, 10, 15, 20, 25, 30),
    models: int = 5,
    alpha: float = 0.05,
    benchmarks: int = 200,
    tasks: int = 10,
    seed: int = 0,
) -> dict[str, float]:
    """What happens without the rules: alpha at every look, for one pair and with Holm per look."""
    rng = np.random.default_rng([seed, tasks, models])
    single: list[Bools] = []
    holm: list[Bools] = []
    known: list[Bools] = []
    step = max(1, 1_500_000 // (tasks * models**2 * looks[-1]))
    for start in range(0, benchmarks, step):
        d = _differences(noise, min(step, benchmarks - start) * tasks, (0.0,) * models, looks[-1], 0.0, rng)
        p = np.stack([np.nan_to_num(look_p(d, n, 0.0, math.nan)[0], nan=1.0) for n in looks], axis=1)
        levels = np.array(nominal_levels(looks, alpha, "obrien_fleming"))
        single.append(np.asarray((p[:, :, 0] <= alpha).any(axis=1)))
        known.append(np.asarray((p[:, :, 0] <= levels).any(axis=1)))
        holm.append(np.asarray((CORRECTIONS["holm"](p) <= alpha).any(axis=(1, 2))))
    return {
        "one pair, alpha at every look": float(np.concatenate(single).mean()),
        "one pair, nominal levels": float(np.concatenate(known).mean()),
        "ordinary Holm at every look": float(np.concatenate(holm).mean()),
    }


def look_p(d: Floats, n: int, test_ratio: float, margin: float) -> tuple[Floats, Floats]:
    """Two-sided t p and equivalence p of the first ``n`` seeds, along the last axis."""
    return unit_p(d[..., :n], test_ratio, margin)


def unit_p(seen: Floats, test_ratio: float, margin: float) -> tuple[Floats, Floats]:
    """The same for all units given."""
    n = seen.shape[-1]
    mean = seen.mean(axis=-1)
    error = seen.std(axis=-1, ddof=1) * math.sqrt(variance_factor(n, test_ratio))
    varies = error > 1e-14
    with np.errstate(invalid="ignore", divide="ignore"):
        p = 2 * special.stdtr(n - 1, -np.abs(mean) / error)
        p_equivalence = special.stdtr(n - 1, (np.abs(mean) - margin) / error)
    same, flip = np.abs(mean) < 1e-12, sign_flip_p(n)
    constant = np.where(same, 0.0, np.where(np.abs(mean) < margin, flip / 2, 1.0))
    return np.where(varies, p, np.where(same, 1.0, flip)), np.where(varies, p_equivalence, constant)


def unit_facts(seen: Floats) -> tuple[Floats, Floats, Floats]:
    """Mean, standard deviation and number of units."""
    sd = seen.std(axis=-1, ddof=1)
    return seen.mean(axis=-1), np.where(sd > 1e-14, sd, 0.0), np.full(sd.shape, float(seen.shape[-1]))


def _differences(
    noise: str,
    families: int,
    offsets: tuple[float, ...],
    seeds: int,
    correlation: float,
    rng: np.random.Generator,
    splits: int = 0,
    split_share: float = 0.0,
) -> Floats:
    models = len(offsets)
    scores = NOISE[noise](rng, (families, models, seeds)) * math.sqrt(1 - correlation)
    if correlation:
        scores = scores + rng.normal(size=(families, models, 1)) * math.sqrt(correlation)
    if splits:
        fixed = rng.normal(size=(families, models, splits)) * math.sqrt(split_share)
        scores = scores * math.sqrt(1 - split_share) + fixed[:, :, np.arange(seeds) % splits]
    scores = UNIT * scores + np.array(offsets)[:, None]
    first, second = zip(*combinations(range(models), 2), strict=True)
    d: Floats = scores[:, list(first)] - scores[:, list(second)]
    return np.where(np.abs(d) < 1e-12, 0.0, d)


def _run(
    state: FamilyState, d: Floats, offsets: tuple[float, ...], margin: float, correlation: float, futility: float
) -> tuple[Floats, ...]:
    families, m, _ = d.shape
    looks = state.plan
    pairs = list(combinations(range(len(offsets)), 2))
    truth = np.array([offsets[i] - offsets[j] for i, j in pairs])
    ratio = correlation / (1 - correlation)
    used = np.full((families, m), looks[-1])
    miss = np.zeros((families, m), dtype=np.bool_)
    for look, n in enumerate(looks):
        open_ = state.open
        seen = unit_means(d[..., :n], state.splits)
        p, p_equivalence = unit_p(seen, ratio, margin)
        state.read(look, p, p_equivalence)
        state.give_up(look, *unit_facts(seen), np.array(margin), np.array(ratio), futility)
        closing = open_ & ~state.open
        used[closing] = n
        # The interval of alpha / m at the stop misses exactly when the shifted test rejects the truth.
        shifted, _ = unit_p(seen - truth[:, None], ratio, math.nan)
        stopping = closing | (open_ & (look == len(looks) - 1))
        miss |= stopping & (np.nan_to_num(shifted, nan=1.0) <= state.levels[look, -1])
    equal, apart = np.abs(truth) < 1e-12, np.abs(truth) >= margin - 1e-12
    false_different = (state.different & equal).any(axis=1)
    false_equivalent = (state.equivalent & apart).any(axis=1)
    closed = state.different | state.equivalent
    wrong = (state.different & equal & ~state.equivalent) | (state.equivalent & apart)
    per_model = [
        used[:, [k for k, pair in enumerate(pairs) if model in pair]].max(axis=1) for model in range(len(offsets))
    ]
    cells = np.mean(per_model, axis=0) / looks[-1]
    right = (closed & ~wrong).mean(axis=1)
    columns = (false_different, false_equivalent, closed.mean(axis=1), cells, right, miss.any(axis=1))
    return tuple(np.asarray(column, dtype=np.float64) for column in columns)


SITUATIONS = ("normal", "t3", "heteroscedastic", "50 items", "lognormal", "collapse")
EDGE = (0.0, 0.0, 0.01, 0.01, 0.01)


def false_decisions(mode: str, *, benchmarks: int = 1000) -> dict[str, SequentialRates]:
    """Table of ``seeds="auto"`` or ``"anytime"``: all models equal, and six of ten pairs exactly one margin apart."""
    rule = SeedRule(0.01, mode=mode, first_look=FIRST_LOOKS[mode])
    given = {"looks": rule.looks, "spending": rule.levels, "futility": rule.futility, "benchmarks": benchmarks}
    null = {f"{name}, equal": sequential_rates(name, margin=math.nan, **given) for name in SITUATIONS}
    return null | {f"{name}, one margin apart": sequential_rates(name, offsets=EDGE, **given) for name in SITUATIONS}


def fold_decisions(mode: str, *, splits: int = 5, benchmarks: int = 1000) -> dict[str, SequentialRates]:
    """Table of 30 seeds on a few fixed splits, for shares of the variance that belong to the splits."""
    rule = SeedRule(0.01, mode=mode, first_look=FIRST_LOOKS[mode])
    given = {"looks": rule.looks_of(splits), "spending": rule.levels, "futility": rule.futility, "splits": splits}
    shares = {f"{share:.0%} of the variance": share for share in (0.0, 0.5, 0.8)}
    return {
        name: sequential_rates(margin=math.nan, split_share=share, benchmarks=benchmarks, **given)
        for name, share in shares.items()
    }
