"""Deep Graph Infomax (Velickovic et al., 2019): a self-supervised training utility, not a benchmark row.

Its loss is not a held-out metric, so it cannot stand beside accuracies; use it to pre-train an encoder.
"""

from __future__ import annotations

import copy

import torch
from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.nn import DeepGraphInfomax, GCNConv


class DGIWrapper(nn.Module):
    """Infomax objective around any encoder that maps ``data`` to node embeddings.

    The summary is the sigmoid of the mean embedding; the corruption shuffles feature rows.

    Parameters
    ----------
    encoder
        Module that maps ``data`` to one vector per node.
    hidden_channels
        Width of these vectors.

    Examples
    --------
    >>> import torch
    >>> from torch_geometric.data import Data
    >>> from graphnetz import GCN, DGIWrapper
    >>> data = Data(x=torch.eye(3), edge_index=torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]))
    >>> positive, negative, summary = DGIWrapper(GCN(3, 8, 8), 8)(data)
    >>> positive.shape, summary.shape
    (torch.Size([3, 8]), torch.Size([8]))
    """

    def __init__(self, encoder: nn.Module, hidden_channels: int) -> None:
        super().__init__()
        self.encoder = encoder
        self.infomax = DeepGraphInfomax(
            hidden_channels, nn.Identity(), lambda z, *_: torch.sigmoid(z.mean(dim=0)), _unused
        )

    def forward(self, data: Data) -> tuple[Tensor, Tensor, Tensor]:
        """Return embeddings of the graph, of its corruption, and the summary."""
        positive = self.encoder(data)
        shuffled = copy.copy(data)
        shuffled.x = data.x[torch.randperm(data.x.size(0)).to(data.x.device)]
        negative = self.encoder(shuffled)
        return positive, negative, self.infomax.summary(positive)

    def loss(self, pos_z: Tensor, neg_z: Tensor, summary: Tensor) -> Tensor:
        """Return the infomax loss."""
        loss: Tensor = self.infomax.loss(pos_z, neg_z, summary)
        return loss


def _unused(*_: Tensor) -> Tensor:
    raise RuntimeError("DGIWrapper corrupts the graph itself.")


class _Encoder(nn.Module):
    def __init__(self, in_channels: int, hidden_channels: int) -> None:
        super().__init__()
        self.conv = GCNConv(in_channels, hidden_channels)
        self.activation = nn.PReLU(hidden_channels)

    def forward(self, data: Data) -> Tensor:
        out: Tensor = self.activation(self.conv(data.x, data.edge_index))
        return out


class DGI(DGIWrapper):
    """Infomax with the published encoder: one graph convolution and PReLU.

    Parameters
    ----------
    in_channels, hidden_channels
        Width of the node features and of the embeddings.

    Examples
    --------
    >>> import torch
    >>> from torch_geometric.data import Data
    >>> from graphnetz import DGI
    >>> data = Data(x=torch.eye(3), edge_index=torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]))
    >>> model = DGI(3, 8)
    >>> model.loss(*model(data)).ndim
    0
    """

    def __init__(self, in_channels: int, hidden_channels: int = 512) -> None:
        super().__init__(_Encoder(in_channels, hidden_channels), hidden_channels)
