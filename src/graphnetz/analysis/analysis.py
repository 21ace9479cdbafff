"""`analyse`: scores in, an `Analysis` out, which everything that is written or drawn reads."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np

from graphnetz._core.changed import changed
from graphnetz._core.grouping import grouped
from graphnetz._core.text import shorten
from graphnetz.analysis import (
    across_tasks,
    aggregates,
    board,
    comparisons,
    curves,
    grid,
    headline,
    ladder,
    power,
    ranking,
    reach,
    scores,
    sequential,
    shifts,
    sizes,
    standings,
    task_population,
    tuning,
    verdicts,
)
from graphnetz.analysis.advice import Advice, advise
from graphnetz.analysis.aggregates import Aggregates, CostPoint
from graphnetz.analysis.components import components_of
from graphnetz.analysis.declared import declared
from graphnetz.analysis.diagnostics import (
    BLOCKED,
    diagnose,
    diagnose_pairs,
    diagnostic_verdicts,
    dot_panels,
    failure_rates,
    scored_worst,
    without_collapse,
)
from graphnetz.metrics import label_of
from graphnetz.records import Components, Contributions, ScoreTable, Table
from graphnetz.records.analysis import (
    AnalysisOptions,
    CellStat,
    Comparison,
    Evidence,
    Facts,
    Histories,
    Place,
    Ranking,
    Standing,
    Verdict,
)
from graphnetz.records.board import Board
from graphnetz.records.diagnostics import Diagnostic, PairDiagnostic
from graphnetz.records.headline import Headline
from graphnetz.records.shift import Shift
from graphnetz.records.tuning import Tuning
from graphnetz.records.views import CurvePanel, DotPanel, Grid, RankSetView
from graphnetz.stats import PAIRED_TESTS, RankStability, adjust, rank_stability, shrunken_gap


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
            splits = dict(zip(self.scores.tasks, self.scores.splits, strict=True))
            level_of = lambda task, n: sequential.look_level(rule, n, self.options.level, splits=splits[task])  # noqa: E731
        there = scores.planned_pairs(self.facts.histories, self.facts.cells) or {
            (task, model) for task in self.scores.tasks for model in self.scores.present(task)
        }
        planned = {pair: self.parameters.get(pair) for pair in there}
        return comparisons.cell_stats(
            self.scores, self.facts.tasks, planned, self.options, runs=self.runs, level_of=level_of
        )

    @cached_property
    def runs(self) -> dict[tuple[str, str], int]:
        """How many runs of every (task, model) were made, whatever came of them."""
        return Counter((cell.task, cell.model) for cell in self.facts.cells)

    @cached_property
    def comparisons(self) -> tuple[Comparison, ...]:
        """Every two models of every task by ``options.method``, and how far each difference reaches."""
        options, rule = self.options, self.facts.rule
        remarks = grouped((d for d in self.diagnostics if d.model), lambda d: d.task)
        pairs = [self._diagnosed(pair, remarks.get(pair.task, ())) for pair in self._tested(options.method)]
        by = rule.test if rule else options.method
        found = ladder.decided(
            pairs, self.support, by=by, family=options.family, source=self._source, stopped=rule is not None
        )
        return tuple(found)

    def _diagnosed(self, pair: Comparison, remarks: Sequence[Diagnostic]) -> Comparison:
        """A comparison with what the diagnostics, of which ``remarks`` are those of its task, say of it."""
        found = self.pair_diagnostics[pair.task, pair.a, pair.b]
        about = [d for d in remarks if pair.involves(d.model)]
        flags = [d.kind for d in about] + (["skew"] if found.skew else [])
        doubt = found.reason or next((f"{shorten(d.model)} {BLOCKED}" for d in about if d.blocks), "")
        return changed(pair, flags=tuple(dict.fromkeys(flags)), doubt=doubt)

    def _withheld(self, place: Standing | None, pairs: Sequence[Comparison]) -> list[PairDiagnostic]:
        """Differences that a test shows and nobody claims; of those with the best model its own sentence speaks."""
        best = place.best if place else ""
        held = (pair for pair in pairs if pair.doubt and math.isnan(pair.p_decided) and not pair.involves(best))
        found = (self.pair_diagnostics[pair.task, pair.a, pair.b] for pair in held)
        return [one for one in found if not one.testable]

    @cached_property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """What is remarkable about single runs: collapse, failures, skew, outliers, ties, too few test items."""
        return diagnose(self.scores, self.facts.tasks, self.facts.failures, self.facts.baselines)

    @cached_property
    def pair_diagnostics(self) -> dict[tuple[str, str, str], PairDiagnostic]:
        """The same for every comparison: the shape of its differences, and what stands beside their mean."""
        table = self.support
        pairs = {task: list(combinations(sorted(table.present(task)), 2)) for task in table.tasks}
        found = (diagnose_pairs(*table.paired_rows(t, names), task=t, pairs=names) for t, names in pairs.items())
        return {(one.task, one.a, one.b): one for ones in found for one in ones}

    @cached_property
    def support(self) -> ScoreTable:
        """The scores that are compared: runs without collapse, unless seeds were added by what all runs said."""
        if self.facts.rule is not None or not any(found.kind == "collapse" for found in self.diagnostics):
            return self.scores
        return without_collapse(self.scores, self.diagnostics)

    def _tested(self, method: str) -> list[Comparison]:
        """Every two models of every task by one test; made once, the deciding test stands side by side as well."""
        if method not in self._by_test:
            family = self.options.family
            pairs = comparisons.compare(self.support, alpha=self.options.alpha, method=method, family=family)
            if self.facts.rule is not None:
                pairs = sequential.stopped(pairs, self.decisions, method=method, family=family)
            self._by_test[method] = pairs
        return self._by_test[method]

    @cached_property
    def _by_test(self) -> dict[str, list[Comparison]]:
        return {}

    def _source(self, t: int, pairs: Sequence[tuple[str, str]]) -> Mapping[tuple[str, str], Evidence]:
        """What is known about new examples of task ``t``."""
        return reach.source_evidence(self.support, t, pairs, self.contributions(self.scores.tasks[t]))

    @cached_property
    def example_tests(self) -> tuple[dict[str, object], ...]:
        """Every two trained models of one seed on its test examples, with Holm over the pairs of a task and seed."""
        rows: list[dict[str, object]] = []
        for task in self.scores.tasks:
            found = self.contributions(task)
            if found is not None and not found.reason:
                pairs = combinations(sorted(found.values), 2)
                rows += [row for a, b in pairs for row in reach.example_tests(found, a, b)]
        for family in grouped(rows, lambda row: (row["task"], row["seed"])).values():
            for row, p in zip(family, adjust([float(row["p"]) for row in family]), strict=True):  # type: ignore[arg-type]
                row["p_holm"] = float(p)
        return tuple(rows)

    @cached_property
    def components(self) -> tuple[Components, ...]:
        """Where the spread of the differences comes from: the best model of every task against the others."""
        out: list[Components] = []
        for t, task in enumerate(self.support.tasks):
            place = self.standings[task]
            pairs = [(p.a, p.b) for p in self.grouped.get(task, ()) if place and p.involves(place.best)]
            out += components_of(self.support, t, pairs, self.contributions(task)).values()
        return tuple(out)

    @cached_property
    def advice(self) -> tuple[Advice, ...]:
        """What the next hour buys most for the two best models of every task; it depends on the machine's speed."""
        two = {(plan.task, plan.a, plan.b) for plan in self.design}
        found = [c for c in self.components if (c.task, c.a, c.b) in two]
        costs = [self.seconds.get((c.task, c.a), math.nan) + self.seconds.get((c.task, c.b), math.nan) for c in found]
        return tuple(advise(c, cost) for c, cost in zip(found, costs, strict=True))

    @cached_property
    def dots(self) -> tuple[DotPanel, ...]:
        """Every run of every model, task by task."""
        return dot_panels(self.scores, self.facts.tasks, self.diagnostics)

    def contributions(self, task: str) -> Contributions | None:
        """What single test examples contribute to the scores of a task.

        Parameters
        ----------
        task
            Which task.

        Returns
        -------
        Contributions or None
            None where predictions were not kept.

        Examples
        --------
        >>> from graphnetz.report import example_report
        >>> example_report().analysis.contributions("cora") is None
        True
        """
        return self.facts.examples(task) if self.facts.examples is not None else None

    @cached_property
    def side_by_side(self) -> tuple[tuple[Comparison, Comparison], ...]:
        """Every comparison by the paired t-test and by Wilcoxon's (Table 2 of the GraphNetz paper)."""
        return tuple(zip(self._tested("t"), self._tested("wilcoxon"), strict=True))

    @cached_property
    def grouped(self) -> dict[str, tuple[Comparison, ...]]:
        """`comparisons` task by task."""
        return {task: tuple(pairs) for task, pairs in grouped(self.comparisons, lambda pair: pair.task).items()}

    @cached_property
    def standings(self) -> dict[str, Standing | None]:
        """The best model of every task and how the others stand to it; None where no model finished."""
        tasks = enumerate(self.scores.tasks)
        return {task: comparisons.standing(self.support, t, self.grouped.get(task, ())) for t, task in tasks}

    @cached_property
    def standings_worst(self) -> dict[str, str]:
        """The best model of tasks with failures, were each failure scored as the worst result of its task."""
        failed = {pair: rate.seeds for pair, rate in failure_rates(self.scores, self.facts.failures).items()}
        table = scored_worst(self.scores, failed)
        hit = dict.fromkeys(task for (task, _), seeds in failed.items() if seeds)
        found = {task: comparisons.means_by(table, table.tasks.index(task)) for task in hit}
        out = {}
        for task, means in found.items():
            # A tie with the worst result takes the first place from nobody.
            place, first = self.standings[task], next(iter(means), "")
            held = place is not None and place.best in means and means[place.best] == means[first]
            if means:
                out[task] = place.best if place is not None and held else first
        return out

    @cached_property
    def gaps(self) -> dict[str, float]:
        """Lead of the best model over the next one, corrected for having picked the two; in units of the metric."""
        out = {}
        for t, task in enumerate(self.support.tasks):
            place, models = self.standings[task], list(self.support.common(task)[0])
            if place is None or place.best not in models or len(models) < 2:
                continue
            rows = [self.support.by_split(task, self.support.cell(task, model)) for model in models]
            up = self.support.greater_is_better[t]
            found = shrunken_gap(np.column_stack(rows), greater_is_better=up)
            if not found.reason and models[int(found.order[0])] == place.best:
                out[task] = float(found.shrunken[found.order[1]]) * (1 if up else -1)
        return out

    @cached_property
    def grid(self) -> Grid:
        """Tasks by models, with best and tied cells marked."""
        return grid.build_grid(
            self.scores, self.cells, standings=self.standings, tasks=self.facts.tasks, options=self.options,
            stopped=self.facts.rule is not None,
        )  # fmt: skip

    @cached_property
    def places(self) -> tuple[Place, ...]:
        """Places of all models on all tasks, as intervals."""
        return standings.places(self.grid, self.grouped)

    @cached_property
    def design(self) -> tuple[power.Design, ...]:
        """What the seeds can see between the two best means of every task."""
        return power.best_two(self.support, self.grouped)

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

    @property
    def rank_sets(self) -> RankSetView:
        """Places that every model may have on other tasks of this kind; omitted tasks count as worst."""
        return self.ranking.sets

    @cached_property
    def aggregates(self) -> Aggregates | None:
        """Normalised scores over tasks, strengths and effects of models; None where nothing is shared."""
        return aggregates.aggregate(self)

    @cached_property
    def boards(self) -> tuple[Board, ...]:
        """One row per model: over all tasks, then over those of every type and category."""
        return board.boards(self)

    @cached_property
    def pareto(self) -> tuple[CostPoint, ...]:
        """Score against seconds of every model that has both."""
        return aggregates.cost_points(self)

    @cached_property
    def population(self) -> tuple[tuple[str, Table], ...]:
        """Every two models over tasks, on a task that was not measured, and aggregates: titles and tables."""
        return (*task_population.population_tables(self), *aggregates.aggregate_tables(self))

    @cached_property
    def shifts(self) -> tuple[Shift, ...]:
        """What every model loses on examples of another kind than it was trained on, where a task has such."""
        return shifts.shifts_of(self.facts.cells, self.facts.tasks, level=self.options.level)

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
        """Learning curves of every task."""
        return self.curves_of(self.facts.histories)

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
    def unbeaten(self) -> list[str]:
        """Tasks on which no model is shown to beat the baselines."""
        return verdicts.unbeaten_tasks(self.scores, self.grouped, self.facts.baselines)

    @cached_property
    def headline(self) -> Headline:
        """The report in three sentences, and every task in one line."""
        return headline.headline(self)

    @cached_property
    def tuning(self) -> Tuning | None:
        """What a search inside the cells changed, and which differences survive it; None without a search."""
        return tuning.tuning(self)

    @cached_property
    def untuned(self) -> Analysis | None:
        """The same cells with default settings where a search chose others; None where these were not kept."""
        table = tuning.default_table(self.scores, self.facts.cells)
        facts = Facts(self.facts.tasks, rule=self.facts.rule, baselines=self.facts.baselines)
        return None if table is None else analyse(table, self.options, facts=facts)

    @cached_property
    def verdicts(self) -> tuple[Verdict, ...]:
        """All conclusions in words: across tasks first, then task by task."""
        table, baselines = self.scores, self.facts.baselines
        out = across_tasks.across_verdicts(
            self.ranking,
            wilcoxon=[w for _, w in self.side_by_side],
            unbeaten=self.unbeaten,
            n_tasks=len(table.tasks),
            n_failed=len(self.facts.failures),
        )
        remarks = grouped(self.diagnostics, lambda found: found.task)
        for t, task in enumerate(table.tasks):
            pairs, place = self.grouped.get(task, ()), self.standings[task]
            found = verdicts.task_verdicts(
                self.support, t, place, pairs=pairs, baselines=baselines, gap=self.gaps.get(task, math.nan)
            )
            remarked = diagnostic_verdicts(remarks.get(task, ()), self._withheld(place, pairs))
            out += [*found, *tuning.task_words(self.tuning, task), *remarked]
            if pairs and place and max(pair.n for pair in pairs) < 2:
                mine = (row for row in self.example_tests if row["task"] == task and place.best in (row["a"], row["b"]))
                out += map(reach.example_words, mine)
            out += verdicts.if_worst(task, place, self.standings_worst.get(task))
        return (*out, *sizes.size_verdicts(self.parameters, self.facts.budgets))
