"""How far a difference reaches beyond the examples that were tested."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
from scipy import special

from graphnetz._core.changed import changed
from graphnetz._core.errors import UnknownNameError
from graphnetz._core.text import names, number, p_value
from graphnetz.metrics import METRICS
from graphnetz.records import Contributions, ScoreTable
from graphnetz.records.analysis import Evidence, Verdict
from graphnetz.stats.components import CrossedResult, Design, crossed_components, design, half_width
from graphnetz.stats.example_tests import example_test
from graphnetz.stats.paired import PairedTest
from graphnetz.stats.paired_rows import error_rows, paired_test_rows

Pair = tuple[str, str]
WIDEST_RATIO = 0.5
"""n_test / n_train up to which Nadeau and Bengio's correction stands for the effect of the shared training pool."""
NOT_KEPT = "predictions were not kept"
_NAN = math.nan


def source_evidence(
    table: ScoreTable, t: int, pairs: Sequence[Pair], examples: Contributions | None
) -> dict[Pair, Evidence]:
    """Return what each comparison rests on for new examples from the same source.

    Parameters
    ----------
    table, t
        Scores, and the number of the task.
    pairs
        Comparisons (a, b).
    examples
        What single examples contribute; None where predictions were not kept.

    Returns
    -------
    dict
        One `Evidence` per pair on the seeds that both models have. Its ``about`` says what the claim is about.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> right = {"GCN": rng.random((5, 400)) < 0.8, "MLP": rng.random((5, 400)) < 0.6}
    >>> hits = {model: values.astype(float) for model, values in right.items()}
    >>> found = Contributions("cora", "test_acc", (0, 1, 2, 3, 4), (0,) * 5, np.arange(400), hits)
    >>> scores = np.array([[hits[model].mean(axis=1) for model in hits]])
    >>> table = ScoreTable(
    ...     ("cora",), ("GCN", "MLP"), (0, 1, 2, 3, 4), scores, (True,), ("test_acc",), ("init",), (np.nan,), ("cora",)
    ... )
    >>> evidence = source_evidence(table, 0, [("GCN", "MLP")], found)["GCN", "MLP"]
    >>> evidence.method, evidence.about, evidence.p < 0.001
    ('crossed', 'for new examples, this training part', True)
    """
    decide = _RULES[table.replication[t]]
    crossed = crossed_pairs(table, t, pairs, examples)
    tested = _tests_over_seeds(table, t, pairs)
    return {pair: decide(_Case(table, t, pair, tested, crossed.get(pair), examples)) for pair in pairs}


Tested = Callable[[str, float], Mapping[Pair, tuple[PairedTest, float]]]
"""``tested(method, ratio)``: test and standard error of every comparison of a task."""


def _tests_over_seeds(table: ScoreTable, t: int, pairs: Sequence[Pair]) -> Tested:
    """Tests of all pairs of a task, made together when the first one is asked for."""

    @cache
    def tested(method: str, ratio: float) -> Mapping[Pair, tuple[PairedTest, float]]:
        x, y = table.paired_rows(table.tasks[t], pairs)
        found = zip(paired_test_rows(x, y, method=method, test_ratio=ratio), error_rows(x, y, ratio), strict=True)
        return dict(zip(pairs, found, strict=True))

    return tested


@dataclass(frozen=True, eq=False)
class _Case:
    """One comparison: its scores, and what its examples say."""

    table: ScoreTable
    t: int
    pair: Pair
    tested: Tested
    crossed: CrossedResult | None
    examples: Contributions | None

    def over_seeds(self, method: str, ratio: float, about: str) -> Evidence:
        """Paired t over seeds, folds or splits; seeds of one split were averaged first."""
        test, error = self.tested(method, ratio)[self.pair]
        unit = _UNITS.get(self.table.replication[self.t], "seed")
        return Evidence(
            "source", test.mean_diff, error, test.n - 1, test.p, test.n, unit, method, about, test.reason
        )  # fmt: skip

    def over_examples(self, about: str) -> Evidence:
        """Crossed effects, or why there are none."""
        if (found := self.crossed) is None:
            missing = self.over_seeds("t", 0.0, about)
            why = why_none(self.examples, self.pair)
            return changed(missing, error=_NAN, df=_NAN, p=_NAN, method="crossed", reason=why)
        return Evidence(
            "source", found.mean, found.error, found.df, found.p, found.n_examples, "example", "crossed", about,
            found.reason,
        )  # fmt: skip

    def wider(self, ratio: float, about: str) -> Evidence:
        """Nadeau and Bengio's test over the means of splits, or crossed effects where they are wider."""
        corrected, by_examples = self.over_seeds("corrected_t", ratio, about), self.over_examples(about)
        if not math.isfinite(by_examples.p):
            return corrected
        widths = [half_width(found.error, found.df) for found in (corrected, by_examples)]
        found = by_examples if not math.isfinite(corrected.p) or widths[1] > widths[0] else corrected
        return replace(found, method="crossed+corrected_t")

    @property
    def others(self) -> str:
        """``for new graphs``, ``for other nodes of this graph``."""
        unit = self.examples.unit if self.examples else "example"
        return f"for other {unit}s of this graph" if self.one_graph else f"for new {unit}s"

    @property
    def one_graph(self) -> bool:
        return self.examples is not None and self.examples.one_graph

    @property
    def source(self) -> str:
        return self.others if self.one_graph else f"{self.others} from the same source"


