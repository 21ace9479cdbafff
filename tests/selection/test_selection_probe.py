"""Racing candidates on one's own graph within a time budget, keeping the best, and the script of a choice."""

import subprocess
import sys
import time

import networkx as nx
import numpy as np
import pytest

from graphnetz._core.errors import DataError, UsageError
from graphnetz.cli.app import run_app
from graphnetz.graphs import as_graph
from graphnetz.models import MODELS
from graphnetz.records import Task
from graphnetz.selection import PerformanceBank, recommend
from graphnetz.selection.collect import PROTOCOL, measured_task
from graphnetz.selection.example import Source, example_graph, named_graph, read_labelled
from graphnetz.selection.probe import Contender, Race, measure, parse_seconds, probe, race
from graphnetz.use import predict


@pytest.fixture(scope="module")
def shortlist():
    return recommend(example_graph(), "node_cls", top=100)


def test_a_race_keeps_its_budget_and_measures_the_best_on_every_split(shortlist):
    probe(shortlist, 30, splits=1, epochs=2)  # imports and compilation are paid
    begin = time.perf_counter()
    found = probe(shortlist, 8)
    took = time.perf_counter() - begin
    assert took < 9.5
    assert found.seconds <= took
    best = found.measured[0]
    assert best.splits == 3
    assert best.half >= 0
    means = [np.mean(row.validation) for row in found.measured if row.splits == 3]
    assert means == sorted(means, reverse=True)
    assert "tried" in found.sentences()[0]


def test_the_first_of_the_prior_is_measured_and_named(shortlist):
    found = probe(shortlist, 8)
    first = found.first
    assert first.name == shortlist.choices[0].name
    assert first.splits == 3  # trained in full whatever others did
    if found.measured[0] is not first:
        assert np.mean(found.measured[0].validation) >= np.mean(first.validation)
        assert any(f"{first.mean:.3f}" in text for text in found.sentences())


def test_a_budget_that_suffices_for_nothing_leaves_the_order_and_says_so(shortlist):
    found = probe(shortlist, 0.001)
    assert not found.measured
    assert [row.name for row in found.contenders] == [choice.name for choice in shortlist.choices]
    assert "The time sufficed for none in full" in found.sentences()[-1]


def test_a_winner_that_was_not_compared_with_the_first_is_said():
    rows = (Contender("GAT", 2, (0.9,), (0.8,)), Contender("GCN", 1))
    assert "GAT was not compared with it" in Race("auc", True, rows, 1.0, 1.0, 1).sentences()[-1]
    broken = (rows[0], Contender("GCN", 1, error="too wide"))
    assert "could not be trained: too wide" in Race("auc", True, broken, 1.0, 1.0, 1).sentences()[-1]


def test_race_and_measure_agree_where_time_suffices():
    """The same cells: a race without haste is a measurement."""
    task = measured_task(example_graph(), "node_cls", epochs=10)
    models = {name: MODELS[name] for name in ("LabelPropagation", "MLP")}
    quick = race(task, models, budget=60, seeds=(0, 1), protocol=PROTOCOL)
    calm = measure(task, models, seeds=(0, 1), protocol=PROTOCOL, workers=1)
    assert {row.name: row.test for row in quick.measured} == {row.name: row.test for row in calm.measured}
    assert [row.half for row in quick.measured] == [row.half for row in calm.measured]


def test_a_metric_of_which_less_is_better_wins_by_less():
    import torch
    from torch_geometric.data import Data

    rng = np.random.default_rng(0)
    graphs = [
        Data(x=torch.ones(4, 1) * float(v), edge_index=torch.tensor([[0, 1, 2], [1, 2, 3]]), y=torch.tensor([float(v)]))
        for v in rng.normal(size=60)
    ]
    task = Task("values", "graph_reg", lambda root: graphs, epochs=30)
    found = race(task, {name: MODELS[name] for name in ("Majority", "GIN")}, budget=60, seeds=(0,))
    assert not found.greater_is_better
    values = [np.mean(row.validation) for row in found.measured]
    assert values == sorted(values)


