"""Metric spaces over the nodes of a graph, batched over components of equal size.

A structural metric takes adjacency matrices ``[b, n, n]`` of connected graphs (symmetric, one for
an edge, loops on the diagonal) and the values of ``t``, and yields one distance array per ``t``; a
feature metric takes ``[b, n, d]`` and returns one. Distances may come in any unit: complementarity
divides every space by its diameter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from graphnetz._core.errors import UsageError, unknown_name
from graphnetz._core.registry import Registry

Array = npt.NDArray[np.float64]
FeatureMetric = Callable[[Array], Array]

EPS = float(np.finfo(np.float64).eps)
BLOCK_ENTRIES = 1 << 16
SPARSE_FROM = 256
"""Components of at least this many nodes use sparse powers of the Laplacian when they are sparse."""


@dataclass(frozen=True)
class StructureMetric:
    """A structural distance: ``function(adjacency, t)`` yields one array per ``t``.

    ``timed`` says whether it depends on ``t``; one that does not yields a single array.
    ``whole`` says whether ``t`` must be a whole number.
    """

    function: Callable[[Array, Sequence[float]], Iterator[Array]]
    timed: bool = False
    whole: bool = False


STRUCTURES: Registry[StructureMetric] = Registry(
    "structural metric", entry_points="graphnetz.structures", accepts=StructureMetric
)
"""Structural distances between the nodes of a graph, by name; `structure_metric` adds one."""
FEATURES: Registry[FeatureMetric] = Registry("feature metric", entry_points="graphnetz.features", accepts=callable)
"""Distances between the feature rows of nodes, by name: ``[b, n, d] -> [b, n, n]``. Plug-ins add more."""


def structure_metric(name: str, *, timed: bool = False, whole: bool = False) -> Callable[..., StructureMetric]:
    """Register a structural metric: decorate ``(adjacency, t) -> iterator of arrays``.

    Parameters
    ----------
    name
        Name in `STRUCTURES`.
    timed
        Whether it depends on ``t``; one that does not yields a single array.
    whole
        Whether ``t`` must be a whole number.

    Returns
    -------
    callable
        Decorator that files the function and returns the metric made of it.

    Examples
    --------
    >>> from graphnetz.rings import STRUCTURES, structure_metric
    >>> @structure_metric("adjacent")
    ... def adjacent(adjacency, t):
    ...     yield 1.0 * (adjacency == 0)
    >>> _ = STRUCTURES.remove("adjacent")
    """

    def file(function: Callable[[Array, Sequence[float]], Iterator[Array]]) -> StructureMetric:
        metric = StructureMetric(function, timed, whole)
        STRUCTURES.add(name, metric)
        return metric

    return file


def normalised_laplacian(adjacency: Array) -> Array:
    """Return I - D^-1/2 A D^-1/2; nodes without edges keep a one on the diagonal."""
    degree = adjacency.sum(axis=-1)
    scale = np.where(degree > 0, 1 / np.sqrt(np.where(degree > 0, degree, 1)), 0)
    laplacian = adjacency * -scale[..., :, None]
    laplacian *= scale[..., None, :]
    diagonal = np.arange(adjacency.shape[-1])
    laplacian[..., diagonal, diagonal] += 1
    return laplacian


def kernel_distance(kernel: Array, *, root: bool = True) -> Array:
    """Return d_ij with d^2 = k_ii + k_jj - 2 k_ij (or d^2 itself), rounding noise set to zero.

    Nodes in the same place differ by rounding alone, and the square root would lift 1e-16 to 1e-8.
    """
    diagonal = np.einsum("bii->bi", kernel)
    noise = (4 * EPS * diagonal.max(axis=1))[:, None, None]
    out = np.empty_like(kernel)
    for rows in row_blocks(kernel.shape):
        part = out[:, rows]
        np.multiply(kernel[:, rows], -2.0, out=part)
        part += diagonal[:, rows, None]
        part += diagonal[:, None, :]
        part *= part >= noise
        if root:
            np.sqrt(part, out=part)
    return out


def row_blocks(shape: tuple[int, ...]) -> Iterator[slice]:
    """Cut the rows of ``[b, n, n]`` arrays into blocks that stay in a core's cache over several passes."""
    batch, n, _ = shape
    step = max(1, BLOCK_ENTRIES // max(1, batch * n))
    for start in range(0, n, step):
        yield slice(start, start + step)


def _rescale(kernel: Array) -> Array:
    """Divide by the largest diagonal entry: powers neither overflow nor vanish."""
    top = np.einsum("bii->bi", kernel).max(axis=1)
    kernel /= np.where(top > 0, top, 1)[:, None, None]
    return kernel


def _power(matrix: Array, exponent: int) -> Array:
    """Raise positive semi-definite matrices to a power by squaring, up to a factor."""
    result: Array | None = None
    base = _rescale(matrix.copy())
    while exponent:
        if exponent & 1:
            result = base if result is None else _rescale(result @ base)
        exponent >>= 1
        if exponent:
            base = _rescale(base @ base)
    assert result is not None
    return result


@structure_metric("diffusion", timed=True, whole=True)
def diffusion(adjacency: Array, t: Sequence[float]) -> Iterator[Array]:
    """Distance between the rows of Lhat^t (Coifman and Lafon 2006, with the paper's spectrum).

    With K = Lhat^(2t) the squared distance is k_ii + k_jj - 2 k_ij, so every t follows from the
    one before by one product and no eigendecomposition is needed.
    """
    steps = [int(value) for value in t]
    laplacian = normalised_laplacian(adjacency)
    n = adjacency.shape[-1]
    if n >= SPARSE_FROM and np.count_nonzero(adjacency) * 20 < adjacency.size:
        yield from _sparse_diffusion(laplacian, steps)
        return
    square = laplacian @ laplacian
    kernel, done = None, 0
    for step in steps:
        jump = square if step - done == 1 else _power(square, step - done)
        kernel = jump if kernel is None else _rescale(kernel @ jump)
        done = step
        yield kernel_distance(kernel)


def _sparse_diffusion(laplacian: Array, steps: Sequence[int]) -> Iterator[Array]:
    """Diffusion of large sparse components: two sparse products per step."""
    from scipy import sparse

    operators = [sparse.csr_array(item) for item in laplacian]
    kernel = np.broadcast_to(np.eye(laplacian.shape[-1]), laplacian.shape).copy()
    done = 0
    for step in steps:
        if step - done > 64:
            kernel = _rescale(kernel @ _power(laplacian @ laplacian, step - done))
        else:
            for _ in range(step - done):
                for index, operator in enumerate(operators):
                    kernel[index] = operator @ (operator @ kernel[index])
                _rescale(kernel)
        done = step
        yield kernel_distance(kernel)


@structure_metric("heat", timed=True)
def heat(adjacency: Array, t: Sequence[float]) -> Iterator[Array]:
    """Distance between the rows of U exp(-t Lambda), the spectrum being that of Lhat.

    Coordinates are centred over the nodes and constant ones left out before taking products, and
    the slowest remaining one is given weight one, so that large t does not drown in rounding.
    """
    values, vectors = np.linalg.eigh(normalised_laplacian(adjacency))
    centred = vectors - vectors.mean(axis=1, keepdims=True)
    constant = np.abs(centred).max(axis=1) <= 64 * EPS
    slowest = np.where(constant, np.inf, values).min(axis=1, keepdims=True)
    slowest = np.where(np.isfinite(slowest), slowest, 0)
    for time in t:
        weight = np.where(constant, 0, np.exp(-time * np.maximum(values - slowest, 0)))
        coordinates = centred * weight[:, None, :]
        yield kernel_distance(coordinates @ coordinates.transpose(0, 2, 1))


@structure_metric("resistance")
def resistance(adjacency: Array, t: Sequence[float]) -> Iterator[Array]:  # noqa: ARG001
    """Effective resistance with unit resistors (Klein and Randić 1993); loops carry no current."""
    n = adjacency.shape[-1]
    laplacian = -adjacency
    diagonal = np.arange(n)
    laplacian[:, diagonal, diagonal] += adjacency.sum(axis=2)
    # On a connected graph the pseudo-inverse of L differs from this inverse by a constant only.
    yield kernel_distance(np.linalg.inv(laplacian + 1 / n), root=False)


@structure_metric("shortest_path")
def shortest_path(adjacency: Array, t: Sequence[float]) -> Iterator[Array]:  # noqa: ARG001
    """Hop counts, or path lengths when the adjacency holds lengths."""
    from scipy.sparse import csgraph, csr_array

    unit = bool(np.all((adjacency == 0) | (adjacency == 1)))
    yield np.stack([csgraph.shortest_path(csr_array(item), directed=False, unweighted=unit) for item in adjacency])


@FEATURES.register("euclidean")
def euclidean(x: Array) -> Array:
    """Euclidean distance from coordinate differences, so equal rows are at distance zero exactly."""
    from scipy.spatial.distance import cdist

    out = np.empty((x.shape[0], x.shape[1], x.shape[1]))
    for item, target in zip(x, out, strict=True):
        cdist(item, item, "euclidean", out=target)
    return out


@FEATURES.register("cosine")
def cosine(x: Array) -> Array:
    """One minus the cosine; a zero row is at distance one from all others.

    A space of zero rows only is trivial (all distances zero), as empty features must be.
    """
    norm = np.sqrt(np.einsum("bnd,bnd->bn", x, x))
    unit = x / np.where(norm > 0, norm, 1)[:, :, None]
    out = 1 - unit @ unit.transpose(0, 2, 1)
    np.clip(out, 0, 2, out=out)
    # Parallel rows differ by the square of the rounding of their direction (single precision: 1e-13).
    out[out < 1e-12] = 0
    diagonal = np.arange(x.shape[1])
    out[:, diagonal, diagonal] = 0
    out[~(norm > 0).any(axis=1)] = 0
    return out


def feature_metric(name: str) -> FeatureMetric:
    """Look up a feature metric: a registered one, or any pairwise metric of scikit-learn by name."""
    if name in FEATURES:
        return FEATURES[name]
    from sklearn.metrics import pairwise_distances
    from sklearn.metrics.pairwise import distance_metrics

    def pairwise(x: Array) -> Array:
        return np.stack([pairwise_distances(item, metric=name) for item in x])

    try:
        pairwise_distances(np.array([[0.25, 0.5], [0.5, 0.125]]), metric=name)
    except (ValueError, TypeError):
        known = {*FEATURES, *distance_metrics()} - {"precomputed", "haversine"}
        raise unknown_name("feature metric", name, known) from None
    return pairwise


def flatten_noise(x: Array, *, eps: float | Array = EPS) -> Array:
    """Make columns constant that vary by rounding alone within a space.

    Dividing by the diameter would otherwise blow 3e-16 up to 1. ``eps`` is the resolution of the
    type the features came in.
    """
    low, high = x.min(axis=1, keepdims=True), x.max(axis=1, keepdims=True)
    size = np.maximum(np.abs(low), np.abs(high))
    noise = (high > low) & (high - low <= 4 * eps * size)
    if not noise.any():
        return x
    return np.where(noise, low, x)


def unit_diameter(distances: Array) -> Array:
    """Divide each space by its diameter in place; zero-diameter spaces stay as they are."""
    diameter = distances.max(axis=(1, 2))
    distances /= np.where(diameter > 0, diameter, 1)[:, None, None]
    return distances


def check_times(metric: StructureMetric, t: Sequence[float]) -> tuple[float, ...]:
    """Return the values of ``t`` as floats after checking them against the metric."""
    times = tuple(float(value) for value in t)
    for value in times:
        if not np.isfinite(value) or value <= 0 or (metric.whole and value != int(value)):
            kind = "a positive whole number" if metric.whole else "a positive number"
            raise UsageError(f"t must be {kind}, got {value:g}.")
    return times
