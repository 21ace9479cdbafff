"""From a report to the record that the page template shows."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from graphnetz.analysis.power import design_of, reference_effect
from graphnetz.analysis.scores import public_error
from graphnetz.analysis.sizes import parameter_counts
from graphnetz.analysis.task_population import population_tables
from graphnetz.analysis.verdicts import TEST_WORDS, seeds_word
from graphnetz.records import Section, Table
from graphnetz.report import figures
from graphnetz.report.page import PageData, PairGroup
from graphnetz.report.pagecharts import cost_figure, page_figures
from graphnetz.report.provenance import origin_tables, reproduce

if TYPE_CHECKING:
    from graphnetz.report.report import BenchmarkReport

MAX_MATRIX = 12


def build_page(
    report: BenchmarkReport, *, sections: Sequence[Section] | None = None, folder: Path | None = None
) -> PageData:
    """Collect everything the page shows.

    ``sections`` stand in place of the report's own when given; ``folder`` is where the page will lie.
    """
    table = report.scores
    return PageData(
        title=title_of(report),
        facts=_facts(report),
        verdicts=report.verdicts(),
        grid=report.grid(),
        figures=page_figures(report),
        pairs=_pairs(report),
        tables=tuple(_tables(report)),
        absent=tuple((t, m, why) for (t, m), why in sorted(table.reasons.items()) if not _present(report, t, m)),
        failures=_failures(report),
        sections=tuple(report.sections if sections is None else sections),
        methods=methods(report),
        provenance=tuple(origin_tables(report)),
        reproduce=reproduce(report, folder),
        cost=cost_figure(report),
    )


def title_of(report: BenchmarkReport) -> str:
    """Title of the page: given, or made from what was run."""
    config = report.config
    subject = config.get("title") or config.get("suite") or config.get("category") or "benchmark"
    return str(subject) if config.get("title") else f"Benchmark report: {subject}"


def _present(report: BenchmarkReport, task: str, model: str) -> bool:
    table = report.scores
    return task in table.tasks and model in table.models and bool(np.isfinite(table.cell(task, model)).any())


def _facts(report: BenchmarkReport) -> tuple[tuple[str, str], ...]:
    table = report.scores
    done, failed = int(np.isfinite(table.values).sum()), len(report.failures)
    return (
        ("Tasks", str(len(table.tasks))),
        ("Models", str(len(table.models))),
        ("Seeds", str(len(table.seeds))),
        ("Cells", f"{done} finished" + (f", {failed} failed" if failed else "")),
    )


def _pairs(report: BenchmarkReport) -> tuple[PairGroup, ...]:
    chosen = report.comparisons()
    views = figures.pair_views(chosen, decisive=True)
    both = figures.both_views(report.comparisons(method="t"), report.comparisons(method="wilcoxon"))
    groups: dict[str, list[Any]] = {}
    hits: dict[str, int] = {}
    for pair, side in zip(views, both, strict=True):
        groups.setdefault(pair.task, []).append((pair, side))
        hits[pair.task] = hits.get(pair.task, 0) + pair.significant
    models = report.scores.models
    out = []
    for task, pairs in groups.items():
        there = {name for pair, _ in pairs for name in (pair.a, pair.b)}
        order = tuple(m for m in models if m in there) if 2 < len(there) <= MAX_MATRIX else ()
        out.append(PairGroup(task, f"{hits[task]} of {len(pairs)} significant", tuple(pairs), order))
    return tuple(out)


def _tables(report: BenchmarkReport) -> list[tuple[str, Table]]:
    tables = [("Design", design_table(report))] if report.comparisons() else []
    if report.config.get("budgets"):
        counts = parameter_counts(report.results)
        sizes = tuple((task, model, count) for (task, model), count in counts.items())
        tables.append(("Parameters", Table(("Task", "Model", "Parameters"), sizes)))
    found = report.ranking()
    if found.models and len(found.tasks) > 1:
        moved = report.rank_stability()
        rows = tuple((str(model), *map(float, row)) for model, row in zip(moved.index, moved.to_numpy(), strict=True))
        columns = ("Model", "Mean rank", "low", "high", "Share of being best")
        note = "Interval and share by resampling the tasks, 2,000 times."
        tables.insert(0, ("Ranks", Table(columns, rows, note)))
        tables += population_tables(report)
    return tables


def design_table(report: BenchmarkReport) -> Table:
    """What the seeds can see on every task: the best model against the next one."""
    table = report.scores
    rows = []
    for task, pairs in report.grouped().items():
        t = table.tasks.index(task)
        means = table.means()[t] * (1 if table.greater_is_better[t] else -1)
        order = np.argsort(-np.where(np.isfinite(means), means, -np.inf), kind="stable")
        first, second = sorted(table.models[int(i)] for i in order[:2])
        pair = next(p for p in pairs if (p.a, p.b) == (first, second))
        plan = design_of(table, pair, effect=reference_effect(table, t))
        seeds = "more than any number" if plan.seeds is None and plan.n > 1 else plan.seeds
        rows.append((task, f"{first} − {second}", plan.n, plan.sd, plan.mde, plan.effect, seeds))
    note = (
        "The two best means of each task. Smallest difference that these seeds detect with 80 % probability at Holm's "
        "strictest step, and seeds needed for the stated difference. The observed difference plays no part."
    )
    columns = ("Task", "Comparison", "Seeds", "SD of differences", "Smallest visible", "Difference", "Seeds for it")
    return Table(columns, tuple(rows), note)


def _failures(report: BenchmarkReport) -> Table | None:
    failed = report.failures
    if not failed:
        return None
    rows = tuple((r.task, r.model, r.seed, r.status, public_error(r)) for r in failed)
    return Table(("Task", "Model", "Seed", "Status", "Error"), rows)


def methods(report: BenchmarkReport) -> tuple[str, ...]:
    """How the numbers were made, in sentences that depend on the report alone."""
    interval = figures.INTERVAL_WORDS.get(report.ci_method, report.ci_method)
    test = TEST_WORDS.get(report.pairwise_method, report.pairwise_method)
    text = [
        f"Every cell is the final metric of one training run; {seeds_word(len(report.seeds))} per cell. Intervals are "
        f"95 % {interval} intervals over seeds.",
        f"Models are compared within a task by the {test} test on differences paired by seed, at level 0.05 after "
        "Holm's step-down correction over the comparisons of that task (Holm 1979). The Wilcoxon signed-rank test uses "
        "its exact null distribution and is shown beside the t-test.",
        "The best cell of a row was picked from the same data that tests it, so a tie with the best says that the "
        "evidence is not enough to separate the two, not that they are equal.",
    ]
    if report.seed_rule is not None:
        text.append(
            "Seeds were added until comparisons were decided, so ordinary p-values and intervals would be too bold: "
            "those shown are repeated ones, which hold however often one looks (Jennison and Turnbull 1989), and ranks "
            "use the seeds that all models of a task share."
        )
    if any(info.shares_data for info in report.task_info.values()):
        text.append(
            "On tasks whose seeds draw new splits of the same data, runs share training data and the plain test is "
            "too bold; verdicts use the corrected resampled t-test (Nadeau and Bengio 2003). Intervals in the table "
            "are the plain ones; summary.csv holds both."
        )
    if any(info.replication == "unknown" for info in report.task_info.values()):
        text.append(
            "On tasks that do not state what a seed varies, runs are taken to share training data: the corrected test "
            "decides there as well."
        )
    if any(info.replication == "init" for info in report.task_info.values()):
        text.append(
            "On tasks with a fixed split a seed varies the initialisation only: the verdict speaks of that split, and "
            "the error of the finite test set is shared by all seeds (column test_se of summary.csv)."
        )
    text.append(
        "Across tasks, seed means are ranked per task in the metric's direction and tested by Friedman's test (by "
        "permutation below 10 tasks or 5 models, else Iman and Davenport 1980); Nemenyi's critical difference is read "
        "only after a rejection (Demšar 2006)."
    )
    return tuple(text)
