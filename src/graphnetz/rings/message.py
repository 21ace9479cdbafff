"""Perturbing what models hear of a graph whose edges are the targets.

In link prediction and edge classification the edge list holds the answers. A perturbation of the
loaded graph would replace the question, and a degree feature or an edge count of the whole graph would
tell of held-out edges. So the split is made first, on the original, and only the message-passing
graph of that split is perturbed: pairs, labels and parts stay as they are.
"""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from graphnetz._core.errors import UsageError
from graphnetz.records.graphs import GraphList
from graphnetz.rings._batches import stream
from graphnetz.rings.perturbations import PERTURBATIONS, perturb
from graphnetz.tasktypes.base import Split
from graphnetz.tasktypes.graphs import vocabulary
from graphnetz.tasktypes.heads import EdgeHead
from graphnetz.tasktypes.packing import PackedGraphs
from graphnetz.tasktypes.pairs import Pairs

_EDGE_VALUES = ("edge_attr", "edge_weight", "edge_type", "edge_id")


@dataclass(frozen=True)
class MessageLoader:
    """A loader that leaves the data alone and has its splits perturbed; equal by content.

    The engine calls `reshape` with every split it makes of the data.
    """

    loader: Callable[..., Any]
    code: str
    perturbation_seed: int = 0
    width: int | None = None
    vary: bool = False

    def __call__(self, root: Any) -> Any:
        """Load; the data is marked, so that runs under another perturbation are other runs."""
        return self.marked(self.loader(root))

    def marked(self, dataset: Any) -> Any:
        """Return the dataset with the perturbation's name on it."""
        label = f"{self.code} seed={self.perturbation_seed} width={self.width} vary={self.vary}"
        if isinstance(dataset, Data):
            out = copy.copy(dataset)
            out.message_perturbation = label
            return out
        graphs = GraphList(
            stream(dataset),
            splits=getattr(dataset, "splits", None),
            replication=getattr(dataset, "replication", "resplit"),
        )
        graphs.message_perturbation = label  # type: ignore[attr-defined]
        return graphs

    def reshape(self, split: Split, seed: int) -> Split:
        """Perturb the message-passing graph of a split."""
        number = self.perturbation_seed + (seed if self.vary else 0)
        return perturb_split(split, self.code, seed=number, width=self.width)


@dataclass(frozen=True)
class SeededMessageLoader(MessageLoader):
    """The same for a loader that receives the benchmark seed."""

    def __call__(self, root: Any, *, seed: int) -> Any:  # type: ignore[override]
        """Load for one benchmark seed."""
        return self.marked(self.loader(root, seed=seed))


def perturb_split(split: Split, code: str, *, seed: int = 0, width: int | None = None) -> Split:
    """Return the split whose models see a perturbed graph; what they are asked stays the same.

    Parameters
    ----------
    split
        A split of a link-prediction or edge-classification task.
    code
        A key of `PERTURBATIONS`.
    seed
        Seed of the perturbation.
    width
        Feature width of ``cf`` and ``rf``.

    Returns
    -------
    Split
        A copy with other message-passing edges or features; targets and parts are the same.

    Notes
    -----
    Structural perturbations drop edge attributes, weights and types. In link prediction the graph
    that is perturbed holds training edges only, so the number and place of held-out edges cannot
    enter. In edge classification all edges are given and only their labels are held out.

    Examples
    --------
    >>> import networkx as nx
    >>> from graphnetz import get_split, task_from_networkx
    >>> from graphnetz.rings import perturb_split
    >>> split = get_split(task_from_networkx("karate", nx.karate_club_graph()))
    >>> perturb_split(split, "eg").data.num_edges
    0
    """
    options = {} if width is None else {"width": width}
    if isinstance(split.train, Pairs):
        data = perturb(split.data, code, seed=seed, **options)
        return _with_data(split, data, data.x, structural=_structural(code))
    if not _structural(code):
        raise UsageError(f"{code!r} changes features: perturb the dataset of this task, not its split.")
    rewired = _rewired(split.data, code, seed=seed, options=options)
    data = split.data
    if isinstance(data, PackedGraphs):
        edge = {key: value for key, value in data.edge.items() if key not in _EDGE_VALUES}
        data, x = dataclasses.replace(data, edge=edge), data.node["x"]
    else:
        data = _without(data, _EDGE_VALUES[:-1])
        x = data.x
    changed = _with_data(split, data, x, structural=True)
    changed.cache["message"] = rewired
    return changed


def _structural(code: str) -> bool:
    return PERTURBATIONS[code].mode in ("graph", "both")


def _with_data(split: Split, data: Any, x: Tensor, *, structural: bool) -> Split:
    edge_dim = None if structural else split.dims.edge_dim
    dims = dataclasses.replace(split.dims, in_channels=x.size(1), vocabulary=vocabulary(x), edge_dim=edge_dim)
    kept = {key: value for key, value in split.cache.items() if not key.startswith("batches_")}
    return dataclasses.replace(split, data=data, dims=dims, cache=kept)


def _without(data: Data, keys: tuple[str, ...]) -> Data:
    out = copy.copy(data)
    for key in keys:
        if key in out:
            del out[key]
    return out


@dataclass(frozen=True)
class Rewired:
    """The message-passing graph of edge classification, beside the edges that are classified."""

    edge_index: Tensor | None = None
    packed: PackedGraphs | None = None

    def install(self, model: Any) -> None:
        """Have the model's encoder see this graph; its head still scores the original edges."""
        if not isinstance(model, EdgeHead):
            raise UsageError(
                f"{type(model).__name__} reads the edges it classifies and the edges it passes messages along from one "
                "list, so its graph cannot be perturbed. Use an encoder, or a feature perturbation: ef, cf, rf, sf."
            )
        model.encoder.register_forward_pre_hook(self._swap)

    def _swap(self, module: nn.Module, args: tuple[Any, ...]) -> tuple[Any, ...]:  # noqa: ARG002
        data, *rest = args
        return self.view(data), *rest

    def view(self, data: Data) -> Data:
        """Return ``data`` with the edges that messages travel along."""
        seen = _without(data, _EDGE_VALUES)
        seen.edge_index = self.edge_index if self.packed is None else self._batch(data)
        return seen

    def _batch(self, data: Data) -> Tensor:
        assert self.packed is not None
        first = data.node_id[data.ptr[:-1]]
        graphs = torch.searchsorted(self.packed.node_ptr, first, right=True) - 1
        edges: Tensor = self.packed.select(graphs).edge_index
        return edges


def _rewired(data: Any, code: str, *, seed: int, options: dict[str, Any]) -> Rewired:
    if not isinstance(data, PackedGraphs):
        return Rewired(edge_index=perturb(data, code, seed=seed, **options).edge_index)
    pieces = []
    for index in range(data.num_graphs):
        arcs = slice(int(data.edge_ptr[index]), int(data.edge_ptr[index + 1]))
        nodes = int(data.node_ptr[index + 1] - data.node_ptr[index])
        graph = Data(edge_index=data.edge_index[:, arcs], num_nodes=nodes)
        pieces.append(perturb(graph, code, seed=seed, index=index, **options).edge_index)
    counts = torch.tensor([piece.size(1) for piece in pieces])
    edge_ptr = torch.cat([torch.zeros(1, dtype=torch.long), counts.cumsum(0)])
    return Rewired(packed=PackedGraphs(data.node_ptr, edge_ptr, torch.cat(pieces, dim=1), {}, {}, {}))
