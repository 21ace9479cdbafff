"""NCF: neural collaborative filtering with meta-features in place of user embeddings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphnetz.selection.selectors.base import SELECTORS
from graphnetz.selection.selectors.training import NetworkSelector

if TYPE_CHECKING:
    from torch import nn


@SELECTORS.register("ncf")
class NCF(NetworkSelector):
    """Product and MLP of graph and model embeddings (He et al., 2017), masked squared error."""

    name, title, decay = "ncf", "NCF", 1e-4

    def __init__(
        self, *, epochs: int = 500, lr: float = 1e-3, batch: int = 64, patience: int = 20, seed: int = 0
    ) -> None:
        super().__init__(epochs=epochs, lr=lr, batch=batch, patience=patience, seed=seed)

    def network(self, features: int, models: int) -> nn.Module:
        """Return the two branches."""
        return _network(features, models)


def _network(features: int, models: int, dim: int = 32) -> nn.Module:
    import torch
    from torch import nn

    class Network(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embedding = nn.Embedding(models, 128)
            self.model = nn.Sequential(nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, dim))
            self.graph = nn.Sequential(nn.Linear(features, 128), nn.ReLU(), nn.Linear(128, dim))
            # The first layer acts on [graph, model]; as a sum of two maps it is computed once per
            # graph and once per model instead of once per pair.
            self.left, self.right = nn.Linear(dim, dim), nn.Linear(dim, dim, bias=False)
            self.second = nn.Linear(dim, dim)
            self.mlp_out, self.product_out = nn.Linear(dim, 1), nn.Linear(dim, 1, bias=False)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            g, m = self.graph(x), self.model(self.embedding.weight)
            pair = torch.relu(self.left(g)[:, None, :] + self.right(m)[None, :, :])
            deep = self.mlp_out(torch.relu(self.second(pair))).squeeze(-1)
            scores: torch.Tensor = deep + (g * self.product_out.weight) @ m.T
            return scores

    return Network()
