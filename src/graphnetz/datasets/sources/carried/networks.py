"""Networks of people and of things bought together: plain edge lists."""

from __future__ import annotations

import gzip
from collections.abc import Mapping
from itertools import combinations

from torch_geometric.data import Data

from graphnetz.datasets.sources.base import Built, rule_for
from graphnetz.datasets.sources.carried.build import class_numbers, numbered, rows_of, undirected, with_labels


def departments(files: Mapping[str, bytes]) -> Built:
    """Return people of an institution joined by e-mail, with their department.

    Departments of fewer than twenty people are in no class.
    """
    people = {row["id"]: row["dept"] for row in rows_of(files["email_vertices.csv"])}
    number = numbered(people)
    pairs = [(number[row["from"]], number[row["to"]]) for row in rows_of(files["email_edgelist.csv"])]
    codes, _ = class_numbers(list(people.values()))
    return Built([with_labels(_named(undirected(pairs, len(number))), codes)])


def messages(files: Mapping[str, bytes]) -> Built:
    """Return students joined when one wrote to the other; directions, times and repetitions are dropped."""
    rows = list(rows_of(gzip.decompress(files["collegemsg.csv.gz"])))
    number = numbered(name for row in rows for name in (row["Source"], row["Target"]))
    pairs = [(number[row["Source"]], number[row["Target"]]) for row in rows]
    return Built([_named(undirected(pairs, len(number)))])


def baskets(files: Mapping[str, bytes], *, core: int = 15) -> Built:
    """Return goods joined when somebody bought both at once: the part in which each has ``core`` others."""
    trips = [line.split() for line in files["walmart-trips-reduced.txt"].decode().splitlines()]
    joined: dict[str, set[str]] = {}
    for trip in trips:
        for a, b in combinations(sorted(set(trip)), 2):
            joined.setdefault(a, set()).add(b)
            joined.setdefault(b, set()).add(a)
    while thin := [name for name, others in joined.items() if len(others) < core]:
        for name in thin:
            for other in joined.pop(name):
                joined.get(other, set()).discard(name)
    number = numbered(sorted(joined, key=int))
    pairs = [(number[a], number[b]) for a, others in joined.items() for b in others if a < b]
    return Built([_named(undirected(pairs, len(number)))])


def _named(data: Data) -> Data:
    """Let models know nodes by number where the graph is small enough."""
    data.feature_rule = rule_for(int(data.num_nodes or 0))
    return data
