"""False claims where scores are skewed, heavy-tailed or collapse: what the diagnostics before the tests promise.

Every function is pure and vectorised over replicates. Models of a task are equally good (over runs without collapse),
so every claim of a difference is false; power is measured with the first model lifted.
"""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
from scipy import special

from graphnetz.stats._common import Bools, Floats
from graphnetz.stats.corrections import CORRECTIONS
from graphnetz.stats.diagnostics import collapsed_rows, rate_bound, skewed_rows

ROWS = ("normal", "t3", "hetero", "items50", *(f"lognormal{s}-{r}" for s in ("0.5", "1") for r in (1, 2, 10)))
"""Situations by name; the last number of a lognormal one says how many times the spread of the others it has."""

CENTRE, SD, CHANCE = 0.8, 0.02, 0.1


def scores(row: str, shape: tuple[int, int, int], rng: np.random.Generator) -> Floats:
    """Scores ``[replicate, model, seed]`` of equally good models that share a seed effect."""
    if row == "items50":
        return rng.binomial(50, CENTRE, shape) / 50
    noise = rng.standard_t(3, shape) if row == "t3" else rng.normal(size=shape)
    shared = rng.normal(size=(shape[0], 1, shape[2]))
    if row == "hetero":
        noise = noise * np.geomspace(1, 10, shape[1])[:, None]
    if row.startswith("lognormal"):
        name, _, times = row.partition("-")
        noise, shared = noise / float(times), shared / float(times)
        noise[:, 0] = _lognormal(float(name.removeprefix("lognormal")), noise[:, 0].shape, rng)
    return CENTRE + SD * (noise + shared)


def _lognormal(s: float, shape: tuple[int, ...], rng: np.random.Generator) -> Floats:
    """Lognormal noise of shape ``s`` with mean 0 and deviation 1; every other replicate has the long tail below."""
    z = np.exp(s * rng.normal(size=shape))
    z = (z - math.exp(s * s / 2)) / math.sqrt(math.exp(s * s) * math.expm1(s * s))
    z[::2] *= -1
    return z


def _pairs(x: Floats) -> Floats:
    first, second = zip(*combinations(range(x.shape[1]), 2), strict=True)
    d: Floats = x[:, list(first)] - x[:, list(second)]
    return d


def _p(d: Floats) -> Floats:
    """Two-sided paired t p-value of every row, leaving NaN out; 1 where fewer than 3 differ."""
    n = np.isfinite(d).sum(axis=-1)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.nansum(d, axis=-1) / n
        error = np.sqrt(np.nansum((d - mean[..., None]) ** 2, axis=-1) / (n - 1) / n)
        p = 2 * special.stdtr(np.maximum(n - 1, 1), -np.abs(mean) / error)
    return np.where((n > 2) & (error > 1e-12), p, 1.0)


def _blocked(d: Floats) -> Bools:
    """Comparisons that are not testable: a long tail against the claim."""
    found: Bools = skewed_rows(d) * d.mean(axis=-1) < 0
    return found


def skew_rates(
    row: str, *, models: int = 3, seeds: int = 10, alpha: float = 0.05, effect: float = 0.0, replicates: int = 20_000
) -> dict[str, float]:
    """Shares of tasks with a false claim, plain and after the flag, or the power that the flag leaves.

    Returns
    -------
    dict
        ``plain`` and ``unflagged`` rates of at least one false claim after Holm, or with an ``effect`` (in units of
        the spread) the mean share of true differences that are shown; ``blocked`` comparisons among all.
    """
    rng = np.random.default_rng([models, seeds, ROWS.index(row)])
    x = scores(row, (replicates, models, seeds), rng)
    x[:, 0] += effect * SD
    d = _pairs(x)
    shown = CORRECTIONS["holm"](_p(d)) <= alpha
    blocked = _blocked(d)
    if effect:
        true = slice(0, models - 1)
        return {
            "plain": float(shown[:, true].mean()),
            "unflagged": float((shown & ~blocked)[:, true].mean()),
            "blocked": float(blocked.mean()),
        }
    return {
        "plain": float(shown.any(axis=1).mean()),
        "unflagged": float((shown & ~blocked).any(axis=1).mean()),
        "blocked": float(blocked.mean()),
    }


def collapse_alarms(row: str, *, seeds: int = 10, chance: float = math.nan, replicates: int = 20_000) -> float:
    """Share of score vectors in which a collapse is found although no run collapsed: the worst model of the row."""
    rng = np.random.default_rng([seeds, ROWS.index(row)])
    x = scores(row, (replicates, 3, seeds), rng)
    return float(collapsed_rows(x, chance).any(axis=-1).mean(axis=0).max())


def collapse_rates(
    row: str = "normal",
    *,
    models: int = 3,
    seeds: int = 10,
    share: float = 0.05,
    to: float = CHANCE,
    chance: float = CHANCE,
    alpha: float = 0.05,
    effect: float = 0.0,
    replicates: int = 20_000,
) -> dict[str, float]:
    """Claims about runs without collapse, where the first model collapses in a ``share`` of its runs.

    Returns
    -------
    dict
        ``plain`` (collapsed runs kept, claim about all runs: false whenever shown), ``claims`` (collapsed runs
        dropped, as the sentences say), ``found`` (collapsed runs that were recognised), ``bound`` (the upper bound of
        the collapse rate holds).
    """
    rng = np.random.default_rng([models, seeds, ROWS.index(row)])
    x = scores(row, (replicates, models, seeds), rng)
    x[:, 0] += effect * SD
    down = rng.random((replicates, seeds)) < share
    x[:, 0] = np.where(down, to + SD * rng.normal(size=down.shape), x[:, 0])
    plain = CORRECTIONS["holm"](_p(_pairs(x))) <= alpha
    low = collapsed_rows(x, chance)
    d = _pairs(np.where(low, np.nan, x))
    # More than half of the runs collapsed: comparisons with that model are not testable.
    gone = np.where(2 * low.sum(axis=-1) > seeds, np.nan, 0.0)
    blocked = np.isnan(_pairs(gone))
    whole = np.isfinite(d).all(axis=-1)
    blocked[whole] = _blocked(d[whole])
    shown = (CORRECTIONS["holm"](_p(d)) <= alpha) & ~blocked
    bounds = np.array([rate_bound(k, seeds) for k in range(seeds + 1)])
    # Recognised or not, the bound is about what was counted as collapsed.
    over = {name: found[:, : models - 1].mean() if effect else found.any(axis=1).mean()
            for name, found in (("plain", plain), ("claims", shown))}  # fmt: skip
    return {
        **{name: float(value) for name, value in over.items()},
        "found": float((low[:, 0] & down).sum() / max(1, down.sum())),
        "bound": float((bounds[low[:, 0].sum(axis=1)] >= share).mean()),
    }
