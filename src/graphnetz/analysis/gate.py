"""May a change pass? One-sided tests of a candidate against a baseline, for builds that must fail on a regression."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from graphnetz._core.text import number, p_value, shorten
from graphnetz.analysis.run_changes import PairTest, each_tested
from graphnetz.records.analysis import Verdict
from graphnetz.stats import adjust

if TYPE_CHECKING:
    from graphnetz.analysis.analysis import Analysis

ENOUGH = 3
"""Seeds on which the same drop counts without a test; on two of them coarse scores agree by chance too often."""

IDENTICAL = "identical scores"


@dataclass(frozen=True)
class GateRow:
    """One (task, model): ``drop`` is how much worse the candidate is, in units of the metric, negative if it is better.

    ``outcome`` is ``fine``, ``worse`` or ``unsure``: unsure is a drop beyond the margin that these seeds cannot test.
    """

    task: str
    model: str
    metric: str
    n: int
    baseline: float
    candidate: float
    drop: float
    p: float
    p_holm: float
    outcome: str
    reason: str = ""

    def __str__(self) -> str:
        scores = (
            f"{number(self.baseline)} to {number(self.candidate)}" if self.candidate == self.candidate else "no score"
        )
        test = f", adjusted p = {p_value(self.p_holm)}" if self.p_holm == self.p_holm else ""
        why = f"; {self.reason}" if self.reason else ""
        return f"{shorten(self.task, 60)} / {shorten(self.model, 60)}: {scores} ({self.n} seeds{test}{why})"


@dataclass(frozen=True)
class Gate:
    """A candidate held against a baseline."""

    rows: tuple[GateRow, ...]
    alpha: float
    margin: float
    incomparable: tuple[tuple[str, str], ...] = ()
    strict: bool = False

    @property
    def worse(self) -> tuple[GateRow, ...]:
        """What became worse by more than the margin."""
        return tuple(row for row in self.rows if row.outcome == "worse")

    @property
    def unsure(self) -> tuple[GateRow, ...]:
        """What dropped beyond the margin on too few seeds to test it."""
        return tuple(row for row in self.rows if row.outcome == "unsure")

    @property
    def failed(self) -> bool:
        """Whether the change must not pass."""
        return bool(self.worse or self.incomparable or not self.rows or (self.strict and self.unsure))

    def verdict(self) -> Verdict:
        """The outcome as a claim."""
        basis = "; ".join(str(row) for row in (*self.worse, *self.unsure)[:5])
        return Verdict("warning" if self.failed else "info", "gate", self.sentence(), basis, ("gate",))

    def sentence(self) -> str:
        """The outcome in one sentence."""
        beyond = f" by more than {self.margin:g}" if self.margin else ""
        if not self.rows:
            return "The gate fails: the two share no task and model, so nothing can be compared."
        if all(row.reason == IDENTICAL for row in self.rows) and not self.failed:
            pairs = (
                "the (task, model) pair has"
                if len(self.rows) == 1
                else f"all {len(self.rows)} (task, model) pairs have"
            )
            return f"The gate passes: {pairs} identical scores."
        parts = [f"{len(self.worse)} of {len(self.rows)} (task, model) pairs became worse{beyond}"]
        if self.unsure:
            parts.append(f"{len(self.unsure)} dropped on too few seeds to tell")
        if self.incomparable:
            tasks = len(self.incomparable)
            parts.append(f"{tasks} {'task' if tasks == 1 else 'tasks'} cannot be compared")
        word = "fails" if self.failed else "passes"
        return f"The gate {word}: {', '.join(parts)} (one-sided, Holm over all pairs, level {self.alpha:g})."

    def as_dict(self) -> dict[str, Any]:
        """Everything as plain values."""
        return {"schema": "graphnetz.gate", "failed": self.failed, "summary": self.sentence()} | asdict(self)


def gate(
    baseline: Analysis, candidate: Analysis, *, margin: float = 0.0, alpha: float = 0.05, method: str = "t",
    strict: bool = False, apart: Collection[str] = (), failed: Collection[tuple[str, str, int]] = (),
) -> Gate:  # fmt: skip
    """Test whether a candidate is worse than a baseline by more than a margin.

    Parameters
    ----------
    baseline, candidate
        Two runs; pairs are formed by task, model and seed, or Welch's test is taken where they share no seed or data.
    margin
        Size of a drop that does not matter, in units of the metric.
    alpha, method
        Level after Holm over all pairs, and the paired test.
    strict
        Whether drops that cannot be tested fail too.
    apart
        Tasks that the two did on different data.
    failed
        Cells (task, model, seed) of the candidate that failed.

    Returns
    -------
    Gate
        One row per pair of the baseline.

    Notes
    -----
    Tests are one-sided: a gate asks whether something became worse. The same drop on every seed is tested by exchanging
    the runs seed by seed, which needs five seeds; on three or four it counts as a drop without a test, because noise
    that is equal on all seeds is hardly noise. A pair that the baseline has and the candidate lacks, and seeds that
    failed anew, count as worse.

    Examples
    --------
    >>> from graphnetz.report import BenchmarkReport
    >>> old, new = (
    ...     BenchmarkReport.from_scores({"GCN": [s + x for x in (0.81, 0.80, 0.83)]}, metric="acc", task="cora")
    ...     for s in (0.0, -0.05)
    ... )
    >>> gate(old.analysis, new.analysis).sentence()
    'The gate fails: 1 of 1 (task, model) pairs became worse (one-sided, Holm over all pairs, level 0.05).'
    """
    raw, why = each_tested(baseline, candidate, alpha=alpha, method=method, margin=margin, apart=apart)
    up = {task: info.greater_is_better for task, info in baseline.facts.tasks.items()}
    sided = [_one_sided(found, up[found.change.task], margin) for found in raw]
    holm = adjust(sided).tolist() if raw else []
    rows = [
        _row(found, up[found.change.task], margin, p=p, p_holm=q, alpha=alpha)
        for found, p, q in zip(raw, sided, holm, strict=True)
    ]
    broken = _broken(baseline, candidate, why, failed)
    rows = [broken.pop((row.task, row.model), row) for row in rows] + list(broken.values())
    return Gate(tuple(rows), alpha, margin, tuple(why.items()), strict)


def _drop(found: PairTest, up: bool) -> float:
    return -found.change.diff if up else found.change.diff


def _one_sided(found: PairTest, up: bool, margin: float) -> float:
    """Return p of "not worse by more than the margin"; NaN where there is no test."""
    change = found.change
    if change.verdict == "identical" or _drop(found, up) <= margin:
        return 1.0
    if change.method == "none":  # nothing is random: the drop was seen
        return 0.0
    return change.p / 2  # the test of `each_tested` is two-sided around the margin, and the drop lies on the worse side


def _row(found: PairTest, up: bool, margin: float, *, p: float, p_holm: float, alpha: float) -> GateRow:
    change, drop = found.change, _drop(found, up)
    reason = IDENTICAL if change.verdict == "identical" else change.reason
    seen = change.method == "none"  # nothing is random there
    if change.method == "sign-flip" and drop > margin:
        # Exchanging the runs seed by seed treats all pairs alike, so there is no family to correct for.
        p = p_holm = 0.5**found.signs.size
        seen = p > alpha and found.signs.size >= ENOUGH
        reason += ", too few to test it: it counts as a drop" if seen else ""
        p, p_holm = (math.nan, math.nan) if p > alpha else (p, p_holm)
    if drop <= margin:
        outcome = "fine"
    elif seen:
        outcome, p, p_holm = "worse", math.nan, math.nan
    else:
        outcome = "unsure" if math.isnan(p) else "worse" if p_holm <= alpha else "fine"
    shown = outcome != "fine" or change.method == "welch" or reason == IDENTICAL
    return GateRow(change.task, change.model, change.metric, change.n, change.first, change.second, drop, p, p_holm,
                   outcome, reason if shown else "")  # fmt: skip


def _broken(
    baseline: Analysis, candidate: Analysis, why: Collection[str], failed: Collection[tuple[str, str, int]]
) -> dict[tuple[str, str], GateRow]:
    """Pairs of the baseline that the candidate lacks, or of which seeds fail that used to finish."""
    out = {}
    for task, info in baseline.facts.tasks.items():
        if task in why:
            continue
        for model in baseline.scores.models:
            old = _finite(baseline, task, model)
            new = _finite(candidate, task, model)
            lost = [seed for seed in old if (task, model, seed) in failed]
            if not old or (new and not lost):
                continue
            reason = (f"{len(lost)} of {len(old)} seeds fail that used to finish" if new
                      else "the candidate has no score")  # fmt: skip
            before, after = (sum(v.values()) / len(v) if v else math.nan for v in (old, new))
            drop = (before - after) * (1 if info.greater_is_better else -1)
            out[task, model] = GateRow(
                task, model, info.metric, len(new), before, after, drop, math.nan, math.nan, "worse", reason
            )
    return out


def _finite(run: Analysis, task: str, model: str) -> dict[int, float]:
    if task not in run.scores.tasks or model not in run.scores.models:
        return {}
    cell = dict(zip(run.scores.seeds, run.scores.cell(task, model).tolist(), strict=True))
    return {seed: value for seed, value in cell.items() if math.isfinite(value)}
