"""The documented data frames, built from records in one go."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from graphnetz._core.errors import MissingExtraError
from graphnetz._core.optional import pip_install
from graphnetz.analysis.comparisons import CellStat, Comparison
from graphnetz.records import CellResult, recorded_protocols
from graphnetz.records.task_info import TaskInfo
from graphnetz.stats import binomial_error

if TYPE_CHECKING:
    from graphnetz.report.data import ReportData

_NAN = math.nan


def summary_frame(stats: Sequence[CellStat], tasks: Mapping[str, TaskInfo], *, planned: int) -> pd.DataFrame:
    """One row per (task, model): the documented columns, then corrected interval, test-set error, status."""
    columns: dict[str, Any] = {
        "n_seeds": [s.plain.n for s in stats],
        "mean": [s.plain.mean for s in stats],
        "std": [s.plain.std for s in stats],
        "sem": [s.plain.sem for s in stats],
        "ci_low": [s.plain.low for s in stats],
        "ci_high": [s.plain.high for s in stats],
        "ci_half": [s.plain.half for s in stats],
        "corrected_low": [s.corrected.low if s.corrected else _NAN for s in stats],
        "corrected_high": [s.corrected.high if s.corrected else _NAN for s in stats],
        "corrected_half": [s.corrected.half if s.corrected else _NAN for s in stats],
        "test_se": [_test_error(s, tasks[s.task]) for s in stats],
        "status": [_status(s, planned) for s in stats],
    }
    index = pd.MultiIndex.from_arrays([[s.task for s in stats], [s.model for s in stats]], names=["task", "model"])
    return pd.DataFrame(columns, index=index)


def _test_error(stat: CellStat, info: TaskInfo) -> float:
    """Error of the finite test set that all seeds share: known in closed form for an accuracy."""
    share = info.metric.rpartition("test_")[2] == "acc" and 0 <= stat.plain.mean <= 1
    return binomial_error(stat.plain.mean, info.n_test) if share and info.n_test else _NAN


def _status(stat: CellStat, planned: int) -> str:
    if stat.plain.n == planned:
        return stat.plain.reason or "ok"
    return "; ".join(part for part in (stat.note, stat.plain.reason) if part) or f"{stat.plain.n} of {planned} seeds"


def pairwise_frame(pairs: Sequence[Comparison], *, method: str, family: str) -> pd.DataFrame:
    """The documented columns, then what explains them."""
    return pd.DataFrame(
        {
            "task": [p.task for p in pairs],
            "model_a": [p.a for p in pairs],
            "model_b": [p.b for p in pairs],
            "mean_diff": [p.mean_diff for p in pairs],
            "diff_low": [p.low for p in pairs],
            "diff_high": [p.high for p in pairs],
            "cohens_dz": [p.dz for p in pairs],
            "p_raw": [p.p for p in pairs],
            "p_holm": [p.p_adjusted for p in pairs],
            "significant": np.array([p.significant for p in pairs], dtype=bool),
            "n_seeds": [p.n for p in pairs],
            "hedges_g": [p.hedges_g for p in pairs],
            "corrected_low": [p.low_corrected for p in pairs],
            "corrected_high": [p.high_corrected for p in pairs],
            "p_corrected": [p.p_corrected for p in pairs],
            "p_corrected_holm": [p.p_corrected_adjusted for p in pairs],
            "different": np.array([p.different for p in pairs], dtype=bool),
            "better": [p.better for p in pairs],
            "n_used": [p.n_used for p in pairs],
            "smallest_p_holm": [p.smallest_adjusted for p in pairs],
            "method": [method] * len(pairs),
            "family": [family] * len(pairs),
            "family_size": [p.family_size for p in pairs],
            "reason": [p.reason for p in pairs],
        }
    )


def both_frame(t: Sequence[Comparison], w: Sequence[Comparison]) -> pd.DataFrame:
    """Paired t and Wilcoxon side by side with their agreement (Table 2 of the GraphNetz paper)."""
    return pd.DataFrame(
        {
            "task": [p.task for p in t],
            "model_a": [p.a for p in t],
            "model_b": [p.b for p in t],
            "mean_diff": [p.mean_diff for p in t],
            "p_t": [p.p for p in t],
            "p_t_holm": [p.p_adjusted for p in t],
            "p_wilcoxon": [p.p for p in w],
            "p_wilcoxon_holm": [p.p_adjusted for p in w],
            "significant_t": np.array([p.significant for p in t], dtype=bool),
            "significant_wilcoxon": np.array([p.significant for p in w], dtype=bool),
            "agree": np.array([x.significant == y.significant for x, y in zip(t, w, strict=True)], dtype=bool),
            "wilcoxon_reachable": np.array([p.reachable for p in w], dtype=bool),
            "n_seeds": [p.n for p in t],
        }
    )


_COSTS = (
    "task", "model", "cells", "seconds_mean", "seconds_total", "peak_memory", "parameters", "epochs_mean",
    "layers", "own_settings",
)  # fmt: skip


def costs_frame(results: Sequence[CellResult]) -> pd.DataFrame:
    """Return the cost of every (task, model): seconds, peak memory, parameters, epochs, layers in kernels, own settings."""
    own = recorded_protocols(results).get("model_protocols", {})
    groups: dict[tuple[str, str], list[CellResult]] = {}
    for result in results:
        groups.setdefault((result.task, result.model), []).append(result)
    rows = []
    for (task, model), cells in groups.items():
        seconds = [c.seconds for c in cells if math.isfinite(c.seconds)]
        memory = [c.peak_memory for c in cells if math.isfinite(c.peak_memory)]
        done = [c for c in cells if c.ok]
        rows.append(
            (
                task,
                model,
                len(cells),
                sum(seconds) / len(seconds) if seconds else _NAN,
                sum(seconds) if seconds else _NAN,
                max(memory, default=_NAN),
                max((c.parameters for c in done), default=0),
                sum(c.epochs for c in done) / len(done) if done else _NAN,
                "; ".join(dict.fromkeys(c.layers for c in done if c.layers)),
                ", ".join(f"{key}={value}" for key, value in own.get(task, {}).get(model, {}).items()),
            )
        )
    return pd.DataFrame(rows, columns=list(_COSTS))


def cells_frame(report: ReportData) -> pd.DataFrame:
    """One row per cell, with the columns that `BenchmarkReport.from_scores` reads, then status and costs."""
    table, info = report.scores, report.task_info
    found = {(r.task, r.model, r.seed): r for r in report.results}
    rows: list[tuple[Any, ...]] = []
    for task, facts in info.items():
        for model in table.models:
            for seed, score in zip(table.seeds, table.cell(task, model).tolist(), strict=True):
                result = found.get((task, model, seed))
                if result is None and math.isnan(score):
                    continue  # never planned
                cost = (result.seconds, result.peak_memory, result.parameters) if result else (_NAN, _NAN, 0)
                rows.append((task, model, seed, score, *_declared(facts), result.status if result else "ok", *cost))
    columns = ["task", "model", "seed", "score", *_DECLARED, "status", "seconds", "peak_memory", "parameters"]
    return pd.DataFrame(rows, columns=columns)


_DECLARED = (
    "metric", "greater_is_better", "replication", "test_ratio", "block", "category", "task_type", "n_test", "splits",
)  # fmt: skip


def _declared(info: TaskInfo) -> tuple[Any, ...]:
    return tuple(getattr(info, name) for name in _DECLARED)


def _to_polars(frame: pd.DataFrame) -> Any:
    try:
        import polars
    except ImportError as error:
        raise MissingExtraError(
            f"A polars frame needs the package polars, which is not installed. Run {pip_install('polars')}, "
            "or ask for library='pandas'."
        ) from error
    # Column by column: polars would ask for pyarrow to read a pandas frame whole.
    return polars.DataFrame({str(name): frame[name].tolist() for name in frame.columns})


LIBRARIES: dict[str, Callable[[pd.DataFrame], Any]] = {"pandas": lambda frame: frame, "polars": _to_polars}
"""Kinds of data frame that `BenchmarkReport.frame` can return."""
