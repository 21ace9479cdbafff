"""All testbeds of a collection, with every selector and feature set; finished evaluations are kept."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from graphnetz._core.errors import UsageError, unknown_name
from graphnetz._core.paths import atomic_write, write_file
from graphnetz._core.registry import Registry
from graphnetz.selection.bank import FEATURE_SET, PerformanceBank
from graphnetz.selection.scoring import METRICS, SelectionScores
from graphnetz.selection.study import TestbedStudy, study
from graphnetz.selection.testbeds import (
    SPARSITY_LEVELS,
    SelectionResult,
    Testbed,
    cross_task,
    evaluate,
    fully_observed,
    out_of_domain,
    small_to_large,
    sparse,
)

_FOLDS = 5

Beds = dict[tuple[str, str], dict[str, Testbed]]
"""Testbeds by (task, name) and feature set."""

COLLECTIONS: Registry[Callable[[Path, tuple[str, ...]], Beds | None]] = Registry(
    "collection", entry_points="graphnetz.collections", accepts=callable, homes=("graphnetz.papers.glemos",)
)
"""Readers of published collections: testbeds of a file or folder with some feature sets, None when it is not theirs."""


def run_testbeds(
    data: Path | None,
    selectors: Sequence[str],
    *,
    feature_sets: Sequence[str] = (),
    only: Sequence[str] = (),
    tasks: Sequence[str] = (),
    metric: str = "auc",
    out: Path | None = None,
    say: Callable[[str], None] = lambda _: None,
) -> list[TestbedStudy]:
    """Evaluate selectors on all testbeds of a collection and compare them, one study per testbed."""
    if metric not in METRICS:
        raise unknown_name("selection metric", metric, METRICS)
    beds = _beds(data, tuple(feature_sets))
    for name in only:
        if name not in {bed for _, bed in beds}:
            raise unknown_name("testbed", name, {bed for _, bed in beds})
    studies = []
    for (task, name), by_set in beds.items():
        if (only and name not in only) or (tasks and task not in tasks):
            continue

        def heard(result: SelectionResult, features: str, *, of: str = f"{task}, {name}") -> None:
            say(f"{of}, {features}: {result.selector} {metric} {result.mean[metric]:.3f}")

        score = partial(_evaluated, out=out)
        studies.append(study(by_set, selectors, task=task, metric=metric, measure=score, on_result=heard))
    if not studies:
        raise UsageError(f"No testbed is left for the tasks {list(tasks)}. There are: {sorted({t for t, _ in beds})}.")
    return studies


def _beds(data: Path | None, feature_sets: tuple[str, ...]) -> Beds:
    if data is None:
        return _bank_beds(PerformanceBank.load())
    for collection in COLLECTIONS.values():
        found = collection(data, feature_sets)
        if found is not None:
            return found
    raise UsageError(f"{str(data)!r} is not a collection of performances. Known: {', '.join(COLLECTIONS)}.")


def standard_beds(P: Any, M: Any, domains: Any) -> Iterator[Testbed]:
    """The testbeds that every matrix allows; small domains are not balanced over the folds."""
    kinds, members = np.unique(domains, return_counts=True)
    strata = domains if (members >= _FOLDS).any() else np.zeros(len(P), dtype=int)
    yield replace(fully_observed(P, M, strata, folds=_FOLDS), domains=domains)
    for level in SPARSITY_LEVELS:
        yield replace(sparse(P, M, strata, level=level, folds=_FOLDS), domains=domains)
    if len(kinds) > 1:
        yield out_of_domain(P, M, domains, folds=min(_FOLDS, len(kinds)))
        yield out_of_domain(P, M, domains, folds=None)


def _bank_beds(bank: PerformanceBank) -> Beds:
    beds: Beds = {}
    sides, families = {}, {}
    for task in bank.task_types:
        table = bank.matrix(task)
        if any(bank.graphs[name].graphs > 1 for name in table.graphs):
            continue  # collections are described by other features, and few
        domains = np.array([bank.graphs[name].domain for name in table.graphs])
        M = np.nan_to_num(table.M)
        sides[task] = (table.P, M, [item.name for item in table.configurations])
        families[task] = domains
        for bed in standard_beds(table.P, M, domains):
            beds[task, bed.name] = {FEATURE_SET: bed}
        sizes = np.array([bank.graphs[name].nodes for name in table.graphs])
        if (sizes < 2000).any() and (sizes >= 2000).any():
            bed = small_to_large(table.P, M, sizes, threshold=2000, domains=domains)
            beds[task, bed.name] = {FEATURE_SET: bed}
    for source in sides:
        for target in sides:
            if source != target:
                name = f"{source} to {target}"
                bed = cross_task(sides[source], sides[target], test_domains=families[target])
                beds[name, "cross task"] = {FEATURE_SET: bed}
    if not beds:
        raise UsageError("The package holds no bank. Collect one with 'graphnetz select collect --out DIR'.")
    return beds


def _evaluated(selector: str, bed: Testbed, out: Path | None) -> SelectionResult:
    """Evaluate, or read what an earlier call kept for the same selector, matrix and folds."""
    if out is None:
        return evaluate(selector, bed)
    path = out / "evaluations" / f"{selector}-{_digest(bed)}.npz"
    if path.exists():
        return _kept(path, selector, bed)
    result = evaluate(selector, bed)
    arrays: dict[str, Any] = {key: getattr(result.scores, key) for key in METRICS}
    arrays |= {"graphs": result.graphs, "fold": result.fold}
    arrays |= {"train": np.array(result.train_seconds), "predict": np.array(result.predict_seconds)}
    with atomic_write(path, "wb") as stream:
        np.savez_compressed(stream, **arrays)  # type: ignore[arg-type]
    return result


def _digest(bed: Testbed) -> str:
    seen = hashlib.sha256()
    for array in (bed.P, bed.M, bed.truth, *(part for fold in bed.folds for part in (fold.train, fold.test))):
        seen.update(np.ascontiguousarray(array).tobytes())
    return seen.hexdigest()[:12]


def _kept(path: Path, selector: str, bed: Testbed) -> SelectionResult:
    with np.load(path, allow_pickle=False) as data:
        scores = SelectionScores(**{key: data[key] for key in METRICS})
        graphs, fold = data["graphs"], data["fold"]
        times = tuple(data["train"].tolist()), tuple(data["predict"].tolist())
    return SelectionResult.on(bed, selector, scores, graphs, fold, times=times)


def write_studies(studies: Sequence[TestbedStudy], out: Path) -> None:
    """Write ``testbeds.json`` (sections) and ``testbeds.csv`` (one line per selector, set and testbed)."""
    from graphnetz.report.tables import csv_text

    columns = (
        *("task", "testbed", "selector", "features", "mean", "low", "high", "rank", "mrr", "ndcg1", "train_seconds"),
        *("published", "published_mrr", "published_ndcg1"),
    )
    rows = [
        (item.task, item.testbed, *(getattr(line, key) for key in columns[2:]))
        for item in studies
        for line in item.lines
    ]
    files: Mapping[str, str] = {
        "testbeds.json": json.dumps([item.to_section().to_json() for item in studies], indent=1) + "\n",
        "testbeds.csv": csv_text(columns, rows),
    }
    for name, text in files.items():
        write_file(out / name, text)
