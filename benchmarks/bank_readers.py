"""Readers of graph files: formats of wheels and data sets, and parts of large graphs. `bank_graphs` lists them."""

from __future__ import annotations

import csv
import gzip
import json
import re
import shutil
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import networkx as nx
import numpy as np

from graphnetz.graphs import as_graph
from graphnetz.graphs.compressed import Graph


@dataclass(frozen=True)
class Read:
    """What a reader gives: pairs of node names, classes and features by node name."""

    pairs: list[tuple[Any, Any]]
    classes: dict[Any, Any] | None = None
    features: dict[Any, Any] | None = None


def made(read: Read, name: str, *, keep: int | None = None) -> Graph:
    """Number the nodes and make a simple graph of them; ``keep`` the largest component where asked."""
    graph = nx.Graph()
    graph.add_edges_from((a, b) for a, b in read.pairs if a != b)
    if keep:
        graph = graph.subgraph(max(nx.connected_components(graph), key=len)).copy()
    nodes = sorted(graph, key=str)
    number = {node: i for i, node in enumerate(nodes)}
    pairs = np.array([(number[a], number[b]) for a, b in graph.edges()], dtype=np.int64)
    labels = features = None
    if read.classes is not None:
        labels = classed([read.classes.get(node) for node in nodes])
    if read.features is not None:
        features = np.array([read.features[node] for node in nodes], dtype=np.float32)
    return as_graph(pairs, len(nodes), labels=labels, features=features, name=name)


def classed(values: Iterable[Any], least: int = 10) -> np.ndarray:
    """Number the classes; -1 where there is none, or where a class has fewer than ``least`` nodes."""
    held = list(values)
    count: dict[Any, int] = {}
    for value in held:
        if value is not None and value != "":
            count[value] = count.get(value, 0) + 1
    number = {value: i for i, value in enumerate(sorted((v for v, c in count.items() if c >= least), key=str))}
    return np.array([number.get(value, -1) for value in held], dtype=np.int64)


def part_of(graph: Graph, nodes: np.ndarray, name: str) -> Graph:
    """The graph induced on some nodes."""
    place = np.full(graph.num_nodes, -1)
    place[nodes] = np.arange(len(nodes))
    pairs = place[graph.edges]
    pairs = pairs[(pairs >= 0).all(axis=1)]
    labels = None if graph.labels is None else classed([v if v >= 0 else None for v in graph.labels[nodes].tolist()])
    features = None
    if graph.features is not None:
        features = graph.features[nodes]
        dense = features.toarray() if hasattr(features, "toarray") else np.asarray(features)
        features = dense[:, (dense != 0).any(axis=0)]  # words that no node of the part has tell nothing
    return as_graph(pairs, len(nodes), labels=labels, features=features, name=name)


def parts(graph: Graph, count: int, size: int) -> list[np.ndarray]:
    """``count`` sets of at most ``size`` nodes: the largest Louvain communities that fit, filled up with neighbours."""
    network = nx.Graph(graph.edges.tolist())
    left = [sorted(c) for c in nx.community.louvain_communities(network, seed=0, resolution=1.0)]
    fine: list[list[int]] = []
    for community in left:
        if len(community) <= size:
            fine.append(community)
        else:  # one community may be larger than a part: cut it again
            inner = network.subgraph(community)
            fine.extend(sorted(c) for c in nx.community.louvain_communities(inner, seed=0, resolution=2.0))
    fine = sorted((c for c in fine if len(c) <= size), key=len, reverse=True)
    out: list[np.ndarray] = []
    while fine and len(out) < count:
        chosen = fine.pop(0)
        inside = set(chosen)
        while len(inside) < 0.6 * size:  # join the community with most edges into it that still fits
            weight = [
                (sum(1 for u in c for v in network[u] if v in inside), i)
                for i, c in enumerate(fine[:60])
                if len(inside) + len(c) <= size
            ]
            if not weight or max(weight)[0] == 0:
                break
            inside.update(fine.pop(max(weight)[1]))
        out.append(np.array(sorted(inside)))
    return out


