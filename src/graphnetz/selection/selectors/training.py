"""Small pieces shared by the selectors that are trained by gradients."""

from __future__ import annotations

import copy
import math
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from graphnetz._core.rng import generator

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
