"""Try to get something edited or damaged past the readers: ``python benchmarks/integrity.py`` (`make chaos`).

Every function returns a `Tally` of what was tried, what held and what broke; the short forms are in
``tests/adversarial``. Runs are synthetic: nothing is trained, so that thousands of attempts take minutes.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import hashlib
import io
import json
import math
import random
import shutil
import sqlite3
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from graphnetz._core.errors import GraphnetzError
from graphnetz.analysis.registration import plan_body
from graphnetz.cli.load import live_report, load_report
from graphnetz.engine import verify as verification
from graphnetz.engine.bundle import submit
from graphnetz.engine.outputs import write_examples, write_outputs
from graphnetz.engine.preregistration import register, registered
from graphnetz.engine.reproduce import Reproduced
from graphnetz.engine.store import Store, to_json
from graphnetz.records import Cell, CellResult, Predictions, Protocol, recorded_protocols
from graphnetz.records.digests import cell_digest, digest_of, root_digest
from graphnetz.records.kept import Kept, pack_examples, read_examples
from graphnetz.report import BenchmarkReport, TaskInfo, integrity, jsonio
from graphnetz.report.sections import planned_and_read
from graphnetz.report.write import report_texts


@dataclasses.dataclass
class Tally:
    """What was tried, what held, and what broke in which way."""

    name: str
    tried: int = 0
    held: int = 0
    refused: int = 0
    broken: list[str] = dataclasses.field(default_factory=list)

    def count(self, outcome: str, what: str) -> None:
        self.tried += 1
        if outcome in ("refused", "same"):
            self.held += 1
            self.refused += outcome == "refused"
        else:
            self.broken.append(f"{what}: {outcome}")

    def __str__(self) -> str:
        line = f"{self.name}: tried {self.tried}, held {self.held} ({self.refused} refused), broken {len(self.broken)}"
        return "\n".join([line, *(f"  {item}" for item in self.broken[:20])])


def make_run(
    folder: Path, *, tasks: int = 2, models: int = 3, seeds: int = 4, examples: int = 40, salt: int = 0
) -> Path:
    """Write a run folder as the engine does, of cells that were never trained; some of them failed."""
    rng = np.random.default_rng(salt)
    protocol = Protocol(epochs=3)
    names = [f"model{m}" for m in range(models)]
    info = {f"task{t}": TaskInfo("test_acc", label="accuracy", replication="resplit", test_ratio=0.2, n_test=examples)
            for t in range(tasks)}  # fmt: skip
    cells, results = [], []
    for task in info:
        for seed in range(seeds):
            target, ids = rng.integers(0, 3, examples), np.sort(rng.choice(5 * examples, examples, replace=False))
            for m, model in enumerate(names):
                key = hashlib.sha256(f"{task} {model} {seed}".encode()).hexdigest()[:40]
                cells.append(Cell(key, task, model, seed, protocol))
                if seed == seeds - 1 and m == models - 1 and task == "task0":
                    results.append(
                        CellResult(key, task, model, seed, status="timeout", error="over 60 s", seconds=60.0)
                    )
                    continue
                guess = np.where(rng.random(examples) < 0.6 + 0.1 * m, target, rng.integers(0, 3, examples))
                share = float((guess == target).mean())
                kept = Predictions(ids, target, guess.astype(np.uint8), unit="node", one_graph=True, total=examples)
                results.append(CellResult(
                    key, task, model, seed, metric="test_acc", metrics={"test_acc": share, "val_acc": share / 2},
                    history={"test_acc": rng.random(3).tolist()}, epochs=3, seconds=float(rng.random()),
                    peak_memory=1e6, parameters=100 * (m + 1), environment="synthetic", replication="resplit",
                    n_train=5 * examples, n_test=examples, predictions=kept, protocol=protocol,
                ))  # fmt: skip
    with Store.create(folder) as store:
        body = plan_body(info, cells, models=names, seeds=range(seeds), rule=None, search=None)
        store.plan(cells)
        register(store, body, folder)
        store.adopt(results)
        store.write_environment("synthetic", {"python": "3.11"})
        config = {"suite": None, "models": names, "tasks": list(info), "seeds": list(range(seeds)), "baselines": [],
                  **recorded_protocols(cells), "search": None}  # fmt: skip
        report = BenchmarkReport.from_results(
            list(store.results([cell.key for cell in cells])),
            tasks=info,
            models=names,
            seeds=range(seeds),
            config=config,
        )
        report.examples_in = folder
        report.sections = planned_and_read(report, registered(store, len(report.results)))
        write_examples(report, store, cells, folder)
        write_outputs_without_figures(report, store, folder)
    return folder


def write_outputs_without_figures(report: BenchmarkReport, store: Store, folder: Path) -> None:
    """Write the files of a run folder; figures would take most of the time."""
    report.write = lambda where: type(report).write(report, where, figures=False)  # type: ignore[method-assign]
    write_outputs(report, store, folder, started=time.time())


def exported(folder: Path) -> dict[str, Any]:
    """Return everything that readers get out of a run folder, as one value per way of reading."""
    out: dict[str, Any] = {}
    for name, read in (("report", lambda: _texts(load_report(folder))), ("live", lambda: _facts(live_report(folder))),
                       ("store", lambda: _store(folder))):  # fmt: skip
        try:
            with warnings.catch_warnings(), contextlib.redirect_stderr(io.StringIO()):
                warnings.simplefilter("ignore")
                out[name] = read()
        except GraphnetzError as error:
            out[name] = f"refused: {error}" if "\n" not in str(error) else "more than one line"
        except Exception as error:  # what a user would see as a traceback
            out[name] = f"traceback: {type(error).__name__}: {error}"
    return out


def _facts(report: BenchmarkReport) -> str:
    """All that the writers see: the same facts give the same bytes, and comparing them spares the page."""
    kept = []
    for task in report.task_info:
        found = report.analysis.facts.examples(task)
        if found is not None:
            kept.append((task, found.reason, found.examples.tolist(), [v.tolist() for v in found.values.values()]))
    cells = [dataclasses.replace(r, predictions=None) for r in report.results]
    return repr((cells, report.task_info, report.config, report.sections, report.absent, report.seeds, report.models,
                 report.provenance, report.histories, kept))  # fmt: skip


def _texts(report: BenchmarkReport) -> dict[str, str]:
    facts = _facts(report)
    if facts not in _PAGES:
        _PAGES[facts] = report_texts(report, report.sections)
    return _PAGES[facts]


_PAGES: dict[str, dict[str, str]] = {}


def _store(folder: Path) -> str:
    with Store.open(folder, readonly=True) as store, tempfile.TemporaryDirectory() as scratch:
        to_json(store, Path(scratch) / "cells.json")
        rest = (store.counts(), store.durations(), store.read_meta(), store.read_environments(), store.read_sections())
        return (Path(scratch) / "cells.json").read_text() + repr(rest)


def outcome(folder: Path, before: dict[str, Any]) -> str:
    """Say what readers make of a changed folder: ``refused``, ``same``, or how it broke."""
    after = exported(folder)
    verdicts = set()
    for name, value in after.items():
        if isinstance(value, str) and value.startswith("refused: "):
            verdicts.add("refused")
        elif value == before[name]:
            verdicts.add("same")
        else:
            return (
                f"{name} {str(value)[:200] if isinstance(value, str) and value.startswith('traceback') else 'differs'}"
            )
    return "refused" if "refused" in verdicts else "same"


def flips(count: int, *, salt: int = 0) -> list[Tally]:
    """Flip single bits of the store, of results.json, of the predictions and of digest.json."""
    rng = random.Random(salt)
    tallies = []
    with tempfile.TemporaryDirectory() as scratch:
        honest = make_run(Path(scratch) / "honest")
        before = exported(honest)
        if wrong := [value for value in before.values() if isinstance(value, str) and value.startswith(("ref", "tra"))]:
            raise SystemExit(f"the honest folder is not read: {wrong[0]}")
        for name in ("store.sqlite", "results.json", "examples/task0.bin", "digest.json"):
            tally = Tally(f"bit flips in {name}")
            original = (honest / name).read_bytes()
            for _ in range(count):
                place, bit = rng.randrange(len(original)), rng.randrange(8)
                bad = bytearray(original)
                bad[place] ^= 1 << bit
                (honest / name).write_bytes(bytes(bad))
                tally.count(outcome(honest, before), f"byte {place}, bit {bit}")
            (honest / name).write_bytes(original)
            tallies.append(tally)
    return tallies


def redigested(raw: dict[str, Any]) -> dict[str, Any]:
    """Compute all digests of a ``results.json`` again, as somebody would who knows how they are made."""
    body = {key: value for key, value in raw.items() if key != "digest"}
    found = jsonio._results(body, {item["name"]: jsonio._task(item) for item in body["tasks"]})
    for cell, result in zip(body["cells"], found, strict=True):
        cell["digest"] = cell_digest(result)
    root = root_digest((r.task, r.model, r.seed, cell_digest(r)) for r in found)
    return body | {"digest": {"body": digest_of(body), "root": root}}


def _json(change: Callable[[dict[str, Any]], Any], *, recomputed: bool = False) -> Callable[[Path], None]:
    """Tamper with results.json; ``recomputed``: and compute its digests again."""

    def tamper(folder: Path) -> None:
        path = folder / "results.json"
        raw = json.loads(path.read_text())
        change(raw)
        raw = redigested(raw) if recomputed else raw
        path.write_text(json.dumps(raw, ensure_ascii=False, indent=1) + "\n")
        if recomputed:
            integrity.write_digests(folder, raw["cells"], json.loads((folder / "digest.json").read_text())["files"])

    return tamper


def _sql(*statements: str) -> Callable[[Path], None]:
    def tamper(folder: Path) -> None:
        with contextlib.closing(sqlite3.connect(folder / "store.sqlite", isolation_level=None)) as db:
            for statement in statements:
                db.execute(statement)

    return tamper


def _text(name: str, old: str, new: str) -> Callable[[Path], None]:
    def tamper(folder: Path) -> None:
        text = (folder / name).read_text()
        if old not in text:
            raise AssertionError(f"{name} does not hold {old!r}")
        (folder / name).write_text(text.replace(old, new, 1))

    return tamper


def _predictions(change: Callable[[Kept], Kept], *, hidden: bool = False) -> Callable[[Path], None]:
    """Tamper with the predictions of a task; ``hidden``: without a digest.json that could tell."""

    def tamper(folder: Path) -> None:
        kept = [
            change(cell) if (cell.model, cell.seed) == ("model0", 0) else cell
            for cell in read_examples(folder, "task0")
        ]
        (folder / "examples" / "task0.bin").write_bytes(pack_examples("task0", kept))
        if hidden:
            (folder / "digest.json").unlink()

    return tamper


def _other_scores(cell: Kept) -> Kept:
    return cell._replace(predictions=dataclasses.replace(cell.predictions, score=cell.predictions.score[::-1].copy()))


def _other_labels(cell: Kept) -> Kept:
    return cell._replace(predictions=dataclasses.replace(cell.predictions, target=cell.predictions.target[::-1].copy()))


def _score(raw: dict[str, Any]) -> None:
    raw["cells"][0]["metrics"]["test_acc"] += 0.05


def _swap(raw: dict[str, Any]) -> None:
    one, two = raw["cells"][0], next(cell for cell in raw["cells"] if cell["model"] == "model1")
    one["metrics"], two["metrics"] = two["metrics"], one["metrics"]


def _drop_seed(raw: dict[str, Any]) -> None:
    raw["cells"] = [cell for cell in raw["cells"] if cell["seed"] != 1]
    raw["seeds"].remove(1)


def _rename(raw: dict[str, Any]) -> None:
    text = json.dumps(raw).replace("model0", "winner")
    raw.clear()
    raw.update(json.loads(text))


def _revive(raw: dict[str, Any]) -> None:
    cell = next(cell for cell in raw["cells"] if cell["status"] != "ok")
    cell |= {"status": "ok", "metrics": {"test_acc": 0.99}}


def _strip(raw: dict[str, Any]) -> None:
    """Make it look like a file from before there were digests."""
    _score(raw)
    raw["schema_version"] = 1
    del raw["digest"]
    for cell in raw["cells"]:
        del cell["digest"]


TAMPERINGS: dict[str, Callable[[Path], None]] = {
    "edited score in results.json": _json(_score),
    "swapped cells in results.json": _json(_swap),
    "dropped seed": _json(_drop_seed),
    "dropped cell": _json(lambda raw: raw["cells"].pop(3)),
    "added cell": _json(lambda raw: raw["cells"].append(raw["cells"][0] | {"seed": 77})),
    "cell listed twice": _json(lambda raw: raw["cells"].append(dict(raw["cells"][0]))),
    "renamed model": _json(_rename),
    "changed metric direction": _json(lambda raw: raw["tasks"][0].update(greater_is_better=False)),
    "changed replication": _json(lambda raw: raw["tasks"][0].update(replication="regenerate")),
    "edited protocol": _json(lambda raw: raw["config"]["protocols"]["task0"].update(epochs=300)),
    "removed failures": _json(lambda raw: raw.update(cells=[c for c in raw["cells"] if c["status"] == "ok"])),
    "failure turned into a score": _json(_revive),
    "edited parameter count": _json(lambda raw: raw["cells"][0].update(parameters=1)),
    "edited section": _json(lambda raw: raw["sections"][0].update(verdict="All is as planned.")),
    "digests stripped": _json(_strip),
    "edited score, digests recomputed": _json(_score, recomputed=True),
    "dropped seed, digests recomputed": _json(_drop_seed, recomputed=True),
    "renamed model, digests recomputed": _json(_rename, recomputed=True),
    "edited score in the store": _sql("UPDATE cells SET value = 0.99, metrics = '{\"test_acc\": 0.99}' "
                                      "WHERE position = 1"),
    "swapped cells in the store": _sql("UPDATE cells SET model = CASE model WHEN 'model0' THEN 'model1' WHEN 'model1' "
                                       "THEN 'model0' ELSE model END"),
    "deleted cells of the store": _sql("DELETE FROM cells WHERE seed = 1"),
    "added cell of the store": _sql("INSERT INTO cells(key, task, model, seed, status, metric, value, metrics, "
                                    "protocol) SELECT 'x', task, model, 99, status, metric, 1.0, metrics, protocol "
                                    "FROM cells LIMIT 1"),
    "failure of the store turned into a score": _sql("UPDATE cells SET status = 'ok' WHERE status = 'timeout'"),
    "changed direction in the store": _sql("UPDATE cells SET greater_is_better = 0"),
    "edited protocol in the store": _sql("UPDATE protocols SET body = replace(body, '\"epochs\":3', '\"epochs\":9')"),
    "edited plan in the store": _sql("UPDATE meta SET value = replace(value, 'Holm', 'none') "
                                     "WHERE name = 'analysis_plan'"),
    "edited seconds in the store": _sql("UPDATE cells SET seconds = 0.001"),
    "exchanged predictions in the store": _sql("UPDATE details SET predictions = (SELECT predictions FROM details "
                                               "ORDER BY rowid DESC LIMIT 1)"),
    "deleted digests of the store": _sql("DELETE FROM digests", "DELETE FROM seal"),
    "trigger in the store": _sql("CREATE TRIGGER t AFTER UPDATE ON cells BEGIN SELECT 1; END"),
    "edited predictions": _predictions(_other_scores),
    "edited predictions without digest.json": _predictions(_other_scores, hidden=True),
    "edited labels": _predictions(_other_labels),
    "edited labels without digest.json": _predictions(_other_labels, hidden=True),
    "edited summary.csv": _text("summary.csv", "0.", "0.9"),
    "edited results.tex": _text("results.tex", "0.", "0.9"),
    "edited pairwise.csv": _text("pairwise.csv", "0.", "0.9"),
    "edited digest.json": _text("digest.json", '"0": "', '"7": "'),
}  # fmt: skip
"""Ways to change a run folder. Every one must be refused by whoever reads it."""


def tampering() -> Tally:
    """Tamper with a run folder in every way that is listed: readers must refuse it in one sentence."""
    tally = Tally("kinds of tampering")
    with tempfile.TemporaryDirectory() as scratch:
        clean = make_run(Path(scratch) / "clean")
        before = exported(clean)
        for name, tamper in TAMPERINGS.items():
            folder = Path(shutil.copytree(clean, Path(scratch) / "changed"))
            tamper(folder)
            found = outcome(folder, before)
            tally.count("not noticed" if found == "same" else found, name)
            shutil.rmtree(folder)
    return tally


def forgeries(draws: int, *, forged: int = 3, retrain: int = 6) -> tuple[Tally, float]:
    """Forge cells with all digests computed again: retraining must find them as often as it says.

    Returns the tally and the probability that it states. What is trained again is what an honest folder holds.
    """
    tally = Tally("forgeries found by retraining")
    with tempfile.TemporaryDirectory() as scratch:
        folder = make_run(Path(scratch) / "run", models=2)
        report = load_report(folder)
        truth = {(r.task, r.model, r.seed): r for r in report.results}
        able = [r for r in report.results if r.ok]
        wrong = set(random.Random(1).sample(range(len(able)), forged))
        changed = [dataclasses.replace(r, metrics={k: v + 0.1 for k, v in r.metrics.items()}) if i in wrong else r
                   for i, r in enumerate(able)]  # fmt: skip
        bad = dataclasses.replace(report, results=changed)

        def train(_: Any, wanted: Any, *__: Any) -> list[Reproduced]:
            rows = []
            for r in wanted:
                now = truth[r.task, r.model, r.seed].metrics["test_acc"]
                verdict = "exact" if now == r.metrics["test_acc"] else "differs"
                rows.append(Reproduced(r.task, r.model, r.seed, "test_acc", r.metrics["test_acc"], now, verdict))
            return rows

        for draw in range(draws):
            found = verification.Verified()
            verification.check_sample(found, bad, folder, retrain=retrain, draw=draw, train=train, known=lambda _: {})
            tally.tried += 1
            tally.held += not found.ok
        chance = 1 - math.comb(len(able) - forged, retrain) / math.comb(len(able), retrain)
    return tally, chance


def honest(count: int) -> Tally:
    """Write honest folders, read each in every way and write it again: none may be refused or changed."""
    tally = Tally("honest folders")
    with tempfile.TemporaryDirectory() as scratch:
        for salt in range(count):
            folder = make_run(Path(scratch) / str(salt), tasks=1 + salt % 2, models=2 + salt % 3, salt=salt, seeds=3)
            first = exported(folder)
            alarm = [f"{k}: {v[:200]}" for k, v in first.items() if isinstance(v, str) and v.startswith(("ref", "tra"))]
            text = (folder / "results.json").read_text()
            if not alarm and load_report(folder).to_json(histories=False) != text:
                alarm = ["results.json is written differently"]
            if not alarm:
                bundle = submit(folder, out=Path(scratch) / f"{salt}.zip")
                alarm = [*verification.verify(bundle, retrain=0).wrong, *verification.verify(folder, retrain=0).wrong]
            tally.count("same" if not alarm else alarm[0], f"folder {salt}")
            shutil.rmtree(folder)
    return tally


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--flips", type=int, default=1000, help="bit flips in each file")
    parser.add_argument("--honest", type=int, default=100, help="honest folders")
    options = parser.parse_args()
    forged, chance = forgeries(1000)
    tallies = [tampering(), *flips(options.flips), honest(options.honest)]
    print("\n".join(map(str, tallies)))
    print(f"{forged.name}: {forged.held} of {forged.tried} draws, stated {chance:.3f}")
    far = abs(forged.held / forged.tried - chance) > 4 * math.sqrt(chance * (1 - chance) / forged.tried)
    counts = {tally.name: [tally.tried, tally.held, len(tally.broken)] for tally in tallies}
    print(json.dumps(counts | {"forgeries found as often as stated": [1, int(not far), int(far)]}))
    return int(any(tally.broken for tally in tallies) or far)


if __name__ == "__main__":
    sys.exit(main())
