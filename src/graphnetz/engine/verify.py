"""Check a run of somebody else: its digests, its scores from its predictions, and a random part by training again."""

from __future__ import annotations

import math
import secrets
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from graphnetz._core.errors import GraphnetzError, IntegrityError, UsageError, unknown_name
from graphnetz._core.plain import jsonable
from graphnetz._core.text import counted
from graphnetz.analysis.acceptance import retrained_sentence
from graphnetz.analysis.registration import SECTION
from graphnetz.engine.bundle import opened, signed_by
from graphnetz.engine.reproduce import Reproduced, known_here, train_again
from graphnetz.engine.rescore import Rescored, rescore
from graphnetz.engine.store import Store
from graphnetz.metrics import lookup
from graphnetz.models import named_specs
from graphnetz.records import CellResult, Predictions
from graphnetz.records.digests import predictions_digest
from graphnetz.records.kept import read_examples
from graphnetz.records.references import is_reference, refuse_inside
from graphnetz.report import BenchmarkReport
from graphnetz.report.integrity import changed_files, read_digests

SHARE, EXAMPLES, RELATIVE = 0.02, 3, 0.5
"""Across processors and versions: how far a share may lie apart, and how far, relative to itself, any other metric.

Of small test sets a share may differ by so many examples. Set by `benchmarks/tolerance.py`: what rounding by other
vector instructions makes of a cell lies within (one of 25 edges; 37 % of the error of an unsteady network).
"""

Train = Callable[[BenchmarkReport, Sequence[CellResult], Path], list[Reproduced]]
Known = Callable[[BenchmarkReport], Mapping[tuple[str, str], str]]


@dataclass
class Verified:
    """What a verification found.

    Attributes
    ----------
    cells
        How many cells the run shows, failed ones included.
    wrong
        What differs, one sentence each; empty where everything that could be checked holds.
    notes
        What held, and what could not be checked, one sentence each.
    rescored, retrained
        Metrics computed again from predictions, and cells trained again.
    root
        Digest of the run.
    signed
        Whether the given signer signed it; None where nobody asked.
    """

    cells: int = 0
    wrong: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    rescored: list[Rescored] = field(default_factory=list)
    retrained: list[Reproduced] = field(default_factory=list)
    root: str = ""
    signed: bool | None = None

    @property
    def ok(self) -> bool:
        """Whether nothing differs."""
        return not self.wrong

    @property
    def agreed(self) -> int:
        """How many cells were trained again and agree."""
        return sum(row.verdict in ("exact", "close") for row in self.retrained)

    def as_dict(self) -> dict[str, Any]:
        """Plain values; of the rescored metrics only those that do not agree."""
        rows = [asdict(row) for row in self.rescored if row.verdict != "agrees"]
        return dict(jsonable({**asdict(self), "rescored": rows, "ok": self.ok, "agreed": self.agreed}))


def verify(
    source: str | Path, *, retrain: int = 60, tasks: Sequence[str] = (), models: Sequence[str] = (),
    signer: str | Path | None = None, root: str = "data/benchmark", workers: int | None = None,
    draw: int | None = None, train: Train | None = None,
) -> Verified:  # fmt: skip
    """Check a bundle or a run folder.

    Parameters
    ----------
    source
        A run folder, or a bundle from `graphnetz.engine.bundle.submit`.
    retrain
        How many cells to train again; which ones nobody can know before. 0: none.
    tasks, models
        Only train cells of these again; empty: of all. A model that is written as ``path.py:Class`` limits nothing: it
        names the code of a model that the run was made with, which is run only if you name it.
    signer
        The public key that must have signed the bundle.
    root, workers
        Where datasets are kept, and cells at a time.
    draw
        Number that the sample is drawn with, to repeat a verification; None: a secret one.
    train
        Who trains cells again, for tests.

    Returns
    -------
    Verified
        What holds, what differs, and what could not be checked.
    """
    if retrain < 0:
        raise UsageError(f"retrain={retrain} is no number of cells; give 0 to train none.")
    found = Verified()
    brought = [text for text in models if is_reference(text)]
    for text in brought if Path(source).is_dir() else ():
        refuse_inside(text, Path(source))
    given = named_specs(brought, code=True) if brought else {}
    models = [name for name in models if name not in brought]
    try:
        with opened(source) as (folder, bundle):
            if signer is not None:
                _look_at_signature(found, folder, bundle, Path(signer))
            report = _look_at_digests(found, folder)
            kept = _look_at_predictions(found, folder, report)
            tied = _ties()
            for result in report.results:
                found.rescored += rescore(result, kept.get((result.task, result.model, result.seed)), tied)
            _say_rescored(found)
            if retrain:
                ready = _with_environments(report, folder, bundle)
                again = train or partial(train_again, tolerance=tolerance_of, root=root, workers=workers, given=given)
                check_sample(
                    found, ready, folder, retrain=retrain, train=again, tasks=tasks, models=models, draw=draw,
                    known=lambda report: known_here(report, given)[2],
                )  # fmt: skip
    except IntegrityError as error:
        found.wrong.append(str(error))
    return found


