"""Every claim that the product can make, the situations it is measured in, and what it promises there.

Most rows go through the product itself (`measures`); array-level simulations are plugged in by `plugged`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import numpy as np

from calibration import measures, worlds
from calibration.plugged import plugged_rows
from calibration.rows import ALWAYS, AT_MOST_5, NEVER, Bound, Row
from calibration.worlds import WORLDS, Make, World
from graphnetz.records.analysis import CLAIMS, AnalysisOptions

DESIGNS = ((3, 3), (5, 5), (5, 10), (9, 10))
"""Models and seeds of a task."""


def _better(
    claim: str, situation: str, make: Make, models: int, seeds: int, reach: str, bound: Bound = AT_MOST_5,
    options: AnalysisOptions | None = None, times: int = 0,
) -> Row:  # fmt: skip
    measure = partial(measures.false_better, make, models, seeds, reach, options)
    return Row(claim, situation, bound, measure, times or _times(models))


def _times(models: int) -> int:
    """Replicates: nine models have 36 comparisons, each of which costs."""
    return 400 if models > 5 else 1000 if models > 3 else 2000


def _one_better(name: str) -> Make:
    """The same situation with one model that really is better."""

    def make(rng: np.random.Generator, shape: worlds.Shape) -> World:
        return worlds.lifted(WORLDS[name](rng, shape), np.eye(shape[1])[-1] * 0.02)

    return make


def better_rows() -> Iterator[Row]:
    bounds = {"one lognormal model, shape 0.5": Bound(high=0.07), "one lognormal model, shape 1": Bound(high=0.10)}
    moved = {"one model collapses in 1 of 20 runs": "collapse"} | dict.fromkeys(bounds, "not-testable")
    for name, make in WORLDS.items():
        claim, bound = moved.get(name, "better-split"), bounds.get(name, AT_MOST_5)
        for models, seeds in DESIGNS if claim == "better-split" else ((3, 10), (5, 10), (5, 30)):
            yield _better(claim, f"{name}, {models} models, {seeds} seeds", make, models, seeds, "split", bound)
    for name in ("normal", "t3"):
        yield _better("better-split", f"{name}, one of 5 really better", _one_better(name), 5, 10, "split")
    for method in ("wilcoxon", "sign"):
        options = AnalysisOptions(method=method)
        yield _better(
            "better-split", f"{method}, normal, 3 models, 10 seeds", WORLDS["normal"], 3, 10, "split", options=options
        )
    yield Row("better-split", "Holm over a report of 10 tasks, 3 models", AT_MOST_5, measures.report_family, 1000)
    yield Row("better-split", "a dominated model that crashes on hard seeds is first", NEVER, measures.crasher_first)
    yield Row(
        "better-split", "1 seed in 20 missing: the best is shown worse than another", NEVER, measures.best_is_beaten
    )
    unknown = lambda rng, shape: replace(WORLDS["normal"](rng, shape), replication="unknown")  # noqa: E731
    yield _better("better-unknown", "independent seeds, 5 models, 10 seeds", unknown, 5, 10, "unknown")
    for ratio, where in ((math.nan, "one fixed split"), (0.25, "resplit, n_test / n_train = 0.25")):
        for models in (2, 4):
            make = worlds.new_examples(ratio)
            yield _better("better-source", f"report, {where}, {models} models", make, models, 10, "source", times=600)
        measure = partial(measures.source_coverage, ratio)
        yield Row(
            "better-source", f"report, interval, {where}", Bound(0.93, 0.97 if where[0] == "o" else None), measure, 600
        )
    for ratio in worlds.RATIOS:
        where = f"n_test / n_train = {ratio:g}"
        size, make = Bound(0.03, 0.06), worlds.resplit(ratio)
        yield _better("better-dataset", f"size, 2 models, 10 splits, {where}", make, 2, 10, "dataset", size)
        yield _better("better-dataset", f"5 models, 5 splits, {where}", make, 5, 5, "dataset")
        yield Row(
            "better-dataset",
            f"power where plain t has 98 %, {where}",
            Bound(low=0.9),
            partial(measures.dataset_power, ratio),
        )
    for models in (2, 5):
        where = f"5 folds, 30 seeds, independent fold effects, {models} models"
        yield _better("better-dataset", where, worlds.fold_effects, models, 30, "dataset")
    for shared, words in ((False, "own initialisations"), (True, "one initialisation for all folds")):
        for seeds in (5, 30):
            where = f"5 folds, {seeds} seeds, {words}, 3 models"
            yield _better("better-dataset", where, worlds.folds(shared=shared), 3, seeds, "dataset")


def constant_rows() -> Iterator[Row]:
    for seeds in (5, 6, 10):
        for models in (2, 3):
            where = f"differences of two values only, {models} models, {seeds} seeds"
            yield _better("constant", where, worlds.two_valued, models, seeds, "split")
    yield Row(
        "constant",
        "0.80 and 0.50 on every one of 10 seeds: called",
        ALWAYS,
        partial(measures.called, worlds.constant, (2, 10)),
        200,
    )
    yield Row("deterministic", "scores differ: called different", ALWAYS, partial(measures.deterministic, False), 200)
    yield Row(
        "deterministic",
        "scores are equal: called different",
        NEVER,
        partial(measures.deterministic, True),
        200,
    )


def interval_rows() -> Iterator[Row]:
    for name in ("normal", "t3", "heteroscedastic 1:10"):
        for models, seeds in ((3, 5), (5, 10), (9, 10)):
            where = f"{name}, {models} models, {seeds} seeds"
            measure = partial(measures.joint_coverage, WORLDS[name], models, seeds)
            yield Row("interval", where, Bound(low=0.94), measure, _times(models))
    yield Row(
        "interval", "accuracies at n_test / n_train = 43: a bound out of range", NEVER, measures.out_of_range, 400
    )
    for models in (3, 5, 9):
        for effects in ("drawn", "one better"):
            where = f"{models} models, 10 seeds, {'means drawn' if effects == 'drawn' else effects}"
            yield Row("gap", where, Bound(high=1.1), partial(measures.exaggeration, models, effects), 400)


def other_rows() -> Iterator[Row]:
    for seeds in (5, 10, 30):
        bound = Bound(low=0.95)
        yield Row(
            "power",
            f"sentence of a verdict, 2 models, {seeds} seeds",
            bound,
            partial(measures.power_sentence, seeds),
            1000,
        )
        yield Row(
            "power", f"power analysis, 2 models, {seeds} seeds", bound, partial(measures.power_range, seeds), 1000
        )
    for rate in (0.01, 0.05, 0.2, 0.5):
        yield Row("failures", f"true rate {rate:g}, 10 runs", Bound(low=0.95), partial(measures.failure_rate, rate))
    yield Row("collapse", "a collapsed run is there: said so", Bound(low=0.9), measures.collapse_flagged, 1000)
    for models in (3, 5):
        measure = partial(measures.beats_baselines, models)
        yield Row("baselines", f"{models} equal models, one of them a baseline", AT_MOST_5, measure, 1000)
    for models, seeds in ((2, 5), (2, 10), (4, 10)):
        where = f"neighbours exactly the margin apart, {models} models, {seeds} seeds"
        yield Row("equivalent", where, AT_MOST_5, partial(measures.false_equivalence, models, seeds), 1000)
    yield Row("equivalent", "identical scores: called equivalent", ALWAYS, measures.identical_equivalent, 200)
    for replication in ("init", "resplit"):
        where = f"nothing changed but noise, {replication}"
        yield Row("regression", where, AT_MOST_5, partial(measures.changed, 0.0, 0.01, replication), 1000)
        where = f"0.80 to 0.50 on every seed, {replication}: called"
        yield Row("regression", where, ALWAYS, partial(measures.changed, 0.3, 0.0, replication), 100)
    for lift, words in ((0.0, "four equal models"), (0.05, "one really better, the other three equal")):
        measure = partial(measures.summaries_differ, lift)
        yield Row("better-summary", f"{words}, unequal spreads, 5 to 20 runs", AT_MOST_5, measure, 2000)


def gate_rows() -> Iterator[Row]:
    """How often the gate of a build fails although nothing became worse, and how often it lets a drop pass."""
    for noise in ("normal", "accuracies on 500 items", "accuracies on 50 items"):
        for shape in ((1, 1, 3), (1, 1, 5), (3, 3, 2), (3, 3, 3), (3, 3, 5), (3, 3, 10)):
            where = f"false alarm, {noise}, {'1 pair' if shape[1] == 1 else '9 pairs'}, {shape[2]} seeds"
            yield Row("gate", where, AT_MOST_5, partial(measures.gate_fails, 0.0, noise, 0.0, shape), 2000)
    measure = partial(measures.gate_fails, 0.01, "normal", 0.01, (1, 1, 5))
    yield Row("gate", "false alarm, a drop of exactly the margin, 1 pair, 5 seeds", AT_MOST_5, measure, 2000)
    for seeds in (3, 5, 10):
        measure = partial(measures.gate_fails, 0.05, "none", 0.01, (1, 1, seeds))
        yield Row("gate", f"0.05 worse on all of {seeds} seeds: caught", ALWAYS, measure, 100)
    drops = ((0.02, (1, 1, 5), 0.9), (0.02, (3, 3, 5), 0.4), (0.02, (3, 3, 10), 0.95), (0.05, (3, 3, 5), 0.95))
    for drop, shape, low in drops:
        measure = partial(measures.gate_fails, drop, "normal", 0.0, shape)
        pairs = "1 pair" if shape[1] == 1 else "1 of 9 pairs"
        where = f"{pairs} {drop:g} worse, noise of 0.01 per seed, {shape[2]} seeds: caught"
        yield Row("gate", where, Bound(low=low), measure, 1000)


def report_rows() -> Iterator[Row]:
    """Ranks and sequential decisions, one report per replicate or many tasks to a report."""
    for tasks, models in ((8, 3), (12, 5)):
        for lift, words in ((0.0, "all equal"), (0.05, "one really better")):
            measure = partial(measures.false_ranks, tasks, models, lift)
            yield Row("ranks-differ", f"report, {words}, {tasks} tasks, {models} models", AT_MOST_5, measure, 400)
    for where, make, reach in (
        ("normal", WORLDS["normal"], "split"),
        ("one model collapses in 1 of 20 runs", WORLDS["one model collapses in 1 of 20 runs"], "split"),
        ("5 folds of one dataset", worlds.folds(shared=False), "dataset"),
        ("5 folds, independent fold effects", worlds.fold_effects, "dataset"),
    ):
        for claim, mode in (("sequential", "auto"), ("anytime", "anytime")):
            measure = partial(measures.sequential_product, make, reach, mode)
            yield Row(claim, f"report, up to 30 seeds, {where}, 3 models", AT_MOST_5, measure, 600)


def rows() -> tuple[Row, ...]:
    """Every row, claim by claim in the order of ``claims.toml``."""
    found = [
        *better_rows(),
        *constant_rows(),
        *interval_rows(),
        *other_rows(),
        *gate_rows(),
        *report_rows(),
        *plugged_rows(),
    ]
    order = list(CLAIMS)
    return tuple(sorted(found, key=lambda row: order.index(row.claim)))
