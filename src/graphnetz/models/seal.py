"""SEAL (Zhang and Chen, 2018): a link is judged by the subgraph around its ends."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.nn import GATConv, GCNConv, SAGEConv
from torch_geometric.nn.aggr import SortAggregation

from graphnetz._core.errors import unknown_name
from graphnetz._core.rng import generator
from graphnetz.models.spec import register_model
from graphnetz.records import Protocol
from graphnetz.tasktypes import TASK_TYPES, Split

_CONVS: dict[str, Any] = {"GCN": GCNConv, "SAGE": SAGEConv, "GAT": GATConv}
LARGEST_LABEL = 50
_BATCH = 256
_POSITIONS = 4


@dataclass(frozen=True)
class Surroundings:
    """Enclosing subgraphs of some pairs in one disjoint graph."""

    nodes: Tensor
    labels: Tensor
    edges: Tensor
    batch: Tensor
    sizes: np.ndarray


@register_model(task_types={"link_pred"})
class SEAL(nn.Module):
    """Graph network on one-hop enclosing subgraphs with distance labels, sort pooling and a perceptron.

    Parameters
    ----------
    in_channels, hidden_channels, out_channels
        Width of the node features, of hidden layers, and of the output.
    conv
        ``"GCN"``, ``"SAGE"`` or ``"GAT"``.
    width, mlp_width
        Width of the convolutions (default ``hidden_channels``) and of the perceptron.
    k
        Share of training subgraphs that sort pooling keeps whole; at least 10 nodes are kept.
    num_hops
        Radius of the subgraphs; only 1 is implemented.
    max_pairs
        Training pairs used, drawn once; the cost of an epoch grows with them.
    max_neighbours
        Neighbours of an end that enter a subgraph.
    vocabulary
        Sizes of integer feature columns, when features are categories.

    Examples
    --------
    >>> import torch
    >>> from torch_geometric.data import Data
    >>> from graphnetz.models import SEAL
    >>> data = Data(x=torch.eye(3), edge_index=torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]))
    >>> SEAL(3, 8, 1).eval().decode(data, torch.tensor([[0, 0], [1, 2]])).shape
    torch.Size([2])
    """

    def __init__(
        self, in_channels: int, hidden_channels: int, out_channels: int, conv: str = "GCN", width: int | None = None,
        k: float = 0.6, mlp_width: int = 32, num_hops: int = 1, max_pairs: int = 2000, max_neighbours: int = 30,
        vocabulary: tuple[int, ...] = (),
    ) -> None:  # fmt: skip
        super().__init__()
        if conv not in _CONVS:
            raise unknown_name("convolution of SEAL", conv, _CONVS)
        if num_hops != 1:
            raise unknown_name("number of hops of SEAL", str(num_hops), ("1",))
        inner = width or hidden_channels
        self.features = 0 if vocabulary else in_channels  # node numbers say nothing about a new subgraph
        self.share, self.max_pairs, self.max_neighbours = k, max_pairs, max_neighbours
        self.table = nn.Embedding(LARGEST_LABEL + 1, inner)
        widths = [inner + self.features, inner, inner]
        self.convs = nn.ModuleList([_CONVS[conv](a, inner) for a in widths] + [_CONVS[conv](inner, 1)])
        total = 3 * inner + 1
        self.along = nn.Conv1d(1, 16, total, total)
        self.across = nn.Conv1d(16, 32, 5)
        self.pool = nn.AdaptiveMaxPool1d(_POSITIONS)
        self.head = nn.Sequential(nn.Linear(32 * _POSITIONS, mlp_width), nn.ReLU(), nn.Linear(mlp_width, 1))
        self.kept: Tensor
        self.register_buffer("kept", torch.zeros((), dtype=torch.long))
        self._cache: dict[tuple[int, int], list[Surroundings]] = {}

    def encode(self, data: Data) -> Any:
        """Return the graph itself: a pair is judged by what surrounds it."""
        return data

    def decode(self, data: Data, edge_label_index: Tensor, edge_type: Tensor | None = None) -> Tensor:
        """Return one logit per pair."""
        del edge_type
        key = (edge_label_index.data_ptr(), edge_label_index.size(1))
        if key not in self._cache:
            parts = torch.split(edge_label_index, _BATCH, 1)
            self._cache[key] = [surroundings(data, part, self.max_neighbours) for part in parts]
        return torch.cat([self.judge(data, part) for part in self._cache[key]])

    def judge(self, data: Data, around: Surroundings) -> Tensor:
        """Return one logit per subgraph."""
        if not int(self.kept):
            at = int(np.ceil(self.share * len(around.sizes))) - 1
            self.kept.fill_(max(10, int(np.sort(around.sizes)[at])))
        x = self.table(around.labels)
        if self.features:
            x = torch.cat([x, data.x[around.nodes].to(x.dtype)], dim=1)
        layers = []
        for conv in self.convs:
            x = torch.tanh(conv(x, around.edges))
            layers.append(x)
        sort = SortAggregation(int(self.kept))
        rows = sort(torch.cat(layers, dim=1), around.batch, dim_size=len(around.sizes))
        out = F.relu(self.along(rows[:, None, :]))
        out = F.relu(self.across(F.max_pool1d(out, 2)))
        logits: Tensor = self.head(self.pool(out).flatten(1)).squeeze(-1)
        return logits

    def fit(self, split: Split, protocol: Protocol) -> None:
        """Train on a sample of pairs in small batches and keep the weights with the best validation value."""
        data, pairs = split.data, split.train
        rng = generator("seal", len(pairs))
        order = torch.from_numpy(rng.permutation(len(pairs))[: self.max_pairs]).to(pairs.index.device)
        batches = [
            (surroundings(data, pairs.index[:, part], self.max_neighbours), pairs.label[part])
            for part in torch.split(order, _BATCH)
        ]
        optimiser = torch.optim.Adam(self.parameters(), lr=protocol.lr, weight_decay=protocol.weight_decay)
        key = f"val_{split.metric}"
        history: dict[str, list[float]] = {"train_loss": [], key: []}
        best, best_epoch, weights = -np.inf, 0, copy.deepcopy(self.state_dict())
        for epoch in range(protocol.epochs):
            history["train_loss"].append(self._epoch(data, batches, optimiser, rng))
            value = float("nan")
            if (epoch + 1) % protocol.eval_every == 0 or epoch + 1 == protocol.epochs:
                value = self._validate(data, split)
                if value > best:
                    best, best_epoch, weights = value, epoch, copy.deepcopy(self.state_dict())
            history[key].append(value)
            if protocol.patience is not None and epoch - best_epoch >= protocol.patience:
                break
        if protocol.selection == "best_val":
            self.load_state_dict(weights)
        self.history = history

    def _epoch(self, data: Data, batches: list[tuple[Surroundings, Tensor]], optimiser: Any, rng: Any) -> float:
        self.train()
        total = 0.0
        for number in rng.permutation(len(batches)):
            around, label = batches[number]
            optimiser.zero_grad(set_to_none=True)
            loss = F.binary_cross_entropy_with_logits(self.judge(data, around), label)
            loss.backward()  # type: ignore[no-untyped-call]
            optimiser.step()
            total += float(loss.detach())
        return total / len(batches)

    def _validate(self, data: Data, split: Split) -> float:
        self.eval()
        with torch.no_grad():
            score = self.decode(data, split.val.index).cpu().numpy()
        key = f"val_{split.metric}"
        return float(TASK_TYPES["link_pred"].measure(split, "val", score, (split.metric,))[key])


def surroundings(data: Data, pairs: Tensor, most: int) -> Surroundings:
    """Cut the enclosing subgraphs of ``pairs`` out of the training graph."""
    from graphnetz.models import _enclosing

    indptr, indices = _rows(data)
    first, second = pairs.cpu().numpy().astype(np.int64)
    starts, nodes, labels, edges = _enclosing.enclosing(indptr, indices, first, second, most, LARGEST_LABEL)
    sizes = np.diff(starts)
    parts = (nodes, labels, np.ascontiguousarray(edges), np.repeat(np.arange(len(sizes)), sizes))
    a, b, c, d = (torch.from_numpy(part).to(pairs.device) for part in parts)
    return Surroundings(a, b, c, d, sizes)


def _rows(data: Data) -> tuple[np.ndarray, np.ndarray]:
    """Sorted rows of the undirected simple graph."""
    import scipy.sparse as sp

    nodes = int(data.num_nodes or 0)
    row, col = data.edge_index.cpu().numpy()
    proper = row != col
    matrix = sp.csr_matrix((np.ones(int(proper.sum())), (row[proper], col[proper])), shape=(nodes, nodes))
    matrix = (matrix + matrix.T).tocsr()
    matrix.sort_indices()
    return matrix.indptr.astype(np.int64), matrix.indices.astype(np.int64)
