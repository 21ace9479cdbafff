"""Plain files and objects become tasks; bad ones are refused in one sentence."""

import pickle

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import torch
from scipy import sparse
from torch_geometric.data import Data

from graphnetz import get_split
from graphnetz._core.errors import DataError, UnknownNameError, UsageError
from graphnetz.datasets import (
    BENCHMARK_TASKS,
    CATEGORIES,
    find_task,
    iter_benchmark_tasks,
    register_task,
    task_from_dataset,
    task_from_edges,
    task_from_networkx,
    unregister_task,
)
from graphnetz.datasets.splits import stratified_masks

RING = np.array([(i, (i + 1) % 12) for i in range(12)])


def _edges(task):
    return {tuple(pair) for pair in task.loader("anywhere").edge_index.T.tolist()}


def _ring_csv(folder, header="source,target", rows=RING):
    path = folder / "edges.csv"
    path.write_text("\n".join([header, *(",".join(str(v) for v in row) for row in rows)]) + "\n")
    return path


BOTH = {(int(a), int(b)) for u, v in RING for a, b in [(u, v), (v, u)]}


def test_every_form_of_edges_gives_the_same_graph(tmp_path):
    graph = nx.cycle_graph(12)
    nx.write_graphml(graph, tmp_path / "g.graphml")
    nx.write_gml(graph, tmp_path / "g.gml")
    np.savez(tmp_path / "a.npz", edge_index=RING.T)
    np.savez(tmp_path / "b.npz", edges=RING)
    matrix = nx.to_scipy_sparse_array(graph)
    sparse.save_npz(tmp_path / "c.npz", sparse.csr_matrix(matrix))
    forms = [
        _ring_csv(tmp_path),
        str(_ring_csv(tmp_path)),
        RING,
        RING.T,
        RING.tolist(),
        pd.DataFrame(RING, columns=["u", "v"]),
        matrix,
        *(tmp_path / name for name in ("g.graphml", "g.gml", "a.npz", "b.npz", "c.npz")),
    ]
    for form in forms:
        task = task_from_edges("ring", form)
        assert task.task_type == "link_pred"
        assert _edges(task) == BOTH, form
    assert _edges(task_from_networkx("ring", graph)) == BOTH


def test_netzschleuder_style_header_and_names(tmp_path):
    assert _edges(task_from_edges("ring", _ring_csv(tmp_path, header="# source, target"))) == BOTH
    named = [(f"n{u:02d}", f"n{v:02d}") for u, v in RING]
    data = task_from_edges("ring", _ring_csv(tmp_path, rows=named)).loader()
    assert data.num_nodes == 12
    assert {tuple(p) for p in data.edge_index.T.tolist()} == BOTH


def test_directed_edges_keep_their_direction_and_repeats_count_once():
    doubled = np.concatenate([RING, RING])
    task = task_from_edges("ring", doubled, directed=True)
    assert task.loader().num_edges == 12
    assert _edges(task) == {(int(u), int(v)) for u, v in RING}


def test_labels_features_and_masks_from_csv(tmp_path):
    labels, features = tmp_path / "labels.csv", tmp_path / "x.csv"
    labels.write_text("node,label\n" + "".join(f"{i},{'ab'[i % 2]}\n" for i in range(10)))
    features.write_text("node,f1,f2\n" + "".join(f"{i},{i},{-i}\n" for i in reversed(range(12))))
    task = task_from_edges("ring", _ring_csv(tmp_path), labels=labels, features=features, splits=3)
    data = task.loader()
    assert task.task_type == "node_cls"
    assert data.x.tolist() == [[float(i), float(-i)] for i in range(12)]
    assert data.y[:10].tolist() == [0, 1] * 5
    masks = torch.stack([data.train_mask, data.val_mask, data.test_mask])
    assert masks.shape == (3, 12, 3)
    assert (masks.sum(0)[:10] == 1).all()
    assert not masks[:, 10:].any()  # unlabelled nodes are in no split
    assert not torch.equal(data.test_mask[:, 0], data.test_mask[:, 1])


def test_edge_labels_reach_both_directions():
    frame = pd.DataFrame(
        {"source": RING[:, 0], "target": RING[:, 1], "label": ["x", "y"] * 6, "weight": np.arange(12.0)}
    )
    data = task_from_edges("ring", frame, task_type="edge_cls").loader()
    kind = {frozenset(map(int, pair)): "xy".index(label) for pair, label in zip(RING, frame.label, strict=True)}
    weight = {frozenset(map(int, pair)): w for pair, w in zip(RING, frame.weight, strict=True)}
    for (u, v), label, w in zip(data.edge_index.T.tolist(), data.edge_label, data.edge_weight, strict=True):
        assert (int(label), float(w)) == (kind[frozenset((u, v))], weight[frozenset((u, v))])


