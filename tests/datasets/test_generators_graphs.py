"""Random graph generators against networkx, exhaustive enumeration and their own definitions."""

import itertools

import networkx as nx
import numpy as np
import pytest
import torch
from torch_geometric.utils import is_undirected, to_networkx

from graphnetz._core.errors import UsageError
from graphnetz.datasets.generators import images, kinship, lattice, networks, properties, sbm, symmetric
from graphnetz.graphs.random_graphs import nearest_pairs


def _as_nx(data):
    return to_networkx(data, to_undirected=True)


# --- CSL and CYCLES


def test_csl_is_the_circular_skip_link_graph():
    graphs = symmetric.csl(0)
    assert len(graphs) == 150
    assert torch.bincount(torch.cat([g.y for g in graphs])).tolist() == [15] * 10
    for data in graphs[::15]:
        skip = symmetric.SKIPS[int(data.y)]
        built = _as_nx(data)
        assert set(dict(built.degree()).values()) == {4}
        assert nx.is_isomorphic(built, nx.circulant_graph(41, [1, skip]))


def test_csl_folds_are_stratified_and_cover():
    graphs = symmetric.csl(0)
    labels = np.array([int(g.y) for g in graphs])
    tested = np.concatenate([split["test"] for split in graphs.splits])
    assert sorted(tested) == list(range(150))
    assert graphs.replication == "fold"
    for split in graphs.splits:
        assert [len(split[part]) for part in ("train", "val", "test")] == [90, 30, 30]
        assert not set(split["train"]) & set(split["test"]) | set(split["val"]) & set(split["test"])
        assert np.bincount(labels[split["test"]]).tolist() == [3] * 10


def _has_cycle_nx(built, length):
    return any(len(c) == length for c in nx.simple_cycles(built, length_bound=length))


def test_exhaustive_cycle_search_agrees_with_networkx():
    found = []
    for seed in range(40):
        built = nx.gnp_random_graph(9, 0.22, seed=seed)
        pairs = np.array(list(built.edges())).reshape(-1, 2)
        data = networks.graph(networks.both_ways(pairs), 9)
        expected = _has_cycle_nx(built, 6)
        assert symmetric.has_cycle(data, 6) == expected
        found.append(expected)
    assert 5 < sum(found) < 35  # both answers occur


def test_cycles_labels_are_exact():
    graphs = symmetric.cycles(1, train=200, val=20, test=20)
    assert all(symmetric.has_cycle(g) == bool(g.y) for g in graphs)
    assert all(37 <= g.num_nodes <= 65 for g in graphs)
    assert sum(int(g.y) for g in graphs) == 120


def test_cycles_degrees_and_sizes_do_not_give_the_class_away():
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.linear_model import LogisticRegression

    # With 9,100 test graphs the 2 % are 3.8 standard errors of a fair coin: a tighter bound would fail by chance.
    graphs = symmetric.cycles(2, train=3000, val=0, test=9100)
    table = np.array(
        [
            [
                g.num_nodes,
                g.num_edges,
                *np.bincount(np.bincount(g.edge_index[0].numpy(), minlength=g.num_nodes), minlength=8)[:8],
            ]
            for g in graphs
        ]
    )
    y = np.array([int(g.y) for g in graphs])
    for model in (LogisticRegression(max_iter=2000), RandomForestClassifier(50, max_depth=6, random_state=0)):
        score = model.fit(table[:3000], y[:3000]).score(table[3000:], y[3000:])
        assert abs(score - 0.5) < 0.02
    for column in table.T[:2]:  # sizes and edges: same means within four standard errors
        gap = column[y == 1].mean() - column[y == 0].mean()
        assert abs(gap) < 4 * column.std() * np.sqrt(2 / 6050)


# --- block models


def test_block_model_densities():
    data = sbm.sbm(0, num_nodes=2000, degree=20.0, homophily=0.8)
    y, edges = data.y, data.edge_index
    assert is_undirected(edges)
    assert data.num_edges / 2000 == pytest.approx(20.0, rel=0.05)
    assert float((y[edges[0]] == y[edges[1]]).float().mean()) == pytest.approx(0.8, abs=0.02)
    assert torch.bincount(y).tolist() == [500] * 4


