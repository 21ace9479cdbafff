"""The vocabulary of an analysis: what was asked for, what was found, and what may be said."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from graphnetz._core.text import p_value
from graphnetz.records.cells import CellResult
from graphnetz.records.examples import Contributions
from graphnetz.records.section import _html
from graphnetz.records.seed_rule import SeedRule
from graphnetz.records.task_info import TaskInfo
from graphnetz.records.views import RankSetView, RankView

Histories = Mapping[str, Mapping[str, Sequence[Mapping[str, Sequence[float]]]]]
"""``histories[task][model]``: one mapping of history key to values per seed."""

TEST_WORDS = {
    "t": "paired t", "wilcoxon": "Wilcoxon", "sign": "sign", "corrected_t": "corrected resampled t",
    "moderated": "moderated t", "crossed": "crossed-effects t", "sign-flip": "sign-flip", "deterministic": "no",
}  # fmt: skip
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
    examples
        ``examples(task)`` returns what single test examples contribute, or None where that was not kept.
    references
        ``references[environment]``: ``seconds`` and ``peak_memory`` of the reference cell there, where it was measured.
    pending
        Cells of a run that goes on which are still to be trained.

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
    examples: Callable[[str], Contributions | None] | None = None
    references: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    pending: int = 0

    @property
    def failures(self) -> tuple[CellResult, ...]:
        """Cells that ended without a value."""
        return tuple(cell for cell in self.cells if not cell.ok)


@dataclass(frozen=True)
class CellStat:
    """One (task, model): mean with its interval, and the corrected one when runs share training data.

    ``note`` says why cells are missing, ``reason`` why there is no interval, ``test_se`` is the error of the finite
    test set that all seeds share, ``status`` the sentence of the summary. Of ``planned`` runs ``failed`` gave no value;
    ``failed_high`` is the upper 95 % bound of that rate.
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
    planned: int = 0
    failed: int = 0
    failed_high: float = math.nan


DETERMINISTIC = 6
"""Runs with one and the same score from which on a model counts as deterministic: fewer may agree by chance."""

REACHES = ("split", "dataset", "source", "tasks")
"""How far a claim reaches, nearest first; ``"unknown"`` where it was not stated what a seed varies."""

REACH_TEXT = (
    "split: other initialisations on this split; dataset: other random splits of this dataset; source: new examples "
    "from the same source; unknown: what a seed varies was not stated"
)
"""What the words of a column of reaches mean."""

