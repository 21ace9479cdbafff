"""Train published cells again and say which agree, and how closely."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import graphnetz.kernels as kernels
from graphnetz._core.errors import GraphnetzError, UsageError
from graphnetz._core.paths import refuse_links
from graphnetz._core.readers import from_others
from graphnetz._core.rng import generator
from graphnetz._core.text import shorten
from graphnetz.datasets import SUITES, find_task
from graphnetz.engine.executors import LocalExecutor, results_of
from graphnetz.engine.outputs import source_words
from graphnetz.engine.search import SearchSpace
from graphnetz.engine.store import Store
from graphnetz.engine.worker import Workbench
from graphnetz.models import ModelSpec, named_specs
from graphnetz.records import Cell, CellResult, Protocol, Task
from graphnetz.records.digests import predictions_digest
from graphnetz.records.references import label_of, refuse_inside
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
    models: Sequence[str] = (),
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
    models
        Models that were brought as ``path.py:Class`` or ``module:Class``, named again. Nothing that the folder itself
        names is imported.

    Notes
    -----
    Models and tasks are looked up by name: what a script defined itself must be registered first, and a
    transform or a constructor argument that only the script knew cannot be repeated.
    """
    path = Path(source)
    for text in models:
        refuse_inside(text, path if path.is_dir() else path.parent)
    given = named_specs(list(models), code=True) if models else {}
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
    return train_again(report, wanted, path.parent, tolerance=tolerance, root=root, workers=workers, given=given)


def train_again(
    report: BenchmarkReport, wanted: Sequence[CellResult], folder: Path, *, tolerance: Tolerance,
    root: str, workers: int | None, given: Mapping[str, ModelSpec] | None = None,
) -> list[Reproduced]:  # fmt: skip
    """Train ``wanted`` cells of a report again, with the tasks and models that are known here by name or ``given``."""
    protocols = _protocols(report, folder)
    tasks, specs, reasons = known_here(report, given or {})
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
    found = [_compared(result, made, missing, tolerance) for result in wanted]
    other = _other_files(report, given or {})
    return [replace(row, reason=other[row.model]) if _open(row) and row.model in other else row for row in found]


def _open(row: Reproduced) -> bool:
    return row.verdict in ("close", "differs")


def _other_files(report: BenchmarkReport, given: Mapping[str, ModelSpec]) -> dict[str, str]:
    """Models whose file has another content now than in the run, with both digests."""
    then = report.config.get("brought")
    now = {name: source_words(spec.source) for name, spec in given.items() if spec.source}
    digest = re.compile(r"sha256 ([0-9a-f]{16})")
    found = {}
    for name, words in now.items():
        old = digest.search(str(then.get(name))) if isinstance(then, dict) else None
        new = digest.search(words)
        if old and new and old[1] != new[1]:
            found[name] = f"its file has changed: sha256 {new[1]}, in the run {old[1]}"
    return found


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


def known_here(
    report: BenchmarkReport, given: Mapping[str, ModelSpec] | None = None
) -> tuple[dict[str, Task], dict[str, ModelSpec], dict[tuple[str, str], str]]:
    """Tasks and models by name; those that are not known here, with the reason.

    A model that was brought in a file is taken from ``given`` alone, even where a registered one has its name.
    """
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

    brought = report.config.get("brought")
    brought = brought if isinstance(brought, dict) else {}

    def model(name: str) -> ModelSpec:
        if given and name in given:
            return given[name]
        if name in brought:
            said = shorten(str(brought[name]), 120)
            again = said.partition(" (sha256")[0]
            mine = again if label_of(again) == name else f"{name}={again}"
            raise UsageError(f"it was brought as {said}: name it again, --model {mine}")
        return named_specs([name])[name]

    tasks = known("task", lambda name: listed.get(name) or find_task(name))
    return tasks, known("model", model), reasons
