"""Deep Graph Infomax (Velickovic et al., 2019) as a model of a benchmark.

An encoder is trained without labels, then frozen. Pairs are scored by the dot product of its vectors;
for nodes a linear layer is trained on them. (`graphnetz.models.DGI` is the bare training utility.)
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.nn import GCNConv
from torch_geometric.nn.resolver import activation_resolver as activation

from graphnetz._core.errors import unknown_name
from graphnetz.models.spec import register_model
from graphnetz.records import Protocol
from graphnetz.tasktypes import Split
from graphnetz.tasktypes.heads import LinkHead
from graphnetz.tasktypes.packing import PackedGraphs

SUMMARIES = {
    "mean": lambda z: z.mean(dim=0),
    "max": lambda z: z.max(dim=0).values,
    "min": lambda z: z.min(dim=0).values,
    "var": lambda z: z.var(dim=0),
}


@register_model(task_types={"node_cls", "link_pred"}, name="DGI")
class InfomaxEncoder(nn.Module):
    """One graph convolution trained to tell the graph from one with shuffled features.

    Parameters
    ----------
    in_channels, hidden_channels, out_channels
        Width of the node features, of hidden layers, and of the output.
    act
        Activation of the encoder: prelu, relu or tanh.
    summary
        How node vectors become the graph's: mean, max, min or var.
    width
        Width of the vectors; None takes ``hidden_channels``.
    vocabulary
        Sizes of integer feature columns, when features are categories.

    Examples
    --------
    >>> import torch
    >>> from torch_geometric.data import Data
    >>> from graphnetz.models import InfomaxEncoder
    >>> data = Data(x=torch.eye(3), edge_index=torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]))
    >>> InfomaxEncoder(3, 8, 2)(data).shape
    torch.Size([3, 2])
    """

    def __init__(
        self, in_channels: int, hidden_channels: int, out_channels: int, act: str = "prelu", summary: str = "mean",
        width: int | None = None, vocabulary: tuple[int, ...] = (),
    ) -> None:  # fmt: skip
        super().__init__()
        if summary not in SUMMARIES:
            raise unknown_name("summary", summary, SUMMARIES)
        inner = width or hidden_channels
        self.tables = nn.ModuleList(nn.Embedding(size, hidden_channels) for size in vocabulary)
        self.conv = GCNConv(hidden_channels if vocabulary else in_channels, inner)
        self.act, self.summary = activation(act), summary
        self.judge = nn.Bilinear(inner, inner, 1, bias=False)
        self.head = nn.Linear(inner, out_channels)

    def encode(self, data: Data) -> Tensor:
        """Return one vector per node."""
        out: Tensor = self.act(self.conv(self._features(data), data.edge_index))
        return out

    @staticmethod
    def decode(z: Tensor, edge_label_index: Tensor, edge_type: Tensor | None = None) -> Tensor:
        """Return one logit per pair; relations are not looked at."""
        del edge_type
        return LinkHead.decode(z, edge_label_index)

    def forward(self, data: Data) -> Tensor:
        """Return class scores from the vectors."""
        out: Tensor = self.head(self.encode(data))
        return out

    def infomax_loss(self, data: Data) -> Tensor:
        """Loss of telling nodes of the graph from nodes with shuffled features, given the summary."""
        x = self._features(data)
        order = torch.randperm(x.size(0)).to(x.device)  # drawn alike whatever the device
        real, false = (self.act(self.conv(rows, data.edge_index)) for rows in (x, x[order]))
        whole = torch.sigmoid(SUMMARIES[self.summary](real))
        project = self.judge.weight[0] @ whole
        logits = torch.cat([real @ project, false @ project])
        target = torch.cat([torch.ones_like(logits[: len(real)]), torch.zeros_like(logits[len(real) :])])
        return nn.functional.binary_cross_entropy_with_logits(logits, target)

    def fit(self, split: Split, protocol: Protocol) -> None:
        """Train without labels until the loss stalls, then the linear layer on frozen vectors."""
        data = split.data
        if isinstance(data, PackedGraphs):
            data = data.select(split.train)
        free = [p for name, p in self.named_parameters() if not name.startswith("head")]
        losses = self._descend(free, lambda: self.infomax_loss(data), protocol)
        self.history = {"train_loss": losses}
        if split.unit == "node" and split.labels is not None:
            self._fit_head(split, split.labels, protocol)

    def _fit_head(self, split: Split, labels: Tensor, protocol: Protocol) -> None:
        from graphnetz.tasktypes import TASK_TYPES

        kind = TASK_TYPES["node_cls"]
        packed = isinstance(split.data, PackedGraphs)
        data = split.data.select(split.train) if packed else split.data
        with torch.no_grad():
            z = self.encode(data)
        rows = z if packed else z[split.train]
        target = labels[data.node_id if packed else split.train]
        self._descend(list(self.head.parameters()), lambda: kind.criterion(self.head(rows), target), protocol)

    def _descend(self, parameters: list[nn.Parameter], loss_of: Any, protocol: Protocol) -> list[float]:
        optimiser = torch.optim.Adam(parameters, lr=protocol.lr, weight_decay=protocol.weight_decay)
        losses: list[float] = []
        best, waited = np.inf, 0
        self.train()
        for _ in range(protocol.epochs):
            optimiser.zero_grad(set_to_none=True)
            loss = loss_of()
            loss.backward()
            optimiser.step()
            losses.append(float(loss.detach()))
            better = losses[-1] < best - 1e-3
            best, waited = (losses[-1], 0) if better else (best, waited + 1)
            if protocol.patience is not None and waited >= protocol.patience:
                break
        return losses

    def _features(self, data: Data) -> Tensor:
        if len(self.tables) == 0:
            x: Tensor = data.x
            return x
        return torch.stack([table(data.x[:, c]) for c, table in enumerate(self.tables)]).sum(0)
