"""Perturbing what models hear of a graph whose edges are the targets.

In link prediction and edge classification the edge list holds the answers. A perturbation of the
loaded graph would replace the question, and a degree feature or an edge count of the whole graph would
tell of held-out edges. So the split is made first, on the original, and only the message-passing
graph of that split is perturbed: pairs, labels and parts stay as they are.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch_geometric.data import Data

from graphnetz._core.errors import UsageError
from graphnetz.rings.perturbations import PERTURBATIONS, Perturbation, perturb
from graphnetz.tasktypes.base import Split
from graphnetz.tasktypes.graphs import vocabulary
from graphnetz.tasktypes.message import EDGE_VALUES, MessageGraph, without
from graphnetz.tasktypes.packing import PackedGraphs
from graphnetz.tasktypes.pairs import Pairs


@dataclass(frozen=True)
class PerturbedMessages:
    """What `Task.after_split` calls: perturb the message-passing graph of a split.

    The perturbation itself is a field, so that its code is part of a cell's key.
    """

    perturbation: type[Perturbation]
    seed: int = 0
    width: int | None = None
    vary: bool = False
    before: Callable[[Split, int], Split] | None = None

    def __call__(self, split: Split, seed: int) -> Split:
        """Perturb; ``vary`` draws a fresh perturbation for every benchmark seed."""
        if self.before is not None:
            split = self.before(split, seed)
        number = self.seed + (seed if self.vary else 0)
        return perturb_split(split, self.perturbation.code, seed=number, width=self.width)


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
        edge = {key: value for key, value in data.edge.items() if key not in EDGE_VALUES}
        data, x = dataclasses.replace(data, edge=edge), data.node["x"]
    else:
        data = without(data, EDGE_VALUES[:-1])
        x = data.x
    changed = _with_data(split, data, x, structural=True)
    return dataclasses.replace(changed, message=rewired)


def _structural(code: str) -> bool:
    return PERTURBATIONS[code].mode in ("graph", "both")


def _with_data(split: Split, data: Any, x: Tensor, *, structural: bool) -> Split:
    edge_dim = None if structural else split.dims.edge_dim
    dims = dataclasses.replace(split.dims, in_channels=x.size(1), vocabulary=vocabulary(x), edge_dim=edge_dim)
    return dataclasses.replace(split, data=data, dims=dims, cache={})


def _rewired(data: Any, code: str, *, seed: int, options: dict[str, Any]) -> MessageGraph:
    if not isinstance(data, PackedGraphs):
        return MessageGraph(edge_index=perturb(data, code, seed=seed, **options).edge_index)
    pieces = []
    for index in range(data.num_graphs):
        arcs = slice(int(data.edge_ptr[index]), int(data.edge_ptr[index + 1]))
        nodes = int(data.node_ptr[index + 1] - data.node_ptr[index])
        graph = Data(edge_index=data.edge_index[:, arcs], num_nodes=nodes)
        pieces.append(perturb(graph, code, seed=seed, index=index, **options).edge_index)
    counts = torch.tensor([piece.size(1) for piece in pieces])
    edge_ptr = torch.cat([torch.zeros(1, dtype=torch.long), counts.cumsum(0)])
    return MessageGraph(packed=PackedGraphs(data.node_ptr, edge_ptr, torch.cat(pieces, dim=1), {}, {}, {}))
