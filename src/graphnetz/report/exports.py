"""Results in the formats of others: a Hugging Face model index, evaluation entries of its Hub, Every Eval Ever."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from graphnetz import __version__
from graphnetz._core.errors import UsageError, unknown_name
from graphnetz.metrics import METRICS, label_of, lookup

if TYPE_CHECKING:
    from graphnetz.records.analysis import CellStat
    from graphnetz.report.report import BenchmarkReport

EVERY_EVAL_EVER = "0.2.1"
_HUB_TASKS = {
    "node_cls": "graph-ml", "graph_cls": "graph-ml", "graph_reg": "graph-ml", "link_pred": "graph-ml",
    "edge_cls": "graph-ml", "multi_reg": "graph-ml",
}  # fmt: skip


def model_index(report: BenchmarkReport, model: str) -> dict[str, Any]:
    """Return the results of one model as the ``model-index`` of a model card on the Hugging Face Hub.

    Parameters
    ----------
    report
        Any report.
    model
        One of its models.

    Returns
    -------
    dict
        The block for the front matter of a README.

    Examples
    --------
    >>> from graphnetz.report import example_report
    >>> report = example_report()
    >>> model_index(report, "GCN")["model-index"][0]["results"][0]["metrics"][0]["type"]
    'accuracy'
    """
    results = []
    for stat in _cells(report, model):
        info = report.task_info[stat.task]
        kind = info.task_type
        metric = {
            "type": _metric_type(info.metric), "name": info.label or label_of(info.metric),
            "value": stat.mean, "args": {"seeds": stat.n, "sd": _finite(stat.std)},
        }  # fmt: skip
        results.append({
            "task": {"type": _HUB_TASKS.get(kind, "graph-ml"), "name": kind or "graph learning"},
            "dataset": {"type": stat.task, "name": stat.task}, "metrics": [metric],
            "source": {"name": f"graphnetz {__version__}", "url": "https://graphnetz.readthedocs.io"},
        })  # fmt: skip
    return {"model-index": [{"name": model, "results": results}]}


def eval_results(report: BenchmarkReport, model: str, hub: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return entries for ``.eval_results`` of a model repository of the Hub.

    Parameters
    ----------
    report, model
        A report, and one of its models.
    hub
        Task -> dataset of the Hub (``"owner/name"``); only tasks that are named here have a benchmark there.

    Returns
    -------
    list of dict
        One entry per task.

    Examples
    --------
    >>> from graphnetz.report import example_report
    >>> eval_results(example_report(), "GCN", {"cora": "graphs/cora"})[0]["dataset"]
    {'id': 'graphs/cora', 'task_id': 'cora'}
    """
    for task in hub:
        if task not in report.task_info:
            raise unknown_name("task", task, report.task_info)
        if hub[task].count("/") != 1:
            raise UsageError(f"A dataset of the Hub is OWNER/NAME, got {hub[task]!r}.")
    return [
        {
            "dataset": {"id": hub[stat.task], "task_id": stat.task}, "value": stat.mean,
            "notes": f"mean of {stat.n} seeds, s.d. {stat.std:.4g}, {_metric(report, stat)}, graphnetz {__version__}",
        }
        for stat in _cells(report, model) if stat.task in hub
    ]  # fmt: skip


def every_eval_ever(
    report: BenchmarkReport, model: str, *, organisation: str = "not stated", relationship: str = "other",
    when: float | None = None,
) -> dict[str, Any]:  # fmt: skip
    """Return the results of one model as a record of Every Eval Ever.

    Parameters
    ----------
    report, model
        A report, and one of its models.
    organisation, relationship
        Who evaluated, and how they stand to the model: first_party, third_party, collaborative or other.
    when
        Seconds since 1970; now when left out.

    Returns
    -------
    dict
        One result per task, with its standard error and interval over seeds.

    Examples
    --------
    >>> from graphnetz.report import example_report
    >>> every_eval_ever(example_report(), "GCN", when=0)["evaluation_id"]
    'graphnetz/GCN/0'
    """
    known = ("first_party", "third_party", "collaborative", "other")
    if relationship not in known:
        raise unknown_name("relationship", relationship, known)
    stamp = f"{time.time() if when is None else when:.0f}"
    return {
        "schema_version": EVERY_EVAL_EVER, "evaluation_id": f"graphnetz/{model}/{stamp}", "retrieved_timestamp": stamp,
        "source_metadata": {"source_name": "graphnetz", "source_type": "evaluation_run",
                            "source_organization_name": organisation, "evaluator_relationship": relationship},
        "eval_library": {"name": "graphnetz", "version": __version__},
        "model_info": {"name": model, "id": model},
        "evaluation_results": [_evaluation(report, stat) for stat in _cells(report, model)],
    }  # fmt: skip


