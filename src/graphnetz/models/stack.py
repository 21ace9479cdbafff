"""The encoders of ``torch_geometric.nn.models`` under registered names: what a hyper-parameter search varies."""

from __future__ import annotations

import math

from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.nn.models import GAT, GCN, GIN, GraphSAGE

from graphnetz.models.spec import ALL, register_model


class OnData(nn.Module):
    """Put before a model of ``torch_geometric.nn.models``, it makes it take a graph as all encoders here do."""

    level = "node"

    def forward(self, data: Data) -> Tensor:
        """Return one row per node."""
        out: Tensor = super().forward(data.x, data.edge_index)
        return out


@register_model(task_types=ALL, name="stack.GCN")
class StackedGCN(OnData, GCN):  # type: ignore[misc]
    """GCN (Kipf and Welling, 2017) of any depth.

    Parameters
    ----------
    in_channels, hidden_channels, out_channels
        Width of the node features, of hidden layers, and of the output.
    num_layers
        Number of convolutions.
    width
        Width between the layers; None takes ``hidden_channels``.
    act
        Activation: relu, tanh, elu or prelu.
    dropout
        Share of hidden values dropped in training.

    Examples
    --------
    >>> import torch
    >>> from torch_geometric.data import Data
    >>> from graphnetz.models import StackedGCN
    >>> data = Data(x=torch.eye(3), edge_index=torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]))
    >>> StackedGCN(3, 8, 2)(data).shape
    torch.Size([3, 2])
    """

    def __init__(
        self, in_channels: int, hidden_channels: int, out_channels: int, num_layers: int = 2,
        width: int | None = None, act: str = "relu", dropout: float = 0.0,
    ) -> None:  # fmt: skip
        super().__init__(in_channels, width or hidden_channels, num_layers, out_channels, dropout, act)


@register_model(task_types=ALL, name="stack.GraphSAGE")
class StackedSAGE(OnData, GraphSAGE):  # type: ignore[misc]
    """GraphSAGE (Hamilton et al., 2017) of any depth, with mean or maximum of neighbours.

    Parameters
    ----------
    in_channels, hidden_channels, out_channels
        Width of the node features, of hidden layers, and of the output.
    num_layers
        Number of convolutions.
    width
        Width between the layers; None takes ``hidden_channels``.
    act
        Activation: relu, tanh, elu or prelu.
    aggr
        ``"mean"`` or ``"max"``.
    jk
        ``"last"`` activates the last convolution too and adds a linear layer; ``"none"`` does not.
    dropout
        Share of hidden values dropped in training.

    Examples
    --------
    >>> import torch
    >>> from torch_geometric.data import Data
    >>> from graphnetz.models import StackedSAGE
    >>> data = Data(x=torch.eye(3), edge_index=torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]))
    >>> StackedSAGE(3, 8, 2)(data).shape
    torch.Size([3, 2])
    """

    def __init__(
        self, in_channels: int, hidden_channels: int, out_channels: int, num_layers: int = 2,
        width: int | None = None, act: str = "relu", aggr: str = "mean", jk: str = "none", dropout: float = 0.0,
    ) -> None:  # fmt: skip
        super().__init__(
            in_channels, width or hidden_channels, num_layers, out_channels, dropout, act,
            jk=None if jk == "none" else jk, aggr=aggr,
        )  # fmt: skip


@register_model(task_types=ALL, name="stack.GAT")
class StackedGAT(OnData, GAT):  # type: ignore[misc]
    """GAT (Velickovic et al., 2018) of any depth; the last layer averages its heads.

    Parameters
    ----------
    in_channels, hidden_channels, out_channels
        Width of the node features, of hidden layers, and of the output.
    num_layers
        Number of convolutions.
    width
        Width between the layers; None takes ``hidden_channels``.
    act
        Activation: relu, tanh, elu or prelu.
    dropout
        Share of hidden values dropped in training.
    heads
        Attention heads per layer.
    concat
        Concatenate heads; False averages them.

    Examples
    --------
    >>> import torch
    >>> from torch_geometric.data import Data
    >>> from graphnetz.models import StackedGAT
    >>> data = Data(x=torch.eye(3), edge_index=torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]))
    >>> StackedGAT(3, 8, 2)(data).shape
    torch.Size([3, 2])
    """

    def __init__(
        self, in_channels: int, hidden_channels: int, out_channels: int, num_layers: int = 2,
        width: int | None = None, act: str = "relu", dropout: float = 0.0, heads: int = 1, concat: bool = True,
    ) -> None:  # fmt: skip
        inner = width or hidden_channels
        if concat and num_layers > 1:
            inner = math.ceil(inner / heads) * heads  # heads share the width evenly
        super().__init__(in_channels, inner, num_layers, out_channels, dropout, act, heads=heads, concat=concat)


@register_model(task_types=ALL, name="stack.GIN")
class StackedGIN(OnData, GIN):  # type: ignore[misc]
    """GIN (Xu et al., 2019) of any depth, node by node.

    Parameters
    ----------
    in_channels, hidden_channels, out_channels
        Width of the node features, of hidden layers, and of the output.
    num_layers
        Number of convolutions.
    width
        Width between the layers; None takes ``hidden_channels``.
    eps, train_eps
        Weight of a node beside its neighbours, less one, and whether it is trained.

    Examples
    --------
    >>> import torch
    >>> from torch_geometric.data import Data
    >>> from graphnetz.models import StackedGIN
    >>> data = Data(x=torch.eye(3), edge_index=torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]))
    >>> StackedGIN(3, 8, 2)(data).shape
    torch.Size([3, 2])
    """

    def __init__(
        self, in_channels: int, hidden_channels: int, out_channels: int, num_layers: int = 2,
        width: int | None = None, eps: float = 0.0, train_eps: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(in_channels, width or hidden_channels, num_layers, out_channels, eps=eps, train_eps=train_eps)
