"""Held-out edges and sampled negatives, vectorised and a pure function of the seed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from graphnetz._core.errors import DataError
from graphnetz._core.rng import generator


@dataclass(frozen=True)
class Pairs:
    """Labelled pairs of one part: ``index`` [2, P], ``label`` [P], and relation types where there are any.

    Where ``width`` is not 0, every ``width`` pairs in a row are one true edge and the false ones it is ranked among.
    """

    index: Tensor
    label: Tensor
    relation: Tensor | None = None
    width: int = 0

    def __len__(self) -> int:
        return self.index.size(1)

    def ids(self, num_nodes: int) -> np.ndarray:
        """One number per pair, made of its ends and its relation: the same under every seed."""
        head, tail = self.index.cpu().numpy()
        above = 0 if self.relation is None else self.relation.cpu().numpy() * num_nodes
        return np.asarray((above + head) * num_nodes + tail, dtype=np.int64)


def labelled(
    positive: np.ndarray, negative: np.ndarray, relation: tuple[np.ndarray, np.ndarray] | None = None
) -> Pairs:
    """Positives first, then negatives."""
    index = torch.from_numpy(np.concatenate([positive, negative], axis=1))
    label = torch.cat([torch.ones(positive.shape[1]), torch.zeros(negative.shape[1])])
    types = None if relation is None else torch.from_numpy(np.concatenate(relation))
    return Pairs(index, label.to(torch.get_default_dtype()), types)


def grouped(true: np.ndarray, drawn: np.ndarray, rng: np.random.Generator) -> Pairs:
    """Each true edge ``[2, edge]`` among its candidates ``[2, edge, candidate]``, at a place that says nothing."""
    queries, width = drawn.shape[1], drawn.shape[2] + 1
    order = rng.permuted(np.tile(np.arange(width), (queries, 1)), axis=1)
    index = np.take_along_axis(np.concatenate([true[:, :, None], drawn], axis=2), order[None], axis=2)
    label = torch.from_numpy((order == 0).reshape(-1)).to(torch.get_default_dtype())
    return Pairs(torch.from_numpy(np.ascontiguousarray(index.reshape(2, -1))), label, width=width)


def mixed(pairs: Pairs) -> Pairs:
    """The same pairs in an order that says nothing about their labels, for the parts that models are tested on."""
    if pairs.width:  # mixed already, each edge among its own candidates
        return pairs
    order = torch.from_numpy(generator("order of pairs", len(pairs)).permutation(len(pairs)))
    relation = None if pairs.relation is None else pairs.relation[order]
    return Pairs(pairs.index[:, order], pairs.label[order], relation)


def unordered_pairs(edge_index: np.ndarray, num_nodes: int) -> tuple[np.ndarray, np.ndarray]:
    """Distinct node pairs without self-loops as sorted codes, and the pair number of every column (-1 for loops).

    The pair, not the arc, is what is held out: both directions and repeated edges of a pair stay
    on the same side of the split, so no answer leaks through a reverse edge.
    """
    low, high = np.minimum(*edge_index), np.maximum(*edge_index)
    # One number per pair sorts and compares faster than two columns.
    codes = low.astype(np.int64) * num_nodes + high
    proper = low != high
    unique, inverse = np.unique(codes[proper], return_inverse=True)
    number = np.full(edge_index.shape[1], -1, dtype=np.int64)
    number[proper] = inverse
    return unique, number


def sample_non_edges(edges: np.ndarray, num_nodes: int, count: int, rng: np.random.Generator) -> np.ndarray:
    """Draw ``count`` distinct unordered pairs that are not in ``edges`` (sorted codes), uniformly.

    Fewer come back when the graph does not have that many.
    """
    total = num_nodes * (num_nodes - 1) // 2
    free = total - edges.size
    count = min(count, free)
    if count <= 0:
        return np.zeros((2, 0), dtype=np.int64)
    if count > free // 3:  # dense: enumerate instead of rejecting
        low, high = np.triu_indices(num_nodes, k=1)
        codes = np.setdiff1d(low.astype(np.int64) * num_nodes + high, edges, assume_unique=True)
        chosen = rng.choice(codes, size=count, replace=False)
        return np.stack([chosen // num_nodes, chosen % num_nodes])
    chosen = np.zeros(0, dtype=np.int64)
    while chosen.size < count:
        # A third more than needed, so that one or two rounds are enough.
        a, b = rng.integers(0, num_nodes, (2, int(1.3 * (count - chosen.size)) + 16))
        codes = (np.minimum(a, b) * num_nodes + np.maximum(a, b))[a != b]
        codes = codes[~member(edges, codes)]
        joined = np.concatenate([chosen, codes])
        # In order of arrival: cutting sorted codes would prefer pairs of small node numbers.
        _, first = np.unique(joined, return_index=True)
        chosen = joined[np.sort(first)][:count]
    return np.stack([chosen // num_nodes, chosen % num_nodes])


def corrupt_tails(
    triples: np.ndarray, known: np.ndarray, sizes: tuple[int, int], rng: np.random.Generator
) -> np.ndarray:
    """Replace the tail of every triple (rows head, relation, tail) so that no result is ``known``.

    ``known`` holds sorted codes of all true triples; ``sizes`` is (entities, relations).
    """
    entities, _ = sizes
    tails: np.ndarray = rng.integers(0, entities, size=(triples.shape[1],))
    for _ in range(100):
        bad = member(known, triple_codes(triples[0], triples[1], tails, sizes))
        if not bad.any():
            return tails
        tails[bad] = rng.integers(0, entities, int(bad.sum()))
    raise DataError("Could not find false triples: nearly every triple of this graph is true. Use a sparser graph.")


def triple_codes(head: np.ndarray, relation: np.ndarray, tail: np.ndarray, sizes: tuple[int, int]) -> np.ndarray:
    """One integer per triple."""
    entities, relations = sizes
    return np.asarray((head.astype(np.int64) * relations + relation) * entities + tail)


def member(sorted_codes: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Whether each of ``codes`` is among ``sorted_codes``."""
    if sorted_codes.size == 0:
        return np.zeros(codes.shape, dtype=bool)
    position = np.searchsorted(sorted_codes, codes).clip(max=sorted_codes.size - 1)
    return np.asarray(sorted_codes[position] == codes)
