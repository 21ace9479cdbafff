"""Solutions of the combinatorial generators against brute force, networkx, scipy and OR-tools."""

from itertools import permutations, product

import networkx as nx
import numpy as np
import pytest

from graphnetz._core.errors import UnknownNameError
from graphnetz.datasets.generators import flows, partition, routing


def _brute_tour(matrix):
    n = len(matrix)
    return min(routing.tour_length(matrix, np.array((0, *rest))) for rest in permutations(range(1, n)))


@pytest.mark.parametrize("seed", range(5))
def test_held_karp_is_optimal(seed):
    matrix = routing.distances(np.random.default_rng(seed).random((8, 2)))
    tour = routing.held_karp(matrix)
    assert sorted(tour) == list(range(8))
    assert routing.tour_length(matrix, tour) == pytest.approx(_brute_tour(matrix), abs=1e-12)


@pytest.mark.parametrize("n", [2, 3, 4, 5])
def test_tiny_tours(n):
    matrix = routing.distances(np.random.default_rng(n).random((n, 2)))
    for solve in (routing.held_karp, lambda m: routing.local_search(m, 4)):
        assert sorted(solve(matrix)) == list(range(n))


def test_local_search_is_locally_optimal_and_close():
    gaps = []
    for seed in range(20):
        matrix = routing.distances(np.random.default_rng(seed).random((11, 2)))
        tour = routing.local_search(matrix, 4)
        assert sorted(tour) == list(range(11))
        best = routing.tour_length(matrix, routing.held_karp(matrix))
        length = routing.tour_length(matrix, tour)
        assert length >= best - 1e-9
        gaps.append(length / best - 1)
        for i, j in product(range(11), repeat=2):  # no exchange of two edges helps
            if i < j:
                swapped = tour.copy()
                swapped[i : j + 1] = swapped[i : j + 1][::-1]
                assert routing.tour_length(matrix, swapped) >= length - 1e-9
    assert np.mean(gaps) < 0.02


def test_certified_tour_equals_dynamic_programming():
    pytest.importorskip("ortools")
    matrix = routing.distances(np.random.default_rng(3).random((10, 2)))
    certified = routing.tour_length(matrix, routing.certified_tour(matrix))
    assert certified == pytest.approx(routing.tour_length(matrix, routing.held_karp(matrix)), abs=1e-5)


def test_tsp_labels_follow_the_tour():
    for data in routing.tsp(1, num_graphs=3, num_nodes=10, k=4):
        tour = data.solution["tour"].tolist()
        on_tour = {frozenset(p) for p in zip(tour, tour[1:] + tour[:1], strict=True)}
        for (u, v), label in zip(data.edge_index.T.tolist(), data.edge_label.tolist(), strict=True):
            assert label == (frozenset((u, v)) in on_tour)
        matrix = routing.distances(data.x.numpy())
        assert data.solution["length"] == pytest.approx(
            _brute_tour(matrix) if len(matrix) < 9 else routing.tour_length(matrix, data.solution["tour"]), abs=1e-5
        )
        for node in range(10):  # every node is joined to its four nearest
            nearest = set(np.argsort(matrix[node])[1:5].tolist())
            assert nearest <= set(data.edge_index[1, data.edge_index[0] == node].tolist())


def test_unknown_solver_is_named():
    with pytest.raises(UnknownNameError, match="exact"):
        routing.tsp(0, solver="exakt")


def test_vrp_routes_are_feasible_and_cover():
    for data in routing.vrp(2, num_graphs=4, num_nodes=25):
        routes = data.solution["routes"]
        served = sorted(node for route in routes for node in route[1:].tolist())
        assert served == list(range(1, 25))
        demand = data.x[:, 2].numpy()
        assert all(route[0] == 0 and demand[route].sum() <= 1 + 1e-6 for route in routes)
        # a route never costs more than serving its customers one by one
        matrix = routing.distances(data.x[:, :2].numpy())
        assert data.solution["length"] <= 2 * matrix[0].sum() + 1e-6
        used = {frozenset(p) for r in routes for p in zip(r.tolist(), np.roll(r, -1).tolist(), strict=True)}
        for (u, v), label in zip(data.edge_index.T.tolist(), data.edge_label.tolist(), strict=True):
            assert label == (frozenset((u, v)) in used)


