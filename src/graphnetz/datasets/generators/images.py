"""Images as graphs: superpixels joined to their nearest ones."""

from __future__ import annotations

import numpy as np

from graphnetz.datasets.generators.build import graph
from graphnetz.records import GraphList


def slic(images: np.ndarray, *, segments: int, compactness: float = 0.1, iterations: int = 10) -> np.ndarray:
    """Return a superpixel number per pixel [images, height, width] for grey images in [0, 1].

    The clustering of SLIC (Achanta et al., 2012): k-means on grey value and position, started on a
    regular grid, with the position weighted by ``compactness`` over the grid spacing. All images are
    clustered at once; superpixels need not be connected.
    """
    count, height, width = images.shape
    rows = max(1, round(np.sqrt(segments * height / width)))
    cols = max(1, round(segments / rows))
    spacing = np.sqrt(height * width / (rows * cols))
    yy, xx = np.meshgrid((np.arange(rows) + 0.5) * height / rows, (np.arange(cols) + 0.5) * width / cols, indexing="ij")
    start = np.stack([yy.ravel(), xx.ravel()], axis=1) - 0.5
    where = np.indices((height, width)).reshape(2, -1).T.astype(float)
    scale = compactness / spacing
    pixels = np.concatenate(
        [images.reshape(count, -1, 1), np.broadcast_to(where * scale, (count, height * width, 2))], axis=2
    )
    nearest = np.argmin(((where[None] - start[:, None]) ** 2).sum(axis=2), axis=1)
    centres = np.concatenate(
        [images.reshape(count, -1)[:, nearest, None], np.broadcast_to(start * scale, (count, len(start), 2))], axis=2
    )
    for _ in range(iterations):
        gap = ((pixels[:, :, None, :] - centres[:, None, :, :]) ** 2).sum(axis=3)
        label = gap.argmin(axis=2)
        member = (label[:, :, None] == np.arange(len(start))).astype(float)
        weight = member.sum(axis=1)
        moved = np.einsum("ips,ipf->isf", member, pixels) / np.maximum(weight, 1)[:, :, None]
        centres = np.where(weight[:, :, None] > 0, moved, centres)
    return np.asarray(label.reshape(images.shape))


def superpixel_graphs(
    images: np.ndarray,
    labels: np.ndarray,
    *,
    segments: int = 16,
    neighbours: int = 8,
    compactness: float = 0.1,
    darkest: float = 0.0,
    strokes: bool = False,
) -> GraphList:
    """Return one graph per grey image (values in [0, 1]).

    Nodes are non-empty superpixels with ``x`` = mean grey value and centre in [0, 1]. As in
    Benchmarking-GNNs the similarity of two is exp(-(d / s)^2), d their distance and s the mean distance to
    the nearest ones, made symmetric; every node sends an edge to its ``neighbours`` most similar ones
    (ties by number), with the similarity as ``edge_attr``. Superpixels darker than ``darkest`` are left out.
    ``strokes`` adds the mean direction of grey values: the two parts of the structure tensor, cosine and sine of twice
    the angle times its strength.
    """
    segment = slic(images, segments=segments, compactness=compactness)
    return GraphList(
        _superpixel_graph(image, parts, int(label), neighbours=neighbours, darkest=darkest, strokes=strokes)
        for image, parts, label in zip(images, segment, labels, strict=True)
    )


def _superpixel_graph(
    image: np.ndarray, parts: np.ndarray, label: int, *, neighbours: int, darkest: float, strokes: bool
) -> object:
    height, width = image.shape
    _, member = np.unique(parts, return_inverse=True)
    member = member.ravel()
    size = np.bincount(member)
    yy, xx = np.indices(image.shape).reshape(2, -1)
    columns = [image.ravel(), xx / max(width - 1, 1), yy / max(height - 1, 1)]
    if strokes:
        down, right = np.gradient(image)
        columns += [4 * (right**2 - down**2).ravel(), 8 * (right * down).ravel()]
    x = np.stack([np.bincount(member, weights=column) / size for column in columns], axis=1)
    x = x[x[:, 0] >= darkest]
    edges, similarity = similarity_edges(x[:, 1:3], neighbours)
    return graph(edges, len(x), x=x, pos=x[:, 1:3], edge_attr=similarity[:, None], y=np.array([label]))


def similarity_edges(position: np.ndarray, neighbours: int) -> tuple[np.ndarray, np.ndarray]:
    """Return directed edges [2, E] to the most similar nodes, and their similarity."""
    n = len(position)
    k = min(neighbours, n - 1)
    if k < 1:
        return np.zeros((2, 0), dtype=np.int64), np.zeros(0)
    distance = np.sqrt(((position[:, None] - position[None]) ** 2).sum(axis=2))
    spread = np.sort(distance, axis=1)[:, 1 : k + 1].mean(axis=1) + 1e-8
    similarity = np.exp(-((distance / spread[:, None]) ** 2))
    similarity = (similarity + similarity.T) / 2
    np.fill_diagonal(similarity, -1.0)
    chosen = np.argsort(-similarity, axis=1, kind="stable")[:, :k]
    source = np.repeat(np.arange(n), k)
    return np.stack([source, chosen.ravel()]), similarity[source, chosen.ravel()]
