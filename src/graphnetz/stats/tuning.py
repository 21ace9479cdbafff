"""What a search is worth: the best that is to be expected of so many trials (Dodge et al., 2019)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray


def expected_best(values: ArrayLike, *, greater_is_better: bool = True) -> NDArray[np.float64]:
    """Return the expected best of 1, 2, ..., n trials drawn from n measured ones, with replacement.

    The expected validation performance of Dodge, Gururangan, Card, Schwartz and Smith (2019), "Show your work": the
    distribution of a trial is estimated by the trials that were made.

    Parameters
    ----------
    values
        Validation values of the trials; those that are not finite are left out.
    greater_is_better
        Direction of the metric.

    Returns
    -------
    array
        One value per budget, empty without a finite trial.

    Examples
    --------
    >>> expected_best([0.0, 1.0]).tolist()
    [0.5, 0.75]
    """
    held = np.asarray(values, dtype=float)
    held = np.sort(held[np.isfinite(held)])
    if not held.size:
        return np.zeros(0)
    ordered = held if greater_is_better else held[::-1]
    share = np.arange(held.size + 1) / held.size
    budgets = np.arange(1, held.size + 1)[:, None]
    weights = share[None, 1:] ** budgets - share[None, :-1] ** budgets
    return np.asarray(weights @ ordered)
