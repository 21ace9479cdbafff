"""What a field of many tasks shows, in sentences that count what was found task by task.

Nothing new is tested here: every sentence counts comparisons, places, boards and losses of an `Analysis`, and carries
the rows that it counts. Only mean gains of tuning have intervals of their own (`tuning_findings`).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from itertools import combinations
from typing import TYPE_CHECKING

from graphnetz._core.grouping import grouped
from graphnetz._core.text import counted, names
from graphnetz.analysis.field import REACHED, ROW, ROW_WORDS, Field, answered, kinds_of, row_of, share
from graphnetz.analysis.headline import FEW_SEEDS
from graphnetz.analysis.tuning_findings import tuning_findings
from graphnetz.records import Table
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

FEW_EXAMPLES = 100
"""Test examples below which one of them is more than a point of accuracy."""

AGAIN = ("differences", "best", "rules", "best-rule")
"""Findings that are made again from the tasks whose data were not generated."""


def findings(analysis: Analysis, *, generated: Collection[str] = ()) -> tuple[Finding, ...]:
    """Return what the tasks of an analysis say together.

    Parameters
    ----------
    analysis
        Of one run or of many that were merged.
    generated
        Tasks whose data were generated; the sentences that speak of all tasks are followed by those of the others.

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
    made = frozenset(generated) & set(analysis.scores.tasks)
    told = [found for make in _MAKERS for found in make(Field(analysis, made))]
    if made:
        real = Field(analysis, made, without=True)
        others = {found.name: found for make in (_shown, _alone, _rules) for found in make(real)}
        told = [one for found in told for one in (found, *_again(found, others))]
    return tuple(told)


def _again(found: Finding, others: dict[str, Finding]) -> Iterator[Finding]:
    """The same sentence about the tasks whose data were not generated."""
    if found.name in AGAIN and found.name in others:
        other = others[found.name]
        text = other.text if other.text[:2] != "On" else f"on{other.text[2:]}"
        yield replace(other, name=f"{found.name}-real", text=f"Without generated data: {text}")


# Which differences are shown?


def _shown(field: Field) -> Iterator[Finding]:
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
        (("shown", shown), ("not shown", len(pairs) - shown)), kinds_of(pairs),
    )  # fmt: skip
    reached = Counter(pair.reach for pair in pairs if pair.different)
    if shown:
        parts = [f"{reached[key]:,} for {words}" for key, words in REACHED.items() if reached[key]]
        by_task = ((task, Counter(p.reach for p in mine if p.different)) for task, mine in field.grouped.items())
        rows = [(task, *(count[key] for key in REACHED)) for task, count in by_task]
        text = f"How far the {shown:,} differences are shown: {names(parts)}."
        tally = tuple((words, reached[key]) for key, words in REACHED.items() if reached[key])
        yield Finding("reach", SHOWN, text, Table(("Task", *REACHED.values()), tuple(rows)), tally, kinds_of(pairs))


def _alone(field: Field) -> Iterator[Finding]:
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
        (("one is best", alone), ("several may be", len(rows) - alone)), kinds_of(field.comparisons),
    )  # fmt: skip


def _networks(field: Field) -> Iterator[Finding]:
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
        rows = [row_of(pair, first, (first, second, "neither")) for pair in pairs]
        tally = ((first, won[first]), ("neither", open_), (second, won[second]))
        name = f"networks-{first}-{second}"
        yield Finding(name, SHOWN, text, Table(ROW, tuple(rows), ROW_WORDS), tally, kinds_of(pairs))


def _leaders(field: Field) -> Iterator[Finding]:
    """Who may be first on other tasks of a type."""
    for board in field.analysis.boards:
        if board.kind != "type" or board.reason or board.tasks < 2:
            continue
        first = [row.model for row in board.rows if row.low == 1]
        what = TYPES.get(board.name, board.name)
        best = min(board.rows, key=lambda row: row.rank)
        tasks = [task for task in field.analysis.scores.tasks if field.kind(task) == board.name]
        text = f"{what.capitalize()}, {field.tasks(tasks)}: "
        if len(first) == 1:
            text += f"{first[0]} is shown to be first alone of {len(board.rows)} models on tasks like these."
        else:
            text += f"{names(first, most=12)} may be first of {len(board.rows)} models on tasks like these; "
            text += f"{best.model} has the best mean rank ({best.rank:.2f})."
        rows = [(row.model, row.place, row.rank, row.tasks, row.wins, row.runs) for row in board.rows]
        columns = ("Model", "Place on tasks like these", "Mean rank", "Tasks", "Win rate", "Runs")
        yield Finding(f"type-{board.name}", SHOWN, text, Table(columns, tuple(rows)), (), ("rank-set",))


# Where is the graph not shown to be needed?


