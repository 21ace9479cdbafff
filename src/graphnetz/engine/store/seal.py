"""The seal of a store: digests of every row, added up, so that a changed, lost or added one is noticed at opening.

SQLite has no checksums of its own: a flipped bit in a number is another number. Sums of digests take the same time for
every cell that ends, however many there are, and do not depend on the order in which they ended.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, get_args

from graphnetz._core.errors import IntegrityError
from graphnetz.engine.store.rows import (
    RESULT_COLUMNS,
    protocol_from_body,
    protocol_row,
    result_from_row,
    trace_and_reads,
)
from graphnetz.records import CellResult, Protocol, Status
from graphnetz.records.digests import LENGTH, cell_digest, digest_of, sha256

if TYPE_CHECKING:
    from collections.abc import Iterator

SINCE = 3
"""Version of the schema from which on stores are sealed."""

_FINISHED = frozenset(get_args(Status))
_STATES = _FINISHED | {"pending", "running"}
_PLANNED = ("key", "task", "model", "seed", "protocol")
_COLUMNS = (*RESULT_COLUMNS, "protocol", "finished_at")
_ROW = f"SELECT {', '.join(_COLUMNS)} FROM cells WHERE key = ?"  # noqa: S608 (our own names)
_PARTS = ("cell", "history", "trace", "predictions", "predicted")
_SMALL = ("meta", "protocols", "environments", "sections", "edition")
_MODULUS = 1 << 256
_ENCODE = json.JSONEncoder(separators=(",", ":")).encode


def blob_digest(blob: bytes | None) -> str | None:
    """Return the digest of a compressed value; None of nothing."""
    return None if blob is None else sha256(blob)[:LENGTH]


def planned(db: sqlite3.Connection, rows: Iterable[Sequence[Any]]) -> None:
    """Seal new cells, given as (key, task, model, seed, hash of the protocol)."""
    _add(db, "planned", [_row_digest(row) for row in rows])
    small(db)


def finished(
    db: sqlite3.Connection, result: CellResult, blobs: Sequence[bytes | None], *, predicted: str
) -> None:  # fmt: skip
    """Seal the result that a cell has now.

    Parameters
    ----------
    db
        The store, in which it was written.
    result
        What was written.
    blobs
        Its compressed history, trace and predictions.
    predicted
        Digest of its predictions.
    """
    row = db.execute(_ROW, (result.key,)).fetchone()
    if blobs[1] is not None:  # as readers will see it
        result = replace(result, trace=trace_and_reads(blobs[1])[0])
    protocol = _protocol(db, row[len(RESULT_COLUMNS)])
    parts = (cell_digest(result, protocol=protocol, predicted=predicted), *map(blob_digest, blobs), predicted)
    sealed = _row_digest((*row, *parts))
    db.execute("INSERT INTO digests VALUES (?, ?, ?, ?, ?, ?, ?)", (result.key, sealed, *parts))
    _add(db, "finished", [sealed])


def forgotten(db: sqlite3.Connection, keys: Iterable[str]) -> None:
    """Take the results of cells out of the seal."""
    rows = [(key,) for key in keys]
    found = [row for key in rows for row in db.execute("SELECT sealed FROM digests WHERE key = ?", key)]
    _add(db, "finished", [sealed for (sealed,) in found], sign=-1)
    db.executemany("DELETE FROM digests WHERE key = ?", rows)


def small(db: sqlite3.Connection) -> None:
    """Seal the small tables as they are now."""
    _write(db, "small", _small(db))


def everything(db: sqlite3.Connection) -> None:
    """Seal what a store holds now: an empty one, or one that was made before there were seals."""
    db.execute("DELETE FROM digests")
    db.execute("DELETE FROM seal")
    _write(db, "planned", "0 0")
    _write(db, "finished", "0 0")
    planned(db, db.execute(f"SELECT {', '.join(_PLANNED)} FROM cells").fetchall())  # noqa: S608 (our own names)
    done = [key for key, status in db.execute("SELECT key, status FROM cells").fetchall() if status in _FINISHED]
    for key in done:
        row = db.execute(_ROW, (key,)).fetchone()[: len(RESULT_COLUMNS)]
        blobs = db.execute("SELECT history, trace, predictions FROM details WHERE key = ?", (key,)).fetchone()
        plain = result_from_row((*row, "", None, None, None), {}, _none_tested)
        finished(db, plain, blobs or (None, None, None), predicted="")
    _write(db, "unsealed", str(len(done)))
    tables(db)


def tables(db: sqlite3.Connection) -> None:
    """Seal the tables themselves."""
    _write(db, "tables", _tables(db))


def verify(db: sqlite3.Connection, *, name: str) -> bool:
    """Hold the store against its seal; False where it has none.

    Raises
    ------
    IntegrityError
        Something was changed, lost or added by other hands than ours.
    """
    there = {row[0] for row in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    version = db.execute("PRAGMA user_version").fetchone()[0]
    if version < SINCE and not there & {"seal", "digests"}:
        return False
    if version < SINCE or not there >= {"seal", "digests"}:
        raise _damaged(name, "its version and its tables disagree")
    with _snapshot(db):
        kept = dict(db.execute("SELECT name, value FROM seal").fetchall())
        if kept.get("tables") != _tables(db):
            raise _damaged(name, "its tables are not those that were made")
        # The sums find whatever differs in rows; that an index leads to all of them is asked of SQLite itself.
        if (state := db.execute("PRAGMA integrity_check(cells)").fetchone()[0]) != "ok":
            raise _damaged(name, f"SQLite says: {str(state).splitlines()[-1][:100]}")
        if kept.get("small") != _small(db):
            raise _damaged(name, "settings, protocols, environments, sections or the plan do not match their digest")
        _verify_cells(db, kept, name)
    return True


def _verify_cells(db: sqlite3.Connection, kept: dict[str, str], name: str) -> None:
    rows = db.execute(f"SELECT {', '.join(_COLUMNS)} FROM cells ORDER BY position").fetchall()  # noqa: S608
    parts = {key: rest for key, *rest in db.execute(f"SELECT key, sealed, {', '.join(_PARTS)} FROM digests")}  # noqa: S608
    place = [_COLUMNS.index(column) for column in _PLANNED]
    plans, ends = [0, 0], [0, 0]
    for row in rows:
        _count(plans, _row_digest([row[i] for i in place]))
        if row[4] not in _STATES:
            raise _damaged(name, f"{_named(row)} has the status {str(row[4])[:20]!r}")
        sealed, *rest = parts.get(row[0], (None,))
        if (row[4] in _FINISHED) != (sealed is not None):
            raise _damaged(name, f"{_named(row)} has {'a digest and no result' if sealed else 'no digest'}")
        if sealed is not None:
            if _row_digest((*row, *rest)) != sealed:
                raise _damaged(name, f"{_named(row)} does not match its digest")
            _count(ends, sealed)
    for what, (count, total) in (("planned", plans), ("finished", ends)):
        if kept.get(what) != f"{count} {total:x}":
            said = str(kept.get(what, "no")).partition(" ")[0]
            raise _damaged(name, f"it holds {count} {what} cells, and its seal is of {said[:20]}")
    if len(parts) != ends[0]:
        raise _damaged(name, f"it holds {len(parts)} digests of {ends[0]} finished cells")


@contextmanager
def _snapshot(db: sqlite3.Connection) -> Iterator[None]:
    """Read one state, whatever other runners write meanwhile."""
    if db.in_transaction:
        yield
        return
    db.execute("BEGIN")
    try:
        yield
    finally:
        if db.in_transaction:  # some errors end it themselves
            db.execute("ROLLBACK")


def _damaged(name: str, what: str) -> IntegrityError:
    return IntegrityError(
        f"The store {name!r} is not as it was written: {what}. Restore it from a copy, or run again in another folder."
    )


def _named(row: Sequence[Any]) -> str:
    return " / ".join(ascii(part)[1:-1][:60] for part in (str(row[1]), str(row[2]), f"seed {row[3]}"))


def _none_tested(_: str) -> Any:
    raise AssertionError("predictions are not read here")


_PROTOCOLS: dict[str, Protocol] = {}
"""Protocols by hash, which is that of their text: many cells share one."""


def _protocol(db: sqlite3.Connection, name: str) -> Protocol:
    if name not in _PROTOCOLS:
        body = db.execute("SELECT body FROM protocols WHERE hash = ?", (name,)).fetchone()[0]
        found = protocol_from_body(body)
        if protocol_row(found)[0] != name:  # of an older version: not to be taken for another's
            return found
        _PROTOCOLS[name] = found
    return _PROTOCOLS[name]


def _row_digest(row: Sequence[Any]) -> str:
    return sha256(_ENCODE(list(row)).encode())


def _count(total: list[int], digest: str) -> None:
    total[0] += 1
    total[1] = (total[1] + int(digest, 16)) % _MODULUS


def _add(db: sqlite3.Connection, name: str, digests: Sequence[str], *, sign: int = 1) -> None:
    count, total = db.execute("SELECT value FROM seal WHERE name = ?", (name,)).fetchone()[0].split(" ")
    added = sum(int(digest, 16) for digest in digests)
    _write(db, name, f"{int(count) + sign * len(digests)} {(int(total, 16) + sign * added) % _MODULUS:x}")


def _write(db: sqlite3.Connection, name: str, value: str) -> None:
    db.execute("INSERT OR REPLACE INTO seal VALUES (?, ?)", (name, value))


def _small(db: sqlite3.Connection) -> str:
    there = {row[0] for row in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    rows = {table: db.execute(f"SELECT * FROM {table}").fetchall() for table in _SMALL if table in there}  # noqa: S608
    return digest_of({table: sorted(map(list, found), key=repr) for table, found in rows.items()})


def _tables(db: sqlite3.Connection) -> str:
    rows = db.execute("SELECT type, name, tbl_name, sql FROM sqlite_master").fetchall()
    return digest_of(sorted(map(list, rows), key=repr))
