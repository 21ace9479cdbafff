"""Collecting through the engine, verifying a shortlist, and the command line."""

import json
import os
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import networkx as nx
import numpy as np
import pytest

from graphnetz._core.errors import DataError, UsageError
from graphnetz.cli.app import run_app, with_aliases
from graphnetz.datasets import CARDS, SUITES, real_graphs
from graphnetz.records import Cell, CellResult, Protocol
from graphnetz.selection import PerformanceBank, PerformanceRecord, as_graph, recommend
from graphnetz.selection.collect import Effort, OnProcessor, collect, measured_task
from graphnetz.selection.example import example_graph, read_labelled
from graphnetz.selection.plan import (
    FileSpec,
    GraphSpec,
    Measurement,
    carried_graphs,
    chosen_plan,
    collection_plan,
    own_graphs,
)
from graphnetz.selection.space import Configuration
from graphnetz.selection.splits import edge_split, node_split, stored_split

SMALL = GraphSpec("block_model", (("nodes", 80), ("classes", 2), ("degree", 6.0), ("inside", 0.9), ("signal", 1.0)), 3)
GCN = Configuration("GCN", (("num_layers", 1),))
SPACE = (GCN, Configuration("AdamicAdar"), Configuration("LabelPropagation", (("alpha", 0.9), ("num_layers", 2))))


def plan():
    return [Measurement(SMALL, item, task) for task in ("link_pred", "node_cls") for item in SPACE if item.serves(task)]


def test_real_graphs_come_from_the_one_list_of_the_catalogue():
    specs = {spec.name: spec for spec in carried_graphs()}
    assert list(specs) == real_graphs()
    one = {task.name for task in SUITES["default"]() if task.card.graphs == 1}
    assert one <= set(specs)
    assert len(one) == 8
    built = specs["les_miserables"].build()
    assert (built.name, built.num_nodes, built.num_edges) == ("les_miserables", 77, 254)
    (first, *_) = collection_plan("link_pred", graphs=[specs["les_miserables"]])
    assert (first.graph.family, first.graph.labelled) == ("social", False)
    assert not [name for name in specs if CARDS[name].simulated]


def test_splits_are_disjoint_kept_and_of_the_published_shares(tmp_path):
    graph = SMALL.build()
    nodes = node_split(graph)
    assert sorted(np.concatenate(list(nodes.values())).tolist()) == list(range(80))
    assert [len(nodes[part]) for part in ("train", "val", "test")] == [51, 13, 16]
    pairs = edge_split(graph)
    positive = [tuple(p) for part in ("train", "val", "test") for p in pairs[part].tolist()]
    assert sorted(positive) == sorted(map(tuple, graph.edges.tolist()))
    assert len(pairs["train"]) == round(0.64 * graph.num_edges)
    negative = [tuple(p) for part in ("val", "test") for p in pairs[f"{part}_negative"].tolist()]
    assert len(set(negative)) == len(negative) == len(pairs["val"]) + len(pairs["test"])
    assert not set(negative) & set(positive)
    kept = stored_split(graph, "link_pred", tmp_path)
    (file,) = tmp_path.iterdir()
    stamp = file.stat().st_mtime_ns
    again = stored_split(graph, "link_pred", tmp_path)
    assert file.stat().st_mtime_ns == stamp
    for key, value in kept.items():
        np.testing.assert_array_equal(value, again[key])


def test_no_kept_split_stands_for_an_edited_graph(tmp_path):
    """It was kept by the graph's name: an edited file of that name was measured on the old edges."""
    first = as_graph([(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 0)], name="mine")
    second = as_graph([(0, 2), (2, 4), (4, 1), (1, 3), (3, 5), (5, 0)], name="mine")
    for graph in (first, second):
        kept = stored_split(graph, "link_pred", tmp_path)
        held = [tuple(pair) for part in ("train", "val", "test") for pair in kept[part].tolist()]
        assert sorted(held) == sorted(map(tuple, graph.edges.tolist()))


