"""Training the head of a shortlist, so that the prediction can be checked on the graph itself."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from graphnetz._core.errors import UsageError
from graphnetz.selection.bank import PerformanceBank, own_name
from graphnetz.selection.building import engine_model
from graphnetz.selection.collect import PROTOCOL, measured_task, record_of
from graphnetz.selection.probe import Race, measure
from graphnetz.selection.recommend import Recommendation


def verify(
    recommendation: Recommendation,
    count: int = 3,
    *,
    seeds: Iterable[int] = range(3),
    epochs: int | None = None,
    workers: int | None = None,
    out: str | Path | None = None,
) -> Race:
    """Train the first ``count`` choices through the engine, with splits and protocol of the bank.

    Parameters
    ----------
    recommendation
        The shortlist and its graph.
    count
        How many of it.
    seeds
        Splits to train on.
    epochs
        Most epochs of a run; None takes those of the bank.
    workers
        Cells at a time.
    out
        Run folder to keep; an existing one is resumed.

    Returns
    -------
    Race
        Best by validation first, with the test values of every split.
    """
    if not 1 <= count <= len(recommendation.choices):
        raise UsageError(f"The shortlist has {len(recommendation.choices)} choices, {count} cannot be verified.")
    chosen = {choice.name: engine_model(choice.configuration) for choice in recommendation.choices[:count]}
    task = measured_task(recommendation.graph, recommendation.task_type, epochs=epochs)
    return measure(task, chosen, seeds=seeds, protocol=PROTOCOL, workers=workers, out=out)


def remember(race: Race, recommendation: Recommendation, path: str | Path) -> None:
    """Add what was measured in full to a bank file, so that it counts next time."""
    file = Path(path)
    bank = PerformanceBank.load(file) if file.exists() else PerformanceBank()
    graph, by_name = recommendation.graph, {choice.name: choice.configuration for choice in recommendation.choices}
    name = own_name(graph)
    bank.add_graph(name, graph, domain=name, origin="verified", real=True, task_types=(recommendation.task_type,))
    for result in race.results:
        if result.ok:
            bank.add(record_of(result, name, by_name[result.model], recommendation.task_type))
    bank.save(file)
