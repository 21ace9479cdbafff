"""What a report computes: tables, tests, ranks, design and words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from graphnetz._core.errors import UsageError, unknown_name
from graphnetz.analysis import across_tasks as across
from graphnetz.analysis import comparisons as analysis
from graphnetz.analysis import power as design
from graphnetz.analysis import ranking, scores, sequential, sizes, verdicts
from graphnetz.records import ScoreTable
from graphnetz.report import figures, frames
from graphnetz.report.data import ReportData
from graphnetz.report.page import Verdicts, VerdictView
from graphnetz.report.views import Grid
from graphnetz.stats import PAIRED_TESTS, rank_stability


class Statistics(ReportData):
    """Statistics of a report; each method asks the module that knows."""

    # Tables

    def _stats(self, ci: float, method: str | None) -> list[analysis.CellStat]:
        how = method or self.ci_method
        planned = scores.planned_pairs(self.histories, self.results)
        options: dict[str, Any] = {
            "level": ci,
            "method": how,
            "n_resamples": self.bootstrap_n,
            "seed": self.bootstrap_seed,
        }
        if (rule := self.seed_rule) is not None:
            options["level_of"] = lambda n: sequential.look_level(rule, n, ci)
        return self._cached(("cells", ci, how), lambda: analysis.cell_stats(self.scores, planned, **options))

    def comparisons(
        self, alpha: float = 0.05, method: str | None = None, family: str = "task"
    ) -> list[analysis.Comparison]:
        """Every comparison as a record; `pairwise` is its table."""
        how = method or self.pairwise_method
        PAIRED_TESTS[how]  # an unknown name is refused even when there is nothing to compare
        options: dict[str, Any] = {"alpha": alpha, "method": how, "family": family}
        return self._cached(("pairs", alpha, how, family), lambda: self._compare(options))

    def _compare(self, options: dict[str, Any]) -> list[analysis.Comparison]:
        pairs = analysis.compare(self.scores, **options)
        if self.seed_rule is None:
            return pairs
        return sequential.stopped(pairs, self.decisions(), method=options["method"], family=options["family"])

    @property
    def seed_rule(self) -> sequential.SeedRule | None:
        """The rule of ``seeds="auto"``, None for fixed seeds."""
        return sequential.SeedRule.from_config(self.config)

    def decisions(self) -> dict[str, sequential.TaskDecisions]:
        """What ``seeds="auto"`` decided, per task; empty for fixed seeds."""
        rule = self.seed_rule
        if rule is None:
            return {}
        models = self.scores.models
        return self._cached("decisions", lambda: sequential.decide_report(self.results, self.task_info, models, rule))

    def grouped(self, alpha: float = 0.05) -> dict[str, list[analysis.Comparison]]:
        """Comparisons of the default test, task by task."""
        groups: dict[str, list[analysis.Comparison]] = {}
        for pair in self.comparisons(alpha):
            groups.setdefault(pair.task, []).append(pair)
        return groups

    def summary(self, ci: float = 0.95, method: str | None = None) -> pd.DataFrame:
        """Mean, spread and interval per (task, model); ``method`` is t, bootstrap or bca."""
        frame = frames.summary_frame(self._stats(ci, method), self.task_info, planned=len(self.seeds))
        counts = sizes.parameter_counts(self.results)
        frame["parameters"] = pd.array([counts.get(key) for key in frame.index], dtype="Int64")
        return frame

    def pairwise(self, alpha: float = 0.05, method: str | None = None, family: str = "task") -> pd.DataFrame:
        """Paired tests between models per task with Holm adjustment.

        ``family`` is ``"task"`` (the paper's rule) or ``"report"`` (all comparisons together).
        """
        pairs = self.comparisons(alpha, method, family)
        return frames.pairwise_frame(pairs, method=method or self.pairwise_method, family=family)

    def pairwise_both(self, alpha: float = 0.05, family: str = "task") -> pd.DataFrame:
        """Paired t and Wilcoxon side by side with their agreement."""
        return frames.both_frame(self.comparisons(alpha, "t", family), self.comparisons(alpha, "wilcoxon", family))

    def grid(self, ci: float = 0.95, method: str | None = None, *, tie_rule: str = "holm") -> Grid:
        """The summary as tasks by models with best and tied cells marked, as renderers draw it."""
        return figures.build_grid(
            self.scores,
            self._stats(ci, method),
            self.grouped(),
            self.task_info,
            level=ci,
            method=method or self.ci_method,
            tie_rule=tie_rule,
        )

    def costs(self) -> pd.DataFrame:
        """Seconds, memory, parameters and epochs per (task, model)."""
        return frames.costs_frame(self.results)

    # Across tasks

    def ranking(self, alpha: float = 0.05) -> ranking.Ranking:
        """Ranks of the models present on every task, with Friedman and Nemenyi."""
        return self._cached(("ranking", alpha), lambda: ranking.rank_models(self._ranked_scores(), alpha=alpha))

    def _ranked_scores(self) -> ScoreTable:
        """Seeds that all models share, where models have different numbers of them by design."""
        return self.scores if self.seed_rule is None else sequential.common_seeds(self.scores)

    def friedman(self, alpha: float = 0.05) -> dict[str, Any]:
        """Friedman omnibus test on per-task ranks of seed means."""
        return ranking.friedman_dict(self.ranking(alpha))

    def rank_table(self) -> pd.DataFrame:
        """Rank of every fully present model on every task; 1 is best."""
        found = self.ranking()
        index = pd.Index(found.tasks, name="task", dtype=object)
        return pd.DataFrame(found.ranks, index=index, columns=list(found.models))

    def mean_ranks(self) -> pd.Series:
        """Mean rank per model, best first."""
        found = self.ranking()
        ranks = pd.Series(found.omnibus.mean_ranks, index=list(found.models), name="mean_rank", dtype=float)
        return ranks.iloc[found.order]

    def rank_stability(self, n_resamples: int = 2000, seed: int = 0) -> pd.DataFrame:
        """How mean ranks move when tasks are resampled: interval, and share of being best."""
        found = self.ranking()
        if not found.models:
            raise UsageError("No model is present on every task, so there is no ranking to resample.")
        moved = rank_stability(found.values, found.greater_is_better, n_resamples=n_resamples, seed=seed)
        columns = {
            "mean_rank": found.omnibus.mean_ranks,
            "rank_low": moved.mean_rank_low,
            "rank_high": moved.mean_rank_high,
            "p_best": moved.p_best,
        }
        return pd.DataFrame(columns, index=pd.Index(found.models, name="model", dtype=object)).iloc[found.order]

    # Design

    def power(self, effect: float | Mapping[str, float], *, alpha: float = 0.05, target: float = 0.8) -> pd.DataFrame:
        """Power of every comparison for an effect you name, never the observed one."""
        return design.power_frame(self.scores, self.comparisons(alpha), effect, alpha=alpha, target=target)

    def seeds_needed(
        self, effect: float | Mapping[str, float], *, alpha: float = 0.05, power: float = 0.8
    ) -> pd.DataFrame:
        """Seeds that would detect ``effect``, with the range that the observed spread allows."""
        frame = self.power(effect, alpha=alpha, target=power)
        return frame[
            [c for c in ("task", "model_a", "model_b", "sd_diff", "seeds", "seeds_low", "seeds_high") if c in frame]
        ]

    def equivalence(self, margin: float | Mapping[str, float], *, alpha: float = 0.05) -> pd.DataFrame:
        """Two one-sided tests: which models differ by less than ``margin``, which you must name."""
        return design.equivalence_frame(self.scores, self.comparisons(alpha), margin, alpha=alpha)

    # Words

    def verdicts(self, alpha: float = 0.05) -> Verdicts:
        """All conclusions in words: across tasks first, then task by task."""
        return self._cached(("verdicts", alpha), lambda: Verdicts(self._verdicts(alpha)))

    def _verdicts(self, alpha: float) -> list[VerdictView]:
        table, grouped = self.scores, self.grouped(alpha)
        baselines = tuple(map(str, self.config.get("baselines", ())))
        coarse = self.comparisons(alpha, "wilcoxon")
        n_failed = len(self.failures)
        out = across.across_verdicts(
            table, self.ranking(alpha), grouped, coarse, baselines=baselines, n_failed=n_failed
        )
        how = self.pairwise_method if self.seed_rule is None else "group-sequential t"
        for t, task in enumerate(table.tasks):
            pairs = grouped.get(task, [])
            out += verdicts.task_verdicts(table, t, pairs, method=how, baselines=baselines)
        return out + sizes.size_verdicts(self.results, self.config.get("budgets", {}))

    def verdict(self, task: str | None = None, *, alpha: float = 0.05) -> str:
        """Conclusion in words about ``task``, or across all tasks."""
        if task is not None and task not in self.scores.tasks:
            raise unknown_name("task", task, self.scores.tasks)
        return " ".join(str(v) for v in self.verdicts(alpha) if v.about == (task or across.ALL_TASKS))
