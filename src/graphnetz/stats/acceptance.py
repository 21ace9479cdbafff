"""What a random sample without a fault says of the rest: exact bounds for finite populations."""

from __future__ import annotations

import math
from fractions import Fraction

from graphnetz._core.errors import UsageError


def most_differing(population: int, sampled: int, found: int = 0, *, level: float = 0.95) -> int:
    """Return how many of a population can differ at most, after some of a random sample did.

    The largest number D for which a sample of that size (drawn without replacement) shows no more than ``found`` of
    them with a probability above ``1 - level``.

    Parameters
    ----------
    population
        How many there are.
    sampled
        How many of them were looked at.
    found
        How many of those differ.
    level
        Confidence.

    Returns
    -------
    int
        Between ``found`` and ``population``; what was looked at counts as known.

    Examples
    --------
    >>> most_differing(860, 60), most_differing(60, 60), most_differing(860, 0)
    (40, 0, 860)
    """
    if not 0 <= found <= sampled <= population or not 0 < level < 1:
        raise UsageError(f"A sample of {sampled} with {found} found does not fit a population of {population}.")
    low, high = found, population - (sampled - found)  # those seen to agree cannot differ
    while low < high:
        middle = (low + high + 1) // 2
        if _at_most(population, middle, sampled, found) > Fraction(1) - Fraction(level).limit_denominator(10**6):
            low = middle
        else:
            high = middle - 1
    return low


def _at_most(population: int, differing: int, sampled: int, found: int) -> Fraction:
    """Probability that a sample holds at most ``found`` of the differing ones: hypergeometric, exact."""
    ways = sum(
        math.comb(differing, i) * math.comb(population - differing, sampled - i)
        for i in range(min(found, differing) + 1)
        if sampled - i <= population - differing
    )
    return Fraction(ways, math.comb(population, sampled))
