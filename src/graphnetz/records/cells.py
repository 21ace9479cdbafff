"""A cell is one (task, model, seed) training run; its result is a value like any other."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from graphnetz.records.protocol import Protocol

LAYERS_NOTE = "layers in kernels: "
"""How the note of a cell begins that tells which layers of its model ran in the kernels."""

Status = Literal["ok", "failed", "diverged", "timeout", "oom"]


@dataclass(frozen=True)
class Cell:
    """One training run to be made, with the content key that names its result."""

    key: str
    task: str
    model: str
    seed: int
    protocol: Protocol


@dataclass(frozen=True)
class Predictions:
    """Test-set outputs of one cell: which example, what was true, what was scored."""

    example: npt.NDArray[np.int64]
    target: npt.NDArray[Any]
    score: npt.NDArray[Any]


@dataclass(frozen=True)
class CellResult:
    """What came out of one cell; a failure is a result with its reason.

    ``metrics`` holds the selected epoch's values under keys such as ``test_acc``; ``history`` one
    list per key with one value per evaluated epoch. ``metric`` names the headline key.
    """

    key: str
    task: str
    model: str
    seed: int
    status: Status = "ok"
    metric: str = ""
    greater_is_better: bool = True
    metrics: Mapping[str, float] = field(default_factory=dict)
    history: Mapping[str, list[float]] = field(default_factory=dict)
    epochs: int = 0
    best_epoch: int | None = None
    seconds: float = math.nan
    peak_memory: float = math.nan
    parameters: int = 0
    error: str = ""
    environment: str = ""
    replication: str = "init"
    n_train: int = 0
    n_test: int = 0
    trace: tuple[Mapping[str, Any], ...] = ()
    notes: tuple[str, ...] = ()
    predictions: Predictions | None = None

    @property
    def ok(self) -> bool:
        """Whether the cell has a value."""
        return self.status == "ok"

    @property
    def layers(self) -> str:
        """How many of the model's layers ran in the kernels, as ``"2 of 2"``; empty where that is not known."""
        return next((note.removeprefix(LAYERS_NOTE) for note in self.notes if note.startswith(LAYERS_NOTE)), "")

    @property
    def value(self) -> float:
        """The headline metric, NaN for a failed cell."""
        return float(self.metrics.get(self.metric, math.nan)) if self.ok else math.nan
