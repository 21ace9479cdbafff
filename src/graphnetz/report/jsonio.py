"""Reports as JSON: schema-versioned, the same bytes for the same cells, read back as data only."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any

from graphnetz._core.errors import DataError, GraphnetzError, IntegrityError, StoreError
from graphnetz._core.plain import jsonable as jsonable
from graphnetz._core.readers import parse_json, read_text
from graphnetz.analysis.scores import public_error
from graphnetz.records import CellResult, Protocol, Section, recorded_protocol
from graphnetz.records.analysis import Comparison
from graphnetz.records.digests import cell_digest, digest_of, predictions_digest, root_digest
from graphnetz.records.task_info import TaskInfo
from graphnetz.report.checks import check_results
from graphnetz.report.integrity import check_beside

if TYPE_CHECKING:
    from graphnetz.report.report import BenchmarkReport

SCHEMA = "graphnetz.report"
VERSION = 2
WITHOUT_DIGESTS = 1
"""Version of files from before there were digests: they are read, and nothing in them can be checked."""
MAX_BYTES = 1 << 30

WHERE_NOT_WHAT = frozenset(
    {
        "root",
        "out",
        "workers",
        "backend",
        "address",
        "timeout",
        "memory",
        "mirror",
        "verbose",
        "store",
        "resume",
        "log",
        "shard",
    }
)
"""Configuration that says where and how cells ran; it cannot change a value and stays out of results."""

SETTINGS = {"ci_method": str, "bootstrap_n": int, "bootstrap_seed": int, "pairwise_method": str}
"""Settings of a report that its analysis starts from, and their types."""

_FACTS = ("epochs", "best_epoch", "parameters", "n_train", "n_test", "notes", "trace")
_OWN = ("metric", "greater_is_better", "replication")
"""Facts that a cell states only where they differ from those of its task."""
_TASK_FIELDS = tuple(item.name for item in dataclasses.fields(TaskInfo))


def flat(values: Mapping[str, Any], separator: str) -> dict[str, Any]:
    """Return the leaves of nested mappings under the joined keys that lead to them."""
    out: dict[str, Any] = {}
    for key, value in values.items():
        below = flat(value, separator) if isinstance(value, Mapping) else None
        out |= {str(key): value} if below is None else {f"{key}{separator}{name}": leaf for name, leaf in below.items()}
    return out


def results_config(config: Mapping[str, Any]) -> dict[str, Any]:
    """The part of a configuration that belongs to the results."""
    kept = {key: value for key, value in config.items() if key not in WHERE_NOT_WHAT}
    plain = jsonable({key: value for key, value in kept.items() if not isinstance(value, PurePath)})
    return dict(sorted(plain.items()))


def dump(report: BenchmarkReport, *, histories: bool = True, sections: Sequence[Section] | None = None) -> str:
    """Return ``report`` as JSON text, with ``sections`` in place of its own when given."""
    body = {
        "schema": SCHEMA,
        "schema_version": VERSION,
        "seeds": list(report.seeds),
        "models": list(report.scores.models),
        **{name: getattr(report, name) for name in SETTINGS},
        "config": results_config(report.config),
        "tasks": [{"name": name, **jsonable(info)} for name, info in report.task_info.items()],
        "cells": _cells(report, histories=histories),
        "absent": [{"task": t, "model": m, "reason": reason} for (t, m), reason in sorted(report.absent.items())],
        "sections": [jsonable(section.to_json()) for section in (report.sections if sections is None else sections)],
        "verdicts": [jsonable(verdict) for verdict in report.analysis.verdicts],
        "comparisons": [_comparison(pair) for pair in report.analysis.comparisons],
    }
    results = _results(body, report.task_info)  # as a reader will see them
    digests = []
    for cell, result in zip(body["cells"], results, strict=True):
        cell["digest"] = cell_digest(result)
        digests.append((result.task, result.model, result.seed, cell["digest"]))
    body["digest"] = {"body": digest_of(body), "root": root_digest(digests)}
    return json.dumps(body, ensure_ascii=False, allow_nan=False, indent=1) + "\n"


def _comparison(pair: Comparison) -> dict[str, Any]:
    """One comparison with its ladder: what was asked at each reach, what it rests on, and whether it is shown."""
    ladder = [
        {**dataclasses.asdict(claim.evidence), "p_adjusted": claim.p, "low": claim.low, "high": claim.high,
         "shown": claim.shown}
        for claim in pair.claims
    ]  # fmt: skip
    head = {"task": pair.task, "model_a": pair.a, "model_b": pair.b, "better": pair.better, "reach": pair.reach}
    return dict(jsonable({**head, "flags": list(pair.flags), "ladder": ladder}))


def _cells(report: BenchmarkReport, *, histories: bool) -> list[dict[str, Any]]:
    """Cells in the order of tasks, models, seeds, whatever order they finished in."""
    table = report.scores
    found = {(r.task, r.model, r.seed): r for r in report.results}
    config = results_config(report.config)
    out = []
    for task, info in report.task_info.items():
        runs = report.histories.get(task, {})
        for model in table.models:
            row = table.cell(task, model)
            for i, seed in enumerate(table.seeds):
                result = found.get((task, model, seed))
                history = result.history if result else dict(enumerate(runs.get(model, ()))).get(i, {})
                if result is None and not history and not math.isfinite(row[i]):
                    continue
                cell = _cell(task, model, seed, result, info, float(row[i]))
                if result is not None and result.protocol != recorded_protocol(config, task, model):
                    cell["protocol"] = None if result.protocol is None else jsonable(result.protocol.as_dict())
                if histories:
                    cell["history"] = {key: jsonable(list(values)) for key, values in history.items()}
                out.append(cell)
    return out


def _cell(task: str, model: str, seed: int, result: CellResult | None, info: TaskInfo, value: float) -> dict[str, Any]:
    base: dict[str, Any] = {"task": task, "model": model, "seed": seed}
    if result is None:
        return {**base, "status": "ok", "metrics": {info.metric: jsonable(value)}}
    base |= {"status": result.status, "metrics": jsonable(dict(sorted(result.metrics.items())))}
    base |= {name: jsonable(getattr(result, name)) for name in _FACTS}
    if not result.ok:
        base["error"] = public_error(result)
    else:
        base |= {name: getattr(result, name) for name in _OWN if getattr(result, name) != getattr(info, name)}
    predicted = result.predicted or (predictions_digest(result.predictions) if result.predictions is not None else "")
    return base | ({"predictions": predicted} if predicted else {})


def load(source: str | Path) -> dict[str, Any]:
    """Return the arguments of a report from JSON text or a file of it, after its digests were computed again."""
    raw = _parse(source)
    name = "This report" if str(source).lstrip().startswith("{") else repr(Path(source).name)
    if raw["schema_version"] != WITHOUT_DIGESTS:
        _check_body(raw, name)
    try:
        tasks = {str(item["name"]): _task(item) for item in raw["tasks"]}
        models = tuple(map(str, raw["models"]))
        seeds = tuple(map(int, raw["seeds"]))
        config = dict(raw.get("config", {}))
        results = _results(raw, tasks)
        digests = _check_cells(raw, results, name) if raw["schema_version"] != WITHOUT_DIGESTS else {}
        if name == "'results.json'":
            check_beside(Path(source), digests, raw["digest"]["root"] if digests else "", results)
        return {
            "seeds": seeds,
            "histories": histories_of(results, tasks, models, seeds),
            "config": config,
            **{name: kind(raw[name]) for name, kind in SETTINGS.items()},
            "tasks": tasks,
            "models": models,
            "results": results,
            "absent": {(str(i["task"]), str(i["model"])): str(i["reason"]) for i in raw.get("absent", ())},
            "sections": [Section.from_json(item) for item in raw.get("sections", ())],
        }
    except StoreError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError, GraphnetzError) as error:
        raise DataError(f"This report does not follow its schema ({error!r}). Write it again with to_json.") from error


def _changed(name: str, what: str) -> IntegrityError:
    return IntegrityError(
        f"{name} is not as it was written: {what}. Restore it from a copy; where its store lies beside it, remove it "
        "and write it again with graphnetz report."
    )


def _check_body(raw: Mapping[str, Any], name: str) -> None:
    kept = raw.get("digest")
    if not isinstance(kept, Mapping) or set(kept) != {"body", "root"}:
        raise _changed(name, "its digests are missing")
    try:
        found = digest_of({key: value for key, value in raw.items() if key != "digest"})
    except (ValueError, RecursionError):
        found = ""
    if found != kept["body"]:
        raise _changed(name, "it does not match its digest")


def _check_cells(raw: Mapping[str, Any], results: Sequence[CellResult], name: str) -> dict[tuple[str, str, int], str]:
    seen: dict[tuple[str, str, int], str] = {}
    for item, result in zip(raw["cells"], results, strict=True):
        place = (result.task, result.model, result.seed)
        words = f"{result.task} / {result.model} / seed {result.seed}"
        if place in seen:
            raise _changed(name, f"it holds the cell {words} twice")
        seen[place] = cell_digest(result)
        if seen[place] != item["digest"]:
            raise _changed(name, f"the cell {words} does not match its digest")
    if root_digest((*place, digest) for place, digest in seen.items()) != raw["digest"]["root"]:
        raise _changed(name, "its cells do not match the digest of the run")
    return seen


def _parse(source: str | Path) -> dict[str, Any]:
    give = "Give a results.json file or its text."
    text, name = str(source), "The report"
    if isinstance(source, Path) or not text.lstrip().startswith("{"):
        text, name = read_text(source, most=MAX_BYTES, give=give, what="the report"), Path(source).name
    raw = parse_json(text, name=name, give=give)
    if not isinstance(raw, dict) or raw.get("schema") != SCHEMA:
        raise DataError(f"This is not a graphnetz report: its schema is not {SCHEMA!r}. Give a results.json file.")
    if raw.get("schema_version") not in (WITHOUT_DIGESTS, VERSION):
        raise DataError(
            f"This report has schema version {raw.get('schema_version')!r}; this version reads {WITHOUT_DIGESTS} and "
            f"{VERSION}. Read it with the version that wrote it."
        )
    check_results(raw, name)
    return raw


def _task(item: Mapping[str, Any]) -> TaskInfo:
    fields = {key: item[key] for key in _TASK_FIELDS if key in item}
    fields["test_ratio"] = _float(fields.get("test_ratio"))
    fields["greater_is_better"] = bool(fields["greater_is_better"])
    return TaskInfo(**fields)


def _float(value: Any) -> float:
    return math.nan if value is None else float(value)


def _results(raw: Mapping[str, Any], tasks: Mapping[str, TaskInfo]) -> list[CellResult]:
    config, known = raw.get("config", {}), (tasks, raw["models"])
    protocols = {(task, model): recorded_protocol(config, task, model) for task in known[0] for model in known[1]}
    return [_result(item, tasks, protocols) for item in raw["cells"]]


def _result(
    item: Mapping[str, Any],
    tasks: Mapping[str, TaskInfo],
    protocols: Mapping[tuple[str, str], Protocol | None],
) -> CellResult:
    info = tasks[item["task"]]
    counts: dict[str, Any] = {name: int(item.get(name, 0)) for name in ("epochs", "parameters", "n_train", "n_test")}
    protocol = protocols.get((str(item["task"]), str(item["model"])))
    if "protocol" in item:
        protocol = None if item["protocol"] is None else Protocol().replace(**item["protocol"])
    return CellResult(
        key="",
        task=str(item["task"]),
        model=str(item["model"]),
        seed=int(item["seed"]),
        status=item["status"],
        metric=str(item.get("metric", info.metric)),
        greater_is_better=bool(item.get("greater_is_better", info.greater_is_better)),
        metrics={str(key): _float(value) for key, value in item["metrics"].items()},
        history={str(key): [_float(v) for v in values] for key, values in item.get("history", {}).items()},
        best_epoch=item.get("best_epoch"),
        error=str(item.get("error", "")),
        replication=str(item.get("replication", info.replication)),
        **counts,
        notes=tuple(map(str, item.get("notes", ()))),
        trace=tuple(dict(step) for step in item.get("trace", ())),
        protocol=protocol,
        predicted=str(item.get("predictions", "")),
    )


def histories_of(
    results: Sequence[CellResult], tasks: Mapping[str, TaskInfo], models: Sequence[str], seeds: Sequence[int]
) -> dict[str, dict[str, list[dict[str, list[float]]]]]:
    """histories[task][model]: one history per seed, empty for a seed that has none.

    A cell without a kept history contributes its final metrics as histories of one epoch.
    """
    at = {seed: i for i, seed in enumerate(seeds)}
    order = {model: i for i, model in enumerate(models)}
    found: dict[str, dict[str, list[dict[str, list[float]]]]] = {task: {} for task in tasks}
    for result in results:
        if result.seed not in at:
            continue
        runs = found.setdefault(result.task, {}).setdefault(result.model, [{} for _ in seeds])
        if result.history:
            runs[at[result.seed]] = {key: list(values) for key, values in result.history.items()}
        elif result.ok:
            runs[at[result.seed]] = {key: [value] for key, value in result.metrics.items()}
    return {
        task: dict(sorted(runs.items(), key=lambda item: order.get(item[0], len(order))))
        for task, runs in found.items()
    }
