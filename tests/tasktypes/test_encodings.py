"""Positional encodings against networkx, NumPy and SciPy, and what training does to them."""

import networkx as nx
import numpy as np
import pytest
import scipy.linalg
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch_geometric.data import Data
from torch_geometric.transforms import AddRandomWalkPE

import graphnetz.tasktypes.encodings as encodings
from graphnetz._core.errors import UsageError
from graphnetz.datasets.generators.symmetric import csl
from graphnetz.tasktypes import TASK_TYPES
from graphnetz.tasktypes.encodings import (
    LaplacianPE,
    NodeIndexPE,
    RandomWalkPE,
    laplacian,
    positions,
)
from graphnetz.tasktypes.packing import pack


@pytest.fixture(autouse=True)
def _double():
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


def data_of(graph, **values):
    edges = torch.tensor(list(graph.to_directed().edges), dtype=torch.long).reshape(-1, 2).T
    return Data(edge_index=edges, num_nodes=graph.number_of_nodes(), **values)


def span(columns):
    """Projector onto a space: the same for any basis of it."""
    return columns @ columns.T


@settings(max_examples=25, deadline=None)
@given(st.integers(4, 20), st.floats(0.15, 0.9), st.integers(0, 10_000), st.integers(1, 25))
def test_laplacian_rows_are_the_next_eigenvectors_of_the_networkx_laplacian(n, p, seed, k):
    graph = nx.gnp_random_graph(n, p, seed=seed)
    # networkx leaves the diagonal of isolated nodes at 0, the published encoding at 1.
    matrix = nx.normalized_laplacian_matrix(graph).toarray() + np.diag([float(d == 0) for _, d in graph.degree])
    found = LaplacianPE(k)(data_of(graph))
    np.testing.assert_allclose(laplacian(data_of(graph)).toarray(), matrix, atol=1e-12)
    rows, used = found.pe.numpy(), min(k, n - 1)
    assert rows.shape == (n, k)
    assert np.all(rows[:, used:] == 0)
    values = scipy.linalg.eigvalsh(matrix)
    np.testing.assert_allclose(rows[:, :used].T @ rows[:, :used], np.eye(used), atol=1e-9)
    np.testing.assert_allclose(matrix @ rows[:, :used], rows[:, :used] * values[1 : used + 1], atol=1e-8)
    assert found.pe_view.tolist() == [encodings.RANDOM_SIGNS]


def test_equal_sizes_solved_together_give_what_each_gives_alone():
    graphs = [data_of(nx.gnp_random_graph(n, 0.5, seed=s)) for s, n in enumerate([6, 9, 6, 5, 9, 9])]
    made = LaplacianPE(4, signs="absolute")
    for one, many in zip([made(g) for g in graphs], made.many(graphs), strict=True):
        assert one.num_nodes == many.num_nodes
        values = scipy.linalg.eigvalsh(laplacian(one).toarray())
        if np.diff(values[:6]).min() > 1e-6:  # with repeated eigenvalues only the spaces agree
            torch.testing.assert_close(one.pe, many.pe)
    assert all(bool((g.pe >= 0).all()) for g in made.many(graphs))


def test_large_graphs_take_the_sparse_way_to_the_same_space(monkeypatch):
    graph = data_of(nx.random_geometric_graph(60, 0.3, seed=1))
    dense = LaplacianPE(3, signs="fixed")(graph).pe.numpy()
    monkeypatch.setattr(encodings, "DENSE_LIMIT", 10)
    sparse = LaplacianPE(3, signs="fixed")(graph).pe.numpy()
    np.testing.assert_allclose(span(sparse), span(dense), atol=1e-8)
    np.testing.assert_array_equal(sparse, LaplacianPE(3, signs="fixed")(graph).pe.numpy())


def test_stacked_laplacians_are_the_single_ones(monkeypatch):
    graphs = [data_of(nx.gnp_random_graph(7, p, seed=s)) for s, p in enumerate([0.0, 0.3, 0.6, 1.0])]
    stacked = encodings.stacked_laplacians(graphs, 7).numpy()
    for one, graph in zip(stacked, graphs, strict=True):
        np.testing.assert_allclose(one, laplacian(graph).toarray(), atol=1e-15)
    whole = [g.pe for g in LaplacianPE(3).many(graphs)]
    monkeypatch.setattr(encodings, "STACKED", 50)  # one graph per call
    for one, other in zip(whole, LaplacianPE(3).many(graphs), strict=True):
        torch.testing.assert_close(one, other.pe)


def test_direction_and_repetition_of_edges_do_not_matter():
    graph = nx.gnp_random_graph(8, 0.5, seed=4)
    both = data_of(graph)
    once = Data(edge_index=torch.tensor(list(graph.edges)).T, num_nodes=8)
    doubled = Data(edge_index=torch.cat([both.edge_index, both.edge_index], dim=1), num_nodes=8)
    for other in (once, doubled):
        np.testing.assert_allclose(laplacian(other).toarray(), laplacian(both).toarray(), atol=1e-15)


