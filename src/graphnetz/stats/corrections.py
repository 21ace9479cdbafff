"""Corrections for reading many p-values at once."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from graphnetz._core.errors import UsageError
from graphnetz._core.registry import Registry
from graphnetz.stats._common import Floats

Correction = Callable[[Floats], Floats]
"""``correction(p) -> adjusted`` along the last axis, so that simulations correct many families at once; no NaN."""

CORRECTIONS: Registry[Correction] = Registry("correction", entry_points="graphnetz.corrections", accepts=callable)
"""Corrections for several tests, by name: p-values of one family in, adjusted p-values out. Plug-ins add more."""


def adjust(p: npt.ArrayLike, *, method: str = "holm") -> Floats:
    """Return adjusted p-values of one family.

    Parameters
    ----------
    p
        Raw p-values of the family. NaN (an undefined test) stays NaN but still counts in the size
        of the family: the comparison was asked for, so leaving it out would make the others look
        better than they are.
    method
        ``"holm"`` and ``"bonferroni"`` hold the family-wise error rate, ``"bh"`` the false
        discovery rate.

    Returns
    -------
    ndarray
        Adjusted p-values in the order of ``p``, at most 1.

    Examples
    --------
    >>> from graphnetz.stats import adjust
    >>> adjust([0.01, 0.04, 0.03]).round(4).tolist()
    [0.03, 0.06, 0.06]
    """
    correct = CORRECTIONS[method]
    raw = np.asarray(p, dtype=np.float64)
    if raw.ndim != 1:
        raise UsageError(f"p has {raw.ndim} dimensions; pass the p-values of one family in a one-dimensional array.")
    undefined = np.isnan(raw)
    if (raw[~undefined] < 0).any() or (raw[~undefined] > 1).any():
        raise UsageError("p holds values outside 0..1; pass p-values.")
    if raw.size == 0:
        return raw.copy()
    # 1 is never rejected, and still makes the family one larger.
    adjusted = correct(np.where(undefined, 1.0, raw))
    return np.where(undefined, np.nan, adjusted)


@CORRECTIONS.register("holm")
def _holm(p: Floats) -> Floats:
    """Holm (1979) step-down: (m - r + 1) p_(r), made monotone from the smallest upwards."""
    order = np.argsort(p, axis=-1, kind="stable")
    steps = np.take_along_axis(p, order, -1) * np.arange(p.shape[-1], 0, -1)
    # An adjusted p may not fall below that of a smaller raw p: Holm stops at the first it keeps.
    return _restore(np.maximum.accumulate(steps, axis=-1), order)


@CORRECTIONS.register("bonferroni")
def _bonferroni(p: Floats) -> Floats:
    adjusted: Floats = np.minimum(p * p.shape[-1], 1.0)
    return adjusted


@CORRECTIONS.register("bh")
def _benjamini_hochberg(p: Floats) -> Floats:
    """Benjamini and Hochberg (1995) step-up: m p_(r) / r, made monotone from the largest downwards."""
    order = np.argsort(p, axis=-1, kind="stable")
    m = p.shape[-1]
    steps = np.take_along_axis(p, order, -1) * m / np.arange(1, m + 1)
    # From the largest p down: a rejection carries all smaller p-values with it.
    return _restore(np.minimum.accumulate(steps[..., ::-1], axis=-1)[..., ::-1], order)


def _restore(ordered: Floats, order: npt.NDArray[np.intp]) -> Floats:
    result = np.empty_like(ordered)
    np.put_along_axis(result, order, np.minimum(ordered, 1.0), -1)
    return result