@pytest.mark.parametrize(("text", "seconds"), [("60s", 60.0), ("2m", 120.0), ("1h", 3600.0), ("5", 5.0), (1.5, 1.5)])
def test_times_are_read(text, seconds):
    assert parse_seconds(text) == seconds


@pytest.mark.parametrize("text", ["", "s", "0s", "-1", "soon", "nan", "inf"])
def test_what_is_no_time_is_refused(text):
    with pytest.raises(UsageError, match="is no time"):
        parse_seconds(text)


@pytest.fixture
def books(tmp_path):
    """A labelled graph whose table has quoted commas, two columns that could be the label, and a lonely node."""
    graph = nx.planted_partition_graph(2, 30, 0.3, 0.03, seed=1)
    edges, nodes = tmp_path / "edges.csv", tmp_path / "nodes.csv"
    edges.write_text("source,target\n" + "".join(f"b{a},b{b}\n" for a, b in graph.edges()))
    rows = [f'b{n},"Title, volume {n}",{"left" if n < 30 else "right"}\n' for n in range(60)]
    nodes.write_text("id,title,ideology\n" + "".join([*rows, 'b60,"Alone, at last",left\n']))
    return edges, nodes


def test_the_label_is_named_and_quoted_commas_are_text(books, capsys):
    """The second column was taken without a word: 105 classes for 105 nodes."""
    edges, nodes = books
    arguments = ["select", str(edges), "--labels", str(nodes), "--task", "node_cls"]
    assert run_app(arguments) == 2
    assert "which one is the label?" in capsys.readouterr().err
    assert run_app([*arguments, "--label-column", "ideology"]) == 0
    shown = capsys.readouterr().out
    assert "61 nodes" in shown
    assert "2 classes" in shown
    assert max(map(len, shown.splitlines())) <= 80


def test_run_and_select_read_the_same_graph(books, tmp_path):
    """Nodes without an edge and GraphML: the same nodes, edges and classes behind both doors."""
    from graphnetz.datasets import task_from_edges

    edges, nodes = books
    task = task_from_edges("t", str(edges), labels=str(nodes), label_column="ideology").loader(None)
    data = task[0] if not hasattr(task, "edge_index") else task
    graph = read_labelled(edges, nodes, label_column="ideology")
    assert graph.num_nodes == data.num_nodes == 61
    assert graph.labels.tolist() == data.y.tolist()
    assert 2 * graph.num_edges == data.edge_index.shape[1]
    made = nx.Graph(nx.planted_partition_graph(2, 10, 0.5, 0.1, seed=2).edges())
    made.add_node(99)
    for node in made:
        made.nodes[node]["label"] = "a" if node < 10 else "b"
    file = tmp_path / "g.graphml"
    nx.write_graphml(made, file)
    named = as_graph(file)
    task = task_from_edges("t", str(file)).loader(None)
    data = task[0] if not hasattr(task, "edge_index") else task
    assert named.num_nodes == data.num_nodes == 21
    assert named.labels.tolist() == data.y.tolist()
    assert 2 * named.num_edges == data.edge_index.shape[1]


def test_features_come_from_a_table(books, tmp_path, capsys):
    edges, nodes = books
    table = tmp_path / "x.csv"
    table.write_text("node,age,size\n" + "".join(f"b{n},{n},{n % 3}\n" for n in range(61)))
    graph = read_labelled(edges, nodes, label_column="ideology", features=table)
    assert graph.features.shape == (61, 2)
    assert run_app(["select", str(edges), "--features", str(table)]) == 0
    assert "2 features" in capsys.readouterr().out


def test_datasets_are_given_by_name(capsys):
    assert named_graph("karate_club").num_nodes == 34
    assert run_app(["select", "karate_club", "--json"]) == 0
    capsys.readouterr()
    assert run_app(["select", "karate_clup"]) == 2
    assert "Did you mean 'karate_club'" in capsys.readouterr().err
    with pytest.raises(UsageError, match="a dataset has its own"):
        Source("karate_club", labels="y.csv").read()
    with pytest.raises(DataError, match="does not exist"):
        Source("missing.csv").read()


