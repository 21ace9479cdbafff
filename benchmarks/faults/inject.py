"""Fail the N-th write, sync, rename, open, unlink, truncation and allocation of a run, for every N.

``python -m faults.inject`` under the shim (`faults.shim.under`); prints one JSON object per kind of fault and the
broken ones. After each fault the run must have ended with a sentence or be complete, what is on the disk under a
file's name must be whole, and a second run must give every file of an undisturbed one to the byte.
"""

from __future__ import annotations

import argparse
import contextlib
import errno
import json
import os
import select
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from graphnetz._core.errors import GraphnetzError
from graphnetz.engine.store import Store

from . import shim
from .scenarios import SCENARIOS, Scenario, warm

PATIENCE = 45.0
"""Seconds that a disturbed run may take; longer is waiting without a word."""


@dataclass(frozen=True)
class Fault:
    """What fails: the n-th call of a kind, once or from then on."""

    kind: str
    error: int
    persistent: bool = False
    half: bool = False

    @property
    def name(self) -> str:
        """Words for a table."""
        extra = (" and all after" if self.persistent else "") + (", half written" if self.half else "")
        return f"{self.kind} {errno.errorcode.get(self.error, '')}{extra}".strip()


SHORT = (
    Fault("write", errno.ENOSPC), Fault("sync", errno.EIO), Fault("rename", errno.EIO), Fault("open", errno.EMFILE),
    Fault("unlink", errno.EIO), Fault("truncate", errno.EIO), Fault("sqlmalloc", errno.ENOMEM),
)  # fmt: skip
LONG = (
    *SHORT, Fault("write", errno.EIO), Fault("write", errno.ENOSPC, half=True),
    Fault("write", errno.ENOSPC, True, True), Fault("sync", errno.EIO, True), Fault("sync", errno.ENOSPC),
    Fault("rename", errno.EACCES, True), Fault("open", errno.EIO), Fault("open", errno.EACCES, True),
    Fault("sqlmalloc", errno.ENOMEM, True), Fault("malloc", errno.ENOMEM), Fault("malloc", errno.ENOMEM, True),
)  # fmt: skip


@dataclass
class Sitting:
    """How one run ended."""

    end: str  # complete, sentence, traceback, died, hangs
    words: str
    accepted: list[str]
    hits: int
    seconds: float


def sit(scenario: Scenario, folder: Path, prepare: Callable[[], None] | None = None) -> Sitting:
    """Run a scenario in a forked process; ``prepare`` arms the fault there."""
    reader, writer = os.pipe()
    began = time.monotonic()
    child = os.fork()
    if child == 0:
        os.close(reader)
        _in_child(scenario, folder, prepare, writer)
    os.close(writer)
    text, timed_out = _listen(reader, began + PATIENCE)
    if timed_out:
        os.kill(child, signal.SIGKILL)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    lines = [line.split("\t", 3) for line in text.splitlines()]
    accepted = [line[1] for line in lines if line[0] == "a"]
    last = next((line for line in lines if line[0] == "e"), None)
    seconds = time.monotonic() - began
    if last is None:
        return Sitting("hangs" if timed_out else "died", f"exit code {code}", accepted, 1, seconds)
    return Sitting(last[1], last[3], accepted, int(last[2]), seconds)


def _in_child(scenario: Scenario, folder: Path, prepare: Callable[[], None] | None, writer: int) -> None:
    end, words = "traceback", ""
    said = sys.stderr.fileno()
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, said)
    try:
        if prepare is not None:
            prepare()
        scenario.run(folder, lambda key: os.write(writer, f"a\t{key}\n".encode()) and None)
        hits, end = shim.disarm(), "complete"
    except GraphnetzError as error:
        hits, end, words = shim.disarm(), "sentence", str(error)
    except MemoryError as error:  # Python's own word for it; the command line has a sentence
        hits = shim.disarm()
        end, words = ("sentence", repr(error)) if scenario.name == "store" else (end, traceback.format_exc())
    except BaseException:
        hits = shim.disarm()
        words = traceback.format_exc()
    with contextlib.suppress(BaseException):
        os.write(writer, f"e\t{end}\t{hits}\t{words!r}\n".encode())
    os._exit(0)


def _listen(reader: int, deadline: float) -> tuple[str, bool]:
    parts = []
    while (left := deadline - time.monotonic()) > 0:
        if not select.select([reader], [], [], left)[0]:
            break
        part = os.read(reader, 1 << 16)
        if not part:
            os.close(reader)
            return b"".join(parts).decode(), False
        parts.append(part)
    os.close(reader)
    return b"".join(parts).decode(), True