def test_pattern_as_published():
    graphs = sbm.pattern(0, train=200, val=10, test=10)
    inside, across, sizes = [], [], []
    for data in graphs:
        dense = np.zeros((data.num_nodes, data.num_nodes))
        dense[tuple(data.edge_index.numpy())] = 1
        assert (dense == dense.T).all()
        assert not dense.diagonal().any()
        hidden = data.y.numpy() == 1
        sizes.append(hidden.sum())
        across.append(dense[np.ix_(hidden, ~hidden)].mean())
        inside.append(dense[np.ix_(hidden, hidden)].sum() / (hidden.sum() * (hidden.sum() - 1)))
        assert set(data.x.unique().tolist()) <= {0, 1, 2}
    assert np.mean(across) == pytest.approx(0.5, abs=0.01)
    assert np.mean(inside) == pytest.approx(0.5, abs=0.04)
    assert min(sizes) >= 5
    assert max(sizes) <= 34
    # graphs 0 and 100 hide the same pattern: same size, same number of inner edges, same features
    first, again = graphs[0], graphs[100]
    assert sizes[0] == sizes[100]
    assert sorted(first.x[first.y == 1].flatten().tolist()) == sorted(again.x[again.y == 1].flatten().tolist())


def test_cluster_as_published():
    within, between = [], []
    for data in sbm.cluster(0, train=100, val=5, test=5):
        marked = data.x.flatten() > 0
        assert sorted(data.x.flatten()[marked].tolist()) == [1, 2, 3, 4, 5, 6]
        assert (data.x.flatten()[marked] - 1 == data.y[marked]).all()
        counts = torch.bincount(data.y, minlength=6)
        assert counts.min() >= 5
        assert counts.max() <= 34
        same = (data.y[data.edge_index[0]] == data.y[data.edge_index[1]]).sum().item()
        pairs = int((counts * (counts - 1)).sum())
        within.append(same / pairs)
        between.append((data.num_edges - same) / (data.num_nodes * (data.num_nodes - 1) - pairs))
    assert np.mean(within) == pytest.approx(0.55, abs=0.01)
    assert np.mean(between) == pytest.approx(0.25, abs=0.01)


# --- Ising


def test_lattice_is_the_periodic_grid():
    built = nx.Graph(lattice.lattice_pairs(6).tolist())
    assert nx.is_isomorphic(built, nx.grid_2d_graph(6, 6, periodic=True))


@pytest.mark.parametrize("temperature", [1.5, lattice.CRITICAL, 4.0])
def test_metropolis_matches_exact_enumeration(temperature):
    states = np.array(list(itertools.product((-1, 1), repeat=16)), dtype=np.int8).reshape(-1, 4, 4)
    energy = lattice.energy_per_site(states)
    weight = np.exp(-16 * (energy - energy.min()) / temperature)
    exact = (energy * weight).sum() / weight.sum()
    spread = np.sqrt((energy**2 * weight).sum() / weight.sum() - exact**2)
    rng = np.random.default_rng(0)
    spins = lattice.metropolis(rng, num_graphs=4000, side=4, temperature=temperature, sweeps=200)
    assert lattice.energy_per_site(spins).mean() == pytest.approx(exact, abs=4.5 * spread / np.sqrt(4000))


def test_energy_against_the_sum_over_edges():
    for data in lattice.ising(0, num_graphs=3, side=6):
        s = data.x.flatten()
        by_edges = -(s[data.edge_index[0]] * s[data.edge_index[1]]).sum() / 2 / 36
        assert float(data.y) == pytest.approx(float(by_edges), abs=1e-6)
        assert (data.edge_label == (s[data.edge_index[0]] == s[data.edge_index[1]])).all()


def test_coin_flips_are_uncorrelated_and_critical_spins_are_not():
    coins = lattice.ising_coin_flips(0, num_graphs=200)
    assert abs(np.mean([float(g.y) for g in coins])) < 4 * np.sqrt(2 / (200 * 100))
    assert np.mean([float(g.y) for g in lattice.ising(0, num_graphs=50)]) < -1.2


