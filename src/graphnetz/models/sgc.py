"""SGC (Wu et al., 2019): propagation without anything between the hops."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch_geometric.data import Data

import graphnetz.kernels as kernels
from graphnetz.models.spec import ALL, register_model


@register_model(task_types=ALL)
class SGC(nn.Module):
    """Normalised propagations of the features followed by one linear layer.

    Parameters
    ----------
    in_channels, hidden_channels, out_channels
        Width of the node features, of hidden layers, and of the output.
    K
        Number of propagations.
    bias
        Whether the linear layer has one.

    Examples
    --------
    >>> import torch
    >>> from torch_geometric.data import Data
    >>> from graphnetz.models import SGC
    >>> data = Data(x=torch.eye(3), edge_index=torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]))
    >>> SGC(3, 8, 2)(data).shape
    torch.Size([3, 2])
    """

    level = "node"

    def __init__(
        self, in_channels: int, hidden_channels: int, out_channels: int, K: int = 2, bias: bool = True
    ) -> None:
        super().__init__()
        del hidden_channels  # there is no hidden layer
        self.lin = nn.Linear(in_channels, out_channels, bias=bias)
        self.hops = K

    def forward(self, data: Data) -> Tensor:
        """Return one row per node."""
        x = data.x
        if not kernels.usable(x):
            from torch_geometric.nn.conv.gcn_conv import gcn_norm

            index, weight = gcn_norm(data.edge_index, num_nodes=x.size(0), dtype=x.dtype)
            matrix = torch.sparse_coo_tensor(index.flip(0), weight, (x.size(0), x.size(0)))
            for _ in range(self.hops):
                x = torch.sparse.mm(matrix, x)
            return self.lin(x)  # type: ignore[no-any-return]
        structure = kernels.structure_of(data.edge_index, x.size(0)).with_self_loops
        # Propagation is linear: it is done on the narrower side of the linear layer, and only once for
        # features that never change.
        if x.requires_grad and self.lin.out_features < x.size(1):
            x = nn.functional.linear(x, self.lin.weight)
            for _ in range(self.hops):
                x = kernels.gcn_aggregate(structure, x)
            return x if self.lin.bias is None else x + self.lin.bias
        for _ in range(self.hops):
            x = kernels.gcn_aggregate(structure, x) if x.requires_grad else _kept(structure, x)
        return self.lin(x)  # type: ignore[no-any-return]


def _kept(structure: kernels.Structure, x: Tensor) -> Tensor:
    return kernels.propagated_features(structure, x, kind="gcn")
