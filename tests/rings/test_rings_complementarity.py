"""Complementarity against its definition written out in loops, and its theorems."""

import warnings

import networkx as nx
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist
from torch_geometric.data import Batch, Data

from graphnetz._core.errors import DataError, UnknownNameError, UsageError
from graphnetz.rings import (
    PERTURBATIONS,
    RingsWarning,
    complementarity,
    dataset_statistics,
    diversity,
    ego_graphs,
    perturb,
    profile,
)
from graphnetz.rings import _batches as batches
from graphnetz.rings.statistics import by_split


def to_data(g, x):
    edges = np.array([(a, b) for a, b in g.edges] + [(b, a) for a, b in g.edges if a != b], dtype=np.int64)
    tensor = None if x is None else torch.as_tensor(x, dtype=torch.float64)
    return Data(x=tensor, edge_index=torch.from_numpy(edges.reshape(-1, 2).T.copy()), num_nodes=g.number_of_nodes())


def random_data(seed, n=12, p=0.15, width=3):
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 3, size=(n, width)).astype(float) if seed % 2 else rng.normal(size=(n, width))
    return to_data(nx.gnp_random_graph(n, p, seed=int(seed)), x)


def brute_force(data, t=1, p=1.0, q=1.0):
    """The definition, one component and one pair of nodes at a time."""
    g = nx.Graph()
    g.add_nodes_from(range(data.num_nodes))
    g.add_edges_from(data.edge_index.T.tolist())
    x, n = data.x.numpy(), data.num_nodes
    parts = [sorted(c) for c in nx.connected_components(g)]
    if all(len(c) == 1 for c in parts):
        parts = [list(range(n))]
    total = 0.0
    for nodes in parts:
        k = len(nodes)
        if k == 1:
            continue
        sub = g.subgraph(nodes)
        structure = np.zeros((k, k))
        if sub.number_of_edges():
            a = nx.to_numpy_array(sub, nodelist=nodes)
            root = np.diag(1 / np.sqrt(a.sum(1)))
            values, vectors = np.linalg.eigh(np.eye(k) - root @ a @ root)
            structure = cdist(vectors * values**t, vectors * values**t)
        features = cdist(x[nodes], x[nodes])
        structure = structure / (structure.max() or 1)
        features = features / (features.max() or 1)
        rows = [sum(abs(structure[i, j] - features[i, j]) ** p for j in range(k)) ** (q / p) for i in range(k)]
        total += k / n * sum(rows) ** (1 / q) / (k ** (1 / q) * (k - 1) ** (1 / p))
    return total


@pytest.mark.parametrize(("norm", "p", "q"), [("L11", 1, 1), ("frobenius", 2, 2), ((2, 1), 2, 1), ((1, 3), 1, 3)])
def test_against_the_definition(norm, p, q):
    graphs = [random_data(seed, n=4 + seed % 9, p=(seed % 5) / 8) for seed in range(40)]
    values = complementarity(graphs, t=(1, 3, 10), norm=norm)
    expected = [[brute_force(data, t, p, q) for t in (1, 3, 10)] for data in graphs]
    np.testing.assert_allclose(values, expected, atol=1e-6)
    assert values.min() >= 0
    assert values.max() <= 1 + 1e-12


@pytest.mark.parametrize("code", ["eg", "cg", "ef", "cf"])
@pytest.mark.parametrize("norm", ["L11", "frobenius", (2, 1)])
@pytest.mark.parametrize("structure", ["diffusion", "heat", "resistance", "shortest_path"])
def test_shortcuts_equal_perturbing_first(code, norm, structure):
    graphs = [random_data(seed, n=3 + seed % 8, p=(seed % 5) / 8) for seed in range(25)]
    graphs.append(to_data(nx.empty_graph(1), np.ones((1, 3))))
    direct = complementarity(graphs, perturbation=code, norm=norm, structure=structure)
    changed = [perturb(data, code) for data in graphs]
    np.testing.assert_allclose(direct, complementarity(changed, norm=norm, structure=structure), atol=1e-7)