def test_odd_lattice_is_refused():
    with pytest.raises(UsageError, match="even"):
        lattice.ising(0, side=5)


# --- properties


def test_graph_theory_targets_against_networkx():
    for seed in range(6):
        rng = np.random.default_rng(seed)
        adjacency = nx.to_numpy_array(nx.gnp_random_graph(12, 0.18, seed=seed), dtype=int)
        noise = rng.random(12)
        node, whole = properties.properties(adjacency, 3, noise)
        built = nx.from_numpy_array(adjacency)
        reach = dict(nx.all_pairs_shortest_path_length(built))
        assert node[:, 0].tolist() == [reach[3].get(v, 0) for v in range(12)]
        assert node[:, 1].tolist() == [max(reach[v].values()) for v in range(12)]
        np.testing.assert_allclose(node[:, 2], nx.laplacian_matrix(built).toarray() @ noise, atol=1e-12)
        assert bool(whole[0]) == nx.is_connected(built)
        assert whole[1] == max(max(lengths.values()) for lengths in reach.values())
        assert whole[2] == pytest.approx(max(abs(nx.adjacency_spectrum(built))), abs=1e-9)


def test_graph_theory_dataset():
    graphs = properties.graph_theory(0, train=60, val=10, test=10)
    for data in graphs:
        assert not nx.number_of_isolates(_as_nx(data))
        assert data.x[:, 0].sum() == 1
        assert is_undirected(data.edge_index)
    node = torch.cat([g.y_node for g in graphs[:60]])
    whole = torch.cat([g.y_graph for g in graphs[:60]])
    torch.testing.assert_close(node.abs().max(0).values, torch.ones(3))
    torch.testing.assert_close(whole.abs().max(0).values, torch.ones(3))
    assert max(g.num_nodes for g in graphs[60:]) <= 19


def test_toggling_keeps_the_number_of_edges():
    rng = np.random.default_rng(0)
    for p in (0.1, 0.8):
        adjacency = nx.to_numpy_array(nx.gnp_random_graph(40, p, seed=1), dtype=int)
        after = [properties.toggled(adjacency, rng).sum() for _ in range(200)]
        # triangular noise: P(noise < 0.9) = 0.98, so somewhat fewer edges change than the rates suggest
        assert np.mean(after) == pytest.approx(adjacency.sum(), rel=0.06)


# --- single networks


def test_internet_has_its_hierarchy():
    data = networks.internet_as(0, num_nodes=300)
    degree = torch.bincount(data.edge_index[0], minlength=300).float()
    assert degree[data.y == 0].mean() > degree[data.y == 3].mean()
    top = (data.y == 0).nonzero().flatten().tolist()
    peers = {(u, v) for u, v in data.edge_index[:, data.edge_label == 1].T.tolist()}
    assert all((u, v) in peers for u in top for v in top if u != v)  # tier-1 systems peer with each other


def test_geometric_graph_joins_exactly_the_close_pairs():
    data = networks.geometric(0, num_nodes=200, degree=8.0)
    points = data.pos.double().numpy()
    distance = np.linalg.norm(points[:, None] - points[None], axis=2)
    radius = np.sqrt(8.0 / (np.pi * 199))
    close = {(int(i), int(j)) for i, j in np.argwhere((distance < radius) & ~np.eye(200, dtype=bool))}
    assert {tuple(pair) for pair in data.edge_index.T.tolist()} == close


def test_signs_are_balanced_up_to_the_flips():
    data = networks.signed_trust(0, flip=0.0)
    faction = data.solution["faction"]
    assert (data.edge_label.numpy() == (faction[data.edge_index[0]] != faction[data.edge_index[1]])).all()
    noisy = networks.signed_trust(0, flip=0.1)
    faction = noisy.solution["faction"]
    wrong = noisy.edge_label.numpy() != (faction[noisy.edge_index[0]] != faction[noisy.edge_index[1]])
    assert wrong.mean() == pytest.approx(0.1, abs=0.02)
    half = noisy.num_edges // 2
    assert (noisy.edge_label[:half] == noisy.edge_label[half:]).all()


