"""Distances against networkx, scipy and plain definitions."""

import networkx as nx
import numpy as np
import pytest
from scipy.linalg import expm
from scipy.spatial.distance import cdist
from sklearn.metrics import pairwise_distances

from graphnetz._core.errors import UnknownNameError, UsageError
from graphnetz.rings.spaces import (
    FEATURES,
    STRUCTURES,
    _sparse_diffusion,
    check_times,
    feature_metric,
    flatten_noise,
    normalised_laplacian,
    unit_diameter,
)

GRAPHS = {
    "path": nx.path_graph(7),
    "cycle": nx.cycle_graph(8),
    "star": nx.star_graph(6),
    "complete": nx.complete_graph(5),
    "pair": nx.path_graph(2),
    "karate": nx.Graph(nx.karate_club_graph().edges),
    "barbell": nx.barbell_graph(4, 3),
    "petersen": nx.petersen_graph(),
}


def adjacency(g):
    return nx.to_numpy_array(g, nodelist=sorted(g), weight=None)[None]


def spaces(name, g, t=(1,)):
    return [unit_diameter(d.copy())[0] for d in STRUCTURES[name].function(adjacency(g), t)]


def row_distances(rows):
    d = cdist(rows, rows)
    return d / d.max()


@pytest.mark.parametrize("name", GRAPHS)
class TestStructures:
    def test_laplacian(self, name):
        g = GRAPHS[name]
        expected = nx.normalized_laplacian_matrix(g, nodelist=sorted(g), weight=None).toarray()
        np.testing.assert_allclose(normalised_laplacian(adjacency(g))[0], expected, atol=1e-12)

    def test_diffusion_is_distance_of_spectral_rows(self, name):
        values, vectors = np.linalg.eigh(normalised_laplacian(adjacency(GRAPHS[name]))[0])
        times = (1, 2, 3, 7, 10)
        for t, space in zip(times, spaces("diffusion", GRAPHS[name], times), strict=True):
            np.testing.assert_allclose(space, row_distances(vectors * values**t), atol=1e-6)

    def test_heat_is_distance_of_heat_kernel_rows(self, name):
        laplacian = normalised_laplacian(adjacency(GRAPHS[name]))[0]
        times = (0.5, 1, 4)
        for t, space in zip(times, spaces("heat", GRAPHS[name], times), strict=True):
            np.testing.assert_allclose(space, row_distances(expm(-t * laplacian)), atol=1e-6)

    def test_resistance(self, name):
        g = GRAPHS[name]
        table = nx.resistance_distance(g)
        expected = np.array([[table[a][b] for b in sorted(g)] for a in sorted(g)])
        space = next(STRUCTURES["resistance"].function(adjacency(g), (1,)))[0]
        np.testing.assert_allclose(space, expected, atol=1e-10)

    def test_shortest_path(self, name):
        g = GRAPHS[name]
        np.testing.assert_array_equal(
            next(STRUCTURES["shortest_path"].function(adjacency(g), (1,)))[0],
            nx.floyd_warshall_numpy(g, nodelist=sorted(g), weight=None),
        )

    @pytest.mark.parametrize("metric", list(STRUCTURES))
    def test_metric_axioms(self, name, metric):
        d = spaces(metric, GRAPHS[name])[0]
        np.testing.assert_allclose(d, d.T, atol=1e-12)
        assert (np.diag(d) == 0).all()
        assert d.max() == pytest.approx(1)
        assert (d[:, None, :] <= d[:, :, None] + d[None] + 1e-7).all()


@pytest.mark.parametrize("metric", list(STRUCTURES))
def test_complete_graph_is_discrete(metric):
    for n in (2, 3, 9):
        for space in spaces(metric, nx.complete_graph(n), (1, 10) if STRUCTURES[metric].timed else (1,)):
            np.testing.assert_allclose(space, 1 - np.eye(n), atol=1e-9)


