"""A baseline: the scores of a run in one small file that a repository can hold."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

from graphnetz._core.errors import DataError
from graphnetz._core.paths import write_file
from graphnetz._core.readers import from_others, read_json
from graphnetz.records import CellResult
from graphnetz.records.digests import digest_of
from graphnetz.records.task_info import TaskInfo
from graphnetz.report.checks import check_score

if TYPE_CHECKING:
    from graphnetz.report.report import BenchmarkReport

SCHEMA, VERSION = "graphnetz.baseline", 1
MOST = 64 << 20


def baseline_of(report: BenchmarkReport) -> dict[str, Any]:
    """Return the scores of a report as plain values, with a digest over all of them.

    Parameters
    ----------
    report
        Any report.

    Returns
    -------
    dict
        Facts of tasks, fingerprints of data, one score per task, model and seed (None where it failed), ``digest``.

    Examples
    --------
    >>> from graphnetz.report import example_report
    >>> sorted(baseline_of(example_report()))
    ['data', 'digest', 'schema', 'scores', 'tasks', 'version']
    """
    scores: dict[str, dict[str, dict[str, float | None]]] = {}
    for result in report.results:
        cell = scores.setdefault(result.task, {}).setdefault(result.model, {})
        cell[str(result.seed)] = result.value if result.ok and math.isfinite(result.value) else None
    tasks = {
        name: {"metric": info.metric, "greater_is_better": info.greater_is_better, "replication": info.replication,
               "splits": info.splits}
        for name, info in report.task_info.items()
    }  # fmt: skip
    prints = report.provenance.get("dataset_fingerprints")
    data = {str(k): str(v) for k, v in prints.items() if k in tasks} if isinstance(prints, dict) else {}
    body = {"schema": SCHEMA, "version": VERSION, "tasks": tasks, "data": data, "scores": scores}
    return body | {"digest": digest_of(body)}


def write_baseline(report: BenchmarkReport, path: str | Path) -> Path:
    """Write the scores of a report as a baseline; one score per line, so that a diff shows what changed."""
    return write_file(path, json.dumps(baseline_of(report), indent=1, sort_keys=True) + "\n")


def is_baseline(path: Path) -> bool:
    """Whether a JSON file says of itself that it is a baseline."""
    if not path.is_file():
        return False
    with path.open("rb") as stream:
        size = path.stat().st_size
        parts = stream.read(4096)
        stream.seek(max(size - 4096, 0))
        return f'"{SCHEMA}"'.encode() in parts + stream.read()


def read_baseline(path: str | Path) -> BenchmarkReport:
    """Read what `write_baseline` wrote; a file that was edited is refused.

    Parameters
    ----------
    path
        The file.

    Returns
    -------
    BenchmarkReport
        Its scores as a report.
    """
    from graphnetz.report.report import BenchmarkReport

    name = Path(path).name
    raw = read_json(path, most=MOST, give="Write it again with 'graphnetz baseline'.")
    if not isinstance(raw, dict) or raw.get("version") != VERSION:
        raise DataError(f"{name!r} is no baseline of version {VERSION}. Write it again with 'graphnetz baseline'.")
    said = raw.pop("digest", None)
    if said != digest_of(raw):
        raise DataError(f"{name!r} was edited: its digest is another. Write it again with 'graphnetz baseline'.")
    with from_others(f"The baseline {name!r}", "Write it again with 'graphnetz baseline'."):
        tasks = {task: _facts(**facts) for task, facts in raw["tasks"].items()}
        results = [
            _cell(task, model, int(seed), score, tasks[task])
            for task, models in raw["scores"].items()
            for model, cells in models.items()
            for seed, score in cells.items()
        ]
        models = tuple(dict.fromkeys(result.model for result in results))
        seeds = sorted({result.seed for result in results})
        provenance = {"dataset_fingerprints": dict(raw["data"])} if raw["data"] else {}
        return BenchmarkReport.from_results(results, tasks=tasks, models=models, seeds=seeds, provenance=provenance)


def _facts(*, metric: str, greater_is_better: bool, replication: str, splits: int) -> TaskInfo:
    if not isinstance(metric, str) or not isinstance(greater_is_better, bool):
        raise TypeError("a metric is a text, and its direction true or false")
    return TaskInfo(metric, greater_is_better=greater_is_better, replication=replication, splits=int(splits))


def _cell(task: str, model: str, seed: int, score: float | None, info: TaskInfo) -> CellResult:
    known = {} if score is None else {info.metric: float(score)}
    if known:
        check_score(info.metric, known[info.metric], f"{task} / {model} / seed {seed}")
    return CellResult(
        "", task, model, seed, status="ok" if known else "failed", metric=info.metric,
        greater_is_better=info.greater_is_better, metrics=known, error="" if known else "it failed in the baseline",
        replication=info.replication,
    )  # fmt: skip
