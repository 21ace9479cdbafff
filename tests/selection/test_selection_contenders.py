"""Cheap forms of the contenders on links, against networkx, scikit-learn, PyTorch and the engine's own models."""

import networkx as nx
import numpy as np
import pytest

from graphnetz._core.rng import generator
from graphnetz.graphs import as_graph
from graphnetz.selection.contenders import (
    CONTENDERS,
    _boosted,
    _rows,
    _smoothing,
    _trained,
    auc,
    contenders,
    narrow,
    non_edges,
    products,
    spectral,
    steps,
)
from graphnetz.selection.landmarks import LANDMARKS, SCORES, landmarks
from graphnetz.selection.splits import stored_split


def network(nodes=240, seed=0):
    """Communities with a few edges between them, connected."""
    graph = nx.connected_watts_strogatz_graph(nodes, 6, 0.2, seed=seed)
    return graph, nx.to_scipy_sparse_array(graph, format="csr", dtype=float)


def parts(graph, seed=0):
    """Training edges, and validation pairs with their truth."""
    split = stored_split(graph, "link_pred", None, seed)
    asked = np.concatenate([split["val"], split["val_negative"]])
    return np.sort(split["train"], axis=1), asked, np.arange(len(asked)) < len(split["val"])


def adjacency(edges, nodes):
    made = nx.empty_graph(nodes)
    made.add_edges_from(edges.tolist())
    return nx.to_scipy_sparse_array(made, nodelist=range(nodes), format="csr", dtype=float)


def test_auc_is_that_of_scikit_learn():
    from sklearn.metrics import roc_auc_score

    rng = np.random.default_rng(0)
    scores, truth = rng.integers(0, 9, 200).astype(float), rng.random(200) < 0.3  # many ties
    assert auc(scores, truth) == pytest.approx(roc_auc_score(truth, scores), abs=1e-12)
    assert auc(scores, np.ones(200, dtype=bool)) == 0.5


def test_spectral_vectors_are_those_of_scikit_learn():
    from sklearn.manifold import spectral_embedding

    graph, matrix = network()
    theirs = spectral_embedding(matrix.toarray(), n_components=8, drop_first=True, random_state=0)
    ours = spectral(matrix, 8, np.random.default_rng(0))
    alike = [abs(np.corrcoef(a, b)[0, 1]) for a, b in zip(ours.T, theirs.T, strict=True)]
    assert min(alike[:4]) > 0.98  # the later ones lie close together, and both solvers stop early
    pairs = np.array(list(graph.edges()))
    assert np.corrcoef(products(ours, pairs), products(theirs, pairs))[0, 1] > 0.95


def test_step_factors_give_back_positive_log_transitions():
    """With all factors kept, the squared singular values are those of the matrix that GraRep defines."""
    graph, matrix = network(60)
    one = nx.google_matrix(graph, alpha=1.0)  # transitions of the plain random walk
    two = np.asarray(one @ one)
    arrivals = two / two.sum(axis=0, keepdims=True)
    with np.errstate(divide="ignore"):
        wanted = np.linalg.svd(np.maximum(np.log(60 * arrivals), 0.0), compute_uv=False)
    found = steps(matrix, 60, 2, np.random.default_rng(0))[:, -60:]
    np.testing.assert_allclose(np.sort((found**2).sum(axis=0))[::-1], wanted, atol=1e-8)


def test_pairs_are_described_as_networkx_counts():
    graph, matrix = network()
    pairs = np.array(list(nx.non_edges(graph)))[::50]
    rows = _rows(pairs, matrix, None, known=False)
    degree = np.log1p([[graph.degree(a), graph.degree(b)] for a, b in pairs.tolist()])
    np.testing.assert_allclose(rows[:, :2], np.sort(degree, axis=1))
    np.testing.assert_allclose(rows[:, 3], [len(list(nx.common_neighbors(graph, a, b))) for a, b in pairs.tolist()])
    adamic = [value for _, _, value in nx.adamic_adar_index(graph, [tuple(pair) for pair in pairs.tolist()])]
    np.testing.assert_allclose(rows[:, 4], adamic, atol=1e-9)


def test_a_known_edge_is_described_as_if_it_were_not_there():
    graph, _ = network()
    rng = np.random.default_rng(0)
    a, b = next(iter(graph.edges()))
    x, pair = rng.standard_normal((240, 3)), np.array([[a, b]])
    seen = _rows(pair, nx.to_scipy_sparse_array(graph, format="csr", dtype=float), x, known=True)
    graph.remove_edge(a, b)
    np.testing.assert_allclose(
        seen, _rows(pair, nx.to_scipy_sparse_array(graph, format="csr", dtype=float), x, known=False)
    )


