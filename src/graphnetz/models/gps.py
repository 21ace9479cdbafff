"""GPS (Rampasek et al., 2022): message passing and global attention side by side in every layer."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.nn import GINConv, GINEConv, GPSConv

from graphnetz._core.errors import UsageError
from graphnetz.models.spec import ALL, register_model
from graphnetz.tasktypes.encodings import positions


def _local(width: int, edge_dim: int | None) -> nn.Module:
    """GINE where edges have attributes, GIN where they have none."""
    mlp = nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, width))
    conv: nn.Module = GINEConv(mlp, edge_dim=edge_dim) if edge_dim else GINConv(mlp)
    return conv


@register_model(task_types=ALL)
class GPS(torch.nn.Module):
    """Input projection, GPS layers of ``hidden_channels``, output projection.

    Every node attends to every other node of its graph: time and memory grow with the square of the
    graph's size. Positional encodings are projected and added where the data carries them.

    Parameters
    ----------
    in_channels, hidden_channels, out_channels
        Width of the node features, of hidden layers, and of the output.
    num_layers
        Number of GPS layers.
    heads
        Attention heads; a number that does not divide the width is replaced by the largest one that does.
    dropout, attn_dropout
        Share of hidden values, and of attention weights, dropped in training.
    edge_dim
        Width of edge attributes to attend to; None ignores them.
    pe_dim
        Width of the positional encoding; None without one.

    Examples
    --------
    >>> import torch
    >>> from torch_geometric.data import Data
    >>> from graphnetz.models import GPS
    >>> data = Data(x=torch.eye(3), edge_index=torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]))
    >>> GPS(3, 8, 2)(data).shape
    torch.Size([3, 2])
    """

    level = "node"

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        out_channels: int,
        num_layers: int = 2,
        heads: int = 4,
        dropout: float = 0.0,
        attn_dropout: float = 0.0,
        edge_dim: int | None = None,
        pe_dim: int | None = None,
    ) -> None:
        super().__init__()
        if heads < 1:
            raise UsageError(f"GPS needs at least one attention head, got heads={heads}.")
        width = hidden_channels
        fitting = max(n for n in range(1, min(heads, width) + 1) if width % n == 0)
        self.input = nn.Linear(in_channels, width)
        self.pe = None if pe_dim is None else nn.Linear(pe_dim, width)
        self.convs = nn.ModuleList(
            GPSConv(
                width, _local(width, edge_dim), heads=fitting, dropout=dropout, attn_kwargs={"dropout": attn_dropout}
            )
            for _ in range(num_layers)
        )
        self.output = nn.Linear(width, out_channels)
        self.edge_dim = edge_dim

    def forward(self, data: Data) -> Tensor:
        """Return one row per node."""
        h = self.input(data.x)
        if self.pe is not None:
            h = h + self.pe(positions(data, training=self.training))
        options = {"edge_attr": data.edge_attr} if self.edge_dim else {}
        for conv in self.convs:
            h = conv(h, data.edge_index, data.batch, **options)
        out: Tensor = self.output(h)
        return out
