"""How a cell is trained: everything that can change its numbers, and nothing else."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from graphnetz._core.errors import UsageError, unknown_name


@dataclass(frozen=True)
class Plateau:
    """Reduce the learning rate when the validation loss stalls; stop below ``min_lr``."""

    factor: float = 0.5
    patience: int = 10
    min_lr: float = 1e-5
    threshold: float = 1e-4


@dataclass(frozen=True)
class Protocol:
    """Optimiser, budget and selection rule of one cell.

    ``selection`` is ``"last"`` (the paper: metrics of the final epoch) or ``"best_val"`` (the epoch
    with the best validation metric). ``patience`` stops early when the validation metric has not
    improved for that many epochs. ``budget`` asks for a parameter count instead of a width.
    ``edge_attributes=False`` keeps edge attributes from models that would take them. ``batch_nodes``
    and ``fanouts`` train on batches of that many nodes of one graph with at most ``fanouts[h]``
    sampled neighbours of each node ``h`` hops away (-1 takes all); None trains on the whole graph.
    ``class_weights`` weighs node classes by their rarity in each batch; ``compat`` averages metrics over
    batches, as the code of Dwivedi et al. (2023) does, for comparison with published numbers.
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
        """Return a copy with ``changes``; an unknown key is named."""
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
        """
        values = dataclasses.asdict(self)
        if self.batch_nodes is None:
            del values["batch_nodes"], values["fanouts"]
        for name in ("class_weights", "compat"):
            if not values[name]:
                del values[name]
        return values
