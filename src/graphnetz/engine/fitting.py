"""Build and train one model on one split, or the best of several candidates by validation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch

import graphnetz.kernels as kernels
from graphnetz._core.device import require_device
from graphnetz._core.rng import generator, seed_everything
from graphnetz.engine.search import SearchSpace
from graphnetz.metrics import METRICS
from graphnetz.models import ModelSpec
from graphnetz.models.budget import width_for
from graphnetz.records import Cell, Protocol
from graphnetz.tasktypes import DivergedError, Fit, Split, TaskType, fit, shown
from graphnetz.tasktypes.loop import evaluate
from graphnetz.tasktypes.reference import as_published
from graphnetz.tasktypes.sampled import sampled


def build_model(kind: TaskType, spec: ModelSpec, split: Split, protocol: Protocol) -> Any:
    """Build the model that a cell trains: of the protocol's width, or of the width that its budget affords."""
    if spec.kind == "predictor":
        return spec.build(kind.name, split.dims, protocol.hidden_channels)
    hidden = protocol.hidden_channels
    if protocol.budget is not None:
        hidden = width_for(spec, kind.name, split.dims, protocol.budget).width
    model = spec.build(kind.name, split.dims, hidden)
    if split.message is not None:
        split.message.install(model)
    return model.to(require_device(protocol.device), getattr(torch, protocol.dtype))


def train_once(kind: TaskType, spec: ModelSpec, split: Split, protocol: Protocol, seed: int) -> tuple[Fit, Any]:
    """Build and train one model. The seed is set again here: a cached split must not shift the stream."""
    seed_everything(seed)
    model = build_model(kind, spec, split, protocol)
    if spec.kind == "predictor":
        # Rules, embeddings and forests compute with NumPy, wherever the networks beside them are trained.
        here = split if protocol.device == "cpu" else split.to(torch.device("cpu"))
        return _fit_predictor(kind, model, here, seed, _once(here, protocol)), model
    lent, trained = shown(split, kind.answers), kind
    with kernels.accelerate(model, lent.data) as report:
        hook = getattr(model, "fit", None)
        if callable(hook):
            hook(lent, protocol)
            scores = {part: value.cpu().numpy() for part, value in evaluate(kind, model, split).items()}
            outcome = _measured(kind, split, scores, history=getattr(model, "history", None))
        else:
            trained = as_published(sampled(kind, protocol, model, split), protocol)
            outcome = fit(trained, model, split, protocol, keep_best_weights=True)
        # The model holds the weights of the selected epoch: further parts are measured on these, once.
        parts = _once(split, protocol)
        further = evaluate(trained, model, split, parts) if parts else {}
        found = {part: value.cpu().numpy() for part, value in further.items()}
        outcome.metrics |= _further(trained, split, found, parts)
    outcome.layers = str(report)
    return outcome, model


def _once(split: Split, protocol: Protocol) -> tuple[str, ...]:
    """Parts that are measured once, after training."""
    return (*split.others, *(("train",) if protocol.train_metrics else ()))


def _further(kind: TaskType, split: Split, scores: Mapping[str, np.ndarray], parts: Sequence[str]) -> dict[str, float]:
    """Metrics of the parts beside validation and test, such as graphs larger than those of training."""
    found: dict[str, float] = {}
    for part in parts:
        if part in scores:  # a predictor of a user's own may know the usual parts only
            found |= kind.measure(split, part, np.asarray(scores[part]))
    return found


def _fit_predictor(kind: TaskType, model: Any, split: Split, seed: int, parts: Sequence[str]) -> Fit:
    from threadpoolctl import threadpool_limits

    lent = shown(split, kind.answers)
    with threadpool_limits(1):  # one thread, as everywhere: sums must not depend on the core count
        model.fit(lent, generator("predictor", seed))
        scores = kind.predicted(model, lent, split)
        # Equally good answers, where the predictor cannot choose: the cell gets their expected metrics.
        guesses = model.guesses(lent) if hasattr(model, "guesses") else [scores]
    found = [_measured(kind, split, {part: np.asarray(one[part]) for part in ("val", "test")}) for one in guesses]
    for outcome, one in zip(found, guesses, strict=True):
        outcome.metrics |= _further(kind, split, one, parts)
    metrics = {key: float(np.mean([one.metrics[key] for one in found])) for key in found[0].metrics}
    history = {key: [metrics[key]] for key in found[0].history}
    return Fit(history, metrics, {part: np.asarray(scores[part]) for part in ("val", "test")}, 1)


def _measured(kind: TaskType, split: Split, scores: dict[str, np.ndarray], *, history: Any = None) -> Fit:
    metrics: dict[str, float] = {}
    for part in ("val", "test"):
        metrics |= kind.measure(split, part, scores[part])
    keys = [f"{part}_{split.metric}" for part in ("val", "test")]
    return Fit(dict(history or {key: [metrics[key]] for key in keys}), metrics, scores, 1)


def search_once(
    kind: TaskType, spec: ModelSpec, split: Split, cell: Cell, space: SearchSpace
) -> tuple[Fit, Any, tuple[dict[str, Any], ...]]:
    """Train every candidate with the cell's seed and keep the best on validation; test values are not looked at."""
    metric = METRICS[split.metric]
    trace: list[dict[str, Any]] = []
    best: tuple[float, Fit, Any] | None = None
    for candidate in space.candidates():
        chosen, protocol = with_candidate(candidate, spec, cell.protocol)
        row: dict[str, Any] = dict(candidate)
        try:
            outcome, model = train_once(kind, chosen, split, protocol, cell.seed)
        except DivergedError as error:
            trace.append(row | {"error": str(error)})
            continue
        value = outcome.metrics[f"val_{split.metric}"]
        trace.append(row | {f"val_{split.metric}": value})
        if space.default and not candidate:  # what the cell would have been without a search, for the report
            trace[-1] |= {"default": True, f"test_{split.metric}": outcome.metrics[f"test_{split.metric}"]}
        signed = value if metric.greater_is_better else -value
        if best is None or signed > best[0]:
            best = (signed, outcome, model)
    if best is None:
        raise DivergedError("Every candidate of the search diverged. Widen the search space.")
    return best[1], best[2], tuple(trace)


def with_candidate(candidate: Mapping[str, Any], spec: ModelSpec, protocol: Protocol) -> tuple[ModelSpec, Protocol]:
    """Return model and protocol with the settings of one candidate of a search."""
    changes = {k: v for k, v in candidate.items() if not k.startswith("model.")}
    wanted = {k.removeprefix("model."): v for k, v in candidate.items() if k.startswith("model.")}
    return spec.with_kwargs({k: v for k, v in wanted.items() if spec.accepts(k)}), protocol.replace(**changes)
