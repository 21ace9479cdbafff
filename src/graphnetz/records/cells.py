"""A cell is one (task, model, seed) training run; its result is a value like any other."""

from __future__ import annotations

import dataclasses
import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from graphnetz._core.errors import UsageError
from graphnetz.records.protocol import Protocol

LAYERS_NOTE = "layers in kernels: "
"""How the note of a cell begins that tells which layers of its model ran in the kernels."""

RANKED_EDGE = "ranked edge"
"""What an example is where every true edge is ranked among candidates of its own, and its rank is kept."""

Status = Literal["ok", "failed", "diverged", "timeout", "oom", "tampered"]
"""How a cell ended; all but ``"ok"`` are failures with a reason."""


@dataclass(frozen=True)
class Cell:
    """One training run to be made.

    Parameters
    ----------
    key
        Content key that names its result: the same key means the same computation.
    task, model, seed
        Which run it is.
    protocol
        How it is trained.

    Examples
    --------
    >>> from graphnetz.records import Cell, Protocol
    >>> Cell("3f2a", "cora", "GCN", 0, Protocol(epochs=50)).protocol.epochs
    50
    """

    key: str
    task: str
    model: str
    seed: int
    protocol: Protocol


@dataclass(frozen=True)
class Predictions:
    """Test-set outputs of one cell. All but ``score`` is the same for every model that was tested on the same split.

    Parameters
    ----------
    example
        Ids of the test examples.
    target
        What was true, one row per example.
    score
        What the model gave, one row per example. Unsigned integers are class numbers: scores that the headline metric
        does not need are not kept.
    ends
        For pairs and edges of one graph ``[example, 2]``: the two nodes of each, else None.
    blocks
        Graph (of many) or community (in one graph) of every example, where known.
    unit
        What an example is: ``"node"``, ``"edge"``, ``"pair"`` or ``"graph"``; or ``"ranked edge"``, a true edge among
        candidates of its own, whose number is its ``target`` and whose ``score`` is its rank.
    one_graph
        Whether all examples belong to one graph.
    total
        How many examples were tested; more than stand here where a sample was kept. 0: as many.
    node_columns
        How many of the columns are targets of nodes, the others being targets of their graphs; 0: there is no such
        difference.

    Examples
    --------
    >>> import numpy as np
    >>> from graphnetz.records import Predictions
    >>> found = Predictions(np.array([7, 9]), np.array([0, 1]), np.array([[2.0, 1.0], [0.0, 3.0]]))
    >>> found.classes.tolist(), found.complete
    ([0, 1], True)
    """

    example: npt.NDArray[np.int64]
    target: npt.NDArray[Any]
    score: npt.NDArray[Any]
    ends: npt.NDArray[np.int64] | None = None
    blocks: npt.NDArray[np.int64] | None = None
    unit: str = "example"
    one_graph: bool = False
    total: int = 0
    node_columns: int = 0

    @property
    def complete(self) -> bool:
        """Whether every tested example is here."""
        return self.total <= len(self.example)

    @property
    def ranked(self) -> bool:
        """Whether scores are ranks of true edges among candidates of their own."""
        return self.unit == RANKED_EDGE

    @property
    def multilabel(self) -> bool:
        """Whether an example has several targets at once."""
        return self.target.ndim == 2 and self.target.shape[1] > 1

    @property
    def classes(self) -> npt.NDArray[Any]:
        """The class that was predicted for each example, for tasks with one class per example."""
        if self.score.dtype.kind == "u":
            return self.score.reshape(-1)
        if self.score.ndim == 2 and self.score.shape[1] > 1:
            return np.asarray(self.score.argmax(axis=1))
        return (self.score.reshape(-1) > 0).astype(np.int64)


@dataclass(frozen=True, slots=True)
class CellResult:
    """What came out of one cell; a failure is a result with its reason.

    Parameters
    ----------
    key, task, model, seed
        Which cell, as in `Cell`.
    status
        ``"ok"``, ``"failed"``, ``"diverged"``, ``"timeout"``, ``"oom"``
        or ``"tampered"`` (the model changed what it was lent).
    metric, greater_is_better
        Headline key, such as ``test_acc``, and its direction.
    metrics
        Values of the selected epoch under keys such as ``test_acc``.
    history
        One list per key with one value per evaluated epoch.
    epochs, best_epoch
        Epochs trained, and the selected one (None: the last).
    seconds, peak_memory
        Cost of the run: seconds, and bytes above the baseline.
    parameters
        Number of trainable parameters.
    error
        Why there is no value; empty otherwise.
    environment
        Digest of the versions it ran under.
    replication
        What the seed varied: see `Replication`.
    n_train, n_test
        Examples trained and tested on.
    trace
        One mapping per candidate that a search tried.
    notes
        Remarks for the reader of the report.
    protocol
        How this cell was trained; what a search inside the cell chose is in ``trace``.
    predictions
        Test-set outputs, when they were kept.
    predicted
        Digest of the predictions, where they are not here themselves.
    reads
        Files and environment variables that code of the user's own read while the cell ran, each with a hash: a
        resumed run trains the cell again where one of them has changed.

    Examples
    --------
    >>> from graphnetz.records import CellResult
    >>> CellResult("3f2a", "cora", "GCN", 0, metric="test_acc", metrics={"test_acc": 0.81}).value
    0.81
    >>> CellResult("3f2b", "cora", "GCN", 1, status="timeout", error="over 60 s").value
    nan
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
    predicted: str = ""
    reads: Mapping[str, str] = field(default_factory=dict)

    @property
    def chosen(self) -> dict[str, Any]:
        """Settings that a search inside the cell chose by validation; none without a search."""
        key = f"val_{self.metric.removeprefix('test_')}"
        sign = 1 if self.greater_is_better else -1
        rows = [row for row in self.trace if key in row]
        best = max(rows, key=lambda row: sign * row[key], default={})
        return {name: value for name, value in best.items() if name not in (key, self.metric, "default")}

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


_PATH = re.compile(r"(?:[A-Za-z]:)?(?:[/\\][\w.+@ -]*[\w.+@-])+[/\\]([\w.+@-]+)")


def public_error(result: CellResult) -> str:
    """First line of a cell's error, with folders cut off: reports travel, machines do not."""
    line = next((text.strip() for text in result.error.splitlines() if text.strip()), "")
    return _PATH.sub(r"\1", line) or f"the cell ended as {result.status}"


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
    """Return the protocol that `recorded_protocols` kept for a model on a task.

    Parameters
    ----------
    config
        Configuration of a report.
    task, model
        Their names.

    Returns
    -------
    Protocol or None
        None where there is no readable one.

    Examples
    --------
    >>> config = recorded_protocols([Cell("", "cora", "GCN", 0, Protocol(hidden_channels=16))])
    >>> recorded_protocol(config, "cora", "GCN").hidden_channels
    16
    >>> recorded_protocol({}, "cora", "GCN") is None
    True
    """
    try:
        values = {**config["protocols"][task], **config.get("model_protocols", {}).get(task, {}).get(model, {})}
        return Protocol().replace(**values)
    except (KeyError, TypeError, AttributeError, UsageError):
        return None
