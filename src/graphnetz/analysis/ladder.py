"""How far a difference reaches: what is asked, in which order, and what the whole family says together.

The only place that knows which test decides. Everything that is written or drawn reads the fields that are set here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from graphnetz._core.changed import changed
from graphnetz._core.errors import UnknownNameError
from graphnetz._core.grouping import grouped
from graphnetz.analysis.comparisons import FAMILIES
from graphnetz.metrics import lookup
from graphnetz.records import ScoreTable
from graphnetz.records.analysis import DETERMINISTIC, Claim, Comparison, Evidence
from graphnetz.records.task_info import REPLICATION_WORDS
from graphnetz.stats import holm_intervals, sign_flip_p, simultaneous
from graphnetz.stats.paired_rows import error_rows

MAX_T_VALUES = 100_000
"""Differences of a report up to which intervals may use how the pairs of a task correlate: seconds, not minutes."""

Source = Callable[[int, Sequence[tuple[str, str]]], Mapping[tuple[str, str], Evidence]]
"""``source(task number, pairs)``: what is known about new examples from the same source."""


def decided(
    pairs: Sequence[Comparison],
    table: ScoreTable,
    *,
    by: str,
    family: str = "task",
    source: Source | None = None,
    stopped: bool = False,
) -> list[Comparison]:
    """Say of every comparison what decides it, whether it differs, and how far that reaches.

    Parameters
    ----------
    pairs
        Comparisons of ``table`` with the p of the chosen test.
    table
        The scores they come from.
    by
        Name of the chosen test, which decides the nearest reach.
    family
        What Holm's correction runs over, as in `comparisons.compare`.
    source
        Evidence about new examples; None where nobody asks.
    stopped
        Whether seeds were added until it was decided: p and intervals of ``pairs`` hold for the family as they are.

    Returns
    -------
    list of Comparison
        In the order of ``pairs``.
    """
    further = _further(pairs, table, source)
    out: list[Comparison] = []
    for group in FAMILIES[family](pairs):
        near = nearest(table, group, by)
        if stopped:
            claims = [_as_stopped(pair, found) for pair, found in zip(group, near, strict=True)]
        else:
            claims = _over_seeds(group, near, table)
        beyond = _family(group, [further.get((p.task, p.a, p.b), Evidence("", math.nan)) for p in group], table)
        out += [_settled(*found) for found in zip(group, claims, beyond, strict=True)]
    return out


def _over_seeds(group: Sequence[Comparison], near: Sequence[Evidence], table: ScoreTable) -> list[Claim]:
    """The nearest reach of a family: within one task pairs share seeds, which makes their intervals narrower."""
    if len({pair.task for pair in group}) > 1:
        claims = _family(group, near, table)
        flips = _constants(group, table)
        return [_flipped(pair, claim, flips) for pair, claim in zip(group, claims, strict=True)]
    task = group[0].task
    differences, scale = _differences(group, table)
    bounds, draws = difference_range(table, task), 10_000 if differences.size * len(table.tasks) <= MAX_T_VALUES else 0
    p = None if near[0].method == "t" else [found.p for found in near]
    found = simultaneous(differences, alpha=group[0].alpha, p=p, bounds=bounds, scale=scale, draws=draws)
    flips = {(task, pair.a, pair.b): float(found.p_adjusted[i]) for i, pair in enumerate(group) if found.constant[i]}
    columns = zip(found.p_adjusted, found.low, found.high, found.rejected, strict=True)
    claims = [
        Claim(e, float(p), float(low), float(high), bool(yes))
        for e, (p, low, high, yes) in zip(near, columns, strict=True)
    ]
    return [_flipped(pair, claim, _certain(pair, table, flips)) for pair, claim in zip(group, claims, strict=True)]


def _differences(group: Sequence[Comparison], table: ScoreTable) -> tuple[npt.NDArray[np.float64], float]:
    """Seeds x pairs of one task, and the size of its scores."""
    task = group[0].task
    t, number = table.tasks.index(task), {model: m for m, model in enumerate(table.models)}
    a, b = ([number[name] for name in names] for names in zip(*((pair.a, pair.b) for pair in group), strict=True))
    rows = table.by_split(task, table.values[t, a] - table.values[t, b])
    # Seeds outermost in memory, too: sums over seeds then keep the order in which they are added.
    return np.ascontiguousarray(rows.T), float(np.nanmax(np.abs(table.values[t]), initial=0.0))


def _as_stopped(pair: Comparison, evidence: Evidence) -> Claim:
    shown, low, high = bool(pair.p_adjusted <= pair.alpha), pair.low, pair.high
    # Repeated intervals and the decision spend alpha apart from each other: the interval follows the decision.
    low = max(low, 0.0) if shown and evidence.estimate > 0 else low if shown else min(low, 0.0)
    high = min(high, 0.0) if shown and evidence.estimate < 0 else high if shown else max(high, 0.0)
    return Claim(evidence, pair.p_adjusted, low, high, shown=shown)


def nearest(table: ScoreTable, pairs: Sequence[Comparison], by: str) -> list[Evidence]:
    """What comparisons say at the nearest reach: over the seeds, splits, folds or samples that were run."""
    out: dict[tuple[str, str, str], Evidence] = {}
    for task, group in grouped(pairs, lambda pair: pair.task).items():
        words = REPLICATION_WORDS[table.replication[table.tasks.index(task)]]
        x, y = table.paired_rows(task, [(pair.a, pair.b) for pair in group])
        # Where seeds were added, a pair may have been decided on fewer than there are now.
        df = np.isfinite(x).sum(axis=1) - 1.0
        for pair, error, free in zip(group, error_rows(x, y), df.tolist(), strict=True):
            out[task, pair.a, pair.b] = Evidence(
                words["reach"], pair.mean_diff, error, free, pair.p, n=pair.n, unit=words["unit"],
                method=by, about=words["scope"], reason=pair.reason,
            )  # fmt: skip
    return [out[pair.task, pair.a, pair.b] for pair in pairs]


def _further(
    pairs: Sequence[Comparison], table: ScoreTable, source: Source | None
) -> dict[tuple[str, str, str], Evidence]:
    if source is None:
        return {}
    found: dict[tuple[str, str, str], Evidence] = {}
    of_task = grouped(pairs, lambda pair: pair.task)
    for t, task in enumerate(table.tasks):
        if task not in of_task or REPLICATION_WORDS[table.replication[t]]["reach"] not in ("split", "dataset"):
            continue  # fresh samples reach the source at once, and what is unknown reaches nowhere
        asked = [(pair.a, pair.b) for pair in of_task[task]]
        found |= {(task, *names): evidence for names, evidence in source(t, asked).items()}
    return found


def _family(group: Sequence[Comparison], evidence: Sequence[Evidence], table: ScoreTable) -> list[Claim]:
    """Holm over a family, with simultaneous intervals that agree with it."""
    columns = ((e.estimate, e.error, e.df, e.p) for e in evidence)
    estimate, error, df, p = (np.array(column, dtype=np.float64) for column in zip(*columns, strict=True))
    low, high, adjusted, rejected = holm_intervals(estimate, error, df, alpha=group[0].alpha, p=p)
    out = []
    ranges = {task: difference_range(table, task) for task in {pair.task for pair in group}}
    for i, (pair, found) in enumerate(zip(group, evidence, strict=True)):
        floor, ceiling = ranges[pair.task]
        bounds = (max(float(low[i]), floor), min(float(high[i]), ceiling)) if math.isfinite(low[i]) else (math.nan,) * 2
        out.append(Claim(found, float(adjusted[i]), *bounds, shown=bool(rejected[i])))
    return out


def difference_range(table: ScoreTable, task: str) -> tuple[float, float]:
    """Smallest and largest difference that the metric of a task allows: no bound is shown beyond it."""
    try:
        low, high = lookup(table.metrics[table.tasks.index(task)]).bounds
    except UnknownNameError:
        return -math.inf, math.inf
    return low - high, high - low


Flips = Mapping[tuple[str, str, str], float]
"""p of pairs that differ by one amount on every seed."""


def _constants(group: Sequence[Comparison], table: ScoreTable) -> Flips:
    """Sign-flip p, within each task, of pairs that differ by one amount on every seed."""
    found: dict[tuple[str, str, str], float] = {}
    for task in dict.fromkeys(pair.task for pair in group if pair.exact):
        inside = [pair for pair in group if pair.task == task]
        differences, scale = _differences(inside, table)
        flips = sign_flip_p(differences, scale=scale)
        found |= {(task, pair.a, pair.b): float(p) for pair, p in zip(inside, flips, strict=True) if pair.exact}
        for pair in inside:
            found |= _certain(pair, table, found)
    return found


def _certain(pair: Comparison, table: ScoreTable, flips: Flips) -> Flips:
    """The same with p = 0 where both models give one score on a fixed split, whatever the seed: nothing is random."""
    key = (pair.task, pair.a, pair.b)
    if key not in flips or table.replication[table.tasks.index(pair.task)] != "init":
        return flips
    rows = (table.cell(pair.task, name) for name in (pair.a, pair.b))
    still = pair.n >= DETERMINISTIC and all(
        np.nanmax(row) - np.nanmin(row) <= 1e-12 * np.nanmax(np.abs(row)) for row in rows
    )
    return {**flips, key: 0.0} if still else flips


def _flipped(pair: Comparison, claim: Claim, flips: Flips) -> Claim:
    """The claim of a pair that differs by one amount on every seed; any other as it is."""
    p = flips.get((pair.task, pair.a, pair.b))
    if p is None:
        return claim
    shown = p <= pair.alpha
    bounds = (pair.mean_diff,) * 2 if shown else (math.nan, math.nan)
    evidence = replace(claim.evidence, p=p, method="deterministic" if p == 0 else "sign-flip")
    return Claim(evidence, p, *bounds, shown=shown)


def _no_surer(further: Claim, near: Claim) -> Claim:
    """A further claim rests on the nearer one: its p is no smaller, its interval holds the nearer one's."""
    if math.isnan(further.p) or math.isnan(near.p):
        return further
    bounds = (further.low, further.high)
    if math.isfinite(near.low) and math.isfinite(further.low):
        bounds = (min(further.low, near.low), max(further.high, near.high))
    return replace(further, p=max(further.p, near.p), low=bounds[0], high=bounds[1])


def _settled(pair: Comparison, near: Claim, further: Claim) -> Comparison:
    # What would not be claimed needs no warning: a flag blocks a difference, it does not make one.
    if near.shown and pair.doubt:
        near = Claim(replace(near.evidence, p=math.nan, reason=pair.doubt))
        pair = changed(pair, reason=pair.doubt)
    claims = [near]
    if further.evidence.reach:
        same_way = further.evidence.estimate * near.evidence.estimate > 0
        claims.append(changed(_no_surer(further, near), shown=near.shown and further.shown and same_way))
    return changed(
        pair, decided_by=near.evidence.method, p_decided=near.p, decided_low=pair.low, decided_high=pair.high,
        sim_low=near.low, sim_high=near.high, different=near.shown, claims=tuple(claims),
    )  # fmt: skip