def test_networkx_labels_features_and_lists():
    graph = nx.karate_club_graph()
    nx.set_node_attributes(graph, dict(graph.degree()), "degree")
    data = task_from_networkx("karate", graph, label="club", features=["degree"]).loader()
    assert data.x[:, 0].tolist() == [d for _, d in graph.degree()]
    assert data.y.tolist() == [int(c == "Officer") for _, c in graph.nodes(data="club")]
    pair = [nx.path_graph(4), nx.star_graph(3)]
    for number, item in enumerate(pair):
        item.graph["kind"] = number
    task = task_from_networkx("shapes", pair, label="kind")
    assert task.task_type == "graph_cls"
    assert [int(d.y) for d in task.loader()] == [0, 1]


def test_npz_with_features_and_labels(tmp_path):
    np.savez(tmp_path / "g.npz", edge_index=RING.T, x=np.eye(14, 2), y=np.arange(14) % 2)
    task = task_from_edges("ring", tmp_path / "g.npz")
    data = task.loader()
    assert (task.task_type, data.num_nodes, tuple(data.x.shape)) == ("node_cls", 14, (14, 2))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"num_nodes": 5}, "out of range"),
        ({"labels": np.zeros(12)}, "fewer than two classes"),
        ({"labels": np.zeros(3)}, "one value per node"),
        ({"labels": pd.DataFrame({"node": [99], "label": [1]})}, "out of range"),
        ({"labels": pd.DataFrame({"node": [-1], "label": [1]})}, "out of range"),
        ({"labels": pd.DataFrame({"node": [1]})}, "label"),
        ({"features": np.full((12, 1), np.nan)}, "NaN"),
        ({"features": np.zeros((3, 1))}, "one row per node"),
        ({"features": [["a"]] * 12}, "must be numbers"),
        ({"task_type": "node_cls"}, "no labels"),
        ({"task_type": "edge_cls"}, "label per edge"),
    ],
)
def test_bad_side_tables(options, message):
    with pytest.raises(DataError, match=message):
        task_from_edges("bad", RING, **options)


def test_bad_objects(tmp_path):
    with pytest.raises(DataError, match="does not exist"):
        task_from_edges("bad", tmp_path / "nowhere.csv")
    with pytest.raises(DataError, match="square"):
        task_from_edges("bad", sparse.csr_matrix(np.ones((2, 3))))
    with pytest.raises(DataError, match="shape"):
        task_from_edges("bad", np.zeros((3, 3), dtype=int))
    with pytest.raises(DataError, match="no nodes"):
        task_from_networkx("bad", nx.Graph())
    with pytest.raises(DataError, match="no edges"):
        task_from_networkx("bad", nx.empty_graph(3))
    (tmp_path / "bad.graphml").write_text("<graphml><broken")
    with pytest.raises(DataError, match="cannot be read"):
        task_from_edges("bad", tmp_path / "bad.graphml")


def test_no_pickle_is_ever_opened(tmp_path):
    np.savez(tmp_path / "evil.npz", edge_index=np.array([{"a": 1}], dtype=object))
    with pytest.raises(DataError, match="cannot be read"):
        task_from_edges("evil", tmp_path / "evil.npz")


@pytest.mark.parametrize("name", ["../up", "a/b", "a\\b", "", " ", "..", "a\nb", 3])
def test_names_stay_in_their_folder(name):
    with pytest.raises(UsageError):
        task_from_edges(name, RING)
    with pytest.raises(UsageError):
        register_task(name, task_from_dataset("fine", "node_cls", object()))


def test_register_and_unregister_leave_no_trace():
    before = {category: {k: list(v) for k, v in kinds.items()} for category, kinds in BENCHMARK_TASKS.items()}
    task = task_from_dataset("my_assay", "graph_cls", [], epochs=50)
    assert register_task("my_lab", task) is task
    try:
        assert task.category == "my_lab"
        assert find_task("my_assay") is task
        assert [t.name for t in iter_benchmark_tasks(category="my_lab")] == ["my_assay"]
        assert find_task("my_assay").epochs == 50
        with pytest.raises(UsageError, match="already registered"):
            register_task("my_lab", task)
    finally:
        assert unregister_task("my_lab", "my_assay") is task
    assert before == BENCHMARK_TASKS
    listed = find_task("karate_club")
    try:
        assert register_task("my_lab", listed) is listed
        assert listed.category == "social", "its data stays in the folder of its card"
    finally:
        unregister_task("my_lab", "karate_club")
    assert "my_lab" not in CATEGORIES
    with pytest.raises(UnknownNameError):
        unregister_task("my_lab", "my_assay")
    with pytest.raises(UnknownNameError, match="my_assay"):
        unregister_task("social", "my_assay")


