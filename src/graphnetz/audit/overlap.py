"""Examples that stand on both sides of a split, under one name or another."""

from __future__ import annotations

import numpy as np

from graphnetz.audit.checks import PARTS, Found, Inspected, arcs, check, percent
from graphnetz.tasktypes.packing import PackedGraphs

SOME, MANY = 0.01, 0.20
"""Shares of test examples from which an overlap is named, and from which it is called a leak."""

NAMES = 0.9
"""Share of distinct rows from which features are as good as names."""


def _graded(share: float, text: str) -> Found:
    if share >= SOME:
        yield "leak" if share >= MANY else "warning", text, share


@check("shared_examples")
def shared_examples(seen: Inspected) -> Found:
    """The same node, edge, graph or pair in two parts of the split."""
    codes = {part: _codes(seen, part) for part in PARTS}
    for other in ("train", "val"):
        both = np.isin(codes["test"], codes[other])
        if both.any():
            share = float(both.mean())
            where = "training" if other == "train" else "validation"
            yield "leak", f"{percent(share)} of the test examples are also {where} examples.", share


def _codes(seen: Inspected, part: str) -> np.ndarray:
    split = seen.split
    if not seen.is_pairs:
        return np.asarray(split.part(part))
    pairs = split.part(part)
    chosen = np.asarray(pairs.label) > 0.5
    return _pair_codes(
        seen, pairs.index.numpy()[:, chosen], None if pairs.relation is None else pairs.relation.numpy()[chosen]
    )


def _pair_codes(seen: Inspected, ends: np.ndarray, relation: np.ndarray | None) -> np.ndarray:
    nodes = int(seen.split.data.num_nodes)
    if relation is None:  # decoders are symmetric: the pair counts, not the arc
        return np.asarray(np.minimum(*ends).astype(np.int64) * nodes + np.maximum(*ends))
    return np.asarray((relation.astype(np.int64) * nodes + ends[0]) * nodes + ends[1])


@check("held_out_edges")
def held_out_edges(seen: Inspected) -> Found:
    """Held-out edges among the edges that models pass messages over."""
    if not seen.is_pairs:
        return
    data = seen.split.data
    edges = data.edge_index.numpy()
    kinds = data.edge_type.numpy() if seen.split.dims.num_relations is not None else None
    visible = _pair_codes(seen, edges, kinds)
    for part, words in (("test", "test"), ("val", "validation")):
        share = float(np.isin(_codes(seen, part), visible).mean())
        if share > 0:
            text = (
                f"{percent(share)} of the {words} edges are edges that models pass messages over: the answer is in the "
                "graph."
            )
            yield "leak", text, share


@check("reverse_pairs")
def reverse_pairs(seen: Inspected) -> Found:
    """Test triples whose two ends are joined in training by another relation or the other way round."""
    if not seen.is_pairs or seen.split.dims.num_relations is None:
        return
    pairs = seen.split.test
    ends = pairs.index.numpy()[:, np.asarray(pairs.label) > 0.5]
    visible = np.unique(_pair_codes(seen, seen.split.data.edge_index.numpy(), None))
    share = float(np.isin(_pair_codes(seen, ends, None), visible).mean())
    text = (
        f"The ends of {percent(share)} of the test triples are joined in training by another relation or the other "
        "way round: a rule that copies neighbours answers them (Toutanova and Chen 2015)."
    )
    yield from _graded(share, text)


@check("duplicate_nodes")
def duplicate_nodes(seen: Inspected) -> Found:
    """Test nodes with exactly the features of a training node, where features are as good as names."""
    if seen.task.task_type != "node_cls" or isinstance(seen.split.data, PackedGraphs):
        return
    x = seen.split.data.x.numpy()
    codes, distinct = _row_codes(x)
    some = np.any(x != 0, axis=1)  # rows of zeros are missing values, not twins
    if distinct < NAMES * max(int(some.sum()), 1):
        return  # features are a few categories: equal rows are no surprise
    train, test = (np.asarray(seen.split.part(part)) for part in ("train", "test"))
    share = float((np.isin(codes[test], codes[train[some[train]]]) & some[test]).mean())
    yield from _graded(share, f"{percent(share)} of the test nodes have exactly the features of a training node.")


def _row_codes(x: np.ndarray) -> tuple[np.ndarray, int]:
    """One number per distinct row, and how many distinct rows there are that are not all zero."""
    rows = np.ascontiguousarray(x)
    view = rows.view(np.dtype((np.void, rows.dtype.itemsize * rows.shape[1]))).ravel()
    unique, codes = np.unique(view, return_inverse=True)
    zero = int(np.any(~np.any(x != 0, axis=1)))
    return codes, unique.size - zero


@check("duplicate_graphs")
def duplicate_graphs(seen: Inspected) -> Found:
    """Test graphs that the Weisfeiler-Leman hash cannot tell from a training graph, features included."""
    packed = seen.packed
    if packed is None:
        return
    hashes = wl_hashes(packed)
    train, test = hashes[np.asarray(seen.split.train)], hashes[np.asarray(seen.split.test)]
    share = float(np.isin(test, train).mean())
    text = f"{percent(share)} of the test graphs equal a training graph, by Weisfeiler-Leman hash with features."
    yield from _graded(share, text)


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
