"""A report small enough for an example."""

from __future__ import annotations

from graphnetz.report.report import BenchmarkReport


def example_report() -> BenchmarkReport:
    """Return a report of two tasks, three models and five seeds, made from a table of scores.

    Returns
    -------
    BenchmarkReport
        On ``cora`` (accuracy) two models cannot be told apart; on ``zinc`` (an error) one is the best.

    Examples
    --------
    >>> example_report().scores.models
    ('GCN', 'GAT', 'MLP')
    """
    scores = {
        "cora": {"GCN": (80, 82, 81, 80, 82), "GAT": (81, 81, 80, 81, 80), "MLP": (57, 58, 56, 57, 59)},
        "zinc": {"GCN": (30, 32, 31, 30, 33), "GAT": (40, 44, 41, 43, 42), "MLP": (70, 73, 70, 72, 71)},
    }
    metrics = {"cora": "test_acc", "zinc": "test_mae"}
    rows = [
        {"task": task, "model": model, "seed": seed, "score": value / 100, "metric": metrics[task]}
        for task, models in scores.items()
        for model, values in models.items()
        for seed, value in enumerate(values)
    ]
    return BenchmarkReport.from_scores(rows, replication="init")
