"""Random graphs have the distribution they promise; counts agree with networkx."""

import networkx as nx
import numpy as np
import pytest

from graphnetz.graphs import as_graph
from graphnetz.graphs import random_graphs as draws


def test_drawing_distinct_places():
    rng = np.random.default_rng(0)
    for total, count in ((10, 0), (10, 10), (10, 9), (1000, 400), (7, 3), (10**9, 500)):
        drawn = draws.distinct(rng, total, count)
        assert np.unique(drawn).size == count == drawn.size
        assert count == 0 or (drawn.min() >= 0 and drawn.max() < total)
    counts = np.bincount(np.concatenate([draws.distinct(rng, 8, 3) for _ in range(4000)]), minlength=8)
    assert np.abs(counts - 1500).max() < 5 * np.sqrt(4000 * 3 / 8 * 5 / 8)


def test_places_of_pairs():
    low, high = draws.pairs_of(np.arange(10 * 9 // 2), 10, directed=False)
    assert sorted(zip(high.tolist(), low.tolist(), strict=True)) == [(i, j) for i in range(10) for j in range(i)]
    far = np.array([(10**9) * (10**9 - 1) // 2 - 1, 10**9 * (10**9 - 1) // 2])
    low, high = draws.pairs_of(far, 10**9 + 1, directed=False)
    assert (high * (high - 1) // 2 + low == far).all()
    assert ((low >= 0) & (low < high)).all()


@pytest.mark.parametrize("way", ["matrix", "pairs"])
def test_block_models_have_the_expected_edges(way):
    """Both ways of drawing hit the expected counts inside and between blocks within five deviations."""
    rng = np.random.default_rng(1)
    block = np.repeat([0, 1, 2], [60, 40, 50])
    members = [np.flatnonzero(block == b) for b in range(3)]
    p, q = 0.3, 0.1
    inside = between = 0
    for _ in range(20):
        if way == "matrix":
            pairs = np.argwhere(np.triu(draws.block_adjacency(rng, block, p, q))).T
        else:
            pairs = draws.block_pairs(rng, members, p, q)
        assert (pairs[0] != pairs[1]).all()
        assert len(np.unique(np.sort(pairs, axis=0), axis=1).T) == pairs.shape[1]
        same = block[pairs[0]] == block[pairs[1]]
        inside, between = inside + same.sum(), between + (~same).sum()
    sizes = np.array([60, 40, 50])
    room = 20 * (sizes * (sizes - 1) // 2).sum()
    rest = 20 * (150 * 149 // 2) - room
    assert abs(inside - p * room) < 5 * np.sqrt(p * (1 - p) * room)
    assert abs(between - q * rest) < 5 * np.sqrt(q * (1 - q) * rest)


def test_rates_give_degree_and_homophily():
    inside, between = draws.block_rates(1000, 4, degree=12.0, homophily=0.7)
    assert inside * 250 + between * 750 == pytest.approx(12.0)
    assert inside * 250 / 12.0 == pytest.approx(0.7)
    assert draws.block_rates(10, 1, degree=100.0, homophily=1.0) == (1.0, 0.0)


def test_throws_share_and_simplicity():
    rng = np.random.default_rng(2)
    block = np.repeat(np.arange(4), 250)
    pairs = draws.block_throws(rng, block, edges=3000, inside=np.full(1000, 0.8))
    assert len(np.unique(pairs, axis=0)) == len(pairs) == 3000
    assert (pairs[:, 0] < pairs[:, 1]).all()
    assert np.mean(block[pairs[:, 0]] == block[pairs[:, 1]]) == pytest.approx(0.8, abs=0.04)
    for thrown in (draws.uniform_throws(rng, 300, edges=400), draws.kronecker(rng, 300, edges=400, skew=0.5)):
        assert len(np.unique(thrown, axis=0)) == len(thrown) <= 400
        assert (thrown[:, 0] < thrown[:, 1]).all()
        assert thrown.max() < 300


def test_connected_draws_are_connected_trees_at_least():
    for seed in range(5):
        pairs = draws.connected(np.random.default_rng(seed), 20, edges=25)
        graph = nx.Graph(pairs.T.tolist())
        assert (graph.number_of_nodes(), graph.number_of_edges()) == (20, 25)
        assert nx.is_connected(graph)


@pytest.mark.parametrize("seed", range(4))
def test_counts_against_networkx(seed):
    pairs = draws.erdos_renyi(np.random.default_rng(seed), 60, p=0.15, directed=False)
    ours, witness = as_graph(pairs, 60, directed=False), nx.empty_graph(60)
    witness.add_edges_from(pairs.T.tolist())
    assert ours.node_triangles.tolist() == list(nx.triangles(witness).values())
    assert ours.core_numbers.tolist() == list(nx.core_number(witness).values())
    cliques = sum(len(clique) == 4 for clique in nx.enumerate_all_cliques(witness))
    assert ours.orbits[:, 11].sum() == 6 * cliques
    rank = nx.pagerank(witness, alpha=0.7, tol=1e-12, max_iter=1000)
    np.testing.assert_allclose(ours.pagerank, list(rank.values()), atol=1e-9)