def _graph(field: Field) -> Iterator[Finding]:
    answers = ("the graph helps", "edges do harm", "not shown")
    every = {task: field.kind(task) for task in field.ordered}
    for kind in dict.fromkeys(every.values()):
        tasks = [task for task, own in every.items() if own == kind]
        if kind == "link_pred":  # edges are what is asked for, and features are often counts of them
            continue
        pairs = list(field.versus(field.networks, WITHOUT_EDGES, tasks))
        if len(pairs) < 2:  # one task is no field: its own page says it
            continue
        rows = [row_of(pair, pair.a if pair.a in field.networks else pair.b, answers) for pair in pairs]
        helps, harm, open_ = (answered(rows, answer) for answer in answers)
        without = [*open_, *harm]
        which = f" ({names(without, most=8)})" if without else ""
        text = f"{TYPES.get(kind, kind).capitalize()}, {field.tasks([pair.task for pair in pairs])}: "
        text += (
            f"on {len(without)}{which} the best network is not shown to be better than the best model that sees no edge"
        )
        if harm:
            text += f"; on {len(harm)} of them that model is shown to be better ({names(harm, most=8)})"
        tally = (("networks better", len(helps)), ("not shown", len(open_)), ("without edges better", len(harm)))
        yield Finding(
            f"graph-{kind}", GRAPH, f"{text}.", Table(ROW, tuple(rows), ROW_WORDS), tally, kinds_of(pairs)
        )  # fmt: skip


# Which baseline should nobody skip?


def _rules(field: Field) -> Iterator[Finding]:
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
    text = f"On {count} of {counted(len(there), 'task')} no model is shown to be better than {best}, which can be said "
    text += "of no other baseline as often."
    kinds = kinds_of(field.comparisons)
    yield Finding("rules", BASELINE, text, Table(columns, tuple(rows)), (), kinds)
    pairs = list(field.versus(field.networks, rules, field.ordered))
    answers = ("network", "baseline", "neither")
    found = [row_of(pair, pair.a if pair.a in field.networks else pair.b, answers) for pair in pairs]
    wins, simple, open_ = (len(answered(found, answer)) for answer in answers)
    text = f"On {simple + open_} of {counted(len(found), 'task')} the best network is not shown to be better than the "
    text += f"best baseline; on {simple} of them the baseline is shown to be better."
    tally = (("networks better", wins), ("not shown", open_), ("baseline better", simple))
    yield Finding("best-rule", BASELINE, text, Table(ROW, tuple(found), ROW_WORDS), tally, kinds_of(pairs))
    for rule in order:
        yield from _rule(field, rule, *stood[rule])


def _rule(field: Field, rule: str, unbeaten: int, tasks: Sequence[str]) -> Iterator[Finding]:
    pairs = list(field.versus((rule,), field.networks, tasks))
    if len(pairs) < 2:
        return
    answers = (rule, "network", "neither")
    rows = [row_of(pair, rule, answers) for pair in pairs]
    better, worse, open_ = (len(answered(rows, answer)) for answer in answers)
    text = f"{rule} against the best network of each of {counted(len(rows), 'task')}: better on {better}, worse on "
    text += f"{worse}, not told apart on {open_}; on {unbeaten} no model at all is shown to be better."
    rows = [(*row, "yes" if rule in field.first[str(row[0])] else "no") for row in rows]
    tally = ((f"{rule} better", better), ("not shown", open_), ("network better", worse))
    table = Table((*ROW, "Nothing shown better"), tuple(rows), ROW_WORDS)
    yield Finding(f"rule-{rule}", BASELINE, text, table, tally, kinds_of(pairs))


# How far do results carry?


def _shifts(field: Field) -> Iterator[Finding]:
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


def _resolution(field: Field) -> Iterator[Finding]:
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


def _small(field: Field) -> Iterator[Finding]:
    """How many tasks are tested on few examples."""
    tested = ((task, field.kind(task), info.n_test) for task, info in field.analysis.facts.tasks.items() if info.n_test)
    rows = [(*row, "yes" if row[2] < FEW_EXAMPLES else "no") for row in tested]
    if not (small := sum(row[-1] == "yes" for row in rows)):
        return
    text = (
        f"On {small} of {counted(len(rows), 'task')} a run is tested on fewer than {FEW_EXAMPLES} nodes, edges, pairs "
    )
    text += "or graphs: one of them more or less moves an accuracy by more than a point."
    columns = ("Task", "Type", "Tested in one run", f"Fewer than {FEW_EXAMPLES}")
    tally = ((f"fewer than {FEW_EXAMPLES}", small), ("more", len(rows) - small))
    yield Finding("small", PLAN, text, Table(columns, tuple(rows)), tally)


def _cost(field: Field) -> Iterator[Finding]:
    rows = []
    for task, mine in grouped(field.analysis.facts.cells, lambda cell: cell.task).items():
        spent = sum(cell.seconds for cell in mine if math.isfinite(cell.seconds))
        seeds = len({cell.seed for cell in mine})
        rows.append((task, len({cell.model for cell in mine}), seeds, len(mine), sum(not c.ok for c in mine), spent))
    if not rows:
        return
    runs, failed, hours = (sum(float(row[i]) for row in rows) for i in (3, 4, 5))
    low, high = min(row[2] for row in rows), max(row[2] for row in rows)
    text = f"{counted(int(runs), 'run')} of {field.tasks([str(row[0]) for row in rows])} with "
    text += f"{low} to " if low < high else ""
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


_MAKERS: Sequence[Callable[[Field], Iterator[Finding]]] = (
    _shown, _alone, _networks, _leaders, _graph, _rules, tuning_findings, _shifts, _resolution, _small, _cost,
)  # fmt: skip