@given(seed=st.integers(0, 10_000), n=st.integers(2, 14), p=st.floats(0, 0.5))
@settings(max_examples=60, deadline=None)
def test_relabelling_nodes_changes_nothing(seed, n, p):
    data = random_data(seed, n=n, p=p)
    order = np.random.default_rng(seed).permutation(n)
    back = np.argsort(order)
    moved = Data(x=data.x[order], edge_index=torch.from_numpy(back[data.edge_index.numpy()]), num_nodes=n)
    for code in ("o", "eg", "ef"):
        a, b = (complementarity(d, perturbation=code, t=(1, 5)) for d in (data, moved))
        np.testing.assert_allclose(a, b, atol=1e-7)


@given(seed=st.integers(0, 10_000), n=st.integers(2, 12), p=st.floats(0, 0.6))
@settings(max_examples=60, deadline=None)
def test_duality(seed, n, p):
    data = random_data(seed, n=n, p=p)
    value = {code: complementarity(data, perturbation=code)[0] for code in ("eg", "cg", "ef", "cf")}
    assert value["cg"] == pytest.approx(1 - value["eg"])
    g = nx.Graph()
    g.add_nodes_from(range(n))
    g.add_edges_from(data.edge_index.T.tolist())
    isolated = sum(1 for c in nx.connected_components(g) if len(c) == 1) if g.number_of_edges() else 0
    assert value["cf"] == pytest.approx(1 - isolated / n - value["ef"], abs=1e-9)


def test_isolated_nodes_keep_their_weight():
    edge = to_data(nx.path_graph(2), [[0.0], [0.0]])
    assert complementarity(edge)[0] == pytest.approx(1)
    g = nx.path_graph(2)
    g.add_nodes_from([2, 3])
    assert complementarity(to_data(g, np.zeros((4, 1))))[0] == pytest.approx(0.5)


def test_edgeless_graph_is_one_space():
    x = np.array([[0.0], [1.0], [1.0]])
    data = to_data(nx.empty_graph(3), x)
    expected = cdist(x, x).sum() / 6
    assert complementarity(data)[0] == pytest.approx(expected)
    assert complementarity(data, perturbation="ef")[0] == 0
    assert complementarity(data, perturbation="cf")[0] == 1
    loops = Data(x=data.x, edge_index=torch.tensor([[0, 1], [0, 1]]), num_nodes=3)
    assert complementarity(loops)[0] == pytest.approx(expected)


def test_duplicates_collapse_and_direction_is_ignored():
    one_way = torch.tensor([[0, 1, 2], [1, 2, 3]])
    x = torch.tensor([[0.0], [1], [5], [2]])
    variants = [one_way, one_way.flip(0), torch.cat([one_way, one_way, one_way.flip(0)], dim=1)]
    for structure in ("diffusion", "resistance", "shortest_path", "heat"):
        values = [complementarity(Data(x=x, edge_index=e), structure=structure)[0] for e in variants]
        np.testing.assert_allclose(values, values[0], atol=1e-12)


def test_lengths_are_used_only_when_asked():
    edges = torch.tensor([[0, 1, 1, 2, 0, 2], [1, 0, 2, 1, 2, 0]])
    data = Data(x=torch.tensor([[0.0], [1], [2]]), edge_index=edges, edge_weight=torch.tensor([1.0, 1, 1, 1, 9, 9]))
    plain = complementarity(data, structure="shortest_path")[0]
    features = np.array([[0, 1, 2], [1, 0, 1], [2, 1, 0]]) / 2
    assert plain == pytest.approx(np.abs(1 - np.eye(3) - features).sum() / 6)
    assert complementarity(data, structure="shortest_path", weights="edge_weight")[0] == pytest.approx(0)
    with pytest.raises(UsageError, match="shortest_path"):
        complementarity(data, weights="edge_weight")


def test_rounding_noise_in_features_is_zero():
    base = 0.1 + 0.2
    data = to_data(nx.path_graph(3), [[0.3], [base], [0.3]])
    assert complementarity(data, perturbation="eg")[0] == 0


