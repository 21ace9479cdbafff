"""MetaOD: factors trained on a smoothed ranking gain, predicted from meta-features by a forest."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from graphnetz._core.rng import generator
from graphnetz.selection.selectors.base import SELECTORS, FloatArray, Selector, column_mean, unit_range


@SELECTORS.register("metaod")
class MetaOD(Selector):
    """Meta-learning by smoothed DCG (Zhao, Rossi and Akoglu, 2021).

    Graph factors start at the principal components of the meta-features, model factors at random.
    """

    name, title = "metaod", "MetaOD"

    def __init__(self, *, rank: int = 32, epochs: int = 30, lr: float = 0.05, batch: int = 16, seed: int = 0) -> None:
        super().__init__(seed=seed)
        self.rank, self.epochs, self.lr, self.batch = rank, epochs, lr, batch

    def _fit(self, P: FloatArray, M: FloatArray) -> None:
        from sklearn.decomposition import PCA
        from sklearn.ensemble import RandomForestRegressor

        rng = generator("metaod", self.seed, *P.shape)
        rank = min(self.rank, *M.shape)
        U = PCA(rank, random_state=self.seed).fit_transform(M)
        U /= np.abs(U).max() + 1e-12
        unseen = ~np.isfinite(P).any(axis=0)
        gain = 10.0 ** unit_range(P) - 1.0
        V = 0.1 * rng.standard_normal((P.shape[1], rank))
        U, V = _optimise(U, V, gain, epochs=self.epochs, lr=self.lr, batch=self.batch, rng=rng)
        self._forest = RandomForestRegressor(100, max_depth=10, random_state=self.seed, max_features=0.33).fit(M, U)
        self._models = V
        self._models[unseen] = 0.0
        self._offset = np.where(unseen, column_mean(P) - column_mean(P).max(), 0.0)

    def _predict(self, M: FloatArray) -> FloatArray:
        return np.asarray(self._forest.predict(M).reshape(len(M), -1) @ self._models.T + self._offset)


def _optimise(
    U: FloatArray, V: FloatArray, gain: FloatArray, *, epochs: int, lr: float, batch: int, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray]:
    """Adam on both factor matrices; graphs in random batches."""
    state = [np.zeros_like(item) for item in (U, U, V, V)]
    seen = np.isfinite(gain)
    filled = np.where(seen, gain, 0.0)
    step = 0
    for _ in range(epochs):
        for rows in np.array_split(rng.permutation(len(U)), max(1, len(U) // batch)):
            step += 1
            slope = np.zeros((len(rows), len(V)))
            _gradient(U[rows] @ V.T, filled[rows], seen[rows], slope)
            slope /= np.maximum(filled[rows].sum(axis=1, keepdims=True), 1e-12)
            gradient_u = np.zeros_like(U)
            gradient_u[rows] = slope @ V
            gradient_v = slope.T @ U[rows] / len(rows)
            U = _adam(U, gradient_u, state[0], state[1], lr=lr, step=step)
            V = _adam(V, gradient_v, state[2], state[3], lr=lr, step=step)
    return U, V


def _adam(x: FloatArray, g: FloatArray, m: FloatArray, v: FloatArray, *, lr: float, step: int) -> FloatArray:
    m += 0.1 * (g - m)
    v += 0.001 * (g * g - v)
    return x - lr * (m / (1 - 0.9**step)) / (np.sqrt(v / (1 - 0.999**step)) + 1e-8)


@njit(cache=True, fastmath=True, nogil=True)
def _gradient(scores: Any, gain: Any, seen: Any, slope: Any) -> None:
    """Gradient of ``-sum_i gain_i / ln(phi_i)`` by the scores, ``phi_i = 1.5 + sum_j sigmoid(s_j - s_i)``.

    ``sigmoid(-x) = 1 - sigmoid(x)`` halves the pairs.
    """
    n, m = scores.shape
    phi = np.empty(m)
    weight = np.empty(m)
    kept = np.empty((m, m))  # the second pass needs the same sigmoids
    for r in range(n):
        phi[:] = 1.5
        for i in range(m):
            if not seen[r, i]:
                continue
            own = 0.0
            for j in range(i + 1, m):
                if seen[r, j]:
                    value = 1.0 / (1.0 + np.exp(scores[r, i] - scores[r, j]))
                    kept[i, j] = value
                    own += value
                    phi[j] += 1.0 - value
            phi[i] += own
        for i in range(m):
            log = np.log(phi[i])
            weight[i] = gain[r, i] / (log * log * phi[i])
        for i in range(m):
            if not seen[r, i]:
                continue
            own = 0.0
            for j in range(i + 1, m):
                if seen[r, j]:
                    value = kept[i, j]
                    # d phi_i / d s_j = value (1 - value) = - d phi_i / d s_i, and the same for phi_j
                    change = value * (1.0 - value) * (weight[i] - weight[j])
                    own -= change
                    slope[r, j] += change
            slope[r, i] += own
