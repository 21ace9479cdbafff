"""What runs say about the claims of a paper."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from graphnetz._core.text import number, p_value
from graphnetz.records.replication import Judged, PaperClaim
from graphnetz.records.suite import Suite
from graphnetz.stats import adjust, paired_test
from graphnetz.stats._common import paired_differences
from graphnetz.stats.intervals import student_quantile

LEVEL = 0.05


def judge(report: Any, suite: Suite, claims: Sequence[PaperClaim], *, why_not: Mapping[str, str]) -> list[Judged]:
    """Say of every claim what a report shows.

    Pairs on one task are decided by the comparisons of the report's analysis (Holm within the task, at the reach that
    the seeds have); a model on two tasks by a paired t-test over shared seeds, Holm over all such claims that were run.

    Parameters
    ----------
    report
        A `BenchmarkReport`.
    suite
        The suite that was run; tasks of a reduced size answer for the full ones.
    claims
        The claims, with names at the published size.
    why_not
        By full task name: why our data is not the paper's.

    Returns
    -------
    list of Judged
        One per claim; ``not run`` where a cell is missing.
    """
    names = {suite.full_name(task): task for task in report.scores.tasks}
    changes = _task_changes(report, names, [claim for claim in claims if claim.form == "tasks"])
    out = []
    for claim in claims:
        reasons = [why_not[task] for task in (claim.task, claim.than) if why_not.get(task)]
        if claim.form == "ranks":
            outcome, basis = _ranks(report, claim)
            reasons = sorted({why for why in why_not.values() if why})
            reasons = [f"{len(reasons)} kinds of departures, task by task in the cells"] if reasons else []
        elif claim.form == "tasks":
            outcome, basis = changes[claim.says]
        else:
            missing = _missing(report, names, claim)
            decide = _pair if claim.form == "pair" else _level
            outcome, basis = ("not run", missing) if missing else decide(report, names[claim.task], claim)
        out.append(Judged(claim, outcome, basis, reasons[0] if reasons else ""))
    return out


def _missing(report: Any, names: Mapping[str, str], claim: PaperClaim) -> str:
    """What of a claim was not run; empty when nothing is missing."""
    for task in filter(None, (claim.task, claim.than)):
        if task not in names:
            return f"{task} was not run"
        for model in filter(None, (claim.better, claim.worse, claim.model)):
            if model not in report.scores.present(names[task]):
                return f"{model} was not run on {task}"
    return ""


def _pair(report: Any, task: str, claim: PaperClaim) -> tuple[str, str]:
    pairs = [pair for pair in report.analysis.comparisons if pair.task == task]
    found = next((p for p in pairs if p.involves(claim.better) and p.involves(claim.worse)), None)
    if found is None:
        return "not shown", "the two share too few runs"
    means = [float(np.nanmean(report.scores.cell(task, model))) for model in (claim.better, claim.worse)]
    p = f"adjusted p = {p_value(found.p_decided)}" if math.isfinite(found.p_decided) else found.reason or "untestable"
    basis = f"{number(means[0])} against {number(means[1])}, {p}, n = {found.n}"
    outcome = "shown" if found.beats(claim.better) else "contradicted" if found.beats(claim.worse) else "not shown"
    return outcome, basis


def _level(report: Any, task: str, claim: PaperClaim) -> tuple[str, str]:
    values = report.scores.by_split(task, report.scores.cell(task, claim.model))
    values = values[np.isfinite(values)]
    mean, half = float(values.mean()), 0.0
    if len(values) > 1:
        half = student_quantile(len(values) - 1, 0.95) * float(values.std(ddof=1)) / math.sqrt(len(values))
    basis = f"mean {number(mean)}, 90 % interval ± {number(half)}, n = {len(values)}"
    if len(values) < 2:
        return "not shown", f"{basis}: one run has no interval"
    gap = abs(mean - claim.level)
    return (
        "shown" if gap + half <= claim.within else "contradicted" if gap - half > claim.within else "not shown"
    ), basis


def _ranks(report: Any, claim: PaperClaim) -> tuple[str, str]:
    found = report.analysis.ranking
    if found.reason:
        return "not run", found.reason
    basis = f"Friedman p = {p_value(found.p)}, {len(found.tasks)} tasks, {len(found.models)} models"
    if found.p < LEVEL:
        return "contradicted", basis
    few = len(found.tasks) < claim.tasks  # fewer tasks reject less often: that nothing is rejected says less
    return ("not shown", f"{basis}; the paper has {claim.tasks} tasks") if few else ("shown", basis)


def _task_changes(report: Any, names: Mapping[str, str], claims: Sequence[PaperClaim]) -> dict[str, tuple[str, str]]:
    """Paired t over shared seeds or folds between two tasks, adjusted over all claims of this form that were run.

    The same difference everywhere has no t: it is decided by the sign-flip p of one flip for all pairs, 2^(1 - n).
    """
    table, tests, out = report.scores, {}, {}
    for claim in claims:
        if missing := _missing(report, names, claim):
            out[claim.says] = ("not run", missing)
            continue
        here, there = names[claim.task], names[claim.than]
        rows = [table.by_split(task, table.cell(task, claim.model)) for task in (here, there)]
        both = np.isfinite(rows[0]) & np.isfinite(rows[1])
        sign = 1.0 if table.greater_is_better[table.tasks.index(here)] else -1.0
        x, y = (row[both] for row in rows)
        if len(x) < 2:
            out[claim.says] = ("not shown", "fewer than two shared runs")
            continue
        still = paired_differences(x, y).constant and x.mean() != y.mean()
        p = 0.5 ** (len(x) - 1) if still else paired_test(x, y, method="t").p
        of = "folds" if table.splits[table.tasks.index(here)] else "seeds"
        tests[claim.says] = (float(sign * (x - y).mean()), float(x.mean()), float(y.mean()), p, len(x), still, of)
    for says, adjusted in zip(tests, adjust([found[3] for found in tests.values()]), strict=True):
        gain, x, y, alone, n, still, of = tests[says]
        p = alone if still else adjusted
        outcome = ("shown" if gain > 0 else "contradicted") if p < LEVEL else "not shown"
        basis = f"{number(x)} against {number(y)}"
        if still:
            basis += f", the same difference on all {n} {of}: sign-flip p = {p_value(p)}"
            few = f"; {n} {of} cannot reach {LEVEL:.0%} that way, {1 + math.ceil(-math.log2(LEVEL))} could"
            out[says] = (outcome, basis + (few if p >= LEVEL else ""))
        else:
            out[says] = (outcome, f"{basis}, adjusted p = {p_value(p)}, n = {n}")
    return out