def test_the_script_of_a_choice_runs(books, tmp_path, capsys):
    edges, nodes = books
    arguments = ["select", str(edges), "--labels", str(nodes), "--label-column", "ideology", "--task", "node_cls"]
    assert run_app([*arguments, "--code"]) == 0
    script = tmp_path / "script.py"
    script.write_text(capsys.readouterr().out)
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=300, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "mean" in done.stdout


def test_the_best_network_is_kept_ready_for_prediction(books, tmp_path, capsys):
    """A model that learned a vector per node knows the nodes of an edge list by name, the lonely one too."""
    edges, nodes = books
    bank = PerformanceBank.load()
    arguments = ["select", str(edges), "--labels", str(nodes), "--label-column", "ideology", "--task", "node_cls"]
    out = tmp_path / "out"
    names = [
        choice.name
        for choice in recommend(
            as_graph(edges, labels=str(nodes), label_column="ideology"), "node_cls", top=100, bank=bank
        ).choices
    ]
    first = next(place for place, name in enumerate(names, 1) if name.startswith(("GCN", "GraphSAGE", "GAT", "SGC")))
    options = ["--verify", str(first), "--seeds", "2", "--epochs", "5", "--workers", "1", "--out", str(out)]
    assert run_app([*arguments, *options]) == 0
    said = capsys.readouterr()
    assert "measured on 2 splits" in said.out
    assert f"graphnetz predict {out / 'model'} --graph {edges}" in said.err
    found = predict(out / "model", str(edges))
    assert set(found["class"]) <= {"left", "right"}
    assert len(found) == 60  # the edges do not name the lonely one
    other = tmp_path / "other.csv"
    other.write_text("source,target\nb1,stranger\n")
    with pytest.raises(UsageError, match="no vector for the node 'stranger'"):
        predict(out / "model", str(other))


def test_predictions_see_features_as_training_did(books, tmp_path):
    """The bank multiplies features by one number; a kept model must be given the same."""
    import torch
    from torch_geometric.data import Data

    from graphnetz.selection.building import engine_model
    from graphnetz.selection.collect import feature_factor
    from graphnetz.selection.space import Configuration
    from graphnetz.use import open_model
    from graphnetz.use.training import keep_best

    edges, nodes = books
    table = tmp_path / "x.csv"
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(61, 3)) * 0.01 + np.arange(61)[:, None] / 1000
    table.write_text("node,a,b,c\n" + "".join(f"b{n},{','.join(map(str, row))}\n" for n, row in enumerate(rows)))
    graph = read_labelled(edges, nodes, label_column="ideology", features=table)
    task = measured_task(graph, "node_cls", epochs=20)
    spec = {"GCN": engine_model(Configuration("GCN", (("num_layers", 1),)))}
    found = measure(task, spec, seeds=(0,), protocol=PROTOCOL, workers=1)
    factor = feature_factor(torch.tensor(graph.features))
    keep_best(task, found, spec, tmp_path / "m", factor=factor)
    _, net = open_model(tmp_path / "m")
    data = task.loader(None)
    assert factor > 10
    with torch.no_grad():
        wanted = net(Data(x=data.x, edge_index=data.edge_index, num_nodes=61)).softmax(dim=1).numpy()
    got = predict(tmp_path / "m", str(edges), features=str(table))
    np.testing.assert_allclose(got[["p_left", "p_right"]].to_numpy(), wanted, atol=2e-6)


def test_training_chooses_by_the_same_race(tmp_path, capsys):
    arguments = ["train", "--task", "karate_club", "--out", str(tmp_path), "--probe", "15s", "--seeds", "1"]
    assert run_app([*arguments, "--epochs", "5"]) == 0
    assert "Kept:" in capsys.readouterr().out
    assert run_app([*arguments[:-4], "--probe", "soon"]) == 2
