"""S2: one network from meta-features to the performances of all models."""

from __future__ import annotations

from typing import Any

from graphnetz.selection.selectors.base import SELECTORS
from graphnetz.selection.selectors.training import NetworkSelector


@SELECTORS.register("s2")
class SupervisedSurrogate(NetworkSelector):
    """Supervised surrogate (Xu et al., 2012): an MLP with masked squared error."""

    name, title = "s2", "S2"

    def __init__(
        self, *, hidden: int = 128, epochs: int = 500, lr: float = 1e-3, patience: int = 20, seed: int = 0
    ) -> None:
        super().__init__(epochs=epochs, lr=lr, batch=None, patience=patience, seed=seed)
        self.hidden = hidden

    def network(self, features: int, models: int) -> Any:
        """Return one hidden layer."""
        from torch import nn

        return nn.Sequential(nn.Linear(features, self.hidden), nn.ReLU(), nn.Linear(self.hidden, models))
