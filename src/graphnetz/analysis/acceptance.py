"""What retraining a sample of cells says of a run."""

from __future__ import annotations

from graphnetz._core.text import counted
from graphnetz.stats.acceptance import most_differing

LEVEL = 0.95


def retrained_sentence(population: int, sampled: int, differing: int = 0, *, level: float = LEVEL) -> str:
    """Say how many cells of a run can differ at most, after a random sample of them was trained again.

    Parameters
    ----------
    population
        Cells that could have been drawn.
    sampled, differing
        How many were trained again, and how many of these came out differently.
    level
        Confidence.

    Examples
    --------
    >>> retrained_sentence(860, 60)
    '60 of 860 cells retrained agree, so at most 40 (4.7 %) can differ with 95 % confidence.'
    >>> retrained_sentence(12, 12, 1)
    '1 of 12 cells retrained differs.'
    """
    if not sampled:
        return f"No cell of {population} was retrained."
    most, sure = most_differing(population, sampled, differing, level=level), f"with {100 * level:g} % confidence"
    share = f"{most} ({100 * most / population:.1f} %)"
    if differing:
        head = f"{differing} of {counted(sampled, 'cell')} retrained differ{'s' if differing == 1 else ''}"
        return f"{head}." if sampled == population else f"{head}, and up to {share} of {population} can {sure}."
    if sampled == population:
        return f"All {population} cells retrained agree."
    return f"{sampled} of {population} cells retrained agree, so at most {share} can differ {sure}."
