"""The report in words: per task, then across tasks. Same scores, same sentences."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from graphnetz._core.text import names, number, p_value, seeds_word, shorten
from graphnetz.analysis.power import MAX_SEEDS, Design, design_of, reference_effect
from graphnetz.records import ScoreTable
from graphnetz.records.analysis import TEST_WORDS, Comparison, Standing, Verdict
from graphnetz.records.task_info import REPLICATION_WORDS


def task_verdicts(
    table: ScoreTable, t: int, place: Standing | None, *, pairs: Sequence[Comparison], baselines: Sequence[str] = ()
) -> list[Verdict]:
    """Return what can be said about task ``t``; ``pairs`` are its comparisons and ``place`` how models stand."""
    task = table.tasks[t]
    if place is None:
        return [Verdict("untestable", task, "No model finished on this task, so nothing can be said.")]
    if not pairs:
        return [
            Verdict("untestable", task, f"Only {shorten(place.best)} has results here: nothing to compare it with.")
        ]
    if max(pair.n for pair in pairs) < 2:
        text = (
            f"One seed gives no interval and no test; {shorten(place.best)} has the best single value. "
            "Run at least 5 seeds, better 10."
        )
        return [Verdict("untestable", task, text)]
    blocked = _unreachable(pairs)
    main = blocked or _main(table, t, place, pairs)
    basis = "" if blocked else _basis(table, t, pairs)
    out = [Verdict(main[0], task, main[1], basis)]
    beaten = _baselines(table, t, pairs, baselines)
    if beaten:
        out.append(Verdict("warning", task, beaten))
    return out


def test_words(pair: Comparison) -> str:
    """Name of the test that decides ``pair``."""
    return TEST_WORDS.get(pair.decided_by, pair.decided_by)


def _unreachable(pairs: Sequence[Comparison]) -> tuple[str, str] | None:
    """Verdict for a task on which the deciding test cannot become significant, whatever the scores."""
    deciding = [pair for pair in pairs if not pair.corrected and pair.n >= 2]
    if not deciding or len(deciding) < len(pairs) or any(pair.reachable for pair in deciding):
        return None
    first = min(deciding, key=lambda pair: (pair.smallest_p, pair.a, pair.b))
    m = first.family_size
    need = next(s for s in range(2, 200) if m * 2.0 ** (1 - s) <= first.alpha)
    return "untestable", (
        f"This design cannot show a difference: with {seeds_word(first.n)} the smallest possible "
        f"{test_words(first)} p is {p_value(first.smallest_p)}, after Holm over {m} "
        f"comparison{'' if m == 1 else 's'} {p_value(first.smallest_adjusted)}, above {first.alpha:g} whatever the "
        f"scores. At least {need} seeds are needed before any comparison can."
    )


def _main(table: ScoreTable, t: int, place: Standing, pairs: Sequence[Comparison]) -> tuple[str, str]:
    against = {pair.other(place.best): pair for pair in pairs if pair.involves(place.best)}
    parts = []
    if place.tied:
        parts.append(_tied(table, t, place, against))
    if place.worse:
        parts.append(
            _better(place, against, leads=not place.tied, scope=REPLICATION_WORDS[table.replication[t]]["scope"])
        )
    if place.exact:
        parts.append(
            f"{shorten(place.best)} differs from {names(place.exact)} by the same amount on every seed, "
            "so there is nothing to test."
        )
    if place.untested:
        parts.append(_untested(place, against))
    if place.ahead:
        parts.append(
            f"On the seeds that both have, {names(place.ahead)} is better than {shorten(place.best)}, whose mean over "
            "its own seeds is the best: missing cells decide here. Run them."
        )
    level = "warning" if place.ahead else "tied" if place.tied else "different" if place.worse else "untestable"
    return level, " ".join(parts)


def _untested(place: Standing, against: Mapping[str, Comparison]) -> str:
    first = against[place.untested[0]]
    if first.n < 2:
        return f"{names(place.untested)} shares fewer than two seeds with it and could not be tested."
    return f"{names(place.untested)} could not be tested against {shorten(place.best)}: {first.reason}."


def _tied(table: ScoreTable, t: int, place: Standing, against: Mapping[str, Comparison]) -> str:
    rows = [against[model] for model in place.tied]
    n = min(row.n for row in rows)
    effect = reference_effect(table, t)
    plans = [design_of(table, row, effect=effect) for row in rows]
    clause = _seeds_clause(plans, n, shared=rows[0].corrected)
    # The best was picked from the data: ties to it do not make the tied models equal to each other.
    group, scope = names((place.best, *place.tied)), REPLICATION_WORDS[table.replication[t]]["scope"]
    return f"{group} cannot be told apart {scope} at {seeds_word(n)}; {clause}."


def _seeds_clause(plans: Sequence[Design], n: int, *, shared: bool) -> str:
    size = f"{plans[0].effect:g}"
    needed = [plan.seeds for plan in plans]
    if any(seeds is None for seeds in needed):
        if shared:
            return f"no number of seeds would reliably show a difference of {size}, because runs share training data"
        return f"more than {MAX_SEEDS:,} seeds would be needed to detect a difference of {size}"
    most = max(seeds for seeds in needed if seeds is not None)
    if most <= n:
        return f"a true difference of {size} would have been detected with at least 80 % probability"
    return f"{most} seeds would detect a difference of {size}"


def _better(place: Standing, against: Mapping[str, Comparison], *, leads: bool, scope: str) -> str:
    nearest = against[place.worse[0]]
    low, high = nearest.shown_low, nearest.shown_high
    flip = nearest.a != place.best
    diff = -nearest.mean_diff if flip else nearest.mean_diff
    bounds = (-high, -low) if flip else (low, high)
    span = f" [{number(bounds[0], signed=True)}, {number(bounds[1], signed=True)}]" if math.isfinite(low) else ""
    gap = f"difference {number(diff, signed=True)}{span}, adjusted p = {p_value(nearest.p_decided)}"
    if leads and len(place.worse) == len(against):
        whom = (
            shorten(place.worse[0])
            if len(place.worse) == 1
            else f"every other model {scope}, first {shorten(place.worse[0])}"
        )
        tail = f" {scope}" if len(place.worse) == 1 else ""
        return f"{shorten(place.best)} is better than {whom}{tail} ({gap})."
    return f"{shorten(place.best)} is better than {names(place.worse)} (nearest: {shorten(place.worse[0])}, {gap})."


def _basis(table: ScoreTable, t: int, pairs: Sequence[Comparison]) -> str:
    # A comparison without a corrected p has no p at all: one test decides all others of the task.
    first = next((pair for pair in pairs if pair.corrected), pairs[0])
    corrected, test = first.corrected, test_words(first)
    m = pairs[0].family_size
    family = f"{test} test, Holm over {m} comparison{'' if m == 1 else 's'}"
    own = len(pairs) == m
    family += " of this task" if own else " of the report"
    text = f"{family}; {REPLICATION_WORDS[table.replication[t]]['reach']}"
    if pairs[0].shares_data and not corrected and math.isnan(table.test_ratio[t]):
        text += (
            "; the share of test to training data is unknown, so the test is not corrected for runs that share "
            "training data and is anti-conservative"
        )
    return text


def _baselines(table: ScoreTable, t: int, pairs: Sequence[Comparison], baselines: Sequence[str]) -> str:
    """A sentence when no model beats every baseline after Holm, else nothing."""
    present = table.present(table.tasks[t])
    there = [name for name in baselines if name in present]
    rivals = [model for model in present if model not in baselines]
    if not there or not rivals:
        return ""
    beats = {model for model in rivals if all(pair.beats(model) for pair in _between(pairs, model, there))}
    if beats:
        return ""
    return f"No model beats {names(there)} after Holm: a benefit of learning on the graph is not shown here."


def _between(pairs: Sequence[Comparison], model: str, others: Sequence[str]) -> list[Comparison]:
    return [pair for pair in pairs if pair.involves(model) and pair.other(model) in others]


def unbeaten_tasks(
    table: ScoreTable, grouped: Mapping[str, Sequence[Comparison]], baselines: Sequence[str]
) -> list[str]:
    """Tasks on which no model beats the baselines after Holm."""
    return [task for t, task in enumerate(table.tasks) if _baselines(table, t, grouped.get(task, ()), baselines)]
