"""Selectors without learning: chance, and the model that did best on average."""

from __future__ import annotations

import numpy as np

from graphnetz._core.rng import generator
from graphnetz.selection.selectors.base import SELECTORS, FloatArray, Selector, column_mean


@SELECTORS.register("random")
class RandomSelector(Selector):
    """Uniform scores: the floor that any selector must clear.

    A graph's scores depend on its meta-features and the seed, not on its neighbours in the batch.
    """

    name, title = "random", "Random"

    def _fit(self, P: FloatArray, M: FloatArray) -> None: ...

    def _predict(self, M: FloatArray) -> FloatArray:
        rows = np.ascontiguousarray(M).view(np.uint64).reshape(len(M), -1)
        return np.stack([generator("random", self.seed, *map(int, row)).random(self.num_models) for row in rows])


@SELECTORS.register("gb_perf")
class GlobalPerformance(Selector):
    """Global best by mean performance, the same for every graph."""

    name, title = "gb_perf", "GB-Perf"

    def _fit(self, P: FloatArray, M: FloatArray) -> None:  # noqa: ARG002 - the same for every graph
        self._scores = column_mean(P)

    def _predict(self, M: FloatArray) -> FloatArray:
        return np.tile(self._scores, (len(M), 1))


@SELECTORS.register("gb_rank")
class GlobalRank(GlobalPerformance):
    """Global best by mean percentile rank among the observed models of each graph."""

    name, title = "gb_rank", "GB-Rank"

    def _fit(self, P: FloatArray, M: FloatArray) -> None:  # noqa: ARG002 - the same for every graph
        self._scores = column_mean(percentile_ranks(P))


def percentile_ranks(P: FloatArray) -> FloatArray:
    """Mid-ranks divided by the number of observed models of the row; missing stays missing."""
    from scipy.stats import rankdata

    ranks = rankdata(P, axis=1, nan_policy="omit")
    return np.asarray(ranks / np.isfinite(P).sum(axis=1, keepdims=True))
