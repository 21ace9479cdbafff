"""Tables of mean, standard deviation and number of runs: read, and written with what they cannot say."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pandas as pd

from graphnetz._core.errors import DataError
from graphnetz._core.paths import write_file
from graphnetz._core.text import number, p_value
from graphnetz.analysis.summaries import Summary, SummaryAnalysis, analyse_summaries
from graphnetz.report import escape
from graphnetz.report.checks import check_score
from graphnetz.report.from_scores import facts_of, names, numbers
from graphnetz.report.jsonio import jsonable
from graphnetz.report.tables import csv_text, markdown_table


def parse_summaries(frame: pd.DataFrame, replication: str | None = None, *, alpha: float = 0.05) -> SummaryAnalysis:
    """Return the comparison of models of which mean, s.d. and perhaps n are known.

    Parameters
    ----------
    frame
        Columns task, model, mean, sd; optionally n, metric and greater_is_better.
    replication
        What a run varies, where it is known.
    alpha
        Level after Holm within each task.

    Returns
    -------
    SummaryAnalysis
        Pairs, sentences, and what cannot be said.

    Examples
    --------
    >>> rows = {"task": "cora", "model": ["GCN", "MLP"], "mean": [0.8, 0.5], "sd": 0.01, "n": 10, "metric": "test_acc"}
    >>> parse_summaries(pd.DataFrame(rows)).pairs[0].verdict
    'better'
    """
    data = frame.assign(task=names(frame, "task"), model=names(frame, "model"))
    data = data.assign(mean=numbers(data, "mean"), sd=numbers(data, "sd"))
    data["n"] = numbers(data, "n") if "n" in data.columns else 0.0
    data = data[data["mean"].notna()]
    if data.empty:
        raise DataError("The table has no mean. Give one row per task and model.")
    known = {facts_of(str(task), group) for task, group in data.groupby("task", sort=False)}
    if len(known) > 1:
        listed = " and ".join(sorted(metric for metric, _ in known))
        raise DataError(f"The table has several metrics ({listed}). Give one table per metric.")
    metric, up = known.pop()
    rows = []
    columns = (data[name].tolist() for name in ("task", "model", "mean", "sd", "n"))
    for task, model, mean, sd, n in zip(*columns, strict=True):
        check_score(metric, mean, f"task {task!r}, model {model!r}")
        rows.append(Summary(task, model, mean, sd, _runs(n, f"Task {task!r}, model {model!r}")))
    return analyse_summaries(
        rows, metric=metric, greater_is_better=up, alpha=alpha, replication=replication or "unknown"
    )


def _runs(n: float, where: str) -> int:
    if not math.isfinite(n):
        return 0
    if n != int(n):
        raise DataError(f"{where} has n = {n:g}. Give a whole number of runs.")
    return int(n)


_WORDS = {"better": "A better", "worse": "B better"}
COLUMNS = ("task", "A", "B", "A - B", "interval", "adjusted p", "verdict")


def summary_rows(found: SummaryAnalysis) -> list[tuple[str, ...]]:
    """Return the pairs as texts below `COLUMNS`."""
    return [
        (p.task, p.model_a, p.model_b, number(p.diff, signed=True),
         f"[{number(p.low, signed=True)}, {number(p.high, signed=True)}]" if p.low == p.low else "",
         p_value(p.p_holm) if p.p_holm == p.p_holm else "", _WORDS.get(p.verdict, p.verdict))
        for p in found.pairs
    ]  # fmt: skip


def summary_markdown(found: SummaryAnalysis) -> str:
    """Return the table of pairs, the sentences, and what cannot be said."""
    rows = [tuple(escape.markdown(cell) for cell in row) for row in summary_rows(found)]
    lines = [escape.markdown(f"{line.about}: {line}", width=1000) for line in found.verdicts()]
    return "\n".join([markdown_table(COLUMNS, rows), *(f"- {line}" for line in lines), "",
                      "What this table cannot say:", "", *(f"- {line}" for line in found.unsaid)]) + "\n"  # fmt: skip


def write_summaries(found: SummaryAnalysis, folder: Path) -> None:
    """Write ``welch.csv``, ``welch.md`` and ``welch.json``."""
    table = found.to_table()
    write_file(folder / "welch.csv", csv_text(table.columns, table.rows))
    write_file(folder / "welch.md", summary_markdown(found))
    write_file(folder / "welch.json", json.dumps(jsonable(found.as_dict()), indent=1) + "\n")