@pytest.mark.parametrize("featured", [False, True])
def test_trained_smoothing_ends_where_pytorch_does(featured):
    """The same start, pairs and steps in PyTorch, gradients by autograd, give the same AUC."""
    import torch

    made, _ = network()
    graph = as_graph(np.array(made.edges()), 240)
    train, asked, truth = parts(graph)
    matrix = adjacency(train, 240)
    strangers = non_edges(matrix, len(train), np.random.default_rng(1))
    x = np.random.default_rng(2).standard_normal((240, 6)) if featured else None
    ours = _trained(_smoothing(matrix), 2, x, train, strangers, asked, truth, np.random.default_rng(3))

    rng, wide = np.random.default_rng(3), 6 if featured else 32
    draws = [rng.uniform(-1, 1, (wide, 32)) / wide**0.5, rng.uniform(-1, 1, 32) / wide**0.5]
    held = x if featured else rng.standard_normal((240, wide))
    weight, bias, vectors = (torch.tensor(one, dtype=torch.float32, requires_grad=True) for one in (*draws, held))
    learned = [weight, bias] if featured else [weight, bias, vectors]
    smooth = torch.tensor(_smoothing(matrix).toarray())
    pairs = torch.tensor(np.concatenate([train, strangers]))
    target = (torch.arange(len(pairs)) < len(train)).float()
    optimiser, best, since = torch.optim.Adam(learned, lr=0.01), 0.0, 0
    for epoch in range(101):
        z = smooth @ (smooth @ vectors) @ weight + bias
        if epoch % 5 == 0:
            found = auc(products(z.detach().numpy(), asked), truth)
            best, since = (found, 0) if found > best else (best, since + 5)
            if since >= 30:
                break
        loss = torch.nn.functional.binary_cross_entropy_with_logits((z[pairs[:, 0]] * z[pairs[:, 1]]).sum(1), target)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    assert ours == pytest.approx(best, abs=0.003)


@pytest.mark.parametrize("featured", [False, True])
def test_cheap_forms_reach_what_the_models_of_the_engine_reach(featured):
    """On validation pairs, mean of three splits, within .04: trees, and both sizes of spectral vectors."""
    from graphnetz import get_split
    from graphnetz.models import MODELS
    from graphnetz.selection.collect import measured_task

    made, _ = network(400)
    x = np.random.default_rng(0).standard_normal((400, 8)).astype(np.float32) if featured else None
    graph = as_graph(np.array(made.edges()), 400, features=x)
    apart = []
    for seed in range(3):
        train, asked, truth = parts(graph, seed)
        found = contenders(adjacency(train, 400), x, train, asked, truth, generator("test", seed))
        split = get_split(measured_task(graph, "link_pred"), seed)
        for place, (name, settings) in enumerate(
            [("GradientBoosting", {}), ("SpectralEmbedding", {"num_components": 16, "tolerance": 0.01})]
        ):
            model = MODELS[name].cls(**settings)
            model.fit(split, np.random.default_rng(seed))
            scores = model.score(split)["val"]
            apart.append((place, found[place] - auc(np.asarray(scores), split.targets["val"] > 0.5)))
    for place in (0, 1):
        assert abs(np.mean([value for which, value in apart if which == place])) < 0.04


def test_landmarks_of_links_never_see_the_test_edges():
    made, _ = network()
    graph = as_graph(np.array(made.edges()), 240)
    split = stored_split(graph, "link_pred", None, 0)
    train, asked, truth = parts(graph)
    found = contenders(adjacency(train, 240), None, train, asked, truth, np.random.default_rng(0))
    names = LANDMARKS["link_pred"]
    rows = landmarks(graph, "link_pred", splits=1)
    assert names[4 : SCORES["link_pred"]] == CONTENDERS
    # All that is drawn is drawn from the training edges: with other test edges nothing changes but the split itself.
    assert len({tuple(pair) for pair in train.tolist()} & {tuple(pair) for pair in split["test"].tolist()}) == 0
    assert np.isfinite(rows).all()
    assert np.abs(rows[4 : SCORES["link_pred"]] - found).max() < 0.1  # another generator, the same parts


@pytest.mark.parametrize(
    "graph",
    [
        nx.star_graph(60), nx.path_graph(200), nx.complete_bipartite_graph(10, 12), nx.complete_graph(20),
        nx.disjoint_union_all([nx.cycle_graph(5)] * 40), nx.gnm_random_graph(8, 21, seed=0),
    ],
    ids=["star", "path", "bipartite", "complete", "cycles", "tiny"],
)  # fmt: skip
def test_odd_graphs_have_landmarks(graph):
    assert np.isfinite(landmarks(as_graph(graph), "link_pred")).all()


def test_nodes_without_an_edge_cost_nothing_without_features():
    """Two million nodes of which fifty have an edge: matrices and vectors of all of them would take gigabytes."""
    import tracemalloc

    graph = as_graph(np.array([(i, i + 1) for i in range(50)]), 2_000_000)
    train, asked, truth = parts(graph)
    from graphnetz.selection.landmarks import _adjacency

    matrix = _adjacency(train, graph.num_nodes)
    tracemalloc.start()
    found = contenders(matrix, None, train, asked, truth, np.random.default_rng(0))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert np.isfinite(found).all()
    assert peak < 200e6


def test_many_features_are_narrowed_without_moving_rows_apart():
    """Distances of the rows are those of all features, up to one factor."""
    rng = np.random.default_rng(0)
    wide = rng.standard_normal((100, 20)) @ rng.standard_normal((20, 300))
    kept = narrow(wide, rng)
    assert kept.shape == (100, 64)
    np.testing.assert_allclose(
        (kept @ kept.T) / np.trace(kept @ kept.T), wide @ wide.T / np.trace(wide @ wide.T), atol=1e-8
    )
    assert narrow(None, rng) is None


def test_trees_learn_nothing_where_every_pair_is_an_edge():
    train = np.array([(0, 1), (1, 2), (0, 2)])
    assert not _boosted(adjacency(train, 3), None, train, np.zeros((0, 2), dtype=int), train).any()
