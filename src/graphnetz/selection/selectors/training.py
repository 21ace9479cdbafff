"""Small pieces shared by the selectors that are trained by gradients."""

from __future__ import annotations

import copy
import math
from abc import abstractmethod
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from graphnetz._core.rng import generator, training_context
from graphnetz.selection.selectors.base import FloatArray, Selector, column_mean

if TYPE_CHECKING:
    from torch import Tensor, nn


def holdout(n: int, *, seed: int, fraction: float = 0.2) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Split row numbers into training and validation; with fewer than five rows both are all rows."""
    if n < 5:
        return np.arange(n), np.arange(n)
    order = generator("holdout", seed, n).permutation(n)
    size = max(1, round(fraction * n))
    return np.sort(order[size:]), np.sort(order[:size])


def masked_mse(predicted: Tensor, target: Tensor) -> Tensor:
    """Mean squared error over the observed (not NaN) entries of ``target``."""
    seen = ~target.isnan()
    error = (predicted - target.nan_to_num()) * seen
    return (error * error).sum() / seen.sum().clamp(min=1)


class EarlyStop:
    """Keeps the weights with the lowest validation loss, and says when to stop.

    The best weights are restored however training ends, whether it was stopped or ran through.
    """

    def __init__(self, net: nn.Module, patience: int) -> None:
        self._net, self._patience = net, patience
        self._loss, self._wait = math.inf, 0
        self._state = copy.deepcopy(net.state_dict())

    def done(self, loss: float) -> bool:
        """Record one epoch; True after ``patience`` epochs without improvement."""
        if loss < self._loss:
            self._loss, self._wait = loss, 0
            self._state = copy.deepcopy(self._net.state_dict())
            return False
        self._wait += 1
        return self._wait >= self._patience

    def best(self) -> nn.Module:
        """Return the network with its best weights, ready to predict."""
        self._net.load_state_dict(self._state)
        return self._net.eval()


class NetworkSelector(Selector):
    """A network from meta-features to the performances of all models, with masked squared error.

    Subclasses build the network; ``batch`` None trains on all graphs at once.
    """

    decay = 0.0

    def __init__(self, *, epochs: int, lr: float, batch: int | None, patience: int, seed: int) -> None:
        super().__init__(seed=seed)
        self.epochs, self.lr, self.batch, self.patience = epochs, lr, batch, patience

    @abstractmethod
    def network(self, features: int, models: int) -> Any:
        """Return the untrained network: ``[graphs, features]`` to ``[graphs, models]``."""

    def _fit(self, P: FloatArray, M: FloatArray) -> None:
        import torch

        train, valid = holdout(len(P), seed=self.seed)
        self._unseen = ~np.isfinite(P).any(axis=0)
        self._fallback = column_mean(P)
        with training_context(self.seed):
            x, y = torch.tensor(M, dtype=torch.float32), torch.tensor(P, dtype=torch.float32)
            net = self.network(M.shape[1], P.shape[1])
            optimiser = torch.optim.Adam(net.parameters(), lr=self.lr, weight_decay=self.decay)
            stop = EarlyStop(net, self.patience)
            for _ in range(self.epochs):
                net.train()
                rows = torch.tensor(train)
                if self.batch is not None:
                    rows = rows[torch.randperm(len(rows))]
                for part in torch.split(rows, self.batch or len(rows)):
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
