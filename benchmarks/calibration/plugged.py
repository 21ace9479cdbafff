"""Array-level simulations as rows: one line says which function of which module measures what.

`plug` is the place to add more: a function that takes ``replicates`` (or what ``times`` names it) and returns a share,
a mapping of shares or a record of them. A module that is not there gives rows that are "not measured", which fails the
build.
"""

from __future__ import annotations

import importlib
import inspect
import math
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np

from calibration.rows import AT_MOST_5, Bound, Measured, Row
from calibration.simulate_sequential import NOISE
from graphnetz._core.errors import UsageError
from graphnetz.stats import look_schedule, power

Pick = str | Callable[[Any], float]


def plug(
    claim: str,
    situation: str,
    promised: Bound,
    where: str,
    *args: Any,
    pick: Pick = "",
    repeat: int = 2000,
    times: str = "replicates",
    per: int = 1,
    deviation: float = math.nan,
    **options: Any,
) -> Row:
    """A row that is measured by ``where``, such as ``"across.rank_set_rates"``, called with ``args`` and ``options``.

    Parameters
    ----------
    pick
        Key or attribute of what comes back, or a function of it; empty where the figure itself comes back.
    repeat, times
        Replicates, and the name of the argument that takes them.
    per
        How many families one replicate holds, for the Monte-Carlo error.
    deviation
        Deviation of what one replicate gives, where the figure is not a share.
    """

    def measure(replicates: int, rng: np.random.Generator) -> Measured:
        module, _, name = where.partition(".")
        try:
            function = getattr(importlib.import_module(f"calibration.{module}"), name)
            takes = inspect.signature(function).parameters
            seeded = {"seed": int(rng.integers(2**31))} if "seed" in takes else {}
            inspect.signature(function).bind(*args, **{times: replicates}, **seeded, **options)
        except (ImportError, AttributeError, TypeError):
            return Measured(math.nan, 0, note=f"calibration.{where} cannot measure it")
        try:
            found = function(*args, **{times: replicates}, **seeded, **options)
        except UsageError as error:
            return Measured(math.nan, 0, note=f"calibration.{where}: {error}")
        total = replicates * per
        return Measured(_picked(found, pick), total, deviation / math.sqrt(total))

    return Row(claim, situation, promised, measure, repeat)


def _picked(found: Any, pick: Pick) -> float:
    if callable(pick):
        return float(pick(found))
    if not pick:
        return float(found)
    return float(found[pick] if isinstance(found, Mapping) else getattr(found, pick))


# Ranks and populations of tasks


def rank_rows() -> Iterator[Row]:
    for n, k in ((5, 4), (10, 4), (10, 5), (20, 10)):
        # The F approximation decides from 10 tasks and 5 models on; it is allowed half a point.
        key, bound = ("permutation", AT_MOST_5) if n < 10 or k < 5 else ("f", Bound(high=0.055))
        for pick, limit in ((key, bound), ("nemenyi_after_omnibus", AT_MOST_5)):
            where = f"{pick.replace('_', ' ')}, {n} tasks, {k} models"
            yield plug("ranks-differ", where, limit, "simulate.friedman_rates", n, k, pick=pick, repeat=20_000)
    across = partial(plug, repeat=1000)
    for kind in ("normal", "t3", "heteroscedastic models", "heteroscedastic tasks"):
        where = f"Wilcoxon with Holm, {kind}, 10 tasks, 5 models"
        yield across("ranks-differ", where, AT_MOST_5, "across.false_rank_rates", kind, 10, 5, pick="wilcoxon_holm")
    for kind in ("normal", "t3", "heteroscedastic models", "heteroscedastic tasks", "specialist"):
        for spread, words in ((0.0, "all equal"), (1.0, "half of them better")):
            where = f"{kind}, 12 tasks, 6 models, {words}"
            given = {"pick": "coverage", "spread": spread, "repeat": 400}
            yield across("rank-set", where, Bound(low=0.94), "across.rank_set_rates", kind, 12, 6, **given)


def _off(found: Mapping[str, float]) -> float:
    """Gap between stated and true probability: the mean one, or a larger one among statements that are alike."""
    return max(abs(found["gap"]), found["worst_bin"])


