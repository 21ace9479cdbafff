"""The summary as tasks by models, with best and tied cells marked: what every table and figure of means shows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from graphnetz._core.errors import unknown_name
from graphnetz.metrics import bounds_of
from graphnetz.records import ScoreTable
from graphnetz.records.analysis import INTERVAL_WORDS, TIE_WORDS, AnalysisOptions, CellStat, Standing
from graphnetz.records.task_info import TaskInfo
from graphnetz.records.views import CellView, Grid, Mark, TaskRow, bounds_for


def build_grid(
    table: ScoreTable,
    stats: Sequence[CellStat],
    *,
    standings: Mapping[str, Standing | None],
    tasks: Mapping[str, TaskInfo],
    options: AnalysisOptions,
    stopped: bool = False,
) -> Grid:
    """Return the summary as tasks by models, with best and tied cells marked.

    ``stopped`` says that seeds were added until comparisons were decided, which widens the intervals.
    """
    if options.tie_rule not in TIE_WORDS:
        raise unknown_name("tie rule", options.tie_rule, TIE_WORDS)
    found = {(stat.task, stat.model): stat for stat in stats}
    rows = []
    for task in table.tasks:
        place = standings[task]
        best = found.get((task, place.best)) if place else None
        sign = 1 if tasks[task].greater_is_better else -1
        others = [
            stat for stat in map(found.get, ((task, m) for m in table.models)) if stat and stat is not best and stat.n
        ]
        second = max(others, key=lambda stat: sign * stat.mean).model if best and others else ""
        cells = []
        for model in table.models:
            stat = found.get((task, model))
            if stat is None:
                cells.append(CellView(note=table.reasons.get((task, model), "not run")))
                continue
            close = _overlap(stat, best) if options.tie_rule == "overlap" else bool(place and model in place.tied)
            mark: Mark = "best" if best is stat else "tied" if close else ""
            note = stat.note or stat.reason
            interval = (stat.mean, stat.low, stat.high, stat.half)
            next_best = (task, model) == (task, second)
            cells.append(CellView(*interval, stat.n, mark, note, stat.planned, stat.std, next_best))
        info = tasks[task]
        head = (task, info.label or info.metric, info.greater_is_better)
        bounds = bounds_for(table.values[table.tasks.index(task)], bounds_of(info.metric))
        rows.append(TaskRow(*head, tuple(cells), info.category, info.task_type, info.replication, bounds))
    words = INTERVAL_WORDS.get(options.interval, options.interval)
    if stopped:
        words += ", repeated: it holds however often one looked"
    tie = TIE_WORDS[options.tie_rule]
    if options.tie_rule == "holm" and any(place and place.untested for place in standings.values()):
        tie += "; without a mark: shown to be worse, or not testable, as the verdict says"
    return Grid(table.models, tuple(rows), options.level, len(table.seeds), words, tie)


def _overlap(stat: CellStat, best: CellStat | None) -> bool:
    return best is not None and stat.high >= best.low and stat.low <= best.high