_UNITS = {"fold": "fold", "resplit": "split"}


def _regenerated(case: _Case) -> Evidence:
    # Every seed draws fresh data: the plain paired test over seeds is the claim itself.
    return case.over_seeds("t", 0.0, "for new graphs from the same source" if case.one_graph else case.source)


def _fixed(case: _Case) -> Evidence:
    return case.over_examples(f"{case.others}, this training part")


def _resplit(case: _Case) -> Evidence:
    ratio = case.table.test_ratio[case.t]
    if ratio <= WIDEST_RATIO:
        return case.wider(ratio, case.source)
    return case.over_examples(f"{case.others}, trained on parts of this dataset")


def _fold(case: _Case) -> Evidence:
    folds = case.table.splits[case.t] or len(set(case.examples.splits if case.examples else case.table.seeds))
    return case.wider(1 / (folds - 1) if folds > 1 else _NAN, case.source)


def _unknown(case: _Case) -> Evidence:
    found = case.over_seeds("t", 0.0, "")
    return replace(found, error=_NAN, df=_NAN, p=_NAN, reason="what a seed varies was not stated")


_RULES = {"init": _fixed, "resplit": _resplit, "fold": _fold, "regenerate": _regenerated, "unknown": _unknown}


def why_none(examples: Contributions | None, pair: Pair = ("", "")) -> str:
    """Why there are no contributions of two models."""
    if examples is None or examples.reason or not examples.values:
        return (examples.reason if examples else "") or NOT_KEPT
    gone = [model for model in pair if model not in examples.values]
    whose = "its" if len(gone) == 1 else "their"
    return f"the kept predictions of {names(gone)} do not give {whose} scores" if gone else NOT_KEPT


def crossed_pairs(
    table: ScoreTable, t: int, pairs: Sequence[Pair], examples: Contributions | None
) -> dict[Pair, CrossedResult]:
    """Crossed components of every pair on their common support; what pairs share is computed once."""
    if examples is None or examples.reason:
        return {}
    nested = table.replication[t] == "regenerate"
    there = {model: np.isfinite(values) for model, values in examples.values.items()}
    scale = _logits(examples)
    designs: dict[bytes, Design] = {}
    out = {}
    for a, b in pairs:
        if a not in there or b not in there:
            continue
        both = there[a] & there[b]
        key = np.packbits(both).tobytes()
        if key not in designs:
            designs[key] = design(
                both, examples.splits, blocks=examples.blocks if examples.one_graph else None,
                ends=examples.ends if examples.one_graph else None, nested=nested,
            )  # fmt: skip
        found = crossed_components(examples.values[a] - examples.values[b], examples.splits, given=designs[key])
        if scale and math.isfinite(found.p):
            found = _on_logits(found, scale[a] - scale[b], examples, designs[key])
        out[a, b] = found
    return out


@cache
def difference_bounds(metric: str) -> tuple[float, float]:
    """Return the least and the largest difference of two scores; intervals of differences are cut there.

    Parameters
    ----------
    metric
        Headline key, such as ``test_acc``.

    Returns
    -------
    tuple of float
        Infinite where the metric is not bounded, or not known.

    Examples
    --------
    >>> difference_bounds("test_auc")
    (-1.0, 1.0)
    """
    try:
        low, high = METRICS[metric.rpartition("test_")[2]].bounds
    except UnknownNameError:
        return -math.inf, math.inf
    return low - high, high - low


