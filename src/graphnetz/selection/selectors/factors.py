"""ALORS: factors of the performance matrix, predicted from meta-features."""

from __future__ import annotations

import warnings

import numpy as np

from graphnetz._core.rng import generator
from graphnetz.selection.selectors.base import SELECTORS, FloatArray, Selector, column_mean


def masked_nmf(P: FloatArray, rank: int, *, iterations: int = 100, seed: int = 0) -> tuple[FloatArray, FloatArray]:
    """Non-negative factors ``U [graphs, rank]``, ``V [models, rank]`` of the observed entries.

    Multiplicative updates on the masked squared error (Lee and Seung, 2001; Zhang et al., 2006).
    """
    seen = np.isfinite(P)
    target = np.where(seen, np.maximum(P, 0.0), 0.0)
    rng = generator("nmf", seed, *P.shape)
    scale = np.sqrt(max(target.sum() / max(seen.sum(), 1), 1e-12) / rank)
    U = scale * (0.5 + rng.random((P.shape[0], rank)))
    V = scale * (0.5 + rng.random((P.shape[1], rank)))
    for _ in range(iterations):
        U *= (target @ V) / (((U @ V.T) * seen) @ V + 1e-12)
        V *= (target.T @ U) / (((U @ V.T) * seen).T @ U + 1e-12)
    return U, V


@SELECTORS.register("alors")
class ALORS(Selector):
    """Matrix factorisation plus a regressor from meta-features to graph factors (Misir and Sebag, 2017)."""

    name, title = "alors", "ALORS"

    def __init__(self, *, rank: int = 32, seed: int = 0) -> None:
        super().__init__(seed=seed)
        self.rank = rank

    def _fit(self, P: FloatArray, M: FloatArray) -> None:
        from sklearn.exceptions import ConvergenceWarning
        from sklearn.neural_network import MLPRegressor

        U, self._models = masked_nmf(P, min(self.rank, *P.shape), seed=self.seed)
        unseen = ~np.isfinite(P).any(axis=0)
        self._offset = np.where(unseen, column_mean(P), 0.0)
        self._models[unseen] = 0.0
        self._centre, self._spread = U.mean(axis=0), float(U.std(axis=0).max()) + 1e-12
        self._mlp = MLPRegressor(hidden_layer_sizes=(128, 128), max_iter=500, random_state=self.seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            self._mlp.fit(M, (U - self._centre) / self._spread)

    def _predict(self, M: FloatArray) -> FloatArray:
        factors = self._mlp.predict(M).reshape(len(M), -1) * self._spread + self._centre
        return np.asarray(factors @ self._models.T + self._offset)
