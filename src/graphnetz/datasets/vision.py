"""Vision: images and shapes as graphs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from graphnetz.datasets.cards import dataset
from graphnetz.datasets.sources.facts import size

if TYPE_CHECKING:
    from torch_geometric.data import Data

    from graphnetz.datasets.sources.base import GraphDataset
    from graphnetz.datasets.sources.facts import Mirror, Root
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


_BENCH: dict[str, Any] = {
    "source": "data.pyg.org (files of Benchmarking-GNNs)",
    "licence": "MIT (repository)",
    "citation": "Dwivedi et al., Benchmarking graph neural networks, JMLR 24(43), 2023.",
}


@dataset(
    "vision",
    serves={"node_cls": 4},
    title="ShapeNet parts",
    source="shapenet.cs.stanford.edu",
    licence="ShapeNet terms: research use",
    citation="Yi et al., A scalable active framework for region annotation, 2016.",
    **size(16881, None, None, 6, 50),
)
def shapenet(root: Root = "data/shapenet", *, mirror: Mirror = None) -> GraphDataset:
    """Return 16,881 shapes as graphs of near points, each point labelled with its part."""
    from graphnetz.datasets.sources.packaged import shapenet

    return shapenet(root, mirror=mirror)


@dataset(
    "vision",
    serves={"graph_cls": 4},
    curated=("graph_cls",),
    title="MNIST superpixels",
    source="data.pyg.org",
    licence="not stated",
    citation="Monti et al., Geometric deep learning using mixture model CNNs, 2017.",
    notes=("The last 5,000 training graphs validate.",),
    **size(70000, 5250000, None, 3, 10),
)
def mnist_superpixels(root: Root = "data/mnist_superpixels", *, mirror: Mirror = None) -> GraphDataset:
    """Return 70,000 digits of 75 superpixels."""
    from graphnetz.datasets.sources.tensor_files import mnist_superpixels

    return mnist_superpixels(root, mirror=mirror)


@dataset("vision", serves={"graph_cls": 4}, title="CIFAR10 superpixels", **size(60000, None, None, 5, 10), **_BENCH)
def cifar10_superpixels(root: Root = "data/cifar10_superpixels", *, mirror: Mirror = None) -> GraphDataset:
    """Return 60,000 images of up to 150 superpixels."""
    from graphnetz.datasets.sources.tensor_files import gnn_benchmark

    return gnn_benchmark(root, "CIFAR10", mirror=mirror)


@dataset(
    "vision",
    serves={"graph_cls": 4},
    title="MNIST superpixels of Benchmarking-GNNs",
    **size(70000, None, None, 3, 10),
    **_BENCH,
)
def mnist_superpixels_slic(root: Root = "data/mnist_superpixels_slic", *, mirror: Mirror = None) -> GraphDataset:
    """Return 70,000 digits of up to 75 SLIC superpixels."""
    from graphnetz.datasets.sources.tensor_files import gnn_benchmark

    return gnn_benchmark(root, "MNIST", mirror=mirror)


@dataset(
    "vision",
    serves={"graph_cls": 4},
    title="ModelNet10",
    source="modelnet.cs.princeton.edu",
    licence="academic use",
    citation="Wu et al., 3D ShapeNets, 2015.",
    notes=("Every tenth training shape validates.",),
    **size(None, None, None, 3, 10),
)
def modelnet10(root: Root = "data/modelnet10", *, mirror: Mirror = None) -> GraphDataset:
    """Return meshes: vertices joined along faces."""
    from graphnetz.datasets.sources.packaged import modelnet

    return modelnet(root, "10", mirror=mirror)


@dataset(
    "vision",
    serves={"graph_cls": 4},
    title="ModelNet40",
    source="modelnet.cs.princeton.edu",
    licence="academic use",
    citation="Wu et al., 3D ShapeNets, 2015.",
    notes=("Every tenth training shape validates.",),
    **size(None, None, None, 3, 40),
)
def modelnet40(root: Root = "data/modelnet40", *, mirror: Mirror = None) -> GraphDataset:
    """Return meshes: vertices joined along faces."""
    from graphnetz.datasets.sources.packaged import modelnet

    return modelnet(root, "40", mirror=mirror)