def _look_at_signature(found: Verified, folder: Path, bundle: Mapping[str, Any] | None, signer: Path) -> None:
    if bundle is None:
        raise UsageError("A run folder has no signature; give a bundle, or leave --signer out.")
    found.signed = signed_by(folder, signer)
    (found.notes if found.signed else found.wrong).append(
        f"{'Signed' if found.signed else 'Not signed'} by the owner of {signer.name}."
    )


def _look_at_digests(found: Verified, folder: Path) -> BenchmarkReport:
    """Hold every file against its digest; the report is read and held against the store on the way."""
    if not (folder / "results.json").is_file():
        raise UsageError(
            f"There is no finished run in {str(folder)!r} (no results.json). Finish it with graphnetz resume."
        )
    report = BenchmarkReport.from_json(folder / "results.json")
    found.cells = len(report.results)
    digests = read_digests(folder)
    if digests is None:
        found.notes.append("There is no digest.json: files beside results.json and the store were not checked.")
        return report
    found.root = digests["root"]
    found.wrong += [f"{name} is not as it was written." for name in changed_files(folder, digests)]
    there = [name for name in digests["files"] if (folder / name).is_file()]
    found.notes.append(
        f"Digests of {counted(found.cells, 'cell')} and {counted(len(there), 'file')} hold."
        if not found.wrong
        else f"{counted(len(found.wrong), 'file')} of {len(there)} differ from their digests."
    )
    for section in report.sections:
        if section.name == SECTION:
            found.notes.append(section.verdict)
            found.notes += [": ".join(filter(None, map(str, row))) + "." for row in section.extra.get("deviations", ())]
    return report


def _look_at_predictions(
    found: Verified, folder: Path, report: BenchmarkReport
) -> dict[tuple[str, str, int], Predictions]:
    """Read the predictions of every cell, each held against the digest that its cell has of it."""
    wanted = {(r.task, r.model, r.seed): r.predicted for r in report.results}
    out = {}
    for task in report.task_info:
        for model, seed, predictions in read_examples(folder, task):
            place = (task, model, seed)
            if place in wanted and wanted[place] == predictions_digest(predictions):
                out[place] = predictions
            else:
                found.wrong.append(f"The predictions of {task} / {model} / seed {seed} do not match their digest.")
    return out


def _ties() -> Callable[[str], bool]:
    """Whether a model gives the mean of answers that it cannot choose between."""
    tied: dict[str, bool] = {}

    def ask(model: str) -> bool:
        if model not in tied:
            try:
                tied[model] = hasattr(named_specs([model])[model].cls, "guesses")
            except GraphnetzError:
                tied[model] = False
        return tied[model]

    return ask


def _say_rescored(found: Verified) -> None:
    count = Counter(row.verdict for row in found.rescored)
    found.wrong += [
        f"{row.task} / {row.model} / seed {row.seed}: {row.metric} is {row.published:.6g}, its predictions give "
        f"{row.now:.6g}."
        for row in found.rescored
        if row.verdict == "differs"
    ]
    found.notes.append(
        f"{count['agrees']} of {counted(len(found.rescored), 'metric value')} follow from the predictions."
    )
    reasons = Counter(row.reason for row in found.rescored if row.verdict == "not possible")
    found.notes += [f"{counted(n, 'metric value')} could not be rescored: {why}." for why, n in reasons.most_common()]


