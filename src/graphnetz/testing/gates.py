"""`assert_not_worse`: the gate of a build, for tests."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from graphnetz.analysis.gate import Gate
    from graphnetz.report import BenchmarkReport


def assert_not_worse(
    baseline: Any, model: Any, *, margin: float = 0.0, alpha: float = 0.05, method: str = "t", strict: bool = False,
    metric: str = "acc",
) -> Gate:  # fmt: skip
    """Raise `AssertionError` if a model became worse than its baseline.

    Parameters
    ----------
    baseline, model
        Each a run folder, a ``baseline.json``, a ``results.json`` or a CSV of scores; a `BenchmarkReport`; or plain
        scores, one per seed in the same order, as a list or a mapping from names of models to lists.
    margin
        Size of a drop that does not matter, in units of the metric.
    alpha, method
        Level after Holm over all pairs, and the paired test.
    strict
        Whether a drop on too few seeds to test it fails as well.
    metric
        What plain scores are; it says whether more is better.

    Returns
    -------
    Gate
        What was compared, where it passes.

    Examples
    --------
    >>> assert_not_worse([0.81, 0.80, 0.83], [0.81, 0.80, 0.83]).failed
    False
    >>> assert_not_worse([0.81, 0.80, 0.83], [0.76, 0.75, 0.78], margin=0.01)
    Traceback (most recent call last):
        ...
    AssertionError: The gate fails: 1 of 1 (task, model) pairs became worse by more than 0.01 ...
    """
    from graphnetz.report.gates import gate_reports

    two = [_report(given, metric) for given in (baseline, model)]
    found = gate_reports(*two, margin=margin, alpha=alpha, method=method, strict=strict)
    if found.failed:
        rows = (*found.worse, *(found.unsure if strict else ()))
        lines = [*map(str, rows), *(f"{task}: {why}" for task, why in found.incomparable)]
        raise AssertionError("\n".join([found.sentence(), *lines]))
    return found


def _report(given: Any, metric: str) -> BenchmarkReport:
    from graphnetz.report import BenchmarkReport

    if isinstance(given, BenchmarkReport):
        return given
    if isinstance(given, str | os.PathLike):
        from graphnetz.cli.load import load_report

        return load_report(Path(given))
    table = given if isinstance(given, Mapping) else {"model": given}
    rows = [("scores", str(name), seed, float(score)) for name, row in table.items() for seed, score in enumerate(row)]
    columns = dict(zip(("task", "model", "seed", "score"), zip(*rows, strict=True), strict=True))
    return BenchmarkReport.from_scores(columns, metric=metric)
