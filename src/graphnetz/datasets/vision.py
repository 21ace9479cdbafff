"""Vision: images and shapes as graphs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from graphnetz.datasets.cards import dataset
from graphnetz.datasets.catalogue import public_loaders

if TYPE_CHECKING:
    from torch_geometric.data import Data

    from graphnetz.records import GraphList

_DIGITS: dict[str, Any] = {
    "source": "scikit-learn (UCI Optical Recognition of Handwritten Digits)",
    "licence": "CC BY 4.0",
    "citation": "Alpaydin and Kaynak, Cascading classifiers, 1998.",
    "offline": True,
    "classes": 10,
}


@dataset(
    "vision",
    serves={"node_cls": 30},
    title="Handwritten digits joined to their nearest",
    nodes=1797,
    features=64,
    notes=("Real images; the graph joins each to its 5 nearest and is ours.", "4 labels per class."),
    **_DIGITS,
)
def digits_knn(_root: object = None, *, k: int = 5, per_class: int = 4) -> Data:
    """Return the 8 x 8 images as a nearest-neighbour graph with ten random splits of few labels."""
    from sklearn.datasets import load_digits

    from graphnetz.datasets.generators.build import both_ways, graph, with_masks
    from graphnetz.graphs.random_graphs import nearest_pairs

    table = load_digits()
    pixels = table.data / 16.0
    data = graph(both_ways(nearest_pairs(pixels, k)), len(pixels), x=pixels, y=table.target)
    return with_masks(data, splits=10, per_class=per_class)


@dataset(
    "vision",
    serves={"graph_cls": 20},
    title="Handwritten digits as superpixels",
    graphs=600,
    features=3,
    notes=("Real images, the first 600 of 1,797; up to 12 superpixels each, with grey value and position.",),
    **_DIGITS,
    protocol={"lr": 1e-2},
)
def digits_superpixels(_root: object = None, *, images: int = 600, **options: Any) -> GraphList:
    """Return one superpixel graph per image; see `graphnetz.datasets.generators.images`."""
    from sklearn.datasets import load_digits

    from graphnetz.datasets.generators.images import superpixel_graphs

    table = load_digits()
    options = {"segments": 12, "neighbours": 4, **options}
    return superpixel_graphs(table.images[:images] / 16.0, table.target[:images], **options)


globals().update(public_loaders("vision"))