def test_forms_of_input_and_order_of_t():
    graphs = [random_data(seed, n=5 + seed) for seed in range(6)]
    expected = complementarity(graphs, t=[1, 2, 5])
    assert expected.shape == (6, 3)
    np.testing.assert_array_equal(complementarity(iter(graphs), t=[1, 2, 5]), expected)
    np.testing.assert_array_equal(complementarity(Batch.from_data_list(graphs), t=[1, 2, 5]), expected)
    np.testing.assert_allclose(complementarity(graphs, t=[5, 1, 5]), expected[:, [2, 0, 2]], atol=1e-12)
    np.testing.assert_array_equal(complementarity(graphs[0]), expected[:1, 0])
    assert complementarity([], t=[1, 2]).shape == (0, 2)
    assert complementarity(graphs, structure="resistance", t=[1, 2]).shape == (6, 2)


def test_chunks_and_batches_do_not_change_values(monkeypatch):
    graphs = [random_data(seed, n=4 + seed % 7) for seed in range(30)]
    whole = profile(graphs, t=(1, 4))
    monkeypatch.setattr(batches, "CHUNK_GRAPHS", 4)
    monkeypatch.setattr(batches, "BATCH_ENTRIES", 1)
    parts = profile(graphs, t=(1, 4))
    for code in whole.values:
        np.testing.assert_allclose(parts.values[code], whole.values[code], atol=1e-9)


def test_profile_equals_single_calls():
    graphs = [random_data(seed, n=7) for seed in range(5)]
    result = profile(graphs, t=(1, 2, 3), seeds=(0, 1))
    assert set(result.values) == {"o", "eg", "cg", "ef", "cf", "rg", "sg", "rf", "sf"}
    for code, values in result.values.items():
        single = complementarity(graphs, perturbation=code, t=(1, 2, 3), seeds=(0, 1))
        np.testing.assert_allclose(values, single, atol=1e-9)
    frame = result.to_frame()
    assert len(frame) == 9 * 5 * 3
    row = frame[(frame.graph == 2) & (frame.perturbation == "rg") & (frame.t == 3)]
    assert row.complementarity.item() == result.values["rg"][2, 2]
    np.testing.assert_array_equal(result.at(2)["o"], result.values["o"][:, 1])


def test_random_perturbations_average_over_seeds():
    graphs = [random_data(seed, n=8, p=0.4) for seed in range(3)]
    by_hand = np.mean(
        [complementarity([perturb(d, "rf", seed=s, index=i) for i, d in enumerate(graphs)]) for s in (0, 2, 4, 8, 16)],
        axis=0,
    )
    np.testing.assert_allclose(complementarity(graphs, perturbation="rf"), by_hand, atol=1e-12)


def test_missing_features_are_nan_with_a_warning_except_where_they_do_not_matter():
    graphs = [to_data(nx.path_graph(4), None), random_data(1, n=5)]
    with pytest.warns(RingsWarning, match="1 of 2"):
        values = complementarity(graphs)
    assert np.isnan(values[0])
    assert np.isfinite(values[1])
    for code in ("rg", "sf", "rf"):
        with pytest.warns(RingsWarning):
            assert np.isnan(complementarity(graphs, perturbation=code)).tolist() == [True, False]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.isfinite(complementarity(graphs, perturbation="ef")).all()


def test_clear_errors():
    data = random_data(0, n=4)
    flat, holes = data.clone(), data.clone()
    flat.x = data.x[:, 0]
    holes.x[1, 1] = float("nan")
    with pytest.raises(DataError, match=r"Graph 1 .*shape \(4,\)"):
        complementarity([data, flat])
    with pytest.raises(DataError, match="Graph 1 has NaN"):
        complementarity([data, holes])
    with pytest.raises(UnknownNameError, match="structural metric"):
        complementarity(data, structure="difusion")
    with pytest.raises(UnknownNameError, match="perturbation"):
        complementarity(data, perturbation="zz")
    with pytest.raises(UsageError, match="norm"):
        complementarity(data, norm="L12")
    with pytest.raises(UsageError, match="t is empty"):
        complementarity(data, t=[])
    with pytest.raises(DataError, match="its edges name node 9"):
        complementarity(Data(x=data.x, edge_index=torch.tensor([[0], [9]])))


