"""Testbeds: which graphs are learned from, which are asked about, and what may be seen."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from graphnetz._core.errors import UsageError
from graphnetz._core.rng import generator
from graphnetz.selection.scoring import METRICS, SelectionScores, selection_scores
from graphnetz.selection.selectors.base import SELECTORS, Selector

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

SPARSITY_LEVELS = (0.1, 0.3, 0.5, 0.7, 0.9)


@dataclass(frozen=True, eq=False)
class Fold:
    """Row numbers to learn from and to be asked about."""

    train: IntArray
    test: IntArray


@dataclass(frozen=True, eq=False)
class Testbed:
    """A performance matrix, meta-features and folds.

    Parameters
    ----------
    name
        Name for tables.
    P, M
        What selectors may learn from: performances ``[graphs, models]`` (NaN where hidden or
        missing, greater is better) and meta-features ``[graphs, features]``.
    truth
        What predictions are scored against; the unmasked ``P`` for the sparse testbed.
    folds
        Training and test rows. For `cross_task` the test rows refer to ``truth`` and ``test_meta``.
    domains
        Domain of each training-side graph.
    test_meta, test_domains
        Meta-features and domains of the graphs in ``truth`` when these are not the rows of ``M``.
    note
        A caveat printed above every table of this testbed.
    published
        Name of the published table whose figures are about this matrix (`graphnetz.selection.study.PUBLISHED`).

    Examples
    --------
    >>> import numpy as np
    >>> from graphnetz.selection import fully_observed
    >>> rng = np.random.default_rng(0)
    >>> bed = fully_observed(rng.random((10, 3)), rng.random((10, 4)), ["a", "b"] * 5)
    >>> bed.name, len(bed.folds)
    ('fully observed', 5)
    """

    __test__ = False  # not a test class, whatever a test runner thinks of its name

    name: str
    P: FloatArray
    M: FloatArray
    truth: FloatArray
    folds: tuple[Fold, ...]
    domains: npt.NDArray[Any] | None = None
    test_meta: FloatArray | None = None
    test_domains: npt.NDArray[Any] | None = None
    note: str = ""
    published: str = ""

    def __post_init__(self) -> None:
        if len(self.P) != len(self.M):
            raise UsageError(f"P has {len(self.P)} graphs and M {len(self.M)}. Give one row per graph in both.")
        if self.P.shape[1] != self.truth.shape[1]:
            raise UsageError(f"P has {self.P.shape[1]} models and truth {self.truth.shape[1]}. Align the models first.")


def fully_observed(
    P: npt.ArrayLike, M: npt.ArrayLike, domains: npt.ArrayLike, *, folds: int = 5, seed: int = 1
) -> Testbed:
    """Stratified k-fold by domain with the whole matrix at hand.

    Parameters
    ----------
    P, M
        Performances ``[graphs, models]`` and meta-features ``[graphs, features]``.
    domains
        Domain of each graph.
    folds, seed
        Number of folds and seed of their draw.

    Returns
    -------
    Testbed
        For `evaluate`.

    Examples
    --------
    >>> import numpy as np
    >>> from graphnetz.selection import fully_observed
    >>> rng = np.random.default_rng(0)
    >>> [len(fold.test) for fold in fully_observed(rng.random((10, 3)), rng.random((10, 4)), ["a", "b"] * 5).folds]
    [2, 2, 2, 2, 2]
    """
    p, m, d = _arrays(P, M, domains)
    return Testbed("fully observed", p, m, p, _stratified(d, folds, seed), domains=d)


def sparse(
    P: npt.ArrayLike, M: npt.ArrayLike, domains: npt.ArrayLike, *, level: float, folds: int = 5, seed: int = 1
) -> Testbed:
    """Hide a fraction of each row from the selectors; test on the whole matrix.

    Masks are nested: what is hidden at one level is hidden at every higher one.

    Parameters
    ----------
    P, M
        Performances ``[graphs, models]`` and meta-features ``[graphs, features]``.
    domains
        Domain of each graph.
    level
        Fraction of the observed entries to hide, at least 0 and below 1.
    folds, seed
        Number of folds, and seed of folds and masks.

    Returns
    -------
    Testbed
        ``P`` is masked, ``truth`` is not.

    Examples
    --------
    >>> import numpy as np
    >>> from graphnetz.selection import sparse
    >>> rng = np.random.default_rng(0)
    >>> bed = sparse(rng.random((10, 4)), rng.random((10, 2)), ["a", "b"] * 5, level=0.5)
    >>> np.isnan(bed.P).mean().item()
    0.5
    """
    if not 0 <= level < 1:
        raise UsageError(f"level must be at least 0 and below 1, got {level}.")
    p, m, d = _arrays(P, M, domains)
    return Testbed(f"sparse {level:.0%}", mask_rows(p, level, seed=seed), m, p, _stratified(d, folds, seed), domains=d)


def mask_rows(P: FloatArray, level: float, *, seed: int) -> FloatArray:
    """Replace a fraction ``level`` of the observed entries of each row by NaN; at least one stays."""
    out = P.copy()
    for row in range(len(P)):
        seen = np.flatnonzero(np.isfinite(P[row]))
        order = generator("sparse", seed, row).permutation(seen)
        hidden = min(round(level * len(seen)), len(seen) - 1)
        out[row, order[:hidden]] = np.nan
    return out


def out_of_domain(P: npt.ArrayLike, M: npt.ArrayLike, domains: npt.ArrayLike, *, folds: int | None = 5) -> Testbed:
    """Test on domains never learned from.

    Parameters
    ----------
    P, M
        Performances ``[graphs, models]`` and meta-features ``[graphs, features]``.
    domains
        Domain of each graph.
    folds
        Number of groups of domains; None leaves out one domain at a time.

    Returns
    -------
    Testbed
        No domain stands on both sides of a fold.

    Examples
    --------
    >>> import numpy as np
    >>> from graphnetz.selection import out_of_domain
    >>> rng = np.random.default_rng(0)
    >>> len(out_of_domain(rng.random((9, 3)), rng.random((9, 2)), ["a", "b", "c"] * 3, folds=None).folds)
    3
    """
    from sklearn.model_selection import GroupKFold, LeaveOneGroupOut

    p, m, d = _arrays(P, M, domains)
    splitter = LeaveOneGroupOut() if folds is None else GroupKFold(folds)
    name = "leave one domain out" if folds is None else "out of domain"
    return Testbed(name, p, m, p, _folds(splitter.split(m, groups=d)), domains=d)


def small_to_large(
    P: npt.ArrayLike,
    M: npt.ArrayLike,
    nodes: npt.ArrayLike,
    *,
    threshold: int = 10_000,
    domains: npt.ArrayLike | None = None,
) -> Testbed:
    """Learn from small graphs, test on large ones.

    Parameters
    ----------
    P, M
        Performances ``[graphs, models]`` and meta-features ``[graphs, features]``.
    nodes
        Number of nodes of each graph.
    threshold
        Graphs with fewer nodes are small.
    domains
        Domain of each graph, kept for tables.

    Returns
    -------
    Testbed
        One fold.

    Examples
    --------
    >>> import numpy as np
    >>> from graphnetz.selection import small_to_large
    >>> rng = np.random.default_rng(0)
    >>> small_to_large(rng.random((4, 3)), rng.random((4, 2)), [10, 20, 900, 800], threshold=100).folds[0].test.tolist()
    [2, 3]
    """
    p, m, d = _arrays(P, M, domains)
    small = np.asarray(nodes) < threshold
    if len(small) != len(p) or small.all() or not small.any():
        raise UsageError(
            f"small_to_large needs graphs on both sides of {threshold} nodes and one count per graph "
            f"({small.sum()} of {len(small)} counts are below it; there are {len(p)} graphs). Change threshold."
        )
    return Testbed("small to large", p, m, p, _folds([(np.flatnonzero(small), np.flatnonzero(~small))]), domains=d)


def cross_task(
    source: tuple[npt.ArrayLike, npt.ArrayLike, Sequence[str]],
    target: tuple[npt.ArrayLike, npt.ArrayLike, Sequence[str]],
    *,
    test_domains: npt.ArrayLike | None = None,
    name: str = "cross task",
) -> Testbed:
    """Learn from one task's matrix, test on another's, over the models both have.

    Parameters
    ----------
    source, target
        Each ``(P, M, model names)``; columns are matched by name.
    test_domains
        Domains of the target's graphs, kept for tables.
    name
        Name for tables.

    Returns
    -------
    Testbed
        One fold from all source graphs to all target graphs.

    Examples
    --------
    >>> import numpy as np
    >>> from graphnetz.selection import cross_task
    >>> rng = np.random.default_rng(0)
    >>> source = (rng.random((5, 3)), rng.random((5, 2)), ["GCN", "GAT", "MLP"])
    >>> target = (rng.random((4, 2)), rng.random((4, 2)), ["MLP", "GCN"])
    >>> cross_task(source, target).truth.shape
    (4, 2)
    """
    columns = {model: position for position, model in enumerate(target[2])}
    common = [(i, columns[model]) for i, model in enumerate(source[2]) if model in columns]
    if len(common) < 2:
        raise UsageError("The two tasks share fewer than two models. Give model names that match.")
    left, right = np.array(common).T
    p, m, _ = _arrays(source[0], source[1], None)
    q, k, d = _arrays(target[0], target[1], test_domains)
    fold = Fold(np.arange(len(p)), np.arange(len(q)))
    return Testbed(name, p[:, left], m, q[:, right], (fold,), test_meta=k, test_domains=d)


@dataclass(frozen=True, eq=False)
class SelectionResult:
    """How one selector did on one testbed; every array has one entry per scored graph.

    Attributes
    ----------
    selector, testbed
        Their names.
    scores
        One value per graph and metric.
    graphs, fold
        Row number of each graph, and the fold it was tested in.
    domains
        Domain of each graph; None when unknown.
    train_seconds, predict_seconds
        Processor time per fold.
    note
        The testbed's caveat.
    mean, standard_error
        Of every metric over graphs.

    Examples
    --------
    >>> import numpy as np
    >>> from graphnetz.selection import SELECTORS, evaluate, fully_observed
    >>> rng = np.random.default_rng(0)
    >>> bed = fully_observed(rng.random((10, 3)), rng.random((10, 4)), ["a", "b"] * 5)
    >>> evaluate(next(iter(SELECTORS)), bed).graphs.size
    10
    """

    selector: str
    testbed: str
    scores: SelectionScores
    graphs: IntArray
    fold: IntArray
    domains: npt.NDArray[Any] | None
    train_seconds: tuple[float, ...]
    predict_seconds: tuple[float, ...]
    note: str = ""
    mean: Mapping[str, float] = field(default_factory=dict)
    standard_error: Mapping[str, float] = field(default_factory=dict)

    @classmethod
    def on(
        cls, bed: Testbed, selector: str, scores: SelectionScores, graphs: IntArray, fold: IntArray, *,
        times: tuple[tuple[float, ...], tuple[float, ...]],
    ) -> SelectionResult:  # fmt: skip
        """Return what was scored on a testbed, with domains and means.

        Parameters
        ----------
        bed, selector
            The testbed, and the selector's name.
        scores
            One value per graph and metric.
        graphs, fold
            Row number of each graph, and the fold it was tested in.
        times
            Processor seconds of fitting and of predicting, each one per fold.

        Returns
        -------
        SelectionResult
            With the testbed's domains of these graphs, and mean and standard error of every metric.

        Examples
        --------
        >>> import numpy as np
        >>> from graphnetz.selection import SelectionResult, fully_observed, selection_scores
        >>> rng = np.random.default_rng(0)
        >>> P, rows = rng.random((10, 3)), np.arange(10)
        >>> bed = fully_observed(P, rng.random((10, 4)), ["a", "b"] * 5)
        >>> times = ((0.1,), (0.1,))
        >>> SelectionResult.on(bed, "oracle", selection_scores(P, P), rows, rows % 5, times=times).mean["hit1"]
        1.0
        """
        labels = bed.domains if bed.test_meta is None else bed.test_domains
        domains = None if labels is None else labels[graphs]
        summary = scores.mean(), scores.standard_error()
        return cls(selector, bed.name, scores, graphs, fold, domains, *times, bed.note, *summary)

    def row(self) -> dict[str, Any]:
        """One line of a table.

        Returns
        -------
        dict
            Testbed, selector, number of graphs, mean and standard error of every metric, and times.

        Examples
        --------
        >>> import numpy as np
        >>> from graphnetz.selection import SELECTORS, evaluate, fully_observed
        >>> rng = np.random.default_rng(0)
        >>> bed = fully_observed(rng.random((10, 3)), rng.random((10, 4)), ["a", "b"] * 5)
        >>> evaluate(next(iter(SELECTORS)), bed).row()["n_graphs"]
        10
        """
        out: dict[str, Any] = {"testbed": self.testbed, "selector": self.selector, "n_graphs": len(self.graphs)}
        for key in METRICS:
            out[key] = self.mean[key]
            out[f"{key}_sem"] = self.standard_error[key]
        return {**out, "train_seconds": max(self.train_seconds), "predict_seconds": max(self.predict_seconds)}


def evaluate(selector: str | Selector | Callable[[], Selector], testbed: Testbed) -> SelectionResult:
    """Fit and score a selector on every fold of a testbed; graphs of all folds are pooled.

    Parameters
    ----------
    selector
        A name in `SELECTORS`, a selector (copied, never changed) or a function that makes one.
    testbed
        The selector sees training rows only; scoring happens here.

    Returns
    -------
    SelectionResult
        One value per scored graph, and their means.

    Examples
    --------
    >>> import numpy as np
    >>> from graphnetz.selection import SELECTORS, evaluate, fully_observed
    >>> rng = np.random.default_rng(0)
    >>> P = rng.random((10, 3)) + [0, 0, 2]  # the third model is always best
    >>> evaluate("gb_perf", fully_observed(P, rng.random((10, 4)), ["a", "b"] * 5)).mean["hit1"]
    1.0
    """
    make, name = _factory(selector)
    parts: list[SelectionScores] = []
    rows, number, fit_time, predict_time = [], [], [], []
    meta = testbed.M if testbed.test_meta is None else testbed.test_meta
    for index, fold in enumerate(testbed.folds):
        start = time.process_time()
        domains = None if testbed.domains is None else testbed.domains[fold.train]
        fitted = make().fit(testbed.P[fold.train], testbed.M[fold.train], domains)
        middle = time.process_time()
        predicted = fitted.predict(meta[fold.test])
        predict_time.append(time.process_time() - middle)
        fit_time.append(middle - start)
        parts.append(selection_scores(testbed.truth[fold.test], predicted))
        rows.append(fold.test)
        number.append(np.full(len(fold.test), index))
    scores = SelectionScores(**{key: np.concatenate([getattr(part, key) for part in parts]) for key in METRICS})
    graphs, fold_of = np.concatenate(rows), np.concatenate(number)
    return SelectionResult.on(testbed, name, scores, graphs, fold_of, times=(tuple(fit_time), tuple(predict_time)))


def _factory(selector: str | Selector | Callable[[], Selector]) -> tuple[Callable[[], Selector], str]:
    import copy

    if isinstance(selector, str):
        return SELECTORS[selector], selector
    if isinstance(selector, Selector):
        return lambda: copy.deepcopy(selector), selector.name or type(selector).__name__
    return selector, getattr(selector, "name", "") or getattr(selector, "__name__", "selector")


def _arrays(
    P: npt.ArrayLike, M: npt.ArrayLike, domains: npt.ArrayLike | None
) -> tuple[FloatArray, FloatArray, npt.NDArray[Any]]:
    p, m = np.asarray(P, dtype=np.float64), np.asarray(M, dtype=np.float64)
    d = np.zeros(len(p), dtype=int) if domains is None else np.asarray(domains)
    if len(d) != len(p):
        raise UsageError(f"There are {len(p)} graphs but {len(d)} domains. Give one domain per graph.")
    return p, m, d


def _stratified(domains: npt.NDArray[Any], folds: int, seed: int) -> tuple[Fold, ...]:
    from sklearn.model_selection import StratifiedKFold

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The least populated class")  # small domains are expected
        return _folds(StratifiedKFold(folds, shuffle=True, random_state=seed).split(domains, domains))


def _folds(pairs: Iterable[tuple[Any, Any]]) -> tuple[Fold, ...]:
    return tuple(Fold(np.asarray(train), np.asarray(test)) for train, test in pairs)
