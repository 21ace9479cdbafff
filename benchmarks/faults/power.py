"""Replay a loss of power: from the record of a run, build what a disk may hold afterwards, and open it.

A write or a name reaches the disk for certain when its file or folder was synced after it, and maybe otherwise. So a
state is a moment of the run, and of everything that was not synced by then any part: each write whole, torn or not
at all, in any order; each name made, renamed or removed, or not yet.

``python -m faults.power --states N`` under the shim (`faults.shim.under`) prints one JSON object.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import tempfile
import traceback
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from chaos import expected, plan
from graphnetz._core import paths
from graphnetz._core.errors import GraphnetzError
from graphnetz._core.paths import write_file
from graphnetz.engine.executors import drive
from graphnetz.engine.store import Store, database, new_owner, to_json

from . import shim
from .scenarios import CELLS, InProcess, store_files, store_run

SECTOR = 512
"""Bytes that a disk writes as one; a longer write can be torn between them."""


@dataclass(frozen=True)
class Op:
    """One line of the record."""

    what: str
    path: str
    other: str = ""
    offset: int = 0
    data: bytes = b""


def read_record(path: Path) -> list[Op]:
    """Read what the shim wrote."""
    ops, body, at = [], path.read_bytes(), 0
    while at < len(body):
        end = body.index(b"\n", at)
        what, name, other, offset, size = body[at:end].decode().split("\t")
        start = end + 1
        ops.append(Op(what, name, other, int(offset), body[start : start + int(size)]))
        at = start + int(size) + 1
    return ops


@dataclass
class Inode:
    """A file: what is on the disk for certain, and what was done since."""

    durable: bytes = b""
    pending: list[Op] = field(default_factory=list)


@dataclass
class Disk:
    """Names and files, each with what is certain and what is not."""

    names: dict[str, Inode] = field(default_factory=dict)  # as programs see them
    durable: dict[str, Inode] = field(default_factory=dict)  # as they are on the disk for certain
    pending: dict[str, list[tuple[str, Inode | None]]] = field(default_factory=dict)  # by folder

    def _name(self, path: str, inode: Inode | None) -> None:
        if inode is None:
            self.names.pop(path, None)
        else:
            self.names[path] = inode
        self.pending.setdefault(str(Path(path).parent), []).append((path, inode))

    def apply(self, op: Op) -> None:
        """Follow one operation."""
        if op.what in "cm":
            self._name(op.path, Inode())
        elif op.what in "wt":
            self.names[op.path].pending.append(op)
        elif op.what == "u":
            self._name(op.path, None)
        elif op.what == "r":
            inode = self.names[op.path]
            self._name(op.other, inode)
            self._name(op.path, None)
        elif op.what == "s":
            for path, inode in self.pending.pop(op.path, []):
                if inode is None:
                    self.durable.pop(path, None)
                else:
                    self.durable[path] = inode
            if (file := self.names.get(op.path)) is not None:
                file.durable, file.pending = content(file.durable, file.pending), []

    def after_power_loss(self, rng: random.Random) -> dict[str, bytes]:
        """Choose what of the uncertain reached the disk; return the files by path."""
        names = dict(self.durable)
        for changes in self.pending.values():
            for path, inode in some(changes, rng):
                if inode is None:
                    names.pop(path, None)
                else:
                    names[path] = inode
        return {path: content(inode.durable, torn(inode.pending, rng)) for path, inode in sorted(names.items())}


def some(items: list[Any], rng: random.Random) -> list[Any]:
    """A prefix, everything, nothing, or any part in its order: what a file system may have got to."""
    way = rng.random()
    if way < 0.3:
        return items[: rng.randint(0, len(items))]
    if way < 0.4:
        return items
    if way < 0.5:
        return []
    share = rng.random()
    return [item for item in items if rng.random() < share]


def torn(ops: list[Op], rng: random.Random) -> list[Op]:
    """Some of the writes, a few of them only in part."""
    out = []
    for op in some(ops, rng):
        sectors = len(op.data) // SECTOR
        if op.what == "w" and sectors > 1 and rng.random() < 0.1:
            cut = SECTOR * rng.randint(1, sectors)
            out.append(Op("w", op.path, "", op.offset, op.data[:cut]))
        else:
            out.append(op)
    return out


def content(durable: bytes, ops: list[Op]) -> bytes:
    """A file's bytes after operations."""
    body = bytearray(durable)
    for op in ops:
        if op.what == "t":
            body = body[: op.offset] + bytes(max(op.offset - len(body), 0))
        else:
            body += bytes(max(op.offset - len(body), 0))
            body[op.offset : op.offset + len(op.data)] = op.data
    return bytes(body)


# -- the run that is recorded ----------------------------------------------------------------------


def recorded_run(folder: Path) -> None:
    """Two sittings: one that ends half-way and leaves its claims, and one that completes and exports twice."""
    cells = plan(CELLS)
    with Store.create(folder) as store:
        shim.mark("made")
        store.plan(cells)
        shim.mark("planned")
        owner = new_owner()
        for cell in cells[:2]:
            store.claim(cell.key, owner)
            store.finish(owner, expected(cell))
            shim.mark(f"done\x1f{cell.key}")
        store.claim(cells[2].key, owner, 0.0)
        write_file(folder / "results.json", "{}\n")
        shim.mark("file\x1fresults.json\x1fold")
    with Store.create(folder) as store:
        drive(store, cells, expected, executor=InProcess(),
              on_result=lambda result: shim.mark(f"done\x1f{result.key}"))  # fmt: skip
        to_json(store, folder / "results.json")
        shim.mark("file\x1fresults.json\x1fnew")
        write_file(folder / "figures" / "page.svg", b"<svg/>" * 3000)
        shim.mark("file\x1ffigures/page.svg\x1fnew")
        store.checkpoint_to_one_file()
        shim.mark("one file")