def population_rows() -> Iterator[Row]:
    near, given = Bound(high=0.05), {"pick": _off, "repeat": 400, "deviation": 0.2}
    for kind in ("normal", "t2", "mixture"):
        where = f"stated probability against the truth, {kind}"
        yield plug("new-task", f"{where} tasks", near, "across.new_task_rates", kind, **given)
        yield plug("improvement", f"{where} tasks", near, "across.improvement_rates", kind, **given)
    for tasks, tau in ((10, 0.01), (20, 0.002)):
        where = f"interval of a new task, normal, {tasks} tasks, spread {tau}"
        given = {"pick": "new_task", "repeat": 400, "tasks": tasks, "tau": tau}
        yield plug("new-task", where, Bound(low=0.95), "simulate.hierarchical_rates", **given)


# Seeds that are added until it is decided

MIXED, EDGE = (0.0, 0.0, 0.003, 0.01, 0.02), (0.0, 0.0, 0.01, 0.01, 0.01)
SEQUENTIAL = (
    ("false difference, all equal", "false_different", {"margin": math.nan}),
    ("false difference, some differ", "false_different", {"offsets": MIXED}),
    ("false equivalence", "false_equivalent", {"offsets": EDGE}),
    ("an interval misses", "interval_miss", {"offsets": EDGE}),
)
"""Situation, figure and arguments of the array-level form: five models, ten tasks to a benchmark."""


def sequential_rows() -> Iterator[Row]:
    rates = "simulate_sequential.sequential_rates"
    given = {"times": "benchmarks", "per": 10, "repeat": 400}
    auto = {"looks": look_schedule(30), "spending": "pocock", "futility": 0.1}
    anytime = {"looks": tuple(range(3, 31)), "spending": "anytime"}
    for noise in NOISE:
        bound = Bound(high=0.07) if noise == "lognormal" else AT_MOST_5
        for words, pick, options in SEQUENTIAL:
            where = f"{words}, {noise.replace('_', ' ')}"
            yield plug("sequential", where, bound, rates, noise, pick=pick, **given, **auto, **options)
        words, pick, options = SEQUENTIAL[0]
        where = f"{words}, {noise.replace('_', ' ')}"
        yield plug("anytime", where, bound, rates, noise, pick=pick, **given, **anytime, **options)
    where = f"{words}, normal, O'Brien-Fleming"
    yield plug("sequential", where, AT_MOST_5, rates, pick=pick, **given, **options)
    yield plug("sequential", f"{words}, 5 fixed splits", AT_MOST_5, rates, pick=pick, splits=5, **given, **options)


# New examples


STRONG = "resplit, n_test / n_train = 0.1, which training part matters as much as the initialisation"
"""Nadeau and Bengio's test takes that effect for small, and one dataset cannot show it (Bengio and Grandvalet 2004)."""


def example_rows() -> Iterator[Row]:
    source = "source.source_rates"
    designs = (
        ("one fixed split", "init", {}, 0.97),
        ("resplit, n_test / n_train = 0.1", "resplit", {"ratio": 0.1, "pool_effect": 0.03}, None),
        (STRONG, "resplit", {"ratio": 0.1, "pool_effect": 0.1}, None),
        ("resplit, n_test / n_train = 0.5", "resplit", {"ratio": 0.5, "pool_effect": 0.1}, None),
        ("resplit, n_test / n_train = 5", "resplit", {"ratio": 5.0, "n": 500, "pool_effect": 0.1}, None),
        ("5 folds", "fold", {"seeds": 5, "ratio": 0.25, "n": 60, "pool_effect": 0.1}, None),
    )
    for words, kind, options, most in designs:
        yield plug("better-source", f"size, {words}", AT_MOST_5, source, kind, pick="rejected", repeat=1000, **options)
        cover = Bound(0.93, most)
        yield plug("better-source", f"interval, {words}", cover, source, kind, pick="covered", repeat=1000, **options)
    for kind, words in (("blocks", "losses correlated along edges"), ("dyadic", "pairs that share a node")):
        yield plug("better-source", f"size, {words}", AT_MOST_5, "source.graph_rates", kind, repeat=1000)
    for kind in ("mcnemar", "permutation", "delong"):
        yield plug("example-test", f"{kind}, 100 examples", AT_MOST_5, "source.example_test_rates", kind, repeat=2000)
    for words, design in (
        ("one split, 10 seeds, 200 examples", {"splits": 1, "per_split": 10, "n": 200, "pool": 200}),
        ("10 splits of 400 examples, 3 seeds each", {"splits": 10, "per_split": 3, "n": 100, "pool": 400}),
        ("10 splits of 400 examples, 1 seed each", {"splits": 10, "per_split": 1, "n": 100, "pool": 400}),
    ):
        parts = {"components": (1e-3, 1e-3 if design["splits"] > 1 else 0.0, 0.1, 0.1)}
        given = {"pick": _worst_bias, "repeat": 400, "deviation": 0.4}
        yield plug("components", f"bias, {words}", Bound(high=0.2), "source.share_bias", **design, **parts, **given)


