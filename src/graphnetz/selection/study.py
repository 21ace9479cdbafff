"""Selectors compared on a testbed: intervals, paired tests and ranks, with graphs as blocks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from graphnetz._core.errors import UsageError
from graphnetz._core.registry import Registry
from graphnetz.records import Section, Table
from graphnetz.selection.testbeds import SelectionResult, Testbed, evaluate
from graphnetz.stats import (
    FriedmanResult,
    Interval,
    cluster_interval,
    friedman,
    interval,
    rank_rows,
    wilcoxon_holm,
)

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True)
class SelectorLine:
    """One selector with one feature set on one testbed."""

    selector: str
    features: str
    mean: float
    low: float
    high: float
    rank: float
    mrr: float
    ndcg1: float
    train_seconds: float
    published: float = float("nan")
    published_mrr: float = float("nan")
    published_ndcg1: float = float("nan")


@dataclass(frozen=True)
class SelectorPair:
    """Two selectors compared over graphs, and again over domains as a sensitivity check."""

    first: str
    second: str
    difference: float
    p: float
    p_domains: float
    differ: bool


@dataclass(frozen=True, eq=False)
class TestbedStudy:
    """What one testbed says about the selectors. Testbeds share a matrix: never pool them.

    ``omnibus`` is Friedman's test with graphs as blocks, ``omnibus_domains`` the same with domain means
    as blocks, a check against graphs that resemble each other; None with fewer than three selectors.
    """

    __test__ = False

    testbed: str
    task: str
    note: str
    metric: str
    graphs: int
    lines: tuple[SelectorLine, ...]
    pairs: tuple[SelectorPair, ...]
    omnibus: FriedmanResult | None
    omnibus_domains: FriedmanResult | None = None
    features: str = ""
    interval_note: str = ""
    results: Mapping[str, SelectionResult] = field(default_factory=dict, repr=False)

    @property
    def has_published(self) -> bool:
        """Whether a paper has a figure for any line."""
        return any(v == v for line in self.lines for v in (line.published, line.published_mrr, line.published_ndcg1))

    def to_section(self) -> Section:
        """Return the study as a section of a page."""
        columns: tuple[str, ...] = (
            "selector", "features", self.metric, "low", "high", "mean rank", "MRR", "NDCG@1", "seconds",
        )  # fmt: skip
        keys: tuple[str, ...] = ("mean", "low", "high", "rank", "mrr", "ndcg1", "train_seconds")
        if self.has_published:
            columns += (f"published {self.metric}", "published MRR", "published NDCG@1")
            keys += ("published", "published_mrr", "published_ndcg1")
        rows = tuple(
            (line.selector, line.features, *(_short(getattr(line, key)) for key in keys)) for line in self.lines
        )
        told = tuple(
            (pair.first, pair.second, _short(pair.difference), _short(pair.p), _short(pair.p_domains), pair.differ)
            for pair in self.pairs
        )
        return Section(
            name=f"selection-{self.task}-{self.testbed}".replace(" ", "-"),
            title=f"Selectors, {self.task}, {self.testbed}",
            verdict=self.sentence(),
            paragraphs=tuple(filter(None, (self.note, self.friedman_sentence(), PUBLISHED_NOTE * self.has_published))),
            tables=(
                Table(columns, rows, f"Mean {self.metric} over {self.graphs} graphs; {self.interval_note}."),
                Table(
                    ("first", "second", "difference", "adjusted p", "adjusted p over domains", "differ"),
                    told,
                    "Wilcoxon signed-rank tests over graphs, Holm within this testbed.",
                ),
            ),
            level="info",
        )

    def friedman_sentence(self) -> str:
        """Say whether the selectors rank alike, over graphs and over domains; empty without a test."""
        said = [
            f"over {test.n} {blocks}: F = {test.f:.4g}, p = {test.p:.2g}"
            for test, blocks in ((self.omnibus, "graphs"), (self.omnibus_domains, "domains"))
            if test is not None
        ]
        return f"Friedman's test {'; '.join(said)}." if said else ""

    def sentence(self) -> str:
        """Say which selectors lead and cannot be told apart from the best, on the first feature set."""
        best = next(line.selector for line in self.lines if line.features == self.features)
        with_best = [best]
        for pair in self.pairs:
            if best in (pair.first, pair.second) and not pair.differ:
                with_best.append(pair.second if pair.first == best else pair.first)
        where = f" with {self.features} features" if self.features else ""
        if len(with_best) == 1:
            return f"{best} has the best mean {self.metric}{where}, and the tests tell it from every other selector."
        others = ", ".join(with_best[1:])
        return f"{best} has the best mean {self.metric}{where}; the tests do not tell it from {others}."


PUBLISHED_NOTE = "Published figures: Park et al., 2023 (GLEMOS), Tables 5 to 14, same feature set where given."

PUBLISHED: Registry[Callable[[str, str, str, str, str], float]] = Registry(
    "published table", homes=("graphnetz.papers.glemos",)
)
"""Published figures by testbed, task, feature set, metric and selector, NaN where there is none."""


def study(
    testbed: Testbed | Mapping[str, Testbed],
    selectors: Iterable[str],
    *,
    task: str = "",
    metric: str = "auc",
    alpha: float = 0.05,
    measure: Callable[[str, Testbed], SelectionResult] = evaluate,
    on_result: Callable[[SelectionResult, str], None] = lambda *_: None,
) -> TestbedStudy:
    """Evaluate selectors on one testbed and compare them.

    Parameters
    ----------
    testbed
        A testbed, or one per feature set (same graphs and folds). Tests compare the selectors on the
        first of them; every set gets its own lines.
    selectors
        Names in `SELECTORS`.
    metric
        ``"auc"``, ``"mrr"``, ``"ndcg1"`` or ``"regret"``.
    measure, on_result
        How a selector is evaluated on a testbed, and who hears of it with the feature set.
    """
    beds = {"": testbed} if isinstance(testbed, Testbed) else dict(testbed)
    names = list(selectors)
    if not names or not beds:
        raise UsageError("A study needs at least one selector and one testbed.")
    results: dict[tuple[str, str], SelectionResult] = {}
    for features, bed in beds.items():
        for name in names:
            results[name, features] = measure(name, bed)
            on_result(results[name, features], features)
    return _compared(results, beds, task=task, metric=metric, alpha=alpha)


def _compared(
    every: Mapping[tuple[str, str], SelectionResult],
    beds: Mapping[str, Testbed],
    *,
    task: str,
    metric: str,
    alpha: float,
) -> TestbedStudy:
    """Arrange evaluated selectors as a study; the first feature set is the one that is tested."""
    better = metric != "regret"
    first, bed = next(iter(beds.items()))
    main = {name: result for (name, features), result in every.items() if features == first}
    names = list(main)
    table = np.stack([getattr(main[name].scores, metric) for name in names], axis=1)
    table = table[np.isfinite(table).all(axis=1)]
    mean_ranks = np.full(len(names), np.nan)
    if len(names) > 1 and len(table) > 1:
        mean_ranks = rank_rows(table, [better] * len(table)).mean(axis=0)
    by_domain = _domain_table(main, metric)
    spans = {key: _span(result, metric) for key, result in every.items()}
    position = {name: float(mean_ranks[i]) for i, name in enumerate(names)}
    lines = []
    for (name, features), result in every.items():
        span = spans[name, features]
        paper = partial(published_value, bed.name, task, features or "regular", selector=name, table=bed.published)
        lines.append(
            SelectorLine(
                name, features, span.mean, span.low, span.high,
                position[name] if features == first else float("nan"),
                result.mean["mrr"], result.mean["ndcg1"], max(result.train_seconds),
                *(paper(metric=key) for key in (metric, "mrr", "ndcg1")),
            )
        )  # fmt: skip
    lines.sort(key=lambda line: -line.mean if better else line.mean)
    return TestbedStudy(
        bed.name, task, bed.note, metric, len(table), tuple(lines),
        _pairs(names, table, by_domain, better=better, alpha=alpha),
        omnibus=_omnibus(table, better=better, alpha=alpha),
        omnibus_domains=_omnibus(by_domain, better=better, alpha=alpha),
        features=first, interval_note=_interval_note(spans), results=main,
    )  # fmt: skip


def _span(result: SelectionResult, metric: str) -> Interval:
    """Interval that resamples domains; without two domains, Student's over graphs."""
    values = getattr(result.scores, metric)
    if result.domains is None or len(np.unique(result.domains[np.isfinite(values)])) < 2:
        return interval(values)
    return cluster_interval(values, result.domains)


