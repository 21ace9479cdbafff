"""Where the cells of a report come from: how to make them again, with what, on what, at what cost."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from graphnetz.analysis.aggregates import cost_table
from graphnetz.records import Table
from graphnetz.report.jsonio import flat, jsonable

if TYPE_CHECKING:
    from graphnetz.report.report import BenchmarkReport

_LONG = 60
_WORDS = {
    "cell_seconds": "Seconds in cells",
    "config": "Configuration",
    "dataset_fingerprints": "Fingerprints of the data",
    "lr": "Learning rate",
    "environment_keys": "Environments of the cells",
    "mixed_environments": "Cells of several environments",
    "seconds_this_sitting": "Seconds of the last sitting",
}
_PROTOCOLS = ("protocols", "model_protocols")


def reproduce(report: BenchmarkReport, folder: Path | None = None) -> str:
    """Return one command that makes the cells again, or nothing where they came from elsewhere."""
    config = report.config
    if config.get("merged"):
        parts = " ".join(shlex.quote(str(name)) for name in config["merged"])
        return f"graphnetz merge {parts} --out again"
    if folder is not None and (folder / "config.toml").is_file():
        return "graphnetz run config.toml --out again"
    if not config.get("protocols"):
        return ""
    names = ("tasks", "models", "seeds", "hidden_channels", "epochs")
    given = {name: jsonable(config[name]) for name in names if config.get(name) is not None}
    return f"run_benchmark({', '.join(f'{name}={value!r}' for name, value in given.items())})"


def origin_tables(report: BenchmarkReport) -> list[tuple[str, Table]]:
    """Configuration, protocols, run, environments, fingerprints and cost, each where there is something to say."""
    config: dict[str, Any] = jsonable(report.config)
    plain = jsonable(report.provenance)
    tables = []
    settings = {
        key: value for key, value in config.items() if key not in _PROTOCOLS and value not in (None, "", [], {})
    }
    if settings:
        tables.append(("Configuration", _key_values(settings, ours=True)))
    if config.get("protocols"):
        tables.append(("Training by task", _protocols(training(config))))
    loose = {key: value for key, value in plain.items() if not isinstance(value, Mapping) and value not in (None, [])}
    if loose:
        tables.append(("Run", _key_values(loose, ours=True)))
    for key, value in plain.items():
        if key == "environments" and isinstance(value, Mapping):
            tables += [(f"Environment {name}", _key_values(facts)) for name, facts in value.items()]
        elif isinstance(value, Mapping):
            tables.append((_ours(key), _key_values(value)))
    environments = sorted({r.environment for r in report.results if r.environment})
    if len(environments) > 1:
        rows = tuple((name,) for name in environments)
        note = "Cells of this report ran in different environments: equal seeds need not give equal bits."
        tables.append(("Environments", Table(("Environment",), rows, note)))
    if report.results and any(r.seconds == r.seconds for r in report.results):
        tables.append(("Cost", _costs(report)))
    front = cost_table(report.analysis)
    if front is not None:
        tables.append(("Score against cost", front))
    advice = tuple((found.task, found.text) for found in report.analysis.advice if found.text)
    if advice:
        note = "For the two best models of each task, at the speed of the machine that ran it."
        tables.insert(0, ("What the next hour buys", Table(("Task", "Advice"), advice, note)))
    return tables


def references(provenance: Mapping[str, Any]) -> dict[str, dict[str, float]]:
    """Cost of the reference cell by environment, where it was measured; files of others may hold anything there.

    Examples
    --------
    >>> references({"environments": {"env": {"reference": {"seconds": 0.5, "peak_memory": None}}}})
    {'env': {'seconds': 0.5}}
    """
    found, environments = {}, provenance.get("environments")
    for name, facts in environments.items() if isinstance(environments, Mapping) else ():
        measured = facts.get("reference") if isinstance(facts, Mapping) else None
        if isinstance(measured, Mapping):
            costs = {key: measured.get(key) for key in ("seconds", "peak_memory")}
            found[str(name)] = {key: float(v) for key, v in costs.items() if isinstance(v, int | float) and v > 0}
    return found


def training(config: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """Protocols by task, and by ``task / model`` where a model had settings of its own.

    Examples
    --------
    >>> training({"protocols": {"cora": {"lr": 0.1}}, "model_protocols": {"cora": {"GCN": {"lr": 0.2}}}})
    {'cora': {'lr': 0.1}, 'cora / GCN': {'lr': 0.2}}
    """
    own = config.get("model_protocols") or {}
    out: dict[str, Mapping[str, Any]] = {}
    for task, protocol in (config.get("protocols") or {}).items():
        out[task] = protocol
        out |= {f"{task} / {model}": {**protocol, **values} for model, values in own.get(task, {}).items()}
    return out


def _costs(report: BenchmarkReport) -> Table:
    costs = report.costs()
    costs["peak_memory"] = (costs["peak_memory"] / 1e6).round(1)
    words = {
        "task": "Task", "model": "Model", "cells": "Cells", "seconds_mean": "Seconds per cell",
        "seconds_total": "Seconds in all", "peak_memory": "Peak MB", "parameters": "Parameters",
        "epochs_mean": "Epochs", "layers": "Layers in kernels", "energy_joules": "Joules",
    }  # fmt: skip
    costs["energy_joules"] = costs["energy_joules"].round(1)
    basis = "; ".join(f"Joules: {words}" for words in dict.fromkeys(costs["energy_basis"]) if words)
    if costs["own_settings"].any():
        words["own_settings"] = "Own settings"
    return Table(tuple(words.values()), tuple(zip(*(costs[name].tolist() for name in words), strict=True)), basis)


def _protocols(protocols: Mapping[str, Mapping[str, Any]]) -> Table:
    """What differs task by task as columns; what all tasks share in the caption."""
    every = list(protocols.values())
    keys = list(dict.fromkeys(key for protocol in every for key in protocol))
    shared = {key: every[0].get(key) for key in keys if all(p.get(key) == every[0].get(key) for p in every)}
    own = [key for key in keys if key not in shared]
    rows = tuple((task, *(_scalar(protocol.get(key)) for key in own)) for task, protocol in protocols.items())
    same = ", ".join(f"{_ours(key).lower()} {_text(value)}" for key, value in shared.items() if value is not None)
    return Table(("Task", *map(_ours, own)), rows, f"Shared by all: {same}." if same else "")


def _key_values(values: Mapping[str, Any], *, ours: bool = False) -> Table:
    """Keys of ours are shown as words; names of tasks and packages stay as they are. Values are texts, all aligned."""
    word = _ours if ours else str
    leaves = flat(values, ": ").items()
    return Table(("Key", "Value"), tuple((word(key), _text(value)) for key, value in leaves if value is not None))


def _ours(key: str) -> str:
    plain = key.replace("_", " ")
    return _WORDS.get(key, plain[:1].upper() + plain[1:])


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        return f"{value:,}" if abs(value) >= 10_000 else f"{value:.6g}"
    return str(_scalar(value))


def _scalar(value: Any) -> Any:
    if isinstance(value, list):
        return ", ".join(map(str, value[:_LONG])) + (", …" if len(value) > _LONG else "")
    if value is None or isinstance(value, str | int | float):
        return value
    return str(value)