def epanet(content: bytes) -> Read:
    """Pipes, pumps and valves of a water network; quartiles of elevation as classes, demand as a feature."""
    section, pairs, height, demand = "", [], {}, {}
    for line in content.decode("latin1").splitlines():
        words = line.split(";")[0].split()
        if not words:
            continue
        if words[0].startswith("["):
            section = words[0].strip("[]").upper()
        elif section in ("PIPES", "PUMPS", "VALVES"):
            pairs.append((words[1], words[2]))
        elif section == "JUNCTIONS" and len(words) > 1:
            height[words[0]] = float(words[1])
            demand[words[0]] = float(words[2]) if len(words) > 2 else 0.0
    values = np.array(list(height.values()))
    bounds = np.unique(np.quantile(values, [0.25, 0.5, 0.75]))
    classes = {node: int(np.searchsorted(bounds, value)) for node, value in height.items()} if len(bounds) > 2 else None
    ends = {node for pair in pairs for node in pair}
    scale = float(np.std(list(demand.values()))) or 1.0
    features = {n: (demand.get(n, 0.0) / scale, float(demand.get(n, 0.0) > 0), float(n in height)) for n in ends}
    return Read(pairs, classes, features)


def pandapower(content: bytes) -> Read:
    """Lines and transformers between buses; the voltage level as class, load and generation as features."""
    whole = json.loads(content)["_object"]

    def table(name: str, *columns: str) -> list[list[Any]]:
        held = json.loads(whole[name]["_object"])
        places = [held["columns"].index(column) for column in columns]
        return [[row[place] for place in places] for row in held["data"]]

    pairs = [(a, b) for a, b in table("line", "from_bus", "to_bus") + table("trafo", "hv_bus", "lv_bus")]
    held = json.loads(whole["bus"]["_object"])
    place = held["columns"].index("vn_kv")
    classes = {bus: float(row[place]) for bus, row in zip(held["index"], held["data"], strict=True)}
    features: dict[Any, list[float]] = {bus: [0.0] * 5 for bus in classes}
    for bus, p, q in table("load", "bus", "p_mw", "q_mvar"):
        features[bus][0] += float(np.arcsinh(p))
        features[bus][1] += float(np.arcsinh(q))
    for name, column in (("gen", 2), ("sgen", 3), ("shunt", 4)):
        for (bus,) in table(name, "bus"):
            features[bus][column] += 1.0
    return Read(pairs, classes, features)


def netlist(content: bytes) -> Read:
    """Gates of a circuit, joined by the wires; the kind of gate as class."""
    text = re.sub(r"//[^\n]*|/\*.*?\*/", "", content.decode("latin1"), flags=re.S)
    kinds, inputs = {}, []
    for kind, ends in re.findall(r"\b(and|nand|or|nor|xor|xnor|not|buf|dff)\s+[^\s(]*\s*\(([^)]*)\)\s*;", text):
        out, *rest = (part.strip() for part in ends.split(","))
        kinds[out] = kind
        inputs += [(wire, out) for wire in rest]
    return Read(inputs, kinds)


def sbml(content: bytes) -> Read:
    """Reactions and their metabolites."""
    root = ElementTree.fromstring(gzip.decompress(content))
    space = root.tag.split("}")[0] + "}"
    return Read(
        [
            (reaction.get("id"), species.get("species"))
            for reaction in root.iter(space + "reaction")
            for species in reaction.iter(space + "speciesReference")
        ]
    )


def bayesian(content: bytes) -> Read:
    """Variables of a Bayesian network and their parents."""
    pairs = []
    for inside in re.findall(r"probability\s*\(([^)]*)\)", gzip.decompress(content).decode()):
        child, *parents = (word.strip() for word in re.split(r"[|,]", inside))
        pairs += [(parent, child) for parent in parents]
    return Read(pairs)


def node_link(content: bytes) -> Read:
    """A node-link file of networkx."""
    return Read([(edge["source"], edge["target"]) for edge in json.loads(content)["edges"]])