@pytest.mark.parametrize("limit", [1500, 5])
def test_random_walk_rows_are_return_probabilities(limit, monkeypatch):
    monkeypatch.setattr(encodings, "DENSE_LIMIT", limit)
    graph = nx.gnp_random_graph(12, 0.4, seed=2)
    graph.add_node(12)
    matrix = nx.to_numpy_array(graph)
    step = matrix / np.maximum(matrix.sum(1, keepdims=True), 1)
    expected = np.stack([np.diag(np.linalg.matrix_power(step, i)) for i in range(1, 6)], axis=1)
    np.testing.assert_allclose(RandomWalkPE(5)(data_of(graph)).pe.numpy(), expected, atol=1e-12)
    graph.remove_node(12)
    library = AddRandomWalkPE(5, attr_name="pe")(data_of(graph)).pe
    np.testing.assert_allclose(RandomWalkPE(5)(data_of(graph)).pe.numpy(), library.numpy(), atol=1e-6)


def batch_with(transform, count=3):
    graphs = transform.many(
        [data_of(nx.path_graph(4 + i), x=torch.ones(4 + i, 1), y=torch.tensor([i])) for i in range(count)]
    )
    return pack(graphs).select(torch.arange(count))


def test_training_flips_columns_of_the_whole_batch_and_evaluation_does_not():
    batch = batch_with(LaplacianPE(3))
    assert torch.equal(positions(batch, training=False), batch.pe)
    torch.manual_seed(0)
    seen = set()
    for _ in range(60):
        rows = positions(batch, training=True)
        ratio = rows / batch.pe
        signs = [ratio[:, c][batch.pe[:, c].abs() > 1e-12].unique() for c in range(3)]
        assert all(s.numel() == 1 and abs(float(s)) == 1.0 for s in signs)
        seen.add(tuple(float(s) for s in signs))
    assert len(seen) == 8  # every combination of three signs


@pytest.mark.parametrize("signs", ["fixed", "absolute"])
def test_other_signs_are_left_alone(signs):
    batch = batch_with(LaplacianPE(3, signs=signs))
    assert torch.equal(positions(batch, training=True), batch.pe)


def test_random_order_stays_inside_each_graph_and_fixed_order_stays():
    fixed, shuffled = batch_with(NodeIndexPE(8)), batch_with(NodeIndexPE(8, order="random"))
    assert torch.equal(positions(fixed, training=True), fixed.pe)
    torch.manual_seed(0)
    orders = set()
    for _ in range(20):
        rows = positions(shuffled, training=True)
        for graph in range(3):
            numbers = rows[shuffled.batch == graph].argmax(1)
            assert sorted(numbers.tolist()) == list(range(4 + graph))
        orders.add(tuple(rows.argmax(1).tolist()))
    assert len(orders) > 10
    assert torch.equal(positions(shuffled, training=False), fixed.pe)


def test_node_numbers_beyond_the_width_give_zero_rows():
    assert NodeIndexPE(2)(data_of(nx.path_graph(4))).pe.tolist() == [[1, 0], [0, 1], [0, 0], [0, 0]]


def test_the_width_reaches_the_model_and_the_callers_graphs_stay_as_they_were():
    graphs = csl(0, copies=3)
    originals = [graphs[i] for i in range(len(graphs))]
    made = LaplacianPE(5).many(originals)
    assert "pe" not in originals[0]
    split = TASK_TYPES["graph_cls"].split(made, 0)
    assert split.dims.pe_dim == 5
    assert TASK_TYPES["graph_cls"].split(originals, 0).dims.pe_dim is None
    first = next(iter(TASK_TYPES["graph_cls"].batches(split, 4)))
    assert first.pe.shape == (4 * 41, 5)
    assert first.pe_view.shape == (4,)


def test_link_prediction_does_not_pass_on_an_encoding_of_held_out_edges():
    graph = data_of(nx.gnp_random_graph(30, 0.3, seed=0))
    split = TASK_TYPES["link_pred"].split(LaplacianPE(4)(graph), 0)
    assert "pe" not in split.data


@pytest.mark.parametrize(
    "make", [lambda: LaplacianPE(0), lambda: LaplacianPE(2, signs="any"), lambda: NodeIndexPE(2, order="odd")]
)
def test_wrong_options_are_refused(make):
    with pytest.raises(UsageError):
        make()


def test_a_model_built_for_encodings_says_when_there_is_none():
    with pytest.raises(UsageError, match="has no pe"):
        positions(data_of(nx.path_graph(3)), training=False)
