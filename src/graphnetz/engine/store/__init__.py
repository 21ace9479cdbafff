"""The run's only truth: one SQLite file per run folder."""

from graphnetz.engine.store.database import Store
from graphnetz.engine.store.export import to_csv, to_json, to_parquet
from graphnetz.engine.store.owners import new_owner, owner_is_dead, retire
from graphnetz.engine.store.schema import SCHEMA_VERSION

__all__ = [
    "SCHEMA_VERSION",
    "Store",
    "new_owner",
    "owner_is_dead",
    "retire",
    "to_csv",
    "to_json",
    "to_parquet",
]
