"""The figures of a report as one table: what each shows, and how it is cut into pages. None leaves anything out."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from graphnetz._core.beside import shared
from graphnetz._core.collector import no_collector
from graphnetz._core.errors import unknown_name
from graphnetz._core.paths import write_file
from graphnetz._core.text import names
from graphnetz.records.analysis import Comparison
from graphnetz.records.views import Grid, TaskRow
from graphnetz.report import plots
from graphnetz.report.fonts import lean_family
from graphnetz.report.pagecharts import nearest_components
from graphnetz.report.plots import bars, components, curves, dashboard, dots, forest, pairwise, rank_sets
from graphnetz.report.style import lean_fonts, page_files, sized

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from graphnetz.analysis import Analysis

T = TypeVar("T")
Draw = Callable[[], "tuple[Figure, Any]"]
FORMATS = ("png", "pdf")
ALL_PAIRS = 4
"""Models up to which a list holds every pair; above it compares each with the best, and the matrix holds every pair."""


def _cut(
    items: Sequence[T], room: int, draw: Callable[[Sequence[T], str], tuple[Figure, Any]], what: str = "tasks"
) -> list[Draw]:
    """One call per page of ``room`` items; where there are several, each says which it holds."""
    parts = [items[i : i + room] for i in range(0, len(items), room)]
    return list(_pages(parts, draw, len(items), what))


def _pages(
    parts: Sequence[Sequence[T]],
    draw: Callable[[Sequence[T], str], tuple[Figure, Any]],
    total: int,
    what: str = "tasks",
) -> Iterator[Draw]:
    first = 1
    for i, part in enumerate(parts):
        last = first + len(part) - 1
        span = f"{first} to {last}" if last > first else f"{first}"
        note = f"Page {i + 1} of {len(parts)}: {what} {span} of {total}." if len(parts) > 1 else ""
        yield lambda part=part, note=note: draw(part, note)  # type: ignore[misc]
        first = last + 1


def _said(grid: Grid, note: str) -> str:
    """What mark and line of a model are, before the words about the page."""
    return f"{grid.drawn_words}. {note}".rstrip()


def _of_grid(draw: Callable[..., Any], room: Callable[[int], int]) -> Callable[[Analysis], list[Draw]]:
    def pages(analysis: Analysis) -> list[Draw]:
        grid: Grid = analysis.grid
        most = room(len(grid.models))
        return _cut(grid.rows, most, lambda part, note: draw(replace(grid, rows=tuple(part)), note=_said(grid, note)))

    return pages


def _bars(analysis: Analysis) -> list[Draw]:
    grid: Grid = analysis.grid

    def draw(part: Sequence[TaskRow], note: str) -> Any:
        order = " Tasks are counted metric by metric." if note and len(grid.by_metric()) > 1 else ""
        return plots.draw_bars(replace(grid, rows=tuple(part)), note=_said(grid, note + order))

    return list(_pages(bars.pages_of(grid), draw, len(grid.rows)))


def _ranked(analysis: Analysis) -> list[Draw]:
    ranks = analysis.ranking.view()
    return [lambda: plots.draw_critical_difference(ranks)]


def _places(analysis: Analysis) -> list[Draw]:
    sets, models = analysis.rank_sets, analysis.scores.models
    if len(sets.models) < 2 or len(analysis.ranking.tasks) < 2:
        return []
    return _cut(
        range(len(sets.models)), rank_sets.models_of_a_page(),
        lambda part, note: plots.draw_rank_sets(sets, models=models, places=part, note=note), "models",
    )  # fmt: skip


def _left_out(analysis: Analysis) -> str:
    """Which models a figure of complete models lacks."""
    gone = [model for model in analysis.scores.models if model in analysis.ranking.excluded]
    lack = "lacks" if len(gone) == 1 else "lack"
    return f"Without {names(gone, most=12)}, which {lack} a comparable result on some task." if gone else ""


def _profiles(analysis: Analysis) -> list[Draw]:
    found, note = analysis.aggregates, _left_out(analysis)
    if found is None:
        return []
    return [lambda: plots.draw_profiles(found.profiles(), models=analysis.scores.models, note=note)]


def _wins(analysis: Analysis) -> list[Draw]:
    found, note = analysis.aggregates, _left_out(analysis)
    if found is None:
        return []
    return [lambda: plots.draw_win_rates(found.models, found.scores.wins, found.scores.n_tasks, note=note)]


def _pareto(analysis: Analysis) -> list[Draw]:
    points, note = analysis.pareto, _left_out(analysis)
    return [lambda: plots.draw_pareto(points, analysis.scores.models, note=note)] if points else []


def _dots(analysis: Analysis) -> list[Draw]:
    models = analysis.scores.models
    room = dots.tasks_of_a_page(len(models))
    return _cut(analysis.dots, room, lambda part, note: plots.draw_dots(part, models, note=note))


def _shares(analysis: Analysis) -> list[Draw]:
    found = nearest_components(analysis)
    return _cut(found, components.rows_of_a_page(), lambda part, note: plots.draw_components(part, note=note))


def _matrix(analysis: Analysis) -> list[Draw]:
    models, by_task = analysis.scores.models, analysis.grouped
    alpha = analysis.options.alpha

    def draw(tasks: Sequence[str], note: str) -> Any:
        pairs = [pair for task in tasks for pair in by_task[task]]
        return plots.draw_pairwise_matrix(pairs, models, alpha=alpha, note=note)

    return _cut([task for task in by_task if by_task[task]], pairwise.tasks_of_a_page(models), draw)


def listed_pairs(analysis: Analysis) -> tuple[list[Comparison], str]:
    """The comparisons of a list, and the words that say which they are."""
    if len(analysis.scores.models) <= ALL_PAIRS:
        return list(analysis.comparisons), ""
    best = {task: place.best for task, place in analysis.standings.items() if place}
    mine = ([p for p in pairs if p.involves(best[task])] for task, pairs in analysis.grouped.items() if task in best)
    pairs = [pair for some in mine for pair in sorted((_from(p, best[p.task]) for p in some), key=_size)]
    return pairs, "The best model of each task minus every other; the matrix and pairwise.csv hold every pair."


def _from(pair: Comparison, model: str) -> Comparison:
    """The same comparison with ``model`` as the first of the two."""
    if pair.a == model:
        return pair
    return replace(
        pair, a=pair.b, b=pair.a, mean_diff=-pair.mean_diff, dz=-pair.dz, sim_low=-pair.sim_high, sim_high=-pair.sim_low
    )


def _size(pair: Comparison) -> float:
    return abs(pair.mean_diff)


def _list(analysis: Analysis) -> list[Draw]:
    pairs, words = listed_pairs(analysis)
    level = 100 * (1 - analysis.options.alpha)
    words = f"{words} Lines: simultaneous {level:g} % intervals; Holm-adjusted p, then how far the difference is shown."

    def draw(part: Sequence[Comparison], note: str) -> Any:
        return plots.draw_pairwise_list(part, alpha=analysis.options.alpha, note=f"{words} {note}".strip())

    return list(_pages(pairwise.pages_of_a_list(pairs), draw, len(pairs), "comparisons")) if pairs else []


def _curves(analysis: Analysis) -> list[Draw]:
    models = analysis.scores.models
    room = curves.tasks_of_a_page()
    return _cut(analysis.curves, room, lambda part, note: plots.draw_learning_curves(part, models, note=note))


@dataclass(frozen=True)
class Kind:
    """One figure: how its pages are drawn, and the words of its caption.

    ``pages`` returns one call per page, none where there is nothing to show; ``timed`` says that it shows seconds of
    one machine, so that its bytes differ from machine to machine.
    """

    pages: Callable[[Analysis], list[Draw]]
    words: str
    timed: bool = False


FIGURES: dict[str, Kind] = {
    "rank_sets": Kind(
        _places, "Places that each model may have on other tasks of this kind, by mean rank (mark); all bars hold "
        "together at 95 %."),
    "critical_difference": Kind(
        _ranked, "Mean ranks over tasks; lower is better. Models joined by a bar are within Nemenyi's difference."),
    "forest": Kind(
        _of_grid(plots.draw_forest, forest.rows_of_a_page), "Means with 95 % intervals over seeds, one row per task, "
        "each on its own axis."),
    "dots": Kind(_dots, "Every run; ticks are means. Runs that collapsed or failed stand apart."),
    "dashboard": Kind(
        _of_grid(plots.draw_dashboard, dashboard.tasks_of_a_page), "Means with 95 % intervals over seeds, one panel "
        "per task."),
    "bars": Kind(
        _bars, "Means with 95 % intervals over seeds, tasks "
        "of one metric beside each other."),
    "pairwise_matrix": Kind(
        _matrix, "Differences between models by task (blue: the row is better, orange: worse) and adjusted p; framed "
        "or with an arrow where a difference is shown after Holm's correction."),
    "pairwise_list": Kind(
        _list, "Differences between models with simultaneous intervals, and how far each is shown."),
    "win_rates": Kind(_wins, "Share of tasks on which the mean of the row is better than that of the column."),
    "profiles": Kind(
        _profiles, "Share of runs above each score, normalised per task (0: worst, 1: best mean of its models)."),
    "pareto": Kind(
        _pareto, "Mean normalised score against mean seconds of a run on the machine that ran it; the line joins the "
        "models that no other beats in both.", timed=True),
    "components": Kind(
        _shares, "Shares of the variance of the difference between the two best models of each task."),
    "learning_curves": Kind(_curves, "Mean over seeds and 95 % interval, epoch by epoch."),
}  # fmt: skip
"""Every figure that a folder may hold, in the order in which a reader meets them."""

_FILE = re.compile(rf"^({'|'.join(FIGURES)})(-\d+)?\.({'|'.join(FORMATS)})$")


def draw_pages(analysis: Analysis, name: str, *, size: str = "page") -> list[Figure]:
    """Draw all pages of one figure; none where there is nothing to show."""
    if name not in FIGURES:
        raise unknown_name("figure", name, FIGURES)
    with sized(size):
        return [draw()[0] for draw in FIGURES[name].pages(analysis)]


def page_counts(analysis: Analysis) -> dict[str, int]:
    """How many pages each figure has that has something to show."""
    counts = {name: len(kind.pages(analysis)) for name, kind in FIGURES.items()}
    return {name: count for name, count in counts.items() if count}


def figure_files(
    analysis: Analysis, *, formats: Iterable[str] = FORMATS, size: str = "page"
) -> Iterator[tuple[str, bytes]]:
    """Draw every figure, on two cores where there are, and return its files one after another, by name."""
    lean_family()  # here, so that a child draws with the same font files and leaves none behind
    draw = functools.partial(_files_of, analysis, formats=tuple(formats), size=size)
    for files in shared([functools.partial(draw, name) for name in FIGURES]):
        yield from files.items()


def _files_of(analysis: Analysis, name: str, *, formats: tuple[str, ...], size: str) -> dict[str, bytes]:
    with lean_fonts(), no_collector(), sized(size) as paper:
        pages = [draw()[0] for draw in FIGURES[name].pages(analysis)]
        return page_files(pages, name, formats=formats, dpi=paper.dpi) if pages else {}


def write_figures(analysis: Analysis, folder: Path, *, formats: Iterable[str] = FORMATS, size: str = "page") -> None:
    """Write every figure as one PDF and as PNGs, and remove pages of an earlier writing that are no more."""
    written = set()
    for name, data in figure_files(analysis, formats=formats, size=size):
        write_file(folder / name, data)
        written.add(name)
    for path in folder.iterdir() if folder.is_dir() else ():
        if _FILE.match(path.name) and path.name not in written:
            path.unlink()


def digested(folder: Path) -> list[str]:
    """Names of the figure files in ``folder`` that the same cells give byte by byte."""
    found = ((path.name, _FILE.match(path.name)) for path in sorted(folder.iterdir())) if folder.is_dir() else ()
    return [name for name, match in found if match and not FIGURES[match[1]].timed]
