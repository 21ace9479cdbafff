"""The paper's rules: from relations between modes to informativeness, score and verdict."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from graphnetz._core.errors import UsageError

SYMBOLS = ("--", "-", "o", "+", "++")
MEAN_EDGES = (0.2, 0.4, 0.6, 0.8)
STD_EDGES = (0.05, 0.10, 0.15, 0.20)
CORRELATION_EDGES = (-0.6, -0.2, 0.2, 0.6)
OVERALL_EDGES = (-1.2, -0.4, 0.4, 1.2)
SCORE_EDGES = (1.0, 2.0, 3.0, 4.0)
PERTURBED = {"structure": ("eg", "cg", "rg"), "features": ("cf", "rf")}
"""Perturbations the original must beat for a mode to be informative."""

Informativeness = Literal["informative", "(un)informative", "uninformative"]
Verdict = Literal["keep", "realign", "deprecate"]
Groups = tuple[tuple[str, ...], ...]

_POINTS: dict[str, int] = {"uninformative": 0, "(un)informative": 1, "informative": 2}


def symbol(value: float, edges: Sequence[float]) -> str:
    """Bin ``value`` into five symbols; bins are closed on the left, NaN gives ``"?"``."""
    return "?" if math.isnan(value) else SYMBOLS[bisect_right(edges, value)]


def parse_relation(relation: str) -> Groups:
    """Split a relation such as ``"o > cg/rg > eg"`` into groups, best first.

    ``<`` is the sign for metrics where less is better; the best group stands first there too.

    Examples
    --------
    >>> parse_relation("o > cg/rg > eg")
    (('o',), ('cg', 'rg'), ('eg',))
    """
    sign = "<" if "<" in relation else ">"
    groups = tuple(
        tuple(sorted(name.strip() for name in part.split("/") if name.strip())) for part in relation.split(sign)
    )
    names = [name for group in groups for name in group]
    if not all(groups) or len(set(names)) != len(names) or ("<" in relation and ">" in relation):
        raise UsageError(
            f"Cannot read the relation {relation!r}. Write groups such as 'o > cg/rg > eg', each mode once."
        )
    return groups


def format_relation(groups: Sequence[Sequence[str]], *, greater_is_better: bool = True) -> str:
    """Join groups, best first; inside a group modes stand in alphabetical order."""
    return (" > " if greater_is_better else " < ").join("/".join(sorted(group)) for group in groups)


def beats(relation: str | Sequence[Sequence[str]], mode: Literal["structure", "features"]) -> bool | None:
    """Whether the original's group stands strictly before every perturbation of ``mode``.

    Absent perturbations are skipped; None when none of them, or the original, is there.
    """
    groups = parse_relation(relation) if isinstance(relation, str) else relation
    place = {name: rank for rank, group in enumerate(groups) for name in group}
    rivals = [place[code] for code in PERTURBED[mode] if code in place]
    if "o" not in place or not rivals:
        return None
    return all(place["o"] < rank for rank in rivals)


def informativeness(outcomes: Sequence[bool | None]) -> Informativeness:
    """Combine the outcomes of all metrics: all yes, none, or mixed; undefined ones are left out."""
    known = [outcome for outcome in outcomes if outcome is not None]
    if not known:
        raise UsageError("No metric says anything about this mode: the original or all its perturbations are missing.")
    if all(known):
        return "informative"
    return "(un)informative" if any(known) else "uninformative"


@dataclass(frozen=True)
class Assessment:
    """What the relations of all metrics say about a dataset.

    Attributes
    ----------
    structure, features
        ``"informative"``, ``"uninformative"`` or, where metrics disagree, ``"(un)informative"``.

    Examples
    --------
    >>> from graphnetz.rings import Assessment
    >>> found = Assessment("informative", "uninformative")
    >>> found.score, found.symbol
    (3.0, 'o')
    """

    structure: Informativeness
    features: Informativeness

    @property
    def score(self) -> float:
        """1.5 structure + features, each 0, 1 or 2."""
        return 1.5 * _POINTS[self.structure] + _POINTS[self.features]

    @property
    def symbol(self) -> str:
        """The score in five bins, closed on the right."""
        return SYMBOLS[bisect_left(SCORE_EDGES, self.score)]


def assess(relations: Mapping[str, str] | Sequence[str]) -> Assessment:
    """Apply the informativeness rule to the relations of all metrics of a dataset.

    A mode is informative when the original beats every perturbation of it.

    Parameters
    ----------
    relations
        Relation strings such as ``"o > cg/rg > eg"``, by metric or as a list.

    Returns
    -------
    Assessment
        For structure and features.

    Examples
    --------
    >>> from graphnetz.rings import assess
    >>> assess(["o > cg/rg > eg > cf/rf"]).structure
    'informative'
    """
    texts = list(relations.values()) if isinstance(relations, Mapping) else list(relations)
    return Assessment(
        structure=informativeness([beats(text, "structure") for text in texts]),
        features=informativeness([beats(text, "features") for text in texts]),
    )


def is_high(mark: str) -> bool:
    """Whether a symbol counts as high: ``o``, ``+`` or ``++``."""
    if mark not in SYMBOLS:
        raise UsageError(f"Unknown symbol {mark!r}. Known: {', '.join(SYMBOLS)}.")
    return mark in ("o", "+", "++")


def taxonomy(separability: str, structural_diversity: str) -> tuple[Verdict, str]:
    """Return the verdict on a dataset and its reason (Coupette et al. 2025, Section 4.3).

    Parameters
    ----------
    separability, structural_diversity
        Symbols ``-- - o + ++``; the last three count as high.

    Returns
    -------
    tuple of str
        ``"keep"``, ``"realign"`` or ``"deprecate"``, and why.

    Examples
    --------
    >>> from graphnetz.rings import taxonomy
    >>> taxonomy("+", "++")[0], taxonomy("-", "++")[0], taxonomy("+", "-")[0]
    ('keep', 'realign', 'deprecate')
    """
    separable, diverse = is_high(separability), is_high(structural_diversity)
    if diverse:
        if separable:
            return "keep", "high performance separability and high structural diversity"
        return "realign", "low performance separability but high structural diversity"
    if separable:
        return "deprecate", "high performance separability but low structural diversity"
    return "deprecate", "low performance separability and low structural diversity"


def correlation_symbols(values: Sequence[float]) -> tuple[tuple[str, ...], str]:
    """Return the symbol of every correlation and the overall one (mean of the symbols as -2 .. 2)."""
    marks = tuple(symbol(value, CORRELATION_EDGES) for value in values)
    known = [SYMBOLS.index(mark) - 2 for mark in marks if mark in SYMBOLS]
    return marks, symbol(sum(known) / len(known) if known else math.nan, OVERALL_EDGES)