def disturb(scenario: Scenario, fault: Fault, n: int, calm: dict[str, bytes], base: Path) -> tuple[Sitting, list[str]]:
    """Disturb one run and go on with it; return how it ended and what was not as it should be."""
    folder = base / "disturbed" / "run"
    shutil.rmtree(folder.parent, ignore_errors=True)
    folder.parent.mkdir(parents=True)

    def prepare() -> None:
        shim.watch(folder.parent)
        shim.arm(fault.kind, n, fault.error, persistent=fault.persistent, half=fault.half)

    first = sit(scenario, folder, prepare)
    wrong = (
        [f"the run ended as {first.end}: {first.words[-1500:]}"] if first.end not in ("complete", "sentence") else []
    )
    if first.end == "sentence" and not first.words.strip():
        wrong.append("the run ended without a word")
    there = scenario.files(folder) if folder.is_dir() else {}
    wrong += [f"{name} is not whole" for name, body in there.items() if body != calm.get(name)]
    if first.end == "complete" and there != calm:
        wrong.append(f"it said complete, but lacks {sorted(calm.keys() - there.keys())}")
    second = sit(scenario, folder)
    if second.end != "complete":
        wrong.append(f"the second run ended as {second.end}: {second.words[-1500:]}")
    else:
        wrong += after(scenario, folder, calm, [*first.accepted, *second.accepted])
    return first, wrong


def after(scenario: Scenario, folder: Path, calm: dict[str, bytes], accepted: list[str]) -> Iterator[str]:
    """Everything that is lost, doubled or false in a completed run."""
    found = scenario.files(folder)
    for name in sorted(found.keys() | calm.keys()):
        if found.get(name) != calm.get(name):
            yield f"{name} differs from an undisturbed run"
    if len(accepted) != len(set(accepted)):
        yield "a cell was accepted twice"
    with Store.open(folder, readonly=True) as store:
        if store.counts() != {"ok": scenario.cells}:
            yield f"the store holds {dict(store.counts())}"
        if store.db.execute("PRAGMA integrity_check").fetchone()[0] != "ok":
            yield "the store fails its integrity check"
        if lost := set(accepted) - {result.key for result in store.results(histories=False)}:
            yield f"accepted and lost: {sorted(lost)}"


def sweep(
    scenario: Scenario, fault: Fault, calm: dict[str, bytes], base: Path, *, first_n: int, stride: int, most: int
) -> dict[str, object]:
    """Disturb every ``stride``-th call until a run is over before its fault; at most ``most`` times."""
    ends: dict[str, int] = {}
    broken: list[dict[str, object]] = []
    tried, n = 0, first_n
    while tried < most:
        first, wrong = disturb(scenario, fault, n, calm, base)
        if first.hits == 0:
            if wrong:
                broken.append({"n": n, "wrong": wrong})
            break
        tried += 1
        ends[first.end] = ends.get(first.end, 0) + 1
        if wrong:
            broken.append({"n": n, "wrong": wrong})
        n += stride
    return {"scenario": scenario.name, "fault": fault.name, "tried": tried, "held": tried - len(broken),
            "ends": ends, "stride": stride, "broken": broken}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scenario", choices=sorted(SCENARIOS), default="store")
    parser.add_argument("--long", action="store_true")
    parser.add_argument("--persistent", action="store_true", help="only faults that do not go away")
    parser.add_argument("--kind", action="append", help="only these kinds")
    parser.add_argument("--stride", type=int, default=1, help="try every so-manieth call")
    parser.add_argument(
        "--malloc-stride", type=int, default=1, help="the same for allocations, of which there are many"
    )
    parser.add_argument("--first", type=int, default=1, help="begin with this call")
    parser.add_argument("--most", type=int, default=10**9, help="at most so many per fault")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="graphnetz-faults-", dir=shim.fast_folder()) as base:
        scenario = SCENARIOS[options.scenario]
        warm(options.scenario, Path(base) / "warm" / "run")
        calm_folder = Path(base) / "calm" / "run"
        calm_folder.parent.mkdir()
        calm_run = sit(scenario, calm_folder)
        assert calm_run.end == "complete", calm_run
        calm = scenario.files(calm_folder)
        for fault in LONG if options.long or options.persistent else SHORT:
            if (options.kind and fault.kind not in options.kind) or (options.persistent and not fault.persistent):
                continue
            stride = options.malloc_stride if "malloc" in fault.kind else options.stride
            print(
                json.dumps(
                    sweep(scenario, fault, calm, Path(base), first_n=options.first, stride=stride, most=options.most)
                ),
                flush=True,
            )


if __name__ == "__main__":
    main()
