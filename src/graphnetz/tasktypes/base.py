"""What a task type is: the one seam between data, models, training and metrics."""

from __future__ import annotations

import abc
import dataclasses
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
import torch
from torch import Tensor, nn

from graphnetz._core.errors import UsageError
from graphnetz._core.registry import Registry
from graphnetz.metrics import METRICS
from graphnetz.records import Replication

if TYPE_CHECKING:
    from graphnetz.tasktypes.message import MessageGraph

EncoderBuilder = Callable[[int, int, int], nn.Module]
"""``(in_channels, hidden_channels, out_channels) -> module`` returning one row per node."""


@dataclass(frozen=True)
class Dims:
    """What a model must be told about the data before it can be built.

    ``vocabulary`` lists the sizes of integer feature columns; it is empty for real-valued features.
    ``pe_dim`` is the width of the positional encoding, where a transform has added one;
    ``num_nodes`` is known for link prediction, which happens on one graph.
    """

    in_channels: int
    out_channels: int
    edge_dim: int | None = None
    num_relations: int | None = None
    vocabulary: tuple[int, ...] = ()
    out_graph: int | None = None
    pe_dim: int | None = None
    num_nodes: int | None = None


@dataclass
class Split:
    """One seed's view of a dataset: the same object reaches encoders and predictors.

    Parameters
    ----------
    data
        What models see: a graph, or packed graphs.
    train, val, test
        Which examples belong to which part, in the task type's own terms.
    dims, metric, replication, n_train, n_test, kind, notes
        Widths of the data, headline metric, what a seed varies, sizes, and what else there is to say.
    targets
        True values per part, one row per example.
    examples
        Ids of the examples per part, in the order of ``targets``: nodes, edges or graphs of the dataset, for
        a pair a number made of its ends. The same example has the same id under every seed.
    unit
        What one example is.
    labels
        Labels of all nodes or edges of the dataset, for task types that train on a part of them.
    message
        The graph that messages travel along, where it is not that of ``data``.
    cache
        What can be made again from the other fields; emptying it changes no result.
    """

    data: Any
    train: Any
    val: Any
    test: Any
    dims: Dims
    metric: str
    replication: Replication
    targets: dict[str, np.ndarray]
    n_train: int
    n_test: int
    kind: str = ""
    notes: tuple[str, ...] = ()
    examples: dict[str, np.ndarray] = field(default_factory=dict)
    unit: Literal["node", "edge", "pair", "graph"] = "graph"
    labels: Tensor | None = None
    message: MessageGraph | None = None
    cache: dict[str, Any] = field(default_factory=dict, repr=False)

    def to(self, device: torch.device) -> Split:
        """Return a copy whose tensors live on ``device``; targets stay in NumPy."""
        names = ("data", "train", "val", "test", "labels", "message")
        return dataclasses.replace(self, **{name: _moved(getattr(self, name), device) for name in names}, cache={})

    def part(self, name: str) -> Any:
        """Return the examples of ``"train"``, ``"val"`` or ``"test"``."""
        return getattr(self, name)


class TaskType(abc.ABC):
    """One kind of prediction. Adding one is one new file with one registered subclass."""

    name: ClassVar[str]
    label: ClassVar[str]
    metrics: ClassVar[tuple[str, ...]]
    defaults: ClassVar[Mapping[str, Any]] = MappingProxyType({})

    @abc.abstractmethod
    def split(self, dataset: Any, seed: int) -> Split:
        """Check ``dataset`` and split it for ``seed``: a pure function of both."""

    @abc.abstractmethod
    def adapt(self, build: EncoderBuilder, dims: Dims, hidden: int) -> nn.Module:
        """Turn a node-level encoder into a model of this task."""

    def wrap(self, model: nn.Module, dims: Dims, hidden: int) -> nn.Module:
        """Prepare a model that already speaks this task's language; most need nothing."""
        del dims, hidden
        return model

    def direct_channels(self, dims: Dims, hidden: int) -> tuple[int, int]:
        """``(in, out)`` widths for a model that is built for this task without an adapter."""
        return (hidden if dims.vocabulary else dims.in_channels), dims.out_channels

    @abc.abstractmethod
    def batches(self, split: Split, batch_size: int) -> Iterator[Any]:
        """Yield the training batches of one epoch, shuffled by the global generator."""

    @abc.abstractmethod
    def loss(self, model: nn.Module, split: Split, batch: Any) -> Tensor:
        """Return the training loss of one batch."""

    @abc.abstractmethod
    def scores(self, model: nn.Module, split: Split, parts: tuple[str, ...]) -> dict[str, Tensor]:
        """Return the model's raw outputs for the examples of ``parts``, in the order of ``targets``."""

    @abc.abstractmethod
    def criterion(self, score: Tensor, target: Tensor) -> Tensor:
        """Loss of given outputs, used for training and for the validation loss."""

    def measure(
        self, split: Split, part: str, score: np.ndarray, keys: tuple[str, ...] | None = None
    ) -> dict[str, float]:
        """Metrics of one part under keys such as ``test_acc``."""
        target = split.targets[part]
        chosen = keys if keys is not None else self.keys(split)
        return {f"{part}_{key}": METRICS[key].compute(target, score) for key in chosen}

    def keys(self, split: Split) -> tuple[str, ...]:
        """Metric keys that apply, the headline first."""
        return (split.metric, *(key for key in self.metrics if key != split.metric))


TASK_TYPES: Registry[TaskType] = Registry("task type", entry_points="graphnetz.task_types")


def task_type(cls: type[TaskType]) -> type[TaskType]:
    """Register a task type under its name (class decorator)."""
    TASK_TYPES.add(cls.name, cls())
    return cls


def known_task_type(name: str) -> TaskType:
    """Look a task type up; the error text is one that users match on."""
    if name not in TASK_TYPES:
        raise UsageError(f"unknown task type {name!r}. Known: {', '.join(sorted(TASK_TYPES))}.")
    return TASK_TYPES[name]


def _moved(value: Any, device: torch.device) -> Any:
    """Move tensors inside mappings, dataclasses and graphs."""
    if hasattr(value, "to"):
        return value.to(device)
    if isinstance(value, Mapping):
        return {key: _moved(item, device) for key, item in value.items()}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        changes = {f.name: _moved(getattr(value, f.name), device) for f in dataclasses.fields(value)}
        return dataclasses.replace(value, **changes)
    return value


def to_numpy(value: Tensor) -> np.ndarray:
    """Detach and copy to NumPy."""
    return value.detach().cpu().numpy()


def as_float(target: Tensor) -> Tensor:
    """Targets as the default float type."""
    return target.to(torch.get_default_dtype())
