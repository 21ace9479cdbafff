"""How a cell is trained: everything that can change its numbers, and nothing else."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from graphnetz._core.errors import UsageError, unknown_name


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
        False keeps edge attributes from models that would take them.
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

    Examples
    --------
    >>> from graphnetz import Protocol
    >>> Protocol(lr=1e-3).replace(epochs=20, selection="best_val").epochs
    20
    """

    optimiser: str = "adam"
    lr: float = 1e-2
    weight_decay: float = 0.0
    epochs: int = 100
    hidden_channels: int = 64
    batch_size: int = 32
    selection: Literal["last", "best_val"] = "last"
    patience: int | None = None
    schedule: Plateau | None = None
    clip: float | None = None
    budget: int | None = None
    eval_every: int = 1
    edge_attributes: bool = True
    threads: int = 1
    dtype: str = "float32"
    device: str = "cpu"
    batch_nodes: int | None = None
    fanouts: tuple[int, ...] | None = None
    class_weights: bool = False
    compat: bool = False

    def __post_init__(self) -> None:
        if self.epochs < 1:
            raise UsageError(f"epochs must be at least 1, got {self.epochs}.")
        if self.hidden_channels < 1:
            raise UsageError(f"hidden_channels must be at least 1, got {self.hidden_channels}.")
        if self.selection not in ("last", "best_val"):
            raise UsageError(f"Unknown selection rule {self.selection!r}. Known: last, best_val.")
        if self.eval_every < 1 or self.batch_size < 1:
            raise UsageError("eval_every and batch_size must be at least 1.")
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
        if self.batch_nodes < 1:
            raise UsageError(f"batch_nodes must be at least 1, got {self.batch_nodes}.")
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
        for name in ("class_weights", "compat"):
            if not values[name]:
                del values[name]
        return values
