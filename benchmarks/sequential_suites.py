"""Ways to spend seeds, on three suites: fixed n, ``seeds="auto"``, ``seeds="anytime"`` and AdaStop.

Suites are simulated from real tables (``results/sequential_suites.csv``): means and spreads of the models of each
task, for the default suite with the correlations that twelve real seeds have, so that the truth is known and the
figures are averages over many runs. Prints a table and writes ``results/sequential_suites.json``.
"""

from __future__ import annotations

import argparse
import csv
import json
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import numpy as np

from adastop import adastop
from calibration.simulate_sequential import unit_facts, unit_p
from graphnetz.records.scores import split_means
from graphnetz.records.seed_rule import SeedRule
from graphnetz.stats.boundaries import unit_means
from graphnetz.stats.sequential import FamilyState

RESULTS = Path(__file__).resolve().parent / "results"
SEEDS, MARGIN = 30, 0.01


@dataclass(frozen=True)
class Situation:
    """One task: what its models score on average, and how that varies over seeds and over fixed splits."""

    mean: np.ndarray
    covariance: np.ndarray
    splits: int = 0
    split_share: float = 0.0

    @property
    def pairs(self) -> list[tuple[int, int]]:
        return list(combinations(range(len(self.mean)), 2))

    def draw(self, rng: np.random.Generator, runs: int) -> np.ndarray:
        """Scores ``[run, model, seed]``."""
        size = (runs, SEEDS)
        zero = np.zeros_like(self.mean)
        scores = rng.multivariate_normal(zero, self.covariance * (1 - self.split_share), size)
        if self.splits:
            fixed = rng.multivariate_normal(zero, self.covariance * self.split_share, (runs, self.splits))
            scores += fixed[:, np.arange(SEEDS) % self.splits]
        return np.moveaxis(scores + self.mean, 2, 1)