def _worst_bias(found: Mapping[str, tuple[float, float]]) -> float:
    """Largest relative bias of a share that is at least a tenth."""
    return max(abs(mean / true - 1) for true, mean in found.values() if true >= 0.1)


# Skewed scores and collapse


def shape_rows() -> Iterator[Row]:
    for sigma, limit in (("0.5", 0.07), ("1", 0.10)):
        for times in (1, 2, 10):
            where = f"formulas, lognormal {sigma} with {times} times the spread of the others"
            row = f"lognormal{sigma}-{times}"
            yield plug(
                "not-testable", where, Bound(high=limit), "shapes.skew_rates", row, pick="unflagged", repeat=20_000
            )
    for share in (0.05, 0.2):
        where = f"{share:.0%} of runs collapse"
        given = {"share": share, "repeat": 20_000}
        yield plug("collapse", f"formulas, {where}", AT_MOST_5, "shapes.collapse_rates", pick="claims", **given)
        cover = Bound(low=0.95)
        yield plug("collapse", f"bound of the rate, {where}", cover, "shapes.collapse_rates", pick="bound", **given)


# Families of comparisons


def family_rows() -> Iterator[Row]:
    for row in ("normal", "t3", "heteroscedastic 1:10"):
        for layout in ("all equal", "one better", "all different"):
            where = f"formulas, {row}, 9 models, 10 seeds, {layout}"
            given = {"models": 9, "pick": "closed", "repeat": 4000}
            yield plug("interval", where, Bound(low=0.94), "families.coverage_of_simultaneous", row, layout, **given)
        where = f"moderated t, an option, {row}, 5 models, 10 seeds"
        yield plug("better-split", where, Bound(high=0.055), "families.moderated_rates", row, pick="moderated_size")
    for gap in (2.0, 3.0):
        where = f"formulas, 5 models in steps of {gap:g} standard errors"
        yield plug("gap", where, Bound(high=1.1), "families.exaggeration", gap, pick="shrunken", deviation=0.5)
    for seeds in (5, 10, 30):
        where = f"formulas, {seeds} seeds"
        yield plug("power", where, Bound(low=0.95), "families.seeds_range_coverage", seeds=seeds, repeat=20_000)


# Formulas of one mean or one pair


def simple_rows() -> Iterator[Row]:
    """Formulas on arrays of their own: intervals of one mean, TOST and power of one pair."""
    for seeds in (5, 10, 30):
        where = f"t interval of one mean, normal, {seeds} seeds"
        yield plug("interval", where, Bound(0.94, 0.96), "simulate.coverage", "t", "normal", seeds, repeat=20_000)
        where = f"one pair exactly the margin apart, {seeds} seeds"
        yield plug("equivalent", where, AT_MOST_5, "simulate.equivalence_rate", seeds=seeds, repeat=20_000)
        where = f"share found against the predicted one, effect 0.01, sd 0.012, {seeds} seeds"
        given = {"pick": partial(_apart, power(0.01, 0.012, seeds)), "repeat": 100_000, "deviation": 0.5}
        yield plug("power", where, Bound(high=0.005), "simulate.detection_rate", 0.01, 0.012, seeds, **given)


def _apart(predicted: float, found: float) -> float:
    return abs(found - predicted)


def plugged_rows() -> Iterator[Row]:
    """Every row that is measured on arrays."""
    for part in (simple_rows, rank_rows, population_rows, sequential_rows, example_rows, shape_rows, family_rows):
        yield from part()
