"""Biology: molecules, proteins, tissues, brains and contacts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphnetz.datasets.cards import dataset
from graphnetz.datasets.catalogue import public_loaders

if TYPE_CHECKING:
    from torch_geometric.data import Data


@dataset(
    "biology",
    serves={"node_cls": 40},
    title="Breast cancer biopsies joined to their nearest",
    source="scikit-learn (UCI Breast Cancer Wisconsin Diagnostic)",
    licence="CC BY 4.0",
    citation="Street, Wolberg and Mangasarian, Nuclear feature extraction for breast tumor diagnosis, 1993.",
    offline=True,
    nodes=569,
    features=30,
    classes=2,
    notes=("Real measurements; the graph joins each biopsy to its 10 nearest and is ours.", "60 labels per class."),
)
def breast_cancer_knn(_root: object = None, *, k: int = 10, per_class: int = 60) -> Data:
    """Return the biopsies as a nearest-neighbour graph with ten random splits."""
    from sklearn.datasets import load_breast_cancer

    from graphnetz.datasets.generators.build import with_masks
    from graphnetz.datasets.generators.networks import nearest_neighbour_graph

    table = load_breast_cancer()
    return with_masks(nearest_neighbour_graph(table.data, table.target, k=k), splits=10, per_class=per_class)


globals().update(public_loaders("biology"))