def _evaluation(report: BenchmarkReport, stat: CellStat) -> dict[str, Any]:
    info = report.task_info[stat.task]
    uncertainty: dict[str, Any] = {"num_samples": stat.n}
    if stat.n > 1:
        level = report.analysis.options.level
        uncertainty |= {
            "standard_deviation": stat.std, "standard_error": {"value": stat.sem, "method": "analytic"},
            "confidence_interval": {"lower": stat.low, "upper": stat.high, "confidence_level": level,
                                    "method": f"{report.ci_method} over seeds"},
        }  # fmt: skip
    low, high, note = _bounds(report, stat)
    details = {"a_seed_varies": info.replication} | ({"bounds": note} if note else {})
    return {
        "evaluation_name": stat.task,
        "source_data": {"dataset_name": stat.task, "source_type": "other"},
        "metric_config": {
            "evaluation_description": f"{_metric(report, stat)} on {stat.task}, mean over seeds",
            "lower_is_better": not info.greater_is_better, "score_type": "continuous", "min_score": low,
            "max_score": high, "additional_details": details,
        },
        "score_details": {"score": stat.mean, "uncertainty": uncertainty},
    }  # fmt: skip


def _bounds(report: BenchmarkReport, stat: CellStat) -> tuple[float, float, str]:
    """The range of a metric; the format wants numbers, so an open end is the worst or best score of the report."""
    name = _metric(report, stat).partition("_")[2]
    low, high = (
        lookup(_metric(report, stat)).bounds
        if name in METRICS or _metric(report, stat) in METRICS
        else (-math.inf, math.inf)
    )
    seen = [value for row in report.scores.models for value in report.scores.cell(stat.task, row).tolist()]
    finite = [value for value in seen if math.isfinite(value)]
    note = "" if math.isfinite(low) and math.isfinite(high) else "the metric has an open end: that of the scores seen"
    return low if math.isfinite(low) else min(finite), high if math.isfinite(high) else max(finite), note


def _metric_type(key: str) -> str:
    short = key.partition("_")[2] if key.split("_")[0] in ("test", "val", "train") else key
    return {"acc": "accuracy", "auc": "roc_auc", "ap": "average_precision"}.get(short, short)


def _cells(report: BenchmarkReport, model: str) -> list[CellStat]:
    if model not in report.models:
        raise unknown_name("model", model, report.models)
    return [stat for stat in report.analysis.cells if stat.model == model and stat.n]


def _metric(report: BenchmarkReport, stat: CellStat) -> str:
    return report.task_info[stat.task].metric


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def yaml(value: Any, indent: int = 0) -> str:
    """Return plain values as YAML; texts and numbers are written as JSON, which is YAML too.

    Examples
    --------
    >>> print(yaml({"a": [{"b": 1}], "c": "x: y"}))
    "a":
      - "b": 1
    "c": "x: y"
    """
    space = "  " * indent
    if isinstance(value, Mapping) and value:
        rows = []
        for key, item in value.items():
            deep = isinstance(item, Mapping | list) and bool(item)
            rows.append(
                f"{space}{json.dumps(str(key))}:" + (f"\n{yaml(item, indent + 1)}" if deep else f" {yaml(item)}")
            )
        return "\n".join(rows)
    if isinstance(value, list) and value:
        return "\n".join(f"{space}- {yaml(item, indent + 1).lstrip()}" for item in value)
    text = json.dumps(value, ensure_ascii=False)
    return text.replace("e", ".0e") if isinstance(value, float) and "e" in text and "." not in text else text
