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

    Parameters
    ----------
    in_channels, out_channels
        Width of the node features, and of the output.
    edge_dim
        Width of edge attributes; None without any.
    num_relations
        Number of edge types; None without any.
    vocabulary
        Sizes of integer feature columns; empty for real-valued features.
    out_graph
        Width of the output per graph, where it differs from the output per node.
    pe_dim
        Width of the positional encoding, where a transform has added one.
    num_nodes
        Of the one graph of the task; None where there are several.

    Examples
    --------
    >>> from graphnetz.tasktypes import Dims
    >>> Dims(16, 3).edge_dim is None
    True
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
    dims
        Widths that a model needs to know.
    metric
        Key of the headline metric.
    replication
        What a seed varies.
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
    train_data
        The graph that models are trained on, where it is not ``data``: without the nodes of validation and test.
    n_train, n_test
        Examples in these parts.
    others
        Further parts that a trained model is measured on once, such as ``"ood"`` for graphs of another kind than it was
        trained on; ``targets`` and ``examples`` hold theirs too.
    kind
        Variant of the task type, such as ``"multi"`` for several labels per example.
    notes
        Remarks for the reader of the report.
    cache
        What can be made again from the other fields; emptying it changes no result.

    Examples
    --------
    >>> import networkx as nx
    >>> from graphnetz import get_split, task_from_networkx
    >>> split = get_split(task_from_networkx("karate", nx.karate_club_graph(), label="club"))
    >>> {part: len(target) for part, target in split.targets.items()}
    {'train': 20, 'val': 6, 'test': 8}
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
    train_data: Any = None
    others: dict[str, Any] = field(default_factory=dict)
    cache: dict[str, Any] = field(default_factory=dict, repr=False)

    def to(self, device: torch.device) -> Split:
        """Return a copy whose tensors live on a device; targets stay in NumPy.

        Parameters
        ----------
        device
            Where tensors go.

        Returns
        -------
        Split
            The original is not changed.

        Examples
        --------
        >>> import networkx as nx
        >>> import torch
        >>> from graphnetz import get_split, task_from_networkx
        >>> split = get_split(task_from_networkx("karate", nx.karate_club_graph(), label="club"))
        >>> split.to(torch.device("cpu")).data.x.device
        device(type='cpu')
        """
        names = ("data", "train", "val", "test", "labels", "message", "others", "train_data")
        return dataclasses.replace(self, **{name: _moved(getattr(self, name), device) for name in names}, cache={})

    def part(self, name: str) -> Any:
        """Return the examples of one part.

        Parameters
        ----------
        name
            ``"train"``, ``"val"``, ``"test"`` or one of ``others``.

        Returns
        -------
        Any
            Node numbers, graph numbers or pairs, as the task type has it.

        Examples
        --------
        >>> import networkx as nx
        >>> from graphnetz import get_split, task_from_networkx
        >>> split = get_split(task_from_networkx("karate", nx.karate_club_graph(), label="club"))
        >>> len(split.part("test")) == split.n_test
        True
        """
        return self.others[name] if name in self.others else getattr(self, name)


