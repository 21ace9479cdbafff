"""Contracts of models and task types: trained here, on tiny graphs, in seconds."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
import torch

from graphnetz._core.errors import UsageError
from graphnetz._core.rng import training_context
from graphnetz.engine.executors.outcome import said_by
from graphnetz.engine.trial import tried
from graphnetz.metrics import METRICS
from graphnetz.models import MODELS, ModelSpec, spec_from
from graphnetz.models.construct import signature_of
from graphnetz.records import Protocol
from graphnetz.tasktypes import TASK_TYPES, Split, TaskType, fit
from graphnetz.testing.contract import require, same, tensors
from graphnetz.testing.examples import EXAMPLES

EPOCHS = 3
PARTS = ("train", "val", "test")


def check_model(model: Any, *, task_types: Iterable[str] | None = None) -> None:
    """Hold a model to its contract on every task type it serves.

    It is built from the widths of the data, trains, gives a finite headline metric and one row per
    example; the same seed gives the same outputs, the data stays as it was, and the true values of the
    test set play no part.

    Parameters
    ----------
    model
        A name of `graphnetz.models.MODELS`, a class, or anything else that ``run_benchmark`` takes as a model.
    task_types
        Those to try; None tries all that it serves and that have an example here.

    Raises
    ------
    AssertionError
        With one sentence that says which promise is broken.

    Examples
    --------
    >>> check_model("SGC", task_types=["node_cls"])
    """
    spec = spec_from(model)
    who = f"The model {model if isinstance(model, str) else spec.name!r}"
    chosen = [kind for kind in EXAMPLES if spec.serves(kind)] if task_types is None else list(task_types)
    require(chosen, f"{who} serves none of: {', '.join(EXAMPLES)}.")
    for name in chosen:
        _check_model_on(who, spec, name)


def try_model(model: Any, task_type: str) -> tuple[str, str]:
    """Say whether a model can be run on a task type and keeps its promises there.

    Parameters
    ----------
    model
        As in `check_model`.
    task_type
        A name of `graphnetz.tasktypes.TASK_TYPES`.

    Returns
    -------
    verdict, words
        ``"fits"``, ``"no"`` (it cannot be run there, which harms nothing) or ``"broken"``, with the reason in one
        sentence.

    Examples
    --------
    >>> try_model("GIN", "graph_cls")[0], try_model("GIN", "node_cls")
    ('fits', ('no', 'It does not say that it serves node_cls.'))
    """
    spec = spec_from(model)
    kind, notes = TASK_TYPES[task_type], list[str]()
    if not spec.serves(task_type):
        return "no", f"It does not say that it serves {task_type}."
    data = _with_edge_values(example(task_type)) if _needs_edge_values(spec) else example(task_type)
    if not spec.declared and spec.kind == "encoder":
        split = kind.split(copy.deepcopy(data), 0)
        found, reason = tried(kind, {spec.name: (spec, Protocol(hidden_channels=8))}, split)[spec.name]
        if reason:
            return "no", reason
        if found.level == "node" and spec.level != "node":
            notes.append(f"its rows are nodes: a head for {kind.label} is put on them")
        spec = found
    if _needs_edge_values(spec):
        notes.append("only where edges have attributes")
    try:
        outputs = _check_model_on(f"The model {spec.name!r}", spec, task_type, data)
    except AssertionError as error:
        return "broken", str(error)
    except Exception as error:  # a user's code may raise anything
        return "broken", said_by(error)
    if spec.kind == "encoder" and _are_probabilities(outputs):
        notes.append("its rows are probabilities: the loss takes logits, so leave out the softmax or it learns slowly")
    return "fits", "; ".join(notes)


def _needs_edge_values(spec: ModelSpec) -> bool:
    """Whether a model cannot be built or called without attributes of edges."""
    asked = [(spec.factory or spec.cls, "edge_dim"), (getattr(spec.cls, "forward", None), "edge_attr")]
    found = [(signature_of(make) or {}).get(name) for make, name in asked if make is not None]
    return any(parameter is not None and parameter.default is parameter.empty for parameter in found)


def _with_edge_values(data: Any) -> Any:
    for graph in data if isinstance(data, list) else [data]:
        graph.edge_attr = (graph.x[graph.edge_index[0]] - graph.x[graph.edge_index[1]])[:, :2].abs()
    return data


def _are_probabilities(outputs: dict[str, np.ndarray]) -> bool:
    rows = np.concatenate(list(outputs.values()))
    return (
        rows.ndim == 2
        and rows.shape[1] > 1
        and bool((rows >= 0).all())
        and bool(np.allclose(rows.sum(1), 1, atol=1e-4))
    )


def _check_model_on(who: str, spec: ModelSpec, name: str, data: Any = None) -> dict[str, np.ndarray]:
    kind, given = TASK_TYPES[name], example(name) if data is None else data
    split, other = (kind.split(copy.deepcopy(given), 0) for _ in range(2))
    hidden = replace(other, targets=other.targets | {"test": other.targets["test"][::-1].copy()})
    held = split.data if hasattr(split.data, "to_dict") else None
    before = [] if held is None else [value.clone() for value in tensors([held])]
    first, again = (_outputs(who, spec, kind, view) for view in (split, hidden))
    rows = {part: len(split.targets[part]) for part in first}
    got = {part: len(value) for part, value in first.items()}
    require(got == rows, f"{who} gives {got} outputs on {name} for {rows} examples.")
    value = kind.measure(split, "test", first["test"], (split.metric,))[f"test_{split.metric}"]
    require(math.isfinite(value), f"{who} reaches {split.metric} = {value} on {name}.")
    alike = same(list(first.values()), list(again.values()))
    require(alike, f"{who} gives other outputs on {name} for the same seed, or reads the true values of the test set.")
    require(held is None or same(before, tensors([held])), f"{who} changes the data of {name} while it trains.")
    return first


def _outputs(who: str, spec: ModelSpec, kind: TaskType, split: Split) -> dict[str, np.ndarray]:
    """Train once and return the outputs of the validation and test examples."""
    with training_context(0):
        model = spec.build(kind.name, split.dims, 8)
        if spec.kind == "predictor":
            model.fit(split, np.random.default_rng(0))
            scores = model.score(split)
            return {part: np.asarray(scores[part]) for part in ("val", "test") if part in scores}
        history = fit(kind, model, split, Protocol(epochs=EPOCHS, lr=1e-2)).history
        lengths = {key: len(values) for key, values in history.items()}
        require(set(lengths.values()) == {EPOCHS}, f"{who} left {lengths} values after {EPOCHS} epochs of {kind.name}.")
        model.eval()
        with torch.no_grad():
            return {key: value.numpy() for key, value in kind.scores(model, split, ("val", "test")).items()}


def example(task_type: str) -> Any:
    """Return a tiny dataset for a task type: that of the closest of our own it derives from.

    Parameters
    ----------
    task_type
        A name of `graphnetz.tasktypes.TASK_TYPES`.

    Returns
    -------
    Data or list of Data
        One graph, or several for tasks on whole graphs; the same at every call.

    Examples
    --------
    >>> example("node_cls").num_nodes, len(example("graph_cls"))
    (24, 30)
    """
    ours = {type(TASK_TYPES[name]): make for name, make in EXAMPLES.items()}
    for cls in type(TASK_TYPES[task_type]).__mro__:
        if cls in ours:
            return ours[cls]()
    raise UsageError(f"There is no example for the task type {task_type!r}. Pass dataset=.")


def check_task_type(name: str, *, dataset: Any = None) -> None:
    """Hold a task type to its contract.

    A split is a pure function of dataset and seed with disjoint, non-empty parts; metrics are known and
    inside their bounds; the loss has a gradient; outputs have one row per true value; and a GCN that is
    adapted to the task lowers its training loss.

    Parameters
    ----------
    name
        Key of `graphnetz.tasktypes.TASK_TYPES`.
    dataset
        Data of this kind; None takes the example of the task type of ours it derives from.

    Examples
    --------
    >>> check_task_type("node_cls")
    """
    kind, who, seed = TASK_TYPES[name], f"The task type {name!r}", 3
    require(kind.name == name, f"{who} carries the name {kind.name!r}.")
    for key in kind.metrics:
        require(key in METRICS, f"{who} names the metric {key!r}, which is not registered.")
    data = example(name) if dataset is None else dataset
    torch.manual_seed(1)
    split = kind.split(copy.deepcopy(data), seed)
    torch.manual_seed(2)
    np.random.seed(5)
    again = kind.split(copy.deepcopy(data), seed)
    require(
        same([split.targets[p] for p in PARTS], [again.targets[p] for p in PARTS]),
        f"{who} splits the same data for the same seed in two ways: draw from a generator made of the seed.",
    )
    for part in PARTS:
        require(len(split.targets[part]), f"{who} leaves the part {part!r} empty.")
    _check_disjoint(who, split)
    with training_context(0):
        model = MODELS["GCN"].build(name, split.dims, 16)
        result = fit(kind, model, split, Protocol(epochs=40, lr=1e-2))
        model.eval()
        with torch.no_grad():
            scores = kind.scores(model, split, ("val", "test"))
    losses = result.history["train_loss"]
    require(losses[-1] < losses[0], f"{who} does not lower the loss of a GCN in 40 epochs: {losses[0]}, {losses[-1]}.")
    for part, score in scores.items():
        got, wanted = len(score), len(split.targets[part])
        require(got == wanted, f"{who} gives {got} outputs for the {wanted} examples of {part!r}.")
    for key, value in result.metrics.items():
        low, high = METRICS[key.partition("_")[2]].bounds
        require(math.isnan(value) or low <= value <= high, f"{who} reports {key} = {value} outside {low}..{high}.")


def _check_disjoint(who: str, split: Split) -> None:
    """Refuse examples in two parts; parts that are not lists of numbers are the task type's own affair."""
    parts = [split.part(part) for part in PARTS]
    if not all(isinstance(part, torch.Tensor) and part.dim() == 1 for part in parts):
        return
    seen = torch.cat(parts).tolist()
    require(len(seen) == len(set(seen)), f"{who} puts examples into two parts at once.")
