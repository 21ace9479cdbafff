"""Several runs: what changed between two, and all of them as one report."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from graphnetz._core.errors import UsageError
from graphnetz.records import CellResult, Table, recorded_protocols
from graphnetz.records.scores import split_means
from graphnetz.records.task_info import SHARED_DATA, TaskInfo
from graphnetz.report.jsonio import results_config
from graphnetz.stats import PAIRED_TESTS, adjust, paired_test

if TYPE_CHECKING:
    from graphnetz.report.report import BenchmarkReport

_DESCRIPTION = frozenset({"models", "tasks", "seeds", "title"})
"""Configuration that lists what was run; differences of it are named one by one."""


@dataclass(frozen=True)
class Change:
    """One (task, model) in two runs, paired by seed; ``diff`` is second minus first.

    ``verdict`` is better, worse, not shown, identical, shifted (the same amount on every seed, so that
    no test exists) or untested.
    """

    task: str
    model: str
    metric: str
    n: int
    first: float
    second: float
    diff: float
    low: float
    high: float
    p: float
    p_holm: float
    verdict: str
    reason: str = ""


@dataclass(frozen=True)
class RunComparison:
    """Two runs side by side: what both hold, and what only one of them does."""

    changes: tuple[Change, ...]
    only: tuple[tuple[str, str], ...]
    settings: tuple[tuple[str, Any, Any], ...]
    incomparable: tuple[tuple[str, str], ...]
    alpha: float
    method: str

    def to_table(self) -> Table:
        """Every shared (task, model) as one row."""
        columns = ("task", "model", "metric", "n", "first", "second", "difference", "low", "high", "p Holm", "verdict")
        rows = tuple(
            (c.task, c.model, c.metric, c.n, c.first, c.second, c.diff, c.low, c.high, c.p_holm, c.verdict)
            for c in self.changes
        )
        return Table(columns, rows, self.sentence())

    def _repr_html_(self) -> str:
        return self.to_table()._repr_html_()

    def sentence(self) -> str:
        """The outcome in one sentence."""
        count = {name: sum(c.verdict == name for c in self.changes) for name in ("better", "worse", "identical")}
        total = len(self.changes)
        if not total:
            return "The two runs share no task and model, so nothing can be compared."
        if count["identical"] == total:
            return f"All {total} shared (task, model) pairs have identical scores."
        rest = total - sum(count.values())
        return (
            f"Of {total} shared (task, model) pairs, {count['better']} became better, {count['worse']} worse, "
            f"{count['identical']} are identical and {rest} show no significant change (Holm over all pairs, "
            f"level {self.alpha:g})."
        )


def compare_reports(
    first: BenchmarkReport, second: BenchmarkReport, *, alpha: float = 0.05, method: str = "t"
) -> RunComparison:
    """Compare two runs cell by cell: the same task, model and seed, Holm over every shared pair.

    Tasks whose runs share training data are tested with the corrected resampled t-test.
    """
    PAIRED_TESTS[method]
    if not 0 < alpha < 1:
        raise UsageError(f"alpha must lie between 0 and 1, got {alpha}.")
    tasks_a, tasks_b = first.task_info, second.task_info
    shared, incomparable = [], []
    for task in (t for t in tasks_a if t in tasks_b):
        why = _mismatch(tasks_a[task], tasks_b[task])
        if why:
            incomparable.append((task, why))
        else:
            shared.append(task)
    models = [m for m in first.scores.models if m in second.scores.models]
    raw = [_change(first, second, t, m, method=method, alpha=alpha) for t in shared for m in models]
    found = [change for change in raw if change is not None]
    adjusted = adjust([change.p for change in found]).tolist() if found else []
    changes = tuple(
        _judged(change, float(p), tasks_a[change.task].greater_is_better, alpha)
        for change, p in zip(found, adjusted, strict=True)
    )
    return RunComparison(changes, _only(first, second), _settings(first, second), tuple(incomparable), alpha, method)


def _mismatch(a: TaskInfo, b: TaskInfo) -> str:
    if a.metric != b.metric:
        return f"its metric is {a.metric} in the first run and {b.metric} in the second"
    if a.greater_is_better != b.greater_is_better:
        return f"the direction of {a.metric} differs"
    if a.replication != b.replication:
        return f"a seed varies {a.replication} in the first run and {b.replication} in the second"
    return ""


def _change(
    first: BenchmarkReport, second: BenchmarkReport, task: str, model: str, *, method: str, alpha: float
) -> Change | None:
    seeds, x, y = _by_seed(first, second, task, model)
    if not seeds:
        return None
    info = first.task_info[task]
    corrected = info.replication in SHARED_DATA and math.isfinite(info.test_ratio)
    how = "corrected_t" if corrected else method
    folds = [split_means(row, seeds, info.splits) for row in (y, x)]
    test = paired_test(*folds, method=how, level=1 - alpha, test_ratio=info.test_ratio)
    base = (float(x.mean()), float(y.mean()), float((y - x).mean()))
    same = bool((x == y).all())
    p = math.nan if same else test.p
    word = "identical" if same else ""
    return Change(
        task, model, info.metric, len(seeds), *base, test.low, test.high, p, math.nan, word, "" if same else test.reason
    )


def _by_seed(
    first: BenchmarkReport, second: BenchmarkReport, task: str, model: str
) -> tuple[list[int], npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    a = dict(zip(first.scores.seeds, first.scores.cell(task, model), strict=True))
    b = dict(zip(second.scores.seeds, second.scores.cell(task, model), strict=True))
    seeds = [s for s in a if s in b and math.isfinite(a[s]) and math.isfinite(b[s])]
    return seeds, np.array([a[s] for s in seeds]), np.array([b[s] for s in seeds])


def _judged(change: Change, p: float, greater: bool, alpha: float) -> Change:
    if change.verdict == "identical":
        return change
    if math.isnan(change.p):
        constant = change.n > 1
        return replace(change, verdict="shifted" if constant else "untested")
    if p > alpha:
        return replace(change, p_holm=p, verdict="not shown")
    return replace(change, p_holm=p, verdict="better" if (change.diff > 0) == greater else "worse")


def _only(first: BenchmarkReport, second: BenchmarkReport) -> tuple[tuple[str, str], ...]:
    out = []
    for kind, a, b in (
        ("task", first.scores.tasks, second.scores.tasks),
        ("model", first.scores.models, second.scores.models),
        ("seed", first.scores.seeds, second.scores.seeds),
    ):
        out += [(f"{kind} only in the first run", str(name)) for name in a if name not in b]
        out += [(f"{kind} only in the second run", str(name)) for name in b if name not in a]
    return tuple(out)


def _settings(first: BenchmarkReport, second: BenchmarkReport) -> tuple[tuple[str, Any, Any], ...]:
    a, b = _flat(results_config(first.config)), _flat(results_config(second.config))
    keys = [key for key in {**a, **b} if key.split(".")[0] not in _DESCRIPTION]
    return tuple((key, a.get(key), b.get(key)) for key in keys if a.get(key) != b.get(key))


def _flat(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    out: dict[str, Any] = {}
    for key, value in values.items():
        if isinstance(value, Mapping):
            out |= _flat(value, f"{prefix}{key}.")
        else:
            out[f"{prefix}{key}"] = value
    return out


def merge_reports(
    reports: Sequence[BenchmarkReport], *, names: Sequence[str] = (), rename: bool = False
) -> BenchmarkReport:
    """Return one report of all cells.

    A cell that is in several runs must have the same value in all of them; with ``rename`` a run that
    disagrees keeps its own scores under ``model (run)`` instead.
    """
    if not reports:
        raise UsageError("There is no run to merge. Name at least one run folder.")
    labels = [names[i] if i < len(names) else f"run {i + 1}" for i in range(len(reports))]
    tasks: dict[str, TaskInfo] = {}
    cells: dict[tuple[str, str, int], CellResult] = {}
    models: dict[str, None] = {}
    absent: dict[tuple[str, str], str] = {}
    data: dict[str, str] = {}
    for label, report in zip(labels, reports, strict=True):
        for task, info in report.task_info.items():
            why = _mismatch(tasks[task], info) if task in tasks else ""
            if not why and _other_data(report, task, data):
                why = f"{label} ran it on other data (the fingerprints differ)"
            if why:
                raise UsageError(f"Task {task!r} cannot be merged: {why}. Merge runs of the same tasks.")
            tasks.setdefault(task, info)
        mapping = _new_names(report, cells, label=label, rename=rename)
        for result in report.results:
            name = mapping[result.model]
            here = (result.task, name, result.seed)
            if here not in cells or not cells[here].ok:
                cells[here] = replace(result, model=name)
        models.update(dict.fromkeys(mapping[m] for m in report.scores.models))
        absent |= {(t, mapping.get(m, m)): why for (t, m), why in report.absent.items()}
    seeds = sorted({seed for report in reports for seed in report.seeds})
    held = {(task, model) for task, model, _ in cells}
    return type(reports[0]).from_results(
        list(cells.values()),
        tasks=tasks,
        models=tuple(models),
        seeds=seeds,
        config=_common(reports)
        | recorded_protocols(cells.values())
        | {"merged": list(labels), "models": list(models), "tasks": list(tasks)},
        absent={pair: why for pair, why in absent.items() if pair not in held},
        sections=_sections(reports),
        provenance=_provenance(reports),
        ci_method=reports[0].ci_method,
        pairwise_method=reports[0].pairwise_method,
    )


def _other_data(report: BenchmarkReport, task: str, seen: dict[str, str]) -> bool:
    prints = report.provenance.get("dataset_fingerprints")
    mine = prints.get(task) if isinstance(prints, Mapping) else None
    return mine is not None and seen.setdefault(task, str(mine)) != str(mine)


def _new_names(
    report: BenchmarkReport, cells: Mapping[tuple[str, str, int], CellResult], *, label: str, rename: bool
) -> dict[str, str]:
    clashing: dict[str, CellResult] = {}
    for result in report.results:
        other = cells.get((result.task, result.model, result.seed))
        if other is not None and other.ok and result.ok and other.value != result.value:
            clashing.setdefault(result.model, result)
    if clashing and not rename:
        first = next(iter(clashing.values()))
        raise UsageError(
            f"{label} has another value than an earlier run for {first.task} / {first.model} / seed {first.seed}. "
            "Merge runs that agree, or look at the difference with graphnetz compare."
        )
    return {model: f"{model} ({label})" if model in clashing else model for model in report.scores.models}


def _common(reports: Sequence[BenchmarkReport]) -> dict[str, Any]:
    """Settings that all runs agree on, and the baselines and protocols of all."""
    first = reports[0].config
    same = {k: v for k, v in first.items() if all(r.config.get(k) == v for r in reports) and k not in _DESCRIPTION}
    baselines = dict.fromkeys(name for report in reports for name in report.config.get("baselines") or ())
    return same | {"baselines": list(baselines)}


def _provenance(reports: Sequence[BenchmarkReport]) -> dict[str, Any]:
    """What the parts say of machines, data and sittings, put together."""
    out: dict[str, Any] = {}
    for name in ("environments", "dataset_fingerprints"):
        parts = [part for report in reports if isinstance(part := report.provenance.get(name), Mapping)]
        if parts:
            out[name] = {key: value for part in parts for key, value in part.items()}
    notes = dict.fromkeys(str(note) for report in reports for note in report.provenance.get("notes") or ())
    return out | ({"notes": list(notes)} if notes else {})


def _sections(reports: Sequence[BenchmarkReport]) -> list[Any]:
    return list({section.name: section for report in reports for section in report.sections}.values())
