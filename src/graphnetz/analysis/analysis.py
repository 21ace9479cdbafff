"""`analyse`: scores in, an `Analysis` out, which everything that is written or drawn reads."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

from graphnetz._core.grouping import grouped
from graphnetz.analysis import (
    across_tasks,
    comparisons,
    curves,
    grid,
    power,
    ranking,
    scores,
    sequential,
    sizes,
    standings,
    task_population,
    verdicts,
)
from graphnetz.metrics import label_of
from graphnetz.records import ScoreTable, Table
from graphnetz.records.analysis import (
    AnalysisOptions,
    CellStat,
    Comparison,
    Facts,
    Histories,
    Place,
    Ranking,
    Standing,
    Verdict,
)
from graphnetz.records.task_info import TaskInfo
from graphnetz.records.views import CurvePanel, Grid
from graphnetz.stats import PAIRED_TESTS, RankStability, rank_stability

MAX_CURVES = 24
"""Tasks whose learning curves are kept ready: more than a page shows."""


def analyse(scores: ScoreTable, options: AnalysisOptions | None = None, *, facts: Facts | None = None) -> Analysis:
    """Return everything that may be said about ``scores``.

    Parameters
    ----------
    scores
        Final metrics as X[task, model, seed].
    options
        Level, kind of interval, paired test, family and tie rule; the defaults are those of a report.
    facts
        What else is known: declared tasks, finished cells, curves, baselines, budgets, the rule that stopped the
        seeds. Without it, what the table itself declares.

    Returns
    -------
    Analysis
        Frozen; each part is computed on first use and then kept.

    Examples
    --------
    >>> from graphnetz.report import example_report
    >>> found = analyse(example_report().scores)
    >>> [(pair.a, pair.b, pair.different) for pair in found.comparisons if pair.task == "cora"]
    [('GAT', 'GCN', False), ('GAT', 'MLP', True), ('GCN', 'MLP', True)]
    """
    chosen = options or AnalysisOptions()
    PAIRED_TESTS[chosen.method]  # an unknown name is refused even when there is nothing to compare
    return Analysis(scores, chosen, facts or Facts(declared(scores)))


def declared(table: ScoreTable) -> dict[str, TaskInfo]:
    """Return the facts about tasks that a score table holds itself."""
    columns = (table.metrics, table.greater_is_better, table.replication, table.test_ratio, table.blocks, table.splits)
    return {
        task: TaskInfo(metric, label_of(metric), better, replication, ratio, block, splits=splits)
        for task, metric, better, replication, ratio, block, splits in zip(table.tasks, *columns, strict=True)
    }


@dataclass(frozen=True, eq=False)
class Analysis:
    """What may be said about a benchmark, computed once; made by `analyse`.

    Parameters
    ----------
    scores, options, facts
        What it was computed from. Every part is a function of these three and of nothing else.

    Examples
    --------
    >>> from graphnetz.report import example_report
    >>> example_report().analysis.standings["cora"].best
    'GCN'
    """

    scores: ScoreTable
    options: AnalysisOptions
    facts: Facts

    # Within tasks

    @cached_property
    def cells(self) -> tuple[CellStat, ...]:
        """Mean and interval of every (task, model) that was run."""
        level_of = None
        if (rule := self.facts.rule) is not None:
            level_of = lambda n: sequential.look_level(rule, n, self.options.level)  # noqa: E731
        there = scores.planned_pairs(self.facts.histories, self.facts.cells) or {
            (task, model) for task in self.scores.tasks for model in self.scores.present(task)
        }
        planned = {pair: self.parameters.get(pair) for pair in there}
        return comparisons.cell_stats(self.scores, self.facts.tasks, planned, self.options, level_of=level_of)

    @cached_property
    def comparisons(self) -> tuple[Comparison, ...]:
        """Every two models of every task by ``options.method``."""
        return self._compared(self.options.method)

    def _compared(self, method: str) -> tuple[Comparison, ...]:
        pairs = comparisons.compare(self.scores, alpha=self.options.alpha, method=method, family=self.options.family)
        if self.facts.rule is not None:
            pairs = sequential.stopped(pairs, self.decisions, method=method, family=self.options.family)
            method = "group-sequential t"
        return tuple(comparisons.decided(pair, by=method) for pair in pairs)

    @cached_property
    def side_by_side(self) -> tuple[tuple[Comparison, Comparison], ...]:
        """Every comparison by the paired t-test and by Wilcoxon's (Table 2 of the GraphNetz paper)."""
        t = self.comparisons if self.options.method == "t" else self._compared("t")
        return tuple(zip(t, self._compared("wilcoxon"), strict=True))

    @cached_property
    def grouped(self) -> dict[str, tuple[Comparison, ...]]:
        """`comparisons` task by task."""
        return {task: tuple(pairs) for task, pairs in grouped(self.comparisons, lambda pair: pair.task).items()}

    @cached_property
    def standings(self) -> dict[str, Standing | None]:
        """The best model of every task and how the others stand to it; None where no model finished."""
        tasks = enumerate(self.scores.tasks)
        return {task: comparisons.standing(self.scores, t, self.grouped.get(task, ())) for t, task in tasks}

    @cached_property
    def grid(self) -> Grid:
        """Tasks by models, with best and tied cells marked."""
        return grid.build_grid(
            self.scores, self.cells, standings=self.standings, tasks=self.facts.tasks, options=self.options
        )

    @cached_property
    def places(self) -> tuple[Place, ...]:
        """Places of all models on all tasks, as intervals."""
        return standings.places(self.grid, self.grouped)

    @cached_property
    def design(self) -> tuple[power.Design, ...]:
        """What the seeds can see between the two best means of every task."""
        return power.best_two(self.scores, self.grouped)

    @cached_property
    def decisions(self) -> dict[str, sequential.TaskDecisions]:
        """What ``seeds="auto"`` decided, per task; empty for fixed seeds."""
        rule, tasks = self.facts.rule, self.facts.tasks
        return sequential.decide_report(self.facts.cells, tasks, self.scores.models, rule) if rule else {}

    # Across tasks

    @cached_property
    def ranking(self) -> Ranking:
        """Ranks of the models present on every task, with Friedman and Nemenyi."""
        # Where models have different numbers of seeds by design, ranks compare those that all share.
        table = self.scores if self.facts.rule is None else sequential.common_seeds(self.scores)
        return ranking.rank_models(table, alpha=self.options.alpha)

    @cached_property
    def stability(self) -> RankStability | None:
        """How mean ranks move when tasks are resampled; None where nothing is ranked."""
        found = self.ranking
        return rank_stability(found.values, found.greater_is_better) if found.models and found.tasks else None

    @cached_property
    def population(self) -> tuple[tuple[str, Table], ...]:
        """Every two models over tasks, and on a task that was not measured: titles and tables."""
        return tuple(task_population.population_tables(self))

    # Costs and curves

    @cached_property
    def parameters(self) -> dict[tuple[str, str], int]:
        """Trainable parameters of every (task, model) that has any."""
        return sizes.parameter_counts(self.facts.cells)

    @cached_property
    def seconds(self) -> dict[tuple[str, str], float]:
        """Mean seconds of a cell per (task, model), NaN where none kept its time."""
        spent: dict[tuple[str, str], list[float]] = {}
        for cell in self.facts.cells:
            kept = spent.setdefault((cell.task, cell.model), [])
            if math.isfinite(cell.seconds):
                kept.append(cell.seconds)
        return {pair: sum(values) / len(values) if values else math.nan for pair, values in spent.items()}

    @cached_property
    def curves(self) -> list[CurvePanel]:
        """Learning curves of the first tasks."""
        return self.curves_of(dict(list(self.facts.histories.items())[:MAX_CURVES]))

    def curves_of(self, histories: Histories, key: str | None = None) -> list[CurvePanel]:
        """Summarise learning curves over seeds.

        Parameters
        ----------
        histories
            ``histories[task][model]``: one mapping of history key to values per seed.
        key
            Which curve, such as ``"train_loss"``; None takes each task's headline metric.

        Returns
        -------
        list of CurvePanel
            One per task: mean and interval at every epoch, by model.

        Examples
        --------
        >>> from graphnetz.report import example_report
        >>> histories = {"cora": {"GCN": [{"test_acc": [0.5, 0.75]}, {"test_acc": [0.75, 1.0]}]}}
        >>> example_report().analysis.curves_of(histories)[0].curves[0].mean.tolist()
        [0.625, 0.875]
        """
        tasks = self.facts.tasks
        keys = {task: key or info.metric for task, info in tasks.items()}
        labels = {task: label_of(key) if key else info.label for task, info in tasks.items()}
        return curves.curve_panels(histories, keys, labels, level=self.options.level, results=self.facts.cells)

    # Words

    @cached_property
    def verdicts(self) -> tuple[Verdict, ...]:
        """All conclusions in words: across tasks first, then task by task."""
        table, baselines = self.scores, self.facts.baselines
        out = across_tasks.across_verdicts(
            self.ranking,
            p_best=self.stability.p_best.tolist() if self.stability else (),
            wilcoxon=[w for _, w in self.side_by_side],
            unbeaten=verdicts.unbeaten_tasks(table, self.grouped, baselines),
            n_failed=len(self.facts.failures),
        )
        for t, task in enumerate(table.tasks):
            pairs = self.grouped.get(task, ())
            out += verdicts.task_verdicts(table, t, self.standings[task], pairs=pairs, baselines=baselines)
        return (*out, *sizes.size_verdicts(self.parameters, self.facts.budgets))
