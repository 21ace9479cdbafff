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
from graphnetz.report import BenchmarkReport

TOLERANCE = 1e-6


@dataclass(frozen=True)
class Reproduced:
    """One cell: what was published, what came out now.

    ``verdict`` is ``exact`` (the same bits), ``close`` (within the tolerance), ``differs``, or
    ``not run`` with the reason.
    """

    task: str
    model: str
    seed: int
    metric: str
    published: float
    now: float
    verdict: str
    reason: str = ""

    @property
    def difference(self) -> float:
        """Absolute difference, NaN when there is none."""
        return abs(self.now - self.published)


def reproduce(
    source: str | Path,
    *,
    sample: int | None = None,
    tolerance: float = TOLERANCE,
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
        Largest difference of the headline metric that counts as close.
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
    return _again(report, wanted, path.parent, tolerance=tolerance, root=root, workers=workers)


def _again(
    report: BenchmarkReport, wanted: Sequence[CellResult], folder: Path, *, tolerance: float, root: str,
    workers: int | None,
) -> list[Reproduced]:  # fmt: skip
    protocols = _protocols(report, folder)
    tasks, specs, reasons = _looked_up(report)
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
    result: CellResult, made: dict[str, CellResult], missing: dict[tuple[str, str, int], str], tolerance: float
) -> Reproduced:
    place = (result.task, result.model, result.seed)
    if place in missing:
        return Reproduced(*place, result.metric, result.value, math.nan, "not run", missing[place])
    now = made["/".join(map(str, place))]
    if not now.ok:
        return Reproduced(*place, result.metric, result.value, math.nan, "differs", f"{now.status}: {now.error}")
    value = float(now.metrics.get(result.metric, math.nan))
    difference = abs(value - result.value)
    verdict = "exact" if difference == 0 else "close" if difference <= tolerance else "differs"
    return Reproduced(*place, result.metric, result.value, value, verdict)


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


def _looked_up(report: BenchmarkReport) -> tuple[dict[str, Task], dict[str, Any], dict[tuple[str, str], str]]:
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
