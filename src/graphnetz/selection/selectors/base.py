"""What every selector shares: checked inputs, own scaling, missing entries, fresh state per fit."""

from __future__ import annotations

import abc
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from graphnetz._core.errors import UsageError
from graphnetz._core.registry import Registry

FloatArray = npt.NDArray[np.float64]


class Selector(abc.ABC):
    """Learns from performances on known graphs which models suit a new one.

    A subclass writes `_fit` and `_predict`; both see finite, scaled meta-features. Scaling is
    learned in `fit`, that is from training graphs only, and unseen values are clipped to the range
    seen there. Every `fit` starts from nothing.

    Parameters
    ----------
    seed
        Fixes all randomness of `fit` and `predict`.

    Examples
    --------
    >>> import numpy as np
    >>> from graphnetz.selection import Selector
    >>> class Mean(Selector):
    ...     def _fit(self, P, M):
    ...         self.mean = np.nanmean(P, axis=0)
    ...     def _predict(self, M):
    ...         return np.tile(self.mean, (len(M), 1))
    >>> Mean().fit([[0.8, 0.6], [0.9, 0.7]], [[1.0], [2.0]]).predict([[1.5]]).round(2).tolist()
    [[0.85, 0.65]]
    """

    name: ClassVar[str] = ""
    title: ClassVar[str] = ""

    def __init__(self, *, seed: int = 0) -> None:
        self.seed = seed
        self.num_models = 0
        self.num_features = 0
        self.domains: npt.NDArray[Any] | None = None

    def fit(self, P: npt.ArrayLike, M: npt.ArrayLike, domains: npt.ArrayLike | None = None) -> Selector:
        """Learn from performances on known graphs.

        Parameters
        ----------
        P
            Performances ``[graphs, models]``, greater is better, NaN where missing.
        M
            One row of meta-features per graph; NaN counts as 0.
        domains
            Domain of each graph; kept as ``self.domains`` for selectors that use it.

        Returns
        -------
        Selector
            Itself.

        Examples
        --------
        >>> from graphnetz.selection import SELECTORS
        >>> selector = next(iter(SELECTORS.values()))()
        >>> selector.fit([[0.8, 0.6], [0.9, 0.7]], [[1.0], [2.0]]).num_models
        2
        """
        perf, meta = np.array(P, dtype=np.float64), np.array(M, dtype=np.float64)
        if perf.ndim != 2 or meta.ndim != 2 or len(perf) != len(meta):
            raise UsageError(
                f"P has shape {perf.shape} and M {meta.shape}. Give P [graphs, models] and M [graphs, features] "
                "with one row per graph in both."
            )
        perf[~np.isfinite(perf)] = np.nan
        rows = np.isfinite(perf).any(axis=1)
        if not rows.any():
            raise UsageError("P holds no observed performance. Give at least one graph with one score.")
        labels = None if domains is None else np.asarray(domains)
        if labels is not None and len(labels) != len(perf):
            raise UsageError(f"There are {len(perf)} graphs but {len(labels)} domains. Give one domain per graph.")
        self.num_models, self.num_features = perf.shape[1], meta.shape[1]
        self._learn_scaling(np.nan_to_num(meta[rows], nan=0.0, posinf=0.0, neginf=0.0))
        self.domains = None if labels is None else labels[rows]
        self._fit(perf[rows], self._scale(meta[rows]))
        return self

    def predict(self, M_new: npt.ArrayLike) -> FloatArray:
        """Score every model on every new graph.

        Parameters
        ----------
        M_new
            Meta-features ``[graphs, features]``, the same features as in `fit`.

        Returns
        -------
        ndarray
            Scores ``[graphs, models]``; greater is better.

        Examples
        --------
        >>> from graphnetz.selection import SELECTORS
        >>> selector = next(iter(SELECTORS.values()))()
        >>> selector.fit([[0.8, 0.6], [0.9, 0.7]], [[1.0], [2.0]]).predict([[1.5]]).shape
        (1, 2)
        """
        if not self.num_models:
            raise UsageError(f"{type(self).__name__} is not fitted. Call fit(P, M) first.")
        meta = np.atleast_2d(np.array(M_new, dtype=np.float64))
        if meta.shape[1] != self.num_features:
            raise UsageError(
                f"M_new has {meta.shape[1]} features, but the selector was fitted with {self.num_features}. "
                "Compute the same feature set."
            )
        return np.asarray(self._predict(self._scale(meta)), dtype=np.float64)

    def _learn_scaling(self, meta: FloatArray) -> None:
        low, high = meta.min(axis=0), meta.max(axis=0)
        self._low, self._span = low, np.where(high > low, high - low, 1.0)

    def _scale(self, meta: FloatArray) -> FloatArray:
        clean = np.nan_to_num(meta, nan=0.0, posinf=0.0, neginf=0.0)
        return np.asarray(np.clip((clean - self._low) / self._span, 0.0, 1.0))

    @abc.abstractmethod
    def _fit(self, P: FloatArray, M: FloatArray) -> None: ...

    @abc.abstractmethod
    def _predict(self, M: FloatArray) -> FloatArray: ...


