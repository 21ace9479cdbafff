"""The store: plan, claim, finish and read back, each in one transaction."""

from __future__ import annotations

import functools
import json
import os
import sqlite3
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

from graphnetz._core.errors import IntegrityError, NoDigestsWarning, StoreError
from graphnetz._core.paths import make_folder, sync_folder
from graphnetz.engine.store import schema, seal
from graphnetz.engine.store.codec import dump_json
from graphnetz.engine.store.files import file_number, plain_errors, removed, store_file, warn_on_network
from graphnetz.engine.store.owners import owner_is_dead
from graphnetz.engine.store.rows import (
    ASSIGNMENTS,
    RESULT_COLUMNS,
    detail_values,
    protocol_from_body,
    protocol_row,
    result_from_row,
    result_values,
    trace_and_reads,
)
from graphnetz.records import Cell, CellResult, Predictions, Protocol, Section
from graphnetz.records.digests import predictions_digest, root_digest
from graphnetz.records.kept import pack_shared, shared_hash, unpack_shared

_CHUNK = 500
_ROOTS = "roots"
DETAILS = ("history", "trace", "predictions")
Tested = Callable[[str], Predictions]
_DONE = str(schema.FINISHED)
_FOREIGN: list[sqlite3.Connection] = []  # inherited over a fork: never used there and never closed there


PATIENCE = 30.0
"""Seconds to wait for another process that holds the file."""


def _write_ahead(db: sqlite3.Connection) -> None:
    """Switch to write-ahead logging.

    SQLite does not wait for the lock that this takes: runners that start together would trip over each other.
    """
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            db.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > deadline:
                raise
            time.sleep(0.02)