def test_too_large_a_component_points_to_samples(monkeypatch):
    monkeypatch.setattr(batches, "MAX_NODES", 5)
    with pytest.raises(DataError, match="ego_graphs"):
        complementarity(to_data(nx.path_graph(6), np.ones((6, 1))))


def test_diversity_uses_the_dual_mode():
    graphs = [random_data(seed, n=8, p=0.4) for seed in range(4)]
    result = diversity(graphs)
    ef, eg = (complementarity(graphs, perturbation=code) for code in ("ef", "eg"))
    np.testing.assert_allclose(result.structural, 1 - np.abs(1 - 2 * ef))
    np.testing.assert_allclose(result.features, 1 - np.abs(1 - 2 * eg))
    assert result.mean["structural"] == pytest.approx(result.structural.mean())
    assert result.std["features"] == pytest.approx(result.features.std(ddof=1))
    assert set(result.symbols) == {"structural", "features"}
    complete = diversity(to_data(nx.complete_graph(5), np.eye(5)))
    assert complete.mean["structural"] == pytest.approx(0, abs=1e-9)
    assert complete.symbols["features"] == ("--", "?")


def test_statistics_and_split_summary():
    graphs = [random_data(seed, n=6 + seed, p=0.5) for seed in range(4)]
    stats = dataset_statistics(graphs)
    nx_graphs = [nx.Graph(d.edge_index.T.tolist()) for d in graphs]
    assert stats.mean["edges"] == np.mean([2 * g.number_of_edges() for g in nx_graphs])
    densities = [
        2 * g.number_of_edges() / (d.num_nodes * (d.num_nodes - 1)) for g, d in zip(nx_graphs, graphs, strict=True)
    ]
    assert stats.mean["density"] == pytest.approx(np.mean(densities))
    assert stats.std["nodes"] == pytest.approx(np.std([6, 7, 8, 9], ddof=1))
    np.testing.assert_allclose(stats.columns["gamma_10"], complementarity(graphs, t=10))
    frame = by_split(np.array([1.0, 2, 3, 4]), {"train": [0, 1], "test": [3], "val": []})
    assert frame.loc["train", "mean"] == 1.5
    assert np.isnan(frame.loc["test", "std"])
    assert frame.loc["val", "graphs"] == 0


def test_ego_graphs_are_induced_balls():
    g = nx.barabasi_albert_graph(60, 2, seed=3)
    data = to_data(g, np.random.default_rng(0).normal(size=(60, 2)))
    for ego in ego_graphs(data, hops=2, samples=10, seed=1):
        expected = nx.ego_graph(g, ego.centre, radius=2)
        assert ego.num_nodes == expected.number_of_nodes()
        assert ego.edge_index.shape[1] == 2 * expected.number_of_edges()
        assert torch.equal(ego.x, data.x[sorted(expected)])
    small = ego_graphs(data, hops=3, samples=5, max_nodes=12)
    assert all(ego.num_nodes == 12 for ego in small)
    assert np.isfinite(complementarity(small)).all()
    assert len(ego_graphs(data, samples=1000)) == 60


def test_registered_perturbation_takes_part():
    from graphnetz.rings.perturbations import perturbation

    @perturbation("test_constant", mode="features")
    def constant(data, rng):
        data.x = torch.ones(data.num_nodes, 1)
        return data

    try:
        graphs = [random_data(seed, n=6, p=0.5) for seed in range(3)]
        np.testing.assert_allclose(
            complementarity(graphs, perturbation="test_constant"),
            complementarity(graphs, perturbation="ef"),
            atol=1e-12,
        )
    finally:
        PERTURBATIONS.remove("test_constant")
