"""Sixty-three numbers that describe a distribution, in the order of GLEMOS (Park et al., 2023, Table 20)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]

_SIDES = ("all", "low", "high")

STATISTICS: tuple[str, ...] = (
    *("mean", "median", "min", "max", "var", "std", "entropy", "entropy_normalised", "gini", "cv"),
    *("mad", "mean_abs_dev", "quartile_dispersion", "snr", "cv_squared", "dispersion", "skew"),
    *("kurtosis_fisher", "kurtosis_pearson", "kurtosis_fisher_unbiased", "kurtosis_pearson_unbiased"),
    *("geometric_mean", "harmonic_mean"),
    *(f"outside_1.5iqr_fraction_{side}" for side in _SIDES),
    *(f"outside_1.5iqr_count_{side}" for side in _SIDES),
    *(f"outside_3iqr_fraction_{side}" for side in _SIDES),
    *(f"outside_3iqr_count_{side}" for side in _SIDES),
    *("fence_3iqr_low", "fence_3iqr_high", "iqr", "q1", "q3", "fence_1.5iqr_low", "fence_1.5iqr_high"),
    *(f"outside_{k}sigma_{what}_{side}" for k in (1, 2, 3) for what in ("count", "fraction") for side in _SIDES),
    *("mode", "mode_count", "mode_fraction"),
)
"""Names of the statistics, in order."""


def statistics63(values: npt.ArrayLike) -> FloatArray:
    """Describe one distribution with the numbers named in `STATISTICS`.

    Parameters
    ----------
    values
        Numbers of any shape; they are read as one distribution.

    Returns
    -------
    ndarray
        63 values in the order of `STATISTICS`; undefined ones are 0.

    Examples
    --------
    >>> from graphnetz.selection import statistics63
    >>> statistics63([1, 2, 2, 3])[:4].tolist()
    [2.0, 2.0, 1.0, 3.0]
    """
    raw = np.asarray(values).ravel()
    if raw.size == 0:
        return np.zeros(len(STATISTICS))
    ordered = np.sort(raw)
    x = ordered.astype(np.float64)
    with np.errstate(all="ignore"):
        parts = [*_moments(x), *_spread(x), *_shape(x), *_means(x), *_fences(x), *_sigmas(x), *_mode(ordered)]
    out = np.asarray(parts, dtype=np.float64)
    out[~np.isfinite(out)] = 0.0
    return out


def _moments(x: FloatArray) -> list[float]:
    var = x.var()
    return [x.mean(), _median(x), x[0], x[-1], var, np.sqrt(var)]


def _median(ordered: FloatArray) -> float:
    n = len(ordered)
    return float((ordered[(n - 1) // 2] + ordered[n // 2]) / 2)


def _quartiles(x: FloatArray) -> tuple[np.float64, np.float64]:
    """Order statistics at n/2 -+ n/4, as the reference takes them; NumPy scalars divide by zero quietly."""
    n = len(x)
    return x[n // 2 - n // 4], x[min(n // 2 + n // 4, n - 1)]


def _spread(x: FloatArray) -> list[float]:
    n, mean, var = len(x), x.mean(), x.var()
    share = x / x.sum()
    positive = share[share > 0]
    entropy = float(-(positive * np.log(positive)).sum()) if (share >= 0).all() else np.nan
    shifted = (x - x[0] if x[0] < 0 else x) + 1e-7
    gini = (2 * np.arange(1, n + 1) - n - 1) @ shifted / (n * shifted.sum())
    deviation = np.abs(x - _median(x))
    middle = np.partition(deviation, [(n - 1) // 2, n // 2])
    mad = (middle[(n - 1) // 2] + middle[n // 2]) / 2
    q1, q3 = _quartiles(x)
    snr, noise = mean**2 / var, var / mean**2
    return [
        *(entropy, entropy / np.log2(n), gini, np.sqrt(var) / mean, mad, np.abs(x - mean).mean()),
        *((q3 - q1) / (q3 + q1), snr, noise, var / mean),
    ]


def _shape(x: FloatArray) -> list[float]:
    n = len(x)
    centred = x - x.mean()
    square = centred * centred
    m2, m3, m4 = square.mean(), (square * centred).mean(), (square * square).mean()
    if m2 <= (np.finfo(float).eps * x.mean()) ** 2:  # constant up to rounding: moments are noise
        return [0.0] * 5
    fisher = m4 / m2**2 - 3
    unbiased = ((n**2 - 1) * m4 / m2**2 - 3 * (n - 1) ** 2) / ((n - 2) * (n - 3)) if n > 3 else fisher
    return [m3 / m2**1.5, fisher, fisher + 3, unbiased, unbiased + 3]


def _means(x: FloatArray) -> list[float]:
    geometric = np.exp(np.log(x).mean()) if x[0] > 0 else (0.0 if x[0] == 0 else np.nan)
    return [float(geometric), float(len(x) / (1 / (x + 1e-10)).sum())]


def _outside(x: FloatArray, low: float, high: float) -> list[float]:
    """Counts below, above and both, from sorted values."""
    below = int(np.searchsorted(x, low, side="left"))
    above = len(x) - int(np.searchsorted(x, high, side="right"))
    return [float(below + above), float(below), float(above)]


def _fences(x: FloatArray) -> list[float]:
    q1, q3 = _quartiles(x)
    iqr = q3 - q1
    low1, high1, low3, high3 = q1 - 1.5 * iqr, q3 + 1.5 * iqr, q1 - 3 * iqr, q3 + 3 * iqr
    inner, outer = _outside(x, low1, high1), _outside(x, low3, high3)
    n = len(x)
    shares = [count / n for count in inner], [count / n for count in outer]
    return [*shares[0], *inner, *shares[1], *outer, low3, high3, iqr, q1, q3, low1, high1]


def _sigmas(x: FloatArray) -> list[float]:
    mean, std, n = x.mean(), x.std(), len(x)
    out: list[float] = []
    for k in (1, 2, 3):
        counts = _outside(x, mean - k * std, mean + k * std)
        out += [*counts, *(count / n for count in counts)]
    return out


def _mode(ordered: npt.NDArray[np.generic]) -> list[float]:
    starts = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))
    lengths = np.diff(np.concatenate([starts, [len(ordered)]]))
    best = int(lengths.argmax())  # the first of equal runs is the smallest value
    return [float(ordered[starts[best]]), float(lengths[best]), lengths[best] / len(ordered)]
