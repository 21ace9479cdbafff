"""Do two (mode, model) pairs get the same graphs right? And does complementarity go with performance?"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pandas as pd

from graphnetz._core.errors import UsageError
from graphnetz.records import Predictions
from graphnetz.rings.rules import correlation_symbols
from graphnetz.rings.spaces import Array


@dataclass(frozen=True)
class AgreementResult:
    """Mean overlaps of the sets of correctly classified examples.

    Attributes
    ----------
    names
        The (mode, model) pairs compared; they name rows and columns of the arrays.
    jaccard
        ``[i, j]`` is |A n B| / |A u B|. NaN where every run leaves it undefined.
    asymmetric
        ``[i, j]`` is |A n B| / |B|, the share of what ``names[j]`` gets right that ``names[i]`` gets
        right too.
    runs
        Runs that each pair shares.

    Examples
    --------
    >>> from graphnetz.rings import agreement
    >>> agreement({"GCN": [{1, 2, 3}], "MLP": [{2, 3, 4}]}).jaccard[0, 1].item()
    0.5
    """

    names: tuple[str, ...]
    jaccard: Array = field(repr=False)
    asymmetric: Array = field(repr=False)
    runs: npt.NDArray[np.int64] = field(repr=False)

    def to_frame(self) -> pd.DataFrame:
        """Return the overlaps as a long table.

        Returns
        -------
        DataFrame
            Columns a, b, jaccard, asymmetric, runs; one row per ordered pair.

        Examples
        --------
        >>> from graphnetz.rings import agreement
        >>> agreement({"GCN": [{1, 2, 3}], "MLP": [{2, 3, 4}]}).to_frame().shape
        (4, 5)
        """
        rows = [
            (a, b, self.jaccard[i, j], self.asymmetric[i, j], self.runs[i, j])
            for i, a in enumerate(self.names)
            for j, b in enumerate(self.names)
        ]
        return pd.DataFrame(rows, columns=["a", "b", "jaccard", "asymmetric", "runs"])


def correct_examples(predictions: Predictions) -> frozenset[int]:
    """Return the ids of the examples a classifier got right.

    Parameters
    ----------
    predictions
        Test-set outputs of one cell. With several labels per example all known ones must be right.

    Returns
    -------
    frozenset of int
        Ids from ``predictions.example``.

    Examples
    --------
    >>> import numpy as np
    >>> from graphnetz.records import Predictions
    >>> from graphnetz.rings import correct_examples
    >>> scores = np.array([[2.0, 1.0], [0.0, 1.0]])
    >>> correct_examples(Predictions(np.array([10, 11]), np.array([0, 0]), scores))
    frozenset({10})
    """
    target, score = np.asarray(predictions.target), np.asarray(predictions.score)
    if predictions.multilabel:
        right = (((score > 0) == (target > 0.5)) | ~np.isfinite(target)).all(axis=1)
    else:
        right = predictions.classes == target.reshape(-1)
    return frozenset(int(example) for example in np.asarray(predictions.example)[right])


def agreement(
    correct: Mapping[str, Mapping[object, Collection[int]] | Sequence[Collection[int]]],
) -> AgreementResult:
    """Average Jaccard and asymmetric overlap over the runs that two models share.

    Parameters
    ----------
    correct
        By name of a (mode, model) pair: the sets of correctly classified examples, by run (split
        and seed) or as a sequence in which position is the run.

    Returns
    -------
    AgreementResult
        Overlaps of all ordered pairs.

    Notes
    -----
    Both overlaps of two empty sets, and the asymmetric overlap with an empty second set, are
    undefined; such runs do not enter the mean.

    Examples
    --------
    >>> from graphnetz.rings import agreement
    >>> result = agreement({"GCN": [{1, 2, 3}, {1, 2}], "MLP": [{2, 3}, {1}]})
    >>> result.asymmetric.round(2).tolist()
    [[1.0, 1.0], [0.58, 1.0]]
    """
    names = tuple(correct)
    sets: list[dict[object, frozenset[int]]] = []
    for name in names:
        runs = correct[name]
        items = runs.items() if isinstance(runs, Mapping) else enumerate(runs)
        sets.append({key: frozenset(value) for key, value in items})
    size = len(names)
    jaccard, asymmetric = np.full((size, size), np.nan), np.full((size, size), np.nan)
    shared = np.zeros((size, size), dtype=np.int64)
    for i in range(size):
        for j in range(size):
            keys = sets[i].keys() & sets[j].keys()
            pairs = [(sets[i][key], sets[j][key]) for key in keys]
            shared[i, j] = len(pairs)
            jaccard[i, j] = _mean([len(a & b) / len(a | b) for a, b in pairs if a | b])
            asymmetric[i, j] = _mean([len(a & b) / len(b) for a, b in pairs if b])
    return AgreementResult(names, jaccard, asymmetric, shared)


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values)) if values else float("nan")


@dataclass(frozen=True)
class CorrelationResult:
    """Correlation of mean complementarity with mean performance over (perturbation, t).

    Attributes
    ----------
    pearson, spearman, kendall
        The three coefficients; NaN where undefined.
    points
        Number of (perturbation, t) pairs.
    reason
        Why the coefficients are NaN; empty otherwise.

    Examples
    --------
    >>> from graphnetz.rings import correlate
    >>> correlate({"o": [0.2], "eg": [0.4]}, {"o": 0.9, "eg": 0.8}).reason
    'fewer than three points'
    """

    pearson: float
    spearman: float
    kendall: float
    points: int
    reason: str = ""

    @property
    def values(self) -> tuple[float, float, float]:
        """Pearson, Spearman, Kendall."""
        return self.pearson, self.spearman, self.kendall

    @property
    def symbols(self) -> tuple[str, ...]:
        """Their symbols in five bins of width 0.4."""
        return correlation_symbols(self.values)[0]


def correlate(complementarity: Mapping[str, Sequence[float]], performance: Mapping[str, float]) -> CorrelationResult:
    """Correlate complementarity with performance.

    Parameters
    ----------
    complementarity
        By perturbation one value per t.
    performance
        By perturbation the mean score. Perturbations that only one of the two has are left out.

    Returns
    -------
    CorrelationResult
        Three coefficients, NaN with a reason below three points.

    Examples
    --------
    >>> from graphnetz.rings import correlate
    >>> result = correlate({"o": [0.2], "eg": [0.4], "cg": [0.5]}, {"o": 0.9, "eg": 0.8, "cg": 0.7})
    >>> round(result.spearman, 2), result.symbols
    (-1.0, ('--', '--', '--'))
    """
    from scipy import stats

    x: list[float] = []
    y: list[float] = []
    for code in complementarity:
        if code in performance and np.isfinite(performance[code]):
            values = np.atleast_1d(np.asarray(complementarity[code], dtype=float))
            x.extend(values)
            y.extend([performance[code]] * len(values))
    first, second = np.array(x), np.array(y)
    finite = np.isfinite(first)
    first, second = first[finite], second[finite]
    if len(first) < 3 or np.ptp(first) == 0 or np.ptp(second) == 0:
        reason = "fewer than three points" if len(first) < 3 else "one of the two does not vary"
        return CorrelationResult(np.nan, np.nan, np.nan, len(first), reason)
    return CorrelationResult(
        pearson=float(stats.pearsonr(first, second).statistic),
        spearman=float(stats.spearmanr(first, second).statistic),
        kendall=float(stats.kendalltau(first, second).statistic),
        points=len(first),
    )


def overall_symbol(results: Sequence[CorrelationResult]) -> str:
    """Return the paper's overall evaluation: the mean of all symbols as -2 .. 2, binned again.

    Parameters
    ----------
    results
        Correlations of all metrics.

    Returns
    -------
    str
        One of ``-- - o + ++``, or ``?`` where every correlation is undefined.

    Examples
    --------
    >>> from graphnetz.rings import correlate, overall_symbol
    >>> result = correlate({"o": [0.2], "eg": [0.4], "cg": [0.5]}, {"o": 0.9, "eg": 0.8, "cg": 0.7})
    >>> overall_symbol([result])
    '--'
    """
    if not results:
        raise UsageError("No correlation given.")
    return correlation_symbols([value for result in results for value in result.values])[1]
