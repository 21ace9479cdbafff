"""Advice from real graphs: which configurations, how good, how sure, and whether the graph is like the known ones.

What a graph is compared by are its landmarks (`graphnetz.selection.landmarks`). Whatever is calibrated here (which
landmarks count, intervals, the warning, the shortlist) comes from known graphs whose whole domain was left out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from graphnetz._core.errors import UsageError
from graphnetz.graphs.compressed import Graph
from graphnetz.selection.bank import PerformanceBank
from graphnetz.selection.collection import Collection
from graphnetz.selection.forecast import Familiarity, Forecast
from graphnetz.selection.landmarks import LANDMARKS, SCORES, landmarks
from graphnetz.selection.selectors.base import complete
from graphnetz.selection.selectors.landmark import LandmarkSelector
from graphnetz.selection.selectors.lines import Lines, left_out, shares
from graphnetz.selection.space import Configuration

FloatArray = npt.NDArray[np.float64]

LEAST_GRAPHS = 12
LEAST_DOMAINS = 3
"""Real graphs, and their domains, that a bank must know before they are asked for advice."""

LEAST_EDGES = 20
"""Edges below which a split leaves nothing to learn from."""

_AGREED, _NEAR = 0.85, 0.95
"""Shares of the known graphs whose disagreement, and whose distance, give no warning."""

_BEYOND = 1.25
"""Of the greatest distance that was tried: what is warned of where distance did not go with regret."""

_SHAPE = 8
"""Landmarks of size and shape, the last ones; those before say what simple methods reach."""


@dataclass(frozen=True, eq=False)
class Known:
    """What was measured on real graphs for one task."""

    graphs: tuple[str, ...]
    domains: npt.NDArray[Any]
    configurations: tuple[Configuration, ...]
    P: FloatArray
    M: FloatArray
    task_type: str

    def take(self, rows: Any) -> Known:
        """Only some graphs."""
        kept = tuple(name for name, keep in zip(self.graphs, rows, strict=True) if keep)
        return replace(self, graphs=kept, domains=self.domains[rows], P=self.P[rows], M=self.M[rows])


def known_graphs(bank: PerformanceBank, task_type: str) -> Known:
    """The real graphs of a bank that have landmarks, with the configurations measured on most of them."""
    table = bank.matrix(task_type)
    rows = [
        i for i, name in enumerate(table.graphs) if bank.graphs[name].real and task_type in bank.graphs[name].landmarks
    ]
    P = table.P[rows]
    columns = np.flatnonzero(np.isfinite(P).mean(axis=0) >= 0.5) if rows else np.array([], dtype=int)
    entries = [bank.graphs[table.graphs[i]] for i in rows]
    width = len(LANDMARKS.get(task_type, ()))
    return Known(
        tuple(entry.name for entry in entries),
        np.array([entry.domain for entry in entries]),
        tuple(table.configurations[j] for j in columns),
        P[:, columns],
        np.array([entry.landmarks[task_type] for entry in entries]).reshape(len(entries), width),
        task_type,
    )


@dataclass(frozen=True, eq=False)
class Found:
    """Advice for one graph."""

    order: npt.NDArray[np.int64]
    mean: FloatArray
    low: FloatArray
    high: FloatArray
    distance: float
    regret: float
    """How far the first choice is expected to stay below the best, by how it did on left-out graphs."""

    unfamiliar: bool
    nearest: tuple[tuple[str, float], ...]
    percentile: float
    """Share of the known graphs that are nearer to another domain."""


@dataclass(frozen=True, eq=False)
class RealAdvice:
    """A selector fitted on real graphs, with what its left-out errors tell."""

    known: Known
    views: Views
    half: FloatArray
    doubt: Doubt
    scenarios: FloatArray
    weights: FloatArray
    average_order: npt.NDArray[np.int64]
    average_first: bool = False
    """Whether the best on average comes first, since advice has not surely beaten it on left-out graphs."""

    def advise(self, marks: FloatArray) -> Found:
        """Order the configurations for a graph with these landmarks."""
        asked = np.asarray(marks, dtype=np.float64)[None, :]
        each, gap = self.views.predict(asked), self.views.gaps(asked)[0]
        mean = joined(each)[0]
        distance = float(gap.min())
        near = np.argsort(gap, kind="stable")[:3]
        first = self.average_order[0] if self.average_first else mean.argmax()
        apart = float(disagreement(each, np.array([first]))[0])
        return Found(
            complementary(mean, self.scenarios, self.weights, first=int(first)), np.clip(mean, 0, 1),
            np.clip(mean - self.half, 0, 1), np.clip(mean + self.half, 0, 1), distance,
            self.doubt.expected(apart, distance), apart > self.doubt.limit or distance > self.doubt.far,
            tuple((self.known.graphs[i], float(gap[i])) for i in near),
            float((self.views.left_out_distance <= distance).mean()),
        )  # fmt: skip

    def expected_shortfall(self, mean: FloatArray) -> FloatArray:
        """How far each configuration is expected to stay below the best, over the errors on left-out graphs."""
        worlds = mean + self.scenarios
        return np.asarray(self.weights @ (worlds.max(axis=1, keepdims=True) - worlds))


@dataclass(frozen=True, eq=False)
class Basis:
    """What a recommendation is made of: an order of configurations and what is expected of each."""

    configurations: tuple[Configuration, ...]
    order: npt.NDArray[np.int64]
    forecast: Forecast
    familiarity: Familiarity
    shortfall: FloatArray
    """Expected distance from the best of all."""

    known_graphs: int
    notes: tuple[str, ...] = ()


def advice_for(bank: PerformanceBank, graph: Graph | Collection, task_type: str, *, level: float = 0.9) -> Basis | None:
    """Advice from the real graphs of a bank; None where it knows too few, or the graph cannot have landmarks."""
    if task_type not in LANDMARKS or (task_type != "link_pred" and graph.labels is None):
        return None
    if graph.num_edges < LEAST_EDGES:
        return None
    known = known_graphs(bank, task_type)
    if len(known.graphs) < LEAST_GRAPHS or len(np.unique(known.domains)) < LEAST_DOMAINS:
        return None
    fitted = fit_real(known, level=level)
    found = fitted.advise(landmarks(graph, task_type))
    warning = _warning(fitted, found) if found.unfamiliar else ""
    near = Familiarity(found.nearest, found.percentile, 0.0, warning)
    shortfall = fitted.expected_shortfall(found.mean)
    shortfall[found.order[0]] = found.regret  # of the first choice more is known: how it did on left-out graphs
    return Basis(
        known.configurations, found.order, Forecast(found.mean, found.low, found.high, level), near, shortfall,
        len(known.graphs), (*_behind(fitted), *_too_small(bank, known, graph)),
    )  # fmt: skip


def _warning(fitted: RealAdvice, found: Found) -> str:
    what = "collection" if fitted.known.task_type == "graph_cls" else "graph"
    if found.distance > fitted.doubt.far:
        return (
            f"This {what} is far from all known ones: the nearest is {found.distance:.1f} times as far as real {what}s "
            "of other fields usually are, so what is expected here is less sure than it reads. Measure with --probe."
        )
    return (
        f"Different ways of comparing this {what} with known ones disagree: the first choice is expected "
        f"{found.regret:.3f} below the best, against {fitted.doubt.mean:.3f} on average. Measure with --probe."
    )


def _behind(fitted: RealAdvice) -> tuple[str, ...]:
    if not fitted.average_first:
        return ()
    what = "collections" if fitted.known.task_type == "graph_cls" else "graphs"
    return (
        f"Advice by likeness did not do better than the best on average on known {what} of fields that were left out: "
        "the best on average comes first.",
    )


def _too_small(bank: PerformanceBank, known: Known, graph: Graph | Collection) -> tuple[str, ...]:
    """Say where a graph has fewer examples than any known one: intervals do not hold the luck of a tiny test part."""
    key, things = _COUNTED[known.task_type]
    least = min(getattr(bank.graphs[name], key) for name in known.graphs)
    labels = graph.labels
    own = graph.num_edges if key == "edges" or labels is None else int((labels >= 0).sum())
    if own >= least:
        return ()
    kind = "collections" if key == "graphs" else "graphs"
    return (
        f"It has {own} {things}, the known {kind} at least {least}: a fifth of so few to test on scatters more than "
        "the intervals say.",
    )


_COUNTED = {
    "link_pred": ("edges", "edges"), "node_cls": ("nodes", "nodes with a class"), "graph_cls": ("graphs", "graphs"),
}  # fmt: skip
"""What the examples of a task are, in a bank and in words."""


def complementary(
    mean: FloatArray, errors: FloatArray, weights: FloatArray, top: int = 3, *, first: int | None = None
) -> npt.NDArray[np.int64]:
    """Order models so that the best of the first few is expected to be good.

    The first has the greatest mean, unless it is given. Each next one, up to ``top``, raises the expected maximum most
    over the errors made on left-out graphs, which says which models fail together; the rest follow by mean.
    """
    worlds = mean + errors
    order = [int(mean.argmax()) if first is None else first]
    reached = worlds[:, order[0]]
    while len(order) < min(top, len(mean)):
        gain = weights @ np.maximum(worlds - reached[:, None], 0.0)
        gain[order] = -1.0
        order.append(int(gain.argmax()))
        reached = np.maximum(reached, worlds[:, order[-1]])
    rest = [j for j in np.argsort(-mean, kind="stable").tolist() if j not in order]
    return np.array(order + rest)


def fit_real(known: Known, *, level: float = 0.9) -> RealAdvice:
    """Fit on real graphs, once per way of looking at the landmarks."""
    if len(known.graphs) < LEAST_GRAPHS or len(np.unique(known.domains)) < LEAST_DOMAINS:
        raise UsageError(
            f"The bank has {len(known.graphs)} real graphs with landmarks in {len(np.unique(known.domains))} domains; "
            f"advice needs {LEAST_GRAPHS} in {LEAST_DOMAINS}. Collect more."
        )
    views = Views.fitted(known)
    weights = shares(known.domains)
    errors = known.P - joined(views.left_out)
    first, usual = _left_out_firsts(known, views)
    behind = not _surpasses(known, first, usual)
    return RealAdvice(
        known, views, _half_widths(errors, weights, level), Doubt.learned(known, views, usual if behind else first),
        np.where(np.isfinite(errors), errors, 0.0), weights, average_order(known), behind,
    )  # fmt: skip


def _left_out_firsts(known: Known, views: Views) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """For each known graph, its domain left out: the first choice by landmarks, and the best on average."""
    seen = np.isfinite(known.P)
    first = np.where(seen, joined(views.left_out), -np.inf).argmax(axis=1)
    usual = np.zeros_like(first)
    for domain in np.unique(known.domains):
        out = known.domains == domain
        mean = complete(known.P[~out]).mean(axis=0)
        usual[out] = np.where(seen[out], mean, -np.inf).argmax(axis=1)
    return first, usual


def _surpasses(known: Known, first: npt.NDArray[np.int64], usual: npt.NDArray[np.int64]) -> bool:
    """Whether the gain of advice over the best on average, a mean of domains, is not within one standard error of 0."""
    rows = np.arange(len(first))
    gain = known.P[rows, first] - known.P[rows, usual]
    by_domain = np.array([gain[known.domains == domain].mean() for domain in np.unique(known.domains)])
    return bool(by_domain.mean() >= by_domain.std(ddof=1) / np.sqrt(len(by_domain)))


@dataclass(frozen=True, eq=False)
class Doubt:
    """The regret to expect where the ways of looking at the landmarks disagree, from first choices for left-out graphs.

    Of distance, size, lead and disagreement, only the last went with more regret in both tasks. Far from every known
    graph it says nothing: there all views fall back to the same mean, and no less than the mean regret is expected.
    Either counts where regret was larger with it by more than a standard error; else disagreement is not looked at, and
    distance is warned of only well above any that was tried.
    """

    centre: float
    slope: float
    mean: float
    limit: float
    far: float

    @classmethod
    def learned(cls, known: Known, views: Views, first: npt.NDArray[np.int64]) -> Doubt:
        """Learn from first choices for left-out graphs; those that disagree most or are farthest off are warned of."""
        regret = np.nanmax(known.P, axis=1) - known.P[np.arange(len(first)), first]
        apart = disagreement(views.left_out, first)
        slope = max(float(np.cov(apart, regret, bias=True)[0, 1] / max(apart.var(), 1e-12)), 0.0)
        limit, away = float(np.quantile(apart, _AGREED)), views.left_out_distance
        far = float(np.quantile(away, _NEAR))
        if slope == 0 or not _more(regret, apart > limit):
            slope, limit = 0.0, np.inf
        if not _more(regret, away > far):
            far = _BEYOND * float(away.max())
        return cls(float(apart.mean()), slope, float(regret.mean()), limit, far)

    def expected(self, apart: float, distance: float) -> float:
        """Expected regret of the first choice."""
        found = self.mean + self.slope * (apart - self.centre)
        return max(found, self.mean if distance > self.far else 0.0)


def _more(regret: FloatArray, chosen: npt.NDArray[np.bool_]) -> bool:
    """Whether the chosen graphs have more regret than all, by more than the standard error of as many."""
    few = regret[chosen]
    return bool(len(few)) and bool(few.mean() - regret.mean() > regret.std() / np.sqrt(len(few)))


def disagreement(each: FloatArray, first: npt.NDArray[np.int64]) -> FloatArray:
    """How far below its own best every view sees the first choices, on average; ``each`` is [views, graphs, models]."""
    return np.asarray((each.max(axis=2) - each[:, np.arange(len(first)), first]).mean(axis=0))


def average_order(known: Known) -> npt.NDArray[np.int64]:
    """Configurations by mean performance over the graphs, gaps filled from rows and columns."""
    return np.argsort(-complete(known.P).mean(axis=0), kind="stable")


def _relative(M: FloatArray, task_type: str) -> FloatArray:
    """What each simple method reaches below the best of them, and everything that is no score."""
    scores = SCORES[task_type]
    best = M[:, :scores].max(axis=1, keepdims=True)
    return np.column_stack([M[:, :scores] - best, best, M[:, scores:]])


VIEWS: dict[str, Callable[[FloatArray, str], FloatArray]] = {
    "all landmarks": lambda M, _: M,
    "reached": lambda M, _: M[:, :-_SHAPE],
    "relative": _relative,
    "relative reached": lambda M, task_type: _relative(M, task_type)[:, :-_SHAPE],
}
"""How landmarks may be looked at when graphs are compared."""


def joined(each: FloatArray) -> FloatArray:
    """One prediction of those of all views: half is likeness to known graphs, whatever way one looks, half the lines.

    Which way is best cannot be told from a few dozen domains: the one that looked best was often wrong on the next.
    """
    return np.asarray((each[:-1].mean(axis=0) + each[-1]) / 2)


@dataclass(frozen=True, eq=False)
class Views:
    """One selector per way of looking at the landmarks, and a line per configuration through its own landmark."""

    selectors: tuple[tuple[str, LandmarkSelector], ...]
    lines: Lines
    task_type: str
    left_out: FloatArray
    """Per view, the lines last, the predicted performances of each known graph, its domain left out."""

    left_out_distance: FloatArray
    """Distance of each known graph to the nearest of another domain, in usual ones."""

    @classmethod
    def fitted(cls, known: Known) -> Views:
        """Fit every view."""
        made = tuple((name, LandmarkSelector()) for name in VIEWS)
        for name, selector in made:
            selector.fit(known.P, VIEWS[name](known.M, known.task_type), known.domains)
        S = known.M[:, : SCORES[known.task_type]]
        apart = [selector.left_out for _, selector in made] + [left_out(known.P, S, known.domains)]
        lines = Lines.fitted(known.P, S, known.domains)
        out = cls(made, lines, known.task_type, np.array(apart), np.zeros(len(known.graphs)))
        away = np.where(known.domains[:, None] == known.domains[None, :], np.inf, out.gaps(known.M))
        return replace(out, left_out_distance=away.min(axis=1))

    def predict(self, M: FloatArray) -> FloatArray:
        """Per view, the predicted performances of new graphs."""
        by_likeness = [one.predict(VIEWS[name](M, self.task_type)) for name, one in self.selectors]
        return np.array([*by_likeness, self.lines.predict(M[:, : SCORES[self.task_type]])])

    def gaps(self, M: FloatArray) -> FloatArray:
        """Distances of new graphs to the known ones, in usual distances between domains."""
        return np.asarray(np.mean([one.gaps(VIEWS[name](M, self.task_type)) for name, one in self.selectors], axis=0))


def _half_widths(errors: FloatArray, weights: FloatArray, level: float) -> FloatArray:
    """Half widths per configuration that cover ``level`` of the left-out errors, every domain counting alike."""
    seen = np.isfinite(errors)
    mass = np.where(seen, weights[:, None], 0.0)
    square = np.where(seen, errors, 0.0) ** 2
    overall = float((mass * square).sum() / mass.sum())
    own = np.sqrt(((mass * square).sum(axis=0) + 0.2 * overall) / (mass.sum(axis=0) + 0.2))
    relative = np.where(seen, np.abs(errors) / own, 0.0)[seen]
    order = np.argsort(relative)
    total = np.cumsum(mass[seen][order]) / mass.sum()
    place = min(int(np.searchsorted(total, level)), len(order) - 1)
    return np.asarray(relative[order][place] * own)
