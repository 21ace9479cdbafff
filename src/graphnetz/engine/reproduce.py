"""Train published cells again and say which agree, and how closely."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import graphnetz.kernels as kernels
from graphnetz._core.errors import GraphnetzError, UsageError
from graphnetz._core.paths import refuse_links
from graphnetz._core.readers import from_others
from graphnetz._core.rng import generator
from graphnetz.datasets import SUITES, find_task
from graphnetz.engine.executors import LocalExecutor, results_of
from graphnetz.engine.search import SearchSpace
from graphnetz.engine.store import Store
from graphnetz.engine.worker import Workbench
from graphnetz.models import named_specs
from graphnetz.records import Cell, CellResult, Protocol, Task
from graphnetz.records.digests import predictions_digest
from graphnetz.report import BenchmarkReport

TOLERANCE = 1e-6
Tolerance = float | Callable[[str, CellResult], float]


@dataclass(frozen=True)
class Reproduced:
    """One cell: what was published, what came out now, of the metric that differs most.

    ``verdict`` is ``exact`` (the same bits in every metric, and the same predictions where both are known), ``close``
    (within the tolerance), ``differs``, or ``not run`` with the reason. ``same_environment`` says whether the cell
    was made where it was trained again; None where that is not known.
    """

    task: str
    model: str
    seed: int
    metric: str
    published: float
    now: float
    verdict: str
    reason: str = ""
    same_environment: bool | None = None

    @property
    def difference(self) -> float:
        """Absolute difference, NaN when there is none."""
        return abs(self.now - self.published)


def reproduce(
    source: str | Path,
    *,
    sample: int | None = None,
    tolerance: Tolerance = TOLERANCE,
    root: str = "data/benchmark",
    workers: int | None = None,
) -> list[Reproduced]:
    """Train the cells of a run folder or of a ``results.json`` again.

    Parameters
    ----------
    source
        A run folder, or the file that another's report was written to.
    sample
        How many cells; which ones is drawn from their names, so that it is the same for everyone. None: all.
    tolerance
        Largest difference of any metric that counts as close, or a function of metric and cell that says it.
    root
        Where datasets are kept.
    workers
        Cells at a time.

    Notes
    -----
    Models and tasks are looked up by name: what a script defined itself must be registered first, and a
    transform or a constructor argument that only the script knew cannot be repeated.
    """
    path = Path(source)
    if path.is_dir():
        refuse_links(path)
        path = path / "results.json"
    report = BenchmarkReport.from_json(path)
    if sample is not None and sample < 1:
        raise UsageError(f"sample={sample} trains nothing; give a number of cells, or leave it out for all.")
    wanted = [r for r in report.results if r.ok]
    if sample is not None and sample < len(wanted):
        chosen = generator("reproduce", len(wanted), sample).choice(len(wanted), size=sample, replace=False)
        wanted = [wanted[int(i)] for i in sorted(chosen)]
    return train_again(report, wanted, path.parent, tolerance=tolerance, root=root, workers=workers)


def train_again(
    report: BenchmarkReport, wanted: Sequence[CellResult], folder: Path, *, tolerance: Tolerance,
    root: str, workers: int | None,
) -> list[Reproduced]:  # fmt: skip
    """Train ``wanted`` cells of a report again, with the tasks and models that are known here by name."""
    protocols = _protocols(report, folder)
    tasks, specs, reasons = known_here(report)
    with from_others("The report's config", "Write the report again with to_json."):
        search = SearchSpace(**report.config["search"]) if report.config.get("search") else None
    workbench = Workbench(tasks, specs, root, search)
    cells: dict[str, Cell] = {}
    missing: dict[tuple[str, str, int], str] = {}
    for result in wanted:
        place = (result.task, result.model, result.seed)
        reason = reasons.get(("task", result.task)) or reasons.get(("model", result.model))
        if reason is None and protocols.get(place) is None:
            reason = "the report does not say how it was trained"
        if reason is None:
            key = "/".join(map(str, place))
            cells[key] = Cell(key, *place, protocols[place])  # type: ignore[arg-type]
        else:
            missing[place] = reason
    if cells:
        kernels.load()
    for task, seed in {(cell.task, cell.seed): None for cell in cells.values()}:
        if not tasks[task].seeded or tasks[task].card is None:
            workbench.dataset(task, seed)  # loaded here, so that workers share it
    made = results_of(LocalExecutor(workers=workers), list(cells.values()), workbench)
    return [_compared(result, made, missing, tolerance) for result in wanted]


def _compared(
    result: CellResult, made: dict[str, CellResult], missing: dict[tuple[str, str, int], str],
    tolerance: Tolerance,
) -> Reproduced:  # fmt: skip
    place = (result.task, result.model, result.seed)
    if place in missing:
        return Reproduced(*place, result.metric, result.value, math.nan, "not run", missing[place])
    now = made["/".join(map(str, place))]
    same = None if not result.environment else result.environment == now.environment
    if not now.ok:
        return Reproduced(*place, result.metric, result.value, math.nan, "differs", f"{now.status}: {now.error}", same)
    gaps = {key: _gap(value, now.metrics.get(key, math.nan)) for key, value in result.metrics.items()}
    allowed = {key: tolerance(key, result) if callable(tolerance) else tolerance for key in gaps}
    order = [result.metric, *(key for key in gaps if key != result.metric)]  # of equal gaps the headline's
    worst = max((key for key in order if key in gaps), key=lambda key: gaps[key], default=result.metric)
    verdict = "exact" if not any(gaps.values()) else "differs"
    if verdict == "differs" and all(gaps[key] <= allowed[key] for key in gaps):
        verdict = "close"
    reason = "" if verdict == "exact" else f"{worst} differs most"
    if verdict == "exact" and same is not False and (why := _other_predictions(result, now)):
        verdict, reason = "differs", why
    published, value = result.metrics.get(worst, math.nan), now.metrics.get(worst, math.nan)
    return Reproduced(*place, worst, float(published), float(value), verdict, reason, same)


def _gap(published: float, now: float) -> float:
    """Absolute difference; undefined on both sides is none, on one side it is infinite."""
    if math.isfinite(published) and math.isfinite(now):
        return abs(now - published)
    return 0.0 if not math.isfinite(published) and not math.isfinite(now) else math.inf


def _other_predictions(result: CellResult, now: CellResult) -> str:
    """Say that equal metrics rest on other predictions, where the cell was made in the same environment."""
    if not result.predicted or now.predictions is None or result.environment != now.environment:
        return ""
    return "" if predictions_digest(now.predictions) == result.predicted else "the predictions are others"


def _protocols(report: BenchmarkReport, folder: Path) -> dict[tuple[str, str, int], Protocol | None]:
    """How each cell was trained: what its report says, or the store where it holds the same value."""
    known = {(r.task, r.model, r.seed): r.protocol for r in report.results}
    if (folder / "store.sqlite").is_file():
        values = {(r.task, r.model, r.seed): r.value for r in report.results}
        with Store.open(folder, readonly=True) as store:
            for r in store.results(histories=False):
                if values.get((r.task, r.model, r.seed)) == r.value:
                    known[r.task, r.model, r.seed] = r.protocol
    return known


def known_here(report: BenchmarkReport) -> tuple[dict[str, Task], dict[str, Any], dict[tuple[str, str], str]]:
    """Tasks and models by name; those that are not known here, with the reason."""
    suite = str(report.config.get("suite"))
    listed = {task.name: task for task in SUITES[suite]()} if suite in SUITES else {}
    reasons: dict[tuple[str, str], str] = {}

    def known(kind: str, look_up: Callable[[str], Any]) -> dict[str, Any]:
        found = {}
        for name in dict.fromkeys(getattr(result, kind) for result in report.results):
            try:
                found[name] = look_up(name)
            except GraphnetzError as error:
                reasons[kind, name] = str(error).split(". ")[0]
        return found

    tasks = known("task", lambda name: listed.get(name) or find_task(name))
    return tasks, known("model", lambda name: named_specs([name])[name]), reasons
