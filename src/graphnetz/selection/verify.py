"""Training the head of a shortlist, so that the prediction can be checked on the graph itself."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from graphnetz._core.errors import UsageError
from graphnetz.selection.bank import PerformanceBank
from graphnetz.selection.building import engine_model
from graphnetz.selection.collect import EPOCHS, PROTOCOL, measured_task, record_of
from graphnetz.selection.recommend import Recommendation


def verify(
    recommendation: Recommendation,
    count: int = 3,
    *,
    seeds: Iterable[int] = range(3),
    epochs: int = EPOCHS,
    workers: int | None = None,
    out: str | Path | None = None,
    keep: str | Path | None = None,
) -> dict[str, dict[str, Any]]:
    """Train the first ``count`` choices through the engine, with the protocol of the bank.

    Parameters
    ----------
    recommendation
        The shortlist and its graph.
    out
        Run folder to keep; an existing one is resumed.
    keep
        Bank file to which the measurements are added, so that they count next time.

    Returns
    -------
    dict
        By name of the configuration: mean, half-width of the 95 % interval and number of seeds (None
        where undefined), as predicted and as measured.
    """
    from graphnetz.engine.run import run_benchmark

    if not 1 <= count <= len(recommendation.choices):
        raise UsageError(f"The shortlist has {len(recommendation.choices)} choices, {count} cannot be verified.")
    chosen = {choice.name: choice for choice in recommendation.choices[:count]}
    task = measured_task(recommendation.graph, recommendation.task_type, epochs=epochs)
    report = run_benchmark(
        models={name: engine_model(choice.configuration) for name, choice in chosen.items()},
        tasks=[task], seeds=seeds, protocol=PROTOCOL, workers=workers, out=out, verbose=False,
    )  # fmt: skip
    summary = report.summary()
    if keep is not None:
        _add(report, recommendation, Path(keep), task.name)
    rows = {}
    for name, choice in chosen.items():
        row: Any = summary.loc[(task.name, name)]
        rows[name] = {
            "predicted": choice.score, "mean": _value(row["mean"]), "half": _value(row["ci_half"]),
            "seeds": int(row["n_seeds"]),
        }  # fmt: skip
    return rows


def _add(report: Any, recommendation: Recommendation, path: Path, task: str) -> None:
    bank = PerformanceBank.load(path) if path.exists() else PerformanceBank()
    graph, by_name = recommendation.graph, {choice.name: choice.configuration for choice in recommendation.choices}
    bank.add_graph(graph.name, graph, domain="own", origin="verified")
    for result in report.results:
        if result.ok and result.task == task:
            bank.add(record_of(result, graph.name, by_name[result.model], recommendation.task_type))
    bank.save(path)


def _value(value: Any) -> float | None:
    return float(value) if value == value else None