def test_huge_t_stays_finite_and_equals_the_top_eigenvector():
    for g in (GRAPHS["karate"], nx.complete_graph(20), nx.cycle_graph(9)):
        values, vectors = np.linalg.eigh(normalised_laplacian(adjacency(g))[0])
        expected = row_distances(vectors * (values / values.max()) ** 2000)
        space = spaces("diffusion", g, (1, 2000))[1]
        np.testing.assert_allclose(space, expected, atol=1e-6)


def test_heat_of_regular_graph_at_large_t_is_not_noise():
    """The constant eigenvector of a regular graph must not drown the next one."""
    vectors = np.linalg.eigh(normalised_laplacian(adjacency(nx.cycle_graph(8)))[0])[1]
    slow = vectors[:, 1:3]
    np.testing.assert_allclose(spaces("heat", nx.cycle_graph(8), (2000,))[0], row_distances(slow), atol=1e-6)


def test_sparse_and_dense_powers_agree():
    g = nx.barabasi_albert_graph(120, 2, seed=1)
    laplacian = normalised_laplacian(adjacency(g))
    sparse = [unit_diameter(d.copy())[0] for d in _sparse_diffusion(laplacian, (1, 2, 10, 200))]
    for a, b in zip(sparse, spaces("diffusion", g, (1, 2, 10, 200)), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-6)


def test_loops_count_once():
    g = nx.path_graph(4)
    g.add_edge(1, 1)
    a = nx.to_numpy_array(g)[None]
    assert a[0, 1, 1] == 1
    root = np.diag(1 / np.sqrt(a[0].sum(1)))
    np.testing.assert_allclose(normalised_laplacian(a)[0], np.eye(4) - root @ a[0] @ root, atol=1e-12)
    plain = next(STRUCTURES["resistance"].function(adjacency(nx.path_graph(4)), (1,)))
    np.testing.assert_allclose(next(STRUCTURES["resistance"].function(a, (1,))), plain, atol=1e-12)


class TestFeatures:
    x = np.random.default_rng(0).normal(size=(3, 8, 4))

    @pytest.mark.parametrize("name", ["euclidean", "cosine", "manhattan", "chebyshev", "canberra", "l2"])
    def test_against_scikit_learn(self, name):
        expected = np.stack([pairwise_distances(item, metric=name) for item in self.x])
        np.testing.assert_allclose(feature_metric(name)(self.x), expected, atol=1e-9)

    def test_unknown_name(self):
        with pytest.raises(UnknownNameError, match="euclidean"):
            feature_metric("euclidian")

    def test_cosine_of_zero_rows(self):
        x = np.array([[[0.0, 0], [1, 0], [0, 2], [0, 0]]])
        d = FEATURES["cosine"](x)[0]
        assert (d[0, 1:] == 1).all()
        assert (np.diag(d) == 0).all()
        assert not FEATURES["cosine"](np.zeros((1, 3, 2))).any()

    def test_parallel_rows_are_at_distance_zero(self):
        row = np.random.default_rng(1).normal(size=5)
        x = np.outer([1, 3, 1e6, 1e-6], row).astype(np.float32).astype(float)[None]
        assert not FEATURES["cosine"](x).any()

    def test_rounding_noise_is_flattened_but_real_differences_are_not(self):
        eps = np.finfo(float).eps
        noisy = 0.3 + np.array([[[0.0], [eps], [2 * eps]]]) * 0.3
        assert np.ptp(flatten_noise(noisy)) == 0
        mixed = np.stack([1e9 + np.arange(3) * 1e-7, np.arange(3.0)], axis=1)[None]
        kept = flatten_noise(mixed)
        assert np.ptp(kept[0, :, 0]) == 0
        np.testing.assert_array_equal(kept[0, :, 1], [0, 1, 2])
        offset = (1e6 + np.arange(3) * 1e-3).reshape(1, 3, 1)
        assert flatten_noise(offset) is offset


def test_times_are_checked():
    with pytest.raises(UsageError, match="whole"):
        check_times(STRUCTURES["diffusion"], [1.5])
    with pytest.raises(UsageError, match="positive"):
        check_times(STRUCTURES["heat"], [0])
    assert check_times(STRUCTURES["heat"], [0.5]) == (0.5,)