def test_training_data_hold_no_answers():
    """Edges of validation and test are not among those that a model sees."""
    graph = SMALL.build()
    data = measured_task(graph, "link_pred").loader(None)
    seen = {tuple(sorted(e)) for e in data.edge_index.T.tolist()}
    for part in ("val", "test"):
        assert not seen & {tuple(sorted(e)) for e in data[f"{part}_pos_edge_index"].T.tolist()}
    assert len(seen) == data.train_pos_edge_index.shape[1]
    bare = as_graph(nx.path_graph(9))
    assert measured_task(bare, "link_pred").loader(None).x.tolist() == [[i] for i in range(9)]
    with pytest.raises(UsageError, match="needs labels"):
        measured_task(bare, "node_cls")


def test_collection_is_kept_and_resumed(tmp_path):
    effort = Effort(backend="serial", epochs=10)
    half = plan()[:2]
    collect(half, tmp_path, effort=effort)
    bank = PerformanceBank.load(tmp_path / "bank.npz")
    assert {r.configuration for r in bank.records} == {GCN, Configuration("AdamicAdar")}
    before = {r.key: r.value for r in bank.records}
    (tmp_path / "bank.npz").unlink()  # stopped before the bank was written: results are in the store
    full = collect(plan(), tmp_path, effort=effort)
    assert len(full) == 4
    assert full.task_types == ("link_pred", "node_cls")
    for key, value in before.items():
        assert {r.key: r.value for r in full.records}[key] == value
    record = next(r for r in full.records if r.task_type == "link_pred" and r.configuration == GCN)
    assert record.metric == "auc"
    assert 0 < record.value <= 1
    assert record.seconds > 0
    assert set(record.metrics) >= {"auc", "ap"}
    assert full.graphs[SMALL.name].domain == "block_model"


def test_cost_is_processor_time_without_the_first_use():
    """Waiting costs nothing, and what a process pays once is not charged to the first graph."""
    calls = []

    def run_one(cell):
        calls.append(cell.protocol.epochs)
        time.sleep(0.2)
        busy(0.4 if len(calls) == 1 else 0.05)
        return CellResult(cell.key, cell.task, cell.model, cell.seed, metric="test_auc", metrics={"test_auc": 1.0})

    cell = Cell("k", "graph", f"model-{id(calls)}", 0, Protocol(epochs=7))
    first, second = (OnProcessor(run_one)(cell) for _ in range(2))
    assert calls == [1, 7, 7]
    assert 0.05 <= first.seconds < 0.2
    assert 0.05 <= second.seconds < 0.2


def busy(seconds):
    begin = time.process_time()
    while time.process_time() - begin < seconds:
        pass


def test_plans_of_the_command(tmp_path):
    file = tmp_path / "mine.csv"
    file.write_text("0,1\n1,2\n2,0\n2,3\n")
    own = chosen_plan(PerformanceBank(), files=own_graphs([file]))
    assert {m.graph for m in own} == {FileSpec(file)}
    assert {m.task_type for m in own} == {"link_pred"}
    two = chosen_plan(PerformanceBank(), graphs=2, task_types=("link_pred",))
    assert len({m.graph for m in two}) == 2
    bank = PerformanceBank()
    for number, m in enumerate(two):
        if m.graph.name not in bank.graphs:
            bank.add_graph(m.graph.name, nx.path_graph(5))
        if number % 7:
            bank.add(PerformanceRecord(m.graph.name, m.configuration, "link_pred", 0.5 + 0.001 * number))
    few = chosen_plan(bank, graphs=2, task_types=("link_pred",), propose=3)
    assert len(few) == 3
    assert not {(m.graph.name, m.configuration) for m in few} & {(r.graph, r.configuration) for r in bank.records}
    with pytest.raises(UsageError, match="task type"):
        chosen_plan(bank, task_types=("edge_cls",))


@pytest.fixture(scope="module")
def own_bank(tmp_path_factory):
    """Twelve graphs on which the GCN beats label-free heuristics, or the other way round."""
    bank = PerformanceBank()
    for i in range(12):
        graph = nx.gnp_random_graph(60 + 5 * i, 0.2 if i % 2 else 0.05, seed=i)
        bank.add_graph(f"g{i}", graph)
        for item, value in ((GCN, 0.9 if i % 2 else 0.6), (Configuration("AdamicAdar"), 0.75)):
            bank.add(PerformanceRecord(f"g{i}", item, "link_pred", value + 0.001 * i, "auc", {}, 0.01, 1e6))
    path = tmp_path_factory.mktemp("bank") / "own.npz"
    bank.save(path)
    return path


