"""Examples that stand on both sides of a split, under one name or another."""

from __future__ import annotations

import numpy as np

from graphnetz.audit.checks import PARTS, Found, Inspected, check
from graphnetz.tasktypes.overlap import (
    SOME,
    equal_graphs,
    equal_words,
    pair_codes,
    percent,
    positive_codes,
    repeated,
)
from graphnetz.tasktypes.packing import PackedGraphs

MANY = 0.20
"""Share of test examples from which copies in training are called a leak, not a warning."""

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
    return positive_codes(seen.split, part) if seen.is_pairs else np.asarray(seen.split.part(part))


@check("held_out_edges")
def held_out_edges(seen: Inspected) -> Found:
    """Held-out edges among the edges that models pass messages over."""
    if not seen.is_pairs:
        return
    for text, share in repeated(seen.split):
        yield "leak", text, share


@check("reverse_pairs")
def reverse_pairs(seen: Inspected) -> Found:
    """Test triples whose two ends are joined in training by another relation or the other way round."""
    if not seen.is_pairs or seen.split.dims.num_relations is None:
        return
    pairs = seen.split.test
    ends = pairs.index.numpy()[:, np.asarray(pairs.label) > 0.5]
    visible = np.unique(pair_codes(seen.split, seen.split.data.edge_index.numpy(), None))
    share = float(np.isin(pair_codes(seen.split, ends, None), visible).mean())
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
    if seen.packed is None:
        return
    share = equal_graphs(seen.split)
    yield from _graded(share, equal_words(share))
