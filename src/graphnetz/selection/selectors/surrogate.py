"""S2: one network from meta-features to the performances of all models."""

from __future__ import annotations

import numpy as np

from graphnetz._core.rng import training_context
from graphnetz.selection.selectors.base import SELECTORS, FloatArray, Selector, column_mean
from graphnetz.selection.selectors.training import EarlyStop, holdout, masked_mse


@SELECTORS.register("s2")
class SupervisedSurrogate(Selector):
    """Supervised surrogate (Xu et al., 2012): an MLP with masked squared error."""

    name, title, uses_torch = "s2", "S2", True

    def __init__(
        self, *, hidden: int = 128, epochs: int = 500, lr: float = 1e-3, patience: int = 20, seed: int = 0
    ) -> None:
        super().__init__(seed=seed)
        self.hidden, self.epochs, self.lr, self.patience = hidden, epochs, lr, patience

    def _fit(self, P: FloatArray, M: FloatArray) -> None:
        import torch
        from torch import nn

        train, valid = holdout(len(P), seed=self.seed)
        self._unseen = ~np.isfinite(P).any(axis=0)
        self._fallback = column_mean(P)
        with training_context(self.seed):
            x, y = torch.tensor(M, dtype=torch.float32), torch.tensor(P, dtype=torch.float32)
            net = nn.Sequential(nn.Linear(M.shape[1], self.hidden), nn.ReLU(), nn.Linear(self.hidden, P.shape[1]))
            optimiser = torch.optim.Adam(net.parameters(), lr=self.lr)
            stop = EarlyStop(net, self.patience)
            for _ in range(self.epochs):
                net.train()
                optimiser.zero_grad()
                masked_mse(net(x[train]), y[train]).backward()  # type: ignore[no-untyped-call]
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
