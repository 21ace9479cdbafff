"""`BenchmarkReport`: the documented surface over scores, their `Analysis` and its writers. It computes nothing."""

from __future__ import annotations

from collections.abc import Callable, ItemsView, Iterator, KeysView, Mapping, Sequence, ValuesView
from dataclasses import KW_ONLY, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from graphnetz._core.errors import DataError, UsageError, unknown_name
from graphnetz._core.paths import write_file
from graphnetz.analysis import across_tasks, power, scores
from graphnetz.analysis import ranking as ranks
from graphnetz.analysis.analysis import Analysis, analyse
from graphnetz.analysis.examples import Reader, example_reader
from graphnetz.analysis.sequential import TaskDecisions
from graphnetz.records import CellResult, ScoreTable, Section
from graphnetz.records.analysis import AnalysisOptions, Comparison, Facts, Histories, Ranking
from graphnetz.records.seed_rule import SeedRule
from graphnetz.records.task_info import TaskInfo
from graphnetz.records.views import Grid
from graphnetz.report import frames, jsonio, latex, plots
from graphnetz.report import from_predictions as frompredictions
from graphnetz.report import from_scores as fromscores
from graphnetz.report.notebook import Pages, shown
from graphnetz.report.page import Verdicts, render_fragment
from graphnetz.report.provenance import references
from graphnetz.report.reshape import shape
from graphnetz.report.sections import planned_and_read

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Pretty = Mapping[str, str] | None
T = TypeVar("T")