def test_verifying_trains_and_adds_to_the_bank(own_bank, tmp_path):
    from graphnetz.selection.verify import remember, verify

    graph = SMALL.build()
    result = recommend(graph, "link_pred", top=2, bank=PerformanceBank.load(own_bank))
    kept = tmp_path / "mine.npz"
    race = verify(result, 2, seeds=(0, 1), epochs=5, workers=1)
    assert {row.name for row in race.measured} == {choice.name for choice in result.choices}
    assert all(0 < row.mean <= 1 and row.splits == 2 and row.half >= 0 for row in race.measured)
    remember(race, result, kept)
    bank = PerformanceBank.load(kept)
    assert len(bank) == 4
    assert {r.seed for r in bank.records} == {0, 1}
    namesake = replace(GraphSpec("block_model", SMALL.params, 9).build(), name=graph.name)
    again = recommend(namesake, "link_pred", top=2, bank=PerformanceBank.load(own_bank))
    remember(verify(again, 1, seeds=(0,), epochs=2, workers=1), again, kept)
    assert len(PerformanceBank.load(kept).graphs) == 2  # two graphs called alike do not overwrite each other
    with pytest.raises(UsageError, match="cannot be verified"):
        verify(result, 9)


def test_example_and_labelled_files(tmp_path):
    graph = example_graph()
    assert graph.num_nodes == 400
    assert graph.labels is not None
    assert len(set(graph.labels.tolist())) == 5
    edges, labels = tmp_path / "e.csv", tmp_path / "l.csv"
    edges.write_text("source,target\nb,a\nb,c\n")
    labels.write_text("node,label\na,x\nb,y\nc,x\nd,z\n")
    assert read_labelled(edges, labels).labels.tolist() == [0, 1, 0, 2]  # d has no edge
    labels.write_text("node,label\na,x\nb,y\n")
    with pytest.raises(DataError, match="no label for 1 nodes"):
        read_labelled(edges, labels)
    labels.write_text("node,label\na\n")
    with pytest.raises(DataError, match="line 2"):
        read_labelled(edges, labels)


def test_aliases():
    assert with_aliases(["select"]) == ["select", "recommend"]
    assert with_aliases(["select", "g.csv", "--task", "link_pred"])[:3] == ["select", "recommend", "g.csv"]
    assert with_aliases(["select", "--verify", "3"])[1] == "recommend"
    assert with_aliases(["select", "features"]) == ["select", "features"]
    assert with_aliases(["select", "--help"]) == ["select", "--help"]
    assert with_aliases(["rings"]) == ["rings"]
    assert with_aliases(["rings", "--help"]) == ["rings", "--help"]
    assert with_aliases(["rings", "mutag"]) == ["rings", "evaluate", "mutag"]
    assert with_aliases([]) == []