class Store:
    """All cells of one run and what came out of them.

    Parameters
    ----------
    path
        Run folder, or the ``.sqlite`` file itself.
    readonly
        Only read. A store whose folder cannot be written is opened as an immutable file.

    Notes
    -----
    A cell is ``pending``, ``running`` (with an owner and a lease) or finished with a status of
    `CellResult`. Opening holds every row against its digest (see `seal`); ``sealed`` is False for a store
    that was made before there were any. The connection belongs to the process that made it: a forked child that touches
    it gets an error, never a corrupt file.
    """

    def __init__(self, path: str | Path, *, readonly: bool = False) -> None:
        self.path = store_file(path)
        self.readonly = readonly
        self.sealed = False
        self._pid = os.getpid()
        self._db: sqlite3.Connection | None = None
        with plain_errors(self.path):
            self._db = self._connect()
        self._place = self.path.resolve()  # a program may change its folder in between
        self._file = file_number(self._place)

    @classmethod
    def create(cls, folder: str | Path) -> Store:
        """Open the store of a run folder to plan cells in it; make both when they are not there."""
        path = store_file(folder)
        try:
            make_folder(path.parent)
        except OSError as error:
            raise StoreError(f"Cannot make the folder {str(path.parent)!r}: {error.strerror}.") from error
        store = cls(path)
        try:
            sync_folder(path.parent)  # SQLite syncs what is in its file, not that there is one
        except OSError as error:
            store.close()
            raise StoreError(f"Cannot sync the folder {str(path.parent)!r}: {error.strerror}.") from error
        with plain_errors(path):
            made = schema.edition(store.db)
        if made != schema.KEY_VERSION:
            store.checkpoint_to_one_file()
            store.close()
            raise StoreError(
                f"The run in {str(folder)!r} has cells of edition {made}, and this is edition {schema.KEY_VERSION}: "
                "it can be read, reported and exported, but not resumed. Give another folder."
            )
        return store

    @classmethod
    def open(cls, folder: str | Path, *, readonly: bool = False) -> Store:
        """Open an existing store; a folder without one is an error."""
        path = store_file(folder)
        if not path.is_file():
            raise StoreError(f"There is no run in {str(folder)!r} (no {path.name}). Start one with graphnetz run.")
        return cls(path, readonly=readonly)

    def _connect(self) -> sqlite3.Connection:
        mode = "rwc"
        if self.readonly:
            mode = "ro" if os.access(self.path.parent, os.W_OK) else "ro&immutable=1"
            journal = self.path.with_name(f"{self.path.name}-wal")
            if "immutable" in mode and journal.is_file() and journal.stat().st_size:
                raise StoreError(
                    f"The store {str(self.path)!r} was not closed and its folder is read-only. Copy the folder to a "
                    "writable place and open it there."
                )
        else:
            warn_on_network(self.path)
        db = sqlite3.connect(
            f"{self.path.resolve().as_uri()}?mode={mode}", uri=True, isolation_level=None, timeout=PATIENCE
        )
        try:
            db.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, schema.MAX_VALUE_BYTES)
            db.execute("PRAGMA trusted_schema = OFF")
            db.execute("PRAGMA foreign_keys = ON")
            if self.readonly:
                db.execute("PRAGMA query_only = ON")
                schema.await_tables(db)
                schema.identify(db, name=str(self.path))
            else:
                _write_ahead(db)
                db.execute("PRAGMA synchronous = FULL")
                schema.prepare(db, name=str(self.path))
            schema.check(db, name=str(self.path))
            self.sealed = seal.verify(db, name=str(self.path))
            if not self.sealed or db.execute("SELECT value FROM seal WHERE name = 'unsealed'").fetchone()[0] != "0":
                what = "has no digests" if not self.sealed else "holds cells from before there were digests"
                words = f"The store {str(self.path)!r} {what}: nothing can be checked."
                warnings.warn(words, NoDigestsWarning, stacklevel=4)
        except BaseException:
            db.close()
            raise
        return db

    @property
    def db(self) -> sqlite3.Connection:
        """The connection, for the process that opened it."""
        if self._db is None:
            raise StoreError(f"The store {str(self.path)!r} is closed.")
        if os.getpid() != self._pid:
            raise StoreError("A store cannot be used in a forked process: only the driver reads and writes it.")
        return self._db

    def close(self) -> None:
        """Close the connection; in a forked child only forget it."""
        db, self._db = self._db, None
        if db is not None and os.getpid() == self._pid:
            db.close()
        elif db is not None:
            _FOREIGN.append(db)  # closing it here would disturb the parent's file

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        if getattr(self, "_db", None) is not None:
            self.close()

    @contextmanager
    def _write(self) -> Iterator[sqlite3.Connection]:
        if file_number(self._place) != self._file:  # SQLite would write on, to a file that nobody can open again
            raise removed(self.path)
        with plain_errors(self.path), self.db as db:  # the connection commits, or takes back
            db.execute("BEGIN IMMEDIATE")
            yield db

    def _read(self, statement: str, values: Sequence[Any] = ()) -> list[Any]:
        with plain_errors(self.path):
            return self.db.execute(statement, values).fetchall()

    # -- planning ---------------------------------------------------------------------------------

    def plan(self, cells: Iterable[Cell]) -> int:
        """Add the cells whose keys are not there yet, in order; return how many were new."""
        cells = list(cells)
        shared = {id(cell.protocol): cell.protocol for cell in cells}
        protocols = {each: protocol_row(protocol) for each, protocol in shared.items()}
        rows = [(cell.key, cell.task, cell.model, cell.seed, protocols[id(cell.protocol)][0]) for cell in cells]
        with self._write() as db:
            db.executemany("INSERT OR IGNORE INTO protocols VALUES (?, ?)", protocols.values())
            known = {key for (key,) in db.execute("SELECT key FROM cells")}
            new = {row[0]: row for row in reversed(rows) if row[0] not in known}  # of two with one key the first
            added = [row for row in rows if new.get(row[0]) is row]
            db.executemany("INSERT INTO cells(key, task, model, seed, protocol) VALUES (?, ?, ?, ?, ?)", added)
            seal.planned(db, added)
            return len(added)

    def cells(self) -> Iterator[Cell]:
        """Return the planned cells in plan order."""
        protocols = self._protocols()
        rows = self._read("SELECT key, task, model, seed, protocol FROM cells ORDER BY position")
        return (Cell(key, task, model, seed, protocols[name]) for key, task, model, seed, name in rows)

    def _protocols(self) -> dict[str, Protocol]:
        """Protocols by hash: many cells share one object."""
        return {name: protocol_from_body(body) for name, body in self._read("SELECT hash, body FROM protocols")}

    def missing(self, keys: Iterable[str]) -> list[str]:
        """Return the keys without a result, in the given order."""
        done = {key for (key,) in self._read(f"SELECT key FROM cells WHERE status IN {_DONE}")}  # noqa: S608
        return [key for key in keys if key not in done]

    # -- one cell's way ---------------------------------------------------------------------------

    def claim(self, key: str, owner: str, lease_seconds: float = 60.0) -> bool:
        """Take a pending cell, or one whose lease has run out; False when someone else has it."""
        now = time.time()
        with self._write() as db:
            cursor = db.execute(
                "UPDATE cells SET status = 'running', owner = ?, lease = ?, attempts = attempts + 1 "
                "WHERE key = ? AND (status = 'pending' OR (status = 'running' AND (lease < ? OR owner = ?)))",
                (owner, now + lease_seconds, key, now, owner),
            )
            return cursor.rowcount == 1

    def heartbeat(self, owner: str, lease_seconds: float = 60.0) -> int:
        """Extend the leases of everything ``owner`` holds; return how many cells that is."""
        with self._write() as db:
            lease = time.time() + lease_seconds
            return db.execute("UPDATE cells SET lease = ? WHERE owner = ?", (lease, owner)).rowcount

    def finish(self, owner: str, result: CellResult) -> bool:
        """Write a result with its history, if ``owner`` still holds the cell; otherwise change nothing."""
        with self._write() as db:
            return _end(db, result, "owner = ? AND status = 'running'", owner)

    def release(self, owner: str) -> int:
        """Give back everything ``owner`` holds unfinished."""
        with self._write() as db:
            return db.execute(
                "UPDATE cells SET status = 'pending', owner = NULL, lease = NULL WHERE owner = ?", (owner,)
            ).rowcount

    def recover(self) -> int:
        """Give back the cells of owners that died on this machine or let their lease run out."""
        rows = self._read("SELECT owner, MAX(IFNULL(lease, 0)) FROM cells WHERE owner IS NOT NULL GROUP BY owner")
        now = time.time()
        return sum(self.release(owner) for owner, lease in rows if lease < now or owner_is_dead(owner))

    def held_by_others(self, owner: str) -> set[str]:
        """Return the keys that another owner works on under a valid lease."""
        statement = "SELECT key FROM cells WHERE owner IS NOT NULL AND owner <> ? AND lease >= ?"
        return {key for (key,) in self._read(statement, (owner, time.time()))}

    def reset(self, keys: Iterable[str]) -> int:
        """Forget the results of ``keys`` so that they run again; return how many had one."""
        rows = [(key,) for key in keys]
        blank = ("pending", *result_values(CellResult("", "", "", 0))[1:])
        with self._write() as db:
            before = db.total_changes
            db.executemany(
                f"UPDATE cells SET {ASSIGNMENTS}, finished_at = NULL WHERE key = ? AND status IN {_DONE}",  # noqa: S608
                [(*blank, *row) for row in rows],
            )
            count = db.total_changes - before
            db.executemany("DELETE FROM details WHERE key = ?", rows)
            seal.forgotten(db, (key for (key,) in rows))
            return count

    def adopt(self, results: Iterable[CellResult]) -> int:
        """Take over results made elsewhere for planned cells that have none yet; return how many."""
        with self._write() as db:
            return sum([_end(db, result, "status = 'pending'") for result in results])

    # -- reading ----------------------------------------------------------------------------------

    def results(
        self, keys: Sequence[str] | None = None, *, histories: bool = True, predictions: bool | None = None
    ) -> Iterator[CellResult]:
        """Yield finished cells: in plan order, or in the order of ``keys``.

        Without ``histories`` the compressed curves and traces are left on disk; ``predictions`` follow them unless
        told otherwise.
        """
        wanted = (histories, histories, histories if predictions is None else predictions)
        protocols, tested = self._protocols(), functools.cache(self._tested)
        columns = ", ".join(f"cells.{name}" for name in (*RESULT_COLUMNS, "protocol"))
        for name, there in zip(DETAILS, wanted, strict=True):
            columns += f", details.{name}" if there else ", NULL"
            columns += f", digests.{name}" if there and self.sealed else ", NULL"
        columns += ", digests.predicted" if self.sealed else ", ''"
        source = "cells"
        for table, there in (("details", any(wanted)), ("digests", self.sealed)):
            source += f" LEFT JOIN {table} ON {table}.key = cells.key" if there else ""
        statement = f"SELECT {columns} FROM {source} WHERE status IN {_DONE}"  # noqa: S608 (our own names)
        with plain_errors(self.path):
            if keys is None:
                for row in self.db.execute(f"{statement} ORDER BY position"):
                    yield self._result(row, protocols, tested)
                return
            for start in range(0, len(keys), _CHUNK):
                part = list(keys[start : start + _CHUNK])
                marks = ",".join("?" * len(part))
                found = {row[0]: row for row in self.db.execute(f"{statement} AND cells.key IN ({marks})", part)}
                yield from (self._result(found[key], protocols, tested) for key in part if key in found)

    def _result(self, row: Sequence[Any], protocols: Mapping[str, Protocol], tested: Tested) -> CellResult:
        """Build one result from a row, after its blobs were held against their digests."""
        *plain, history, h, trace, t, predictions, p, predicted = row
        for what, blob, digest in zip(DETAILS, (history, trace, predictions), (h, t, p), strict=True):
            if self.sealed and seal.blob_digest(blob) != digest:
                raise IntegrityError(
                    f"The store {str(self.path)!r} is not as it was written: the {what} of {row[1]} / {row[2]} / seed "
                    f"{row[3]} does not match its digest. Restore it from a copy, or run again in another folder."
                )
        return replace(result_from_row((*plain, history, trace, predictions), protocols, tested), predicted=predicted)

    def cell_digests(self) -> dict[tuple[str, str, int], set[str]]:
        """Return the digests of finished cells by task, model and seed; those from before there were any are empty."""
        found: dict[tuple[str, str, int], set[str]] = {}
        old = self.unsealed() > 0
        for task, model, seed, digest, predicted in self._read(
            "SELECT cells.task, cells.model, cells.seed, digests.cell, digests.predicted FROM cells "
            "JOIN digests ON digests.key = cells.key"
        ):
            found.setdefault((task, model, seed), set()).add("" if old and not predicted else digest)
        return found

    def publish(self, keys: Iterable[str], *, done: bool) -> str:
        """Keep the digest of the run that a report of ``keys`` has, and return it.

        It is kept before the report is written and again when it is ``done``: in between, the one before counts too.
        """
        rows = self._read(
            "SELECT cells.key, cells.task, cells.model, cells.seed, digests.cell FROM cells "
            "JOIN digests ON digests.key = cells.key"
        )
        known = {key: rest for key, *rest in rows}
        root = root_digest((t, m, s, digest) for t, m, s, digest in (known[key] for key in keys if key in known))
        self.write_meta({_ROOTS: [root] if done else list(dict.fromkeys((*self.roots()[-1:], root)))})
        return root

    def roots(self) -> list[str]:
        """Return the digests of the run that a report in its folder may have."""
        return list(self.read_meta().get(_ROOTS, ()))

    def unsealed(self) -> int:
        """Return how many finished cells are older than the seal of the store."""
        return int(self._read("SELECT value FROM seal WHERE name = 'unsealed'")[0][0]) if self.sealed else -1

    def reads(self) -> dict[str, dict[str, str]]:
        """Return what finished cells read while they ran, by key; most read nothing and are not listed."""
        rows = self._read("SELECT key, trace FROM details WHERE trace IS NOT NULL")
        known = dict(self._read("SELECT key, trace FROM digests")) if self.sealed else {}
        if changed := [key for key, blob in rows if self.sealed and seal.blob_digest(blob) != known.get(key)]:
            raise IntegrityError(
                f"The store {str(self.path)!r} is not as it was written: what the cell {changed[0]!r} read does not "
                "match its digest. Restore it from a copy, or run again in another folder."
            )
        found = {key: trace_and_reads(blob)[1] for key, blob in rows}
        return {key: reads for key, reads in found.items() if reads}

    def _tested(self, name: str) -> Predictions:
        """The examples of a split, which all models that were tested on them share."""
        rows = self._read("SELECT body FROM examples WHERE hash = ?", (name,))
        if not rows:
            raise StoreError(f"The store {str(self.path)!r} lacks the test examples {name!r}. The file is damaged.")
        found = unpack_shared(rows[0][0])
        if shared_hash(found) != name:
            raise IntegrityError(f"The test examples {name!r} in {str(self.path)!r} are not those that were written.")
        return found

    def predicted_bytes(self) -> int:
        """Return how many bytes the predictions of all cells take, compressed."""
        return int(self._read("SELECT COALESCE(SUM(LENGTH(predictions)), 0) FROM details")[0][0])

    def counts(self) -> Counter[str]:
        """Return the number of cells by status, ``pending`` and ``running`` included."""
        return Counter(dict(self._read("SELECT status, COUNT(*) FROM cells GROUP BY status")))

    def running(self) -> list[tuple[str, str, int, str, float]]:
        """Return task, model, seed, owner and lease of the cells in work."""
        return self._read(
            "SELECT task, model, seed, owner, IFNULL(lease, 0) FROM cells WHERE owner IS NOT NULL ORDER BY position"
        )

    def latest(self, most: int) -> list[tuple[str, str, int, str, float | None, str]]:
        """Return task, model, seed, status, value and error of the cells that finished last, the last one first."""
        columns = "task, model, seed, status, value, COALESCE(error, '')"
        return self._read(
            f"SELECT {columns} FROM cells WHERE finished_at IS NOT NULL ORDER BY finished_at DESC LIMIT {int(most)}"  # noqa: S608
        )

    def durations(self) -> dict[tuple[str, str], tuple[int, float, float]]:
        """Return for each (task, model) the finished cells, their mean seconds and largest peak memory."""
        rows = self._read(
            "SELECT task, model, COUNT(seconds), AVG(seconds), MAX(peak_memory) FROM cells "
            "WHERE finished_at IS NOT NULL AND seconds IS NOT NULL GROUP BY task, model"
        )
        return {(task, model): (n, mean, float("nan") if top is None else top) for task, model, n, mean, top in rows}

    # -- what else a run keeps --------------------------------------------------------------------

    def write_meta(self, values: Mapping[str, Any]) -> None:
        """Keep plain values by name: the resolved configuration, the hash of the plan."""
        with self._write() as db:
            db.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", [(k, dump_json(v)) for k, v in values.items()])
            seal.small(db)

    def read_meta(self) -> dict[str, Any]:
        """Return everything `write_meta` kept."""
        return {name: json.loads(text) for name, text in self._read("SELECT name, value FROM meta")}

    def write_environment(self, key: str, values: Mapping[str, Any]) -> None:
        """Keep what an environment key of the results stands for."""
        with self._write() as db:
            db.execute("INSERT OR IGNORE INTO environments VALUES (?, ?)", (key, dump_json(values)))
            seal.small(db)

    def read_environments(self) -> dict[str, dict[str, Any]]:
        """Return the environments by key."""
        return {key: json.loads(text) for key, text in self._read("SELECT key, body FROM environments")}

    def unexplained_environments(self) -> set[str]:
        """Return the environment keys of results that `write_environment` was never told about."""
        statement = "SELECT DISTINCT environment FROM cells WHERE environment <> '' EXCEPT SELECT key FROM environments"
        return {key for (key,) in self._read(statement)}

    def write_section(self, section: Section) -> None:
        """Keep a section of the page; one of the same name is replaced in its place."""
        with self._write() as db:
            db.execute(
                "INSERT INTO sections VALUES (?, (SELECT COALESCE(MAX(position), 0) + 1 FROM sections), ?) "
                "ON CONFLICT(name) DO UPDATE SET body = excluded.body",
                (section.name, dump_json(section.to_json())),
            )
            seal.small(db)

    def read_sections(self) -> list[Section]:
        """Return the sections in the order they were first written."""
        rows = self._read("SELECT body FROM sections ORDER BY position")
        return [Section.from_json(json.loads(body)) for (body,) in rows]

    def checkpoint_to_one_file(self) -> bool:
        """Fold the journal into the file so that the run is one file; False while others have it open."""
        try:
            with plain_errors(self.path):
                busy = self.db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
                if busy:
                    return False
                self.db.execute("PRAGMA busy_timeout = 200")
                try:
                    return bool(self.db.execute("PRAGMA journal_mode = DELETE").fetchone()[0] == "delete")
                finally:
                    self.db.execute("PRAGMA busy_timeout = 30000")
        except StoreError as error:
            if "locked" in str(error):
                return False
            raise


