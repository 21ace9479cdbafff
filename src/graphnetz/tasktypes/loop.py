"""The one training loop: every encoder on every task type goes through `fit`."""

from __future__ import annotations

import copy
import dataclasses
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import nn

from graphnetz._core.errors import GraphnetzError
from graphnetz._core.registry import Registry
from graphnetz.metrics import METRICS
from graphnetz.records import Protocol
from graphnetz.tasktypes.base import Split, TaskType, to_numpy
from graphnetz.tasktypes.quick_adam import QuickAdam
from graphnetz.tasktypes.ranked import among_all
from graphnetz.tasktypes.shown import lent, shown

OPTIMISERS: Registry[Callable[..., torch.optim.Optimizer]] = Registry(
    "optimiser", entry_points="graphnetz.optimisers", accepts=callable
)
PARTS = ("val", "test")


class DivergedError(GraphnetzError):
    """The loss or an output stopped being a number."""


@OPTIMISERS.register("adam")
def _adam(parameters: Any, *, lr: float, weight_decay: float) -> torch.optim.Optimizer:
    if _quick(parameters):
        return QuickAdam(parameters, lr=lr, weight_decay=weight_decay)
    return torch.optim.Adam(parameters, lr=lr, weight_decay=weight_decay, fused=_fusable())


@OPTIMISERS.register("adamw")
def _adamw(parameters: Any, *, lr: float, weight_decay: float) -> torch.optim.Optimizer:
    if _quick(parameters):
        return QuickAdam(parameters, lr=lr, weight_decay=weight_decay, decoupled=True)
    return torch.optim.AdamW(parameters, lr=lr, weight_decay=weight_decay, fused=_fusable())


@OPTIMISERS.register("sgd")
def _sgd(parameters: Any, *, lr: float, weight_decay: float) -> torch.optim.Optimizer:
    return torch.optim.SGD(parameters, lr=lr, weight_decay=weight_decay)


def _fusable() -> bool:
    return torch.get_default_dtype() in (torch.float32, torch.float64)


def _quick(parameters: list[nn.Parameter]) -> bool:
    """Whether all parameters are of one real type and on the CPU."""
    kinds = {(p.device.type, p.dtype) for p in parameters}
    return kinds in ({("cpu", torch.float32)}, {("cpu", torch.float64)})


@dataclass
class Fit:
    """What training gave.

    Attributes
    ----------
    history
        One list per key, one value per evaluated epoch.
    metrics, scores
        Metrics and outputs of the selected epoch.
    epochs, best_epoch
        Epochs trained, and the selected one (None: the last).
    layers
        Which layers of the model ran in the kernels.

    Examples
    --------
    >>> from graphnetz.tasktypes import Fit
    >>> Fit({"train_loss": [1.0, 0.5]}, epochs=2).epochs
    2
    """

    history: dict[str, list[float]]
    metrics: dict[str, float] = field(default_factory=dict)
    scores: dict[str, np.ndarray] = field(default_factory=dict)
    epochs: int = 0
    best_epoch: int | None = None
    layers: str = ""


def fit(
    task_type: TaskType,
    model: nn.Module,
    split: Split,
    protocol: Protocol,
    *,
    on_epoch: Callable[[int, dict[str, float]], None] | None = None,
    keep_best_weights: bool = False,
) -> Fit:
    """Train a model and evaluate it as a protocol says.

    Graphs of validation and test are never in one batch; nodes and pairs of one graph are read off one pass
    over that graph, which is the same for both. ``selection="last"`` reports the final epoch, ``"best_val"`` the
    epoch with the best validation value of the headline metric; the test value is never consulted for either.

    Parameters
    ----------
    task_type
        Splits, losses and metrics.
    model
        The module; trained in place.
    split
        Data of one seed.
    protocol
        Optimiser, epochs, selection.
    on_epoch
        Called with the epoch and its metrics after every evaluation.
    keep_best_weights
        Leave the model with the weights of the selected epoch instead of the last.

    Returns
    -------
    Fit
        History, and the outputs and metrics of the selected epoch.

    Examples
    --------
    >>> import networkx as nx
    >>> from graphnetz import GCN, Protocol, get_split, task_from_networkx
    >>> from graphnetz.tasktypes import TASK_TYPES, fit
    >>> split = get_split(task_from_networkx("karate", nx.karate_club_graph(), label="club"))
    >>> fit(TASK_TYPES["node_cls"], GCN(3, 8, 2), split, Protocol(epochs=2)).epochs
    2
    """
    with _uninitialised_memory():
        return _fit(task_type, model, split, protocol, on_epoch, keep_best_weights)


