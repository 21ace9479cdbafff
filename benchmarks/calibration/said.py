"""What the product says about simulated scores: worlds in, the claims of its own records and sentences out.

Nothing is computed here that the product computes: what is measured is what is printed.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from calibration.worlds import World
from graphnetz.analysis import analyse
from graphnetz.analysis.comparisons import by_mean
from graphnetz.records import CellResult, ScoreTable
from graphnetz.records.analysis import AnalysisOptions, Claim, Comparison, Facts
from graphnetz.records.examples import Contributions
from graphnetz.records.seed_rule import SeedRule
from graphnetz.records.task_info import TaskInfo
from graphnetz.stats._common import Floats

METRIC = "test_acc"
PER_REPLICATE = ("scores", "truth", "all_runs", "examples")
TASKS = 200
"""Replicates that go through one call as tasks of one report: parts within tasks do not see each other."""
NEAREST = {"init": "split", "resplit": "dataset", "fold": "dataset", "regenerate": "source", "unknown": "unknown"}
"""Reach of a plain "better" by what a seed varies."""


@dataclass(frozen=True, eq=False)
class Batch:
    """One analysed report, and the world behind it with one replicate per task."""

    found: Any
    world: World

    @property
    def tasks(self) -> tuple[str, ...]:
        return self.found.scores.tasks

    def gap(self, t: int, winner: str, loser: str) -> float:
        """True difference of two models."""
        at = self.found.scores.models.index
        return float(self.world.truth[t, at(winner)] - self.world.truth[t, at(loser)])


def analysed(
    world: World,
    *,
    options: AnalysisOptions | None = None,
    baselines: tuple[str, ...] = (),
    rule: SeedRule | None = None,
    tasks: int = TASKS,
) -> Iterator[Batch]:
    """Analyse the replicates of a world as tasks of reports."""
    for start in range(0, len(world.scores), tasks):
        here = slice(start, start + tasks)
        part = replace(world, **{name: _rows(getattr(world, name), here) for name in PER_REPLICATE})
        table = table_of(part)
        info = {task: _info(world, task) for task in table.tasks}
        cells = cells_of(table) if rule or np.isnan(part.scores).any() else ()
        facts = Facts(info, cells=cells, baselines=baselines, rule=rule, examples=_examples(part, table))
        yield Batch(analyse(table, options, facts=facts), part)


def _info(world: World, block: str) -> TaskInfo:
    return TaskInfo(
        METRIC, "Test accuracy", True, world.replication, world.ratio, block, n_test=world.n_test, splits=world.splits
    )


def _rows(values: Floats | None, here: slice) -> Floats | None:
    return None if values is None else values[here]


def _examples(world: World, table: ScoreTable) -> Callable[[str], Contributions | None] | None:
    if world.examples is None:
        return None
    there, seeds = world.examples, table.seeds

    def examples(task: str) -> Contributions:
        rows = dict(zip(table.models, there[table.tasks.index(task)], strict=True))
        splits = (0,) * len(seeds) if world.replication == "init" else seeds
        return Contributions(task, METRIC, seeds, splits, np.arange(there.shape[3]), rows)

    return examples


def table_of(world: World) -> ScoreTable:
    """The replicates of a world as tasks of one table."""
    n, models, seeds = world.scores.shape
    tasks = tuple(f"t{i}" for i in range(n))
    return ScoreTable(
        tasks, tuple(f"m{i}" for i in range(models)), tuple(range(seeds)), world.scores, (True,) * n, (METRIC,) * n,
        (world.replication,) * n, (world.ratio,) * n, tasks, splits=(world.splits,) * n,
    )  # fmt: skip


def cells_of(table: ScoreTable) -> list[CellResult]:
    """The finished and failed runs behind a table."""
    out = []
    for (t, m, s), value in np.ndenumerate(table.values):
        ok = bool(np.isfinite(value))
        where = (table.tasks[t], table.models[m], table.seeds[s])
        out.append(
            CellResult(
                "", *where, "ok" if ok else "failed", METRIC, True, {METRIC: float(value)} if ok else {},
                error="" if ok else "RuntimeError: out of memory", replication=table.replication[t],
            )
        )  # fmt: skip
    return out


def ladder(pair: Comparison) -> dict[str, Claim]:
    """The rungs that a comparison holds, by reach; empty where the product builds none."""
    parts = [part for item in fields(pair) if isinstance(part := getattr(pair, item.name), tuple)]
    return {rung.evidence.reach: rung for part in parts for rung in part if isinstance(rung, Claim)}


def better(batch: Batch, reach: str) -> list[set[tuple[str, str]]]:
    """Task by task, every (better, worse) that any record of the report asserts at ``reach``."""
    out: list[set[tuple[str, str]]] = []
    nearest = NEAREST[batch.world.replication] == reach
    for task in batch.tasks:
        said: set[tuple[str, str]] = set()
        for pair in batch.found.grouped.get(task, ()):
            rung = ladder(pair).get(reach)
            shown = (pair.different and nearest) or (rung is not None and rung.shown)
            if shown and pair.better:
                said.add((pair.better, pair.other(pair.better)))
        place = batch.found.standings[task]
        if nearest and place is not None:
            said |= {(place.best, model) for model in place.worse}
            said |= {(model, place.best) for model in getattr(place, "ahead", ())}
        out.append(said)
    return out


def has_rung(batch: Batch, reach: str) -> bool:
    """Whether the report asks for ``reach`` at all."""
    return any(reach in ladder(pair) for pair in batch.found.comparisons)


def spans(batch: Batch) -> Iterator[list[tuple[float, float, float]]]:
    """Task by task the printed intervals with the true difference: ``(low, high, truth)``."""
    for t, task in enumerate(batch.tasks):
        yield [
            (*bounds, batch.gap(t, pair.a, pair.b))
            for pair in batch.found.grouped.get(task, ())
            if math.isfinite((bounds := interval_of(pair))[0])
        ]


def interval_of(pair: Comparison) -> tuple[float, float]:
    """The simultaneous interval; where the product has none, the one that it shows."""
    if hasattr(pair, "sim_low"):
        return pair.sim_low, pair.sim_high
    return pair.shown_low, pair.shown_high


def collapsed(batch: Batch, task: str, one: str, other: str) -> bool:
    """Whether the comparison of two models is said to be about runs without collapse."""
    pairs = batch.found.grouped[task]
    return any("collapse" in getattr(p, "flags", ()) for p in pairs if p.involves(one) and p.involves(other))


# Sentences


def sentences(batch: Batch) -> dict[str, str]:
    """All verdicts of each task as one text."""
    out = dict.fromkeys(batch.tasks, "")
    for verdict in batch.found.verdicts:
        if verdict.about in out:
            out[verdict.about] += f" {verdict}"
    return out


def claimed(batch: Batch) -> dict[str, set[str]]:
    """Kinds of claim that the verdicts of each task make."""
    out: dict[str, set[str]] = {task: set() for task in batch.tasks}
    for verdict in batch.found.verdicts:
        out.get(verdict.about, set()).update(verdict.claims)
    return out


SEEDS = re.compile(
    r"(\d[\d,]*) \w+(?: \((\d[\d,]*) to (more than )?(\d[\d,]*)\))? would detect a difference of (\d[\d.e-]*\d)"
)
SHRUNKEN = re.compile(r"corrected for having picked the best ([+-]?\d[\d.e-]*)")


def seeds_ranges(text: str) -> list[tuple[float, float, float]]:
    """Every "N seeds (low to high) would detect a difference of d" as ``(low, high, d)``; N alone is its own range."""
    out = []
    for n, low, beyond, high, effect in SEEDS.findall(text):
        ends = [float((end or n).replace(",", "")) for end in (low, high)]
        out.append((ends[0], math.inf if beyond else ends[1], float(effect)))
    return out


def gaps(batch: Batch) -> Iterator[tuple[float, float]]:
    """Lead of the best model over the next as it is printed, corrected for picking it, with the true one."""
    texts = sentences(batch)
    for t, task in enumerate(batch.tasks):
        place, said = batch.found.standings[task], SHRUNKEN.search(texts[task])
        if place is None or said is None:
            continue
        second = next(model for model in by_mean(batch.found.support, t) if model != place.best)
        yield float(said[1]), batch.gap(t, place.best, second)


def failure_bounds(batch: Batch) -> Iterator[tuple[int, str, float]]:
    """Upper bounds of failure rates: number of the task, model, bound; none where the product states none."""
    for cell in batch.found.cells:
        bound = getattr(cell, "failed_high", math.nan)
        if math.isfinite(bound):
            yield batch.tasks.index(cell.task), cell.model, bound


def rungs(batch: Batch, reach: str) -> Iterator[tuple[Claim, float]]:
    """Every claim of a reach that has an interval, with the true difference."""
    for t, task in enumerate(batch.tasks):
        for pair in batch.found.grouped[task]:
            rung = ladder(pair).get(reach)
            if rung is not None and math.isfinite(rung.low):
                yield rung, batch.gap(t, pair.a, pair.b)