def record_elsewhere(folder: Path, record: Path) -> list[Op]:
    """Record the run in a process of its own: whoever opens its store afterwards finds its claims abandoned."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            shim.watch(folder)
            shim.record(record)
            recorded_run(folder / "run")
            shim.record(None)
            code = 0
        finally:
            os._exit(code)
    assert os.waitpid(child, 0)[1] == 0, "the recorded run failed"
    return read_record(record)


@dataclass
class Promise:
    """What a run has promised at some moment: cells that are committed, files that are written."""

    cells: set[str] = field(default_factory=set)
    files: dict[str, str] = field(default_factory=dict)
    made: bool = False


def states(ops: list[Op], rng: random.Random, count: int) -> Iterator[tuple[int, Promise, dict[str, bytes]]]:
    """Yield moments of the run with what was promised and what the disk holds; every moment in turn."""
    produced = 0
    while produced < count:
        disk, promise = Disk(), Promise()
        for moment, op in enumerate(ops):
            if op.what == "k":
                what, *rest = op.path.split("\x1f")
                promise.made |= what == "made"
                if what == "done":
                    promise.cells.add(rest[0])
                elif what == "file":
                    promise.files[rest[0]] = rest[1]
                continue
            disk.apply(op)
            if count < len(ops) and rng.random() > count / len(ops):
                continue  # the short form: some moments only
            yield moment, promise, disk.after_power_loss(rng)
            produced += 1
            if produced >= count:
                return


def lay(folder: Path, root: str, files: dict[str, bytes]) -> None:
    """Put a state on a disk. The shared memory beside a store does not survive; SQLite makes it anew."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for path, body in files.items():
        name = path[len(root) :].lstrip("/")
        if name and not name.endswith("-shm"):
            target = folder / name
            if body or Path(name).suffix:
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(body)
            else:
                target.mkdir(parents=True, exist_ok=True)


def examine(folder: Path, promise: Promise, calm: dict[str, bytes], *, resume: bool) -> list[str]:
    """Everything that is lost, false or without a sentence in one state."""
    wrong = []
    truth = {cell.key: expected(cell) for cell in plan(CELLS)}
    old = {"results.json": b"{}\n"}
    for name, age in promise.files.items():
        there = (folder / name).read_bytes() if (folder / name).is_file() else None
        if there != calm[name] and not (age == "old" and there == old.get(name)):
            wrong.append(f"{name} was written and is {'not whole' if there else 'lost'}")
    for name, body in store_files(folder).items():
        if body not in (calm.get(name), old.get(name)):
            wrong.append(f"{name} is not whole")
    found: dict[str, Any] = {}
    try:
        with Store.open(folder) as store:
            found = {result.key: result for result in store.results()}
            if store.db.execute("PRAGMA integrity_check").fetchone()[0] != "ok":
                wrong.append("the store fails its integrity check")
    except GraphnetzError as error:
        if promise.made:
            wrong.append(f"the store cannot be opened: {error}")
    if lost := promise.cells - found.keys():
        wrong.append(f"committed and lost: {sorted(lost)}")
    wrong += [f"{key} came back changed" for key, result in found.items()
              if (result.metrics, result.history) != (truth[key].metrics, truth[key].history)]  # fmt: skip
    if resume:
        store_run(folder, lambda _: None)
        after = store_files(folder)
        wrong += [f"{name} differs after resuming" for name in calm if after.get(name) != calm[name]]
    return wrong


def replay(base: Path, *, count: int, seed: int, every: int) -> dict[str, Any]:
    """Record a run, build ``count`` states of it and open each; every ``every``-th is resumed too."""
    rng = random.Random(seed)
    calm_folder, folder = base / "calm" / "run", base / "run"
    store_run(calm_folder, lambda _: None)
    calm = store_files(calm_folder)
    del calm["config.toml"]  # of the small run that is disturbed elsewhere
    recorded = base / "recorded"
    recorded.mkdir()
    ops, root = record_elsewhere(recorded, base / "record"), str(recorded / "run")
    broken: list[dict[str, Any]] = []
    tried = resumed = 0
    moments = set()
    for moment, promise, files in states(ops, rng, count):
        lay(folder, root, files)
        resume = tried % every == 0
        try:
            wrong = examine(folder, promise, calm, resume=resume)
        except Exception:
            wrong = [traceback.format_exc()[-1500:]]
        tried, resumed = tried + 1, resumed + resume
        moments.add(moment)
        if wrong:
            broken.append({"moment": moment, "wrong": wrong})
    kinds = {what: sum(op.what == what for op in ops) for what in "cmwtsru"}
    told = {"scenario": "power", "fault": "loss of power", "tried": tried, "held": tried - len(broken)}
    return told | {"resumed": resumed, "moments": len(moments), "operations": kinds, "broken": broken}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--states", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--resume-every", type=int, default=5)
    parser.add_argument("--unsynced", action="store_true", help="do not sync folders: this must be found out")
    options = parser.parse_args()
    if options.unsynced:
        paths.sync_folder = database.sync_folder = lambda _: None
    with tempfile.TemporaryDirectory(prefix="graphnetz-power-", dir=shim.fast_folder()) as base:
        print(json.dumps(replay(Path(base), count=options.states, seed=options.seed, every=options.resume_every)))


if __name__ == "__main__":
    main()
