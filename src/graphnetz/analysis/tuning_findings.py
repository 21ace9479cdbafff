"""What a search inside the cells changed over many tasks: tuned scores beside those of default settings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from graphnetz._core.text import counted, names
from graphnetz.analysis.field import Field, kinds_of
from graphnetz.analysis.task_population import is_share
from graphnetz.records import Table
from graphnetz.records.analysis import Comparison
from graphnetz.records.findings import TUNING, Finding
from graphnetz.records.tuning import Tuned
from graphnetz.stats.paired import mean_interval

FEW_GRAPHS = 6
"""Graphs below which no mean gain over graphs is spoken of."""

VERDICTS = {
    "both": "default and tuned", "default only": "default settings only", "tuned only": "tuned only",
    "reversed": "the other way round",
}  # fmt: skip


def tuning_findings(field: Field) -> Iterator[Finding]:
    """Return what tuning changed, as far as the cells kept the scores of their default settings."""
    before, found = field.untuned, field.analysis.tuning
    if before is None or found is None:
        return
    rows = [row for row in found.rows if row.trials > 1 and row.task in field.grouped]
    if not rows:
        return
    yield _searched(field, rows)
    yield _means(field, rows)
    yield from _survived(field, rows)
    yield from _best(before, field)
    yield from _gains(field, rows)
    yield from _against(before, field)


def _searched(field: Field, rows: list[Tuned]) -> Finding:
    """What was tried."""
    trials = sum(row.cells * row.trials for row in rows)
    models = {row.model for row in rows}
    most = max(row.trials for row in rows)
    fewer = sorted({row.model for row in rows if row.trials < most})
    text = f"Tuned and default settings stand side by side in {sum(row.cells for row in rows):,} runs of "
    text += f"{counted(len(models), 'model')} on {field.tasks({row.task for row in rows})}: each run chose on "
    text += f"validation data among {most} settings"
    text += f" ({names(fewer)} {'has' if len(fewer) == 1 else 'have'} fewer)" if fewer else ""
    text += f", the default ones among them, {trials:,} trainings in all."
    told = [(r.task, r.model, r.cells, r.trials, r.cells * r.trials, r.default, r.tuned, r.gain) for r in rows]
    columns = ("Task", "Model", "Runs", "Settings", "Trainings", "Default mean", "Tuned mean", "Tuned minus default")
    note = "Test metric of the task, means over runs; settings were chosen in every run by validation alone."
    return Finding("tuning", TUNING, text, Table(columns, tuple(told), note))


def _means(field: Field, rows: list[Tuned]) -> Finding:
    """Where the mean is better after tuning, and where it is worse; nothing is tested."""
    table = field.analysis.scores
    sign = {task: 1 if better else -1 for task, better in zip(table.tasks, table.greater_is_better, strict=True)}
    told = sorted(
        ((r.task, r.model, r.default, r.tuned, sign[r.task] * r.gain) for r in rows), key=lambda row: -row[-1]
    )
    up, down = (sum(side * row[-1] > 0 for row in told) for side in (1, -1))
    first, last = told[0], told[-1]
    text = f"After tuning the mean test score is better for {up} of {len(told)} pairs of a task and a model, worse for "
    text += f"{down} and the same for {len(told) - up - down}; from {last[-1]:+.3f} ({last[1]} on {last[0]}) to "
    text += f"{first[-1]:+.3f} ({first[1]} on {first[0]})."
    columns = ("Task", "Model", "Default mean", "Tuned mean", "Better by")
    tally = (("better", up), ("the same", len(told) - up - down), ("worse", down))
    note = "Test metric of the task, means over runs; nothing is tested here."
    return Finding("tuning-means", TUNING, text, Table(columns, tuple(told), note), tally)


def _survived(field: Field, rows: list[Tuned]) -> Iterator[Finding]:
    """Which differences are shown with default settings, tuned, or both; of pairs of which one was tuned."""
    tuned, known = {(row.task, row.model) for row in rows}, field.pairs
    items = [
        item for item in field.analysis.tuning.survival  # type: ignore[union-attr]
        if (item.task, item.better, item.worse) in known and {(item.task, item.better), (item.task, item.worse)} & tuned
    ]  # fmt: skip
    if not items:
        return
    count = Counter(item.verdict for item in items)
    shown = len(items) - count["tuned only"]
    text = f"Of {counted(shown, 'difference')} that default settings show, {count['both']:,} are shown after tuning "
    text += f"too, {count['default only']:,} no longer and {count['reversed']:,} the other way round; "
    text += f"{count['tuned only']:,} more are shown only after tuning."
    told = tuple((item.task, item.better, item.worse, VERDICTS[item.verdict]) for item in items)
    tally = tuple((words, count[key]) for key, words in VERDICTS.items())
    note = "Better: after tuning where that is shown, else with default settings. Of pairs at least one was tuned."
    table = Table(("Task", "Better", "Worse", "Shown with"), told, note)
    yield Finding("tuning-differences", TUNING, text, table, tally, kinds_of(field.comparisons))


def _best(before: Field, after: Field) -> Iterator[Finding]:
    """On how many tasks another model has the best mean, and how often the former one is then shown to be worse."""
    told = []
    for task, models in after.ordered.items():
        old = before.ordered.get(task, [""])[0]
        if old in models:
            words = "may still be best" if old in after.first[task] else "shown worse"
            told.append((task, old, models[0], "no" if old == models[0] else "yes", words))
    if not told:
        return
    changed, behind = (sum(row[i] == word for row in told) for i, word in ((3, "yes"), (4, "shown worse")))
    text = f"On {changed} of {counted(len(told), 'task')} another model has the best mean after tuning; on {behind} "
    text += "the best with default settings is then shown to be worse than another."
    columns = ("Task", "Best with default settings", "Best after tuning", "Another", "The former best after tuning")
    tally = (("another is best", changed), ("the same", len(told) - changed))
    yield Finding("tuning-best", TUNING, text, Table(columns, tuple(told)), tally, kinds_of(after.comparisons))


def _gains(field: Field, rows: list[Tuned]) -> Iterator[Finding]:
    """The mean gain of every model over graphs, with t intervals that hold together (Bonferroni)."""
    table = field.analysis.scores
    block = {task: table.blocks[t] for t, task in enumerate(table.tasks) if is_share(table, t)}
    sign = {task: 1 if better else -1 for task, better in zip(table.tasks, table.greater_is_better, strict=True)}
    gains: dict[str, dict[str, list[float]]] = {}
    for row in rows:
        if row.task in block and row.default == row.default:
            gains.setdefault(row.model, {}).setdefault(block[row.task], []).append(sign[row.task] * row.gain)
    gains = {model: of for model, of in gains.items() if len(of) >= FEW_GRAPHS}
    means = [np.array([np.mean(values) for values in of.values()]) for of in gains.values()]
    told = []
    for (model, of), (mean, low, high) in zip(
        gains.items(), gain_intervals(means, field.analysis.options.level), strict=True
    ):
        word = "raises" if low > 0 else "lowers" if high < 0 else "not shown"
        told.append((model, sum(map(len, of.values())), len(of), mean, low, high, word))
    if not told:
        return
    told.sort(key=lambda row: -float(row[3]))
    raised, lowered = ([str(row[0]) for row in told if row[-1] == word] for word in ("raises", "lowers"))
    text = f"Tuning is shown to raise the mean test score of {len(raised)} of {counted(len(told), 'model')}"
    text += f" ({names(raised)})" if raised else ""
    text += f" and to lower that of {len(lowered)} ({names(lowered)})" if lowered else " and to lower none"
    top = told[0]
    text += f"; largest mean gain: {top[0]}, {top[3]:+.3f} ({top[4]:.3f} to {top[5]:.3f}) over {top[2]} graphs."
    columns = ("Model", "Tasks", "Graphs", "Mean gain", "Low", "High", "Tuning")
    note = "Tasks whose metric is a share of 1; tasks on one graph averaged first. "
    note += f"Models tuned on at least {FEW_GRAPHS} graphs; t intervals that hold together."
    tally = (("raised", len(raised)), ("not shown", len(told) - len(raised) - len(lowered)), ("lowered", len(lowered)))
    yield Finding("tuning-gain", TUNING, text, Table(columns, tuple(told), note), tally)


def gain_intervals(gains: Sequence[npt.NDArray[np.float64]], level: float) -> list[tuple[float, float, float]]:
    """Return mean gain, low and high of every model over graphs; t intervals that hold together by Bonferroni."""
    return [mean_interval(mine, 1 - (1 - level) / len(gains)) for mine in gains]


def _against(before: Field, after: Field) -> Iterator[Finding]:
    """The best network against the best baseline, both with default settings and both tuned."""
    rules = [model for model in after.analysis.scores.models if model not in after.networks]
    pairs = [{p.task: p for p in of.versus(of.networks, rules, of.ordered)} for of in (before, after)]
    told = []
    for task in pairs[0].keys() & pairs[1].keys():
        told.append((task, *(part for found in pairs for part in _side(found[task], after.networks))))
    if not told:
        return
    order = list(after.ordered)
    told.sort(key=lambda row: order.index(row[0]))
    count = [Counter(row[i] for row in told) for i in (3, 6)]
    text = "With default settings the best network is shown to be better than the best baseline on "
    text += (
        f"{count[0]['network']} of {counted(len(told), 'task')} and worse on {count[0]['baseline']}; with both tuned, "
    )
    text += f"better on {count[1]['network']} and worse on {count[1]['baseline']}."
    one = ("Best network", "Best baseline", "Better")
    columns = ("Task", *one, *(f"{word}, tuned" for word in one))
    tally = (("networks better, tuned", count[1]["network"]), ("not shown", count[1]["neither"]),
             ("baseline better, tuned", count[1]["baseline"]))  # fmt: skip
    yield Finding("tuning-rule", TUNING, text, Table(columns, tuple(told)), tally, kinds_of(pairs[1].values()))


def _side(pair: Comparison, networks: tuple[str, ...]) -> tuple[str, str, str]:
    """The network, the baseline, and which of them is shown to be better."""
    network, rule = (pair.a, pair.b) if pair.a in networks else (pair.b, pair.a)
    return network, rule, "neither" if not pair.different else "network" if pair.better == network else "baseline"
