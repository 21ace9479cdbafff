"""Metrics of real targets, and the loss that training records."""

from __future__ import annotations

import numpy as np

from graphnetz.metrics.declared import Array, metric


@metric("loss", "loss", greater_is_better=False, bounds=(0.0, np.inf))
def loss(target: Array, score: Array) -> float:
    """Placeholder for recorded losses: they are written by the training loop, never recomputed.

    Parameters
    ----------
    target
        True values.
    score
        Predictions of the same shape.

    Returns
    -------
    float
        Always NaN.

    Examples
    --------
    >>> import numpy as np
    >>> from graphnetz.metrics import loss
    >>> round(loss(np.array([1.0, 2.0, 3.0]), np.array([1.5, 2.0, 2.0])), 3)
    nan
    """
    return float("nan")


@metric("mae", "MAE", greater_is_better=False, bounds=(0.0, np.inf))
def mean_absolute_error(target: Array, score: Array) -> float:
    """Mean absolute error over all targets.

    Parameters
    ----------
    target
        True values.
    score
        Predictions of the same shape.

    Returns
    -------
    float
        At least 0, in units of the target; NaN without targets.

    Examples
    --------
    >>> import numpy as np
    >>> from graphnetz.metrics import mean_absolute_error
    >>> round(mean_absolute_error(np.array([1.0, 2.0, 3.0]), np.array([1.5, 2.0, 2.0])), 3)
    0.5
    """
    return float(np.abs(target.reshape(score.shape) - score).mean()) if target.size else float("nan")


@metric("rmse", "RMSE", greater_is_better=False, bounds=(0.0, np.inf))
def root_mean_square_error(target: Array, score: Array) -> float:
    """Root mean square error over all targets.

    Parameters
    ----------
    target
        True values.
    score
        Predictions of the same shape.

    Returns
    -------
    float
        At least 0, in units of the target; NaN without targets.

    Examples
    --------
    >>> import numpy as np
    >>> from graphnetz.metrics import root_mean_square_error
    >>> round(root_mean_square_error(np.array([1.0, 2.0, 3.0]), np.array([1.5, 2.0, 2.0])), 3)
    0.645
    """
    return float(np.sqrt(np.square(target.reshape(score.shape) - score).mean())) if target.size else float("nan")


@metric("mse", "MSE", greater_is_better=False, bounds=(0.0, np.inf))
def mean_square_error(target: Array, score: Array) -> float:
    """Mean square error over all targets.

    Parameters
    ----------
    target
        True values.
    score
        Predictions of the same shape.

    Returns
    -------
    float
        At least 0, in squared units of the target; NaN without targets.

    Examples
    --------
    >>> import numpy as np
    >>> from graphnetz.metrics import mean_square_error
    >>> round(mean_square_error(np.array([1.0, 2.0, 3.0]), np.array([1.5, 2.0, 2.0])), 3)
    0.417
    """
    return float(np.square(target.reshape(score.shape) - score).mean()) if target.size else float("nan")


@metric("log_mse", "log10 MSE", greater_is_better=False, bounds=(-np.inf, np.inf))
def log_mean_square_error(target: Array, score: Array) -> float:
    """Decimal logarithm of the mean square error.

    Parameters
    ----------
    target
        True values.
    score
        Predictions of the same shape.

    Returns
    -------
    float
        NaN for an exact fit, whose logarithm is minus infinity.

    Examples
    --------
    >>> import numpy as np
    >>> from graphnetz.metrics import log_mean_square_error
    >>> round(log_mean_square_error(np.array([1.0, 2.0, 3.0]), np.array([1.5, 2.0, 2.0])), 3)
    -0.38
    """
    error = mean_square_error(target, score)
    return float(np.log10(error)) if error > 0 else float("nan")


@metric("r2", "R squared", greater_is_better=True, bounds=(-np.inf, 1.0))
def r_squared(target: Array, score: Array) -> float:
    """Share of variance explained.

    Parameters
    ----------
    target
        True values.
    score
        Predictions of the same shape.

    Returns
    -------
    float
        At most 1; NaN for constant targets.

    Examples
    --------
    >>> import numpy as np
    >>> from graphnetz.metrics import r_squared
    >>> round(r_squared(np.array([1.0, 2.0, 3.0]), np.array([1.5, 2.0, 2.0])), 3)
    0.375
    """
    truth = target.reshape(score.shape)
    spread = float(np.square(truth - truth.mean(axis=0)).sum())
    return 1.0 - float(np.square(truth - score).sum()) / spread if spread > 0 else float("nan")
