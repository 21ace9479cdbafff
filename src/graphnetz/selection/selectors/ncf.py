"""NCF: neural collaborative filtering with meta-features in place of user embeddings."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from graphnetz._core.rng import training_context
from graphnetz.selection.selectors.base import SELECTORS, FloatArray, Selector, column_mean
from graphnetz.selection.selectors.training import EarlyStop, holdout, masked_mse

if TYPE_CHECKING:
    from torch import nn


@SELECTORS.register("ncf")
class NCF(Selector):
    """Product and MLP of graph and model embeddings (He et al., 2017), masked squared error."""

    name, title, uses_torch = "ncf", "NCF", True

    def __init__(
        self, *, epochs: int = 500, lr: float = 1e-3, batch: int = 64, patience: int = 20, seed: int = 0
    ) -> None:
        super().__init__(seed=seed)
        self.epochs, self.lr, self.batch, self.patience = epochs, lr, batch, patience

    def _fit(self, P: FloatArray, M: FloatArray) -> None:
        import torch

        train, valid = holdout(len(P), seed=self.seed)
        self._unseen = ~np.isfinite(P).any(axis=0)
        self._fallback = column_mean(P)
        with training_context(self.seed):
            x, y = torch.tensor(M, dtype=torch.float32), torch.tensor(P, dtype=torch.float32)
            net = _network(M.shape[1], P.shape[1])
            optimiser = torch.optim.Adam(net.parameters(), lr=self.lr, weight_decay=1e-4)
            stop = EarlyStop(net, self.patience)
            for _ in range(self.epochs):
                net.train()
                for part in torch.tensor(train)[torch.randperm(len(train))].split(self.batch):  # type: ignore[no-untyped-call]
                    optimiser.zero_grad()
                    masked_mse(net(x[part]), y[part]).backward()  # type: ignore[no-untyped-call]
                    optimiser.step()
                net.eval()
                with torch.no_grad():
                    loss = masked_mse(net(x[valid]), y[valid]).item()
                if stop.done(loss):
                    break
            self._net = stop.best()

    def _predict(self, M: FloatArray) -> FloatArray:
        import torch

        with torch.no_grad():
            out = self._net(torch.tensor(M, dtype=torch.float32)).double().numpy()
        return np.where(self._unseen, self._fallback, out)


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