def worm(content: bytes, groups: dict[str, str]) -> Read:
    """A worm connectome: cells and any synapse between them; the kind of cell as class."""
    held = json.loads(content)
    joined = sum(np.asarray(matrix, dtype=float) for matrix in held["connections"].values())
    a, b = np.nonzero(np.triu(joined + joined.T, 1))
    names = held["nodes"]
    return Read([(names[i], names[j]) for i, j in zip(a, b, strict=True)], groups)


def contacts(content: bytes, separator: str | None = None) -> Read:
    """Lines ``time i j group group``: whom a person met at least twice; groups as classes where they are given."""
    met: dict[tuple[str, str], int] = {}
    groups: dict[str, str] = {}
    for line in content.decode().splitlines():
        _, a, b, *rest = line.split(separator)
        pair = (a, b) if a < b else (b, a)
        met[pair] = met.get(pair, 0) + 1
        if len(rest) == 2:
            groups[a], groups[b] = rest
    return Read([pair for pair, times in met.items() if times > 1], groups or None)


def triples(*texts: bytes, columns: tuple[int, int] = (0, 2)) -> Read:
    """Lines of head, relation and tail as a plain graph."""
    pairs = []
    for text in texts:
        for line in text.decode().splitlines():
            words = line.rstrip("\n").split("\t")
            pairs.append((words[columns[0]], words[columns[1]]))
    return Read(pairs)


def network(folder: Path, name: str, column: str | None = None, first: int | None = None) -> Read:
    """An edge list ``source,target`` and, where asked, a column of its table of nodes."""
    path = folder / f"{name}.csv"
    text = path.read_text() if path.exists() else gzip.decompress(path.with_suffix(".csv.gz").read_bytes()).decode()
    pairs = [(int(row[0]), int(row[1])) for row in list(csv.reader(text.splitlines()))[1:]]
    if column is None:
        return Read(pairs)
    with (folder / f"{name}_nodes.csv").open() as stream:
        values = [row[column] for row in csv.DictReader(stream)]
    return Read(pairs, {node: value[:first] if value else None for node, value in enumerate(values)})


def pyg(data: Any, name: str, *, features: bool = True) -> Graph:
    """A data object of PyTorch Geometric."""
    x = data.x.numpy() if features and data.x is not None else None
    labels = None if data.y is None else data.y.numpy()
    return as_graph(data.edge_index.T.numpy(), int(data.num_nodes), labels=labels, features=x, name=name)


def joined(
    graphs: Iterable[Any],
    name: str,
    *,
    labels: Callable[[Any], np.ndarray],
    features: Callable[[Any], np.ndarray] | None = None,
) -> Graph:
    """Small graphs side by side as one; the classes are those of nodes."""
    pairs, classes, rows, shift = [], [], [], 0
    for data in graphs:
        pairs.append(data.edge_index.T.numpy() + shift)
        classes.append(labels(data))
        if features:
            rows.append(features(data))
        shift += data.num_nodes
    held = np.concatenate(classes)
    return as_graph(
        np.concatenate(pairs),
        shift,
        labels=classed(held.tolist(), least=20),
        name=name,
        features=np.concatenate(rows).astype(np.float32) if rows else None,
    )


def table(values: np.ndarray, classes: np.ndarray | None, neighbours: int, name: str) -> Graph:
    """Rows of a table joined to their nearest ones."""
    from graphnetz.graphs.random_graphs import nearest_pairs, standardised

    values = standardised(values[:, values.std(axis=0) > 0])
    labels = None if classes is None else np.asarray(classes, dtype=np.int64)
    return as_graph(
        nearest_pairs(values, neighbours), len(values), labels=labels, name=name, features=values.astype(np.float32)
    )


@cache
def copied(folder: Path) -> Path:
    """A writable copy of a raw folder: PyTorch Geometric writes beside what it reads."""
    target = Path(tempfile.gettempdir()) / "graphnetz-bank" / folder.name
    if not target.exists():
        shutil.copytree(folder, target)
    return target
