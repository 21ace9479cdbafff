"""How a cell is trained: everything that can change its numbers, and nothing else."""

from __future__ import annotations

import dataclasses
import functools
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args, get_type_hints

from graphnetz._core.errors import UsageError, unknown_name

LIMITS: Mapping[str, tuple[str, Callable[[Any, Any], bool]]] = {
    "ge": ("at least", operator.ge),
    "gt": ("above", operator.gt),
    "le": ("at most", operator.le),
}
"""Kinds of bounds, named as in pydantic: how they are said, and how they are checked."""


def setting(default: Any, text: str, **limits: float) -> Any:
    """Declare a field of `Protocol`: its default, one sentence for every help text, and its `LIMITS`."""
    return dataclasses.field(default=default, metadata={"text": text, "limits": limits})


@dataclass(frozen=True)
class Plateau:
    """Reduce the learning rate when the validation loss stalls.

    Parameters
    ----------
    factor
        The learning rate is multiplied by this.
    patience
        Epochs without improvement before that.
    min_lr
        Training stops when the learning rate falls below.
    threshold
        Relative improvement that counts as one.

    Examples
    --------
    >>> from graphnetz.records import Plateau, Protocol
    >>> Protocol(schedule=Plateau(patience=5)).schedule.factor
    0.5
    """

    factor: float = 0.5
    patience: int = 10
    min_lr: float = 1e-5
    threshold: float = 1e-4