SELECTORS: Registry[type[Selector]] = Registry("selector", entry_points="graphnetz.selectors", accepts=type[Selector])
"""Selector classes by name. A subclass of `Selector` that is registered here, or by a plug-in, joins every testbed."""


def mid_ranks(ordered: FloatArray, values: FloatArray) -> FloatArray:
    """Mid-ranks, in [0, 1], of each column of ``values`` among that column of ``ordered``, which is sorted."""
    out = np.empty_like(values)
    for column, known in enumerate(ordered.T):
        value = values[:, column]
        out[:, column] = np.searchsorted(known, value, "left") + np.searchsorted(known, value, "right")
    return out / (2 * len(ordered))


def unit_rows(x: FloatArray) -> FloatArray:
    """Rows of length one; a row of zeros stays as it is."""
    norm = np.linalg.norm(x, axis=1, keepdims=True)
    return x / np.where(norm > 0, norm, 1.0)


def unit_range(P: FloatArray) -> FloatArray:
    """Each row's observed entries stretched from 0 to 1; equal ones become 0."""
    low, high = np.nanmin(P, axis=1, keepdims=True), np.nanmax(P, axis=1, keepdims=True)
    return np.asarray((P - low) / np.where(high > low, high - low, 1.0))


def column_mean(P: FloatArray) -> FloatArray:
    """Mean of each model over its observed graphs; a model never observed gets the overall mean."""
    seen = np.isfinite(P)
    count = seen.sum(axis=0)
    total = np.where(seen, P, 0.0).sum(axis=0)
    overall = total.sum() / max(count.sum(), 1)
    return np.asarray(np.where(count > 0, total / np.maximum(count, 1), overall))


def fill_rows(P: FloatArray) -> FloatArray:
    """Replace missing entries by the mean of their row."""
    seen = np.isfinite(P)
    mean = np.where(seen, P, 0.0).sum(axis=1) / np.maximum(seen.sum(axis=1), 1)
    return np.where(seen, P, mean[:, None])


def complete(P: FloatArray, *, rank: int = 8, iterations: int = 60, shrink: float = 0.05) -> FloatArray:
    """Fill missing entries with row and column effects plus a shrunken low-rank part.

    Iterated soft-thresholded SVD (Mazumder, Hastie and Tibshirani, 2010). Observed entries stay.
    """
    seen = np.isfinite(P)
    if seen.all():
        return P
    row = fill_rows(P).mean(axis=1, keepdims=True)
    effect = column_mean(np.where(seen, P - row, np.nan))
    base = row + effect
    residual = np.where(seen, P - base, 0.0)
    low = np.zeros_like(residual)
    threshold: float | None = None
    for _ in range(iterations):
        u, s, vt = np.linalg.svd(np.where(seen, residual, low), full_matrices=False)
        threshold = shrink * s[0] if threshold is None else threshold
        s = np.maximum(s[:rank] - threshold, 0.0)
        new = (u[:, :rank] * s) @ vt[:rank]
        if np.abs(new - low).max() < 1e-5:
            low = new
            break
        low = new
    return np.where(seen, P, base + low)