class TaskType(abc.ABC):
    """One kind of prediction. Adding one is one new file with one registered subclass.

    Class attributes: ``name`` (as in ``Task.task_type``), ``label`` (readable), ``metrics`` (keys, the
    headline first), ``defaults`` (protocol settings of this task type) and ``answers`` (attributes of graphs that
    hold what is to be predicted: models are given those of training examples only).

    Examples
    --------
    >>> from graphnetz.tasktypes import TASK_TYPES
    >>> TASK_TYPES["link_pred"].metrics[0]
    'auc'
    """

    name: ClassVar[str]
    label: ClassVar[str]
    metrics: ClassVar[tuple[str, ...]]
    defaults: ClassVar[Mapping[str, Any]] = MappingProxyType({})
    answers: ClassVar[tuple[str, ...]] = ("y", "y_node", "y_graph", "edge_label")

    @abc.abstractmethod
    def split(self, dataset: Any, seed: int) -> Split:
        """Check a dataset and split it: a pure function of both arguments.

        Parameters
        ----------
        dataset
            What the task's loader returned.
        seed
            Which of the splits.

        Returns
        -------
        Split
            Data, parts, targets and widths.
        """

    @abc.abstractmethod
    def adapt(self, build: EncoderBuilder, dims: Dims, hidden: int) -> nn.Module:
        """Turn a node-level encoder into a model of this task.

        Parameters
        ----------
        build
            ``(in_channels, hidden_channels, out_channels) -> module``.
        dims
            Widths of the data.
        hidden
            Width of hidden layers.

        Returns
        -------
        torch.nn.Module
            Maps what `batches` yields to scores.
        """

    def wrap(self, model: nn.Module, dims: Dims, hidden: int) -> nn.Module:
        """Prepare a model that already speaks this task's language; most need nothing.

        Parameters
        ----------
        model
            The model.
        dims, hidden
            As in `adapt`.

        Returns
        -------
        torch.nn.Module
            The model itself, unless a subclass has something to add.

        Examples
        --------
        >>> import torch
        >>> from graphnetz.tasktypes import TASK_TYPES, Dims
        >>> model = torch.nn.Linear(4, 2)
        >>> TASK_TYPES["node_cls"].wrap(model, Dims(4, 2), 8) is model
        True
        """
        del dims, hidden
        return model

    def direct_channels(self, dims: Dims, hidden: int) -> tuple[int, int]:
        """Widths for a model that is built for this task without an adapter.

        Parameters
        ----------
        dims, hidden
            As in `adapt`.

        Returns
        -------
        tuple of int
            Input and output width.

        Examples
        --------
        >>> from graphnetz.tasktypes import TASK_TYPES, Dims
        >>> TASK_TYPES["node_cls"].direct_channels(Dims(4, 2), 8)
        (4, 2)
        """
        return (hidden if dims.vocabulary else dims.in_channels), dims.out_channels

    @abc.abstractmethod
    def batches(self, split: Split, batch_size: int) -> Iterator[Any]:
        """Yield the training batches of one epoch, shuffled by torch's global generator.

        Parameters
        ----------
        split
            The data.
        batch_size
            Examples per batch, where there are many graphs.

        Yields
        ------
        Any
            What `loss` takes.
        """

    @abc.abstractmethod
    def loss(self, model: nn.Module, split: Split, batch: Any) -> Tensor:
        """Return the training loss of one batch.

        Parameters
        ----------
        model, split
            What is trained on what.
        batch
            One item of `batches`.

        Returns
        -------
        Tensor
            A scalar with a gradient.
        """

    @abc.abstractmethod
    def scores(self, model: nn.Module, split: Split, parts: tuple[str, ...]) -> dict[str, Tensor]:
        """Return the model's raw outputs.

        Parameters
        ----------
        model, split
            What is evaluated on what.
        parts
            Such as ``("val", "test")``.

        Returns
        -------
        dict of Tensor
            Outputs by part, in the order of ``split.targets``.
        """

    def outputs(self, model: nn.Module, seen: Split, split: Split, parts: tuple[str, ...]) -> dict[str, Tensor]:
        """Return what `measure` takes of an evaluated model: its raw outputs, unless a task type condenses them.

        Parameters
        ----------
        model
            In evaluation mode.
        seen, split
            What the model is given, and the same with every true value.
        parts
            Parts to evaluate.

        Returns
        -------
        dict of Tensor
            By part.

        Examples
        --------
        >>> import networkx as nx
        >>> import torch
        >>> from graphnetz import get_split, task_from_networkx
        >>> from graphnetz.tasktypes import TASK_TYPES
        >>> split = get_split(task_from_networkx("karate", nx.karate_club_graph(), label="club"))
        >>> class Same(torch.nn.Module):
        ...     def forward(self, data):
        ...         return data.x[:, :2]
        >>> found = TASK_TYPES["node_cls"].outputs(Same(), split, split, ("test",))
        >>> found["test"].shape == (split.n_test, 2)
        True
        """
        return self.scores(model, seen, parts)

    def predicted(self, model: Any, seen: Split, split: Split) -> dict[str, np.ndarray]:
        """Return the same for a model that fits itself.

        Parameters
        ----------
        model
            A fitted predictor.
        seen, split
            As in `outputs`.

        Returns
        -------
        dict of ndarray
            By part.

        Examples
        --------
        >>> import networkx as nx
        >>> import numpy as np
        >>> from graphnetz import get_split, task_from_networkx
        >>> from graphnetz.tasktypes import TASK_TYPES
        >>> split = get_split(task_from_networkx("karate", nx.karate_club_graph(), label="club"))
        >>> class Zeros:
        ...     def score(self, split):
        ...         return {"test": np.zeros((split.n_test, 2))}
        >>> sorted(TASK_TYPES["node_cls"].predicted(Zeros(), split, split))
        ['test']
        """
        found: dict[str, np.ndarray] = model.score(seen)
        return found

    @abc.abstractmethod
    def criterion(self, score: Tensor, target: Tensor) -> Tensor:
        """Loss of given outputs, used for training and for the validation loss.

        Parameters
        ----------
        score
            Raw outputs.
        target
            True values.

        Returns
        -------
        Tensor
            A scalar.
        """

    def measure(
        self, split: Split, part: str, score: np.ndarray, keys: tuple[str, ...] | None = None
    ) -> dict[str, float]:
        """Metrics of one part.

        Parameters
        ----------
        split
            Holds the true values.
        part
            ``"train"``, ``"val"`` or ``"test"``.
        score
            Outputs in the order of the targets.
        keys
            Metrics to compute; None takes all that apply.

        Returns
        -------
        dict of float
            Under keys such as ``test_acc``.

        Examples
        --------
        >>> import networkx as nx
        >>> import numpy as np
        >>> from graphnetz import get_split, task_from_networkx
        >>> from graphnetz.tasktypes import TASK_TYPES
        >>> split = get_split(task_from_networkx("karate", nx.karate_club_graph(), label="club"))
        >>> TASK_TYPES["node_cls"].measure(split, "test", np.eye(2)[split.targets["test"]], ("acc",))
        {'test_acc': 1.0}
        """
        target = split.targets[part]
        chosen = keys if keys is not None else self.keys(split)
        return {f"{part}_{key}": METRICS[key].compute(target, score) for key in chosen}

    def keys(self, split: Split) -> tuple[str, ...]:
        """Metric keys that apply to a split.

        Parameters
        ----------
        split
            Whose metrics.

        Returns
        -------
        tuple of str
            The headline first.

        Examples
        --------
        >>> import networkx as nx
        >>> from graphnetz import get_split, task_from_networkx
        >>> from graphnetz.tasktypes import TASK_TYPES
        >>> split = get_split(task_from_networkx("karate", nx.karate_club_graph(), label="club"))
        >>> TASK_TYPES["node_cls"].keys(split)[0]
        'acc'
        """
        others = (key for key in self.metrics if key != split.metric and self.applies(key, split))
        return (split.metric, *others)

    def applies(self, key: str, split: Split) -> bool:
        """Whether a metric says something about a split that the others do not.

        Parameters
        ----------
        key
            One of ``metrics``.
        split
            Whose metric.

        Returns
        -------
        bool
            False for the F1 of one class among many, and for the micro F1 of single classes, which is the accuracy.

        Examples
        --------
        >>> import networkx as nx
        >>> from graphnetz import get_split, task_from_networkx
        >>> from graphnetz.tasktypes import TASK_TYPES
        >>> split = get_split(task_from_networkx("karate", nx.karate_club_graph(), label="club"))
        >>> TASK_TYPES["node_cls"].applies("micro_f1", split), TASK_TYPES["node_cls"].applies("f1", split)
        (False, True)
        """
        if key == "micro_f1":
            return split.kind == "multi"
        return key != "f1" or (split.kind != "multi" and split.dims.out_channels == 2)


