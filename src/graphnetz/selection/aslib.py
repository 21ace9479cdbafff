"""The performance bank as an ASlib scenario: algorithm selection as its own field writes it down."""

from __future__ import annotations

import json
import math
import zlib
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from graphnetz._core.errors import UsageError
from graphnetz.selection.bank import COLLECTION_SET, FEATURE_SET, PerformanceBank
from graphnetz.selection.metafeatures import feature_names

FOLDS = 10
STATUSES = "{ok, timeout, memout, not_applicable, crash, other}"


def aslib(bank: PerformanceBank, task_type: str) -> dict[str, str]:
    """Return the files of an ASlib scenario: instances are graphs, algorithms are configurations.

    Parameters
    ----------
    bank
        What was measured.
    task_type
        Which of its tasks.

    Returns
    -------
    dict
        File name -> text: ``description.txt``, ``algorithm_runs.arff``, ``feature_values.arff``,
        ``feature_runstatus.arff`` and ``cv.arff`` (ten folds; graphs of one domain stay together).
    """
    records = [record for record in bank.records if record.task_type == task_type]
    if not records:
        raise UsageError(f"The bank holds nothing of {task_type!r}. It holds {', '.join(bank.task_types)}.")
    graphs = list(dict.fromkeys(record.graph for record in records))
    names = list(dict.fromkeys(record.configuration.name for record in records))
    metric = records[0].metric.replace(" ", "_") or "score"
    many = any(bank.graphs[name].graphs > 1 for name in graphs)
    features = _apart(feature_names(COLLECTION_SET if many else FEATURE_SET))
    runs: dict[tuple[str, str], list[Any]] = {}
    for record in records:
        runs.setdefault((record.graph, record.configuration.name), []).append(record)
    rows = [
        (graph, place + 1, name, record.value, "ok" if math.isfinite(record.value) else "crash")
        for (graph, name), found in runs.items()
        for place, record in enumerate(found)
    ]
    known = {name: bank.graphs[name] for name in graphs}
    domains = {name: known[name].domain or name for name in graphs}
    return {
        "description.txt": _description(task_type, metric, names, features),
        "algorithm_runs.arff": _arff(
            "ALGORITHM_RUNS",
            [*_IDS, ("algorithm", "STRING"), (metric, "NUMERIC"), ("runstatus", STATUSES)], rows,
        ),
        "feature_values.arff": _arff(
            "FEATURE_VALUES", [*_IDS, *((name, "NUMERIC") for name in features)],
            ((name, 1, *np.asarray(known[name].features, dtype=float).tolist()) for name in graphs),
        ),
        "feature_runstatus.arff": _arff(
            "FEATURE_RUNSTATUS", [*_IDS, ("all", STATUSES)], ((name, 1, "ok") for name in graphs)
        ),
        "cv.arff": _arff(
            "CV", [*_IDS, ("fold", "NUMERIC")],
            ((name, 1, zlib.crc32(domains[name].encode()) % FOLDS + 1) for name in graphs),
        ),
    }  # fmt: skip


def _apart(names: Iterable[str]) -> list[str]:
    """Number names that stand twice: two sets of features may each have a density."""
    out: list[str] = []
    for name in names:
        out.append(name if name not in out else f"{name}_{sum(one.startswith(name) for one in out) + 1}")
    return out


_IDS = (("instance_id", "STRING"), ("repetition", "NUMERIC"))


def _description(task_type: str, metric: str, algorithms: Sequence[str], features: Sequence[str]) -> str:
    lines = [
        f"scenario_id: GRAPHNETZ-{task_type.upper().replace('_', '-')}",
        f"performance_measures: [{json.dumps(metric)}]", "maximize: [true]", "performance_type: [solution_quality]",
        "algorithm_cutoff_time: '?'", "algorithm_cutoff_memory: '?'", "features_cutoff_time: '?'",
        "features_cutoff_memory: '?'", "features_deterministic:", *(f"  - {json.dumps(name)}" for name in features),
        "features_stochastic: []", "number_of_feature_steps: 1", "default_steps: [all]", "feature_steps:", "  all:",
        "    provides:", *(f"      - {json.dumps(name)}" for name in features), "metainfo_algorithms:",
    ]  # fmt: skip
    for name in algorithms:
        lines += [f"  {json.dumps(name)}:", "    deterministic: false", "    configuration: ''"]
    return "\n".join(lines) + "\n"


def _arff(relation: str, columns: Sequence[tuple[str, str]], rows: Iterable[Sequence[Any]]) -> str:
    head = [f"@RELATION {relation}", "", *(f"@ATTRIBUTE {_word(name)} {kind}" for name, kind in columns), "", "@DATA"]
    return "\n".join([*head, *(",".join(map(_value, row)) for row in rows)]) + "\n"


def _value(value: Any) -> str:
    if isinstance(value, float):
        return repr(value) if math.isfinite(value) else "?"
    return str(value) if isinstance(value, int) else _word(value)


def _word(text: str) -> str:
    plain = "".join(char if char.isprintable() else "_" for char in text)
    if plain and all(char.isalnum() or char in "_-." for char in plain):
        return plain
    return '"' + plain.replace("\\", "\\\\").replace('"', '\\"') + '"'
