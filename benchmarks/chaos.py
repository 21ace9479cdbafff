"""Kill processes of a run at random and at every named step; nothing may be lost, doubled or changed.

``python benchmarks/chaos.py`` runs the whole matrix (`make chaos`); the short form is in
``tests/engine``. ``python benchmarks/chaos.py drive FOLDER`` is one driver, the thing that is killed.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import psutil

from graphnetz.engine.executors import EXECUTORS, Limits, LocalExecutor, drive, worker_process
from graphnetz.engine.store import Store, to_json
from graphnetz.records import Cell, CellResult, Protocol

STEPS = ("claim", "load", "train", "commit", "committed", "report")
TIMELESS = ("key", "task", "model", "seed", "status", "metric", "value", "metrics", "error")


def plan(n: int) -> list[Cell]:
    protocol = Protocol()
    return [Cell(f"cell{i:04d}", f"task{i // 10}", f"model{i // 5 % 2}", i, protocol) for i in range(n)]


def expected(cell: Cell) -> CellResult:
    """What a cell must come out as: a pure function of the cell."""
    rng = random.Random(cell.seed)
    history = {"loss": [rng.random() for _ in range(50)]}
    metrics = {"test_acc": history["loss"][-1]}
    return CellResult(cell.key, cell.task, cell.model, cell.seed, metric="test_acc", metrics=metrics, history=history)


def die(pid: int) -> None:
    os.kill(pid, signal.SIGKILL)
    time.sleep(10)  # not reached by the one that dies; a worker waits for its end here


def run_driver(options: argparse.Namespace) -> None:
    """Plan, run what is missing, export. With ``--die STEP`` the driver is killed at that step."""
    worker_process._ENVIRONMENT[False] = "chaos"  # spares a torch import per start
    driver, unlucky = os.getpid(), options.cells // 2

    def run_one(cell: Cell) -> CellResult:
        if options.die == "load" and cell.seed == unlucky:
            die(driver)
        time.sleep(options.sleep)
        if options.die == "train" and cell.seed == unlucky:
            die(driver)
        return expected(cell)

    store = Store.create(options.folder)
    cells = plan(options.cells)
    store.plan(cells)
    log = (Path(options.folder) / "accepted.log").open("a", buffering=1)

    def started(cell: Cell) -> None:
        if options.die == "claim" and cell.seed == unlucky:
            die(driver)
        if options.die == "commit" and cell.seed == unlucky:
            store.db.set_trace_callback(lambda sql: die(driver) if sql == "COMMIT" else None)

    def accepted(result: CellResult) -> None:
        if options.die == "committed" and result.seed == unlucky:
            die(driver)
        log.write(f"{result.key}\n")

    executor = LocalExecutor(workers=options.workers, retries=1000) if options.executor == "local" else None
    executor = executor or EXECUTORS[options.executor]()
    drive(store, cells, run_one, executor=executor, limits=Limits(seconds=30), lease_seconds=options.lease,
          on_start=started, on_result=accepted)  # fmt: skip
    if options.die == "report":
        os.replace = lambda *_: die(driver)  # the temporary file is written, the report is not there yet
    to_json(store, Path(options.folder) / "results.json")
    store.close()


@dataclasses.dataclass
class Tally:
    kills: int = 0
    drivers: int = 0
    nurseries: int = 0
    workers: int = 0
    starts: int = 0


def start(folder: Path, **options: object) -> subprocess.Popen[bytes]:
    flags = [part for name, value in options.items() for part in (f"--{name}", str(value))]
    program = [sys.executable, str(Path(__file__).resolve()), "drive", str(folder), *flags]
    return subprocess.Popen(program, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def descendants(pid: int) -> list[psutil.Process]:
    with contextlib.suppress(psutil.NoSuchProcess):
        return psutil.Process(pid).children(recursive=True)
    return []


def _lives(process: psutil.Process) -> bool:
    """Whether a process still runs; one that goes away while it is asked does not."""
    with contextlib.suppress(psutil.NoSuchProcess):
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    return False


def still_alive(processes: list[psutil.Process], seconds: float = 2.0) -> list[psutil.Process]:
    deadline = time.monotonic() + seconds
    while alive := [p for p in processes if _lives(p)]:
        if time.monotonic() > deadline:
            return alive
        time.sleep(0.02)
    return []


def kill_driver(runner: subprocess.Popen[bytes]) -> None:
    """Kill -9 a driver and insist that its whole family is gone within two seconds."""
    family = descendants(runner.pid)
    runner.kill()
    runner.wait()
    left = still_alive(family)
    if left:
        raise AssertionError(f"alive 2 s after the driver was killed: {left}")


def storm(folder: Path, *, kills: int, rng: random.Random, runners: int = 1, driver_share: float = 0.2,
          launch: Callable[[], subprocess.Popen[bytes]] | None = None, **options: object) -> Tally:  # fmt: skip
    """Keep ``runners`` drivers going and kill processes until the plan is done; return what was killed."""
    tally = Tally()
    crews: list[subprocess.Popen[bytes] | None] = [None] * runners
    while True:
        for i, crew in enumerate(crews):
            if crew is None or (crew.poll() is not None and crew.returncode != 0):
                if crew is not None and crew.returncode != -signal.SIGKILL:
                    raise AssertionError(f"a driver failed on its own: {crew.stderr.read().decode()[-2000:]}")
                crews[i] = launch() if launch is not None else start(folder, **options)
                tally.starts += 1
        if all(crew.poll() == 0 for crew in crews):
            return tally
        time.sleep(rng.uniform(0.02, 0.25))
        alive = [crew for crew in crews if crew.poll() is None]
        if tally.kills >= kills or not alive:
            continue
        crew = rng.choice(alive)
        family = descendants(crew.pid)
        if not family:
            continue
        tally.kills += 1
        if rng.random() < driver_share:
            kill_driver(crew)
            tally.drivers += 1
            continue
        victim = rng.choice(family)
        with contextlib.suppress(psutil.NoSuchProcess):
            tally.nurseries += victim.ppid() == crew.pid
            tally.workers += victim.ppid() != crew.pid
            victim.kill()


def verify(folder: Path, n: int) -> None:
    """Every cell once, every value as if nothing had happened, every commit accepted once."""
    with Store.open(folder, readonly=True) as store:
        results = list(store.results())
        assert store.db.execute("PRAGMA integrity_check").fetchone()[0] == "ok"
        assert store.counts() == {"ok": n}, store.counts()
    truth = [expected(cell) for cell in plan(n)]
    assert [r.key for r in results] == [r.key for r in truth], "lost or doubled"
    for result, wanted in zip(results, truth, strict=True):
        assert (result.metrics, result.history, result.status) == (wanted.metrics, wanted.history, "ok")
    accepted = (folder / "accepted.log").read_text().split()
    assert len(accepted) == len(set(accepted)), "a cell was accepted twice"


def timeless(folder: Path) -> str:
    """The exported results without what depends on the clock."""
    cells = json.loads((folder / "results.json").read_text())["cells"]
    return json.dumps([{name: cell[name] for name in TIMELESS} for cell in cells])


def die_at(folder: Path, step: str, **options: object) -> None:
    """Kill the driver at one named step, then start it again without."""
    first = start(folder, die=step, **options)
    assert first.wait(120) == -signal.SIGKILL, (step, first.stderr.read().decode()[-2000:])
    assert not (folder / "results.json").exists()
    second = start(folder, **options)
    assert second.wait(120) == 0, (step, second.stderr.read().decode()[-2000:])


def matrix(base: Path, *, seed: int, scale: int) -> None:
    rng = random.Random(seed)
    total = Tally()
    calm = base / "calm"
    assert start(calm, cells=60, sleep=0, workers=2).wait(120) == 0
    verify(calm, 60)
    wanted = timeless(calm)
    for step in STEPS:
        folder = base / f"step-{step}"
        die_at(folder, step, cells=60, sleep=0.002, workers=2)
        verify(folder, 60)
        assert timeless(folder) == wanted, step
        total.kills += 1
        total.drivers += 1
        print(f"killed at {step}: complete and equal")
    plans = [("one runner", {"runners": 1}), ("two runners", {"runners": 2}),
             ("drivers only", {"runners": 1, "driver_share": 1.0})]  # fmt: skip
    for round_ in range(scale):
        for name, shape in plans:
            folder = base / f"{name}-{round_}"
            begin = time.monotonic()
            tally = storm(folder, kills=25, rng=rng, cells=60, sleep=0.15, workers=2, lease=5, **shape)
            verify(folder, 60)
            assert timeless(folder) == wanted, name
            for field in dataclasses.fields(Tally):
                setattr(total, field.name, getattr(total, field.name) + getattr(tally, field.name))
            print(f"{name}: {tally}, {time.monotonic() - begin:.1f} s: complete and equal")
    stored = total.kills
    whole_runs(base / "runs", total, rng)
    print(f"total: {total}")
    assert scale < 2 or total.kills >= 100, total
    # Whatever was lost, doubled or changed would have ended this program before.
    counts = {"kills of the engine": stored, "kills of graphnetz run": total.kills - stored}
    print(json.dumps({name: [count, count, 0] for name, count in counts.items()}))


def whole_runs(base: Path, total: Tally, rng: random.Random) -> None:
    """The same for ``graphnetz run`` with real tasks, down to the bytes of its result files."""
    steps = subprocess.run([sys.executable, str(Path(__file__).with_name("chaos_runs.py")), str(base)], check=True,
                           stdout=subprocess.PIPE, text=True)  # fmt: skip
    print(steps.stdout, end="")
    total.kills += steps.stdout.count("killed at")
    from chaos_runs import storm_of_runs

    for name, shape in (("one", {"runners": 1}), ("two", {"runners": 2})):
        tally = storm_of_runs(base / f"storm-{name}", storm, base / "calm" / "run", kills=8, rng=rng, **shape)
        for field in dataclasses.fields(Tally):
            setattr(total, field.name, getattr(total, field.name) + getattr(tally, field.name))
        print(f"graphnetz run, {name} runner(s): {tally}: result files equal to the byte")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(dest="command")
    one = commands.add_parser("drive")
    one.add_argument("folder")
    one.add_argument("--cells", type=int, default=60)
    one.add_argument("--sleep", type=float, default=0.05)
    one.add_argument("--workers", type=int, default=2)
    one.add_argument("--lease", type=float, default=60)
    one.add_argument("--executor", default="local")
    one.add_argument("--die", choices=STEPS)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--scale", type=int, default=2, help="rounds of the random storms")
    options = parser.parse_args()
    if options.command == "drive":
        run_driver(options)
        return
    with tempfile.TemporaryDirectory(prefix="graphnetz-chaos-") as base:
        matrix(Path(base), seed=options.seed, scale=options.scale)


if __name__ == "__main__":
    main()
