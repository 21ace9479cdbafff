"""What a report is made of: histories, cells and declared facts, as one array of scores."""

from __future__ import annotations

from collections.abc import Callable, ItemsView, Iterator, KeysView, Mapping, Sequence, ValuesView
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, TypeVar

from graphnetz._core.errors import UsageError, unknown_name
from graphnetz.analysis import scores
from graphnetz.records import CellResult, ScoreTable, Section
from graphnetz.records.task_info import TaskInfo, infer_tasks
from graphnetz.report.jsonio import jsonable

T = TypeVar("T")


@dataclass(eq=False)
class ReportData:
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
    """

    seeds: tuple[int, ...]
    histories: Mapping[str, Mapping[str, Sequence[Mapping[str, Sequence[float]]]]]
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
    _memo: dict[Any, Any] = field(default_factory=dict, repr=False, init=False)

    def __post_init__(self) -> None:
        self.seeds = tuple(int(seed) for seed in self.seeds)
        if not self.seeds:
            raise UsageError("A report needs at least one seed, got none. Pass seeds=(0, 1, ...).")

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
        """Pairs of task and {model: history of the first seed}."""
        return self._first().items()

    def keys(self) -> KeysView[str]:
        """Tasks."""
        return self._first().keys()

    def values(self) -> ValuesView[dict[str, Mapping[str, Sequence[float]]]]:
        """One {model: history of the first seed} per task."""
        return self._first().values()

    # Scores

    def __setattr__(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)
        if name != "_memo":
            self.__dict__.get("_memo", {}).clear()  # what was computed may depend on it

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "config": jsonable(self.config), "_memo": {}}

    def _cached(self, key: Any, compute: Callable[[], T]) -> T:
        if key not in self._memo:
            self._memo[key] = compute()
        found: T = self._memo[key]
        return found

    @property
    def task_info(self) -> dict[str, TaskInfo]:
        """Declared facts per task; what is not declared is read from histories and metrics."""
        return self._cached("info", lambda: infer_tasks(self.histories, self.tasks))

    @property
    def scores(self) -> ScoreTable:
        """Final metrics as one array X[task, model, seed]."""
        return self._cached("scores", self._scores)

    def _scores(self) -> ScoreTable:
        info = self.task_info
        given = [*self.models, *dict.fromkeys(r.model for r in self.results)]
        return scores.build_scores(
            self.final_metrics(),
            tasks=info,
            models=scores.model_names(self.histories, given),
            seeds=self.seeds,
            reasons=scores.absence_reasons(self.results, self.absent),
        )

    @property
    def failures(self) -> tuple[CellResult, ...]:
        """Cells that ended without a value."""
        return tuple(result for result in self.results if not result.ok)

    def final_metrics(self, key: str | None = None) -> dict[str, dict[str, list[float]]]:
        """Final value per (task, model, seed): the headline metric, or ``key`` for every task."""
        keys = {task: key or info.metric for task, info in self.task_info.items()}
        return scores.final_values(self.histories, self.results, self.seeds, keys)

    def metric_name(self) -> str:
        """History key of the headline metric, ``"score"`` when tasks differ."""
        found = {info.metric for info in self.task_info.values()}
        return found.pop() if len(found) == 1 else "score"