@contextmanager
def _uninitialised_memory() -> Iterator[None]:
    """Leave fresh tensors as they are while training.

    Where algorithms must be deterministic, torch writes NaN into every array before it is filled, a tenth
    of an epoch's time. Models are still built with that on, so a parameter that nobody initialised shows.
    """
    switch: Any = torch.utils.deterministic
    saved = switch.fill_uninitialized_memory
    switch.fill_uninitialized_memory = False
    try:
        yield
    finally:
        switch.fill_uninitialized_memory = saved


def _fit(
    task_type: TaskType,
    model: nn.Module,
    split: Split,
    protocol: Protocol,
    on_epoch: Callable[[int, dict[str, float]], None] | None,
    keep_best_weights: bool,
) -> Fit:
    # Models are given ``seen``; what they are measured by stays here.
    seen, state = shown(split, task_type.answers), _State(task_type, split, protocol, keep_best_weights)
    optimiser = OPTIMISERS[protocol.optimiser](_trainable(model), lr=protocol.lr, weight_decay=protocol.weight_decay)
    schedule = _schedule(optimiser, protocol)
    for epoch in range(protocol.epochs):
        train_loss = _train_epoch(task_type, model, seen, protocol, optimiser)
        evaluated = (epoch + 1) % protocol.eval_every == 0 or epoch + 1 == protocol.epochs
        row = state.record(model, epoch, train_loss, evaluated, with_loss=schedule is not None)
        if on_epoch is not None:
            on_epoch(epoch, row)
        if schedule is not None and evaluated:
            schedule.step(row["val_loss"])
            if optimiser.param_groups[0]["lr"] < protocol.schedule.min_lr:  # type: ignore[union-attr]
                break
        waited = epoch - state.best_epoch if state.scores else 0  # nothing is given up before it was looked at once
        if protocol.patience is not None and waited >= protocol.patience:
            break
    return state.finish(model)


def _trainable(model: nn.Module) -> list[nn.Parameter]:
    parameters = [p for p in model.parameters() if p.requires_grad]
    # An optimiser refuses an empty list; a model without parameters is legal and simply does not learn.
    return parameters or [nn.Parameter(torch.zeros(()))]


def _schedule(
    optimiser: torch.optim.Optimizer, protocol: Protocol
) -> torch.optim.lr_scheduler.ReduceLROnPlateau | None:
    if protocol.schedule is None:
        return None
    plan = protocol.schedule
    return torch.optim.lr_scheduler.ReduceLROnPlateau(
        optimiser, factor=plan.factor, patience=plan.patience, threshold=plan.threshold
    )


def _train_epoch(
    task_type: TaskType, model: nn.Module, split: Split, protocol: Protocol, optimiser: torch.optim.Optimizer
) -> float:
    model.train()
    total, weight = 0.0, 0
    # A model may bring a loss of its own, as self-supervised ones do (see the guide).
    own_loss = getattr(model, "training_loss", None)
    for batch in task_type.batches(split, protocol.batch_size):
        optimiser.zero_grad(set_to_none=True)
        batch = lent(batch)
        loss = own_loss(batch) if own_loss is not None else task_type.loss(model, split, batch)
        value = float(loss.detach())
        if not math.isfinite(value):
            raise DivergedError(f"The training loss became {value}. Lower the learning rate ({protocol.lr}).")
        # A model without parameters has nothing to descend.
        if loss.requires_grad:
            loss.backward()
            if protocol.clip is not None:
                nn.utils.clip_grad_norm_(model.parameters(), protocol.clip)
            optimiser.step()
        # The last batch may be smaller: the mean over the epoch weighs batches by their graphs.
        size = int(getattr(batch, "num_graphs", 1) or 1)
        total, weight = total + value * size, weight + size
        del batch, loss  # and what its graph holds: the next batch is there already
    return total / max(weight, 1)


