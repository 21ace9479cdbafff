"""The sampler against the definition: uniform sets, real arcs, one draw per (seed, node)."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2

from graphnetz._core.errors import UsageError
from graphnetz.kernels.sampling import NeighbourSampler
from graphnetz.kernels.structure import Structure


def star(degree: int) -> NeighbourSampler:
    """Node 0 with arcs from 1..degree."""
    return NeighbourSampler(
        Structure.from_edges(np.stack([np.arange(1, degree + 1), np.zeros(degree, int)]), degree + 1)
    )


def random_sampler(n: int, m: int, seed: int) -> tuple[NeighbourSampler, np.ndarray]:
    edges = np.random.default_rng(seed).integers(0, n, (2, m))
    return NeighbourSampler(Structure.from_edges(edges, n)), edges


@pytest.mark.parametrize(("degree", "fanout"), [(6, 2), (6, 4), (5, 1), (7, 3)])
def test_every_set_of_neighbours_is_equally_likely(degree, fanout):
    sampler, draws = star(degree), 6000
    sets = dict.fromkeys(itertools.combinations(range(degree), fanout), 0)
    for seed in range(draws):
        arcs = sampler.sample(np.array([0]), (fanout,), seed=seed).arcs
        assert (np.diff(arcs) > 0).all()  # distinct, in the order of the structure
        sets[tuple(arcs.tolist())] += 1
    expected = draws / len(sets)
    statistic = sum((count - expected) ** 2 / expected for count in sets.values())
    assert statistic < chi2.ppf(1 - 1e-4, len(sets) - 1)


@pytest.mark.parametrize("fanout", [3, 60])  # few of many by Floyd's algorithm, many of them one after another
def test_single_neighbours_of_a_hub_are_equally_likely(fanout):
    degree, draws = 150, 4000
    sampler, counts = star(degree), np.zeros(degree)
    for seed in range(draws):
        counts[sampler.sample(np.array([0]), (fanout,), seed=10**9 + seed).arcs] += 1
    share = fanout / degree
    statistic = ((counts - draws * share) ** 2).sum() / (draws * share * (1 - share)) * (degree - 1) / degree
    assert chi2.ppf(1e-4, degree - 1) < statistic < chi2.ppf(1 - 1e-4, degree - 1)


def test_draws_of_different_nodes_are_independent():
    sampler = NeighbourSampler(Structure.from_edges(np.array([[2, 3, 2, 3], [0, 0, 1, 1]]), 4))
    table = np.zeros((2, 2))
    for seed in range(4000):
        first, second = sampler.sample(np.array([0, 1]), (1,), seed=seed).arcs
        table[first, second - 2] += 1
    assert ((table - 1000) ** 2 / 1000).sum() < chi2.ppf(1 - 1e-4, 3)


@settings(max_examples=60, deadline=None)
@given(
    st.integers(1, 12),
    st.integers(0, 60),
    st.integers(0, 10**6),
    st.lists(st.sampled_from([-1, 1, 2, 5]), min_size=1, max_size=3),
)
def test_a_batch_is_a_part_of_the_graph(n, m, seed, fanouts):
    sampler, edges = random_sampler(n, m, seed)
    seeds = np.random.default_rng(seed).permutation(n)[: max(n // 2, 1)]
    batch = sampler.sample(seeds, fanouts, seed=seed)
    assert batch.nodes[: seeds.size].tolist() == seeds.tolist()
    assert np.unique(batch.nodes).size == batch.nodes.size
    assert np.unique(batch.arcs).size == batch.arcs.size
    chosen = batch.nodes[batch.edge_index.numpy()]
    assert np.array_equal(chosen, edges[:, batch.edge_ids.numpy()])  # each sampled edge exists, and is that edge
    degree = np.bincount(edges[1], minlength=n)
    bounds = (0, *batch.sizes)
    for hop, fanout in enumerate(fanouts):
        rows = np.arange(bounds[hop], bounds[hop + 1])
        wanted = degree[batch.nodes[rows]] if fanout < 0 else np.minimum(degree[batch.nodes[rows]], fanout)
        assert np.diff(batch.indptr)[rows].tolist() == wanted.tolist()
    assert (np.diff(batch.indptr)[batch.sizes[-2] :] == 0).all()
    for hop in range(1, len(batch.sizes)):  # a node of hop h is there because an arc into hop h-1 comes from it
        rows = np.arange(batch.sizes[hop - 1], batch.sizes[hop])
        arcs = batch.indices[: batch.indptr[batch.sizes[hop - 1]]]
        assert np.isin(rows, arcs).all()


def test_the_draw_depends_on_seed_and_node_only():
    sampler, _ = random_sampler(200, 6000, 1)
    batch = sampler.sample(np.arange(50), (4, 4), seed=11)
    again = sampler.sample(np.arange(50), (4, 4), seed=11)
    other = sampler.sample(np.arange(50), (4, 4), seed=12)
    alone = sampler.sample(np.array([31]), (4,), seed=11)
    assert np.array_equal(batch.arcs, again.arcs)
    assert np.array_equal(batch.nodes, again.nodes)
    assert not np.array_equal(batch.arcs[:200], other.arcs[:200])
    assert np.array_equal(alone.arcs, batch.arcs[batch.indptr[31] : batch.indptr[32]])


def test_repeated_seeds_are_refused():
    sampler, _ = random_sampler(5, 10, 0)
    with pytest.raises(UsageError, match="distinct"):
        sampler.sample(np.array([1, 1]), (2,), seed=0)


def test_transposed_arcs_agree_with_sorting():
    sampler, _ = random_sampler(60, 500, 3)
    part = sampler.sample(np.arange(20), (3, 3), seed=0).structure(1, 2)
    plain = Structure(part.indptr, part.indices, part.order, part.num_src)
    for ours, reference in zip(part.transpose, plain.transpose, strict=True):
        assert np.array_equal(ours, reference)


def test_sampled_gcn_weights_are_unbiased():
    sampler, edges = random_sampler(30, 400, 5)
    x = np.random.default_rng(0).standard_normal(30)
    whole = sampler.sample(np.arange(30), (-1,), seed=0)
    src, dst = whole.edge_index.numpy()
    a = np.zeros((30, 30))
    np.add.at(a, (dst, src), 1.0)
    np.fill_diagonal(a, 1.0)
    inverse = a.sum(1) ** -0.5
    exact = (inverse[:, None] * a * inverse) @ x
    estimates = []
    for seed in range(3000):
        batch = sampler.sample(np.arange(30), (4,), seed=seed)
        s = batch.structure(0, 1).with_self_loops
        weight = s.weights("gcn", __import__("torch").float64)[0].numpy()
        estimates.append(np.bincount(s.destinations, weights=weight * x[batch.nodes][s.indices], minlength=30))
    estimates = np.array(estimates)
    error = (estimates.mean(0) - exact) / (estimates.std(0, ddof=1) / np.sqrt(len(estimates)))
    # Nodes with a self-loop among their arcs have a random number of proper neighbours: left out here.
    proper = ~np.isin(np.arange(30), edges[0][edges[0] == edges[1]])
    assert np.abs(error[proper]).max() < 4.5
