"""Selectors that look for similar graphs: clusters (ISAC) and the nearest graph (AS)."""

from __future__ import annotations

import numpy as np

from graphnetz.selection.selectors.base import SELECTORS, FloatArray, Selector, column_mean, fill_rows, unit_rows


@SELECTORS.register("isac")
class ISAC(Selector):
    """Mean performance within the k-means cluster of the graph (Kadioglu et al., 2010)."""

    name, title = "isac", "ISAC"

    def __init__(self, *, clusters: int = 5, seed: int = 0) -> None:
        super().__init__(seed=seed)
        self.clusters = clusters

    def _fit(self, P: FloatArray, M: FloatArray) -> None:
        from sklearn.cluster import KMeans

        distinct = len(np.unique(M, axis=0))
        self._kmeans = KMeans(min(self.clusters, distinct), n_init=10, random_state=self.seed).fit(M)
        everywhere = column_mean(P)
        means = []
        for cluster in range(self._kmeans.n_clusters):
            member = P[self._kmeans.labels_ == cluster]
            seen = np.isfinite(member).any(axis=0)
            means.append(np.where(seen, column_mean(member), everywhere))
        self._means = np.stack(means)

    def _predict(self, M: FloatArray) -> FloatArray:
        return np.asarray(self._means[self._kmeans.predict(M)])


@SELECTORS.register("as")
class NearestGraph(Selector):
    """Performances on the most similar graph by cosine (ARGOSMART; Nikolic et al., 2013)."""

    name, title = "as", "AS"

    def _fit(self, P: FloatArray, M: FloatArray) -> None:
        self._known = unit_rows(M)
        self._performance = fill_rows(P)

    def _predict(self, M: FloatArray) -> FloatArray:
        return np.asarray(self._performance[(unit_rows(M) @ self._known.T).argmax(axis=1)])
