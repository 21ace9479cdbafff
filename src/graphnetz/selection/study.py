"""Selectors compared on a testbed: intervals, paired tests and ranks, with graphs as blocks."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import resources
from typing import Any

import numpy as np
import numpy.typing as npt

from graphnetz._core.errors import UsageError
from graphnetz.records import Section, Table
from graphnetz.selection.testbeds import SelectionResult, Testbed, evaluate
from graphnetz.stats import FriedmanResult, friedman, interval, rank_rows, wilcoxon_holm

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
    """What one testbed says about the selectors. Testbeds share a matrix: never pool them."""

    __test__ = False

    testbed: str
    task: str
    note: str
    metric: str
    graphs: int
    lines: tuple[SelectorLine, ...]
    pairs: tuple[SelectorPair, ...]
    omnibus: FriedmanResult | None
    results: Mapping[str, SelectionResult] = field(default_factory=dict, repr=False)

    def to_section(self) -> Section:
        """Return the study as a section of a page."""
        columns = (
            "selector", "features", self.metric, "low", "high", "mean rank", "MRR", "NDCG@1", "seconds", "published",
        )  # fmt: skip
        rows = tuple(
            (
                line.selector, line.features, *(_short(v) for v in (line.mean, line.low, line.high, line.rank)),
                *(_short(v) for v in (line.mrr, line.ndcg1, line.train_seconds, line.published)),
            )
            for line in self.lines
        )  # fmt: skip
        told = tuple(
            (pair.first, pair.second, _short(pair.difference), _short(pair.p), _short(pair.p_domains), pair.differ)
            for pair in self.pairs
        )
        return Section(
            name=f"selection-{self.task}-{self.testbed}".replace(" ", "-"),
            title=f"Selectors, {self.task}, {self.testbed}",
            verdict=self.sentence(),
            paragraphs=tuple(filter(None, (self.note, "Blocks are graphs. " + PUBLISHED_NOTE))),
            tables=(
                Table(columns, rows, f"Mean {self.metric} over {self.graphs} graphs with 95 % intervals."),
                Table(
                    ("first", "second", "difference", "adjusted p", "adjusted p over domains", "differ"),
                    told,
                    "Wilcoxon signed-rank tests over graphs, Holm within this testbed.",
                ),
            ),
            level="info",
        )

    def sentence(self) -> str:
        """Say which selectors lead and cannot be told apart from the best."""
        best = self.lines[0]
        with_best = [best.selector]
        for pair in self.pairs:
            if best.selector in (pair.first, pair.second) and not pair.differ:
                with_best.append(pair.second if pair.first == best.selector else pair.first)
        if len(with_best) == 1:
            return f"{best.selector} has the best mean {self.metric}, and the tests tell it from every other selector."
        others = ", ".join(with_best[1:])
        return f"{best.selector} has the best mean {self.metric}; the tests do not tell it from {others}."


PUBLISHED_NOTE = "Published figures: Park et al., 2023 (GLEMOS), Tables 5 to 14, same feature set where given."


def study(
    testbed: Testbed | Mapping[str, Testbed],
    selectors: Iterable[str],
    *,
    task: str = "",
    metric: str = "auc",
    alpha: float = 0.05,
    on_result: Callable[[SelectionResult, str], None] | None = None,
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
    """
    beds = {"": testbed} if isinstance(testbed, Testbed) else dict(testbed)
    names = list(selectors)
    if not names or not beds:
        raise UsageError("A study needs at least one selector and one testbed.")
    results: dict[tuple[str, str], SelectionResult] = {}
    for features, bed in beds.items():
        for name in names:
            results[name, features] = evaluate(name, bed)
            if on_result is not None:
                on_result(results[name, features], features)
    first_set, bed = next(iter(beds.items()))
    main = {name: results[name, first_set] for name in names}
    return compare(main, results, bed, task=task, metric=metric, alpha=alpha)


def compare(
    main: Mapping[str, SelectionResult],
    every: Mapping[tuple[str, str], SelectionResult],
    bed: Testbed,
    *,
    task: str,
    metric: str,
    alpha: float = 0.05,
) -> TestbedStudy:
    """Arrange evaluated selectors as a study."""
    better = metric != "regret"
    names = list(main)
    table = np.stack([getattr(main[name].scores, metric) for name in names], axis=1)
    table = table[np.isfinite(table).all(axis=1)]
    omnibus, mean_ranks = None, np.full(len(names), np.nan)
    if len(names) > 1 and len(table) > 1:
        ranks = rank_rows(table, [better] * len(table))
        mean_ranks = ranks.mean(axis=0)
        omnibus = friedman(ranks, alpha=alpha) if len(names) > 2 else None
    position = {name: float(mean_ranks[i]) for i, name in enumerate(names)}
    lines = []
    for (name, features), result in every.items():
        span = interval(getattr(result.scores, metric))
        lines.append(
            SelectorLine(
                name, features, span.mean, span.low, span.high,
                position[name] if main.get(name) is result else float("nan"),
                result.mean["mrr"], result.mean["ndcg1"], max(result.train_seconds),
                published_value(bed.name, task, features or "regular", metric, name),
            )
        )  # fmt: skip
    lines.sort(key=lambda line: -line.mean if better else line.mean)
    return TestbedStudy(
        bed.name, task, bed.note, metric, len(table), tuple(lines), _pairs(main, table, metric, alpha), omnibus, main
    )


def _pairs(
    main: Mapping[str, SelectionResult], table: FloatArray, metric: str, alpha: float
) -> tuple[SelectorPair, ...]:
    names, better = list(main), metric != "regret"
    if len(names) < 2 or len(table) < 2:
        return ()
    tests = wilcoxon_holm(table, [better] * len(table), alpha)
    by_domain = _domain_table(main, metric)
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


_PUBLISHED: list[dict[str, str]] = []


def published_table() -> Sequence[Mapping[str, str]]:
    """Tables 5 to 15 of GLEMOS (Park et al., 2023) as rows of text; errors of 5 to 8 are from 16 to 19."""
    if not _PUBLISHED:
        path = resources.files("graphnetz.selection") / "published" / "glemos_tables.csv"
        _PUBLISHED.extend(csv.DictReader(path.read_text(encoding="utf-8").splitlines()))
    return _PUBLISHED


def published_value(testbed: str, task: str, features: str, metric: str, selector: str) -> float:
    """Look one published figure up; NaN where the paper has none."""
    kind, _, level = testbed.partition(" ") if testbed.startswith("sparse") else (testbed, "", "")
    wanted: dict[str, Any] = {
        "testbed": kind, "task": task, "features": features, "metric": metric, "selector": selector,
        "sparsity": level.rstrip("%"),
    }  # fmt: skip
    if " to " in task:
        wanted["testbed"] = "cross task"
    for row in published_table():
        if all(row[key] == value for key, value in wanted.items()):
            return float(row["value"])
    return float("nan")


def _short(value: float) -> float | str:
    return float(f"{value:.4g}") if np.isfinite(value) else ""
