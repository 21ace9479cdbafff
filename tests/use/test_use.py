"""Models out: a folder that says what it is, and predictions under the names that the files have."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import torch
from torch_geometric.data import HeteroData

from graphnetz import get_split, load_model, run_benchmark, task_from_dataset, task_from_edges
from graphnetz._core.errors import DataError, UsageError
from graphnetz.cli.app import run_app
from graphnetz.datasets.several import homogeneous
from graphnetz.engine.weights import read_weights
from graphnetz.graphs.files import read_graph
from graphnetz.testing.examples import two_cliques
from graphnetz.use import open_model, predict, train_model
from graphnetz.use.predicting import export_program

QUICK = {"model": "GCN", "seeds": 1, "epochs": 20}


@pytest.fixture
def town(tmp_path):
    """Two communities of named people, one of whom nobody knows, with words as classes and named features."""
    rng = np.random.default_rng(0)
    names = [f"p{i:02d}" for i in range(40)]
    side = np.arange(40) % 2
    lines = [
        f"{names[i]},{names[j]}"
        for i in range(39) for j in range(i + 1, 39)
        if rng.random() < (0.3 if side[i] == side[j] else 0.02)
    ]  # fmt: skip
    (tmp_path / "edges.csv").write_text("source,target\n" + "\n".join(lines) + "\n")
    rows = [f"{name},{'north' if side[i] else 'south'}" for i, name in enumerate(names[:39])]
    (tmp_path / "labels.csv").write_text("node,side\n" + "\n".join(rows) + "\n")
    rows = [f"{name},{rng.normal():.3f},{rng.normal() + 2 * side[i]:.3f}" for i, name in enumerate(names)]
    (tmp_path / "features.csv").write_text("node,age,height\n" + "\n".join(rows) + "\n")
    return tmp_path


@pytest.fixture
def kept(town):
    task = task_from_edges(
        "town", str(town / "edges.csv"), labels=str(town / "labels.csv"), features=str(town / "features.csv")
    )
    train_model(task, town / "model", **QUICK)
    return town


def test_names_of_nodes_and_classes_reach_the_end(kept):
    found = predict(kept / "model", str(kept / "edges.csv"), features=str(kept / "features.csv"))
    assert found.columns.tolist() == ["node", "class", "p_north", "p_south"]
    assert found["node"].tolist() == [f"p{i:02d}" for i in range(40)]  # the one without an edge too
    assert set(found["class"]) == {"north", "south"}
    np.testing.assert_allclose(found[["p_north", "p_south"]].sum(axis=1), 1, atol=2e-6)
    truth = pd.read_csv(kept / "labels.csv").set_index("node")["side"]
    assert (found.set_index("node").loc[truth.index, "class"] == truth).mean() > 0.8


def test_predictions_are_those_of_the_module_on_plain_pyg(kept):
    """The witness reads the weights and the files with other tools."""
    from torch_geometric.nn import GCNConv

    weights = read_weights(kept / "model" / "model.safetensors")
    edges = pd.read_csv(kept / "edges.csv")
    names = sorted({*edges["source"], *edges["target"], "p39"})
    place = {name: i for i, name in enumerate(names)}
    pairs = np.array([[place[a], place[b]] for a, b in edges.to_numpy()])
    edge_index = torch.tensor(np.concatenate([pairs, pairs[:, ::-1]]).T.copy())
    x = torch.tensor(pd.read_csv(kept / "features.csv").set_index("node").loc[names].to_numpy(), dtype=torch.float32)
    x = (x - x.mean(0)) / x.std(0, correction=0)
    layers = [GCNConv(2, 64), GCNConv(64, 2)]
    keys = sorted({key.rpartition(".lin.")[0] or key.rpartition(".")[0] for key in weights})
    for layer, key in zip(layers, keys, strict=True):
        layer.load_state_dict({"bias": weights[f"{key}.bias"], "lin.weight": weights[f"{key}.lin.weight"]})
    with torch.no_grad():
        wanted = layers[1](layers[0](x, edge_index).relu(), edge_index).softmax(1).numpy()
    found = predict(kept / "model", str(kept / "edges.csv"), features=str(kept / "features.csv"))
    np.testing.assert_allclose(found[["p_north", "p_south"]].to_numpy(), wanted, atol=2e-5)


def test_new_nodes_are_predicted_and_missing_features_are_named(kept):
    (kept / "new.csv").write_text("source,target\nzoe,yan\nyan,p00\n")
    (kept / "new_features.csv").write_text(
        "node,height,age\nzoe,2.5,0\nyan,2.2,0\np00,0,0\n"
    )  # other order, same names
    found = predict(kept / "model", str(kept / "new.csv"), features=str(kept / "new_features.csv"))
    assert sorted(found["node"]) == ["p00", "yan", "zoe"]
    with pytest.raises(DataError, match="trained on 2 node features"):
        predict(kept / "model", str(kept / "new.csv"))
    (kept / "other.csv").write_text("node,weight,age\nzoe,2.5,0\nyan,2.2,0\np00,0,0\n")
    with pytest.raises(DataError, match="has no column 'height'"):
        predict(kept / "model", str(kept / "new.csv"), features=str(kept / "other.csv"))


def test_the_folder_holds_no_pickle_and_a_card_that_says_how_good_it_is(kept):
    assert {path.name for path in (kept / "model").iterdir()} == {"README.md", "model.json", "model.safetensors"}
    card = (kept / "model" / "README.md").read_text()
    facts = json.loads((kept / "model" / "model.json").read_text())
    assert f"**{facts['candidates'][0]['test']:.3f}**" in card
    assert "`north`, `south`" in card


@pytest.mark.parametrize(
    ("key", "value"),
    [("dims", 3), ("model", "no_such"), ("kwargs", {"depth": 3}), ("hidden_channels", 7), ("level", "x")],
)
def test_an_edited_folder_is_refused_in_one_sentence(kept, key, value):
    path = kept / "model" / "model.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {key: value}))
    with pytest.raises((DataError, UsageError)):
        open_model(kept / "model")


def test_damaged_weights_are_refused(kept):
    (kept / "model" / "model.safetensors").write_bytes(b"\x80\x04nonsense")
    with pytest.raises(DataError, match="damaged"):
        open_model(kept / "model")


def test_likeliest_new_links(town):
    task = task_from_edges("town", str(town / "edges.csv"), features=str(town / "features.csv"), num_nodes=None)
    train_model(task, town / "model", **QUICK)
    found = predict(town / "model", str(town / "edges.csv"), features=str(town / "features.csv"), top=7)
    assert found.columns.tolist() == ["source", "target", "probability"]
    assert len(found) == 7
    assert found["probability"].is_monotonic_decreasing
    known = {frozenset(pair) for pair in pd.read_csv(town / "edges.csv").to_numpy().tolist()}
    assert not known & {frozenset(pair) for pair in found[["source", "target"]].to_numpy().tolist()}
    # brute force: every pair, one by one
    trained, net = open_model(town / "model")
    arrays = read_graph(str(town / "edges.csv"), features=str(town / "features.csv"))
    from graphnetz.use.predicting import _data

    with torch.no_grad():
        z = net.encode(_data(trained, arrays))
        scores = torch.sigmoid(z @ z.T).numpy()
    best = sorted(
        ((scores[i, j], i, j) for i in range(40) for j in range(i + 1, 40)
         if frozenset((arrays.names[i], arrays.names[j])) not in known), reverse=True,
    )[:7]  # fmt: skip
    np.testing.assert_allclose(found["probability"], [score for score, *_ in best], atol=1e-5)


@pytest.fixture
def molecules(tmp_path):
    """Rings and paths in one table; the class is a word, the value the number of nodes."""
    edges, labels = ["graph,source,target"], ["graph,kind,size"]
    for number in range(24):
        size = 4 + number % 5
        pairs = [(i, i + 1) for i in range(size - 1)] + ([(size - 1, 0)] if number % 2 else [])
        edges += [f"g{number},{a},{b}" for a, b in pairs]
        labels.append(f"g{number},{'ring' if number % 2 else 'path'},{size}")
    (tmp_path / "edges.csv").write_text("\n".join(edges) + "\n")
    (tmp_path / "labels.csv").write_text("\n".join(labels) + "\n")
    return tmp_path


@pytest.mark.parametrize(("kind", "column"), [("graph_cls", "kind"), ("graph_reg", "size")])
def test_whole_graphs_from_one_table(molecules, kind, column, capsys):
    base = ["--graph", str(molecules / "edges.csv")]
    options = ["--labels", str(molecules / "labels.csv"), "--label-column", column, "--task-type", kind]
    small = ["--model", "GCN", "--seeds", "1", "--epochs", "5", "--out", str(molecules / "model")]
    assert run_app(["train", *base, *options, *small]) == 0
    assert run_app(["predict", str(molecules / "model"), *base, "--out", str(molecules / "p.csv")]) == 0
    found = pd.read_csv(molecules / "p.csv")
    assert found["graph"].tolist() == [f"g{i}" for i in range(24)]
    assert found.columns.tolist()[1:] == (["class", "p_path", "p_ring"] if kind == "graph_cls" else ["value"])
    (molecules / "one.csv").write_text("source,target\n0,1\n")
    assert run_app(["predict", str(molecules / "model"), "--graph", str(molecules / "one.csv")]) == 2
    assert "a column 'graph'" in capsys.readouterr().err


def test_edges_are_classified_by_name(tmp_path):
    graph = nx.gnp_random_graph(20, 0.3, seed=1)
    for a, b, data in graph.edges(data=True):
        data["label"] = "even" if (a + b) % 2 == 0 else "odd"
    from graphnetz import task_from_networkx

    train_model(task_from_networkx("e", graph, task_type="edge_cls"), tmp_path / "m", **QUICK)
    found = predict(tmp_path / "m", graph)
    assert found.columns.tolist() == ["source", "target", "class", "p_even", "p_odd"]
    assert len(found) == graph.number_of_edges()
    assert found[["source", "target"]].astype(int).to_numpy().tolist() == [list(edge) for edge in graph.edges()]


def test_a_model_that_knows_its_nodes_by_number_serves_one_graph(tmp_path):
    trained = train_model("karate_club", tmp_path, **QUICK)
    assert not trained.inductive
    with pytest.raises(UsageError, match="cannot be used on another graph"):
        predict(tmp_path, nx.path_graph(5))
    assert len(predict(tmp_path, nx.karate_club_graph())) == 34


def test_a_model_of_ones_own_must_be_named_again(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("own_model.py").write_text(
        "import torch\nclass Own(torch.nn.Module):\n    def __init__(self, in_channels, out_channels):\n"
        "        super().__init__()\n        self.lin = torch.nn.Linear(in_channels, out_channels)\n"
        "    def forward(self, x):\n        return self.lin(x)\n"
    )
    train_model("karate_club", "m", model="own_model.py:Own", seeds=1, epochs=2)
    with pytest.raises(UsageError, match="only run if you name it: --model own_model"):
        open_model("m")
    assert open_model("m", model="own_model.py:Own")[0].label == "Own"
    (tmp_path / "m" / "own_model.py").write_text(Path("own_model.py").read_text())
    with pytest.raises(UsageError, match="lies inside"):
        open_model("m", model="m/own_model.py:Own")


def test_the_card_names_a_command_that_works_as_typed(kept, monkeypatch, capsys):
    monkeypatch.chdir(kept)
    options = ["--model", "MLP", "--seeds", "1", "--epochs", "2", "--out", "other"]
    assert (
        run_app(["train", "--graph", "edges.csv", "--labels", "labels.csv", "--features", "features.csv", *options])
        == 0
    )
    said = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("Use it: "))
    (kept / "new.csv").write_text((kept / "edges.csv").read_text())
    (kept / "new_numbers.csv").write_text((kept / "features.csv").read_text())
    assert run_app(said.removeprefix("Use it: graphnetz ").split()) == 0
    assert len((kept / "predictions.csv").read_text().splitlines()) == 41
    card = (kept / "other" / "README.md").read_text()
    assert said.removeprefix("Use it: ").replace(" other ", " . ") in card
    assert "Classes: `north`, `south`." in card
    own = replace(open_model(kept / "other")[0], reference="own.py:Own", inductive=False, rule="identity")
    assert own.command("m") == "graphnetz predict m --graph SAME_GRAPH.csv --model own.py:Own --out predictions.csv"


def test_an_exported_program_gives_the_same(kept):
    path = export_program(kept / "model")
    program = torch.export.load(path).module()
    _, net = open_model(kept / "model")
    from torch_geometric.data import Data

    x, edges = torch.randn(11, 2), torch.randint(11, (2, 30))
    with torch.no_grad():
        torch.testing.assert_close(program(x, edges), net(Data(x=x, edge_index=edges, num_nodes=11)))


def test_a_model_that_cannot_be_exported_is_one_sentence(kept, monkeypatch, capfd):
    monkeypatch.chdir(kept)
    monkeypatch.setattr(sys, "path", list(sys.path))
    Path("branching.py").write_text(
        "import torch\nfrom torch_geometric.nn import GCNConv\nclass Branching(torch.nn.Module):\n"
        "    def __init__(self, in_channels, out_channels):\n"
        "        super().__init__()\n        self.a = GCNConv(in_channels, out_channels)\n"
        "    def forward(self, x, edge_index):\n"
        "        return self.a(x if x.sum() > 0 else -x, edge_index)\n"
    )
    options = ["--model", "branching.py:Branching", "--seeds", "1", "--epochs", "1", "--out", "b", "--export"]
    assert run_app(["train", "--graph", "edges.csv", "--labels", "labels.csv", *options]) == 0
    shown = capfd.readouterr()
    assert "No model.pt2: torch.export cannot follow Branching (GuardOnDataDependent" in shown.err
    assert "def forward" not in shown.out + shown.err


def test_weights_of_any_run_are_loaded_from_its_folder(tmp_path):
    task = task_from_dataset("mine", "node_cls", two_cliques(), epochs=3)
    run_benchmark(
        models=["GCN"], tasks=task, seeds=[1], backend="serial", verbose=False, out=tmp_path / "run", save_weights=True
    )
    assert [path.suffix for path in (tmp_path / "run" / "weights").iterdir()] == [".safetensors"]
    model = load_model(tmp_path / "run", task, "GCN", 1)
    split = get_split(task, 1)
    from graphnetz import BenchmarkReport

    with torch.no_grad():
        right = (model(split.data)[split.test].argmax(1).numpy() == split.targets["test"]).mean()
    assert right == BenchmarkReport.from_json(tmp_path / "run" / "results.json").results[0].metrics["test_acc"]


# -- data in


def hetero(*, masks=False):
    source = torch.Generator().manual_seed(0)
    data = HeteroData()
    data["paper"].x = torch.randn(40, 5, generator=source)
    data["paper"].y = torch.arange(40) % 2
    data["author"].x = torch.randn(10, 3, generator=source)
    data["venue"].num_nodes = 4
    data["author", "writes", "paper"].edge_index = torch.stack([torch.arange(40) % 10, torch.arange(40)])
    data["paper", "in", "venue"].edge_index = torch.stack([torch.arange(40), torch.arange(40) % 4])
    if masks:
        for place, key in enumerate(("train_mask", "val_mask", "test_mask")):
            data["paper"][key] = torch.arange(40) % 3 == place
    return data


@pytest.mark.parametrize("masks", [False, True])
def test_a_graph_with_types_of_nodes_becomes_a_task(masks):
    task = task_from_dataset("h", "node_cls", hetero(masks=masks), epochs=2)
    split = get_split(task, 0)
    assert int(torch.cat([split.train, split.val, split.test]).max()) < 40  # papers alone are classified
    assert split.dims.in_channels == 3 + 5 + 3
    report = run_benchmark(models=["GCN"], tasks=task, seeds=[0], backend="serial", verbose=False)
    assert report.results[0].ok


def test_neighbours_survive_the_change_of_types():
    data = hetero()
    one, plain = homogeneous(data), data.to_homogeneous(add_node_type=True)
    wanted = {tuple(sorted(pair)) for pair in plain.edge_index.T.tolist()}
    assert {tuple(sorted(pair)) for pair in one.edge_index.T.tolist()} == wanted
    assert torch.equal(one.node_type, plain.node_type)


def test_types_that_cannot_become_a_task_are_refused_in_one_sentence():
    with pytest.raises(DataError, match="classifies the nodes of one type"):
        task_from_dataset("h", "link_pred", hetero())
    data = hetero()
    data["author"].y = torch.zeros(10, dtype=torch.long)
    with pytest.raises(DataError, match="Give target= one of them"):
        task_from_dataset("h", "node_cls", data)
    assert task_from_dataset("h", "node_cls", data, target="paper").task_type == "node_cls"
    assert task_from_dataset("h", "node_cls", [hetero()]).loader().num_nodes == 54


def test_parquet_tables_are_read_like_csv(town):
    for name in ("edges", "labels", "features"):
        pd.read_csv(town / f"{name}.csv").to_parquet(town / f"{name}.parquet")
    csv, parquet = (
        read_graph(*(town / f"edges.{end}",), labels=town / f"labels.{end}", features=town / f"features.{end}")
        for end in ("csv", "parquet")
    )
    assert csv.names.tolist() == parquet.names.tolist()
    np.testing.assert_array_equal(csv.edges, parquet.edges)
    np.testing.assert_array_equal(csv.features, parquet.features)
    assert csv.feature_names == parquet.feature_names == ("age", "height")
    assert csv.labels.tolist() == parquet.labels.tolist()


def test_data_without_masks_gets_stratified_splits():
    data = two_cliques()
    for key in ("train_mask", "val_mask", "test_mask"):
        del data[key]
    task = task_from_dataset("t", "node_cls", data)
    first, second = get_split(task, 0), get_split(task, 1)
    assert not torch.equal(first.test, second.test)
    assert "train_mask" not in data


# -- raw numbers


@pytest.fixture
def raw(town):
    """A column of large numbers that says nothing beside the one that tells sides apart, and a column of zeros and ones."""
    rng = np.random.default_rng(1)
    table = pd.read_csv(town / "features.csv")
    table["salary"] = rng.normal(50_000, 9_000, len(table)).round(2)
    table["member"] = np.arange(len(table)) // 2 % 2
    table.to_csv(town / "raw.csv", index=False)
    return town


def test_a_column_of_large_numbers_does_not_hide_the_others(raw):
    options = {"labels": str(raw / "labels.csv"), "features": str(raw / "raw.csv")}
    trained = train_model(task_from_edges("town", str(raw / "edges.csv"), **options), raw / "m", **QUICK)
    x = pd.read_csv(raw / "raw.csv").set_index("node").sort_index()
    np.testing.assert_allclose(trained.centre[:3], x.mean()[:3], rtol=1e-5)
    np.testing.assert_allclose(trained.spread[:3], x.std(ddof=0)[:3], rtol=1e-5)
    assert (trained.centre[3], trained.spread[3]) == (0.0, 1.0)  # zeros and ones stay
    found = predict(raw / "m", str(raw / "edges.csv"), features=str(raw / "raw.csv")).set_index("node")
    truth = pd.read_csv(raw / "labels.csv").set_index("node")["side"]
    assert (found.loc[truth.index, "class"] == truth).mean() > 0.8
    assert "standardised" in (raw / "m" / "README.md").read_text()
    # Whatever unit a column has is no matter.
    (raw / "cents.csv").write_text((x.assign(salary=x["salary"] * 100)).to_csv())
    task = task_from_edges("town", str(raw / "edges.csv"), **(options | {"features": str(raw / "cents.csv")}))
    train_model(task, raw / "c", **QUICK)
    again = predict(raw / "c", str(raw / "edges.csv"), features=str(raw / "cents.csv")).set_index("node")
    np.testing.assert_allclose(again["p_north"], found["p_north"], atol=1e-3)


def test_facts_with_other_columns_than_the_weights_are_refused(raw):
    task = task_from_edges("town", str(raw / "edges.csv"), features=str(raw / "raw.csv"), task_type="link_pred")
    train_model(task, raw / "m", **QUICK)
    facts = json.loads((raw / "m" / "model.json").read_text())
    (raw / "m" / "model.json").write_text(json.dumps(facts | {"centre": facts["centre"][:2]}))
    with pytest.raises(DataError, match="other columns of features"):
        predict(raw / "m", str(raw / "edges.csv"), features=str(raw / "raw.csv"))


def test_a_run_of_ones_own_graph_standardises_too_and_goes_on(raw, monkeypatch, capsys):
    monkeypatch.chdir(raw)
    options = ["--labels", "labels.csv", "--features", "raw.csv", "--model", "GCN", "--epochs", "20", "--quiet"]
    assert run_app(["run", "--graph", "edges.csv", *options, "--seeds", "2", "--out", "r"]) == 0
    assert pd.read_csv("r/summary.csv")["mean"].iloc[0] > 0.7
    assert run_app(["resume", "r"]) == 0
