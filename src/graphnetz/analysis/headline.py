"""A report in three sentences: who leads, how far that reaches, what to distrust; and a task in one line.

Nothing new is claimed here: every sentence counts or repeats what standings, comparisons, places and diagnostics say,
and names the claims of those.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from graphnetz._core.text import counted, names, shorten
from graphnetz.analysis.verdicts import kind_of
from graphnetz.records.analysis import Comparison, Standing, Verdict
from graphnetz.records.headline import Headline
from graphnetz.records.task_info import REPLICATION_WORDS

if TYPE_CHECKING:
    from graphnetz.analysis.analysis import Analysis

LEADS, REACHES, DISTRUST = "Who leads", "How far it reaches", "What to distrust"
FEW_SEEDS = 5
"""Below this many seeds a t interval is mostly assumption, which is worth saying."""
MOST_DOUBTS = 3
_SHOWN = {
    "split": "on one split",
    "dataset": "on other splits of the dataset",
    "source": "for new examples from the same source",
    "unknown": "over seeds of which nobody stated what they vary",
}


def headline(analysis: Analysis) -> Headline:
    """Return the three sentences, and one line per task."""
    lines = {task: task_line(analysis, task) for task in analysis.scores.tasks}
    return Headline(_leads(analysis, lines), _reaches(analysis), _distrust(analysis), lines)


def _leads(analysis: Analysis, lines: dict[str, Verdict]) -> Verdict:
    sets, n = analysis.rank_sets, len(analysis.ranking.tasks)
    if len(analysis.scores.tasks) == 1:
        (line,) = lines.values()
        return Verdict(line.level, LEADS, f"On {shorten(line.about)}: {line.text}", claims=line.claims)
    if n < 1 or not sets.models:
        there = {model for task in analysis.scores.tasks for model in analysis.scores.present(task)}
        why = f"only {names(sorted(there))} finished any" if there else "no run finished"
        return Verdict("untestable", LEADS, f"Nobody leads: {why}.")
    k, best = len(sets.models), shorten(sets.models[0])
    level = [m for m, rank in zip(sets.models, sets.mean_ranks, strict=True) if rank <= sets.mean_ranks[0] + 1e-9]
    who = names(level, most=5) + (" share" if len(level) > 1 else " has")
    rank = f"{who} the best mean rank ({sets.mean_ranks[0]:.2f} among {k} models)"
    if len(level) == k > 1:
        rank = f"{'Both' if k == 2 else f'All {k}'} models share the mean rank {sets.mean_ranks[0]:.2f}"
    if sets.reason or n < 2:
        few = counted(sets.n_blocks, "independent task")
        return Verdict("untestable", LEADS, f"{rank}; {few} cannot show who leads on others like them.")
    kind = f"of {k} models on tasks like these {n}"
    if sets.high[0] == 1:
        text = f"{best} leads: it is shown to be first alone {kind} (mean rank {sets.mean_ranks[0]:.2f})."
        return Verdict("different", LEADS, text, claims=("rank-set",))
    first = [model for model, low in zip(sets.models, sets.low, strict=True) if low == 1]
    may = f"any of the {k}" if len(first) == k else names(first, most=5)
    text = f"No model is shown to lead alone: {may} may be first {kind}; {who} the best mean rank, "
    text += f"{sets.mean_ranks[0]:.2f}."
    return Verdict("tied", LEADS, text, claims=("rank-set",))


def _reaches(analysis: Analysis) -> Verdict:
    pairs, tasks = analysis.comparisons, analysis.scores.tasks
    shown = [pair for pair in pairs if pair.different]
    if not pairs:
        return Verdict("untestable", REACHES, "There is nothing to compare: no task has two models with scores.")
    if not shown:
        text = f"Nowhere: none of {counted(len(pairs), 'comparison')} within a task shows a difference."
        return Verdict("tied", REACHES, text)
    by = Counter(pair.reach for pair in shown)
    far = [(reach, by[reach]) for reach in ("source", "dataset", "split", "unknown") if by[reach]]
    parts = (
        f"{'all ' * (len(shown) > 1)}{_SHOWN[far[0][0]]}"
        if len(far) == 1
        else ", ".join(f"{count:,} {_SHOWN[reach]}" for reach, count in far)
    )
    alone = sum(_alone(analysis, task) is not None for task in tasks)
    where = f"; on {alone or 'none'} of {len(tasks)} tasks {'is ' * (not alone)}one model {'is ' * bool(alone)}"
    where = "" if len(tasks) == 1 else f"{where}better than every other"
    some = f"{len(shown):,} of {counted(len(pairs), 'comparison')} show{'s' * (len(shown) == 1)} a difference"
    text = f"{'The only comparison shows a difference' if len(pairs) == 1 else some}, {parts}{where}."
    claims = dict.fromkeys(kind for pair in shown for kind in _kinds(pair))
    return Verdict("different", REACHES, text, claims=tuple(claims))


def _kinds(pair: Comparison) -> Iterator[str]:
    yield kind_of(pair)
    if pair.reach == "source":
        yield "better-source"


def _alone(analysis: Analysis, task: str) -> Standing | None:
    """How models stand on a task if one is shown to be better than every other."""
    place = analysis.standings[task]
    others = len(analysis.scores.present(task)) - 1
    return place if place is not None and place.worse and len(place.worse) == others else None


def _distrust(analysis: Analysis) -> Verdict:
    found = [said for doubt in _DOUBTS for said in doubt(analysis)]
    if not found:
        text = "No run failed or collapsed and every comparison could be tested; the best of a task was still picked "
        return Verdict("info", DISTRUST, text + "from the scores that test it.")
    more = len(found) - MOST_DOUBTS
    text = "; ".join(text for text, _ in found[:MOST_DOUBTS]) + (f"; {more} more below" if more > 0 else "")
    claims = dict.fromkeys(claim for _, kinds in found[:MOST_DOUBTS] for claim in kinds)
    return Verdict("warning", DISTRUST, f"{text[0].upper()}{text[1:]}.", claims=tuple(claims))


Doubts = Iterator[tuple[str, tuple[str, ...]]]


def _on(analysis: Analysis, tasks: Sequence[str]) -> str:
    """Tasks by name, unless they are all."""
    return "any task" if len(tasks) == len(analysis.scores.tasks) > 1 else names(tasks, most=3)


def _pending(analysis: Analysis) -> Doubts:
    left = analysis.facts.pending
    if left:
        yield f"{counted(left, 'run')} {'is' if left == 1 else 'are'} still to be made, and may change everything", ()


def _failures(analysis: Analysis) -> Doubts:
    failed = analysis.facts.failures
    if failed:
        who = names(list(dict.fromkeys(cell.model for cell in failed)), most=3)
        yield f"{len(failed):,} of {counted(len(analysis.facts.cells), 'run')} failed ({who})", ()


def _decided_by_failures(analysis: Analysis) -> Doubts:
    places = analysis.standings
    tasks = [t for t, best in analysis.standings_worst.items() if (place := places[t]) and place.best != best]
    if tasks:
        yield f"failures decide who is best on {_on(analysis, tasks)}", ("failures",)


def _collapses(analysis: Analysis) -> Doubts:
    low = [found for found in analysis.diagnostics if found.kind == "collapse"]
    if low:
        who, where = (list(dict.fromkeys(getattr(d, name) for d in low)) for name in ("model", "task"))
        yield f"runs of {names(who, most=3)} collapse on {names(where, most=3)}", ("collapse",)


def _untested(analysis: Analysis) -> Doubts:
    silent = [t for t, p in analysis.standings.items() if p is None or not (p.worse or p.tied or p.ahead)]
    if silent:
        yield f"nothing can be tested on {_on(analysis, silent)}", ()
    open_ = [p for p in analysis.comparisons if p.task not in silent and not p.different and math.isnan(p.p_decided)]
    if open_:
        tails = [p for p in open_ if p.doubt]
        if tails:
            are = "is" if len(tails) == 1 else "are"
            yield (
                f"{counted(len(tails), 'difference')} {are} seen but not claimed (skewed or collapsing runs)",
                ("not-testable",),
            )
        if len(open_) > len(tails):
            yield f"{counted(len(open_) - len(tails), 'comparison')} could not be tested", ()


def _unbeaten(analysis: Analysis) -> Doubts:
    if tasks := analysis.unbeaten:
        yield f"no model is shown to beat the baselines on {_on(analysis, tasks)}", ("baselines",)


def _few_seeds(analysis: Analysis) -> Doubts:
    counts = [pair.n for pair in analysis.comparisons]
    if counts and max(counts) < FEW_SEEDS:
        yield f"comparisons rest on {counted(max(counts), 'seed')} at most", ()


def _unstated(analysis: Analysis) -> Doubts:
    tasks = [t for t, kind in zip(analysis.scores.tasks, analysis.scores.replication, strict=True) if kind == "unknown"]
    if tasks:
        yield f"what a seed varies was not stated on {_on(analysis, tasks)}", ()


def _missing(analysis: Analysis) -> Doubts:
    sets = analysis.rank_sets
    late = [model for model, gone in zip(sets.models, sets.missing, strict=True) if gone]
    if late and sets.n_tasks > 1:
        yield f"{names(late, most=3)} lack{'s' if len(late) == 1 else ''} tasks, which count as worst", ()


def _dependent(analysis: Analysis) -> Doubts:
    groups = analysis.ranking.dependent
    if groups:
        yield f"{sum(map(len, groups))} tasks share {counted(len(groups), 'graph')} and are no independent evidence", ()


def _remarks(analysis: Analysis) -> Doubts:
    kinds = [d.kind for d in analysis.diagnostics if d.kind not in ("collapse", "failures")]
    if kinds:
        words = {"skew": "skewed scores", "outlier": "outliers", "ties": "ties", "few-items": "small test sets"}
        what = names([words.get(kind, kind) for kind in dict.fromkeys(kinds)])
        yield f"{what} on {counted(len({d.task for d in analysis.diagnostics}), 'task')}", ()


_DOUBTS: Sequence[Callable[[Analysis], Doubts]] = (
    _pending, _failures, _decided_by_failures, _collapses, _untested, _unbeaten, _few_seeds, _unstated, _missing,
    _dependent, _remarks,
)  # fmt: skip
"""What may be distrusted, the gravest first."""


def task_line(analysis: Analysis, task: str) -> Verdict:
    """Return what can be said about a task in one line."""
    place, pairs = analysis.standings[task], analysis.grouped.get(task, ())
    if place is None:
        return Verdict("untestable", task, "No model finished.")
    best = shorten(place.best, 24)
    if not pairs:
        return Verdict("untestable", task, f"Only {best} has results.")
    if not (place.worse or place.tied or place.ahead):
        return Verdict("untestable", task, f"{best} is best by mean; nothing can be tested.")
    against = {pair.other(place.best): pair for pair in pairs if pair.involves(place.best)}
    claims = tuple(dict.fromkeys(kind_of(against[model]) for model in place.worse))
    t = analysis.scores.tasks.index(task)
    scope = REPLICATION_WORDS[analysis.scores.replication[t]]["scope"]
    if _alone(analysis, task) is not None:
        whom = "every other model" if len(place.worse) > 1 else shorten(place.worse[0], 24)
        return Verdict("different", task, f"{best} is better than {whom} {scope}.", claims=claims)
    if place.ahead:
        return Verdict("warning", task, f"{best} and {names(place.ahead, most=2)} beat each other in a circle.")
    if place.tied and all(pair.p_decided == 1 and pair.low == pair.high == 0 for pair in against.values()):
        whom = names((best, *place.tied)) if len(place.tied) <= 2 else f"{best} and {len(place.tied)} others"
        return Verdict("tied", task, f"{whom} have the same scores.")
    if place.tied:
        whom = names(place.tied) if len(place.tied) <= 2 else f"{len(place.tied)} of {len(against)} others"
        return Verdict("tied", task, f"{best} is best by mean, not shown ahead of {whom}.", claims=claims)
    whom = names(place.worse, most=3)
    text = f"{best} is better than {whom} {scope}; {counted(len(place.untested), 'model')} could not be tested."
    return Verdict("tied", task, text, claims=claims)
