"""`BenchmarkReport`: data and statistics come from its bases; here it is built, drawn and written."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from graphnetz._core.errors import unknown_name
from graphnetz._core.paths import atomic_write
from graphnetz.analysis import ranking
from graphnetz.analysis.comparisons import FAMILY_WORDS
from graphnetz.analysis.verdicts import TEST_WORDS
from graphnetz.records import CellResult, Section
from graphnetz.records.task_info import TaskInfo, fill_from_results
from graphnetz.report import figures, frames, jsonio, latex, plots
from graphnetz.report import from_scores as fromscores
from graphnetz.report.page import render_fragment
from graphnetz.report.statistics import Statistics

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Pretty = Mapping[str, str] | None


@dataclass(eq=False, repr=False)
class BenchmarkReport(Statistics):
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

        ``absent[task, model]`` says why a pair was never planned; ``settings`` are ``ci_method``,
        ``bootstrap_n``, ``bootstrap_seed`` and ``pairwise_method``.
        """
        place = {name: i for i, name in enumerate(tasks)}
        turn = {name: i for i, name in enumerate(models)}
        cells = sorted(results, key=lambda r: (place.get(r.task, len(place)), turn.get(r.model, len(turn)), r.seed))
        return cls(
            tuple(seeds),
            jsonio.histories_of(cells, tasks, models, seeds),
            jsonio.jsonable(config or {}),
            tasks=fill_from_results(tasks, cells),
            models=tuple(models),
            results=cells,
            absent=dict(absent or {}),
            sections=list(sections),
            provenance=dict(provenance or {}),
            **settings,
        )

    @classmethod
    def from_scores(cls, frame: Any, **settings: Any) -> BenchmarkReport:
        """Build a report from scores trained elsewhere.

        ``frame`` has the columns task, model, seed, score, metric, greater_is_better.
        """
        return cls.from_results(**fromscores.parse_scores(frame), **settings)

    @classmethod
    def from_json(cls, source: str | Path) -> BenchmarkReport:
        """Read what `to_json` wrote, from a file or from its text."""
        return cls(**jsonio.load(source))

    def to_json(self, path: str | Path | None = None, *, histories: bool = True) -> str:
        """Return the report as JSON, and write it to ``path`` when given."""
        text = jsonio.dump(self, histories=histories)
        if path is not None:
            _store(path, text)
        return text

    def frame(self, what: str = "cells", *, library: str = "pandas") -> Any:
        """Return ``cells``, ``summary``, ``pairwise`` or ``costs`` as a flat data frame of pandas or polars.

        `from_scores` reads the frame of cells back.
        """
        makers: dict[str, Callable[[], Any]] = {
            "cells": lambda: frames.cells_frame(self),
            "summary": lambda: self.summary().reset_index(),
            "pairwise": self.pairwise,
            "costs": self.costs,
        }
        if what not in makers:
            raise unknown_name("frame", what, makers)
        if library not in frames.LIBRARIES:
            raise unknown_name("library", library, frames.LIBRARIES)
        return frames.LIBRARIES[library](makers[what]())

    def to_polars(self, what: str = "cells") -> Any:
        """Return `frame` as a polars DataFrame (needs the extra ``polars``)."""
        return self.frame(what, library="polars")

    def write(self, folder: str | Path, *, figures: bool = True) -> Path:
        """Write tables, the page and figures to ``folder`` and return it.

        The page draws its own charts; ``figures=False`` leaves out the PDF and PNG files, which take most of the time.
        """
        from graphnetz.report.write import write_report

        return write_report(self, folder, figures=figures)

    # LaTeX

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
    ) -> Path:
        """Write the booktabs table of means and intervals: best in khaki, tied in almond.

        ``tie_rule="overlap"`` reproduces the paper's shading by overlapping intervals.
        """
        grid = self.grid(ci, method, tie_rule=tie_rule)
        text = latex.summary_latex(grid, bold_best=bold_best, pretty=pretty_tasks, caption=caption, label=label)
        return _store(path, text)

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
        """Write the booktabs table of Holm-adjusted comparisons."""
        how = method or self.pairwise_method
        text = latex.pairwise_latex(
            figures.pair_views(self.comparisons(alpha, how, family)),
            alpha=alpha,
            test=TEST_WORDS.get(how, how),
            family=FAMILY_WORDS[family],
            pretty=pretty_tasks,
            caption=caption,
            label=label,
        )
        return _store(path, text)

    # Figures

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
        """Grouped bars of mean and interval; metrics that differ get panels of their own."""
        return plots.draw_bars(self.grid(ci), ax, ylabel=ylabel, title=title, annotate=annotate, pretty=pretty_tasks)

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
        """Forest plot, one row per task with models jittered within the row."""
        return plots.draw_forest(
            self.grid(ci),
            ax,
            xlabel=xlabel,
            height_per_task=height_per_task,
            sort_within=sort_within,
            band=band,
            pretty=pretty_tasks,
        )

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
        """Comparisons as one significance matrix per task, or as a list with intervals at level ``ci``."""
        if layout not in ("matrix", "list"):
            raise unknown_name("layout", layout, ("matrix", "list"))
        if layout == "matrix":
            pairs = figures.pair_views(self.comparisons(alpha, method))
            models = self.scores.models
            return plots.draw_pairwise_matrix(pairs, models, ax, alpha=alpha, max_cols=max_cols, pretty=pretty_tasks)
        pairs = figures.pair_views(self.comparisons(alpha, method), bounds=self.comparisons(1 - ci, method))
        return plots.draw_pairwise_list(pairs, ax, alpha=alpha, pretty=pretty_tasks)

    def plot_critical_difference(self, *, alpha: float = 0.05, title: str | None = None) -> tuple[Figure, Axes]:
        """Critical-difference diagram of the models present on every task (Demšar 2006)."""
        return plots.draw_critical_difference(ranking.rank_view(self.ranking(alpha)), title=title)

    def plot_learning_curves(
        self,
        *,
        ci: float = 0.95,
        metric_key: str | None = None,
        pretty_tasks: Pretty = None,
        ylabel: str | None = None,
        legend_loc: str = "lower right",
    ) -> tuple[Figure, Any]:
        """Mean and t interval over epochs, one panel per task."""
        info = self.task_info
        keys = {task: metric_key or item.metric for task, item in info.items()}
        labels = {task: figures.curve_label(metric_key, item) for task, item in info.items()}
        panels = figures.curve_panels(self.histories, keys, labels, level=ci, results=self.results)
        models = self.scores.models
        return plots.draw_learning_curves(panels, models, ylabel=ylabel, legend_loc=legend_loc, pretty=pretty_tasks)

    def plot_dashboard(
        self, *, ci: float = 0.95, title: str | None = None, max_cols: int = 5, pretty_tasks: Pretty = None
    ) -> tuple[Figure, Any]:
        """One panel per task with its models as bars (Figure 2 of the GraphNetz paper)."""
        return plots.draw_dashboard(self.grid(ci), max_cols=max_cols, title=title, pretty=pretty_tasks)

    def __repr__(self) -> str:
        table = self.scores
        return f"BenchmarkReport({len(table.tasks)} tasks, {len(table.models)} models, {len(table.seeds)} seeds)"

    def _repr_html_(self) -> str:
        return render_fragment(self.grid(), self.verdicts())


def _store(path: str | Path, text: str) -> Path:
    target = Path(path)
    with atomic_write(target) as stream:
        stream.write(text)
    return target