class _State:
    """History and the best epoch so far."""

    def __init__(self, task_type: TaskType, split: Split, protocol: Protocol, keep_weights: bool) -> None:
        self.task_type, self.split, self.protocol = task_type, split, protocol
        self.sign = 1.0 if METRICS[split.metric].greater_is_better else -1.0
        self.keys = [f"{part}_{split.metric}" for part in PARTS]
        self.history: dict[str, list[float]] = {key: [] for key in ("train_loss", *self.keys)}
        self.keep_weights = keep_weights and protocol.selection == "best_val"
        self.weights: dict[str, Any] | None = None
        self.scores: dict[str, np.ndarray] = {}
        self.best, self.best_epoch = -math.inf, 0

    def record(
        self, model: nn.Module, epoch: int, train_loss: float, evaluated: bool, *, with_loss: bool
    ) -> dict[str, float]:
        row = {"train_loss": train_loss} | dict.fromkeys(self.keys, math.nan)
        if evaluated:
            outputs = evaluate(self.task_type, model, self.split)
            scores = {part: to_numpy(value) for part, value in outputs.items()}
            for part in PARTS:
                row |= self.task_type.measure(self.split, part, scores[part], (self.split.metric,))
            if with_loss:
                row["val_loss"] = self._loss(model, outputs["val"])
            value = self.sign * row[self.keys[0]]
            better = value > self.best
            if better:
                self.best, self.best_epoch = value, epoch
            # The first evaluation is kept whatever it is, so that a NaN metric still leaves outputs to look at.
            if better or self.protocol.selection == "last" or not self.scores:
                self.scores = scores
                if self.keep_weights:
                    self.weights = copy.deepcopy(model.state_dict())
        for key, value in row.items():
            self.history.setdefault(key, []).append(value)
        return row

    def _loss(self, model: nn.Module, output: torch.Tensor) -> float:
        """Validation loss; ranks, which a task type may have made of the model's outputs, have none."""
        target = torch.from_numpy(self.split.targets["val"])
        if among_all(self.split):
            with torch.no_grad():
                output = self.task_type.scores(model, shown(self.split, self.task_type.answers), ("val",))["val"]
        return float(self.task_type.criterion(output.cpu(), target))

    def finish(self, model: nn.Module) -> Fit:
        metrics: dict[str, float] = {}
        for part in PARTS:
            if not np.isfinite(self.scores[part]).all():
                raise DivergedError(f"The model's {part} outputs are not finite. Lower the learning rate.")
            # All metrics once, of the selected epoch; during training only the headline is computed.
            metrics |= self.task_type.measure(self.split, part, self.scores[part])
        metrics["train_loss"] = self.history["train_loss"][-1]
        if self.weights is not None:
            model.load_state_dict(self.weights)
        best = self.best_epoch if self.protocol.selection == "best_val" else None
        return Fit(self.history, metrics, self.scores, len(self.history["train_loss"]), best)


def evaluate(
    task_type: TaskType, model: nn.Module, split: Split, parts: tuple[str, ...] = PARTS
) -> dict[str, torch.Tensor]:
    """Outputs of a model in evaluation mode, which is given the inputs of validation and test and no label of them.

    Parameters
    ----------
    task_type, model, split
        As in `fit`.
    parts
        Parts to evaluate.

    Returns
    -------
    dict of Tensor
        Raw outputs by part.

    Examples
    --------
    >>> import networkx as nx
    >>> from graphnetz import GCN, get_split, task_from_networkx
    >>> from graphnetz.tasktypes import TASK_TYPES, evaluate
    >>> split = get_split(task_from_networkx("karate", nx.karate_club_graph(), label="club"))
    >>> tuple(evaluate(TASK_TYPES["node_cls"], GCN(3, 8, 2), split)["test"].shape)
    (8, 2)
    """
    model.eval()
    seen = shown(split, task_type.answers)
    with torch.no_grad():
        return task_type.outputs(model, dataclasses.replace(seen, data=lent(seen.data)), split, parts)