def test_botnet_degrees_hide_the_bots():
    from sklearn.metrics import roc_auc_score

    scores = []
    for seed in range(5):
        data = networks.botnet(seed)
        degree = torch.bincount(data.edge_index[0], minlength=data.num_nodes)
        scores.append(roc_auc_score(data.y, degree))
        assert int(data.y.sum()) == 400
    assert np.mean(scores) == pytest.approx(0.5, abs=0.03)


def test_nearest_pairs_against_brute_force():
    points = np.random.default_rng(0).random((40, 3))
    distance = np.linalg.norm(points[:, None] - points[None], axis=2)
    expected = set()
    for i in range(40):
        for j in np.argsort(distance[i])[1:6]:
            expected.add((min(i, int(j)), max(i, int(j))))
    assert {tuple(pair) for pair in nearest_pairs(points, 5).tolist()} == expected


# --- kinship


def test_kinship_rules_by_hand():
    # 0 + 1 have 2 and 3; 2 + 4 have 5; 3 + 6 have 7
    parent = np.array([(0, 2), (1, 2), (0, 3), (1, 3), (2, 5), (4, 5), (3, 7), (6, 7)])
    found = kinship.derive(8, parent, np.array([(0, 1), (2, 4), (3, 6)]))
    pairs = {name: {tuple(p) for p in np.argwhere(matrix).tolist()} for name, matrix in found.items()}
    assert pairs["sibling"] == {(2, 3), (3, 2)}
    assert pairs["grandparent"] == {(0, 5), (1, 5), (0, 7), (1, 7)}
    assert pairs["aunt_or_uncle"] == {(3, 5), (2, 7)}
    assert pairs["cousin"] == {(5, 7), (7, 5)}
    assert pairs["child"] == {(b, a) for a, b in pairs["parent"]}
    assert pairs["spouse"] == {(a, b) for x, y in [(0, 1), (2, 4), (3, 6)] for a, b in [(x, y), (y, x)]}


def test_kinship_parts_are_disjoint_and_complete():
    data = kinship.kinship(0)
    triples = []
    for part in ("train", "valid", "test"):
        rows = torch.cat([data[f"{part}_edge_index"], data[f"{part}_edge_type"][None]])
        triples += [tuple(row) for row in rows.T.tolist()]
    assert len(triples) == len(set(triples)) == data.num_edges
    assert data.num_relations == len(kinship.RELATIONS) == int(data.edge_type.max()) + 1
    parents = torch.bincount(data.edge_index[1, data.edge_type == 0], minlength=data.num_nodes)
    assert set(parents.tolist()) == {0, 2}


# --- superpixels


def test_superpixels_of_flat_and_split_images():
    halves = np.zeros((1, 8, 8))
    halves[:, :, 4:] = 1.0
    label = images.slic(halves, segments=4)
    left, right = set(label[0, :, :4].ravel().tolist()), set(label[0, :, 4:].ravel().tolist())
    assert not left & right  # no superpixel crosses the edge
    data = images.superpixel_graphs(halves, np.array([3]), segments=4, neighbours=2)[0]
    assert int(data.y) == 3
    assert set(data.x[:, 0].tolist()) == {0.0, 1.0}
    assert torch.bincount(data.edge_index[0]).tolist() == [2] * data.num_nodes


def test_similarity_edges_go_to_the_most_similar():
    position = np.random.default_rng(0).random((12, 2))
    edges, value = images.similarity_edges(position, 4)
    distance = np.linalg.norm(position[:, None] - position[None], axis=2)
    spread = np.sort(distance, axis=1)[:, 1:5].mean(axis=1) + 1e-8
    kernel = np.exp(-((distance / spread[:, None]) ** 2))
    kernel = (kernel + kernel.T) / 2
    np.testing.assert_allclose(value, kernel[edges[0], edges[1]])
    for node in range(12):
        others = np.delete(kernel[node], node)
        np.testing.assert_allclose(np.sort(value[edges[0] == node]), np.sort(others)[-4:])
