"""From what is shown about structure and features, or from the paper's relations, to score and verdict."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Literal, cast

from graphnetz._core.errors import UsageError

SYMBOLS = ("--", "-", "o", "+", "++")
MEAN_EDGES = (0.2, 0.4, 0.6, 0.8)
STD_EDGES = (0.05, 0.10, 0.15, 0.20)
CORRELATION_EDGES = (-0.6, -0.2, 0.2, 0.6)
OVERALL_EDGES = (-1.2, -0.4, 0.4, 1.2)
SCORE_EDGES = (1.0, 2.0, 3.0, 4.0)
PERTURBED = {"structure": ("eg", "cg", "rg"), "features": ("cf", "rf")}
"""Perturbations the original must beat for a mode to be informative."""

Outcome = Literal["informative", "uninformative", "undecided"]
"""What one metric shows about structure or features."""
Informativeness = Literal["informative", "(un)informative", "uninformative", "undecided"]
"""What all metrics together show: ``(un)informative`` where one shows the one and another the other."""
Verdict = Literal["keep", "realign", "deprecate", "undecided"]
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
    """What all metrics say about a dataset.

    Attributes
    ----------
    structure, features
        ``"informative"``, ``"uninformative"``, where metrics disagree ``"(un)informative"``, and ``"undecided"`` where
        the runs do not show one of these.
    possible
        What an undecided ``structure`` or ``features`` can still become; all three when it is not named here.

    Examples
    --------
    >>> from graphnetz.rings import Assessment
    >>> found = Assessment("informative", "uninformative")
    >>> found.score, found.symbol
    (3.0, 'o')
    >>> Assessment("informative", "undecided").scores
    (3.0, 5.0)
    """

    structure: Informativeness
    features: Informativeness
    possible: Mapping[str, tuple[Informativeness, ...]] = field(default_factory=dict)

    @property
    def scores(self) -> tuple[float, float]:
        """Lowest and highest score that more runs can still end in; equal when all is decided."""
        found = sorted(1.5 * s + f for s in self._points("structure") for f in self._points("features"))
        return found[0], found[-1]

    @property
    def score(self) -> float:
        """1.5 structure + features, each 0, 1 or 2; NaN while an undecided one can still change it."""
        low, high = self.scores
        return low if low == high else math.nan

    @property
    def symbol(self) -> str:
        """The score in five bins, closed on the right; ``"?"`` while it can still change its bin."""
        low, high = (SYMBOLS[bisect_left(SCORE_EDGES, value)] for value in self.scores)
        return low if low == high else "?"

    @property
    def high(self) -> bool | None:
        """Whether separability is high (above 2 of 5); None while that is undecided."""
        low, high = (is_high(SYMBOLS[bisect_left(SCORE_EDGES, value)]) for value in self.scores)
        return low if low == high else None

    def _points(self, part: str) -> list[int]:
        value: str = getattr(self, part)
        if value != "undecided":
            return [_POINTS[value]]
        return sorted(_POINTS[name] for name in self.possible.get(part, tuple(_POINTS)))


def combine(outcomes: Sequence[Outcome]) -> tuple[Informativeness, tuple[Informativeness, ...]]:
    """Join what single metrics show: the finding, and what an undecided one can still become.

    Examples
    --------
    >>> combine(["informative", "undecided"])
    ('undecided', ('informative', '(un)informative'))
    """
    ways = [("informative", "uninformative") if one == "undecided" else (one,) for one in outcomes]
    found: set[Informativeness] = {
        "(un)informative" if len(set(way)) > 1 else cast("Informativeness", way[0]) for way in product(*ways)
    }
    ordered: tuple[Informativeness, ...] = ("informative", "(un)informative", "uninformative")
    possible = tuple(name for name in ordered if name in found)
    return (possible[0] if len(possible) == 1 else "undecided"), possible


def assess(relations: Mapping[str, str] | Sequence[str]) -> Assessment:
    """Apply the paper's informativeness rule to the relations it printed for all metrics of a dataset.

    A mode is informative when the original's group stands above every perturbation of it. Our own
    evaluations do not go this way: they rest on direct tests (`decide_modes`).

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


def taxonomy(separability: str | bool | None, structural_diversity: str) -> tuple[Verdict, str]:
    """Return the verdict on a dataset and its reason (Coupette et al. 2025, Section 4.3).

    Parameters
    ----------
    separability
        A symbol ``-- - o + ++``, of which the last three count as high, or whether it is high; ``"?"`` or None where
        that is undecided.
    structural_diversity
        A symbol of the same kind.

    Returns
    -------
    tuple of str
        ``"keep"``, ``"realign"``, ``"deprecate"`` or ``"undecided"``, and why. A dataset of low structural diversity is
        deprecated whatever its separability.

    Examples
    --------
    >>> from graphnetz.rings import taxonomy
    >>> taxonomy("+", "++")[0], taxonomy("-", "++")[0], taxonomy("+", "-")[0], taxonomy("?", "+")[0]
    ('keep', 'realign', 'deprecate', 'undecided')
    """
    if structural_diversity == "?":
        return "undecided", "structural diversity is undefined on these graphs"
    diverse = is_high(structural_diversity)
    separable = separability
    if isinstance(separability, str):
        separable = None if separability == "?" else is_high(separability)
    if separable is None:
        if diverse:
            return "undecided", "high structural diversity, but the runs do not decide performance separability"
        return "deprecate", "low structural diversity, whatever the performance separability"
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
