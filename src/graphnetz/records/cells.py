"""A cell is one (task, model, seed) training run; its result is a value like any other."""

from __future__ import annotations

import dataclasses
import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from graphnetz._core.errors import UsageError
from graphnetz.records.protocol import Protocol

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
    list per key with one value per evaluated epoch. ``metric`` names the headline key. ``protocol`` is
    how this cell was trained; what a search inside the cell chose is in ``trace``.
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
    protocol: Protocol | None = None

    @property
    def ok(self) -> bool:
        """Whether the cell has a value."""
        return self.status == "ok"

    @property
    def value(self) -> float:
        """The headline metric, NaN for a failed cell."""
        return float(self.metrics.get(self.metric, math.nan)) if self.ok else math.nan


def recorded_protocols(cells: Iterable[Cell | CellResult]) -> dict[str, Any]:
    """Return how cells were trained, as the configuration of a report records it.

    Parameters
    ----------
    cells
        Planned or finished cells.

    Returns
    -------
    dict
        ``protocols``: one per task, that of most models; ``model_protocols``: by task and model the settings
        that differ from it, where any do.

    Examples
    --------
    >>> wide, narrow = Protocol(), Protocol(hidden_channels=16)
    >>> cells = [Cell("", "cora", model, 0, wide) for model in ("GAT", "GIN")] + [Cell("", "cora", "GCN", 0, narrow)]
    >>> recorded_protocols(cells)["model_protocols"]
    {'cora': {'GCN': {'hidden_channels': 16}}}
    """
    tasks: dict[str, dict[str, Protocol]] = {}
    for cell in cells:
        if cell.protocol is not None:
            tasks.setdefault(cell.task, {})[cell.model] = cell.protocol
    shared = {task: Counter(models.values()).most_common(1)[0][0] for task, models in tasks.items()}
    own: dict[str, dict[str, dict[str, Any]]] = {}
    for task, models in tasks.items():
        base = dataclasses.asdict(shared[task])
        for model, protocol in models.items():
            if protocol != shared[task]:
                values = dataclasses.asdict(protocol)
                own.setdefault(task, {})[model] = {key: values[key] for key in values if values[key] != base[key]}
    common = {task: protocol.as_dict() for task, protocol in shared.items()}
    return {name: value for name, value in (("protocols", common), ("model_protocols", own)) if value}


def recorded_protocol(config: Mapping[str, Any], task: str, model: str) -> Protocol | None:
    """Return the protocol that `recorded_protocols` kept for a model on a task; None where there is no readable one."""
    try:
        values = {**config["protocols"][task], **config.get("model_protocols", {}).get(task, {}).get(model, {})}
        return Protocol().replace(**values)
    except (KeyError, TypeError, AttributeError, UsageError):
        return None