@dataclass(frozen=True)
class Protocol:
    """Optimiser, budget and selection rule of one cell.

    Every field is also a setting of a run (see `graphnetz.records.RunConfig`).

    Parameters
    ----------
    optimiser, lr, weight_decay
        Name of the optimiser, learning rate and weight decay.
    epochs
        Passes over the training data, at most.
    hidden_channels
        Width of hidden layers.
    batch_size
        Graphs per batch, for tasks on many graphs.
    selection
        ``"last"`` (the paper: metrics of the final epoch) or ``"best_val"`` (the epoch with the best
        validation metric).
    patience
        Stop when the validation metric has not improved for that many epochs; None never does.
    schedule
        Learning-rate schedule; None keeps the rate.
    clip
        Largest norm of the gradient; None does not clip.
    budget
        Number of parameters to aim at instead of a width.
    eval_every
        Epochs between evaluations.
    edge_attributes
        Give edge attributes to the models that take them. Off unless asked for, because some models would then see
        more than others, and grow; on for tasks on edges, where every model is given them.
    threads, dtype, device
        Threads of one run, floating-point type and device.
    batch_nodes, fanouts
        Train on batches of that many nodes of one graph with at most ``fanouts[h]`` sampled
        neighbours of each node ``h`` hops away (-1 takes all); None trains on the whole graph.
    class_weights
        Weigh node classes by their rarity in each batch.
    compat
        Average metrics over batches, as the code of Dwivedi et al. (2023) does, for comparison with
        published numbers.
    train_metrics
        Measure the training examples too, once, with the weights that are reported.

    Examples
    --------
    >>> from graphnetz import Protocol
    >>> Protocol(lr=1e-3).replace(epochs=20, selection="best_val").epochs
    20
    >>> Protocol(epochs=0)
    Traceback (most recent call last):
        ...
    graphnetz._core.errors.UsageError: epochs must be at least 1, got 0.
    """

    optimiser: str = setting("adam", "Optimiser by name: adam, adamw or sgd.")
    lr: float = setting(1e-2, "Learning rate instead of each task's own.", gt=0)
    weight_decay: float = setting(0.0, "Weight decay instead of each task's own.", ge=0)
    epochs: int = setting(100, "Epochs instead of each task's own.", ge=1, le=10**9)
    hidden_channels: int = setting(64, "Width of the encoders.", ge=1)
    batch_size: int = setting(32, "Graphs per batch instead of each task's own.", ge=1)
    selection: Literal["last", "best_val"] = setting("last", "Report the 'last' epoch or the 'best_val' one.")
    patience: int | None = setting(None, "Stop after this many epochs without a better validation.", ge=1)
    schedule: Plateau | None = setting(  # noqa: RUF009
        None, "Lower the rate at plateaus of the validation loss: factor, patience, min_lr, threshold."
    )
    clip: float | None = setting(None, "Clip the norm of the gradient at this value.", gt=0)
    budget: int | None = setting(None, "Parameters per model such as 100k: each gets the closest width.", ge=1)
    eval_every: int = setting(1, "Evaluate every so many epochs.", ge=1)
    edge_attributes: bool = setting(False, "Give edge attributes to the models that take them.")
    threads: int = setting(1, "Threads of one cell; other numbers may change the last bits.", ge=1)
    dtype: Literal["float32", "float64"] = setting("float32", "Floating-point type of data and models.")
    device: str = setting("cpu", "Device such as cpu or cuda; auto takes a graphics processor where there is one.")
    batch_nodes: int | None = setting(None, "Train on batches of this many nodes with sampled neighbours.", ge=1)
    fanouts: tuple[int, ...] | None = setting(None, "Neighbours sampled per node and layer, such as 10,10 (-1: all).")
    class_weights: bool = setting(False, "Weigh node classes by their rarity in each batch.")
    compat: bool = setting(False, "Average metrics over batches, to compare with numbers published that way.")
    train_metrics: bool = setting(False, "Measure the training examples too, once, with the reported weights.")

    def __post_init__(self) -> None:
        for name, allowed, limits in _rules():
            value = getattr(self, name)
            if value is None:
                continue
            if allowed and value not in allowed:
                raise UsageError(f"Unknown {name} {value!r}. Known: {', '.join(allowed)}.")
            for kind, bound in limits:
                words, holds = LIMITS[kind]
                if not holds(value, bound):
                    raise UsageError(f"{name} must be {words} {bound:g}, got {value}.")
        if self.fanouts is not None:
            object.__setattr__(self, "fanouts", tuple(int(count) for count in self.fanouts))
        self._check_sampling()

    def _check_sampling(self) -> None:
        if self.batch_nodes is None and self.fanouts is None:
            return
        if self.batch_nodes is None or self.fanouts is None:
            raise UsageError(
                f"Sampling needs both batch_nodes and fanouts, got {self.batch_nodes} and {self.fanouts}. "
                "Give for instance batch_nodes=1024 and fanouts=(10, 10), one fan-out per layer."
            )
        if not self.fanouts or any(count < 1 and count != -1 for count in self.fanouts):
            raise UsageError(f"fanouts must be positive, or -1 for all neighbours, one per hop; got {self.fanouts}.")

    def replace(self, **changes: Any) -> Protocol:
        """Return a copy with changes.

        Parameters
        ----------
        **changes
            Fields and their new values; an unknown key is answered with the nearest known one.

        Returns
        -------
        Protocol
            The original is not changed.

        Examples
        --------
        >>> from graphnetz import Protocol
        >>> Protocol().replace(lr=0.1).lr
        0.1
        """
        known = {item.name for item in dataclasses.fields(self)}
        for key in changes:
            if key not in known:
                raise unknown_name("protocol key", key, known)
        if isinstance(changes.get("schedule"), Mapping):
            changes["schedule"] = Plateau(**changes["schedule"])
        return dataclasses.replace(self, **changes)

    def as_dict(self) -> dict[str, Any]:
        """Return plain values, for hashing and for the run folder.

        Sampling appears only where it is asked for: cells of the whole graph keep their keys.

        Returns
        -------
        dict
            Field -> value.

        Examples
        --------
        >>> from graphnetz import Protocol
        >>> Protocol().as_dict()["optimiser"], "fanouts" in Protocol().as_dict()
        ('adam', False)
        """
        values = dataclasses.asdict(self)
        if self.batch_nodes is None:
            del values["batch_nodes"], values["fanouts"]
        for name in ("class_weights", "compat", "train_metrics"):
            if not values[name]:
                del values[name]
        return values


@functools.cache
def _rules() -> tuple[tuple[str, tuple[str, ...], tuple[tuple[str, float], ...]], ...]:
    """Fields with something to check: name, allowed values, bounds."""
    hints = get_type_hints(Protocol)
    found = (
        (item.name, tuple(str(v) for v in get_args(hints[item.name]) if isinstance(v, str)),
         tuple(item.metadata["limits"].items()))
        for item in dataclasses.fields(Protocol)
    )  # fmt: skip
    return tuple(rule for rule in found if rule[1] or rule[2])