def _interval_note(spans: Mapping[Any, Interval]) -> str:
    first = next(iter(spans.values()))
    how = "resampling domains" if first.method == "cluster_bootstrap" else "over graphs (Student's t; one domain)"
    return f"95 % intervals by {how}" + (f"; {first.reason}" if first.reason else "")


def _omnibus(blocks: FloatArray | None, *, better: bool, alpha: float) -> FriedmanResult | None:
    if blocks is None or len(blocks) < 2 or blocks.shape[1] < 3:
        return None
    return friedman(rank_rows(blocks, [better] * len(blocks)), alpha=alpha)


def _pairs(
    names: Sequence[str], table: FloatArray, by_domain: FloatArray | None, *, better: bool, alpha: float
) -> tuple[SelectorPair, ...]:
    if len(names) < 2 or len(table) < 2:
        return ()
    tests = wilcoxon_holm(table, [better] * len(table), alpha)
    coarse = None
    if by_domain is not None and len(by_domain) > 1:
        coarse = wilcoxon_holm(by_domain, [better] * len(by_domain), alpha)
    return tuple(
        SelectorPair(
            names[i], names[j], float(table[:, i].mean() - table[:, j].mean()), float(tests.p_adjusted[number]),
            float("nan") if coarse is None else float(coarse.p_adjusted[number]), bool(tests.rejected[number]),
        )
        for number, (i, j) in enumerate(tests.pairs)
    )  # fmt: skip


def _domain_table(main: Mapping[str, SelectionResult], metric: str) -> FloatArray | None:
    """Means over the graphs of each domain."""
    first = next(iter(main.values()))
    if first.domains is None:
        return None
    rows = []
    for domain in np.unique(first.domains):
        inside = first.domains == domain
        rows.append([float(np.nanmean(getattr(result.scores, metric)[inside])) for result in main.values()])
    table = np.array(rows)
    return np.asarray(table[np.isfinite(table).all(axis=1)])


def published_value(testbed: str, task: str, features: str, metric: str, selector: str, *, table: str) -> float:
    """Look one figure up in a published table; NaN where it has none, or where no table is about the matrix."""
    return PUBLISHED[table](testbed, task, features, metric, selector) if table else float("nan")


def _short(value: float) -> float | str:
    return float(f"{value:.4g}") if np.isfinite(value) else ""