CLAIMS: Mapping[str, Mapping[str, str]] = tomllib.loads(
    Path(__file__).with_name("claims.toml").read_text(encoding="utf-8")
)
"""Every kind of claim that a sentence of ours can make: what it ``says``, and what it may ``promise``."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """What one comparison rests on at one reach, before the other comparisons of its family are looked at.

    Attributes
    ----------
    reach
        One of `REACHES`, or ``"unknown"``.
    estimate, error, df
        Mean of a - b, its standard error and the degrees of freedom of that error.
    p
        Two-sided, not adjusted; NaN where nothing can be tested.
    n, unit
        How many of what were taken as random: ``"seed"``, ``"split"``, ``"fold"`` or ``"example"``.
    method
        Name of the test, such as ``"t"`` or ``"crossed"``.
    about
        What the claim is about in words that end a sentence, such as ``"on this dataset"``.
    reason
        Why there is no p; empty otherwise.

    Examples
    --------
    >>> Evidence("dataset", 0.1, 0.02, 9.0, 0.0007, n=10, unit="split", method="t", about="on this dataset").n
    10
    """

    reach: str
    estimate: float
    error: float = math.nan
    df: float = math.nan
    p: float = math.nan
    n: int = 0
    unit: str = "seed"
    method: str = "t"
    about: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Claim:
    """One rung of the ladder for one comparison, after its family was looked at.

    Attributes
    ----------
    evidence
        What it rests on.
    p, low, high
        p after Holm, and the simultaneous interval of a - b that goes with it.
    shown
        Whether the difference is shown at this reach; a reach is asked only where every nearer one is shown.

    Examples
    --------
    >>> Claim(Evidence("split", 0.1), p=0.01, low=0.02, high=0.18, shown=True).evidence.reach
    'split'
    """

    evidence: Evidence
    p: float = math.nan
    low: float = math.nan
    high: float = math.nan
    shown: bool = False


@dataclass(frozen=True, slots=True)
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
        Whether the runs share training data.
    low_corrected, high_corrected, p_corrected, p_corrected_adjusted
        The same by the corrected resampled t-test (Nadeau and Bengio), which speaks of new examples from the same
        source; NaN where runs share no data.
    family_size, alpha
        Comparisons that Holm corrects for, and the level after it.
    decided_by, p_decided, decided_low, decided_high, different
        The deciding test, its adjusted p, its own interval for this pair alone, and its answer.
    sim_low, sim_high
        The interval that holds together with those of all other pairs of the family and never contradicts the
        answer: every sentence, table and figure shows this one.
    exact
        Whether the two differ by one amount, not 0, on every seed, so that no test of means exists.
    claims
        The ladder: one `Claim` per reach that was asked, nearest first.
    flags
        Kinds of diagnostics that concern the pair, such as ``"collapse"``.
    doubt
        Why diagnostics trust no test of these seeds; empty otherwise.

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
    decided_low: float = math.nan
    decided_high: float = math.nan
    sim_low: float = math.nan
    sim_high: float = math.nan
    different: bool = False
    exact: bool = False
    claims: tuple[Claim, ...] = ()
    flags: tuple[str, ...] = ()
    doubt: str = ""

    @property
    def testable(self) -> bool:
        """Whether a difference that the test shows is also claimed."""
        return not self.doubt

    @property
    def reach(self) -> str:
        """The furthest reach at which the difference is shown; empty where none is."""
        return next((claim.evidence.reach for claim in reversed(self.claims) if claim.shown), "")

    @property
    def p_words(self) -> str:
        """The deciding p as tables and figures show it; models that nothing varies need no test."""
        return "no test" if self.decided_by == "deterministic" else p_value(self.p_decided)

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
        Model with the best mean over the seeds that all compared models share, of those that no other is shown to beat.
    tied, worse
        Those that the deciding test cannot tell apart from it, and those that it shows to be worse.
    untested
        Those without a test, for instance for want of common seeds.
    ahead
        Those shown to be better than it, which takes models that beat each other in a circle.
    shared
        Seeds that the compared models share.
    aside
        Models that finished too few seeds to take part in the choice of the best.

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
    untested: tuple[str, ...] = ()
    ahead: tuple[str, ...] = ()
    shared: int = 0
    aside: tuple[str, ...] = ()


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
    ``dependent`` lists tasks that stand on the same graph. ``sets`` holds the places of all models, with the tasks that
    a model omits ranked as worst.
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
    sets: RankSetView = field(default_factory=RankSetView)

    def apart(self, i: int, j: int) -> bool:
        """Whether Nemenyi's test tells models ``i`` and ``j`` apart, which it may only after a rejection."""
        # The same tolerance as in the cliques: mean ranks are sums of fractions.
        return self.rejected and bool(abs(self.mean_ranks[i] - self.mean_ranks[j]) > self.cd * (1 + 1e-12))

    def view(self) -> RankView:
        """What a critical-difference diagram draws."""
        return RankView(
            tuple(self.models[i] for i in self.order), tuple(float(self.mean_ranks[i]) for i in self.order),
            len(self.tasks), self.cd, self.cliques, self.rejected, self.p, self.alpha, self.test, self.reason,
            len(self.excluded),
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
    claims
        Which kinds of claim the sentence makes: keys of ``claims.toml``, each of which ``make calibrate`` simulates.

    Examples
    --------
    >>> print(Verdict("tied", "cora", "GCN and GAT cannot be told apart.", "p = 0.4"))
    GCN and GAT cannot be told apart. (p = 0.4.)
    """

    level: str
    about: str
    text: str
    basis: str = ""
    claims: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.text} ({self.basis}.)" if self.basis else self.text

    def _repr_html_(self) -> str:
        return f"<p><b>{_html(self.about)}</b>: {_html(self)}</p>"