def test_max_flow_against_networkx():
    for data in flows.maxflow(3, num_graphs=5, num_nodes=15):
        graph = nx.DiGraph()
        capacity, flow = data.solution["capacity"], data.solution["flow"]
        for (u, v), c in zip(data.edge_index.T.tolist(), capacity.tolist(), strict=True):
            graph.add_edge(u, v, capacity=c)
        assert nx.maximum_flow_value(graph, 0, 14) == data.solution["value"] > 0
        assert (flow <= capacity).all()
        assert (data.edge_label.numpy() == (flow > 0)).all()
        balance = np.zeros(15)
        np.add.at(balance, data.edge_index[0].numpy(), flow)
        np.subtract.at(balance, data.edge_index[1].numpy(), flow)
        assert balance[0] == data.solution["value"] == -balance[14]
        assert not balance[1:14].any()


def test_matching_against_networkx():
    for data in flows.bipartite_matching(4, num_graphs=5, side=8):
        graph = nx.Graph()
        for (u, v), w in zip(data.edge_index.T.tolist(), data.edge_attr[:, 0].tolist(), strict=True):
            graph.add_edge(u, v, weight=w)
        best = sum(graph[u][v]["weight"] for u, v in nx.max_weight_matching(graph))
        assert data.solution["weight"] == pytest.approx(best, abs=1e-6)
        chosen = data.edge_index[:, data.edge_label == 1]
        assert len(set(chosen[0].tolist())) == chosen.size(1)  # no node twice


def _brute_cut(adjacency):
    n = len(adjacency)
    sides = np.array(list(product((0, 1), repeat=n - 1)))
    sides = np.column_stack([np.zeros(len(sides), dtype=int), sides])
    rows, cols = np.nonzero(np.triu(adjacency))
    return int((sides[:, rows] != sides[:, cols]).sum(axis=1).max())


def test_max_cut_exact_and_heuristic():
    for seed in range(5):
        adjacency = partition.erdos_renyi(np.random.default_rng(seed), 11, 0.4)
        best = _brute_cut(adjacency)
        side = partition.exact_max_cut(adjacency)
        assert (adjacency * (side[:, None] != side[None, :])).sum() // 2 == best
        starts = np.random.default_rng(seed).integers(0, 2, (16, 11))
        found = partition.flip_max_cut(adjacency, starts)
        cut = (adjacency * (found[:, None] != found[None, :])).sum() // 2
        assert adjacency.sum() / 4 <= cut <= best  # a local optimum cuts at least half of the edges
    small, large = partition.maxcut(0, num_graphs=1, num_nodes=12)[0], partition.maxcut(0, num_graphs=1)[0]
    assert small.solution["optimal"]
    assert not large.solution["optimal"]
    assert int(large.edge_label.sum()) == 2 * large.solution["cut"]


def _brute_chromatic(adjacency):
    n = len(adjacency)
    rows, cols = np.nonzero(np.triu(adjacency))
    for k in range(1, n + 1):
        colourings = np.array(list(product(range(k), repeat=n)))
        if (colourings[:, rows] != colourings[:, cols]).all(axis=1).any():
            return k
    return n


def test_coloring_is_proper_and_smallest():
    for seed in range(8):
        adjacency = partition.erdos_renyi(np.random.default_rng(seed), 7, 0.5)
        color, optimal = partition.minimum_coloring(adjacency)
        rows, cols = np.nonzero(adjacency)
        assert (color[rows] != color[cols]).all()
        assert optimal
        assert color.max() + 1 == _brute_chromatic(adjacency)
    exhausted, optimal = partition.minimum_coloring(partition.erdos_renyi(np.random.default_rng(0), 40, 0.5), budget=10)
    assert not optimal
    assert exhausted.min() == 0


def test_dsatur_is_exact_on_bipartite_and_odd_cycles():
    assert partition.dsatur(nx.to_numpy_array(nx.complete_bipartite_graph(4, 5), dtype=int)).max() == 1
    assert partition.dsatur(nx.to_numpy_array(nx.cycle_graph(7), dtype=int)).max() == 2
