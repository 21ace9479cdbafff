"""Link prediction as ranking: every true edge among candidates of its own.

Two kinds of candidates: those listed with the pairs (`Pairs.width` in a row, hard negatives for instance), and, for the
triples of a knowledge graph, all entities at either end. The second are far too many to list, so that models are asked
block by block and only the ranks are kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import nn

from graphnetz.metrics import METRICS, ranks_among
from graphnetz.tasktypes.base import Split
from graphnetz.tasktypes.pairs import Pairs

BLOCK = 2_000_000
"""Scores of candidates that are held at a time."""

Scorer = Callable[[np.ndarray, np.ndarray, bool], np.ndarray]
"""``(given, relation, tails) -> [query, entity]``: scores of all entities at the other end of the given ones, which are
tails where ``tails`` is true and heads otherwise."""


@dataclass(frozen=True)
class Queries:
    """The true edges of one part as questions: who is ranked, and where it lies.

    Parameters
    ----------
    example
        One number per question: the same under every seed.
    ends
        ``[query, 2]``: the true edge.
    candidates
        How many each is ranked among, itself included.
    """

    example: np.ndarray
    ends: np.ndarray
    candidates: np.ndarray


def among_all(split: Split) -> bool:
    """Whether triples of a knowledge graph are ranked among all entities: where the headline metric is one of ranks."""
    return split.kind == "relational" and METRICS[split.metric].of_ranks is not None


def by_query(split: Split) -> bool:
    """Whether what is kept of the test outputs are ranks."""
    listed = isinstance(split.test, Pairs) and split.test.width > 0
    return METRICS[split.metric].of_ranks is not None and (listed or split.kind == "relational")


def ranks_of(split: Split, part: str, score: np.ndarray) -> np.ndarray | None:
    """Return the ranks behind the outputs of one part; None where positives share their negatives."""
    if among_all(split):
        return score
    width = split.part(part).width
    if not width:
        return None
    table, truth = score.reshape(-1, width), split.targets[part].reshape(-1, width) > 0.5
    return np.asarray(ranks_among(table[truth], np.where(truth, -np.inf, table)))


def queries_of(split: Split, part: str) -> Queries:
    """Return the questions of one part in the order of their ranks."""
    pairs, nodes = split.part(part), int(split.data.num_nodes)
    truth = split.targets[part] > 0.5
    ends, ids = pairs.index.cpu().numpy()[:, truth].T, pairs.ids(nodes)[truth]
    if not among_all(split):
        if pairs.relation is not None:  # the tails of all triples, then their heads: two questions about each
            ids = 2 * ids + np.repeat([0, 1], len(ids) // 2)
        return Queries(ids, ends, np.full(len(ids), pairs.width))
    filtered = _filters(split, part)
    counts = np.concatenate([nodes - np.diff(side.start) for side in filtered])
    return Queries(np.concatenate([2 * ids, 2 * ids + 1]), np.concatenate([ends, ends]), counts)


@dataclass(frozen=True)
class _Filter:
    """Questions with one end given, and for each the entities that are true answers to it as well."""

    given: np.ndarray
    relation: np.ndarray
    answer: np.ndarray
    start: np.ndarray
    others: np.ndarray
    tails: bool


def _triples(split: Split, part: str) -> np.ndarray:
    """Heads, relations and tails of the true triples of one part."""
    pairs, truth = split.part(part), split.targets[part] > 0.5
    index = pairs.index.cpu().numpy()[:, truth]
    return np.stack([index[0], pairs.relation.cpu().numpy()[truth], index[1]])


def _filters(split: Split, part: str) -> tuple[_Filter, _Filter]:
    """Questions for the tails of a part's triples, then for their heads, with what training and test know besides."""
    key = f"filters_{part}"
    if key not in split.cache:
        every = np.unique(np.concatenate([_triples(split, name) for name in ("train", "val", "test")], axis=1), axis=1)
        asked = _triples(split, part)
        split.cache[key] = (_filter(every, asked, tails=False), _filter(every[::-1], asked[::-1], tails=True))
    found: tuple[_Filter, _Filter] = split.cache[key]
    return found


def _filter(every: np.ndarray, asked: np.ndarray, *, tails: bool) -> _Filter:
    relations = int(every[1].max()) + 1
    code = every[0] * relations + every[1]
    order = np.argsort(code, kind="stable")
    code, answers = code[order], every[2][order]
    low, high = (np.searchsorted(code, asked[0] * relations + asked[1], side) for side in ("left", "right"))
    rows = np.repeat(np.arange(asked.shape[1]), high - low)
    place = np.arange(rows.size) - np.repeat(np.cumsum(high - low) - (high - low), high - low) + low[rows]
    true = answers[place]
    other = true != asked[2][rows]
    start = np.concatenate([[0], np.cumsum(np.bincount(rows[other], minlength=asked.shape[1]))])
    return _Filter(asked[0], asked[1], asked[2], start, true[other], tails)


def filtered_ranks(split: Split, part: str, scorer: Scorer) -> np.ndarray:
    """Return the rank of every true entity among all that do not make a true triple themselves (Bordes et al., 2013).

    Parameters
    ----------
    split
        With the true triples of all parts.
    part
        Which part.
    scorer
        Scores of all entities.

    Returns
    -------
    ndarray
        Ranks of the tails of all triples, then of their heads; ties at their mean place, NaN for a score that is none.
    """
    return np.concatenate([_side(side, int(split.data.num_nodes), scorer) for side in _filters(split, part)])


def _side(side: _Filter, nodes: int, scorer: Scorer) -> np.ndarray:
    out = np.empty(len(side.answer))
    for first, last in _blocks(len(side.answer), nodes):
        rows = slice(first, last)
        table = np.array(scorer(side.given[rows], side.relation[rows], side.tails))  # a copy: it is written to
        place = (np.arange(last - first), side.answer[rows])
        own = table[place].copy()
        counts = np.diff(side.start[first : last + 1])
        known = side.others[side.start[first] : side.start[last]]
        table[np.repeat(place[0], counts), known] = -np.inf
        table[place] = -np.inf
        out[rows] = ranks_among(own, table)
    return out


def _blocks(count: int, nodes: int) -> Iterator[tuple[int, int]]:
    step = max(1, BLOCK // max(nodes, 1))
    for first in range(0, count, step):
        yield first, min(first + step, count)


def model_scorer(model: nn.Module, z: Any, nodes: int) -> Scorer:
    """Scores of all entities by a model: its own way (``score_all``) where it has one, else pair by pair."""
    own = getattr(model, "score_all", None)
    device = z.device if isinstance(z, torch.Tensor) else torch.device("cpu")

    def score(given: np.ndarray, relation: np.ndarray, tails: bool) -> np.ndarray:
        ends, kinds = (torch.from_numpy(np.ascontiguousarray(part)).to(device) for part in (given, relation))
        if own is not None:
            return np.asarray(own(z, ends, kinds).cpu().numpy())
        every = torch.arange(nodes, device=device).repeat(len(ends))
        fixed = ends.repeat_interleave(nodes)
        index = torch.stack([every, fixed] if tails else [fixed, every])
        found = model.decode(z, index, kinds.repeat_interleave(nodes))  # type: ignore[operator]
        return np.asarray(found.cpu().numpy().reshape(len(ends), nodes))

    return score
