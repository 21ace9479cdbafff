"""Measure what the statistics promise, at length.

Prints one line per figure, writes ``benchmarks/results/calibration.json`` and exits with 1 when a
promised rate is missed by more than Monte-Carlo error allows. ``--quick`` divides the replicates by
ten. The result file holds no times or paths, so a second run writes the same bytes.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from calibration.simulate import (
    coverage,
    detection_rate,
    equivalence_rate,
    familywise_rates,
    friedman_rates,
    hierarchical_rates,
    monte_carlo_error,
    resampling_rates,
)
from calibration.simulate_sequential import NOISE, SequentialRates, peeking_rates, sequential_rates
from graphnetz.stats import look_schedule, power

RESULTS = Path(__file__).resolve().parent / "results" / "calibration.json"


@dataclass(frozen=True)
class Figure:
    """One measured share; ``low`` and ``high`` bound what is promised, None where nothing is."""

    group: str
    name: str
    value: float
    replicates: int
    low: float | None = None
    high: float | None = None

    @property
    def error(self) -> float:
        return monte_carlo_error(self.value, self.replicates)

    @property
    def kept(self) -> bool:
        above = self.low is None or self.value >= self.low
        return above and (self.high is None or self.value <= self.high)


def at_most(rate: float, replicates: int) -> float:
    """Largest share that three Monte-Carlo standard errors allow when the true one is ``rate``."""
    return rate + 3 * monte_carlo_error(rate, replicates)


def intervals(replicates: int) -> Iterator[Figure]:
    for population in ("normal", "ceiling", "lognormal"):
        for n in (5, 10, 30):
            for method in ("t", "bootstrap", "bca"):
                value = coverage(method, population, n, replicates=replicates, n_resamples=5000)
                promised = method == "t" and population == "normal"
                bounds = (0.94, 0.96) if promised else (None, None)
                yield Figure("coverage of 95 % intervals", f"{method}, {population}, S={n}", value, replicates, *bounds)


def families(replicates: int) -> Iterator[Figure]:
    settings = [
        ("t, all equal", "t", {}),
        ("t, one model better", "t", {"effect": 0.02}),
        ("t, scores on a 1/1000 grid", "t", {"grid": 0.001}),
        ("t, S=5", "t", {"seeds": 5}),
        ("Wilcoxon, all equal", "wilcoxon", {}),
        ("Wilcoxon, one model better", "wilcoxon", {"effect": 0.02}),
    ]
    group = "false rejections with Holm, 10 tasks, 5 models, S=10"
    for label, method, options in settings:
        rates = familywise_rates(method, replicates=replicates, **options)
        families_seen = replicates * 10
        yield Figure(group, f"{label}: per task", rates["per_task"], families_seen, high=at_most(0.05, families_seen))
        yield Figure(group, f"{label}: anywhere, family=task", rates["report_by_task"], replicates)
        yield Figure(
            group, f"{label}: anywhere, family=report", rates["report"], replicates, high=at_most(0.05, replicates)
        )


def splits(replicates: int) -> Iterator[Figure]:
    for seeds in (5, 10, 30):
        rates = resampling_rates(seeds=seeds, replicates=replicates)
        group = "rejections of a true null, split correlation 0.1"
        yield Figure(group, f"paired t, S={seeds}", rates["t"], replicates)
        yield Figure(group, f"corrected t, S={seeds}", rates["corrected_t"], replicates, high=at_most(0.05, replicates))


def rankings(replicates: int) -> Iterator[Figure]:
    for n, k in ((5, 4), (10, 4), (10, 5), (20, 5), (20, 10)):
        rates = friedman_rates(n, k, replicates=replicates)
        small = n < 10 or k < 5
        for name, value in rates.items():
            promised = name == "nemenyi_after_omnibus" or (name == "permutation" and small)
            # The F approximation decides from 10 tasks and 5 models on; it is allowed half a point.
            high = (
                at_most(0.05, replicates)
                if promised
                else at_most(0.055, replicates)
                if name == "f" and not small
                else None
            )
            yield Figure(
                "rejections of equal models across tasks", f"{name}, N={n}, k={k}", value, replicates, high=high
            )


def decisions(replicates: int) -> Iterator[Figure]:
    for seeds in (5, 10, 30):
        value = equivalence_rate(seeds=seeds, replicates=replicates)
        yield Figure(
            "false equivalence at the margin", f"TOST, S={seeds}", value, replicates, high=at_most(0.05, replicates)
        )
    for n in (5, 10, 30):
        predicted = power(0.01, 0.012, n)
        slack = 3 * monte_carlo_error(predicted, replicates)
        value = detection_rate(0.01, 0.012, n, replicates=replicates)
        yield Figure(
            "power at effect 0.01, sd 0.012",
            f"S={n}, predicted {predicted:.4f}",
            value,
            replicates,
            predicted - slack,
            predicted + slack,
        )


def sequential(benchmarks: int) -> Iterator[Figure]:
    """Five models, ten tasks, looks at 5, 10, ..., 30 seeds, margin 0.01, seed deviation 0.005."""
    families = benchmarks * 10
    for name, value in peeking_rates(benchmarks=benchmarks).items():
        promised = at_most(0.05, families) if name == "one pair, nominal levels" else None
        yield Figure("false differences, six looks, normal scores", name, value, families, high=promised)
    edge, mixed = (0.0, 0.0, 0.01, 0.01, 0.01), (0.0, 0.0, 0.003, 0.01, 0.02)
    for spending in ("obrien_fleming", "pocock"):
        for noise in NOISE:
            label = f"{noise}, {spending}"
            null = sequential_rates(noise, spending=spending, margin=float("nan"), benchmarks=benchmarks)
            yield _family("sequential: task with a false difference", label, null.false_different, families)
            some = sequential_rates(noise, spending=spending, offsets=mixed, benchmarks=benchmarks)
            yield _family("sequential: the same, some models differ", label, some.false_different, families)
            close = sequential_rates(noise, spending=spending, offsets=edge, benchmarks=benchmarks)
            yield _family("sequential: task with a false equivalence", label, close.false_equivalent, families)
            yield _family("sequential: task with an interval that misses", label, close.interval_miss, families)
            yield from _costs(label, some, families)
        shared = sequential_rates(spending=spending, correlation=0.1, margin=float("nan"), benchmarks=benchmarks)
        label = f"normal, {spending}, split correlation 0.1"
        yield _family("sequential: task with a false difference", label, shared.false_different, families)


def automatic(benchmarks: int) -> Iterator[Figure]:
    """The rule of ``seeds="auto"``: looks from 5 to 30 seeds, Pocock spending, giving up below one in ten."""
    families = benchmarks * 10
    rule = {"looks": look_schedule(30), "spending": "pocock", "futility": 0.1, "benchmarks": benchmarks}
    edge, mixed = (0.0, 0.0, 0.01, 0.01, 0.01), (0.0, 0.0, 0.003, 0.01, 0.02)
    group = "automatic seeds: task with"
    for noise in NOISE:
        null = sequential_rates(noise, margin=float("nan"), **rule)
        yield _family(f"{group} a false difference", noise, null.false_different, families)
        some = sequential_rates(noise, offsets=mixed, **rule)
        yield _family(f"{group} a false difference, some models differ", noise, some.false_different, families)
        close = sequential_rates(noise, offsets=edge, **rule)
        yield _family(f"{group} a false equivalence", noise, close.false_equivalent, families)
        yield _family(f"{group} an interval that misses", noise, close.interval_miss, families)
        yield from _costs(f"automatic, {noise}", some, families)
    shared = sequential_rates(correlation=0.1, margin=float("nan"), **rule)
    yield _family(f"{group} a false difference", "normal, split correlation 0.1", shared.false_different, families)


def _family(group: str, name: str, value: float, families: int) -> Figure:
    return Figure(group, name, value, families, high=at_most(0.05, families))


def _costs(label: str, rates: SequentialRates, families: int) -> Iterator[Figure]:
    group = "sequential: offsets 0, 0, 0.003, 0.01, 0.02"
    yield Figure(group, f"{label}: share of the 30-seed cells run", rates.cells, families)
    yield Figure(group, f"{label}: comparisons decided", rates.decided, families)
    yield Figure(group, f"{label}: decisions that are true", rates.agreement, families)


def population(replicates: int) -> Iterator[Figure]:
    for tasks, seeds, tau in ((10, 10, 0.01), (5, 5, 0.01), (20, 10, 0.002)):
        rates = hierarchical_rates(tasks=tasks, seeds=seeds, tau=tau, replicates=replicates)
        setting = f"{tasks} tasks, {seeds} seeds, spread {tau}"
        for name in ("new_task", "mean"):
            low = 0.95 - 3 * monte_carlo_error(0.95, replicates)
            yield Figure("coverage of 95 % hierarchical intervals", f"{name}, {setting}", rates[name], replicates, low)
        group = "probability of exceeding the margin on a new task"
        slack = 3 * monte_carlo_error(0.5, replicates)
        predicted = rates["p_right"]
        name = f"{setting}, predicted {predicted:.3f}"
        yield Figure(group, name, rates["share_right"], replicates, predicted - slack, predicted + slack)


def outputs(tables: int) -> Iterator[Figure]:
    """Hold every two outputs of random reports against each other, as ``make test`` does with 200 of them."""
    path = Path(__file__).resolve().parents[1] / "tests" / "report" / "test_outputs_agree.py"
    spec = importlib.util.spec_from_file_location("outputs_agree", path)
    if spec is None or spec.loader is None:
        raise FileNotFoundError(path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    bad = sum(bool(module.contradictions(index)) for index in range(tables))
    yield Figure("outputs of one report", "tables with a contradiction", bad / tables, tables, None, 0.0)


SUITES = {
    "intervals": (intervals, 20_000),
    "families": (families, 5_000),
    "splits": (splits, 100_000),
    "rankings": (rankings, 20_000),
    "decisions": (decisions, 100_000),
    "sequential": (sequential, 1_000),
    "automatic": (automatic, 1_000),
    "population": (population, 1_000),
    "outputs": (outputs, 10_000),
}


def write(figures: list[Figure], *, keep: bool) -> None:
    """Write the result file; with ``keep`` figures of other suites stay as they are."""
    rows = {(f.group, f.name): {**asdict(f), "kept": f.kept} for f in figures}
    if keep and RESULTS.exists():
        before = json.loads(RESULTS.read_text(encoding="utf-8"))["figures"]
        rows = {(row["group"], row["name"]): row for row in before} | rows
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps({"schema": 1, "figures": list(rows.values())}, indent=1) + "\n", encoding="utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of the replicates; writes no result file")
    parser.add_argument(
        "--only", choices=sorted(SUITES), action="append", help="run these suites; writes no result file"
    )
    parser.add_argument("--update", action="store_true", help="with --only: put these figures into the result file")
    arguments = parser.parse_args()
    figures: list[Figure] = []
    for name in arguments.only or SUITES:
        suite, replicates = SUITES[name]
        for figure in suite(replicates // 10 if arguments.quick else replicates):
            mark = "      " if figure.low is None and figure.high is None else "kept  " if figure.kept else "MISSED"
            print(f"{mark}  {figure.group} | {figure.name}: {figure.value:.4f} +- {figure.error:.4f}", flush=True)
            figures.append(figure)
    missed = [figure for figure in figures if not figure.kept]
    if not arguments.quick and (arguments.update or not arguments.only):
        write(figures, keep=bool(arguments.only))
    print(f"\n{len(figures)} figures, {len(missed)} promises missed.")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
