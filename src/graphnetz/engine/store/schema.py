"""Tables of the store, their version, and the checks that a file from elsewhere must pass."""

from __future__ import annotations

import functools
import sqlite3
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from graphnetz._core.errors import StoreError
from graphnetz.engine.store import seal

APPLICATION_ID = 0x474E545A  # "GNTZ": tells our files from any other SQLite file
SCHEMA_VERSION = 3
KEY_VERSION = 3
"""Edition of the content keys. A store of another one is read, not resumed: none of its cells would be found.

Keys hash models, loaders and data, not the loop and the kernels that all of them share: raise it when those change the
bits of a result.
"""
FINISHED = ("ok", "failed", "diverged", "timeout", "oom", "tampered")
MAX_VALUE_BYTES = 512 * 2**20

CREATE: Sequence[str] = (
    *Path(__file__).with_suffix(".sql").read_text(encoding="utf-8").rstrip(";\n").split(";\n"),
    f"INSERT INTO edition VALUES ({KEY_VERSION})",  # noqa: S608 (our own number)
)

MIGRATIONS: dict[int, Sequence[str]] = {
    1: [statement for statement in CREATE if "TABLE examples(" in statement],
    2: [statement for statement in CREATE if "TABLE digests(" in statement or "TABLE seal(" in statement],
}
"""Statements that lead from the given version to the next one."""

YOUNGER = ("edition", "examples", "digests", "seal")
"""Tables that older stores do not have, and that readers do without."""


@functools.cache
def _columns() -> dict[str, set[str]]:
    """Columns of each table, as `CREATE` makes them."""
    with closing(sqlite3.connect(":memory:")) as db:
        for statement in CREATE:
            db.execute(statement)
        tables = [row[0] for row in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        return {table: _found(db, table) for table in tables if table not in YOUNGER}


def _found(connection: sqlite3.Connection, table: str) -> set[str]:
    return {row[1] for row in connection.execute(f"PRAGMA table_info({table})")}


def prepare(connection: sqlite3.Connection, *, name: str) -> None:
    """Create the tables in an empty file, or bring an older store up to date; all in one transaction."""
    with connection:
        connection.execute("BEGIN IMMEDIATE")
        version = _version(connection)
        if version == 0 and not connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone():
            for statement in CREATE:
                connection.execute(statement)
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
            seal.everything(connection)
        else:
            identify(connection, name=name)
            for step in range(version, SCHEMA_VERSION):
                for statement in MIGRATIONS[step]:
                    connection.execute(statement)
            if version < seal.SINCE:
                check(connection, name=name)
                seal.everything(connection)
            elif version != SCHEMA_VERSION:
                seal.tables(connection)
            if version != SCHEMA_VERSION:
                connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")


class EmptyStoreError(StoreError):
    """A file that was to become a store, and has no tables: a run that could not write its first page."""


def await_tables(connection: sqlite3.Connection, *, seconds: float = 5.0) -> None:
    """Wait for a file that a run is making this moment: it exists before its tables do."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone():
            return
        time.sleep(0.02)


def identify(connection: sqlite3.Connection, *, name: str) -> None:
    """Say why a file is not a store that we can read, if it is not."""
    marker = connection.execute("PRAGMA application_id").fetchone()[0]
    if marker == 0 and not connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone():
        raise EmptyStoreError(f"{name!r} holds nothing yet: making it was cut short. Start the run again.")
    if marker != APPLICATION_ID:
        raise StoreError(f"{name!r} is an SQLite file, but not a graphnetz store. Name the folder of a run.")
    version = _version(connection)
    if version > SCHEMA_VERSION:
        raise StoreError(
            f"The store {name!r} has schema version {version}, this version reads up to {SCHEMA_VERSION}. "
            "Upgrade graphnetz."
        )


def check(connection: sqlite3.Connection, *, name: str) -> None:
    """Refuse a file whose tables are not ours: it may come from someone else."""
    rows = connection.execute("SELECT type, name FROM sqlite_master").fetchall()
    odd = sorted(str(entry) for kind, entry in rows if kind not in ("table", "index"))
    if odd:
        raise StoreError(f"The store {name!r} holds views or triggers ({', '.join(odd)}). Do not use this file.")
    tables = {entry for kind, entry in rows if kind == "table"}
    for table, columns in _columns().items():
        if table not in tables:
            raise StoreError(f"The store {name!r} has no table {table!r}. The file is damaged or not a store.")
        if lacking := ", ".join(sorted(columns - _found(connection, table))):
            raise StoreError(f"Table {table!r} of the store {name!r} lacks {lacking}. The file is damaged.")


def edition(connection: sqlite3.Connection) -> int:
    """Return the edition of a store's keys; stores of the first one do not say."""
    there = connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'edition'").fetchone()
    return int(connection.execute("SELECT keys FROM edition").fetchone()[0]) if there else 1


def _version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])
