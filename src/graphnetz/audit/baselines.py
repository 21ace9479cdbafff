"""What features alone, or degrees alone, already solve."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from graphnetz.audit.checks import PARTS, Found, Inspected, check
from graphnetz.audit.labels import likely_columns
from graphnetz.tasktypes.overlap import arcs
from graphnetz.tasktypes.packing import PackedGraphs

SOLVED = 0.90
"""Share of what there is to gain over an answer that looks at nothing, from which a task counts as solved."""

_ROWS, _COLUMNS = 5000, 128


@check("features_alone")
def features_alone(seen: Inspected) -> Found:
    """A logistic regression or gradient boosting on features, without an edge, solves the task."""
    if seen.is_multi or seen.targets["train"].ndim != 1 or not seen.has_features:
        return
    for words, boosted in (("A linear model", False), ("Gradient boosting", True)):
        skill = _skill(seen, seen.rows, boosted=boosted)
        if skill >= SOLVED:
            text = (
                f"{words} on features alone gains {skill:.2f} of what there is to gain: a model that does no better "
                "shows nothing about graphs."
            )
            yield "warning", text, skill
            return


@check("degree_alone")
def degree_alone(seen: Inspected) -> Found:
    """Gradient boosting on degrees and sizes, without a feature, solves the task."""
    if seen.is_multi or seen.targets["train"].ndim != 1:
        return
    skill = _skill(seen, degree_rows(seen), boosted=True)
    if skill >= SOLVED:
        text = f"Degrees and sizes alone gain {skill:.2f} of what there is to gain."
        yield "warning", text, skill


def _skill(seen: Inspected, rows: dict[str, np.ndarray], *, boosted: bool) -> float:
    x, y = rows["train"], seen.targets["train"]
    chosen = np.random.default_rng(0).permutation(len(y))[:_ROWS]
    x, y = x[chosen], y[chosen]
    if seen.is_class and np.unique(y).size < 2:
        return float("nan")
    test = rows["test"]
    if boosted and x.shape[1] > _COLUMNS:
        columns = likely_columns(x, y, seen.is_class, most=_COLUMNS)
        x, test = x[:, columns], test[:, columns]
    with threadpool_limits(1):
        model: Any = _model(seen.is_class, boosted).fit(x, y)
        return seen.skill(_output(seen, model, test))


def _model(is_class: bool, boosted: bool) -> Any:
    if boosted:
        options: dict[str, Any] = {"max_iter": 60, "random_state": 0, "early_stopping": False, "max_leaf_nodes": 15}
        return HistGradientBoostingClassifier(**options) if is_class else HistGradientBoostingRegressor(**options)
    return make_pipeline(StandardScaler(), LogisticRegression(max_iter=200) if is_class else Ridge())


def _output(seen: Inspected, model: Any, rows: np.ndarray) -> np.ndarray:
    """Predictions in the layout that the task type measures."""
    if not seen.is_class:
        return np.asarray(model.predict(rows))[:, None]
    chance = np.asarray(model.predict_proba(rows))
    if seen.is_pairs:
        return np.asarray(np.log(chance[:, 1] + 1e-12) - np.log(chance[:, 0] + 1e-12))
    out = np.full((len(rows), seen.split.dims.out_channels), -1.0)
    out[:, np.asarray(model.classes_, dtype=int)] = chance
    return out


def degree_rows(seen: Inspected) -> dict[str, np.ndarray]:
    """Degrees and sizes of the examples of every part, from the edges that models may see."""
    split, data, packed = seen.split, seen.split.data, seen.packed
    if packed is None and data.get("degrees") is not None:  # labelled nodes of a graph that lies on disk
        return {part: data.degrees.numpy()[split.part(part).numpy()] for part in PARTS}
    edges = data.edge_index.numpy() if packed is None else arcs(packed)
    nodes = int(data.num_nodes if packed is None else packed.node_ptr[-1])
    degree = np.stack([np.bincount(end, minlength=nodes) for end in edges], axis=1).astype(float)
    if seen.is_pairs:
        return {part: _end_rows(degree, split.part(part).index.numpy()) for part in PARTS}
    if split.unit == "edge":
        return {part: _end_rows(degree, edges[:, split.examples[part]]) for part in PARTS}
    if packed is not None and split.unit == "node":
        return {part: degree[split.examples[part]] for part in PARTS}
    table = degree if packed is None else _graph_rows(packed, degree[:, 0])
    return {part: table[np.asarray(split.part(part))] for part in PARTS}


def _end_rows(degree: np.ndarray, ends: np.ndarray) -> np.ndarray:
    a, b = degree[ends[0]], degree[ends[1]]
    return np.concatenate([a + b, a * b, np.abs(a - b)], axis=1)


def _graph_rows(packed: PackedGraphs, degree: np.ndarray) -> np.ndarray:
    """Nodes, arcs, their ratio, the largest degree and the mean square of degrees of every graph."""
    pointers, counts = packed.node_ptr.numpy(), np.diff(packed.edge_ptr.numpy())
    sizes = np.diff(pointers).astype(float)
    largest = np.maximum.reduceat(degree, pointers[:-1])
    squares = np.add.reduceat(degree**2, pointers[:-1]) / sizes
    return np.stack([sizes, counts, counts / sizes, largest, squares], axis=1)
