"""The documented data frames, built from records in one go."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, fields
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from graphnetz._core.errors import MissingExtraError
from graphnetz._core.grouping import grouped
from graphnetz._core.optional import pip_install
from graphnetz.records import CellResult, recorded_protocols
from graphnetz.records.analysis import CellStat, Claim, Comparison, Ranking
from graphnetz.records.shift import Shift
from graphnetz.records.task_info import TaskInfo

if TYPE_CHECKING:
    from graphnetz.report.report import BenchmarkReport

_NAN = math.nan


def _columns(records: Sequence[Any], names: Mapping[str, str]) -> dict[str, Any]:
    """Columns from attributes of records; truth values stay truth values when there is no record."""
    out: dict[str, Any] = {column: [getattr(record, name) for record in records] for column, name in names.items()}
    return out | {column: np.array(out[column], dtype=bool) for column in _TRUTHS if column in out}


_TRUTHS = ("significant", "different", "significant_t", "significant_wilcoxon", "wilcoxon_reachable")


class SummaryFrame(pd.DataFrame):
    """A data frame that prints what a reader looks for first, within 80 columns; everything else is as in pandas."""

    _FIRST = ("mean", "ci_half", "ci_low", "ci_high", "n_seeds")

    def __repr__(self) -> str:
        if not set(self._FIRST) <= set(self.columns):
            return str(pd.DataFrame(self))
        told = self["status"] if "status" in self.columns else None
        # Where something failed, why takes the room of the ends of the interval, so that a row stays a line.
        failed = told is not None and (told != "ok").any()
        shown = ["mean", "ci_half", "n_seeds", "status"] if failed else list(self._FIRST)
        return _first_columns(self, shown)


def _first_columns(frame: pd.DataFrame, shown: Sequence[str], **options: Any) -> str:
    """Return a frame as text with these columns, and the names of the others below."""
    width, rows = pd.get_option("display.width") or 80, pd.get_option("display.max_rows")
    usual: dict[str, Any] = {"max_rows": rows, "max_colwidth": 34, "line_width": max(80, width)}
    text = pd.DataFrame(frame)[list(shown)].to_string(**usual | options)
    rest = [str(name) for name in frame.columns if name not in shown]
    return f"{text}\n[{len(frame)} rows; also {', '.join(rest)}]" if rest else text


class PairwiseFrame(pd.DataFrame):
    """A data frame that prints the difference, the interval that holds for all pairs, what decides, and the reach."""

    _FIRST = ("task", "model_a", "model_b", "mean_diff", "sim_low", "sim_high", "p_decided", "different", "reach")

    def __repr__(self) -> str:
        if not set(self._FIRST) <= set(self.columns):
            return str(pd.DataFrame(self))
        return _first_columns(self, self._FIRST, float_format=lambda value: f"{value:.3g}", index=False)


def summary_frame(stats: Sequence[CellStat]) -> pd.DataFrame:
    """One row per (task, model): the documented columns, then corrected interval, test-set error, status."""
    names = {"n_seeds": "n", "ci_low": "low", "ci_high": "high", "ci_half": "half"}
    order = ("n_seeds", "mean", "std", "sem", "ci_low", "ci_high", "ci_half", "corrected_low", "corrected_high",
             "corrected_half", "test_se", "status")  # fmt: skip
    index = pd.MultiIndex.from_arrays([[s.task for s in stats], [s.model for s in stats]], names=["task", "model"])
    frame = SummaryFrame(_columns(stats, {column: names.get(column, column) for column in order}), index=index)
    frame["parameters"] = pd.array([s.parameters for s in stats], dtype="Int64")
    return frame


_PAIRWISE = {
    "task": "task", "model_a": "a", "model_b": "b", "mean_diff": "mean_diff", "diff_low": "low", "diff_high": "high",
    "cohens_dz": "dz", "p_raw": "p", "p_holm": "p_adjusted", "significant": "significant", "n_seeds": "n",
    "hedges_g": "hedges_g", "corrected_low": "low_corrected", "corrected_high": "high_corrected",
    "p_corrected": "p_corrected", "p_corrected_holm": "p_corrected_adjusted", "decided_by": "decided_by",
    "p_decided": "p_decided", "decided_low": "decided_low", "decided_high": "decided_high", "different": "different",
    "better": "better", "reach": "reach", "sim_low": "sim_low", "sim_high": "sim_high", "n_used": "n_used",
    "smallest_p_holm": "smallest_adjusted",
}  # fmt: skip


def pairwise_frame(pairs: Sequence[Comparison], *, method: str, family: str) -> pd.DataFrame:
    """The documented columns of the chosen test, those of the test that decides, then what explains them."""
    said = {"method": [method] * len(pairs), "family": [family] * len(pairs)}
    last = _columns(pairs, {"family_size": "family_size", "reason": "reason"})
    return PairwiseFrame(_columns(pairs, _PAIRWISE) | _source_columns(pairs) | said | last)


def _source_columns(pairs: Sequence[Comparison]) -> dict[str, list[Any]]:
    """What is known about new examples from the same source, where that is a further question."""
    further = [next((c for c in pair.claims[1:] if c.evidence.reach == "source"), None) for pair in pairs]
    read: dict[str, Callable[[Claim], Any]] = {
        "source_p": lambda claim: claim.p,
        "source_low": lambda claim: claim.low,
        "source_high": lambda claim: claim.high,
        "source_test": lambda claim: claim.evidence.method,
        "source_reason": lambda claim: claim.evidence.reason,
    }
    empty: dict[str, Any] = dict.fromkeys(read, _NAN) | {"source_test": "", "source_reason": ""}
    return {name: [get(c) if c else empty[name] for c in further] for name, get in read.items()}


def both_frame(pairs: Sequence[tuple[Comparison, Comparison]]) -> pd.DataFrame:
    """Paired t and Wilcoxon side by side with their agreement (Table 2 of the GraphNetz paper)."""
    t, w = [x for x, _ in pairs], [y for _, y in pairs]
    first = {"task": "task", "model_a": "a", "model_b": "b", "mean_diff": "mean_diff", "p_t": "p",
             "p_t_holm": "p_adjusted"}  # fmt: skip
    frame = pd.DataFrame(
        _columns(t, first)
        | _columns(w, {"p_wilcoxon": "p", "p_wilcoxon_holm": "p_adjusted"})
        | _columns(t, {"significant_t": "significant"})
        | _columns(w, {"significant_wilcoxon": "significant", "wilcoxon_reachable": "reachable"})
        | {"n_seeds": [x.n for x in t]}
    )
    frame.insert(10, "agree", frame["significant_t"] == frame["significant_wilcoxon"])
    return frame


def examples_frame(rows: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """Tests of two trained models on the examples of one seed."""
    columns = ("task", "a", "b", "seed", "method", "n", "mean_diff", "statistic", "p", "p_holm", "reason")
    frame = pd.DataFrame([[row[name] for name in columns] for row in rows], columns=list(columns))
    return frame.rename(columns={"a": "model_a", "b": "model_b", "n": "n_examples", "p": "p_raw"})


def rank_frame(found: Ranking) -> pd.DataFrame:
    """Ranks as tasks by models."""
    return pd.DataFrame(found.ranks, index=pd.Index(found.tasks, name="task", dtype=object), columns=list(found.models))


def mean_rank_series(found: Ranking) -> pd.Series:
    """Mean ranks by model, best first."""
    ranks = pd.Series(found.mean_ranks, index=list(found.models), name="mean_rank", dtype=float)
    return ranks.iloc[list(found.order)]


def shifts_frame(shifts: Sequence[Shift]) -> pd.DataFrame:
    """What models lose on examples of another kind than they were trained on, one row per task, model and part."""
    return pd.DataFrame([asdict(found) for found in shifts], columns=[item.name for item in fields(Shift)])


_COSTS = (
    "task", "model", "cells", "seconds_mean", "seconds_total", "peak_memory", "parameters", "epochs_mean",
    "layers", "own_settings", "energy_joules", "energy_basis",
)  # fmt: skip
WATTS = 10.0
"""Watts of one busy core, where the processor tells nothing: an assumption, and every figure made of it says so."""


def _energy(results: Sequence[CellResult], joules: Any) -> tuple[float, str]:
    """Return joules per second of a cell, and what that rests on."""
    total = sum(cell.seconds for cell in results if math.isfinite(cell.seconds))
    if isinstance(joules, int | float) and joules > 0 and total > 0:
        return joules / total, "measured by the processor (RAPL), shared out by seconds"
    return WATTS, f"estimated: seconds x {WATTS:g} W per core"


def costs_frame(results: Sequence[CellResult], joules: Any = None) -> pd.DataFrame:
    """Return seconds, memory, parameters, epochs, layers in kernels, own settings and energy per (task, model).

    ``joules`` is what the processor counted for the whole run, where it can be read; else energy is estimated.
    """
    watts, basis = _energy(results, joules)
    own = recorded_protocols(results).get("model_protocols", {})
    rows = []
    for (task, model), cells in grouped(results, lambda result: (result.task, result.model)).items():
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
                watts * sum(seconds) if seconds else _NAN,
                basis if seconds else "",
            )
        )
    return pd.DataFrame(rows, columns=list(_COSTS))


def cells_frame(report: BenchmarkReport) -> pd.DataFrame:
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