def _end(db: sqlite3.Connection, result: CellResult, condition: str, *values: str) -> bool:
    """Write a result with its details where the cell still fulfils ``condition``."""
    cursor = db.execute(
        f"UPDATE cells SET {ASSIGNMENTS}, owner = NULL, lease = NULL, finished_at = ? "  # noqa: S608 (our own names)
        f"WHERE key = ? AND {condition}",
        (*result_values(result), time.time(), result.key, *values),
    )
    if cursor.rowcount != 1:
        return False
    tested = _file_tested(db, result.predictions)
    details = detail_values(result, tested)
    if any(blob is not None for blob in details):
        db.execute("INSERT OR REPLACE INTO details VALUES (?, ?, ?, ?)", (result.key, *details))
    seal.finished(
        db, result, details,
        predicted=predictions_digest(result.predictions, tested) if result.predictions is not None else "",
    )  # fmt: skip
    return True


def _file_tested(db: sqlite3.Connection, predictions: Predictions | None) -> str:
    """Keep the examples of a split unless they are there already, and return their hash."""
    if predictions is None:
        return ""
    name = shared_hash(predictions)
    if not db.execute("SELECT 1 FROM examples WHERE hash = ?", (name,)).fetchone():
        db.execute("INSERT INTO examples VALUES (?, ?)", (name, pack_shared(predictions)))
    return name