def test_command_recommends_as_json_and_text(own_bank, tmp_path, capsys):
    file = tmp_path / "mine.csv"
    nx.write_edgelist(nx.gnp_random_graph(80, 0.2, seed=5), file, data=False)
    assert run_app(["select", str(file), "--bank", str(own_bank), "--top", "2", "--json"]) == 0
    got = json.loads(capsys.readouterr().out)
    assert got["graph"]["nodes"] == 80
    assert [c["rank"] for c in got["choices"]] == [1, 2]
    assert got["choices"][0]["low"] <= got["choices"][0]["score"] <= got["choices"][0]["high"]
    assert run_app(["select", str(file), "--bank", str(own_bank), "--top", "2"]) == 0
    text = capsys.readouterr().out
    assert f"1. {got['choices'][0]['name'].split('-')[0]}" in text
    assert "Try these two; the first is expected within" in text
    assert "Known graphs it resembles most" in text
    assert run_app(["select", str(file), "--bank", str(own_bank), "--code"]) == 0
    assert "import" in capsys.readouterr().out
    assert run_app(["select", "features", str(file), "--set", "compact", "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)) == 58


def test_command_refuses_bad_input(tmp_path, capsys):
    assert run_app(["select", str(tmp_path / "absent.csv")]) == 2
    assert "does not exist" in capsys.readouterr().err
    bad = tmp_path / "bad.csv"
    bad.write_text("source,weight\n1,2\n")
    assert run_app(["select", str(bad)]) == 2
    assert "no column 'target'" in capsys.readouterr().err
    bad.write_text("1,-2\n")
    assert run_app(["select", str(bad)]) == 2
    assert "negative node id" in capsys.readouterr().err
    bad.write_text("")
    assert run_app(["select", str(bad)]) == 2
    assert "empty" in capsys.readouterr().err
    good = tmp_path / "good.csv"
    good.write_text("0,1\n1,2\n")
    assert run_app(["select", str(good), "--task", "nonsense"]) == 2
    assert "nonsense" in capsys.readouterr().err


def test_command_lists_what_it_would_collect(tmp_path, capsys):
    arguments = ["select", "collect", "--out", str(tmp_path), "--graphs", "1", "--dry-run", "--json"]
    assert run_app(arguments) == 0
    rows = json.loads(capsys.readouterr().out)
    assert len({row["configuration"] for row in rows}) >= 30
    assert not any(tmp_path.iterdir())
    assert run_app([*arguments, "--extend"]) == 0
    assert len(json.loads(capsys.readouterr().out)) < len(rows)  # the shipped bank holds the first graph


def test_own_graphs_with_classes_are_measured_for_both_tasks(tmp_path, capsys):
    rng = np.random.default_rng(0)
    edges, classes = tmp_path / "mine.csv", tmp_path / "classes.csv"
    pairs = {tuple(sorted(pair)) for pair in rng.integers(0, 40, (160, 2)).tolist() if pair[0] != pair[1]}
    edges.write_text("source,target\n" + "".join(f"{a},{b}\n" for a, b in sorted(pairs)))
    classes.write_text("node,label\n" + "".join(f"{node},{'xy'[node % 2]}\n" for node in range(40)))
    arguments = ["select", "collect", "--out", str(tmp_path / "out"), "--graph", str(edges), "--dry-run", "--json"]
    assert run_app(arguments) == 0
    assert {row["task"] for row in json.loads(capsys.readouterr().out)} == {"link_pred"}
    assert run_app([*arguments, "--labels", str(classes)]) == 0
    assert {row["task"] for row in json.loads(capsys.readouterr().out)} == {"link_pred", "node_cls"}
    (spec,) = own_graphs([edges], [classes])
    assert set(spec.build().labels.tolist()) == {0, 1}
    with pytest.raises(UsageError, match="1 --graph and 2 --labels"):
        own_graphs([edges], [classes, classes])
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "mine.csv").write_text(edges.read_text())
    with pytest.raises(UsageError, match="Two files hold the same graph, 'mine-"):
        own_graphs([edges, tmp_path / "other" / "mine.csv"])
    (tmp_path / "other" / "mine.csv").write_text("0,1\n1,2\n")
    first, second = own_graphs([edges, tmp_path / "other" / "mine.csv"])
    assert first.name != second.name


def test_the_same_edges_are_split_alike_whatever_their_file_is_called():
    """The file name seeded the split: .806 or .859 for the same graph."""
    pairs = nx.gnm_random_graph(60, 200, seed=1)
    one, two = as_graph(pairs, name="edges"), as_graph(pairs, name="other")
    for task_type in ("link_pred", "node_cls"):
        a, b = (stored_split(graph, task_type, None, 3) for graph in (one, two))
        for part in a:
            np.testing.assert_array_equal(a[part], b[part])
    assert not np.array_equal(edge_split(one, 0)["test"], edge_split(one, 1)["test"])


def test_seeds_of_a_measured_task_are_splits():
    task = measured_task(SMALL.build(), "node_cls")
    first, again, second = (task.loader(None, seed=seed).test_mask for seed in (0, 0, 1))
    assert bool((first == again).all())
    assert not bool((first == second).all())


def test_recommending_never_imports_torch(own_bank):
    """The answer must come at once: torch alone takes seconds to import."""
    script = (
        "import sys; from graphnetz.cli.app import run_app; "
        f"code = run_app(['select', '--bank', {str(own_bank)!r}]); "
        "heavy = {'torch', 'torch_geometric', 'matplotlib'} & set(sys.modules); "
        "assert code == 0 and not heavy, (code, heavy)"
    )
    env = os.environ | {"PYTHONPATH": str(Path(__file__).resolve().parents[2] / "src")}
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=env, timeout=120)
    assert done.returncode == 0, done.stderr
