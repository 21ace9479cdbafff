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
import random
import shutil
import sys
import tempfile
import time
import warnings
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from graphnetz._core.errors import GraphnetzError
from graphnetz.cli.load import live_report, load_report
from graphnetz.engine.outputs import write_examples, write_outputs
from graphnetz.engine.preregistration import register, registered
from graphnetz.engine.store import Store, to_json
from graphnetz.analysis.registration import plan_body
from graphnetz.records import Cell, CellResult, Predictions, Protocol, recorded_protocols
from graphnetz.report import BenchmarkReport, TaskInfo
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


def make_run(folder: Path, *, tasks: int = 2, models: int = 3, seeds: int = 4, examples: int = 40, salt: int = 0) -> Path:
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
                    results.append(CellResult(key, task, model, seed, status="timeout", error="over 60 s", seconds=60.0))
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
    plan: Any = SimpleNamespace(info=info, cells=cells)
    with Store.create(folder) as store:
        body = plan_body(info, cells, models=names, seeds=range(seeds), rule=None, search=None)
        store.plan(cells)
        register(store, body, folder)
        store.adopt(results)
        store.write_environment("synthetic", {"python": "3.11"})
        config = {"suite": None, "models": names, "tasks": list(info), "seeds": list(range(seeds)), "baselines": [],
                  **recorded_protocols(cells), "search": None}  # fmt: skip
        report = BenchmarkReport.from_results(
            list(store.results([cell.key for cell in cells])), tasks=info, models=names, seeds=range(seeds), config=config
        )
        report.examples_in = folder
        report.sections = planned_and_read(report, registered(store, len(report.results)))
        write_examples(report, store, plan, folder)
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
    kept = [(task, found if found is None else (found.examples.tolist(), {m: v.tolist() for m, v in found.values.items()}))
            for task in report.task_info for found in [report.analysis.facts.examples(task)]]  # fmt: skip
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
            return f"{name} {str(value)[:200] if isinstance(value, str) and value.startswith('traceback') else 'differs'}"
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
            tally.count("same" if not alarm else alarm[0], f"folder {salt}")
            shutil.rmtree(folder)
    return tally


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--flips", type=int, default=1000, help="bit flips in each file")
    parser.add_argument("--honest", type=int, default=100, help="honest folders")
    options = parser.parse_args()
    tallies = [*flips(options.flips), honest(options.honest)]
    print("\n".join(map(str, tallies)))
    print(json.dumps({tally.name: [tally.tried, tally.held, len(tally.broken)] for tally in tallies}))
    return int(any(tally.broken for tally in tallies))


if __name__ == "__main__":
    sys.exit(main())
