"""Built things: a power grid, a logic circuit."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from graphnetz.datasets.generators.build import both_ways, graph
from graphnetz.datasets.sources.base import Built
from graphnetz.datasets.sources.carried.build import distinct_pairs, numbered, undirected, with_labels

GATES = ("and", "nand", "nor", "not", "or")
_GATE = re.compile(rf"\b({'|'.join(GATES)})\s+\S+\s*\(([^)]*)\)\s*;")
_PORTS = re.compile(r"\b(input|output)\s+([^;]*);")


def transformers(files: Mapping[str, bytes]) -> Built:
    """Return the buses of a grid joined by lines (0) and transformers (1).

    Features are what is fed in and drawn at a bus. Voltages would give the answer away and are left out, as are names
    and positions on paper. Circuits side by side are one edge.
    """
    (content,) = files.values()
    tables = json.loads(content)["_object"]
    buses = len(_columns(tables, "bus", ("vn_kv",)))
    lines = distinct_pairs(map(tuple, _columns(tables, "line", ("from_bus", "to_bus")).astype(int)))
    changes = distinct_pairs(map(tuple, _columns(tables, "trafo", ("hv_bus", "lv_bus")).astype(int)))
    pairs = np.unique(np.concatenate([lines, changes]), axis=0)
    label = np.isin(pairs @ [buses, 1], changes @ [buses, 1]).astype(np.int64)
    power = []
    for name, value in (("load", "p_mw"), ("load", "q_mvar"), ("gen", "p_mw"), ("sgen", "p_mw"), ("shunt", "q_mvar")):
        rows = _columns(tables, name, ("bus", value))
        summed = np.bincount(rows[:, 0].astype(int), weights=rows[:, 1], minlength=buses)
        power += [np.sign(summed) * np.log1p(np.abs(summed)), np.bincount(rows[:, 0].astype(int), minlength=buses) > 0]
    x = np.stack(power, axis=1).astype(float)
    return Built([graph(both_ways(pairs), buses, x=x, edge_label=np.concatenate([label, label]))])


def _columns(tables: Mapping[str, Any], name: str, wanted: Sequence[str]) -> np.ndarray:
    """Return columns of one of the tables, which are JSON within JSON."""
    table = json.loads(tables[name]["_object"])
    places = [table["columns"].index(column) for column in wanted]
    return np.array([[row[place] for place in places] for row in table["data"]], dtype=float)


def gates(files: Mapping[str, bytes]) -> Built:
    """Return the signals of a netlist joined to those computed from them; the class is the kind of the gate.

    Features are the numbers of signals read and of readers, and whether a signal enters or leaves the circuit. Inputs
    have no class.
    """
    (content,) = files.values()
    text = content.decode()
    found = [(kind, re.split(r"\s*,\s*", ports.strip())) for kind, ports in _GATE.findall(text)]
    ports = {way: set(re.split(r"\s*,\s*", names.strip())) for way, names in _PORTS.findall(text)}
    number = numbered([name for _, (*names,) in found for name in names])
    pairs = [(number[source], number[out]) for _, (out, *sources) in found for source in sources]
    codes = np.full(len(number), -1)
    for kind, (out, *_) in found:
        codes[number[out]] = GATES.index(kind)
    ends = np.array(pairs)
    x = np.stack(
        [
            np.log1p(np.bincount(ends[:, 1], minlength=len(number))),
            np.log1p(np.bincount(ends[:, 0], minlength=len(number))),
            np.array([float(name in ports["input"]) for name in number]),
            np.array([float(name in ports["output"]) for name in number]),
        ],
        axis=1,
    )
    return Built([with_labels(undirected(pairs, len(number), x=x), codes)])
