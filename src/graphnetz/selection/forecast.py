"""Predicted scores with honest intervals, expected cost, and how familiar a graph is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from graphnetz.selection.selectors.base import complete, mid_ranks

FloatArray = npt.NDArray[np.float64]

_WIDTHS = (0.35, 0.7, 1.4)
_RIDGES = (0.03, 0.1, 0.3, 1.0)


def ranked(known: FloatArray, new: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Mid-ranks of both tables among the rows of ``known``, in [0, 1]."""
    ordered = np.sort(known, axis=0)
    return mid_ranks(ordered, known), mid_ranks(ordered, new)


def distances(a: FloatArray, b: FloatArray) -> FloatArray:
    """Root mean square difference of rows."""
    from scipy.spatial.distance import cdist

    return np.asarray(np.asarray(cdist(a, b)) / np.sqrt(max(a.shape[1], 1)))


@dataclass(frozen=True, eq=False)
class Forecast:
    """Predicted performance of every configuration on one graph, with an interval."""

    mean: FloatArray
    low: FloatArray
    high: FloatArray
    level: float


def forecast(P: FloatArray, known: FloatArray, new: FloatArray, *, level: float = 0.9) -> Forecast:
    """Predict one graph's performances by kernel regression, with an interval from left-out errors.

    Width and smoothness are those with the least squared leave-one-out error. The interval spans the
    ``level`` quantile of the absolute leave-one-out errors, each divided by the typical error of its
    configuration (a conformal interval; Vovk et al., 2005, Lei et al., 2018).

    Parameters
    ----------
    P
        Performances ``[graphs, configurations]``, NaN where not measured.
    known, new
        Ranked meta-features of the graphs in ``P`` and (one row) of the new one.
    """
    seen = np.isfinite(P)
    filled = complete(P)
    centre = filled.mean(axis=0)
    distance = distances(known, known)
    unit = float(np.median(distance[distance > 0])) if (distance > 0).any() else 1.0
    best: tuple[float, float, float, FloatArray, FloatArray] | None = None
    for width in _WIDTHS:
        values, vectors = np.linalg.eigh(np.exp(-distance / (width * unit)))
        for ridge in _RIDGES:
            hat = (vectors * (values / (values + ridge))) @ vectors.T
            own = np.minimum(np.diag(hat), 1 - 1e-9)[:, None]
            left_out = centre + (hat @ (filled - centre) - own * (filled - centre)) / (1 - own)
            error = np.where(seen, P - left_out, np.nan)
            loss = float(np.nanmean(error**2))
            if best is None or loss < best[0]:
                weights = (vectors / (values + ridge)) @ (vectors.T @ (filled - centre))
                best = (loss, width, ridge, error, weights)
    assert best is not None
    _, width, _, error, weights = best
    near = np.exp(-distances(new, known) / (width * unit))
    mean = (centre + near @ weights)[0]
    overall = float(np.sqrt(np.nanmean(error**2)))
    count = seen.sum(axis=0)
    own_error = np.sqrt((np.nansum(error**2, axis=0) + 5 * overall**2) / (count + 5))  # few records: shrink
    own_error = np.maximum(own_error, 1e-12)
    relative = np.abs(error / own_error)
    relative = relative[np.isfinite(relative)]
    rank = min(1.0, level * (1 + 1 / max(len(relative), 1)))
    half = float(np.quantile(relative, rank)) * own_error
    # Shares such as accuracy and AUC cannot leave 0 to 1; losses, filed with a minus, are not shares.
    low, high = (0.0, 1.0) if np.nanmin(P) >= 0 and np.nanmax(P) <= 1 else (-np.inf, np.inf)
    below, above = np.clip(mean - half, low, high), np.clip(mean + half, low, high)
    return Forecast(np.clip(mean, low, high), below, above, level)


def expected_cost(cost: FloatArray, size: FloatArray, new_size: float | FloatArray) -> FloatArray:
    """Cost of each configuration on a graph of ``new_size``: one size for all, or one per configuration.

    Least squares of log cost on log size with one intercept per configuration and a common slope
    between 0 and 1.5; NaN for a configuration whose cost was never measured.
    """
    log_cost = np.log(np.where(cost > 0, cost, np.nan))
    sizes = size if size.ndim == 2 else size[:, None]
    log_size = np.broadcast_to(np.log(np.maximum(sizes, 1.0)), cost.shape)
    known = np.isfinite(log_cost)
    count = known.sum(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean_cost = np.where(known, log_cost, 0.0).sum(axis=0) / count
        mean_size = np.where(known, log_size, 0.0).sum(axis=0) / count
    dx = np.where(known, log_size - mean_size, 0.0)
    dy = np.where(known, log_cost - mean_cost, 0.0)
    spread = float((dx * dx).sum())
    slope = float(np.clip((dx * dy).sum() / spread, 0.0, 1.5)) if spread > 1e-12 else 1.0
    return np.asarray(np.exp(mean_cost + slope * (np.log(np.maximum(new_size, 1.0)) - mean_size)))


@dataclass(frozen=True)
class Familiarity:
    """How close the nearest known graphs are, and whether that is unusual."""

    nearest: tuple[tuple[str, float], ...]
    percentile: float
    outside: float
    warning: str


def familiarity(
    names: tuple[str, ...], known: FloatArray, new: FloatArray, *, neighbours: int = 3, level: float = 0.95
) -> Familiarity:
    """Compare the distance to the nearest known graph with the distances among known graphs.

    ``known`` and ``new`` are raw meta-features. Ranks saturate outside the known range, so the share
    of features outside it is compared as well.
    """
    a, b = ranked(known, new)
    gap = distances(b, a)[0]
    inner = distances(a, a)
    np.fill_diagonal(inner, np.inf)
    usual = inner.min(axis=1)
    order = np.argsort(gap, kind="stable")[:neighbours]
    percentile = float((usual <= gap.min()).mean())
    outside = float(((new[0] < known.min(axis=0)) | (new[0] > known.max(axis=0))).mean())
    usual_outside = _alone(known)
    reasons = []
    if len(names) > 2 and gap.min() > np.quantile(usual, level):
        reasons.append(f"its nearest known graph is farther than those of {percentile:.0%} of the known graphs")
    if len(names) > 2 and outside > max(np.quantile(usual_outside, level), 0.05):
        reasons.append(f"{outside:.0%} of its features lie outside the range seen so far")
    warning = f"This graph resembles none of the known ones: {' and '.join(reasons)}." if reasons else ""
    return Familiarity(tuple((names[i], float(gap[i])) for i in order), percentile, outside, warning)


def _alone(known: FloatArray) -> FloatArray:
    """Share of features of each known graph that lie outside the range of the others."""
    ordered = np.sort(known, axis=0)
    if len(known) < 2:
        return np.ones(len(known))
    low = (known == ordered[0]) & (ordered[0] < ordered[1])
    high = (known == ordered[-1]) & (ordered[-1] > ordered[-2])
    return np.asarray((low | high).mean(axis=1))
