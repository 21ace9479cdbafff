"""Several runs: what changed between two, and all of them as one report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from graphnetz._core.errors import UsageError
from graphnetz.analysis.examples import looked_up
from graphnetz.analysis.registration import SECTION, registered_in, without_plan
from graphnetz.analysis.run_changes import Change as Change
from graphnetz.analysis.run_changes import RunComparison as RunComparison
from graphnetz.analysis.run_changes import changes, common, mismatch
from graphnetz.analysis.sequential import decide_report, decision_section
from graphnetz.records import CellResult, recorded_protocols
from graphnetz.records.kept import Kept
from graphnetz.records.seed_rule import SeedRule
from graphnetz.records.task_info import TaskInfo
from graphnetz.report.jsonio import flat, results_config
from graphnetz.report.sections import combine, planned_and_read

if TYPE_CHECKING:
    from graphnetz.report.report import BenchmarkReport

_DESCRIPTION = frozenset({"models", "tasks", "seeds", "title"})
"""Configuration that lists what was run; differences of it are named one by one."""


def compare_reports(
    first: BenchmarkReport, second: BenchmarkReport, *, alpha: float = 0.05, method: str = "t", margin: float = 0.0
) -> RunComparison:
    """Compare two runs: the same task and model, paired by seed where they share seeds and data, Holm over all.

    Parameters
    ----------
    first, second
        Two reports, of which the first is the older one.
    alpha, method
        Level after Holm, and the paired test; runs without common seeds, or on different data, get Welch's.
    margin
        Size up to which a change does not matter: only what is shown to be larger counts as better or worse.

    Returns
    -------
    RunComparison
        Shared pairs with their verdicts, and what only one of the runs holds.

    Examples
    --------
    >>> from graphnetz.report import example_report
    >>> compare_reports(example_report(), example_report()).sentence()
    'All 6 shared (task, model) pairs have identical scores.'
    """
    apart = different_data(first, second)
    found, incomparable = changes(
        first.analysis, second.analysis, alpha=alpha, method=method, margin=margin, apart=apart
    )
    return RunComparison(found, _only(first, second), _settings(first, second), incomparable, alpha, method, margin)


def different_data(first: BenchmarkReport, second: BenchmarkReport) -> set[str]:
    """Return the tasks that two runs did on different data, by their fingerprints."""
    seen: dict[str, str] = {}
    return {task for report in (first, second) for task in report.scores.tasks if _other_data(report, task, seen)}


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
    a, b = (flat(results_config(report.config), ".") for report in (first, second))
    keys = [key for key in {**a, **b} if key.split(".")[0] not in _DESCRIPTION]
    return tuple((key, a.get(key), b.get(key)) for key in keys if a.get(key) != b.get(key))


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
    origins: Origins = {}
    for number, (label, report) in enumerate(zip(labels, reports, strict=True)):
        for task, info in report.task_info.items():
            why = mismatch(tasks[task], info) if task in tasks else ""
            if not why and _other_data(report, task, data):
                why = f"{label} ran it on other data (the fingerprints differ)"
            if why:
                raise UsageError(f"Task {task!r} cannot be merged: {why}. Merge runs of the same tasks.")
            tasks[task] = common(tasks.get(task, info), info)
        mapping = _new_names(report, cells, label=label, rename=rename)
        for result in report.results:
            name = mapping[result.model]
            here = (result.task, name, result.seed)
            if here not in cells or not cells[here].ok:
                cells[here] = replace(result, model=name)
                origins[here] = (number, result.model)
        models.update(dict.fromkeys(mapping[m] for m in report.scores.models))
        absent |= {(t, mapping.get(m, m)): why for (t, m), why in report.absent.items()}
    if not rename:
        _one_rule(labels, reports)
    cells, tasks, models = _in_order(cells, tasks, models, reports)
    seeds = sorted({seed for report in reports for seed in report.seeds})
    held = {(task, model) for task, model, _ in cells}
    merged = type(reports[0]).from_results(
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
        examples_of=partial(_kept, tuple(reports), origins),
    )
    merged.sections = planned_and_read(_decided(merged))
    return merged


def _one_rule(labels: Sequence[str], reports: Sequence[BenchmarkReport]) -> None:
    """Refuse runs whose seeds stopped by different rules: nobody could say how often such a report errs."""
    rules = [SeedRule.from_config(report.config) for report in reports]
    other = next((label for label, rule in zip(labels, rules, strict=True) if rule != rules[0]), None)
    if other is not None:
        words = ["a fixed number of seeds" if rule is None else "seeds until decided" for rule in rules]
        kinds = " and ".join(dict.fromkeys(words)) if len(set(words)) > 1 else "different rules for when seeds stop"
        raise UsageError(f"{labels[0]} and {other} cannot be merged: they have {kinds}. Merge runs of one kind.")


def _decided(merged: BenchmarkReport) -> BenchmarkReport:
    """Decide again on all cells where seeds stop by a rule; the parts knew their own only."""
    rule = SeedRule.from_config(merged.config)
    if rule is not None:
        found = decide_report(merged.results, merged.task_info, merged.scores.models, rule)
        merged.sections = combine(merged.sections, [decision_section(found, merged.task_info, rule)])
    return merged


def _in_order(
    cells: dict[tuple[str, str, int], CellResult], tasks: dict[str, TaskInfo], models: dict[str, None],
    reports: Sequence[BenchmarkReport],
) -> tuple[dict[tuple[str, str, int], CellResult], dict[str, TaskInfo], dict[str, None]]:  # fmt: skip
    """Put parts of one plan into its order, so that the way they were cut does not show."""
    plans = [p for report in reports for s in report.sections if s.name == SECTION and (p := registered_in(s))]
    if len(plans) < len(reports) or len({plan.hash for plan in plans}) > 1:
        return cells, tasks, models
    order = {kind: {name: i for i, name in enumerate(plans[0].plan[kind])} for kind in ("tasks", "models")}

    def place(kind: str, name: str) -> int:
        return order[kind].get(name, len(order[kind]))

    keys = sorted(cells, key=lambda key: (place("tasks", key[0]), place("models", key[1]), key[2]))
    return (
        {key: cells[key] for key in keys},
        {name: tasks[name] for name in sorted(tasks, key=lambda name: place("tasks", name))},
        dict.fromkeys(sorted(models, key=lambda name: place("models", name))),
    )


def _other_data(report: BenchmarkReport, task: str, seen: dict[str, str]) -> bool:
    prints = report.provenance.get("dataset_fingerprints")
    mine = prints.get(task) if isinstance(prints, Mapping) else None
    return mine is not None and seen.setdefault(task, str(mine)) != str(mine)


Origins = dict[tuple[str, str, int], tuple[int, str]]
"""Of which run a (task, model, seed) is, and what that run calls the model."""


def _kept(reports: Sequence[BenchmarkReport], origins: Origins, task: str) -> list[Kept]:
    """What the cells of a task predicted, from the folders that they come from: without it less could be said."""
    out: list[Kept] = []
    for number, report in enumerate(reports):
        mine = {(old, seed): new for (t, new, seed), (n, old) in origins.items() if t == task and n == number}
        found = looked_up(task, report.examples_in or report.examples_of) if mine else []
        out += [one._replace(model=mine[one.model, one.seed]) for one in found if (one.model, one.seed) in mine]
    return out


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
    found = {section.name: section for report in reports for section in report.sections}
    plans = [s.extra["hash"] for report in reports for s in report.sections if s.name == SECTION and "hash" in s.extra]
    if len(set(plans)) > 1:
        found[SECTION] = without_plan(plans)
    return list(found.values())
