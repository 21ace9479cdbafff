"""Measurements that go through the product: worlds in, how often what it says is false out."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from calibration import said, worlds
from calibration.rows import NOT_SAID, Measured, share
from calibration.worlds import WORLDS, Make, World
from graphnetz.analysis import analyse
from graphnetz.analysis.gate import gate
from graphnetz.analysis.power import equivalence_frame, power_frame
from graphnetz.analysis.run_changes import changes
from graphnetz.analysis.summaries import Summary, analyse_summaries
from graphnetz.records.analysis import AnalysisOptions
from graphnetz.records.seed_rule import SeedRule
from graphnetz.stats import minimum_detectable_effect, seeds_needed

# Within a task: better


def false_better(
    make: Make, models: int, seeds: int, reach: str, options: AnalysisOptions | None, n: int, rng: np.random.Generator
) -> Measured:
    """Share of tasks on which any record says "better" of a model that is not."""
    return share(_false(make(rng, (n, models, seeds)), reach, options=options))


def _false(world: World, reach: str, **settings: Any) -> Iterator[bool]:
    for batch in said.analysed(world, **settings):
        if said.NEAREST[world.replication] != reach and not said.has_rung(batch, reach):
            return
        for t, pairs in enumerate(said.better(batch, reach)):
            yield any(_is_false(batch, t, *pair) for pair in pairs)


def _is_false(batch: said.Batch, t: int, winner: str, loser: str) -> bool:
    if batch.world.all_runs is not None and not said.collapsed(batch, batch.tasks[t], winner, loser):
        at = batch.found.scores.models.index
        return bool(batch.world.all_runs[t, at(winner)] <= batch.world.all_runs[t, at(loser)] + 1e-12)
    return batch.gap(t, winner, loser) <= 1e-12


def crasher_first(n: int, rng: np.random.Generator) -> Measured:
    """Fault A: share of tasks on which the dominated model that crashes on hard seeds is called the best."""
    batches = said.analysed(worlds.crasher(rng, (n, 3, 10)))
    return share(batch.found.standings[task].best == "m0" for batch in batches for task in batch.tasks)


def best_is_beaten(n: int, rng: np.random.Generator) -> Measured:
    """Share of tasks whose best model is shown to be worse than another one by its own test."""
    world = worlds.lifted(WORLDS["1 seed in 20 missing at random"](rng, (n, 5, 10)), np.linspace(0, 0.02, 5))
    # Seeds differ by more than models do, so that it matters which of them are missing.
    world = replace(world, scores=world.scores + 0.1 * rng.normal(size=(n, 1, 10)))
    return share(
        any(pair.different and pair.involves(place.best) and pair.better != place.best for pair in pairs)
        for batch in said.analysed(world)
        for task, pairs in batch.found.grouped.items()
        if (place := batch.found.standings[task]) is not None
    )


def dataset_power(ratio: float, n: int, rng: np.random.Generator) -> Measured:
    """Share of tasks on which a difference is found that the plain paired t-test finds in 98 of 100."""
    world = worlds.resplit(ratio)(rng, (n, 2, 10))
    sd = float(np.std(world.scores[:, 0] - world.scores[:, 1]))
    there = worlds.lifted(world, np.array([minimum_detectable_effect(sd, 10, alpha=0.05, power=0.98), 0.0]))
    return share(("m0", "m1") in pairs for batch in said.analysed(there) for pairs in said.better(batch, "dataset"))


def source_coverage(ratio: float, n: int, rng: np.random.Generator) -> Measured:
    """Share of intervals for new examples that hold the truth, two models."""
    world = worlds.new_examples(ratio)(rng, (n, 2, 10))
    found = (rung for batch in said.analysed(world) for rung in said.rungs(batch, "source"))
    return share(claim.low <= true <= claim.high for claim, true in found)


def report_family(n: int, rng: np.random.Generator) -> Measured:
    """Share of reports of ten tasks with any false difference when Holm runs over the whole report."""
    world = WORLDS["normal"](rng, (10 * n, 3, 10))
    found = said.analysed(world, options=AnalysisOptions(family="report"), tasks=10)
    return share(any(pair.different for pair in batch.found.comparisons) for batch in found)


# Constant differences and deterministic models


def called(make: Make, shape: tuple[int, int], n: int, rng: np.random.Generator) -> Measured:
    """Share of tasks with a true difference of the first model on which it is called better than the second."""
    world = make(rng, (n, *shape))
    return share(("m0", "m1") in pairs for batch in said.analysed(world) for pairs in said.better(batch, "split"))


def deterministic(want_equal: bool, n: int, rng: np.random.Generator) -> Measured:
    """Share of pairs of deterministic models that are called different, of the equal ones or of the others."""
    return share(
        pair.different
        for batch in said.analysed(worlds.deterministic(rng, (n, 3, 6)))
        for t, task in enumerate(batch.tasks)
        for pair in batch.found.grouped[task]
        if (batch.gap(t, pair.a, pair.b) == 0) == want_equal
    )


# Intervals and gaps


def joint_coverage(make: Make, models: int, seeds: int, n: int, rng: np.random.Generator) -> Measured:
    """Share of tasks on which every printed interval holds the true difference."""
    effects = rng.normal(0, 0.01, (n, models))
    world = worlds.lifted(make(rng, (n, models, seeds)), effects)
    return share(
        all(low - 1e-12 <= true <= high + 1e-12 for low, high, true in task)
        for batch in said.analysed(world)
        for task in said.spans(batch)
        if task
    )


def out_of_range(n: int, rng: np.random.Generator) -> Measured:
    """Share of tasks with a bound beyond what accuracies allow: 0.8 against 0.1 at n_test / n_train = 43 (fault B)."""
    world = replace(WORLDS["normal"](rng, (n, 2, 5)), replication="resplit", ratio=43.0)
    wide = replace(world, scores=0.45 + (world.scores - worlds.CENTRE) * 10 + np.array([0.35, -0.35])[:, None])
    return share(
        any(low < -1 or high > 1 for low, high, _ in task)
        for batch in said.analysed(wide)
        for task in said.spans(batch)
    )


def exaggeration(models: int, effects: str, n: int, rng: np.random.Generator) -> Measured:
    """Mean printed lead of the best model over its mean true lead."""
    drawn = rng.normal(0, 0.01, (n, models)) if effects == "drawn" else np.eye(models)[0] * 0.015
    world = worlds.lifted(WORLDS["normal"](rng, (n, models, 10)), drawn)
    pairs = np.array([pair for batch in said.analysed(world) for pair in said.gaps(batch)]).reshape(-1, 2)
    if len(pairs) < 2:
        return Measured(math.nan, len(pairs), note=NOT_SAID)
    ratio = float(pairs[:, 0].mean() / pairs[:, 1].mean())
    error = float(np.std(pairs[:, 0] - ratio * pairs[:, 1], ddof=1) / abs(pairs[:, 1].mean()) / math.sqrt(len(pairs)))
    return Measured(ratio, len(pairs), error)


# Power, failures, baselines, equivalence, two runs


def power_sentence(seeds: int, n: int, rng: np.random.Generator) -> Measured:
    """Share of printed ranges of needed seeds that hold the number that the true spread needs."""
    world = WORLDS["normal"](rng, (n, 2, seeds))
    sd = worlds.SPREAD * math.sqrt(2)
    true: dict[float, int | None] = {}
    hits = []
    for batch in said.analysed(world):
        for text in said.sentences(batch).values():
            for low, high, effect in said.seeds_ranges(text):
                need = true.setdefault(effect, seeds_needed(effect, sd, alpha=0.05, power=0.8))
                hits.append(need is not None and low <= need <= high)
    return share(hits)


def power_range(seeds: int, n: int, rng: np.random.Generator) -> Measured:
    """The same for the frame of a power analysis, which every comparison has."""
    need = seeds_needed(0.01, worlds.SPREAD * math.sqrt(2), alpha=0.05, power=0.8) or math.inf
    hits: list[bool] = []
    for batch in said.analysed(WORLDS["normal"](rng, (n, 2, seeds))):
        frame = power_frame(batch.found.scores, batch.found.comparisons, 0.01, alpha=0.05, target=0.8)
        hits += ((frame["seeds_low"] <= need) & ~(frame["seeds_high"] < need)).tolist()
    return share(hits)


def failure_rate(rate: float, n: int, rng: np.random.Generator) -> Measured:
    """Share of bounds of failure rates that hold."""
    scores = worlds.paired(rng, rng.normal(size=(n, 2, 10)))
    world = worlds.equal(np.where(rng.random(scores.shape) < rate, np.nan, scores))
    return share(bound >= rate for batch in said.analysed(world) for _, _, bound in said.failure_bounds(batch))


def collapse_flagged(n: int, rng: np.random.Generator) -> Measured:
    """Share of tasks with at least one collapsed run in which the report says so."""
    world = WORLDS["one model collapses in 1 of 20 runs"](rng, (n, 3, 10))
    seen = (np.abs(world.scores[:, 0] - 0.5) < 1e-12).any(axis=1)
    found = [said.collapsed(batch, task, "m0", "m1") for batch in said.analysed(world) for task in batch.tasks]
    return share(flag for flag, there in zip(found, seen, strict=True) if there)


def beats_baselines(models: int, n: int, rng: np.random.Generator) -> Measured:
    """Share of tasks without the warning that no model beats the baselines, where none does."""
    world = WORLDS["normal"](rng, (n, models, 10))
    return share(
        "No model" not in text
        for batch in said.analysed(world, baselines=("m0",))
        for text in said.sentences(batch).values()
    )


def false_equivalence(models: int, seeds: int, n: int, rng: np.random.Generator) -> Measured:
    """Share of tasks on which a pair is called equivalent although it is exactly the margin apart."""
    apart = worlds.lifted(WORLDS["normal"](rng, (n, models, seeds)), 0.015 * np.arange(models))
    return share(_equivalent(apart, 0.015, truly=False))


def identical_equivalent(n: int, rng: np.random.Generator) -> Measured:
    """Share of tasks on which models with identical scores are called equivalent within any margin (fault E)."""
    world = worlds.constant(rng, (n, 2, 5), 0.0)
    return share(_equivalent(world, 1e-6, truly=True))


def _equivalent(world: World, margin: float, *, truly: bool) -> Iterator[bool]:
    for batch in said.analysed(world):
        frame = equivalence_frame(batch.found.scores, batch.found.comparisons, margin, alpha=0.05)
        for t, task in enumerate(batch.tasks):
            rows = frame[frame["task"] == task]
            inside = [
                abs(batch.gap(t, a, b)) < margin - 1e-12 for a, b in zip(rows["model_a"], rows["model_b"], strict=True)
            ]
            yield any(bool(e) and i == truly for e, i in zip(rows["equivalent"], inside, strict=True))


def changed(drop: float, noise: float, replication: str, n: int, rng: np.random.Generator) -> Measured:
    """Share of comparisons of two runs (3 tasks, 3 models, 10 seeds) in which any change is reported."""
    hits = []
    for _ in range(n):
        world = replace(WORLDS["normal"](rng, (3, 3, 10)), replication=replication, ratio=0.25)
        again = replace(world, scores=world.scores - drop + noise * rng.normal(size=world.scores.shape))
        first, second = (next(said.analysed(part)).found for part in (world, again))
        found, _ = changes(first, second, alpha=0.05, method="t")
        hits.append(any(change.verdict in ("better", "worse") for change in found))
    return share(hits)


def gate_fails(drop: float, noise: str, margin: float, shape: tuple[int, int, int], n: int,
               rng: np.random.Generator) -> Measured:  # fmt: skip
    """Share of gates that fail when the true scores of one pair lie ``drop`` below those of the baseline.

    ``noise``: normal with 0.01 per seed, accuracies on 50 or 500 test items, or none (the same drop on every seed).
    """
    hits = []
    lower = np.zeros((*shape[:2], 1))
    lower[0, 0] = drop
    for _ in range(n):
        world = WORLDS["normal"](rng, shape)
        if noise.startswith("accuracies"):
            items, size = int(noise.split()[-2]), world.scores.shape
            world, again = (
                replace(world, scores=rng.binomial(items, 0.8 - off, size=size) / items) for off in (0, lower)
            )
        else:
            spread = 0.01 * (noise == "normal")
            again = replace(world, scores=world.scores - lower + spread * rng.normal(size=world.scores.shape))
        old, new = (next(said.analysed(part)).found for part in (world, again))
        hits.append(gate(old, new, margin=margin).failed)
    return share(hits)


def summaries_differ(lift: float, n: int, rng: np.random.Generator) -> Measured:
    """Share of tables of four equal models (means, s.d., 5 to 20 runs) in which any two are called different."""
    hits = []
    for _ in range(n):
        runs = rng.integers(5, 21, 4)
        rows = []
        for i, (count, sd) in enumerate(zip(runs, rng.uniform(0.003, 0.03, 4), strict=True)):
            x = rng.normal(0.8 + lift * (i == 0), sd, int(count))
            rows.append(Summary("t", f"m{i}", float(x.mean()), float(x.std(ddof=1)), int(count)))
        pairs = analyse_summaries(rows, metric="test_acc", greater_is_better=True).pairs
        equal = [p for p in pairs if lift == 0 or p.model_a != "m0"]
        hits.append(any(p.verdict in ("better", "worse") for p in equal))
    return share(hits)


# Across tasks, and seeds until decided: through the report


def false_ranks(tasks: int, models: int, lift: float, n: int, rng: np.random.Generator) -> Measured:
    """Share of benchmarks in which models that are equal are told apart across tasks."""
    hits = []
    for _ in range(n):
        world = worlds.WORLDS["normal"](rng, (tasks, models, 5))
        found = analyse(said.table_of(worlds.lifted(world, np.eye(models)[-1] * lift))).ranking
        same = [i for i, name in enumerate(found.models) if lift == 0 or name != f"m{models - 1}"]
        hits.append(any(found.apart(i, j) for i in same for j in same if i < j) or (lift == 0 and found.rejected))
    return share(hits)


def sequential_product(make: Make, reach: str, mode: str, n: int, rng: np.random.Generator) -> Measured:
    """Share of tasks with a false difference where seeds are added until it is decided, through the report."""
    if mode != "auto" and "mode" not in SeedRule.__dataclass_fields__:
        return Measured(math.nan, 0, note=NOT_SAID)
    rule = SeedRule(0.01, max_seeds=30, **({} if mode == "auto" else {"mode": mode}))
    return share(_false(make(rng, (n, 3, 30)), reach, rule=rule, tasks=50))