def _logits(examples: Contributions) -> dict[str, np.ndarray] | None:
    """Pseudo-values of scores between 0 and 1 on the logit scale; None where a score is 0 or 1, or they are exact."""
    if examples.kind != "pseudo" or difference_bounds(examples.metric) != (-1.0, 1.0):
        return None
    out = {}
    for model, values in examples.values.items():
        count = np.isfinite(values).sum(axis=1, keepdims=True)
        score = np.where(count > 0, np.nansum(values, axis=1, keepdims=True) / np.maximum(count, 1), _NAN)
        if np.any((score <= 0) | (score >= 1)):
            return None
        out[model] = special.logit(score) + (values - score) / (score * (1 - score))
    return out


def _on_logits(plain: CrossedResult, d: np.ndarray, examples: Contributions, plan: Design) -> CrossedResult:
    """The same estimate with the error that the logit scale gives, where both scales agree on the direction.

    The ratio of estimate and error is that of the logit scale, so its p holds for the interval as well.
    """
    found = crossed_components(d, examples.splits, given=plan)
    if not math.isfinite(found.p) or not plain.mean * found.mean > 0:
        return plain
    factor = plain.mean / found.mean
    return replace(plain, error=found.error * factor, df=found.df, p=found.p)


def example_tests(contributions: Contributions, a: str, b: str, seed: int | None = None) -> list[dict[str, object]]:
    """Test one trained ``a`` against one trained ``b`` on the test examples of a seed.

    Parameters
    ----------
    contributions
        What single examples contribute.
    a, b
        Two models.
    seed
        Which seed; None takes all that both have.

    Returns
    -------
    list of dict
        One row per seed: task, a, b, seed, method, n, n_used, mean_diff, statistic, p, reason. 0/1 values are tested
        by exact McNemar, other losses by sign flips, pseudo-values by their normal test.

    Examples
    --------
    >>> hits = {"GCN": np.array([[1.0, 1, 1, 1, 1, 1]]), "MLP": np.array([[0.0, 0, 0, 0, 0, 0]])}
    >>> found = Contributions("cora", "test_acc", (3,), (0,), np.arange(6), hits)
    >>> [(row["seed"], row["method"], row["p"]) for row in example_tests(found, "GCN", "MLP")]
    [(3, 'mcnemar', 0.03125)]
    """
    rows: list[dict[str, object]] = []
    for i, each in enumerate(contributions.seeds):
        if seed is not None and each != seed:
            continue
        x, y = contributions.values[a][i], contributions.values[b][i]
        both = np.isfinite(x) & np.isfinite(y)
        if both.any():
            kind = _kind(contributions, x[both], y[both])
            found = example_test(x[both], y[both], kind, seed=each)
            rows.append({"task": contributions.task, "a": a, "b": b, "seed": each, **found.__dict__})
    return rows


def _kind(contributions: Contributions, x: np.ndarray, y: np.ndarray) -> str:
    if contributions.kind == "pseudo":
        return "pseudo"
    return "mcnemar" if bool(np.isin(x, (0, 1)).all() and np.isin(y, (0, 1)).all()) else "permutation"


_EXAMPLE_TESTS = {
    "mcnemar": "exact McNemar test", "permutation": "sign-flip test", "pseudo": "normal test of pseudo-values",
    "delong": "DeLong's test",
}  # fmt: skip


def example_words(row: Mapping[str, object]) -> Verdict:
    """Say what one row of `example_tests` shows.

    Parameters
    ----------
    row
        One row.

    Returns
    -------
    Verdict
        Claims ``example-test``; about these two trained models and no others.

    Examples
    --------
    >>> hits = {"GCN": np.ones((1, 8)), "MLP": np.zeros((1, 8))}
    >>> found = Contributions("cora", "test_acc", (3,), (0,), np.arange(8), hits)
    >>> print(example_words(example_tests(found, "GCN", "MLP")[0]).text)
    The GCN and the MLP that were trained with seed 3 differ on new examples (+1.000).
    """
    p = float(row.get("p_holm", row["p"]))  # type: ignore[arg-type]
    who = f"The {row['a']} and the {row['b']} that were trained with seed {row['seed']}"
    size = number(float(row["mean_diff"]), signed=True)  # type: ignore[arg-type]
    differ = "differ on new examples" if p <= 0.05 else "are not shown to differ on new examples"
    corrected = "after Holm" if "p_holm" in row else "not corrected"
    method = _EXAMPLE_TESTS[str(row["method"])]
    basis = f"{method} over {row['n']:,} examples, p = {p_value(p)} {corrected}"
    level = "different" if p <= 0.05 else "tied"
    return Verdict(level, str(row["task"]), f"{who} {differ} ({size}).", basis, ("example-test",))
