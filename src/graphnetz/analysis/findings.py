"""What a field of many tasks shows, in sentences that count what was found task by task.

Nothing new is tested here: every sentence counts comparisons, places, boards and losses of an `Analysis`, and carries
the rows that it counts.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING

from graphnetz._core.grouping import grouped
from graphnetz._core.text import counted, names
from graphnetz.analysis.headline import FEW_SEEDS
from graphnetz.analysis.verdicts import kind_of
from graphnetz.records import Table
from graphnetz.records.analysis import Comparison, Place
from graphnetz.records.findings import BASELINE, CARRY, GRAPH, PLAN, SHOWN, Finding

if TYPE_CHECKING:
    from graphnetz.analysis.analysis import Analysis

WITHOUT_EDGES = ("MLP", "FeatureOnly", "Majority")
"""Models whose answers do not depend on the edges, where tasks give nodes features; held by tests."""

MOST_NETWORKS = 6
"""Networks that are compared two by two; of more, those with the best mean ranks."""

TYPES = {
    "node_cls": "node classification", "edge_cls": "edge classification", "graph_cls": "graph classification",
    "graph_reg": "graph regression", "multi_reg": "node and graph regression", "link_pred": "link prediction",
}  # fmt: skip
"""Task types in words; the same as their labels, which cannot be read without torch."""

REACHED = {"source": "new examples", "dataset": "other splits", "split": "this split", "unknown": "not stated"}


def findings(analysis: Analysis) -> tuple[Finding, ...]:
    """Return what the tasks of an analysis say together.

    Parameters
    ----------
    analysis
        Of one run or of many that were merged.

    Returns
    -------
    tuple of Finding
        Sentences by question; those that nothing can be counted for are left out.

    Examples
    --------
    >>> from graphnetz.report import example_report
    >>> print(findings(example_report().analysis)[0].text)
    5 of 6 comparisons of two models on one task show a difference (83 %).
    """
    field = _Field(analysis)
    return tuple(found for make in _MAKERS for found in make(field))


def share(part: int, whole: int) -> str:
    """Return a share for a sentence; whole per cent, and no more certainty than it has.

    Examples
    --------
    >>> share(1, 3), share(999, 1000), share(1, 1000)
    ('33 %', 'over 99 %', 'below 1 %')
    """
    percent = 100 * part / whole
    if 0 < percent < 1 or 99 < percent < 100:
        return "below 1 %" if percent < 1 else "over 99 %"
    return f"{percent:.0f} %"


@dataclass(frozen=True, eq=False)
class _Field:
    """An analysis, and what several findings look up in it."""

    analysis: Analysis

    @cached_property
    def comparisons(self) -> list[Comparison]:
        """Comparisons of enough seeds: of fewer hardly anything can be shown, which says nothing about models."""
        return [pair for pair in self.analysis.comparisons if pair.n >= FEW_SEEDS]

    @cached_property
    def grouped(self) -> dict[str, list[Comparison]]:
        return grouped(self.comparisons, lambda pair: pair.task)

    @cached_property
    def pairs(self) -> dict[tuple[str, str, str], Comparison]:
        both = ((pair, (pair.a, pair.b)) for pair in self.comparisons)
        return {(p.task, *two): p for p, (a, b) in both for two in ((a, b), (b, a))}

    @cached_property
    def places(self) -> dict[str, list[Place]]:
        """Places of the models of every task, best mean first; of those that are compared with another one at all."""
        there = {(p.task, model) for p in self.comparisons for model in (p.a, p.b)}
        return grouped((p for p in self.analysis.places if (p.task, p.model) in there), lambda place: place.task)

    @cached_property
    def ordered(self) -> dict[str, list[str]]:
        """Models of every task, best mean first."""
        return {task: [place.model for place in places] for task, places in self.places.items()}

    @cached_property
    def first(self) -> dict[str, list[str]]:
        """Models of every task to which no other is shown to be superior."""
        return {task: [place.model for place in places if place.first == 1] for task, places in self.places.items()}

    @cached_property
    def networks(self) -> tuple[str, ...]:
        rules = set(self.analysis.facts.baselines)
        return tuple(model for model in self.analysis.scores.models if model not in rules)

    def kind(self, task: str) -> str:
        return self.analysis.facts.tasks[task].task_type

    def versus(self, left: Sequence[str], right: Sequence[str], tasks: Iterable[str]) -> Iterator[Comparison]:
        """Compare the best mean of ``left`` with that of ``right``, the models in that order, task by task.

        Which is best is picked from the scores that are compared; Holm's family of the task holds every pair that may
        be picked.
        """
        for task in tasks:
            ours = [model for model in self.ordered.get(task, ()) if model in left]
            theirs = [model for model in self.ordered.get(task, ()) if model in right]
            if ours and theirs and (pair := self.pairs.get((task, ours[0], theirs[0]))) is not None:
                yield pair


def _sides(pair: Comparison, first: str) -> tuple[float, float, float]:
    """How much better ``first`` is, whatever the direction of the metric, with the interval of all pairs."""
    sign = (1 if pair.a == first else -1) * (1 if pair.greater_is_better else -1)
    low, high = sorted((sign * pair.sim_low, sign * pair.sim_high))
    return sign * pair.mean_diff, low, high


def _row(pair: Comparison, first: str, answers: tuple[str, str, str]) -> tuple[object, ...]:
    """One comparison as a row; ``answers`` are for: first better, second better, not shown."""
    gain, low, high = _sides(pair, first)
    answer = answers[2] if not pair.different else answers[0] if pair.better == first else answers[1]
    return pair.task, first, pair.other(first), gain, low, high, pair.p_words, answer, REACHED.get(pair.reach, "")


_ROW = ("Task", "First", "Second", "First is better by", "Low", "High", "Adjusted p", "Shown", "Reach")
_ROW_WORDS = (
    "Differences are in units of the task's metric, positive where the first is better; intervals hold together for "
    "all comparisons of the task."
)
_ANSWER = _ROW.index("Shown")


def _kinds(pairs: Iterable[Comparison]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(kind_of(pair) for pair in pairs if pair.different))


def _answers(rows: Sequence[tuple[object, ...]], answer: str) -> list[str]:
    return [str(row[0]) for row in rows if row[_ANSWER] == answer]


# Which differences are shown?


def _shown(field: _Field) -> Iterator[Finding]:
    pairs = field.comparisons
    if not pairs:
        return
    rows: list[tuple[object, ...]] = []
    for task, mine in field.grouped.items():
        shown = sum(pair.different for pair in mine)
        rows.append((task, field.kind(task), len(mine), shown, len(mine) - shown))
    shown = sum(pair.different for pair in pairs)
    text = f"{shown:,} of {counted(len(pairs), 'comparison')} of two models on one task show a difference "
    columns = ("Task", "Type", "Comparisons", "Shown", "Not shown")
    yield Finding(
        "differences", SHOWN, f"{text}({share(shown, len(pairs))}).", Table(columns, tuple(rows)),
        (("shown", shown), ("not shown", len(pairs) - shown)), _kinds(pairs),
    )  # fmt: skip
    reached = Counter(pair.reach for pair in pairs if pair.different)
    if shown:
        parts = [f"{reached[key]:,} for {words}" for key, words in REACHED.items() if reached[key]]
        by_task = ((task, Counter(p.reach for p in mine if p.different)) for task, mine in field.grouped.items())
        rows = [(task, *(count[key] for key in REACHED)) for task, count in by_task]
        text = f"How far the {shown:,} differences are shown: {names(parts)}."
        tally = tuple((words, reached[key]) for key, words in REACHED.items() if reached[key])
        yield Finding("reach", SHOWN, text, Table(("Task", *REACHED.values()), tuple(rows)), tally, _kinds(pairs))


def _alone(field: _Field) -> Iterator[Finding]:
    tasks = {task: models for task, models in field.ordered.items() if len(models) > 1}
    if not tasks:
        return
    rows = []
    for task, models in tasks.items():
        first = field.first[task]
        rows.append((task, field.kind(task), models[0], len(models), len(first), names(first, most=12)))
    alone = sum(row[4] == 1 for row in rows)
    several = sum(2 * row[4] >= row[3] for row in rows)
    text = f"On {alone} of {counted(len(tasks), 'task')} one model is shown to be better than every other; on "
    text += f"{several} at least half of the models may be the best."
    columns = ("Task", "Type", "Best mean", "Models", "May be best", "Which")
    yield Finding(
        "best", SHOWN, text, Table(columns, tuple(rows)),
        (("one is best", alone), ("several may be", len(rows) - alone)), _kinds(field.comparisons),
    )  # fmt: skip


def _networks(field: _Field) -> Iterator[Finding]:
    """Every two networks over all tasks that both ran on."""
    ranked = [row.model for board in field.analysis.boards[:1] for row in board.rows if row.model in field.networks]
    for a, b in combinations(ranked[:MOST_NETWORKS], 2):
        pairs = [pair for pair in field.comparisons if pair.involves(a) and pair.involves(b)]
        if len(pairs) < 2:
            continue
        won = Counter(pair.better for pair in pairs if pair.different)
        first, second = (a, b) if won[a] >= won[b] else (b, a)
        open_ = len(pairs) - won[a] - won[b]
        text = f"{first} is shown to be better than {second} on {won[first]} of {len(pairs)} tasks, {second} than "
        text += f"{first} on {won[second]}; on {open_} no difference is shown."
        rows = [_row(pair, first, (first, second, "neither")) for pair in pairs]
        tally = ((first, won[first]), ("neither", open_), (second, won[second]))
        name = f"networks-{first}-{second}"
        yield Finding(name, SHOWN, text, Table(_ROW, tuple(rows), _ROW_WORDS), tally, _kinds(pairs))


def _leaders(field: _Field) -> Iterator[Finding]:
    """Who may be first on other tasks of a type."""
    for board in field.analysis.boards:
        if board.kind != "type" or board.reason or board.tasks < 2:
            continue
        first = [row.model for row in board.rows if row.low == 1]
        what = TYPES.get(board.name, board.name)
        best = min(board.rows, key=lambda row: row.rank)
        text = f"{what.capitalize()}, {board.tasks} tasks: "
        if len(first) == 1:
            text += f"{first[0]} is shown to be first alone of {len(board.rows)} models on tasks like these."
        else:
            text += f"{names(first, most=12)} may be first of {len(board.rows)} models on tasks like these; "
            text += f"{best.model} has the best mean rank ({best.rank:.2f})."
        rows = [(row.model, row.place, row.rank, row.tasks, row.wins, row.runs) for row in board.rows]
        columns = ("Model", "Place on tasks like these", "Mean rank", "Tasks", "Win rate", "Runs")
        yield Finding(f"type-{board.name}", SHOWN, text, Table(columns, tuple(rows)), (), ("rank-set",))


# Where is the graph not shown to be needed?


def _graph(field: _Field) -> Iterator[Finding]:
    answers = ("the graph helps", "edges do harm", "not shown")
    every = {task: field.kind(task) for task in field.ordered}
    for kind in dict.fromkeys(every.values()):
        tasks = [task for task, own in every.items() if own == kind]
        if kind == "link_pred":  # edges are what is asked for, and features are often counts of them
            continue
        pairs = list(field.versus(field.networks, WITHOUT_EDGES, tasks))
        if len(pairs) < 2:  # one task is no field: its own page says it
            continue
        rows = [_row(pair, pair.a if pair.a in field.networks else pair.b, answers) for pair in pairs]
        helps, harm, open_ = (_answers(rows, answer) for answer in answers)
        without = [*open_, *harm]
        which = f" ({names(without, most=8)})" if without else ""
        text = (
            f"{TYPES.get(kind, kind).capitalize()}: on {len(without)} of {counted(len(rows), 'task')}{which} the best "
        )
        text += "network is not shown to be better than the best model that sees no edge"
        if harm:
            text += f"; on {len(harm)} of them that model is shown to be better ({names(harm, most=8)})"
        tally = (("networks better", len(helps)), ("not shown", len(open_)), ("without edges better", len(harm)))
        yield Finding(
            f"graph-{kind}", GRAPH, f"{text}.", Table(_ROW, tuple(rows), _ROW_WORDS), tally, _kinds(pairs)
        )  # fmt: skip


# Which baseline should nobody skip?


def _rules(field: _Field) -> Iterator[Finding]:
    rules = [model for model in field.analysis.scores.models if model in set(field.analysis.facts.baselines)]
    stood = {}
    for rule in rules:
        there = [task for task, models in field.ordered.items() if rule in models and len(models) > 1]
        if there:
            stood[rule] = (sum(rule in field.first[task] for task in there), there)
    if not stood or not field.networks:
        return
    order = sorted(stood, key=lambda rule: (-stood[rule][0], len(stood[rule][1])))
    best, (count, there) = order[0], stood[order[0]]
    columns = ("Baseline", "Tasks", "Nothing shown better", "Share")
    rows = [(rule, len(stood[rule][1]), stood[rule][0], stood[rule][0] / len(stood[rule][1])) for rule in order]
    text = f"{best}: on {count} of {counted(len(there), 'task')} no model is shown to be better, which can be said of "
    text += "no other baseline as often."
    kinds = _kinds(field.comparisons)
    yield Finding("rules", BASELINE, text, Table(columns, tuple(rows)), (), kinds)
    pairs = list(field.versus(field.networks, rules, field.ordered))
    answers = ("network", "baseline", "neither")
    found = [_row(pair, pair.a if pair.a in field.networks else pair.b, answers) for pair in pairs]
    wins, simple, open_ = (len(_answers(found, answer)) for answer in answers)
    text = f"On {simple + open_} of {counted(len(found), 'task')} the best network is not shown to be better than the "
    text += f"best baseline; on {simple} of them the baseline is shown to be better."
    tally = (("networks better", wins), ("not shown", open_), ("baseline better", simple))
    yield Finding("best-rule", BASELINE, text, Table(_ROW, tuple(found), _ROW_WORDS), tally, _kinds(pairs))
    for rule in order:
        yield from _rule(field, rule, *stood[rule])


def _rule(field: _Field, rule: str, unbeaten: int, tasks: Sequence[str]) -> Iterator[Finding]:
    pairs = list(field.versus((rule,), field.networks, tasks))
    if len(pairs) < 2:
        return
    answers = (rule, "network", "neither")
    rows = [_row(pair, rule, answers) for pair in pairs]
    better, worse, open_ = (len(_answers(rows, answer)) for answer in answers)
    text = f"{rule} against the best network of each of {counted(len(rows), 'task')}: better on {better}, worse on "
    text += f"{worse}, not told apart on {open_}; on {unbeaten} no model at all is shown to be better."
    rows = [(*row, "yes" if rule in field.first[str(row[0])] else "no") for row in rows]
    tally = ((f"{rule} better", better), ("not shown", open_), ("network better", worse))
    table = Table((*_ROW, "Nothing shown better"), tuple(rows), _ROW_WORDS)
    yield Finding(f"rule-{rule}", BASELINE, text, table, tally, _kinds(pairs))


# How far do results carry?


def _shifts(field: _Field) -> Iterator[Finding]:
    rows = []
    for mine in grouped(field.analysis.shifts, lambda shift: shift.task).values():
        ours = [s for s in mine if s.model in field.networks]
        best = [s.model for s in sorted(ours, key=lambda s: -s.test if s.greater_is_better else s.test)[:1]]
        rows += [
            (s.task, s.model, s.label, s.n, s.test, s.other, s.loss, s.low, s.high, "yes" if s.low > 0 else "no")
            for s in mine
            if s.model in best
        ]
    if not rows:
        return
    lost = sum(row[-1] == "yes" for row in rows)
    text = f"On graphs of another size than those of training the best network loses on {lost} of "
    text += f"{counted(len(rows), 'task')} more than its seeds vary (95 % interval of the loss above zero)."
    note = "Loss: mean over seeds of how much worse it is there; each interval by itself, without correction."
    columns = ("Task", "Best network", "Metric", "Seeds", "Test", "Other size", "Loss", "Low", "High", "Above zero")
    tally = (("loses", lost), ("within its spread", len(rows) - lost))
    yield Finding("shift", CARRY, text, Table(columns, tuple(rows), note), tally)


# What did it take?


def _resolution(field: _Field) -> Iterator[Finding]:
    rows = []
    for plan in field.analysis.design:  # of pairs with few seeds there is none in field.pairs
        pair = field.pairs.get((plan.task, plan.a, plan.b))
        if pair is not None and math.isfinite(plan.mde):
            gap = abs(pair.mean_diff)
            rows.append((plan.task, plan.a, plan.b, plan.n, gap, plan.mde, "yes" if gap < plan.mde else "no"))
    if not rows:
        return
    small = sum(row[-1] == "yes" for row in rows)
    text = f"On {small} of {counted(len(rows), 'task')} the two best means lie closer than these seeds can see (a "
    text += "difference found with 80 % probability): more seeds, not more models, would decide there."
    note = "Smallest visible difference at Holm's strictest step; the observed difference plays no part in it."
    columns = ("Task", "Best", "Next", "Seeds", "Difference", "Smallest visible", "Too close")
    tally = (("too close", small), ("wide enough", len(rows) - small))
    yield Finding("resolution", PLAN, text, Table(columns, tuple(rows), note), tally, ("power",))


def _cost(field: _Field) -> Iterator[Finding]:
    rows = []
    for task, mine in grouped(field.analysis.facts.cells, lambda cell: cell.task).items():
        spent = sum(cell.seconds for cell in mine if math.isfinite(cell.seconds))
        seeds = len({cell.seed for cell in mine})
        rows.append((task, len({cell.model for cell in mine}), seeds, len(mine), sum(not c.ok for c in mine), spent))
    if not rows:
        return
    runs, failed, hours = (sum(float(row[i]) for row in rows) for i in (3, 4, 5))
    low, high = min(row[2] for row in rows), max(row[2] for row in rows)
    text = f"{counted(int(runs), 'run')} of {counted(len(rows), 'task')} with {f'{low} to ' if low < high else ''}"
    text += f"{counted(high, 'seed')} each stand behind this page; {int(failed):,} failed"
    few = [row[0] for row in rows if int(row[2]) < FEW_SEEDS]
    text += f"; they took {hours / 3600:.1f} hours by the clock, added up" if hours else ""
    are = "is" if len(few) == 1 else "are"
    text += (
        f"; {counted(len(few), 'task')} with fewer than {FEW_SEEDS} seeds {are} left out of comparisons."
        if few
        else "."
    )
    columns = ("Task", "Models", "Seeds", "Runs", "Failed", "Seconds")
    table = Table(columns, tuple(rows), "Seconds by the clock; 0 where nobody said.")
    yield Finding("runs", PLAN, text, table, (), ("failures",) if failed else ())


_MAKERS: Sequence[Callable[[_Field], Iterator[Finding]]] = (
    _shown, _alone, _networks, _leaders, _graph, _rules, _shifts, _resolution, _cost,
)  # fmt: skip
