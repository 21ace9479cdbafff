"""Encoders of a given depth: what a hyper-parameter search varies, on the fast layers of this package.

With equal weights each returns what the class of the same name in ``torch_geometric.nn.models``
returns; here it reads ``data`` and runs on the kernels.
"""

from __future__ import annotations

import abc
import itertools
import math
from typing import Any

import torch
from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.nn import GATConv, GCNConv, GINConv, SAGEConv

import graphnetz.kernels as kernels
from graphnetz._core.errors import UsageError, unknown_name
from graphnetz.models._conv import convolve
from graphnetz.models.spec import ALL, register_model

ACTIVATIONS: dict[str, type[nn.Module]] = {"relu": nn.ReLU, "tanh": nn.Tanh, "elu": nn.ELU, "prelu": nn.PReLU}


def activation(name: str) -> nn.Module:
    """Look an activation up."""
    if name not in ACTIVATIONS:
        raise unknown_name("activation", name, ACTIVATIONS)
    return ACTIVATIONS[name]()


class Stack(nn.Module, abc.ABC):
    """Convolutions one after another, with an activation and dropout between them.

    Subclasses say in `conv` what one layer is.

    Parameters
    ----------
    in_channels, hidden_channels, out_channels
        As for every encoder.
    num_layers
        Number of convolutions.
    width
        Width between the layers; default ``hidden_channels``.
    act, dropout
        What comes after every convolution but the last.
    jk
        ``"last"`` activates the last convolution too and adds a linear layer; ``"none"`` does not.
    """

    level = "node"

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        out_channels: int,
        *,
        num_layers: int = 2,
        width: int | None = None,
        act: str = "relu",
        dropout: float = 0.0,
        jk: str = "none",
        **settings: Any,
    ) -> None:
        super().__init__()
        if num_layers < 1:
            raise UsageError(f"num_layers must be at least 1, got {num_layers}.")
        if jk not in ("none", "last"):
            raise unknown_name("jumping knowledge", jk, ("none", "last"))
        inner = width or hidden_channels
        last = inner if jk == "last" else out_channels
        widths = [in_channels] + [inner] * (num_layers - 1) + [last]
        self.act, self.dropout = activation(act), dropout
        self.convs = nn.ModuleList(
            self.conv(a, b, final=jk == "none" and number == num_layers - 1, **settings)
            for number, (a, b) in enumerate(itertools.pairwise(widths))
        )
        self.lin = nn.Linear(inner, out_channels) if jk == "last" else None

    @abc.abstractmethod
    def conv(self, in_channels: int, out_channels: int, *, final: bool, **settings: Any) -> Any:
        """Return one layer; ``final`` for the one that gives the output."""

    def forward(self, data: Data) -> Tensor:
        """Return one row per node."""
        x: Any = kernels.input_features(data.x)
        for number, conv in enumerate(self.convs):
            x = self.apply_conv(conv, x, data, number)
            if number + 1 < len(self.convs) or self.lin is not None:
                x = kernels.dropout(self.act(x), self.dropout, training=self.training)
        out: Tensor = x if self.lin is None else self.lin(x)
        return out

    def apply_conv(self, conv: nn.Module, x: Any, data: Data, number: int) -> Tensor:
        """Apply layer ``number``; subclasses override it where the layer needs more than edges."""
        return convolve(conv, x, data, layer=number, constant=number == 0)


@register_model(task_types=ALL, name="stack.GCN")
class StackedGCN(Stack):
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
        super().__init__(
            in_channels, hidden_channels, out_channels, num_layers=num_layers, width=width, act=act, dropout=dropout
        )

    def conv(self, in_channels: int, out_channels: int, *, final: bool, **settings: Any) -> Any:
        """Return a graph convolution."""
        return GCNConv(in_channels, out_channels)


@register_model(task_types=ALL, name="stack.GraphSAGE")
class StackedSAGE(Stack):
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
            in_channels, hidden_channels, out_channels, num_layers=num_layers, width=width, act=act, dropout=dropout,
            jk=jk, aggr=aggr,
        )  # fmt: skip

    def conv(self, in_channels: int, out_channels: int, *, final: bool, **settings: Any) -> Any:
        """Return a layer that keeps the node's own features apart."""
        return SAGEConv(in_channels, out_channels, **settings)


@register_model(task_types=ALL, name="stack.GAT")
class StackedGAT(Stack):
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
        self.attention_dropout = dropout
        super().__init__(
            in_channels, hidden_channels, out_channels, num_layers=num_layers, width=inner, act=act, dropout=dropout,
            heads=heads, concat=concat,
        )  # fmt: skip

    def conv(self, in_channels: int, out_channels: int, *, final: bool, **settings: Any) -> Any:
        """Return an attention layer."""
        heads, concat = settings["heads"], settings["concat"] and not final
        per_head = out_channels // heads if concat else out_channels
        return GATConv(in_channels, per_head, heads=heads, concat=concat, dropout=self.attention_dropout)


@register_model(task_types=ALL, name="stack.GIN")
class StackedGIN(Stack):
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
        super().__init__(
            in_channels, hidden_channels, out_channels, num_layers=num_layers, width=width, eps=eps, train_eps=train_eps
        )

    def conv(self, in_channels: int, out_channels: int, *, final: bool, **settings: Any) -> Any:
        """Return a sum of neighbours in front of a perceptron of two layers."""
        perceptron = nn.Sequential(
            nn.Linear(in_channels, out_channels), nn.ReLU(), nn.Linear(out_channels, out_channels)
        )
        return GINConv(perceptron, **settings)


def receivers(edge_index: Tensor, num_nodes: int) -> Tensor:
    """In-degree of every node."""
    return torch.bincount(edge_index[1], minlength=num_nodes)