@pytest.mark.parametrize("category", ["my_lab", "social"])
@pytest.mark.parametrize("own", [None, "social"])
def test_what_is_registered_is_what_comes_back(category, own):
    """Whoever keeps the returned task, the given one or the listed one holds one and the same object."""
    task = task_from_dataset("my_assay", "graph_cls", [], category=own)
    returned = register_task(category, task)
    try:
        assert returned is task
        assert BENCHMARK_TASKS[category]["graph_cls"][-1] is task
        assert next(t for t in iter_benchmark_tasks(category=category) if t.name == "my_assay") is task
    finally:
        assert unregister_task(category, "my_assay") is returned


def test_task_from_dataset_checks_its_words():
    with pytest.raises(ValueError, match="unknown task type"):
        task_from_dataset("x", "node_class", Data())
    with pytest.raises(ValueError, match="Did you mean 'node_cls'"):
        task_from_dataset("x", "node_clss", Data())
    with pytest.raises(UnknownNameError, match="replication"):
        task_from_dataset("x", "node_cls", Data(), replicaton="init")
    task = task_from_dataset("x", "node_cls", Data(num_nodes=3), replication="fold")
    assert task.replication == "fold"
    assert not task.seeded
    assert pickle.loads(pickle.dumps(task)).loader().num_nodes == 3


def test_stratified_masks_are_a_partition_by_class():
    codes = np.array([0] * 50 + [1] * 30 + [-1] * 5)
    train, val, test = stratified_masks(codes, splits=4)
    assert ((train.astype(int) + val + test)[:80] == 1).all()
    assert not (train | val | test)[80:].any()
    assert train[:50].sum(axis=0).tolist() == [30] * 4
    few, same, rest = stratified_masks(codes, splits=2, per_class=3)
    assert few.sum(axis=0).tolist() == same.sum(axis=0).tolist() == [6, 6]
    assert rest.sum(axis=0).tolist() == [68, 68]
    np.testing.assert_array_equal(stratified_masks(codes, splits=2)[0], stratified_masks(codes, splits=2)[0])
    assert (stratified_masks(codes, splits=1)[0] != stratified_masks(codes, splits=1, entropy=1)[0]).any()


def test_classes_that_are_words_are_numbered_and_kept():
    words = ["a, b", 'c "d"', "é"] * 10
    data = Data(x=torch.eye(30), edge_index=torch.stack([torch.arange(30), torch.arange(30).roll(1)]), y=words)
    task = task_from_dataset("words", "node_cls", data)
    assert list(task.names.classes) == sorted(set(words))
    assert task.loader().y[:3].tolist() == [0, 1, 2]
    assert data.y is words  # the user's object stays as it is
    graphs = [nx.cycle_graph(4 + i % 3) if i % 2 else nx.star_graph(4) for i in range(12)]
    for i, graph in enumerate(graphs):
        graph.graph["label"] = "ring" if i % 2 else "star"
    task = task_from_networkx("shapes", graphs)
    assert list(task.names.classes) == ["ring", "star"]
    assert [int(graph.y) for graph in task.loader()][:2] == [1, 0]


def test_an_attribute_that_no_node_has_is_named_with_those_there_are():
    with pytest.raises(UnknownNameError, match=r"Unknown node attribute 'klub'\. Did you mean 'club'"):
        task_from_networkx("karate", nx.karate_club_graph(), label="klub")


def test_nodes_of_gml_keep_their_names(tmp_path):
    graph = nx.relabel_nodes(nx.karate_club_graph(), {i: f"p {i}" for i in range(34)})
    nx.write_gml(graph, tmp_path / "g.gml")
    table = pd.DataFrame({"node": list(graph), "club": [graph.nodes[n]["club"] for n in graph]})
    task = task_from_edges("k", tmp_path / "g.gml", labels=table, label_column="club")
    assert list(task.names.nodes)[:2] == ["p 0", "p 1"]


def test_labels_that_are_no_classes_are_not_told_to_get_masks():
    data = Data(x=torch.randn(20, 3), edge_index=torch.randint(20, (2, 40)), y=torch.randn(20))
    with pytest.raises(DataError, match="needs class numbers in y, and these are float32"):
        get_split(task_from_dataset("values", "node_cls", data))
