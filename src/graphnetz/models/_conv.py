"""One place where encoders call their convolutions, so that the fast CPU path is one switch.

On the CPU the kernels compute what the PyTorch Geometric layer would, with the layer's parameters;
anywhere else, and for edge weights, the layer itself is called.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch_geometric.data import Data

import graphnetz.kernels as kernels


def edge_weight(data: Data) -> Tensor | None:
    """Scalar edge weights, when the data carries them."""
    weight = data.get("edge_weight")
    return None if weight is None else weight.reshape(-1)


def convolve(
    conv: nn.Module, x: Any, data: Data, *, layer: int, constant: bool = False, **options: Tensor | None
) -> Tensor:
    """Apply a PyTorch Geometric convolution.

    Parameters
    ----------
    layer
        Number of the layer, 0 first: a training pass restricted to the receptive field of the
        training nodes carries one structure per layer.
    constant
        The features are the dataset's own: a propagation of them is computed once and kept.
    **options
        Edge weights or attributes for the layer.
    """
    given = {key: value for key, value in options.items() if value is not None}
    if set(given) == {"edge_attr"}:
        return kernels.message_passing(conv, x, data.edge_index, edge_attr=given["edge_attr"])
    if given:
        dense = x if isinstance(x, Tensor) else x.to_dense()
        out: Tensor = conv(dense, data.edge_index, **given)
        return out
    graph = data.get("field")
    return kernels.message_passing(
        conv, x, kernels.at_layer(data.edge_index if graph is None else graph, layer), constant=constant
    )


def linear(layer: nn.Linear, x: Any) -> Tensor:
    """Apply a linear layer to dense features or to ones that are mostly zeros."""
    features = kernels.input_features(x)
    if isinstance(features, Tensor):
        out: Tensor = layer(features)
        return out
    return kernels.sparse_linear(features, layer.weight, layer.bias)


def wide_first(conv: nn.Module, width: int) -> None:
    """Store a wide first layer's weights column by column, which products with sparse features read fastest."""
    if width >= 256 and torch.get_default_dtype() in (torch.float32, torch.float64):
        kernels.column_major_(conv)
