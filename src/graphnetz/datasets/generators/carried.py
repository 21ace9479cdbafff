"""Real data that the dependencies of this package carry: tables joined to their nearest, images, small networks."""

from __future__ import annotations

from typing import Any

import numpy as np
from torch_geometric.data import Data

from graphnetz.datasets.generators.build import both_ways, graph, tensor, with_masks
from graphnetz.datasets.generators.images import superpixel_graphs
from graphnetz.graphs.random_graphs import nearest_pairs, standardised
from graphnetz.records import GraphList


def breast_cancer(*, k: int = 10, per_class: int = 60) -> Data:
    """Return biopsies joined to their ``k`` nearest (Euclid on standardised columns), with ten random splits."""
    from sklearn.datasets import load_breast_cancer

    values, classes = load_breast_cancer(return_X_y=True)
    return _nearest(standardised(values), classes, k=k, per_class=per_class)


def digits(*, k: int = 5, per_class: int = 4) -> Data:
    """Return 8 x 8 images joined to their ``k`` nearest, with ten random splits of few labels."""
    from sklearn.datasets import load_digits

    values, classes = load_digits(return_X_y=True)
    return _nearest(values / 16.0, classes, k=k, per_class=per_class)


def digit_superpixels(*, images: int = 600, **options: Any) -> GraphList:
    """Return one graph per image; see `graphnetz.datasets.generators.images.superpixel_graphs`."""
    from sklearn.datasets import load_digits

    table = load_digits()
    options = {"segments": 12, "neighbours": 4, **options}
    return superpixel_graphs(table.images[:images] / 16.0, table.target[:images], **options)


def network(name: str) -> Data:
    """Return a network that networkx carries; models know its nodes by number."""
    return _numbered(_carried(name))


def karate_club() -> Data:
    """Return the karate club; the label is the faction after the split."""
    built = _carried("karate_club")
    data = _numbered(built)
    data.y = tensor(np.array([int(club == "Officer") for _, club in built.nodes(data="club")]))
    return with_masks(data, splits=10, per_class=4)


def _nearest(x: np.ndarray, y: np.ndarray, *, k: int, per_class: int) -> Data:
    data = graph(both_ways(nearest_pairs(x, k)), len(x), x=x, y=np.asarray(y))
    return with_masks(data, splits=10, per_class=per_class)


def _carried(name: str) -> Any:
    import networkx as nx

    return getattr(nx, f"{name}_graph")()


def _numbered(built: Any) -> Data:
    number = {node: position for position, node in enumerate(built.nodes())}
    data = graph(both_ways(np.array([(number[u], number[v]) for u, v in built.edges()])), len(number))
    data.feature_rule = "identity"
    return data