TASK_TYPES: Registry[TaskType] = Registry(
    "task type",
    entry_points="graphnetz.task_types",
    accepts=TaskType,
    named="name",
    decorator="graphnetz.tasktypes.task_type",
)
"""Task types by name; `task_type` adds one, plug-ins by entry point."""


def task_type(cls: type[TaskType]) -> type[TaskType]:
    """Register a task type under its name (class decorator).

    Parameters
    ----------
    cls
        A `TaskType` subclass with ``name``, ``label`` and ``metrics``.

    Returns
    -------
    type
        The class itself.

    Examples
    --------
    >>> from graphnetz.tasktypes import TASK_TYPES, task_type
    >>> @task_type
    ... class Harder(type(TASK_TYPES["node_cls"])):
    ...     name = "harder"
    >>> TASK_TYPES.remove("harder").name
    'harder'
    """
    TASK_TYPES.add(cls.name, cls())
    return cls


def known_task_type(name: str) -> TaskType:
    """Look a task type up.

    Parameters
    ----------
    name
        As in ``Task.task_type``; a wrong name is answered with the known ones.

    Returns
    -------
    TaskType
        The registered instance.

    Examples
    --------
    >>> from graphnetz.tasktypes import known_task_type
    >>> known_task_type("node_cls").name
    'node_cls'
    """
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


def placed(parts: Mapping[str, Any]) -> dict[str, Any]:
    """Fields of a `Split` from its parts: the usual three by name, any further ones together."""
    usual = {part: parts[part] for part in ("train", "val", "test")}
    return {**usual, "others": {part: rows for part, rows in parts.items() if part not in usual}}


def to_numpy(value: Tensor) -> np.ndarray:
    """Detach and copy to NumPy."""
    return value.detach().cpu().numpy()


def as_float(target: Tensor) -> Tensor:
    """Targets as the default float type."""
    return target.to(torch.get_default_dtype())
