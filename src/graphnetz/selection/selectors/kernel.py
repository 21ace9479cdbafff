"""Our own selector: kernel regression and forests on ranked meta-features, blended by leave-one-out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from graphnetz.selection.scoring import selection_scores
from graphnetz.selection.selectors.base import SELECTORS, FloatArray, Selector, complete, mid_ranks, unit_range

_GAPS = (0.1, 0.2, 0.4, 0.8)
_WIDTHS = (0.35, 0.7, 1.4)
_RIDGES = (0.03, 0.1, 0.3)
_FOREST_TARGETS = ("unit", "gap_0.2")


@dataclass(frozen=True)
class _Ridge:
    """One member of the kernel family: which target, how wide, how smooth."""

    target: str
    width: float
    ridge: float


@SELECTORS.register("kernel")
class KernelSelector(Selector):
    """Blend of kernel ridge regressions and random forests chosen on the training graphs.

    Meta-features are replaced by their mid-ranks among the training graphs, so that only their order
    counts. Every member predicts a transformed performance (what matters is who is near the top, so
    the transforms stretch the top of each row). Predictions for the training graphs themselves are
    made without the graph in question: in closed form for kernels, out of bag for forests. Members
    enter the blend greedily while they raise AUC plus NDCG@1 on these (Caruana et al., 2004).

    Parameters
    ----------
    steps
        Size of the blend; members may enter more than once.
    trees
        Trees per forest; 0 leaves forests out.
    """

    name, title = "kernel", "Kernel blend"

    def __init__(self, *, steps: int = 16, trees: int = 100, seed: int = 0) -> None:
        super().__init__(seed=seed)
        self.steps, self.trees = steps, trees

    def _learn_scaling(self, meta: FloatArray) -> None:
        self._keep = np.flatnonzero(meta.max(axis=0) > meta.min(axis=0))
        self._sorted = np.sort(meta[:, self._keep], axis=0)

    def _scale(self, meta: FloatArray) -> FloatArray:
        clean = np.nan_to_num(meta, nan=0.0, posinf=0.0, neginf=0.0)[:, self._keep]
        return mid_ranks(self._sorted, clean)

    def _fit(self, P: FloatArray, M: FloatArray) -> None:
        self._meta = M
        self._filled = complete(P)
        self._targets = _targets(self._filled)
        self._means = {key: value.mean(axis=0) for key, value in self._targets.items()}
        distance = _distances(M, M)
        positive = distance[distance > 0]
        self._unit = float(np.median(positive)) if positive.size else 1.0
        self._bases = {width: np.linalg.eigh(np.exp(-distance / (width * self._unit))) for width in _WIDTHS}
        library: dict[Any, FloatArray] = {
            _Ridge(key, width, ridge): self._left_out(key, width, ridge)
            for key in self._targets
            for width in _WIDTHS
            for ridge in _RIDGES
        }
        self._forests: dict[str, Any] = {}
        if self.trees and len(P) >= 20 and M.shape[1]:
            for key in _FOREST_TARGETS:
                library[key] = self._grow(key)
        self._blend = _greedy({key: _standard(value) for key, value in library.items()}, P, steps=self.steps)
        self._forests = {key: forest for key, forest in self._forests.items() if key in self._blend}

    def _left_out(self, key: str, width: float, ridge: float) -> FloatArray:
        """Leave-one-out predictions in closed form: (H y - h y) / (1 - h) with h the diagonal of H."""
        values, vectors = self._bases[width]
        hat = (vectors * (values / (values + ridge))) @ vectors.T
        own = np.diag(hat)[:, None]
        centred = self._targets[key] - self._means[key]
        return np.asarray(self._means[key] + (hat @ centred - own * centred) / np.maximum(1.0 - own, 1e-9))

    def _grow(self, key: str) -> FloatArray:
        """Fit a forest on the principal parts of a target and return out-of-bag predictions."""
        from sklearn.ensemble import RandomForestRegressor

        centred = self._targets[key] - self._means[key]
        parts = np.linalg.svd(centred, full_matrices=False)[2][:32]
        forest = RandomForestRegressor(self.trees, max_features=0.15, oob_score=True, random_state=self.seed)
        forest.fit(self._meta, centred @ parts.T)
        self._forests[key] = (forest, parts)
        inside = np.nan_to_num(np.asarray(forest.oob_prediction_)).reshape(len(centred), -1)
        return np.asarray(self._means[key] + inside @ parts)

    def _predict(self, M: FloatArray) -> FloatArray:
        distance = _distances(M, self._meta)
        total = np.zeros((len(M), self.num_models))
        for member, weight in self._blend.items():
            if isinstance(member, _Ridge):
                values, vectors = self._bases[member.width]
                centred = self._targets[member.target] - self._means[member.target]
                weights = (vectors / (values + member.ridge)) @ (vectors.T @ centred)
                near = np.exp(-distance / (member.width * self._unit))
                predicted = self._means[member.target] + near @ weights
            else:
                forest, parts = self._forests[member]
                predicted = self._means[member] + forest.predict(M).reshape(len(M), -1) @ parts
            total += weight * _standard(predicted)
        return total


def _distances(a: FloatArray, b: FloatArray) -> FloatArray:
    from scipy.spatial.distance import cdist

    return np.asarray(cdist(a, b))


def _standard(values: FloatArray) -> FloatArray:
    spread = values.std(axis=1, keepdims=True)
    return np.asarray((values - values.mean(axis=1, keepdims=True)) / np.where(spread > 0, spread, 1.0))


def _targets(P: FloatArray) -> dict[str, FloatArray]:
    """Transforms of the performances: unit range, standardised, and closeness to the best of the row."""
    high = P.max(axis=1, keepdims=True)
    scale = float(np.median(high - np.median(P, axis=1, keepdims=True))) or 1.0
    out = {"unit": unit_range(P), "standard": _standard(P)}
    for gap in _GAPS:
        out[f"gap_{gap}"] = np.exp(-(high - P) / (gap * scale))
    return out


def _quality(P: FloatArray, scores: FloatArray) -> float:
    mean = selection_scores(P, scores).mean()
    return mean["auc"] + mean["ndcg1"]


def _greedy(library: dict[Any, FloatArray], P: FloatArray, *, steps: int) -> dict[Any, float]:
    """Weights of a blend grown one member at a time from the best three."""
    alone = {key: _quality(P, value) for key, value in library.items()}
    start = sorted(alone, key=lambda key: -alone[key])[:3]
    count: dict[Any, int] = dict.fromkeys(start, 1)
    total = np.sum([library[key] for key in start], axis=0)
    pool = sorted(alone, key=lambda key: -alone[key])[:24]
    forests = [key for key in library if isinstance(key, str) and key not in pool]
    for _ in range(steps - len(start)):
        quality = {key: _quality(P, total + library[key]) for key in (*pool, *forests)}
        best = max(quality, key=lambda key: quality[key])
        count[best] = count.get(best, 0) + 1
        total = total + library[best]
    size = sum(count.values())
    return {key: number / size for key, number in count.items()}