def suites() -> dict[str, dict[str, Situation]]:
    out: dict[str, dict[str, Situation]] = {"default suite": _default()}
    with (RESULTS / "sequential_suites.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    for suite in dict.fromkeys(row["suite"] for row in rows):
        mine = [row for row in rows if row["suite"] == suite]
        for task in dict.fromkeys(row["task"] for row in mine):
            mean, sd = (np.array([float(r[key]) for r in mine if r["task"] == task]) for key in ("mean", "sd"))
            out.setdefault(suite, {})[task] = Situation(mean, np.diag(sd**2))
    return out


def _default() -> dict[str, Situation]:
    """The committed study: moments of its first twelve seeds (the tasks with ten fixed splits among them)."""
    table: dict[str, dict[str, list[float]]] = {}
    with (RESULTS / "decide_sooner_scores.csv").open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            table.setdefault(row["task"], {}).setdefault(row["model"], []).append(float(row["score"]))
    out = {}
    for task, models in table.items():
        scores = np.array([models[name] for name in sorted(models)])
        splits = 10 if task in ("breast_cancer_knn", "digits_knn") else 0
        share = _split_share(scores, splits) if splits else 0.0
        out[task] = Situation(scores.mean(axis=1), np.cov(scores), splits, share)
    return out


def _split_share(scores: np.ndarray, splits: int) -> float:
    """Share of the variance that belongs to the splits, from those that were seen twice."""
    seeds = np.arange(scores.shape[1])
    again = [split_means(row, seeds, splits) for row in scores]
    twice = seeds[splits:] % splits
    within = np.mean([2 * (row[twice] - means[twice]) ** 2 for row, means in zip(scores, again, strict=True)])
    return float(np.clip(1 - within / scores.var(axis=1, ddof=1).mean(), 0.0, 1.0))


@dataclass(frozen=True)
class Outcome:
    """Totals over the tasks of a suite, per run: cells, claims, and claims that are false."""

    cells: float
    different: float
    equivalent: float
    wrong: float

    @property
    def decided(self) -> float:
        return self.different + self.equivalent

    def __add__(self, other: Outcome) -> Outcome:
        return Outcome(*(getattr(self, name) + getattr(other, name) for name in self.__dataclass_fields__))


def by_rule(scores: np.ndarray, task: Situation, looks: tuple[int, ...], spending: str, futility: float) -> Outcome:
    """Run one of our rules on all runs of a task at once; one look is a fixed number of seeds."""
    first, second = (list(side) for side in zip(*task.pairs, strict=True))
    d = scores[:, first] - scores[:, second]
    runs, m, _ = d.shape
    state = FamilyState(runs, m, looks, 0.05, spending, splits=task.splits)
    used = np.full((runs, m), looks[-1])
    for look, n in enumerate(looks):
        before = state.open
        seen = unit_means(d[..., :n], task.splits)
        state.read(look, *unit_p(seen, 0.0, MARGIN))
        state.give_up(look, *unit_facts(seen), np.array(MARGIN), np.array(0.0), futility)
        used[before & ~state.open] = n
    per_model = [used[:, [model in pair for pair in task.pairs]].max(axis=1) for model in range(len(task.mean))]
    different = state.different & ~state.equivalent
    return _outcome(task, d, different, state.equivalent, float(np.sum(per_model) / runs))


def by_adastop(scores: np.ndarray, task: Situation, runs: int) -> Outcome:
    found = [adastop(run, task.pairs, per_interim=5, interims=6, seed=i) for i, run in enumerate(scores[:runs])]
    different = np.array([pairs for pairs, _ in found])
    first, second = (list(side) for side in zip(*task.pairs, strict=True))
    d = scores[:runs, first] - scores[:runs, second]
    cells = float(np.mean([seeds.sum() for _, seeds in found]))
    return _outcome(task, d, different, np.zeros_like(different), cells)


def needed(scores: np.ndarray, task: Situation) -> np.ndarray:
    """Fewest seeds at which one look decides what 30 seeds decide, ``[run, pair]``; 0 for what they do not."""
    first, second = (list(side) for side in zip(*task.pairs, strict=True))
    d = scores[:, first] - scores[:, second]
    need, last = np.zeros(d.shape[:2]), np.ones(d.shape[:2], dtype=bool)
    for n in range(SEEDS, 2, -1):
        looks = _fixed(n, task.splits)
        state = FamilyState(*d.shape[:2], looks, 0.05, "pocock", splits=task.splits)
        state.read(0, *unit_p(unit_means(d[..., : looks[0]], task.splits), 0.0, MARGIN))
        last = ~state.open if n == SEEDS else last
        need = np.where(~state.open & last, n, need)
    return need


def oracle(data: dict[str, np.ndarray], tasks: dict[str, Situation], share: float) -> float:
    """Cells per run if one knew ``needed`` beforehand and left out the dearest pairs, keeping ``share`` of them."""
    need = {name: needed(data[name], task) for name, task in tasks.items()}
    pooled = np.concatenate([table[table > 0] for table in need.values()])
    limit = np.quantile(pooled, share)
    total = 0.0
    for name, task in tasks.items():
        kept = np.where(need[name] <= limit, need[name], 0.0)
        total += sum(kept[:, [m in pair for pair in task.pairs]].max(axis=1).mean() for m in range(len(task.mean)))
    return total


def _outcome(task: Situation, d: np.ndarray, different: np.ndarray, same: np.ndarray, cells: float) -> Outcome:
    truth = np.array([task.mean[i] - task.mean[j] for i, j in task.pairs])
    wrong = (different & (d.mean(axis=2) * truth <= 0)) | (same & (np.abs(truth) >= MARGIN))
    return Outcome(cells, *(float(claims.sum(axis=1).mean()) for claims in (different, same, wrong)))


def ways() -> dict[str, SeedRule]:
    return {
        "auto (Pocock)": SeedRule(MARGIN),
        "auto (O'Brien-Fleming)": SeedRule(MARGIN, spending="obrien_fleming"),
        "anytime": SeedRule(MARGIN, mode="anytime", first_look=3),
    }


def compare(tasks: dict[str, Situation], *, runs: int, exact_runs: int, rules: dict[str, SeedRule]) -> dict:
    """All ways on one suite: cells and decisions, beside fixed seeds at the same number of cells."""
    rng = np.random.default_rng(17)
    data = {name: task.draw(rng, runs) for name, task in tasks.items()}

    def total(outcome) -> Outcome:
        return sum((outcome(data[name], task) for name, task in tasks.items()), Outcome(0, 0, 0, 0))

    fixed = {n: total(lambda s, t, n=n: by_rule(s, t, _fixed(n, t.splits), "pocock", 0.0)) for n in range(3, 31)}
    full = fixed[SEEDS]
    found = {
        name: total(lambda s, t, r=rule: by_rule(s, t, r.looks_of(t.splits), r.levels, r.futility))
        for name, rule in rules.items()
    }
    if exact_runs:
        found["AdaStop"] = total(lambda s, t: by_adastop(s, t, exact_runs))
    budget = SEEDS * sum(len(task.mean) for task in tasks.values())
    rows = {"30 fixed seeds": full} | found
    return {
        "comparisons": sum(len(task.pairs) for task in tasks.values()),
        "oracle_cells_share": {share: round(oracle(data, tasks, share) / budget, 4) for share in (1.0, 0.97)},
        "fixed": {n: round(item.decided, 2) for n, item in fixed.items()},
        "ways": {name: _row(item, full, fixed, budget) for name, item in rows.items()},
    }


def _fixed(n: int, splits: int) -> tuple[int, ...]:
    """One look at n seeds; of fixed splits that are seen again only whole rounds count."""
    return (n if not splits or n <= splits else n - n % splits,)


def _row(item: Outcome, full: Outcome, fixed: dict[int, Outcome], budget: float) -> dict[str, float]:
    share = item.cells / budget
    equal = {kind: float(np.interp(share * SEEDS, list(fixed), [getattr(f, kind) for f in fixed.values()]))
             for kind in ("decided", "different")}  # fmt: skip
    return {
        "cells_share": round(share, 4), "decided": round(item.decided, 2), "different": round(item.different, 2),
        "wrong": round(item.wrong, 3), "of_30_fixed": round(item.decided / full.decided, 4),
        "fixed_at_equal_cells": round(equal["decided"], 2), "different_at_equal_cells": round(equal["different"], 2),
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--adastop-runs", type=int, default=20)
    options = parser.parse_args()
    result = {}
    for suite, tasks in suites().items():
        result[suite] = compare(tasks, runs=options.runs, exact_runs=options.adastop_runs, rules=ways())
        print(f"{suite}: {result[suite]['comparisons']} comparisons, oracle {result[suite]['oracle_cells_share']}")
        for name, row in result[suite]["ways"].items():
            print(f"  {name:24}" + "  ".join(f"{key} {value:g}" for key, value in row.items()))
    (RESULTS / "sequential_suites.json").write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
