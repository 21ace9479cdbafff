"""Measurements: half-lives, exchange rates, handwritten digits."""

from __future__ import annotations

import gzip
import io
import sqlite3
import zipfile
from collections.abc import Mapping
from typing import Any

import numpy as np

from graphnetz.datasets.generators.build import both_ways, graph
from graphnetz.datasets.generators.images import superpixel_graphs
from graphnetz.datasets.sources.base import Built
from graphnetz.datasets.sources.carried.build import rows_of, undirected, with_labels
from graphnetz.datasets.splits import consecutive_split
from graphnetz.graphs.random_graphs import standardised

MAGIC = (2, 8, 20, 28, 50, 82, 126, 184)
_YEAR = 365.2422 * 86400
SECONDS = {
    "minute": 60.0, "hour": 3600.0, "day": 86400.0, "year": _YEAR,
    **{f"{sign}sec": 10.0**power for sign, power in
       {"": 0, "m": -3, "u": -6, "n": -9, "p": -12, "a": -18, "z": -21, "y": -24}.items()},
    **{f"{sign}year": _YEAR * 10.0**power for sign, power in
       {"k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18, "Z": 21, "Y": 24}.items()},
}  # fmt: skip
BOUNDS = (0.1, 2.0, 30.0, 900.0)
"""Seconds between the five classes of half-lives, from below a tenth of a second to above a quarter of an hour."""

NEIGHBOURS = 4


def half_lives(files: Mapping[str, bytes]) -> Built:
    """Return the chart of nuclides: neighbours differ by one proton, one neutron, or a neutron turned proton.

    Features are functions of the two numbers alone: size, distance to the valley of stability by the semi-empirical
    mass formula, parities, distances to closed shells. Stable nuclides and those without a measured half-life have no
    class.
    """
    base = sqlite3.connect(":memory:")
    base.deserialize(files["elements.db"])
    query = "select atomic_number, mass_number - atomic_number, half_life, half_life_unit from isotopes"
    rows = sorted(base.execute(query + " where mass_number is not null").fetchall(), key=lambda row: row[:2])
    base.close()
    place = {(z, n): i for i, (z, n, *_) in enumerate(rows)}
    steps = ((1, 0), (0, 1), (1, -1))
    pairs = [(i, place[z + a, n + b]) for (z, n), i in place.items() for a, b in steps if (z + a, n + b) in place]
    known = [float(life) * SECONDS[unit] if life and unit else np.nan for *_, life, unit in rows]
    codes = np.array([-1 if np.isnan(life) else int(np.searchsorted(BOUNDS, life)) for life in known])
    z, n = np.array([row[:2] for row in rows], dtype=float).T
    valley = z - (z + n) / (1.98 + 0.0155 * (z + n) ** (2 / 3))
    shells = [np.abs(count[:, None] - np.array(MAGIC)).min(axis=1) for count in (z, n)]
    x = standardised(np.stack([z, n, valley, np.abs(valley), z % 2, n % 2, *shells], axis=1))
    return Built([with_labels(undirected(pairs, len(rows), x=x), codes)])


def currencies(files: Mapping[str, bytes]) -> Built:
    """Return one graph per month, currencies joined to those that moved most alike; the target is next month's unrest.

    Unrest is the mean over currencies of the log of the standard deviation of daily log-returns against the euro, in
    percent. A currency's features are that of its month and of the month before, its return, and its largest day. The
    months stand in order: the first 70 % train, the last 15 % test.
    """
    inner = zipfile.ZipFile(io.BytesIO(files["eurofxref-hist.zip"]))
    rows = sorted(rows_of(inner.read(inner.namelist()[0])), key=lambda row: row["Date"])
    names = [name for name in rows[0] if name and name != "Date" and all(_rate(row[name]) > 0 for row in rows)]
    moves = np.diff(np.log([[_rate(row[name]) for name in names] for row in rows]), axis=0) * 100
    month = np.array([row["Date"][:7] for row in rows[1:]])
    tables = [moves[month == key] for key in np.unique(month)]
    tables = [table for table in tables if len(table) >= 15]  # the month under way when the wheel was made
    unrest = np.log(np.array([table.std(axis=0) for table in tables]) + 1e-3)
    graphs = []
    for i in range(1, len(tables) - 1):
        with np.errstate(invalid="ignore"):  # a currency that did not move at all is like no other
            alike = np.nan_to_num(np.corrcoef(tables[i].T), nan=-1.0)
        np.fill_diagonal(alike, -2.0)
        near = np.argsort(-alike, axis=1, kind="stable")[:, :NEIGHBOURS]
        pairs = np.unique(np.sort(np.stack([np.repeat(np.arange(len(names)), NEIGHBOURS), near.ravel()], 1), 1), axis=0)
        x = np.stack([unrest[i], unrest[i - 1], tables[i].sum(axis=0) / 5, np.abs(tables[i]).max(axis=0) / 2], axis=1)
        attr = np.tile(alike[pairs[:, 0], pairs[:, 1]], 2)[:, None]
        target = np.array([unrest[i + 1].mean()])
        graphs.append(graph(both_ways(pairs), len(names), x=x, edge_attr=attr, y=target))
    first, second = round(0.7 * len(graphs)), round(0.85 * len(graphs))
    return Built(graphs, splits=consecutive_split(first, second - first, len(graphs) - second), info={"nodes": names})


def _rate(text: str) -> float:
    return 0.0 if text in ("", "N/A") else float(text)


def digits(files: Mapping[str, bytes], *, images: int, **options: Any) -> Built:
    """Return handwritten digits as superpixels, taken evenly from the table, which is sorted by class."""
    table = np.loadtxt(io.BytesIO(gzip.decompress(files["mnist_5k.csv.gz"])), delimiter=",", dtype=np.int64)
    chosen = table[:: max(len(table) // images, 1)][:images]
    grey = chosen[:, :-1].reshape(-1, 28, 28) / 255.0
    graphs: list[Any] = []
    for part in range(0, len(chosen), 50):  # the clustering holds all distances of its images at once
        some = slice(part, part + 50)
        graphs += superpixel_graphs(grey[some], chosen[some, -1], **options)
    return Built(graphs)
