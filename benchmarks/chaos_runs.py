"""Kill ``graphnetz run`` itself, at every step and at random: its result files must not change by one byte.

``python benchmarks/chaos_runs.py FOLDER [STEP ...]`` runs once undisturbed, then once more with a kill -9 at
each step, and compares. Imports are paid once: every driver is forked from a process that has them.
``benchmarks/chaos.py`` calls `storm_of_runs` too, where every driver is a fresh ``python -m graphnetz``.
"""

from __future__ import annotations

import argparse
import os
import re
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

RUN = (
    "run", "--suite", "first-default", "--task", "sbm_communities", "--task", "breast_cancer_knn", "--model", "GCN",
    "--model", "Majority", "--seeds", "2", "--epochs", "3", "--workers", "2", "--out", "run", "--quiet",
)  # fmt: skip
MAY_DIFFER = ("provenance.json", "costs.csv", "store.sqlite", "pareto.pdf", "pareto.png")  # times of one machine
PROVENANCE = re.compile(rb"<!-- provenance -->.*<!-- /provenance -->", re.DOTALL)
REPORT_FILES = ("results.json", "pairwise.csv", "report.html", "provenance.json")
STEPS = ("claim", "load", "train", "worker", "commit", *(f"report:{name}" for name in REPORT_FILES))


def die(pid: int) -> None:
    os.kill(pid, signal.SIGKILL)
    time.sleep(10)  # not reached by the one that dies; a worker waits for its end here


def before(owner: Any, name: str, act: Callable[..., None]) -> None:
    """Call ``act`` with the arguments of ``owner.name`` each time before it runs."""
    original = getattr(owner, name)

    def wrapped(*arguments: Any, **options: Any) -> Any:
        act(*arguments)
        return original(*arguments, **options)

    setattr(owner, name, wrapped)


def lay_trap(step: str, mark: Path) -> None:
    """Make this process, a driver that is about to run, die at ``step``; or one worker of it, once."""
    import torch

    from graphnetz.engine.store import Store
    from graphnetz.engine.worker import Workbench

    driver, seen = os.getpid(), []

    def in_worker(*_: Any) -> None:
        if os.getpid() != driver:
            die(driver)

    def lose_one_worker(*_: Any) -> None:
        if os.getpid() != driver and not mark.exists():
            mark.touch()
            die(os.getpid())

    def third_claim(*_: Any) -> None:
        seen.append(1)
        if len(seen) == 3:  # two cells are claimed and in work
            die(driver)

    def inside_commit(store: Any, *_: Any) -> None:
        store.db.set_trace_callback(lambda statement: die(driver) if statement == "COMMIT" else None)

    def half_a_report(_: Any, target: Any) -> None:
        if Path(target).name == step.partition(":")[2]:
            die(driver)

    match step.partition(":")[0]:
        case "claim":
            before(Store, "claim", third_claim)
        case "load":
            before(Workbench, "load", in_worker)
        case "train":
            before(torch.Tensor, "backward", in_worker)
        case "worker":
            before(torch.Tensor, "backward", lose_one_worker)
        case "commit":
            before(Store, "finish", inside_commit)
        case "report":
            before(os, "replace", half_a_report)


def forked_run(folder: Path, step: str | None = None) -> int:
    """Run the benchmark in a forked driver below ``folder``; return its exit code, negative for a signal."""
    child = os.fork()
    if child == 0:
        code = 70
        try:
            folder.mkdir(parents=True, exist_ok=True)
            os.chdir(folder)
            if step is not None:
                lay_trap(step, folder / "lost-a-worker")
            from graphnetz.cli.app import run_app

            sys.stdout = open(os.devnull, "w")  # noqa: SIM115
            code = run_app(list(RUN))
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def result_files(folder: Path) -> dict[str, bytes]:
    """Everything in a run folder that the same cells must give again, by name."""
    found = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.name not in MAY_DIFFER:
            content = path.read_bytes()
            found[str(path.relative_to(folder))] = PROVENANCE.sub(b"", content) if path.suffix == ".html" else content
    return found


def differences(one: Path, other: Path) -> list[str]:
    """Names of result files that are missing on one side or differ."""
    a, b = result_files(one), result_files(other)
    return sorted(name for name in a.keys() | b.keys() if a.get(name) != b.get(name))


def undisturbed(base: Path) -> Path:
    code = forked_run(base / "calm")
    assert code == 0, f"the undisturbed run ended with {code}"
    assert "report.html" in result_files(base / "calm" / "run")
    return base / "calm" / "run"


def kill_at(base: Path, steps: tuple[str, ...], calm: Path) -> int:
    """Kill sittings of one run one after another, each at its step; the last sitting must complete the run."""
    folder = base / "-".join(step.replace(":", "-") for step in steps)
    kills = 0
    for step in steps:
        code = forked_run(folder, step)
        wanted = 0 if step == "worker" else -signal.SIGKILL  # a lost worker is replaced, a driver is not
        assert code == wanted, (step, code)
        assert step != "worker" or (folder / "lost-a-worker").exists()
        kills += 1
        print(f"graphnetz run killed at {step}", flush=True)
    assert forked_run(folder) == 0
    assert differences(folder / "run", calm) == [], (steps, differences(folder / "run", calm))
    verify(folder / "run")
    return kills


def verify(folder: Path) -> None:
    """Every planned cell once and done."""
    from graphnetz.engine.store import Store

    with Store.open(folder, readonly=True) as store:
        assert store.counts() == {"ok": 8}, store.counts()
        assert store.db.execute("PRAGMA integrity_check").fetchone()[0] == "ok"


def storm_of_runs(base: Path, storm: Callable[..., Any], calm: Path, **options: Any) -> Any:
    """Random kills of fresh ``python -m graphnetz run`` processes and their workers."""
    base.mkdir(parents=True)

    def launch() -> subprocess.Popen[bytes]:
        program = [sys.executable, "-m", "graphnetz", *RUN]
        return subprocess.Popen(program, cwd=base, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)

    tally = storm(base, launch=launch, **options)
    assert differences(base / "run", calm) == [], differences(base / "run", calm)
    verify(base / "run")
    return tally


def prepare() -> None:
    """Import and compile what every driver needs, so that forked ones share it."""
    import graphnetz.cli.show
    import graphnetz.engine.run
    import graphnetz.kernels as kernels
    import graphnetz.report.write  # noqa: F401

    kernels.load()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("steps", nargs="*", help=f"killed at in this order on one folder; some of {', '.join(STEPS)}")
    options = parser.parse_args()
    prepare()
    base = options.folder.resolve()
    calm = undisturbed(base)
    if options.steps:
        kill_at(base, tuple(options.steps), calm)
        return
    for step in STEPS:
        kill_at(base, (step,), calm)


if __name__ == "__main__":
    main()
