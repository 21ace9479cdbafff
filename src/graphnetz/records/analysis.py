"""The vocabulary of an analysis: what was asked for, what was found, and what may be said."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from graphnetz.records.cells import CellResult
from graphnetz.records.section import _html
from graphnetz.records.seed_rule import SeedRule
from graphnetz.records.task_info import TaskInfo
from graphnetz.records.views import RankView

Histories = Mapping[str, Mapping[str, Sequence[Mapping[str, Sequence[float]]]]]
"""``histories[task][model]``: one mapping of history key to values per seed."""

TEST_WORDS = {"t": "paired t", "wilcoxon": "Wilcoxon", "sign": "sign", "corrected_t": "corrected resampled t"}
FAMILY_WORDS = {"task": "within each task", "report": "over all comparisons of the report"}
INTERVAL_WORDS = {"t": "Student's t", "bootstrap": "percentile bootstrap", "bca": "BCa bootstrap"}
TIE_WORDS = {
    "holm": "cannot be told apart from the best by the Holm-adjusted paired test",
    "overlap": "its interval overlaps that of the best",
}


@dataclass(frozen=True)
class AnalysisOptions:
    """How scores are analysed.

    Parameters
    ----------
    level, interval
        Coverage and kind of the intervals of means: ``"t"``, ``"bootstrap"`` or ``"bca"``.
    bootstrap_n, bootstrap_seed
        Resamples of a bootstrap interval, and where they start.
    method, alpha, family
        Paired test, its level after Holm, and what Holm's family is: ``"task"`` or ``"report"``.
    tie_rule
        Which cells of a row are marked as tied with the best: ``"holm"`` (by the test) or ``"overlap"``.

    Examples
    --------
    >>> AnalysisOptions(method="wilcoxon").alpha
    0.05
    """

    level: float = 0.95
    interval: str = "t"
    bootstrap_n: int = 10_000
    bootstrap_seed: int = 0
    method: str = "t"
    alpha: float = 0.05
    family: str = "task"
    tie_rule: str = "holm"


@dataclass(frozen=True, eq=False)
class Facts:
    """What is known of a run besides its scores.

    Parameters
    ----------
    tasks
        Declared facts per task.
    cells, histories
        Finished cells, and curves per task, model and seed.
    baselines
        Models that the others should beat.
    budgets
        ``budgets[task][model]``: parameters asked for, None for a model that kept its width.
    rule
        The rule of ``seeds="auto"``, None for fixed seeds.

    Examples
    --------
    >>> from graphnetz.records.task_info import TaskInfo
    >>> Facts({"cora": TaskInfo("test_acc")}, baselines=("MLP",)).failures
    ()
    """

    tasks: Mapping[str, TaskInfo]
    cells: Sequence[CellResult] = ()
    histories: Histories = field(default_factory=dict)
    baselines: tuple[str, ...] = ()
    budgets: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    rule: SeedRule | None = None

    @property
    def failures(self) -> tuple[CellResult, ...]:
        """Cells that ended without a value."""
        return tuple(cell for cell in self.cells if not cell.ok)


@dataclass(frozen=True)
class CellStat:
    """One (task, model): mean with its interval, and the corrected one when runs share training data.

    ``note`` says why cells are missing, ``reason`` why there is no interval, ``test_se`` is the error of the finite
    test set that all seeds share, ``status`` the sentence of the summary.
    """

    task: str
    model: str
    n: int
    mean: float
    std: float
    sem: float
    low: float
    high: float
    half: float
    corrected_low: float = math.nan
    corrected_high: float = math.nan
    corrected_half: float = math.nan
    test_se: float = math.nan
    parameters: int | None = None
    note: str = ""
    reason: str = ""
    status: str = "ok"


@dataclass(frozen=True)
class Comparison:
    """Models a and b on one task: the chosen test raw and after Holm, and what decides.

    Attributes
    ----------
    task, a, b
        Names of the task and of the two models.
    greater_is_better
        Direction of the task's metric.
    n, n_used
        Seeds that both models have, and those that the test used (Wilcoxon's leaves ties out).
    mean_diff, low, high
        Mean of a - b over seeds, with the interval of the chosen test.
    dz, hedges_g
        Effect sizes: mean over standard deviation of the differences, and the same after Hedges' correction.
    p, p_adjusted
        Of the chosen test, raw and after Holm.
    smallest_p, smallest_adjusted
        The least that the test could have given with this many seeds, raw and after Holm.
    reason
        Why there is no test; empty where there is one.
    shares_data
        Whether the runs share training data, so that the plain test is anti-conservative.
    low_corrected, high_corrected, p_corrected, p_corrected_adjusted
        The same by the corrected resampled t-test (Nadeau and Bengio); NaN where runs share no data.
    family_size, alpha
        Comparisons that Holm corrects for, and the level after it.
    decided_by, p_decided, shown_low, shown_high, different
        The deciding test, its adjusted p, its interval and its answer: every sentence, table and figure shows these.
    exact
        Whether the two differ by the same amount on every seed, so that no test exists.

    Examples
    --------
    >>> from graphnetz.report import example_report
    >>> pair = example_report().analysis.comparisons[1]
    >>> pair.task, pair.a, pair.b, pair.better, pair.different
    ('cora', 'GAT', 'MLP', 'GAT', True)
    """

    task: str
    a: str
    b: str
    greater_is_better: bool
    n: int
    mean_diff: float
    low: float = math.nan
    high: float = math.nan
    dz: float = math.nan
    hedges_g: float = math.nan
    p: float = math.nan
    n_used: int = 0
    smallest_p: float = math.nan
    reason: str = ""
    shares_data: bool = False
    low_corrected: float = math.nan
    high_corrected: float = math.nan
    p_corrected: float = math.nan
    p_adjusted: float = math.nan
    p_corrected_adjusted: float = math.nan
    smallest_adjusted: float = math.nan
    family_size: int = 0
    alpha: float = 0.05
    decided_by: str = ""
    p_decided: float = math.nan
    shown_low: float = math.nan
    shown_high: float = math.nan
    different: bool = False
    exact: bool = False

    @property
    def corrected(self) -> bool:
        """Whether the corrected resampled t-test decides because runs share training data."""
        return self.shares_data and self.decided_by == "corrected_t"

    @property
    def significant(self) -> bool:
        """The chosen test after Holm, as documented for ``pairwise()``."""
        return bool(self.p_adjusted <= self.alpha)

    @property
    def reachable(self) -> bool:
        """Whether the chosen test could have become significant with this many seeds at all."""
        return not self.smallest_adjusted > self.alpha

    @property
    def better(self) -> str:
        """Model with the better mean, empty on a tie."""
        if self.mean_diff == 0 or math.isnan(self.mean_diff):
            return ""
        return self.a if (self.mean_diff > 0) == self.greater_is_better else self.b

    def involves(self, model: str) -> bool:
        """Tell whether a model is one of the two.

        Parameters
        ----------
        model
            Its name.

        Returns
        -------
        bool
            True for a and b.

        Examples
        --------
        >>> Comparison("cora", "GCN", "MLP", True, 10, 0.2).involves("GAT")
        False
        """
        return model in (self.a, self.b)

    def other(self, model: str) -> str:
        """Return the one that is not ``model``.

        Parameters
        ----------
        model
            One of the two.

        Returns
        -------
        str
            Name of the other.

        Examples
        --------
        >>> Comparison("cora", "GCN", "MLP", True, 10, 0.2).other("GCN")
        'MLP'
        """
        return self.b if model == self.a else self.a

    def beats(self, model: str) -> bool:
        """Tell whether a model is shown to be the better of the two.

        Parameters
        ----------
        model
            One of the two.

        Returns
        -------
        bool
            True where the deciding test rejects and the mean difference is in its favour.

        Examples
        --------
        >>> Comparison("cora", "GCN", "MLP", True, 10, 0.2, different=True).beats("GCN")
        True
        """
        return self.different and self.better == model


@dataclass(frozen=True)
class Standing:
    """The best mean of a task and how the others stand to it.

    Attributes
    ----------
    best
        Model with the best mean.
    tied, worse
        Those that the deciding test cannot tell apart from it, and those that it shows to be worse.
    exact
        Those that differ from it by the same amount on every seed, so that no test exists.
    untested
        Those without a test, for instance for want of common seeds.
    ahead
        Those shown to be better on the seeds that both have, although their mean over all their seeds is lower:
        that happens only where cells are missing.

    Examples
    --------
    >>> from graphnetz.report import example_report
    >>> standing = example_report().analysis.standings["cora"]
    >>> standing.best, standing.tied, standing.worse
    ('GCN', ('GAT',), ('MLP',))
    """

    best: str
    tied: tuple[str, ...] = ()
    worse: tuple[str, ...] = ()
    exact: tuple[str, ...] = ()
    untested: tuple[str, ...] = ()
    ahead: tuple[str, ...] = ()


@dataclass(frozen=True)
class Place:
    """One model on one task: between place ``first`` and ``last`` after Holm."""

    task: str
    model: str
    mean: float
    low: float
    high: float
    n: int
    first: int
    last: int
    models: int

    @property
    def text(self) -> str:
        """``2`` or ``1 to 3``."""
        return str(self.first) if self.first == self.last else f"{self.first} to {self.last}"


@dataclass(frozen=True, eq=False)
class Ranking:
    """Ranks of the models that are present on every task, with Friedman's test and Nemenyi's difference.

    ``order`` lists positions in ``models`` from best to worst mean rank; ``cliques`` hold places of that order, all
    of them in one unless the omnibus test rejects. ``test`` names what ``p`` comes from and ``forms`` holds all forms
    of the test. ``dropped_tasks`` have no value at all; ``excluded`` maps each unranked model to the tasks it misses;
    ``dependent`` lists tasks that stand on the same graph.
    """

    tasks: tuple[str, ...]
    models: tuple[str, ...]
    values: npt.NDArray[np.float64]
    greater_is_better: tuple[bool, ...]
    ranks: npt.NDArray[np.float64]
    mean_ranks: npt.NDArray[np.float64]
    order: tuple[int, ...]
    p: float
    rejected: bool
    alpha: float
    decided_by: str
    test: str
    reason: str
    cd: float
    cliques: tuple[tuple[int, ...], ...]
    forms: Mapping[str, Any]
    excluded: Mapping[str, tuple[str, ...]]
    dropped_tasks: tuple[str, ...]
    dependent: tuple[tuple[str, ...], ...]

    def apart(self, i: int, j: int) -> bool:
        """Whether Nemenyi's test tells models ``i`` and ``j`` apart, which it may only after a rejection."""
        # The same tolerance as in the cliques: mean ranks are sums of fractions.
        return self.rejected and bool(abs(self.mean_ranks[i] - self.mean_ranks[j]) > self.cd * (1 + 1e-12))

    def view(self) -> RankView:
        """What a critical-difference diagram draws."""
        return RankView(
            tuple(self.models[i] for i in self.order), tuple(float(self.mean_ranks[i]) for i in self.order),
            len(self.tasks), self.cd, self.cliques, self.rejected, self.p, self.alpha, self.test, self.reason,
        )  # fmt: skip


@dataclass(frozen=True)
class Verdict:
    """One conclusion in words, and what it rests on.

    Attributes
    ----------
    level
        ``"different"``, ``"tied"``, ``"untestable"``, ``"warning"`` or ``"info"``.
    about
        The task, or what else it is about.
    text, basis
        The sentence, and the figures it rests on.

    Examples
    --------
    >>> print(Verdict("tied", "cora", "GCN and GAT cannot be told apart.", "p = 0.4"))
    GCN and GAT cannot be told apart. (p = 0.4.)
    """

    level: str
    about: str
    text: str
    basis: str = ""

    def __str__(self) -> str:
        return f"{self.text} ({self.basis}.)" if self.basis else self.text

    def _repr_html_(self) -> str:
        return f"<p><b>{_html(self.about)}</b>: {_html(self)}</p>"
