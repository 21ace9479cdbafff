"""Our selector for real graphs: regression on landmarks that falls back to the best on average far from what it knows.

Every choice it makes (kernel, ridge, how far below the best still counts, how fast it falls back) is the one with the
least error on graphs whose whole domain was left out, since a user's graph comes from a domain of its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt

from graphnetz.selection.selectors.base import FloatArray, Selector, column_mean
from graphnetz.selection.selectors.lines import shares

_WIDTHS = (0.7, 1.5, 3.0)
_RIDGES = (0.1, 0.5, 2.0)
_DEPTHS = (0.05, 0.15)
"""Shortfalls from the best beyond this count alike: which of two poor models is poorer does not matter."""

_REACHES = (0.5, 1.0, 2.0, np.inf)
"""Distances, in usual ones, at which the regression keeps 1/e of its weight."""


@dataclass(frozen=True, eq=False)
class _Choice:
    """Settings with the least left-out error."""

    width: float
    ridge: float
    depth: float
    reach: float
    share: float


class LandmarkSelector(Selector):
    """Kernel ridge regression of the shortfall from the best model, mixed with the mean by distance.

    Not one of `SELECTORS`: it wants landmarks and domains, which the published testbeds do not have.

    Examples
    --------
    >>> import numpy as np
    >>> from graphnetz.selection.selectors.landmark import LandmarkSelector
    >>> M = np.linspace(0, 1, 12)[:, None]
    >>> P = np.hstack([0.6 + 0.3 * M, 0.9 - 0.3 * M])
    >>> selector = LandmarkSelector().fit(P, M, np.arange(12) % 6)
    >>> selector.predict([[0.05], [0.95]]).argmax(axis=1).tolist()
    [1, 0]
    """

    name, title = "landmark", "Landmark"

    def _fit(self, P: FloatArray, M: FloatArray) -> None:
        self._known = M
        groups = np.arange(len(M)) if self.domains is None else np.unique(self.domains, return_inverse=True)[1]
        self._spread = np.maximum(M.std(axis=0), 1e-9)
        gap = self._gaps(M, M)
        apart = np.where(groups[:, None] == groups[None, :], np.inf, gap)
        nearest = apart.min(axis=1)
        self._unit = float(np.median(nearest[np.isfinite(nearest)])) if np.isfinite(nearest).any() else 1.0
        self.left_out_distance = nearest / self._unit
        """Distance of each known graph to the nearest of another domain, in usual ones."""
        level = np.nanmax(P, axis=1)
        weight = 1 / np.bincount(groups)[groups]  # a domain with many graphs counts once
        best: tuple[float, _Choice, FloatArray] | None = None
        domains = _domains(groups)
        for depth in _DEPTHS:
            target = self._targets(P, level, depth)
            centres = [shares @ target[rest] for _, rest, shares in domains]
            mean = np.zeros_like(target)
            for (out, _, _), centre in zip(domains, centres, strict=True):
                mean[out] = centre
            for width, ridge in product(_WIDTHS, _RIDGES):
                fitted = self._left_out(target, gap, domains, centres, width, ridge)
                for reach in _REACHES:
                    blended, share = _blend(target, mean, fitted, np.exp(-self.left_out_distance / reach))
                    loss = _chosen_regret(P, blended[:, :-1], level, weight)
                    if best is None or loss < best[0] - 1e-12:
                        best = (loss, _Choice(width, ridge, depth, reach, share), blended)
        assert best is not None
        _, self.choice, left_out = best
        self.left_out = left_out[:, :-1] + left_out[:, -1:]
        """Predicted performances of each known graph, its domain left out."""
        target = self._targets(P, level, self.choice.depth)
        self._mean = _domain_mean(target, groups)
        kernel = np.exp(-((gap / (self.choice.width * self._unit)) ** 2) / 2)
        self._weights = np.linalg.solve(kernel + self.choice.ridge * np.eye(len(M)), target - self._mean)

    def _predict(self, M: FloatArray) -> FloatArray:
        found = self._full(M)
        return found[:, :-1] + found[:, -1:]

    def _full(self, M: FloatArray) -> FloatArray:
        gap = self._gaps(M, self._known)
        kernel = np.exp(-((gap / (self.choice.width * self._unit)) ** 2) / 2)
        near = np.exp(-gap.min(axis=1, keepdims=True) / self._unit / self.choice.reach)
        return np.asarray(self._mean + self.choice.share * near * (kernel @ self._weights))

    def gaps(self, M_new: npt.ArrayLike) -> FloatArray:
        """Distances of new graphs to the known ones, in usual distances between domains."""
        meta = self._scale(np.atleast_2d(np.array(M_new, dtype=np.float64)))
        return np.asarray(self._gaps(meta, self._known) / self._unit)

    def _gaps(self, a: FloatArray, b: FloatArray) -> FloatArray:
        from scipy.spatial.distance import cdist

        return np.asarray(np.asarray(cdist(a / self._spread, b / self._spread)) / np.sqrt(max(a.shape[1], 1)))

    def _targets(self, P: FloatArray, level: FloatArray, depth: float) -> FloatArray:
        """Shortfall from the graph's best down to ``depth``, and the best itself in the last column."""
        short = np.maximum(P - level[:, None], -depth)
        short = np.where(np.isfinite(short), short, column_mean(short))
        return np.column_stack([short, level])

    def _left_out(
        self, target: FloatArray, gap: FloatArray, domains: list[_Domain], centres: list[FloatArray], width: float,
        ridge: float,
    ) -> FloatArray:  # fmt: skip
        """What the regression adds to the means of the other domains, domain after domain."""
        kernel = np.exp(-((gap / (width * self._unit)) ** 2) / 2)
        added = np.zeros_like(target)
        for (out, rest, _), centre in zip(domains, centres, strict=True):
            near = kernel[rest]
            inner = near[:, rest] + ridge * np.eye(len(rest))
            added[out] = near[:, out].T @ np.linalg.solve(inner, target[rest] - centre)
        return added


_Domain = tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], FloatArray]
"""Graphs of a domain, the others, and what each of those weighs in their mean."""


def _domains(groups: Any) -> list[_Domain]:
    found = []
    for group in np.unique(groups):
        out, rest = np.flatnonzero(groups == group), np.flatnonzero(groups != group)
        rest = rest if len(rest) else out
        found.append((out, rest, shares(groups[rest])))
    return found


def _domain_mean(target: FloatArray, groups: Any) -> FloatArray:
    """Mean over domains of the means within them: a domain with many graphs counts once."""
    return np.asarray(target.T @ shares(groups))


def _blend(target: FloatArray, mean: FloatArray, added: FloatArray, near: FloatArray) -> tuple[FloatArray, float]:
    """Mean plus the share of the regression that fits best, by least squares, between 0 and 1."""
    step = near[:, None] * added
    power = float((step * step).sum())
    share = float(np.clip((step * (target - mean)).sum() / power, 0.0, 1.0)) if power > 0 else 0.0
    return mean + share * step, share


def _chosen_regret(P: FloatArray, scores: FloatArray, level: FloatArray, domains: FloatArray) -> float:
    """Mean shortfall of the first choices, softened over near ties so that one lucky graph decides nothing."""
    seen = np.isfinite(P)
    values = np.where(seen, scores, -np.inf)
    weight = np.exp((values - values.max(axis=1, keepdims=True)) / 0.01)
    short = np.where(seen, level[:, None] - P, 0.0)
    return float(np.average((weight * short).sum(axis=1) / weight.sum(axis=1), weights=domains))
