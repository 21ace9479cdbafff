"""Stopping without a claim: the chance that a comparison is still decided within its budget.

A comparison that will not be decided by the budget costs seeds and gives nothing. Giving up on it
claims nothing, so it cannot add a false claim: the levels of `boundaries.nominal_levels` are
computed as if nobody ever gave up, and hold whether or not one does (a non-binding futility rule).
"""

from __future__ import annotations

import math

import numpy as np
from scipy import special

from graphnetz._core.errors import UsageError
from graphnetz.records.seed_rule import look_schedule as look_schedule
from graphnetz.stats._common import Floats


def predictive_power(
    mean: Floats,
    sd: Floats,
    n: Floats,
    *,
    budget: float,
    level: Floats,
    level_equivalence: Floats,
    margin: Floats,
    test_ratio: Floats,
    df: float | None = None,
) -> Floats:
    """Chance that the last look will find a difference or equivalence, given the seeds so far.

    The future mean follows its predictive law: centred on the mean so far, with the spread of a t
    variable of n - 1 degrees of freedom, so that few seeds leave much open (Spiegelhalter, Freedman
    and Blackburn 1986). The standard deviation is taken as it is. A difference without spread is found
    when its sign-flip p can reach the last level; with fewer than two seeds the chance is 0.

    Parameters
    ----------
    mean, sd, n
        Mean and standard deviation of the seed-wise differences so far, and how many there are.
    budget
        Seeds at the last look; not whole where it stands for seeds that share splits.
    level, level_equivalence
        Nominal levels of the last look: two-sided for a difference, one-sided for equivalence.
    margin
        Largest difference that does not matter; NaN asks for differences only.
    test_ratio
        n_test / n_train for runs that share training data, else 0.
    df
        Degrees of freedom of the last test where they are not ``budget - 1``: splits that seeds share.

    Returns
    -------
    ndarray
        Chances between 0 and 1, of the shape that the arguments broadcast to.

    Examples
    --------
    >>> import numpy as np
    >>> from graphnetz.stats import predictive_power
    >>> chance = predictive_power(
    ...     np.array([0.0, 0.01]), np.array([0.01, 0.01]), np.array([5.0, 5.0]), budget=30, level=np.array(0.05),
    ...     level_equivalence=np.array(0.05), margin=np.array(np.nan), test_ratio=np.array(0.0),
    ... )
    >>> chance.round(2).tolist()
    [0.41, 0.91]
    """
    # Spread of the final mean around the present one, which the seeds still to come decide.
    scale = sd * np.sqrt(np.maximum(1.0 / np.maximum(n, 1.0) - 1.0 / budget, 0.0))
    error = sd * np.sqrt(1.0 / budget + test_ratio)
    # The last look finds a difference beyond +-reach, and equivalence within +-room.
    left = budget - 1 if df is None else df
    reach = -special.stdtrit(left, level / 2) * error
    room = margin - -special.stdtrit(left, level_equivalence) * error
    with np.errstate(invalid="ignore", divide="ignore"):
        above = special.stdtr(n - 1, (mean - reach) / scale)
        below = special.stdtr(n - 1, (-reach - mean) / scale)
        inside = special.stdtr(n - 1, (room - mean) / scale) - special.stdtr(n - 1, (-room - mean) / scale)
    chance = np.nan_to_num(above + below, nan=0.0) + np.where(room > 0, np.nan_to_num(inside, nan=0.0), 0.0)
    chance = np.where(sd > 0, np.clip(chance, 0.0, 1.0), (mean != 0) & (sign_flip_p(left + 1) <= level))
    result: Floats = np.where((n >= 2) & np.isfinite(mean), chance, 0.0)
    return result


def sign_flip_p(n: float) -> float:
    """Two-sided p of ``n`` differences that are all the same and not 0: two of all 2^n signs are as far out."""
    return float(2.0 ** (1.0 - n))


def check_futility(futility: float) -> float:
    """Return the threshold when it is a share; 0 never gives up."""
    if not 0.0 <= futility < 1.0 or math.isnan(futility):
        raise UsageError(f"futility={futility} is no share; pass 0 (never give up) or a number below 1 such as 0.1.")
    return float(futility)