@dataclass(eq=False, repr=False)
class BenchmarkReport:
    """Outcome of a multi-seed benchmark: intervals, paired tests, rankings, verdicts, exports.

    Parameters
    ----------
    seeds
        Seeds, in the order of the histories.
    histories
        ``histories[task][model]`` holds one history per seed: key -> one value per epoch. The report
        is also a read-only mapping task -> {model: history of the first seed}.
    config
        What was run; ``config["baselines"]`` names the models that the others should beat.
    ci_method, bootstrap_n, bootstrap_seed, pairwise_method
        Defaults of `summary` and `pairwise`.
    tasks, models, results, absent, sections, provenance
        Declared facts per task, order of models, finished cells, reasons of cells that were never
        planned, Sections of other parts of the product, and where and how cells ran.
    examples_in
        Run folder whose ``examples/`` holds what cells predicted that do not hold it themselves.
    examples_of
        ``examples_of(task)`` looks the same up where cells come from several folders.

    Examples
    --------
    >>> from graphnetz.report import example_report
    >>> example_report()
    BenchmarkReport(2 tasks, 3 models, 5 seeds)
    """

    seeds: tuple[int, ...]
    histories: Histories
    config: dict[str, Any] = field(default_factory=dict)
    ci_method: str = "t"
    bootstrap_n: int = 10_000
    bootstrap_seed: int = 0
    pairwise_method: str = "t"
    _: KW_ONLY
    tasks: Mapping[str, TaskInfo] = field(default_factory=dict)
    models: Sequence[str] = ()
    results: Sequence[CellResult] = ()
    absent: Mapping[tuple[str, str], str] = field(default_factory=dict)
    sections: Sequence[Section] = ()
    provenance: Mapping[str, Any] = field(default_factory=dict)
    examples_in: str | Path | None = None
    examples_of: Reader | None = None
    _memo: dict[Any, Any] = field(default_factory=dict, repr=False, init=False)

    def __post_init__(self) -> None:
        self.seeds = tuple(int(seed) for seed in self.seeds)
        if not self.seeds:
            raise UsageError("A report needs at least one seed, got none. Pass seeds=(0, 1, ...).")

    # Making one

    @classmethod
    def from_results(
        cls,
        results: Sequence[CellResult],
        *,
        tasks: Mapping[str, TaskInfo],
        models: Sequence[str],
        seeds: Sequence[int],
        config: Mapping[str, Any] | None = None,
        absent: Mapping[tuple[str, str], str] | None = None,
        sections: Sequence[Section] = (),
        provenance: Mapping[str, Any] | None = None,
        **settings: Any,
    ) -> BenchmarkReport:
        """Build a report from finished cells, in whatever order they finished.

        Parameters
        ----------
        results
            Finished cells.
        tasks, models, seeds
            Declared facts per task, and the order of models and seeds.
        config, sections, provenance
            What was run, Sections of other parts of the product, and where and how cells ran.
        absent
            ``absent[task, model]`` says why a pair was never planned.
        **settings
            ``ci_method``, ``bootstrap_n``, ``bootstrap_seed`` and ``pairwise_method``.

        Returns
        -------
        BenchmarkReport
            The report.

        Examples
        --------
        >>> from graphnetz.report import TaskInfo, example_report
        >>> cells = [cell for cell in example_report().results if cell.task == "cora"]
        >>> info = {"cora": TaskInfo("test_acc")}
        >>> BenchmarkReport.from_results(cells, tasks=info, models=("GCN", "GAT", "MLP"), seeds=range(5))
        BenchmarkReport(1 tasks, 3 models, 5 seeds)
        """
        place = {name: i for i, name in enumerate(tasks)}
        turn = {name: i for i, name in enumerate(models)}
        cells = sorted(results, key=lambda r: (place.get(r.task, len(place)), turn.get(r.model, len(turn)), r.seed))
        return cls(
            tuple(seeds),
            jsonio.histories_of(cells, tasks, models, seeds),
            jsonio.jsonable(config or {}),
            tasks=scores.fill_from_results(tasks, cells),
            models=tuple(models),
            results=cells,
            absent=dict(absent or {}),
            sections=list(sections),
            provenance=dict(provenance or {}),
            **settings,
        )

    @classmethod
    def from_scores(
        cls,
        frame: Any,
        *,
        replication: str | Mapping[str, str] | None = None,
        columns: str | Mapping[str, str] | None = None,
        metric: str | None = None,
        task: str = "scores",
        **settings: Any,
    ) -> BenchmarkReport:
        """Build a report from scores trained elsewhere.

        Parameters
        ----------
        frame
            Columns task, model, seed, score, metric, greater_is_better; optionally replication, test_ratio, block,
            category, task_type, n_test and splits; or a wide table (``{"GCN": cross_val_score(...), "MLP": ...}``), or
            the runs of a tracker. Anything that makes a pandas frame.
        replication
            What a seed varies: ``"init"``, ``"resplit"``, ``"fold"`` or ``"regenerate"``, for all tasks or by task.
            Scores do not say it themselves: left out here and in the column, claims reach these seeds only.
        columns
            Which column is what, where its title does not say it: ``{"task": "dataset", "score": "test_acc"}``.
        metric, task
            What the scores are, such as ``"acc"``, and of which task, where no column says it.
        **settings
            As in `from_results`.

        Returns
        -------
        BenchmarkReport
            The report.

        Examples
        --------
        >>> columns = {"task": ["cora"] * 4, "model": list("AABB"), "seed": [0, 1, 0, 1]}
        >>> BenchmarkReport.from_scores(columns | {"score": [0.8, 0.9, 0.7, 0.7], "metric": ["test_acc"] * 4})
        BenchmarkReport(1 tasks, 2 models, 2 seeds)
        >>> folds = {"GCN": [0.81, 0.79, 0.83], "MLP": [0.55, 0.58, 0.52]}
        >>> BenchmarkReport.from_scores(folds, metric="acc", task="cora", replication="fold")
        BenchmarkReport(1 tasks, 2 models, 3 seeds)
        """
        shaped = shape(frame, columns=columns, metric=metric, name=task)
        if shaped.kind != "scores":
            words = "means of runs" if shaped.kind == "summary" else "predictions: use from_predictions"
            raise DataError(f"from_scores takes one score per run; this table holds {words}.")
        return cls.from_results(**fromscores.parse_scores(shaped.frame, replication), **settings)

    @classmethod
    def from_predictions(
        cls, frame: Any, *, replication: str | Mapping[str, str] | None = None, **settings: Any
    ) -> BenchmarkReport:
        """Build a report from predictions made elsewhere, one row per task, model, seed and test example.

        Parameters
        ----------
        frame
            Columns task, model, seed, example, target, and ``prediction`` (a class or a value), ``score`` (of the
            positive class) or ``score_0``, ``score_1``, ... (one per class); optionally metric (``acc``, ``auc`` or
            ``mae`` by what was predicted), replication, and split (which test split a seed used). Anything that makes
            a pandas frame.
        replication
            What a seed varies, for all tasks or by task, where no column says so.
        **settings
            As in `from_results`.

        Returns
        -------
        BenchmarkReport
            The report; what single examples contribute is known to its analysis.

        Examples
        --------
        >>> rows = {"task": "cora", "model": list("AABB"), "seed": 0, "example": [7, 9, 7, 9]}
        >>> report = BenchmarkReport.from_predictions(rows | {"target": [0, 1, 0, 1], "prediction": [0, 1, 0, 0]})
        >>> report.analysis.facts.examples("cora").values["B"].tolist()
        [[1.0, 0.0]]
        """
        return cls.from_results(**frompredictions.parse_predictions(frame, replication), **settings)

    @classmethod
    def from_json(cls, source: str | Path) -> BenchmarkReport:
        """Read what `to_json` wrote.

        Parameters
        ----------
        source
            A file, or its text.

        Returns
        -------
        BenchmarkReport
            The report.

        Examples
        --------
        >>> from graphnetz.report import example_report
        >>> BenchmarkReport.from_json(example_report().to_json())
        BenchmarkReport(2 tasks, 3 models, 5 seeds)
        """
        beside = None if str(source).lstrip().startswith("{") else Path(source).parent
        found = cls(**jsonio.load(source), examples_in=beside)
        found.sections = planned_and_read(found)
        return found

    # Mapping task -> {model: history of the first seed}

    def _first(self) -> dict[str, dict[str, Mapping[str, Sequence[float]]]]:
        return {
            task: {model: runs[0] if runs else {} for model, runs in models.items()}
            for task, models in self.histories.items()
        }

    def __getitem__(self, task: str) -> dict[str, Mapping[str, Sequence[float]]]:
        if task not in self.histories:
            raise unknown_name("task", task, self.histories)
        return self._first()[task]

    def __iter__(self) -> Iterator[str]:
        return iter(self.histories)

    def __len__(self) -> int:
        return len(self.histories)

    def __contains__(self, task: object) -> bool:
        return task in self.histories

    def items(self) -> ItemsView[str, dict[str, Mapping[str, Sequence[float]]]]:
        """Pairs of task and {model: history of the first seed}.

        Returns
        -------
        ItemsView
            As of a dictionary.

        Examples
        --------
        >>> from graphnetz.report import example_report
        >>> [(task, list(models)) for task, models in example_report().items()][0]
        ('cora', ['GCN', 'GAT', 'MLP'])
        """
        return self._first().items()

    def keys(self) -> KeysView[str]:
        """Tasks.

        Returns
        -------
        KeysView
            As of a dictionary.

        Examples
        --------
        >>> from graphnetz.report import example_report
        >>> list(example_report().keys())
        ['cora', 'zinc']
        """
        return self._first().keys()

    def values(self) -> ValuesView[dict[str, Mapping[str, Sequence[float]]]]:
        """One {model: history of the first seed} per task.

        Returns
        -------
        ValuesView
            As of a dictionary.

        Examples
        --------
        >>> from graphnetz.report import example_report
        >>> [history["GCN"] for history in example_report().values()][0]
        {'test_acc': [0.8]}
        """
        return self._first().values()

    # Scores

    def __setattr__(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)
        if name != "_memo":
            self.__dict__.get("_memo", {}).clear()  # what was computed may depend on it

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "config": jsonio.jsonable(self.config), "_memo": {}}

    def _cached(self, key: Any, compute: Callable[[], T]) -> T:
        if key not in self._memo:
            self._memo[key] = compute()
        found: T = self._memo[key]
        return found

    @property
    def task_info(self) -> dict[str, TaskInfo]:
        """Declared facts per task; what is not declared is read from histories and metrics.

        Returns
        -------
        dict of TaskInfo
            By task.

        Examples
        --------
        >>> from graphnetz.report import example_report
        >>> example_report().task_info["zinc"].label
        'Test MAE'
        """
        return self._cached("info", lambda: scores.infer_tasks(self.histories, self.tasks))

    @property
    def scores(self) -> ScoreTable:
        """Final metrics as one array X[task, model, seed].

        Returns
        -------
        ScoreTable
            With directions, metrics and reasons of gaps.

        Examples
        --------
        >>> from graphnetz.report import example_report
        >>> example_report().scores.values.shape
        (2, 3, 5)
        """
        return self._cached("scores", self._scores)

    def _scores(self) -> ScoreTable:
        given = [*self.models, *dict.fromkeys(r.model for r in self.results)]
        return scores.build_scores(
            self.final_metrics(),
            tasks=self.task_info,
            models=scores.model_names(self.histories, given),
            seeds=self.seeds,
            reasons=scores.absence_reasons(self.results, self.absent),
        )

    @property
    def failures(self) -> tuple[CellResult, ...]:
        """Cells that ended without a value.

        Returns
        -------
        tuple of CellResult
            Each with its status and error.

        Examples
        --------
        >>> from graphnetz.report import example_report
        >>> example_report().failures
        ()
        """
        return tuple(result for result in self.results if not result.ok)

    def final_metrics(self, key: str | None = None) -> dict[str, dict[str, list[float]]]:
        """Final value per (task, model, seed).

        Parameters
        ----------
        key
            History key for every task; the headline metric of each by default.

        Returns
        -------
        dict
            ``values[task][model]``: one value per seed, NaN where there is none.

        Examples
        --------
        >>> from graphnetz.report import example_report
        >>> example_report().final_metrics()["cora"]["GCN"][:2]
        [0.8, 0.82]
        """
        keys = {task: key or info.metric for task, info in self.task_info.items()}
        return scores.final_values(self.histories, self.results, self.seeds, keys)

    def metric_name(self) -> str:
        """History key of the headline metric.

        Returns
        -------
        str
            ``"score"`` when tasks differ.

        Examples
        --------
        >>> from graphnetz.report import example_report
        >>> example_report().metric_name()
        'score'
        """
        found = {info.metric for info in self.task_info.values()}
        return found.pop() if len(found) == 1 else "score"

    # The analysis, and the tables that show it

    @property
    def analysis(self) -> Analysis:
        """Everything that may be said about the scores, by the report's own settings.

        Returns
        -------
        Analysis
            Computed once; what is written or drawn reads it.

        Examples
        --------
        >>> from graphnetz.report import example_report
        >>> example_report().analysis.standings["cora"].tied
        ('GAT',)
        """
        return self._cached("analysis", self._analyse)

    def _analyse(self) -> Analysis:
        options = AnalysisOptions(
            interval=self.ci_method,
            bootstrap_n=self.bootstrap_n,
            bootstrap_seed=self.bootstrap_seed,
            method=self.pairwise_method,
        )
        facts = Facts(
            self.task_info,
            self.results,
            self.histories,
            baselines=tuple(map(str, self.config.get("baselines", ()))),
            budgets=self.config.get("budgets", {}),
            rule=self.seed_rule,
            examples=example_reader(self.results, self.task_info, self.examples_in or self.examples_of),
            references=references(self.provenance),
            pending=int(self.config.get("pending", 0)),
        )
        return analyse(self.scores, options, facts=facts)

    def _at(self, **options: Any) -> Analysis:
        """The analysis with other options; None stands for the report's own."""
        own = self.analysis
        wanted = replace(own.options, **{name: value for name, value in options.items() if value is not None})
        if wanted == own.options:
            return own
        return self._cached(wanted, lambda: analyse(own.scores, wanted, facts=own.facts))

    def comparisons(
        self, alpha: float = 0.05, method: str | None = None, family: str = "task"
    ) -> tuple[Comparison, ...]:
        """Every comparison as a record; `pairwise` is its table.

        Parameters
        ----------
        alpha, method, family
            As in `pairwise`.

        Returns
        -------
        tuple of Comparison
            ``different``, ``better`` and ``p_decided`` belong to the test that decides, ``decided_by``;
            ``sim_low`` and ``sim_high`` hold together with those of all pairs, and ``claims`` is the ladder of reaches.

        Examples
        --------
        >>> from graphnetz.report import example_report
        >>> first = example_report().comparisons()[0]
        >>> first.a, first.b, first.different, first.decided_by
        ('GAT', 'GCN', False, 't')
        """
        return self._at(alpha=alpha, method=method, family=family).comparisons

    @property
    def seed_rule(self) -> SeedRule | None:
        """The rule of ``seeds="auto"``.

        Returns
        -------
        SeedRule or None
            None for fixed seeds.

        Examples
        --------
        >>> from graphnetz.report import example_report
        >>> example_report().seed_rule is None
        True
        """
        return SeedRule.from_config(self.config)

    def decisions(self) -> dict[str, TaskDecisions]:
        """What ``seeds="auto"`` decided.

        Returns
        -------
        dict of TaskDecisions
            By task; empty for fixed seeds.

        Examples
        --------
        >>> from graphnetz.report import example_report
        >>> example_report().decisions()
        {}
        """
        return self.analysis.decisions

    def grouped(self, alpha: float = 0.05) -> dict[str, tuple[Comparison, ...]]:
        """Comparisons of the default test, task by task.

        Parameters
        ----------
        alpha
            Level after Holm.

        Returns
        -------
        dict of tuple of Comparison
            By task.

        Examples
        --------
        >>> from graphnetz.report import example_report
        >>> {task: len(pairs) for task, pairs in example_report().grouped().items()}
        {'cora': 3, 'zinc': 3}
        """
        return self._at(alpha=alpha).grouped

    def summary(self, ci: float = 0.95, method: str | None = None) -> pd.DataFrame:
        """Mean, spread and interval per (task, model).

        Parameters
        ----------
        ci
            Coverage of the intervals.
        method
            ``"t"``, ``"bootstrap"`` or ``"bca"``; the report's own by default.

        Returns
        -------
        DataFrame
            Index (task, model), columns n_seeds, mean, std, sem, ci_low, ci_high, ci_half, then the corrected
            interval, the error of the test set, status and parameters.

        Examples
        --------
        >>> from graphnetz.report import example_report
        >>> example_report().summary()[["mean", "ci_half"]].round(3).head(2).values.tolist()
        [[0.81, 0.012], [0.806, 0.007]]
        """
        return frames.summary_frame(self._at(level=ci, interval=method).cells)

    def pairwise(self, alpha: float = 0.05, method: str | None = None, family: str = "task") -> pd.DataFrame:
        """Paired tests between models per task with Holm adjustment.

        Parameters
        ----------
        alpha
            Level after Holm.
        method
            Name of a paired test; the report's own by default.
        family
            ``"task"`` (the paper's rule) or ``"report"`` (all comparisons together).

        Returns
        -------
        DataFrame
            Columns task, model_a, model_b, mean_diff, diff_low, diff_high, cohens_dz, p_raw, p_holm, significant,
            n_seeds of the chosen test; then decided_by, p_decided, decided_low, decided_high, different and better
            of the test that decides, reach (how far the difference is shown: split, dataset, source or unknown),
            sim_low and sim_high (the simultaneous interval, which figures and sentences show), and what explains them.

        Examples
        --------
        >>> from graphnetz.report import example_report
        >>> example_report().pairwise()[["task", "model_a", "model_b", "significant"]].head(2).values.tolist()
        [['cora', 'GAT', 'GCN', False], ['cora', 'GAT', 'MLP', True]]
        """
        found = self._at(alpha=alpha, method=method, family=family)
        return frames.pairwise_frame(found.comparisons, method=found.options.method, family=family)

    def pairwise_both(self, alpha: float = 0.05, family: str = "task") -> pd.DataFrame:
        """Paired t and Wilcoxon side by side with their agreement.

        Parameters
        ----------
        alpha, family
            As in `pairwise`.

        Returns
        -------
        DataFrame
            One row per comparison.

        Examples
        --------
        >>> from graphnetz.report import example_report
        >>> example_report().pairwise_both()["wilcoxon_reachable"].tolist()[:2]
        [False, False]
        """
        return frames.both_frame(self._at(alpha=alpha, family=family).side_by_side)

    def example_tests(self) -> pd.DataFrame:
        """Tests of two trained models on the test examples of one seed, from kept or given predictions.

        They are about these trained models and new examples, not about training them again.

        Returns
        -------
        DataFrame
            One row per task, pair and seed: exact McNemar for right and wrong, sign flips for other losses, placements
            as in DeLong's test for AUC; p_holm is over the pairs of a task and seed. Empty without predictions.

        Examples
        --------
        >>> rows = {"task": "cora", "model": ["A"] * 8 + ["B"] * 8, "seed": 0, "example": [*range(8), *range(8)]}
        >>> frame = rows | {"target": [1] * 16, "prediction": [1] * 8 + [0] * 8}
        >>> BenchmarkReport.from_predictions(frame).example_tests()[["method", "n_examples", "p_raw"]].values.tolist()
        [['mcnemar', 8, 0.0078125]]
        """
        return frames.examples_frame(self.analysis.example_tests)

    def grid(self, ci: float = 0.95, method: str | None = None, *, tie_rule: str = "holm") -> Grid:
        """The summary as tasks by models with best and tied cells marked, as writers show it.

        Parameters
        ----------
        ci, method
            As in `summary`.
        tie_rule
            ``"holm"``: tied are models that the deciding test cannot tell from the best; ``"overlap"``: those whose
            interval overlaps the best one's.

        Returns
        -------
        Grid
            One row per task, one cell per model.

        Examples
        --------
        >>> from graphnetz.report import example_report
        >>> [cell.mark for cell in example_report().grid().rows[0].cells]
        ['best', 'tied', '']
        """
        return self._at(level=ci, interval=method, tie_rule=tie_rule).grid

    def costs(self) -> pd.DataFrame:
        """Seconds, memory, parameters, epochs and energy per (task, model).

        Energy is what the processor counted, shared out by seconds, or an estimate; ``energy_basis`` says which.

        Returns
        -------
        DataFrame
            One row per (task, model).

        Examples
        --------
        >>> from graphnetz.report import example_report
        >>> example_report().costs()["cells"].tolist()
        [5, 5, 5, 5, 5, 5]
        """
        return frames.costs_frame(self.results, self.provenance.get("energy_joules"))

    # Across tasks

    def ranking(self, alpha: float = 0.05) -> Ranking:
        """Ranks of the models present on every task, with Friedman and Nemenyi.

        Parameters
        ----------
        alpha
            Level of both tests.

        Returns
        -------
        Ranking
            Ranks, tests and what was left out.

        Examples
        --------
        >>> from graphnetz.report import example_report
        >>> found = example_report().ranking()
        >>> [found.models[i] for i in found.order]
        ['GCN', 'GAT', 'MLP']
        """
        return self._at(alpha=alpha).ranking

    def friedman(self, alpha: float = 0.05) -> dict[str, Any]:
        """Friedman omnibus test on per-task ranks of seed means.

        Parameters
        ----------
        alpha
            Level of the test.

        Returns
        -------
        dict
            Keys chi2, p_value (the p that decides, so it agrees with rejected), rejected, k, N, then the other forms
            of the test (p_chi2 belongs to chi2) and the critical difference.

        Examples
        --------
        >>> from graphnetz.report import example_report
        >>> found = example_report().friedman()
        >>> found["k"], found["N"], found["rejected"]
        (3, 2, False)
        """
        return dict(self.ranking(alpha).forms)

    def rank_table(self) -> pd.DataFrame:
        """Rank of every fully present model on every task; 1 is best.

        Returns
        -------
        DataFrame
            Tasks by models.

        Examples
        --------
        >>> from graphnetz.report import example_report
        >>> example_report().rank_table().loc["zinc"].tolist()
        [1.0, 2.0, 3.0]
        """
        return frames.rank_frame(self.analysis.ranking)

    def mean_ranks(self) -> pd.Series:
        """Mean rank per model.

        Returns
        -------
        Series
            By model, best first.

        Examples
        --------
        >>> from graphnetz.report import example_report
        >>> example_report().mean_ranks().to_dict()
        {'GCN': 1.0, 'GAT': 2.0, 'MLP': 3.0}
        """
        return frames.mean_rank_series(self.analysis.ranking)

    def rank_stability(self, n_resamples: int = 2000, seed: int = 0) -> pd.DataFrame:
        """How mean ranks move when tasks are resampled.

        Parameters
        ----------
        n_resamples, seed
            How many lists of tasks are drawn, and where the drawing starts.

        Returns
        -------
        DataFrame
            Per model the mean rank, its interval, and the share of being best.

        Examples
        --------
        >>> from graphnetz.report import example_report
        >>> example_report().rank_stability(n_resamples=100)["p_best"].tolist()
        [1.0, 0.0, 0.0]
        """
        found = self.analysis.ranking
        if not found.models:
            raise UsageError("No model is present on every task, so there is no ranking to resample.")
        return ranks.stability_frame(found, n_resamples=n_resamples, seed=seed)

    # Design

    def power(self, effect: float | Mapping[str, float], *, alpha: float = 0.05, target: float = 0.8) -> pd.DataFrame:
        """Power of every comparison for an effect you name, never the observed one.

        Parameters
        ----------
        effect
            The difference that should be detected, for all tasks or per task.
        alpha, target
            Level, and the power that ``seeds`` should reach.

        Returns
        -------
        DataFrame
            One row per comparison, with the range that the observed spread allows.

        Examples
        --------
        >>> from graphnetz.report import example_report
        >>> example_report().power({"cora": 0.02, "zinc": 0.1})["power"].round(2).tolist()[:2]
        [0.71, 0.73]
        """
        return power.power_frame(self.scores, self.comparisons(alpha), effect, alpha=alpha, target=target)

    def seeds_needed(
        self, effect: float | Mapping[str, float], *, alpha: float = 0.05, power: float = 0.8
    ) -> pd.DataFrame:
        """Seeds that would detect ``effect``, with the range that the observed spread allows.

        Parameters
        ----------
        effect, alpha
            As in `power`.
        power
            Probability of detecting it.

        Returns
        -------
        DataFrame
            One row per comparison: spread, seeds, and seeds at both ends of the spread's interval.

        Examples
        --------
        >>> from graphnetz.report import example_report
        >>> example_report().seeds_needed(0.01)["seeds"].tolist()[:2]
        [17.0, 16.0]
        """
        frame = self.power(effect, alpha=alpha, target=power)
        return frame[["task", "model_a", "model_b", "sd_diff", "seeds", "seeds_low", "seeds_high"]]

    def equivalence(self, margin: float | Mapping[str, float], *, alpha: float = 0.05) -> pd.DataFrame:
        """Two one-sided tests: which models differ by less than a margin, which you must name.

        Parameters
        ----------
        margin
            Largest difference that does not matter, for all tasks or per task.
        alpha
            Level after Holm, in a family of their own.

        Returns
        -------
        DataFrame
            One row per comparison.

        Examples
        --------
        >>> from graphnetz.report import example_report
        >>> example_report().equivalence(0.05)["equivalent"].tolist()[:2]
        [True, False]
        """
        return power.equivalence_frame(self.scores, self.comparisons(alpha), margin, alpha=alpha)

    # Words

    def verdicts(self, alpha: float = 0.05) -> Verdicts:
        """All conclusions in words: across tasks first, then task by task.

        Parameters
        ----------
        alpha
            Level of the tests.

        Returns
        -------
        Verdicts
            A tuple of `Verdict`, each with level, about, text and basis.

        Examples
        --------
        >>> from graphnetz.report import example_report
        >>> [verdict.level for verdict in example_report().verdicts() if verdict.about == "zinc"]
        ['different']
        """
        return Verdicts(self._at(alpha=alpha).verdicts)

    def verdict(self, task: str | None = None, *, alpha: float = 0.05) -> str:
        """Conclusion in words about one task, or across all tasks.

        Parameters
        ----------
        task
            Name of a task; all tasks by default.
        alpha
            Level of the tests.

        Returns
        -------
        str
            The sentences.

        Examples
        --------
        >>> from graphnetz.report import example_report
        >>> print(example_report().verdict("zinc")[:49])
        GCN is better than every other model on this spli
        """
        if task is not None and task not in self.scores.tasks:
            raise unknown_name("task", task, self.scores.tasks)
        return " ".join(str(v) for v in self.verdicts(alpha) if v.about == (task or across_tasks.ALL_TASKS))

    # Files

    def to_json(self, path: str | Path | None = None, *, histories: bool = True) -> str:
        """Return the report as JSON.

        Parameters
        ----------
        path
            File to write it to as well.
        histories
            Whether curves are part of it.

        Returns
        -------
        str
            The text that `from_json` reads.

        Examples
        --------
        >>> from graphnetz.report import example_report
        >>> example_report().to_json(histories=False).splitlines()[1]
        ' "schema": "graphnetz.report",'
        """
        text = jsonio.dump(self, histories=histories)
        if path is not None:
            write_file(path, text)
        return text

    def frame(self, what: str = "cells", *, library: str = "pandas") -> Any:
        """Return a flat data frame.

        Parameters
        ----------
        what
            ``"cells"`` (which `from_scores` reads back), ``"summary"``, ``"pairwise"``, ``"costs"`` or ``"shifts"``
            (losses on examples of another kind than those of training).
        library
            ``"pandas"`` or ``"polars"``.

        Returns
        -------
        DataFrame
            Of that library.

        Examples
        --------
        >>> from graphnetz.report import example_report
        >>> BenchmarkReport.from_scores(example_report().frame("cells"))
        BenchmarkReport(2 tasks, 3 models, 5 seeds)
        """
        makers: dict[str, Callable[[], Any]] = {
            "cells": lambda: frames.cells_frame(self),
            "summary": lambda: self.summary().reset_index(),
            "pairwise": self.pairwise,
            "costs": self.costs,
            "shifts": lambda: frames.shifts_frame(self.analysis.shifts),
        }
        if what not in makers:
            raise unknown_name("frame", what, makers)
        if library not in frames.LIBRARIES:
            raise unknown_name("library", library, frames.LIBRARIES)
        return frames.LIBRARIES[library](makers[what]())

    def to_polars(self, what: str = "cells") -> Any:
        """Return `frame` as a polars DataFrame.

        Parameters
        ----------
        what
            As in `frame`.

        Returns
        -------
        polars.DataFrame
            Needs the extra ``polars``.

        Examples
        --------
        >>> from graphnetz.report import example_report
        >>> example_report().to_polars("costs").height
        6
        """
        return self.frame(what, library="polars")

    def write(self, folder: str | Path, *, figures: bool = True, size: str = "page") -> Path:
        """Write tables, the page and figures.

        Parameters
        ----------
        folder
            Where to; made when it is not there.
        figures
            Whether PDF and PNG files are drawn, which takes most of the time; the page draws its own charts.
        size
            Paper of the figures, as in `figures`.

        Returns
        -------
        Path
            The folder.

        Examples
        --------
        >>> from tempfile import mkdtemp
        >>> from graphnetz.report import example_report
        >>> folder = example_report().write(mkdtemp(), figures=False)
        >>> sorted(path.name for path in folder.iterdir())[-4:]
        ['results.json', 'results.tex', 'summary.csv', 'summary.md']
        """
        from graphnetz.report.write import write_report

        return write_report(self, folder, figures=figures, size=size)

    def to_latex(
        self,
        path: str | Path,
        *,
        ci: float = 0.95,
        bold_best: bool = True,
        pretty_tasks: Pretty = None,
        caption: str | None = None,
        label: str | None = None,
        method: str | None = None,
        tie_rule: str = "holm",
        percent: bool = False,
        spread: str = "interval",
        second: bool = False,
    ) -> Path:
        """Write the booktabs table of means and intervals: best in khaki, tied in almond.

        Parameters
        ----------
        path
            File to write.
        ci, method, tie_rule
            As in `grid`; ``tie_rule="overlap"`` reproduces the paper's shading by overlapping intervals.
        bold_best
            Whether best and tied cells are marked.
        pretty_tasks, caption, label
            Other names of tasks, and the words around the table.
        percent
            Whether metrics between 0 and 1 are shown in percent.
        spread
            What stands beside a mean: ``"interval"``, the half-width, or ``"sd"``, the standard deviation over seeds.
        second
            Whether the best of the other means is underlined.

        Returns
        -------
        Path
            The file.

        Examples
        --------
        >>> from tempfile import mkdtemp
        >>> from graphnetz.report import example_report
        >>> path = example_report().to_latex(Path(mkdtemp()) / "results.tex")
        >>> path.read_text().count("khaki}$")
        2
        """
        grid = self.grid(ci, method, tie_rule=tie_rule)
        options = {"percent": percent, "spread": spread, "second": second}
        words = {"pretty": pretty_tasks, "caption": caption, "label": label}
        text = latex.summary_latex(grid, bold_best=bold_best, **words, **options)  # type: ignore[arg-type]
        return write_file(path, text)

    def pairwise_to_latex(
        self,
        path: str | Path,
        *,
        alpha: float = 0.05,
        caption: str | None = None,
        label: str | None = None,
        method: str | None = None,
        family: str = "task",
        pretty_tasks: Pretty = None,
    ) -> Path:
        """Write the booktabs table of Holm-adjusted comparisons, by the test that decides.

        Parameters
        ----------
        path
            File to write.
        alpha, method, family
            As in `pairwise`.
        pretty_tasks, caption, label
            Other names of tasks, and the words around the table.

        Returns
        -------
        Path
            The file.

        Examples
        --------
        >>> from tempfile import mkdtemp
        >>> from graphnetz.report import example_report
        >>> path = example_report().pairwise_to_latex(Path(mkdtemp()) / "pairwise.tex")
        >>> "GCN vs" in path.read_text()
        True
        """
        pairs = self.comparisons(alpha, method, family)
        text = latex.pairwise_latex(
            pairs, alpha=alpha, family=family, pretty=pretty_tasks, caption=caption, label=label
        )
        return write_file(path, text)

    # Figures

    def figures(self, name: str, *, size: str = "page") -> Pages:
        """One of the figures that `write` writes, cut into pages so that nothing is left out.

        Parameters
        ----------
        name
            Such as ``"forest"``, ``"rank_sets"`` or ``"pareto"``: a key of ``graphnetz.report.figures.FIGURES``.
        size
            ``"column"`` (3.35 inches), ``"page"`` (6.7 inches) or ``"slide"`` (16:9).

        Returns
        -------
        tuple of Figure
            The pages, none where there is nothing to show; a notebook shows them.

        Examples
        --------
        >>> from graphnetz.report import example_report
        >>> [float(page.get_size_inches()[0]) for page in example_report().figures("dots", size="column")]
        [3.35]
        """
        from graphnetz.report.figures import draw_pages  # matplotlib, which a run does not wait for

        return Pages(draw_pages(self.analysis, name, size=size))

    @shown
    def plot(
        self,
        ax: Axes | None = None,
        *,
        ci: float = 0.95,
        ylabel: str | None = None,
        title: str | None = None,
        annotate: bool = True,
        pretty_tasks: Pretty = None,
    ) -> tuple[Figure, Any]:
        """Grouped bars of mean and interval; metrics that differ get panels of their own.

        Parameters
        ----------
        ax
            Axes to draw on; new ones by default.
        ci
            Coverage of the intervals.
        ylabel, title, annotate, pretty_tasks
            Words, whether bars carry their values, and other names of tasks.

        Returns
        -------
        tuple of Figure and Axes
            An array of axes when there is more than one panel.

        Examples
        --------
        >>> from graphnetz.report import example_report
        >>> figure, axes = example_report().plot()
        >>> len(axes)
        2
        """
        return plots.draw_bars(self.grid(ci), ax, ylabel=ylabel, title=title, annotate=annotate, pretty=pretty_tasks)

    @shown
    def plot_forest(
        self,
        ax: Axes | None = None,
        *,
        ci: float = 0.95,
        pretty_tasks: Pretty = None,
        xlabel: str | None = None,
        height_per_task: float = 0.42,
        sort_within: bool = False,
        band: bool = True,
    ) -> tuple[Figure, Any]:
        """Forest plot, one row per task with an axis of its own, models jittered within the row.

        Parameters
        ----------
        ax, ci, pretty_tasks
            As in `plot`.
        xlabel, height_per_task, sort_within, band
            Words, inches per row, whether models are sorted within a row, and whether rows are shaded in turn.

        Returns
        -------
        tuple of Figure and Axes
            An array of axes when there is more than one panel.

        Examples
        --------
        >>> from graphnetz.report import example_report
        >>> figure, axes = example_report().plot_forest()
        >>> axes[0].get_xlabel()
        'Test accuracy ↑'
        """
        return plots.draw_forest(
            self.grid(ci),
            ax,
            xlabel=xlabel,
            height_per_task=height_per_task,
            sort_within=sort_within,
            band=band,
            pretty=pretty_tasks,
        )

    @shown
    def plot_pairwise(
        self,
        ax: Axes | None = None,
        *,
        ci: float = 0.95,
        alpha: float = 0.05,
        pretty_tasks: Pretty = None,
        layout: str = "matrix",
        max_cols: int = 3,
        method: str | None = None,
    ) -> tuple[Figure, Any]:
        """Comparisons by the test that decides.

        Parameters
        ----------
        ax, pretty_tasks
            As in `plot`.
        ci
            Coverage of the intervals of a list.
        alpha, method
            As in `pairwise`.
        layout, max_cols
            ``"matrix"``, one per task in at most so many columns, or ``"list"`` with intervals.

        Returns
        -------
        tuple of Figure and Axes
            An array of axes when there is more than one panel.

        Examples
        --------
        >>> from graphnetz.report import example_report
        >>> figure, axes = example_report().plot_pairwise(layout="list")
        >>> [len(panel.get_yticks()) for panel in axes]
        [3, 3]
        """
        if layout not in ("matrix", "list"):
            raise unknown_name("layout", layout, ("matrix", "list"))
        pairs: Sequence[Comparison] = self.comparisons(alpha, method)
        if layout == "matrix":
            models = self.scores.models
            return plots.draw_pairwise_matrix(pairs, models, ax, alpha=alpha, max_cols=max_cols, pretty=pretty_tasks)
        bounds = self.comparisons(round(1 - ci, 12), method)
        pairs = [replace(p, sim_low=b.sim_low, sim_high=b.sim_high) for p, b in zip(pairs, bounds, strict=True)]
        return plots.draw_pairwise_list(pairs, ax, alpha=alpha, pretty=pretty_tasks)

    @shown
    def plot_critical_difference(self, *, alpha: float = 0.05, title: str | None = None) -> tuple[Figure, Axes]:
        """Critical-difference diagram of the models present on every task (Demšar 2006).

        Parameters
        ----------
        alpha
            Level of both tests.
        title
            Words above it.

        Returns
        -------
        tuple of Figure and Axes
            The drawing.

        Examples
        --------
        >>> from graphnetz.report import example_report
        >>> figure, axes = example_report().plot_critical_difference()
        >>> any("does not reject" in text.get_text() for text in axes.texts)
        True
        """
        return plots.draw_critical_difference(self.ranking(alpha).view(), title=title)

    @shown
    def plot_learning_curves(
        self,
        *,
        ci: float = 0.95,
        metric_key: str | None = None,
        pretty_tasks: Pretty = None,
        ylabel: str | None = None,
        legend_loc: str = "lower right",
    ) -> tuple[Figure, Any]:
        """Mean and t interval over epochs, one panel per task.

        Parameters
        ----------
        ci
            Coverage of the bands.
        metric_key
            History key; the headline metric of each task by default.
        pretty_tasks, ylabel, legend_loc
            Other names of tasks, words, and where the legend of a single panel stands.

        Returns
        -------
        tuple of Figure and array of Axes
            The drawing.

        Examples
        --------
        >>> from graphnetz.report import example_report
        >>> figure, axes = example_report().plot_learning_curves()
        >>> axes[0].texts[0].get_text()
        'No cell kept a history.'
        """
        panels = self._at(level=ci).curves_of(self.histories, metric_key)
        models = self.scores.models
        return plots.draw_learning_curves(panels, models, ylabel=ylabel, legend_loc=legend_loc, pretty=pretty_tasks)

    @shown
    def plot_dashboard(
        self, *, ci: float = 0.95, title: str | None = None, max_cols: int = 5, pretty_tasks: Pretty = None
    ) -> tuple[Figure, Any]:
        """One panel per task with its models as bars (Figure 2 of the GraphNetz paper).

        Parameters
        ----------
        ci
            Coverage of the intervals.
        title, max_cols, pretty_tasks
            Words above it, panels per row, and other names of tasks.

        Returns
        -------
        tuple of Figure and array of Axes
            The drawing.

        Examples
        --------
        >>> from graphnetz.report import example_report
        >>> figure, axes = example_report().plot_dashboard()
        >>> len(axes)
        2
        """
        return plots.draw_dashboard(self.grid(ci), max_cols=max_cols, title=title, pretty=pretty_tasks)

    def __repr__(self) -> str:
        table = self.scores
        return f"BenchmarkReport({len(table.tasks)} tasks, {len(table.models)} models, {len(table.seeds)} seeds)"

    def _repr_html_(self) -> str:
        return render_fragment(self.grid(), self.verdicts())
