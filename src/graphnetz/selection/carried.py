"""Real graphs that the dependencies of this package carry: no download, free to use."""

from __future__ import annotations

import numpy as np

from graphnetz.graphs.random_graphs import nearest_pairs, standardised
from graphnetz.selection.synthetic import Made, family


def _table(name: str, neighbours: int, *, labelled: bool = True) -> Made:
    """The rows of a table of scikit-learn, joined to the nearest ones of the standardised table."""
    from sklearn import datasets

    data, target = getattr(datasets, f"load_{name}")(return_X_y=True)
    values = standardised(data[:, data.std(axis=0) > 0])
    classes = np.asarray(target, dtype=np.int64) if labelled else None
    return nearest_pairs(values, neighbours), classes, values.astype(np.float32)


@family
def digits(_: np.random.Generator, *, neighbours: int) -> Made:
    """Nearest handwritten digits of scikit-learn (Alpaydin and Kaynak, 1998); classes are digits."""
    return _table("digits", neighbours)


@family
def breast_cancer(_: np.random.Generator, *, neighbours: int) -> Made:
    """Nearest biopsies of scikit-learn (Wolberg et al., 1995); classes are benign and malignant."""
    return _table("breast_cancer", neighbours)


@family
def wine(_: np.random.Generator, *, neighbours: int) -> Made:
    """Nearest wines of scikit-learn (Aeberhard and Forina, 1991); classes are cultivars."""
    return _table("wine", neighbours)


@family
def diabetes(_: np.random.Generator, *, neighbours: int) -> Made:
    """Nearest patients of scikit-learn (Efron et al., 2004); no classes."""
    return _table("diabetes", neighbours, labelled=False)


@family
def karate_club(_: np.random.Generator) -> Made:
    """Friendships in a karate club, from networkx (Zachary, 1977); no node features."""
    import networkx as nx

    return np.array(nx.karate_club_graph().edges(), dtype=np.int64), None, None


@family
def les_miserables(_: np.random.Generator) -> Made:
    """Characters on stage together, from networkx (Knuth, 1993); no node features."""
    import networkx as nx

    graph = nx.convert_node_labels_to_integers(nx.les_miserables_graph(), ordering="sorted")
    return np.array(graph.edges(), dtype=np.int64), None, None
