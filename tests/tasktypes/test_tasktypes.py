"""The contract of task types, and what each of them promises about leaks and splits."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch_geometric.data import Batch, Data, HeteroData

from graphnetz._core.errors import DataError, UsageError
from graphnetz._core.rng import training_context
from graphnetz.models import MODELS
from graphnetz.records import GraphList, Protocol
from graphnetz.tasktypes import TASK_TYPES, known_task_type
from graphnetz.tasktypes.graphs import random_split
from graphnetz.tasktypes.heads import EdgeHead
from graphnetz.tasktypes.loop import DivergedError, evaluate, fit
from graphnetz.tasktypes.packing import pack
from graphnetz.tasktypes.pairs import sample_non_edges, unordered_pairs
from graphnetz.testing import check_model, check_task_type
from graphnetz.testing import examples as graphs


def build(model, kind, split, hidden=8):
    torch.manual_seed(0)
    return MODELS[model].build(kind, split.dims, hidden)


@pytest.mark.parametrize("kind", list(TASK_TYPES))
def test_contract_of_every_task_type(kind):
    check_task_type(kind)


@pytest.mark.parametrize("kind", list(TASK_TYPES))
def test_examples_name_what_the_targets_belong_to(kind):
    """The same id means the same example, whatever part a seed puts it into."""
    data, truth = graphs.EXAMPLES[kind](), {}
    for seed in (0, 1):
        split = TASK_TYPES[kind].split(data, seed)
        listed = [set(split.examples[part].tolist()) for part in ("train", "val", "test")]
        for part in ("train", "val", "test"):
            ids, target = split.examples[part], split.targets[part]
            assert ids.dtype == np.int64
            assert len(ids) == len(target)
            for name, value in zip(ids.tolist(), target.tolist(), strict=True):
                assert truth.setdefault(name, value) == value
        assert not (listed[0] & listed[2])
        assert not (listed[1] & listed[2])


@pytest.mark.parametrize("kind", list(TASK_TYPES))
def test_emptying_the_cache_of_a_split_changes_no_result(kind):
    task, results = TASK_TYPES[kind], []
    for forget in (False, True):
        split = task.split(graphs.EXAMPLES[kind](), 0)
        model = build("GCN", kind, split)
        with training_context(0):
            fit(task, model, split, Protocol(epochs=2))
            assert forget or kind in ("link_pred", "node_cls") or split.cache
            if forget:
                split.cache.clear()
            score = evaluate(task, model, split)["test"].numpy()
            results.append((score, task.measure(split, "test", score)))
    np.testing.assert_array_equal(results[0][0], results[1][0])
    assert results[0][1] == results[1][1]


@pytest.mark.parametrize(("model", "kind"), [(m, k) for m in MODELS for k in TASK_TYPES if MODELS[m].serves(k)])
def test_contract_of_every_model_on_every_task_type_it_serves(model, kind):
    check_model(model, task_types=[kind])


def test_packing_equals_pyg_batches():
    data = graphs.rings_and_stars(9)
    packed = pack(data)
    index = torch.tensor([4, 0, 7])
    ours, theirs = packed.select(index), Batch.from_data_list([data[i] for i in index])
    for key in ("x", "edge_index", "batch", "ptr", "y"):
        assert torch.equal(ours[key], theirs[key]), key
    assert ours.num_graphs == theirs.num_graphs


def test_masks_with_several_columns_use_one_column_per_seed():
    data = graphs.two_cliques(masks=4)
    kind = TASK_TYPES["node_cls"]
    chosen = [kind.split(data, seed).test for seed in range(5)]
    assert torch.equal(chosen[0], chosen[4])
    assert not torch.equal(chosen[0], chosen[1])
    assert kind.split(data, 0).replication == "resplit"
    assert kind.split(graphs.two_cliques(), 0).replication == "init"


def test_link_prediction_holds_out_pairs_and_their_reverses():
    data = graphs.two_cliques(40)
    split = TASK_TYPES["link_pred"].split(data, 0)
    seen = {tuple(sorted(e)) for e in split.data.edge_index.T.tolist()}
    every = {tuple(sorted(e)) for e in data.edge_index.T.tolist()}
    for part in ("val", "test"):
        pairs = split.part(part)
        positive = {tuple(sorted(e)) for e in pairs.index[:, pairs.label == 1].T.tolist()}
        negative = {tuple(sorted(e)) for e in pairs.index[:, pairs.label == 0].T.tolist()}
        assert positive <= every
        assert not positive & seen
        assert not negative & every
        assert len(positive) == len(negative)


def test_featureless_link_prediction_uses_training_degrees_only():
    data = graphs.two_cliques(40)
    data.num_nodes, data.x = 40, None
    split = TASK_TYPES["link_pred"].split(data, 0)
    degree = torch.bincount(split.data.edge_index[0], minlength=40).float()
    assert torch.allclose(split.data.x[:, 0], torch.log1p(degree) / np.log(40))
    assert split.data.x.shape == (40, 3)


def test_identity_features_where_the_loader_asks_for_them():
    data = graphs.two_cliques(40)
    data.num_nodes, data.x = 40, None
    data.feature_rule = "identity"
    assert torch.equal(TASK_TYPES["link_pred"].split(data, 0).data.x, torch.eye(40))


def test_supplied_negatives_are_used_as_they_are():
    data = graphs.two_cliques(40)
    for part in ("val", "test"):
        data[f"{part}_pos_edge_index"] = torch.tensor([[0, 1], [2, 3]])
        data[f"{part}_neg_edge_index"] = torch.tensor([[0, 1], [5, 6]])
    split = TASK_TYPES["link_pred"].split(data, 0)
    assert split.kind == "supplied"
    seen = zip(*split.test.index.tolist(), split.test.label.tolist(), strict=True)
    assert sorted(seen) == [(0, 2, 1.0), (0, 5, 0.0), (1, 3, 1.0), (1, 6, 0.0)]  # mixed: their order tells no label


def test_relational_negatives_are_no_known_triples_and_messages_are_training_triples():
    data = graphs.knowledge()
    split = TASK_TYPES["link_pred"].split(data, 0)
    known = set()
    for name in ("train", "valid", "test"):
        h, t = data[f"{name}_edge_index"].tolist()
        known |= set(zip(h, data[f"{name}_edge_type"].tolist(), t, strict=True))
    for part in ("train", "val", "test"):
        p = split.part(part)
        bad = p.label == 0
        triples = set(zip(p.index[0][bad].tolist(), p.relation[bad].tolist(), p.index[1][bad].tolist(), strict=True))
        assert not triples & known
    assert split.data.edge_index.size(1) == 2 * data.train_edge_index.size(1)
    with training_context(0):
        result = fit(TASK_TYPES["link_pred"], build("GCN", "link_pred", split), split, Protocol(epochs=3))
    assert 0 <= result.metrics["test_auc"] <= 1


def test_given_splits_are_respected_and_folds_follow_the_seed():
    data = graphs.rings_and_stars(9)
    fixed = {"train": [0, 1, 2, 3, 4], "val": [5, 6], "test": [7, 8]}
    split = TASK_TYPES["graph_cls"].split(GraphList(data, splits=fixed), 5)
    assert split.test.tolist() == [7, 8]
    assert split.replication == "init"
    folds = [fixed, {"train": [8, 7, 6, 5, 4], "val": [3, 2], "test": [0, 1]}]
    split = TASK_TYPES["graph_cls"].split(GraphList(data, splits=folds, replication="fold"), 1)
    assert split.test.tolist() == [0, 1]
    assert split.replication == "fold"


def test_a_list_of_one_split_is_one_split():
    """Every seed trains on it, so what a seed varies is the initialisation: no claim may speak of random splits."""
    fixed = {"train": [0, 1, 2, 3, 4], "val": [5, 6], "test": [7, 8]}
    for seed in (0, 1):
        split = TASK_TYPES["graph_cls"].split(GraphList(graphs.rings_and_stars(9), splits=[fixed]), seed)
        assert (split.test.tolist(), split.replication) == ([7, 8], "init")
    two = GraphList(graphs.rings_and_stars(9), splits=[fixed, fixed | {"val": [6, 5]}])
    assert TASK_TYPES["graph_cls"].split(two, 0).replication == "resplit"


def test_categorical_features_are_embedded():
    data = graphs.rings_and_stars(12)
    for g in data:
        g.x = torch.randint(0, 5, (g.num_nodes, 2))
    split = TASK_TYPES["graph_cls"].split(data, 0)
    assert len(split.dims.vocabulary) == 2
    with training_context(0):
        for model in ("GCN", "GIN"):
            assert fit(TASK_TYPES["graph_cls"], build(model, "graph_cls", split), split, Protocol(epochs=2)).epochs == 2


def test_edge_attributes_reach_models_that_take_them():
    data = graphs.rings_and_stars(12)
    for g in data:
        g.edge_attr = torch.randint(0, 3, (g.edge_index.size(1),))
    split = TASK_TYPES["graph_cls"].split(data, 0)
    assert split.dims.edge_dim == 3
    model = build("GAT", "graph_cls", split)
    assert model.encoder.edge_dim == 3
    with training_context(0):
        fit(TASK_TYPES["graph_cls"], model, split, Protocol(epochs=1))


def test_edge_weights_change_a_gcn():
    data = graphs.two_cliques()
    split = TASK_TYPES["node_cls"].split(data, 0)
    model = build("GCN", "node_cls", split)
    plain = evaluate(TASK_TYPES["node_cls"], model, split)["test"]
    weighted = data.clone()
    weighted.edge_weight = torch.rand(data.edge_index.size(1))
    other = evaluate(TASK_TYPES["node_cls"], model, TASK_TYPES["node_cls"].split(weighted, 0))["test"]
    assert not torch.allclose(plain, other)


def test_best_val_reports_the_epoch_with_the_best_validation_value():
    split = TASK_TYPES["node_cls"].split(graphs.two_cliques(60), 0)
    with training_context(0):
        result = fit(
            TASK_TYPES["node_cls"], build("GCN", "node_cls", split), split, Protocol(epochs=25, selection="best_val")
        )
    best = int(np.argmax(result.history["val_acc"]))
    assert result.best_epoch == best
    assert result.metrics["test_acc"] == result.history["test_acc"][best]


@pytest.mark.parametrize("selection", ["best_val", "last"])
def test_patience_shorter_than_the_time_between_looks_waits_for_the_first(selection):
    """Training was given up before anything had been measured, and every cell failed (KeyError: 'val')."""
    split = TASK_TYPES["node_cls"].split(graphs.EXAMPLES["node_cls"](), 0)
    protocol = Protocol(epochs=30, patience=2, eval_every=10, selection=selection)
    with training_context(0):
        result = fit(TASK_TYPES["node_cls"], build("GCN", "node_cls", split), split, protocol)
    assert 10 <= result.epochs <= 30
    assert np.isfinite(result.metrics[f"test_{split.metric}"])


def test_patience_stops_early_and_last_reports_the_last_epoch():
    split = TASK_TYPES["node_cls"].split(graphs.two_cliques(60), 0)
    with training_context(0):
        result = fit(TASK_TYPES["node_cls"], build("GCN", "node_cls", split), split, Protocol(epochs=500, patience=5))
    assert result.epochs < 500
    assert result.metrics["test_acc"] == result.history["test_acc"][-1]


def test_plateau_lowers_the_rate_until_it_stops():
    from graphnetz.records import Plateau

    split = TASK_TYPES["node_cls"].split(graphs.two_cliques(60), 0)
    protocol = Protocol(epochs=400, lr=0.1, schedule=Plateau(patience=1, min_lr=5e-2, factor=0.3))
    with training_context(0):
        result = fit(TASK_TYPES["node_cls"], build("GCN", "node_cls", split), split, protocol)
    assert result.epochs < 400
    assert "val_loss" in result.history


def test_a_loss_that_is_not_a_number_is_divergence():
    class Nan(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.w = torch.nn.Parameter(torch.zeros(1))

        def forward(self, data):
            return data.x[:, :2] * self.w / 0.0

    split = TASK_TYPES["node_cls"].split(graphs.two_cliques(), 0)
    with training_context(0), pytest.raises(DivergedError, match="learning rate"):
        fit(TASK_TYPES["node_cls"], Nan(), split, Protocol(epochs=2))


def test_a_user_may_bring_a_loss():
    calls = []

    class Own(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.lin = torch.nn.Linear(6, 2)

        def forward(self, data):
            return self.lin(data.x)

        def training_loss(self, data):
            calls.append(1)
            return self.lin(data.x).square().mean()

    split = TASK_TYPES["node_cls"].split(graphs.two_cliques(), 0)
    with training_context(0):
        fit(TASK_TYPES["node_cls"], Own(), split, Protocol(epochs=4))
    assert len(calls) == 4


def test_the_context_gives_back_what_the_caller_had():
    torch.set_num_threads(2)
    torch.manual_seed(7)
    before = torch.get_rng_state()
    with training_context(3, dtype="float64"):
        assert torch.get_num_threads() == 1
        assert torch.get_default_dtype() == torch.float64
        torch.rand(3)
    assert torch.get_num_threads() == 2
    assert torch.get_default_dtype() == torch.float32
    assert torch.equal(before, torch.get_rng_state())
    torch.set_num_threads(1)


def spoil(change):
    data = graphs.two_cliques()
    change(data)
    return data


def _no_masks(d):
    del d.train_mask


def _nan(d):
    d.x[3, 1] = float("nan")


def _one_class(d):
    d.y[:] = 0


def _range(d):
    d.edge_index[0, 0] = 99


def _negative(d):
    d.y[0] = -1


def _empty_mask(d):
    d.val_mask[:] = False


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (_no_masks, "train_mask missing.*RandomNodeSplit"),
        (_nan, "NaN or infinite features in 1 rows"),
        (_one_class, "one class only"),
        (_range, "out of range: ids 0..99 with 24 nodes"),
        (_negative, "negative"),
        (_empty_mask, "val_mask.*selects no node"),
    ],
)
def test_bad_node_data_gets_one_sentence(change, words):
    with pytest.raises(DataError, match=words):
        TASK_TYPES["node_cls"].split(spoil(change), 0)


def test_heterogeneous_and_empty_data_are_refused():
    with pytest.raises(DataError, match="to_homogeneous"):
        TASK_TYPES["node_cls"].split(HeteroData(), 0)
    with pytest.raises(DataError, match="without graphs"):
        TASK_TYPES["graph_cls"].split([], 0)
    empty = Data(x=torch.zeros(0, 3), edge_index=torch.zeros(2, 0, dtype=torch.long), y=torch.tensor([0]))
    with pytest.raises(DataError, match="graph 1 is empty"):
        TASK_TYPES["graph_cls"].split([graphs.rings_and_stars(1)[0], empty], 0)


def test_unknown_task_type_is_named():
    with pytest.raises(UsageError, match="unknown task type 'node_class'"):
        known_task_type("node_class")


@given(st.integers(3, 200), st.integers(0, 50))
@settings(max_examples=60, deadline=None)
def test_random_split_covers_everything_once(count, seed):
    parts = random_split(count, seed)
    joined = torch.cat(list(parts.values()))
    assert sorted(joined.tolist()) == list(range(count))
    assert all(p.numel() for p in parts.values())


@given(st.integers(3, 25), st.floats(0, 1), st.integers(0, 99))
@settings(max_examples=80, deadline=None)
def test_non_edges_are_distinct_and_no_edges(n, density, seed):
    rng = np.random.default_rng(seed)
    a, b = np.triu_indices(n, 1)
    keep = rng.random(a.size) < density
    edges = np.stack([a[keep], b[keep]])
    codes, number = unordered_pairs(np.concatenate([edges, edges[::-1]], axis=1), n)
    assert codes.size == keep.sum()
    assert (number >= 0).all()
    drawn = sample_non_edges(codes, n, 10, rng)
    free = a.size - codes.size
    assert drawn.shape[1] == min(10, free)
    pairs = {tuple(p) for p in drawn.T}
    assert len(pairs) == drawn.shape[1]
    assert not {u * n + v for u, v in pairs} & set(codes.tolist())
    assert all(u < v for u, v in pairs)


@pytest.mark.parametrize("edge_dim", [0, 3])
def test_edge_head_is_a_perceptron_of_both_ends_side_by_side(edge_dim):
    torch.manual_seed(0)
    head = EdgeHead(torch.nn.Identity(), 5, 4, edge_dim).double()
    head.encoder.forward = lambda data: data.x
    x, edges = torch.randn(9, 5, dtype=torch.float64, requires_grad=True), torch.randint(0, 9, (2, 30))
    own = [torch.randn(30, edge_dim, dtype=torch.float64)] if edge_dim else []
    found = head(Data(x=x, edge_index=edges, edge_attr=own[0] if own else None))
    expected = head.head(torch.cat([x[edges[0]], x[edges[1]], *own], dim=1))
    torch.testing.assert_close(found, expected, rtol=1e-12, atol=1e-12)
    weight = torch.randn_like(found)
    for a, b in zip(
        *(torch.autograd.grad((y * weight).sum(), [x, *head.parameters()]) for y in (found, expected)), strict=True
    ):
        torch.testing.assert_close(a, b, rtol=1e-12, atol=1e-12)


def test_graphs_with_other_columns_than_the_first_are_named():
    made = graphs.rings_and_stars()
    made[3].x = made[3].x[:, :2]
    with pytest.raises(DataError, match="Graph 3 has 2 node features and graph 0 has 3"):
        TASK_TYPES["graph_cls"].split(made, 0)
    made[3].x = None  # as wide as what is made of degrees, and yet not the same columns
    made[3].num_nodes = 7
    with pytest.raises(DataError, match="Graph 3 has no node features and graph 0 has 3"):
        TASK_TYPES["graph_cls"].split(made, 0)
