"""A knowledge graph of kinship whose relations follow from two of them by exact rules."""

from __future__ import annotations

import numpy as np
from torch_geometric.data import Data

from graphnetz._core.rng import generator
from graphnetz.datasets.generators.build import graph, tensor

RELATIONS = ("parent", "spouse", "child", "sibling", "grandparent", "aunt_or_uncle", "cousin")


def families(
    rng: np.random.Generator, *, founders: int, generations: int, children: float
) -> tuple[int, np.ndarray, np.ndarray]:
    """Return the number of people, parent pairs [P, 2] (parent, child) and spouse pairs [S, 2].

    ``founders`` couples begin. In each generation people of different families marry at random, one
    in five stays single; couples have 1 + Poisson(``children`` - 1) children.
    """
    count = 2 * founders
    couples = np.arange(count).reshape(-1, 2)
    family = np.repeat(np.arange(founders), 2)
    parents, spouses = [], [couples]
    for _ in range(generations - 1):
        sizes = 1 + rng.poisson(children - 1, len(couples))
        born = np.arange(count, count + sizes.sum())
        origin = np.repeat(np.arange(len(couples)), sizes)
        parents.append(np.stack([couples[origin].ravel(), np.repeat(born, 2)], axis=1))
        family = np.concatenate([family, count + origin])  # siblings share a number
        count += len(born)
        order = rng.permutation(born)[: 2 * int(0.4 * len(born))].reshape(-1, 2)
        couples = order[family[order[:, 0]] != family[order[:, 1]]]
        spouses.append(couples)
        if len(couples) == 0:
            break
    return count, np.concatenate(parents), np.concatenate(spouses)


def derive(count: int, parent: np.ndarray, spouse: np.ndarray) -> dict[str, np.ndarray]:
    """Return every relation as a boolean matrix; all but parent and spouse follow by composition.

    ``R[a, b]`` reads "a is R of b": sibling = child of a parent, not oneself; grandparent = parent of a
    parent; aunt or uncle = sibling of a parent; cousin = child of an aunt or uncle.
    """
    p = np.zeros((count, count), dtype=bool)
    p[parent[:, 0], parent[:, 1]] = True
    s = np.zeros((count, count), dtype=bool)
    s[spouse[:, 0], spouse[:, 1]] = s[spouse[:, 1], spouse[:, 0]] = True
    whole = p.astype(np.float32)
    sibling = whole.T @ whole > 0
    np.fill_diagonal(sibling, False)
    aunt = sibling.astype(np.float32) @ whole > 0
    cousin = whole.T @ aunt.astype(np.float32) > 0
    return {
        "parent": p,
        "spouse": s,
        "child": p.T,
        "sibling": sibling,
        "grandparent": whole @ whole > 0,
        "aunt_or_uncle": aunt,
        "cousin": cousin,
    }


def kinship(
    seed: int,
    *,
    founders: int = 40,
    generations: int = 4,
    children: float = 2.5,
    held: tuple[float, float] = (0.1, 0.1),
) -> Data:
    """Return the kinship graph in the layout of PyG's relational link-prediction datasets.

    All triples of `derive`, shuffled and split into ``train_``, ``valid_`` and ``test_`` parts
    (``held`` gives the last two shares). Entities are known by their number only.
    """
    rng = generator("kinship", seed)
    count, parent, spouse = families(rng, founders=founders, generations=generations, children=children)
    found = [np.argwhere(matrix) for matrix in derive(count, parent, spouse).values()]
    kind = np.repeat(np.arange(len(RELATIONS)), [len(rows) for rows in found])
    triples = np.column_stack([np.concatenate(found), kind])
    triples = triples[rng.permutation(len(triples))]
    first = round(len(triples) * (1 - sum(held)))
    second = round(len(triples) * (1 - held[1]))
    data = graph(triples[:, :2].T, count, edge_type=triples[:, 2])
    for part, rows in zip(("train", "valid", "test"), np.split(triples, [first, second]), strict=True):
        data[f"{part}_edge_index"] = tensor(rows[:, :2].T)
        data[f"{part}_edge_type"] = tensor(rows[:, 2])
    data.num_relations = len(RELATIONS)
    data.feature_rule = "identity"
    return data
