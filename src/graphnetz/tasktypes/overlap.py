"""Examples that stand on both sides of a split: refused where the parts share them, named where they are copies."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

import numpy as np

from graphnetz._core.errors import DataError
from graphnetz.tasktypes.base import Split
from graphnetz.tasktypes.packing import PackedGraphs
from graphnetz.tasktypes.pairs import Pairs, member

SOME = 0.01
"""Share of test examples from which copies in training are named."""

_WORDS = {"train": "training", "val": "validation", "test": "test"}


def refuse_overlap(split: Split) -> None:
    """Refuse a split whose parts share nodes, edges or graphs; pairs may be listed twice, which `repeated` tells.

    Parameters
    ----------
    split
        Looked at once; the answer is kept with it.

    Examples
    --------
    >>> import networkx as nx
    >>> from graphnetz import get_split, task_from_networkx
    >>> refuse_overlap(get_split(task_from_networkx("karate", nx.karate_club_graph(), label="club")))
    """
    if isinstance(split.train, Pairs) or "disjoint" in split.cache:
        return
    parts = {name: np.asarray(split.part(name).cpu()) for name in ("test", "val", "train")}
    parts |= {name: np.asarray(rows.cpu()) for name, rows in split.others.items()}
    unit = "graph" if isinstance(split.data, PackedGraphs) else split.unit
    for first, second in combinations(parts, 2):
        shared = int(np.isin(parts[first], parts[second]).sum())
        if shared:
            words = [_WORDS.get(part, part) for part in (first, second)]
            raise DataError(
                f"{shared} of the {len(parts[first])} {words[0]} {unit}s are {words[1]} {unit}s as well, so "
                "a score on them says nothing. Give train, validation and test masks or lists that share none."
            )
    split.cache["disjoint"] = True


def repeated(split: Split) -> list[tuple[str, float]]:
    """Find test examples that training shows under another name: equal graphs, or edges in both roles.

    Parameters
    ----------
    split
        One seed's split; the other seeds cut the same data.

    Returns
    -------
    list of tuple
        A sentence and the share of test examples it is about; empty where nothing was found.

    Examples
    --------
    >>> import networkx as nx
    >>> from graphnetz import get_split, task_from_networkx
    >>> repeated(get_split(task_from_networkx("karate", nx.karate_club_graph())))
    []
    """
    found = _equal_graphs(split) if isinstance(split.data, PackedGraphs) else _edges_in_both_roles(split)
    return [(text, share) for text, share in found if share > 0]


def _equal_graphs(split: Split) -> Iterator[tuple[str, float]]:
    share = equal_graphs(split)
    if share >= SOME:
        yield equal_words(share), share


def equal_words(share: float) -> str:
    """Say how many test graphs are copies."""
    return f"{percent(share)} of the test graphs equal a training graph, by Weisfeiler-Leman hash with features."


def equal_graphs(split: Split) -> float:
    """Share of test graphs that the Weisfeiler-Leman hash cannot tell from a training graph."""
    hashes = wl_hashes(split.data)
    train, test = (hashes[np.asarray(split.part(part).cpu())] for part in ("train", "test"))
    return float(np.isin(test, train).mean())


def _edges_in_both_roles(split: Split) -> Iterator[tuple[str, float]]:
    if not isinstance(split.train, Pairs):
        return
    visible = visible_codes(split)
    for part in ("test", "val"):
        held = positive_codes(split, part)
        # Few are held out and many are visible: sorting the few is ten times as fast.
        share = float(np.isin(held, visible[member(np.unique(held), visible)]).mean())
        where = "edges that models pass messages over: the answer is in the graph."
        yield f"{percent(share)} of the {_WORDS[part]} edges are {where}", share


def visible_codes(split: Split) -> np.ndarray:
    """One number per pair that models pass messages over."""
    kinds = split.data.edge_type.numpy() if split.dims.num_relations is not None else None
    return pair_codes(split, split.data.edge_index.numpy(), kinds)


def positive_codes(split: Split, part: str) -> np.ndarray:
    """One number per true pair of a part."""
    pairs = split.part(part)
    chosen = np.asarray(pairs.label) > 0.5
    relation = None if pairs.relation is None else pairs.relation.numpy()[chosen]
    return pair_codes(split, pairs.index.numpy()[:, chosen], relation)


def pair_codes(split: Split, ends: np.ndarray, relation: np.ndarray | None) -> np.ndarray:
    """One number per pair, with its relation where there are any."""
    nodes = int(split.data.num_nodes)
    if relation is None:  # decoders are symmetric: the pair counts, not the arc
        return np.asarray(np.minimum(*ends).astype(np.int64) * nodes + np.maximum(*ends))
    return np.asarray((relation.astype(np.int64) * nodes + ends[0]) * nodes + ends[1])


def percent(share: float) -> str:
    """Share as words: ``12 %``, ``0.4 %``."""
    return f"{100 * share:.0f} %" if share >= 0.1 else f"{100 * share:.1f} %"


def arcs(packed: PackedGraphs) -> np.ndarray:
    """Both ends of every arc, numbered through all graphs."""
    shift = np.repeat(packed.node_ptr.numpy()[:-1], np.diff(packed.edge_ptr.numpy()))
    return np.asarray(packed.edge_index.numpy() + shift)


def wl_hashes(packed: PackedGraphs, *, rounds: int = 4) -> np.ndarray:
    """One 64-bit Weisfeiler-Leman hash per graph: isomorphic graphs (features and edge attributes included) agree."""
    sizes, edges = np.diff(packed.node_ptr.numpy()), np.diff(packed.edge_ptr.numpy())
    source, target = arcs(packed)
    colour = _mix(_hash_rows(packed.node["x"].numpy()))
    attr = packed.edge.get("edge_attr")
    label = np.zeros(source.size, dtype=np.uint64) if attr is None else _hash_rows(attr.numpy())
    for _ in range(rounds):
        gathered = np.zeros(len(colour), dtype=np.uint64)
        np.add.at(gathered, target, _mix(colour[source] ^ _mix(label)))
        colour = _mix(_mix(colour) * np.uint64(3) + gathered)
    whole = np.zeros(sizes.size, dtype=np.uint64)
    np.add.at(whole, np.repeat(np.arange(sizes.size), sizes), _mix(colour))
    return _mix(whole + sizes.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15) + edges.astype(np.uint64))


def _hash_rows(rows: np.ndarray) -> np.ndarray:
    """One 64-bit number per row of values."""
    values = np.ascontiguousarray(rows.reshape(len(rows), -1).astype(np.float64) + 0.0).view(np.uint64)
    code = np.full(len(rows), 0x243F6A8885A308D3, dtype=np.uint64)
    for column in values.T:
        code = _mix(code * np.uint64(31) + column)
    return code


def _mix(x: np.ndarray) -> np.ndarray:
    """Scramble the bits (the finaliser of splitmix64, Steele, Lea and Flood 2014)."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(x ^ (x >> np.uint64(31)))