def _with_environments(report: BenchmarkReport, folder: Path, bundle: Mapping[str, Any] | None) -> BenchmarkReport:
    """Add where each cell was made, which results.json leaves out."""
    where: dict[tuple[str, str, int], str] = {}
    if bundle is not None:
        listed = bundle.get("ran_in")
        for key, cells in listed.items() if isinstance(listed, Mapping) else ():
            where |= {(str(t), str(m), int(s)): str(key) for t, m, s in cells}
    elif (folder / "store.sqlite").is_file():
        with Store.open(folder, readonly=True) as store:
            where = {(r.task, r.model, r.seed): r.environment for r in store.results(histories=False)}
    results = [replace(r, environment=where.get((r.task, r.model, r.seed), "")) for r in report.results]
    return replace(report, results=results)


def check_sample(
    found: Verified, report: BenchmarkReport, folder: Path, *, retrain: int, train: Train, tasks: Sequence[str] = (),
    models: Sequence[str] = (), draw: int | None = None, known: Known = lambda report: known_here(report)[2],
) -> None:  # fmt: skip
    """Train a random sample of the cells of a report again, and add to ``found`` what that says of all of them.

    Parameters
    ----------
    found
        Where sentences go.
    report, folder
        The run, and where it lies.
    retrain, tasks, models, draw
        As in `verify`.
    train
        Trains cells again and compares them.
    known
        Says which tasks and models are not known here, with the reason.
    """
    for names, kind, there in ((tasks, "task", report.scores.tasks), (models, "model", report.scores.models)):
        if stray := [name for name in names if name not in there]:
            raise unknown_name(kind, stray[0], there)
    reasons = known(report)
    chosen = [r for r in report.results if (not tasks or r.task in tasks) and (not models or r.model in models)]
    unknown = Counter(
        reasons.get(("task", r.task)) or reasons.get(("model", r.model)) for r in chosen if r.ok
    )  # fmt: skip
    found.notes += [f"{counted(n, 'cell')} cannot be retrained here: {why}." for why, n in unknown.items() if why]
    if failed := sum(not r.ok for r in chosen):
        found.notes.append(f"{counted(failed, 'cell')} failed and {'was' if failed == 1 else 'were'} not retrained.")
    able = [r for r in chosen if r.ok and ("task", r.task) not in reasons and ("model", r.model) not in reasons]
    if not able:
        found.notes.append("No cell could be retrained.")
        return
    rng = np.random.default_rng(secrets.randbits(128) if draw is None else draw)
    picked = np.sort(rng.choice(len(able), size=min(retrain, len(able)), replace=False))
    found.retrained = train(report, [able[int(i)] for i in picked], folder)
    _say_retrained(found, len(able))


def tolerance_of(metric: str, result: CellResult) -> float:
    """How far a metric may lie apart when a cell is trained on another processor or under other versions.

    Examples
    --------
    >>> tolerance_of("test_acc", CellResult("", "cora", "GCN", 0, metrics={"test_acc": 0.8}))
    0.02
    >>> tolerance_of("test_acc", CellResult("", "karate", "GCN", 0, metrics={"test_acc": 0.8}, n_test=10))
    0.3
    >>> tolerance_of("test_mae", CellResult("", "zinc", "GCN", 0, metrics={"test_mae": 2.0}))
    1.0
    """
    try:
        bounded = lookup(metric).bounds == (0.0, 1.0)
    except GraphnetzError:
        bounded = False
    value = result.metrics[metric]
    if bounded:
        return max(SHARE, EXAMPLES / result.n_test) if result.n_test else SHARE
    return RELATIVE * abs(value) if math.isfinite(value) else 0.0


def _say_retrained(found: Verified, population: int) -> None:
    differing = 0
    for row in found.retrained:
        # Equal environments promise equal bits; elsewhere the stated tolerance counts.
        if row.verdict == "differs" or (row.verdict == "close" and row.same_environment):
            differing += 1
            gap = row.reason if not math.isfinite(row.difference) or not row.difference else ""
            gap = gap or f"{row.metric} is {row.published:.6g}, trained again it is {row.now:.6g}"
            gap += f" ({row.reason})" if row.reason.startswith("its file") and row.reason not in gap else ""
            found.wrong.append(f"{row.task} / {row.model} / seed {row.seed}: {gap}.")
    found.notes.append(retrained_sentence(population, len(found.retrained), differing))
    close = [row for row in found.retrained if row.verdict == "close" and not row.same_environment]
    if close:
        worst = max(row.difference for row in close)
        found.notes.append(
            f"{counted(len(close), 'cell')} agree within the tolerance for other environments ({SHARE:g} or {EXAMPLES} "
            f"examples for shares, {RELATIVE:.0%} for other metrics; largest difference {worst:.3g}), the others to "
            "the last bit."
        )
