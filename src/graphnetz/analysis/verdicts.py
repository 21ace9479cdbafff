"""A task in words: who leads, how far that reaches, and what is not shown. Same scores, same sentences."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from graphnetz._core.text import counted, names, number, p_value, seeds_word, shorten
from graphnetz.analysis.power import MAX_SEEDS, Design, design_of, reference_effect
from graphnetz.records import ScoreTable
from graphnetz.records.analysis import TEST_WORDS, Claim, Comparison, Standing, Verdict
from graphnetz.records.task_info import REPLICATION_WORDS

Said = tuple[str, tuple[str, ...]]
"""Words, and the kinds of claim they make."""


def task_verdicts(
    table: ScoreTable,
    t: int,
    place: Standing | None,
    *,
    pairs: Sequence[Comparison],
    baselines: Sequence[str] = (),
    gap: float = math.nan,
) -> list[Verdict]:
    """Return what can be said about task ``t``.

    ``pairs`` are its comparisons, ``place`` how models stand, ``gap`` the shrunken lead of the best one.
    """
    task = table.tasks[t]
    if place is None:
        return [Verdict("untestable", task, "No model finished on this task, so nothing can be said.")]
    if not pairs:
        return [
            Verdict("untestable", task, f"Only {shorten(place.best)} has results here: nothing to compare it with.")
        ]
    if max(pair.n for pair in pairs) < 2:
        text = (
            f"One {REPLICATION_WORDS[table.replication[t]]['unit']} gives no interval and no test; "
            f"{shorten(place.best)} has the best single value. Run at least 5 seeds, better 10."
        )
        return [Verdict("untestable", task, text)]
    blocked = _unreachable(pairs)
    level, text, claims = blocked or _main(table, t, place, pairs, gap)
    out = [Verdict(level, task, text, _uneven(table, t) if blocked else _basis(table, t, pairs), claims)]
    beaten = _baselines(table, t, pairs, baselines)
    if beaten:
        out.append(Verdict("warning", task, beaten, claims=("baselines",)))
    return out


def if_worst(task: str, place: Standing | None, best: str | None) -> list[Verdict]:
    """A sentence where failures decide who is best: ``best`` is the best model with failures scored worst."""
    if place is None or best is None or best == place.best:
        return []
    text = (
        f"Failures decide here: were each of them scored as the worst result of this task, {shorten(best)} and not "
        f"{shorten(place.best)} would have the best mean."
    )
    return [Verdict("warning", task, text, claims=("failures",))]


def test_words(pair: Comparison) -> str:
    """Name of the test that decides ``pair``."""
    return TEST_WORDS.get(pair.decided_by, pair.decided_by)


def _unreachable(pairs: Sequence[Comparison]) -> tuple[str, str, tuple[str, ...]] | None:
    """Verdict for a task on which the deciding test cannot become significant, whatever the scores."""
    deciding = [pair for pair in pairs if pair.n >= 2]
    if len(deciding) < len(pairs) or any(pair.reachable or pair.different for pair in deciding):
        return None
    first = min(deciding, key=lambda pair: (pair.smallest_p, pair.a, pair.b))
    m = first.family_size
    need = next(s for s in range(2, 200) if m * 2.0 ** (1 - s) <= first.alpha)
    return "untestable", (
        f"This design cannot show a difference: with {seeds_word(first.n)} the smallest possible "
        f"{test_words(first)} p is {p_value(first.smallest_p)}, after Holm over {counted(m, 'comparison')} "
        f"{p_value(first.smallest_adjusted)}, above {first.alpha:g} whatever the scores. At least {need} seeds are "
        "needed before any comparison can."
    ), ()  # fmt: skip


def _main(
    table: ScoreTable, t: int, place: Standing, pairs: Sequence[Comparison], gap: float
) -> tuple[str, str, tuple[str, ...]]:
    against = {pair.other(place.best): pair for pair in pairs if pair.involves(place.best)}
    said: list[Said] = []
    if place.worse:
        said.append(_better(table, t, place, against, gap))
    if place.tied:
        said.append(_tied(table, t, place, against, gap))
    if place.untested:
        said.append((_untested(place, against), ()))
    if place.ahead:
        said.append((f"{names(place.ahead)} is shown to be better than it: models beat each other in a circle.", ()))
    level = "warning" if place.ahead else "tied" if place.tied else "different" if place.worse else "untestable"
    claims = tuple(dict.fromkeys(claim for _, kinds in said for claim in kinds))
    return level, " ".join(text for text, _ in said), claims


def _untested(place: Standing, against: Mapping[str, Comparison]) -> str:
    """Why models could not be compared with the best, each reason once."""
    parts = []
    for reason in dict.fromkeys(_why(against[model]) for model in place.untested):
        whom = names([model for model in place.untested if _why(against[model]) == reason])
        parts.append(f"{whom} could not be tested against {shorten(place.best)}: {reason}.")
    return " ".join(parts)


def _why(pair: Comparison) -> str:
    if pair.n < 2:
        return "they share fewer than two seeds"
    if pair.exact:
        return f"the same difference on every seed, and {seeds_word(pair.n)} are too few to show one that way"
    return pair.claims[0].evidence.reason if pair.claims else pair.reason


def _tied(table: ScoreTable, t: int, place: Standing, against: Mapping[str, Comparison], gap: float) -> Said:
    rows = [against[model] for model in place.tied]
    words, n = REPLICATION_WORDS[table.replication[t]], min(row.n for row in rows)
    same = [row for row in rows if row.p_decided == 1 and row.low == row.high == 0]
    if len(same) == len(rows):
        where = f"every {words['unit']}" if n == len(table.seeds) else f"all {counted(n, words['unit'])} compared"
        return f"{names((place.best, *place.tied))} have the same score on {where}.", ()
    effect = reference_effect(table, t)
    clause = _seeds_clause([design_of(table, row, effect=effect) for row in rows], words["unit"])
    # The best was picked from the data: a tie with it says nothing about ties among the others.
    best = f"{shorten(place.best)}, which has the best mean,"
    # The second mean need not be a tied one: a model that varies less may be shown worse.
    lead = f"; lead over the second mean {_picked(gap)}" if math.isfinite(gap) else ""
    kinds = {"gap": lead, "power": clause}
    return (
        f"{names(place.tied)} cannot be told apart from {best} {words['scope']} "
        f"({counted(n, words['unit'])}{lead}{clause}).",
        tuple(kind for kind, said in kinds.items() if said),
    )


def _picked(gap: float) -> str:
    return f"corrected for having picked the best {number(gap, signed=True)}"


def _seeds_clause(plans: Sequence[Design], unit: str) -> str:
    """How many seeds would show a stated difference between the hardest two, with the range of that number."""
    plans = [plan for plan in plans if math.isfinite(plan.sd) and plan.sd > 0]
    if not plans:
        return ""  # no spread, no statement about power
    size = f"{plans[0].effect:g}"
    if any(plan.seeds is None for plan in plans):
        return f"; more than {MAX_SEEDS:,} would be needed to detect a difference of {size}"
    most = max(plans, key=lambda plan: plan.seeds or 0)
    high = f"{most.seeds_high:,}" if most.seeds_high is not None else f"more than {MAX_SEEDS:,}"
    needed = f"{counted(most.seeds or 0, unit)} ({most.seeds_low:,} to {high})"
    return f"; {needed} would detect a difference of {size} with 80 % probability"


def _better(table: ScoreTable, t: int, place: Standing, against: Mapping[str, Comparison], gap: float) -> Said:
    """Who is better than whom and how far that reaches: the furthest reach shown, and the first that is not."""
    words, best = REPLICATION_WORDS[table.replication[t]], shorten(place.best)
    near = against[place.worse[0]]
    alone = len(place.worse) == len(against)
    every = alone and len(place.worse) > 1
    whom = "every other model" if every else names(place.worse)
    numbers = [counted(near.n, words["unit"]), _numbers(near, near.claims[0], place.best, name=len(place.worse) > 1)]
    claims = [kind_of(near), "interval"]
    if alone and math.isfinite(gap):
        numbers.append(_picked(gap))
        claims.append("gap")
    text = f"{best} is better than {whom} {words['scope']} ({'; '.join(numbers)})"
    further, more = _further(place, against)
    return f"{text}{further}.", (*claims, *more)


_KINDS = {"deterministic": "deterministic", "sign-flip": "constant"}


def kind_of(pair: Comparison) -> str:
    """Which kind of claim it is to call the two models of ``pair`` different."""
    return _KINDS.get(pair.decided_by, f"better-{pair.claims[0].evidence.reach}")


def _further(place: Standing, against: Mapping[str, Comparison]) -> Said:
    """The next reach: for which of the beaten models it is shown, for which it is not, or why nobody can say."""
    rows = [(model, against[model].claims[1]) for model in place.worse if len(against[model].claims) > 1]
    if not rows:
        return "", ()
    about = rows[0][1].evidence.about
    shown = [(model, claim) for model, claim in rows if claim.shown]
    silent = [(model, claim) for model, claim in rows if claim.evidence.reason and not claim.shown]
    open_ = [row for row in rows if row not in shown and row not in silent]
    kinds = ("better-source",) if shown else ()
    if len(shown) == len(rows):
        return f"; also {about} ({_nearest(shown, against, place.best)})", kinds
    reasons = dict.fromkeys(claim.evidence.reason for _, claim in silent)
    if len(silent) == len(rows) and len(reasons) == 1:
        return f"; {about}: not assessed, {silent[0][1].evidence.reason}", kinds
    parts = []
    if open_:
        whom = "" if len(open_) == len(rows) else f" against {names([name for name, _ in open_])}"
        parts.append(f"not shown{whom} ({_nearest(open_, against, place.best)})")
    elif shown:
        parts.append(f"shown against {names([name for name, _ in shown])} ({_nearest(shown, against, place.best)})")
    for reason in reasons:
        whom = names([name for name, claim in silent if claim.evidence.reason == reason])
        parts.append(f"not assessed against {whom}, {reason}")
    return f"; {about}: {'; '.join(parts)}", kinds


def _nearest(rows: Sequence[tuple[str, Claim]], against: Mapping[str, Comparison], best: str) -> str:
    model, claim = rows[0]
    return _numbers(against[model], claim, best, name=len(rows) > 1)


def _numbers(pair: Comparison, claim: Claim, best: str, *, name: bool) -> str:
    """Difference of the best to the other model, with its simultaneous interval and adjusted p."""
    sign = 1 if pair.a == best else -1
    low, high = sorted((sign * claim.low, sign * claim.high))
    span = f" [{number(low, signed=True)}, {number(high, signed=True)}]" if math.isfinite(low) else ""
    whom = f"nearest {shorten(pair.other(best))}: " if name else ""
    gap = f"{whom}{number(sign * claim.evidence.estimate, signed=True)}{span}"
    if pair.decided_by in _KINDS and claim is pair.claims[0]:
        why = "both are deterministic" if pair.decided_by == "deterministic" else f"p = {p_value(claim.p)}"
        return f"{gap}, the same difference on every seed, {why}"
    return f"{gap}, adjusted p = {p_value(claim.p)}"


def _basis(table: ScoreTable, t: int, pairs: Sequence[Comparison]) -> str:
    holds = REPLICATION_WORDS[table.replication[t]]["holds"]
    if all(pair.decided_by == "deterministic" for pair in pairs):
        return f"no test is needed; {holds}"
    first = next((pair for pair in pairs if pair.decided_by not in _KINDS), pairs[0])
    m = pairs[0].family_size
    whose = "of this task" if len(pairs) == m else "of the report"
    test = f"{test_words(first)} test, Holm over {counted(m, 'comparison')} {whose}, simultaneous intervals; {holds}"
    return "; ".join(filter(None, (test, _uneven(table, t))))


def _uneven(table: ScoreTable, t: int) -> str:
    """Words for seeds that do not cover the fixed splits evenly: then means over seeds are not those compared."""
    folds, seeds = table.splits[t], int(np.isfinite(table.values[t]).any(axis=0).sum())
    if folds == 0 or seeds <= folds or seeds % folds == 0:
        return ""
    return f"{seeds} seeds cover {folds} splits unevenly, here each split counts alike, in the means each seed"


def _baselines(table: ScoreTable, t: int, pairs: Sequence[Comparison], baselines: Sequence[str]) -> str:
    """A sentence when no model is shown to beat every baseline, else nothing."""
    present = table.present(table.tasks[t])
    there = [name for name in baselines if name in present]
    rivals = [model for model in present if model not in baselines]
    if not there or not rivals:
        return ""
    if any(all(pair.beats(model) for pair in _between(pairs, model, there)) for model in rivals):
        return ""
    whom = names(there) if len(there) == 1 else f"all of {names(there)}"
    return f"No model is shown to beat {whom}: a benefit over these baselines is not shown here."


def _between(pairs: Sequence[Comparison], model: str, others: Sequence[str]) -> list[Comparison]:
    return [pair for pair in pairs if pair.involves(model) and pair.other(model) in others]


def unbeaten_tasks(
    table: ScoreTable, grouped: Mapping[str, Sequence[Comparison]], baselines: Sequence[str]
) -> list[str]:
    """Tasks on which no model is shown to beat the baselines."""
    return [task for t, task in enumerate(table.tasks) if _baselines(table, t, grouped.get(task, ()), baselines)]
