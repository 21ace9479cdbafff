"""Graph classification in bank and selection: collections, their meta-features and landmarks, and the whole way."""

import json
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
import torch
from torch_geometric.data import Data

from graphnetz._core.errors import DataError, UsageError
from graphnetz.cli.app import run_app
from graphnetz.graphs.colours import colour_counts, refine, start_colours, unit_rows
from graphnetz.selection import PerformanceBank, as_graph, feature_names, meta_features, recommend
from graphnetz.selection.building import engine_model
from graphnetz.selection.collect import Effort, collect, measured_task
from graphnetz.selection.collection import Collection, as_collection, read_collection
from graphnetz.selection.collection_features import COLLECTION_NAMES, PER_GRAPH, between, per_graph, rings_facts
from graphnetz.selection.collection_landmarks import (
    COLLECTION_LANDMARKS,
    _reached,
    _Rows,
    collection_landmarks,
    part_of,
)
from graphnetz.selection.plan import CollectionSpec, Measurement, bank_space, chosen_plan
from graphnetz.selection.real import fit_real, known_graphs
from graphnetz.selection.splits import graph_split
from graphnetz.selection.verify import remember, verify
from graphnetz.testing.examples import rings_and_stars


def shapes(count=60, seed=0):
    return as_collection(rings_and_stars(count, seed), name="shapes")


def random_graphs(count=40, seed=0, *, features="noise"):
    """Dense and sparse random graphs; the class is which, or is told by features alone."""
    rng = np.random.default_rng(seed)
    out = []
    for i in range(count):
        label = i % 2
        graph = nx.gnp_random_graph(12, 0.3 if features == "class" else 0.2 + 0.25 * label, seed=int(rng.integers(1e9)))
        edges = torch.tensor([*graph.edges(), *((b, a) for a, b in graph.edges())]).T.reshape(2, -1)
        x = torch.tensor(rng.standard_normal((12, 3)) + (label if features == "class" else 0), dtype=torch.float)
        out.append(Data(x=x, edge_index=edges, y=torch.tensor([label])))
    return as_collection(out, name="random")


def marks(held):
    return dict(zip(COLLECTION_LANDMARKS, collection_landmarks(held), strict=True))


def test_refinement_tells_apart_what_networkx_tells_apart():
    """Two graphs have the same counts exactly when networkx gives them the same hash."""
    graphs = [nx.gnp_random_graph(7, 0.4, seed=seed) for seed in range(25)] + [nx.cycle_graph(6), nx.path_graph(6)]
    graphs += [nx.disjoint_union(nx.cycle_graph(3), nx.cycle_graph(3))]
    owner = np.repeat(np.arange(len(graphs)), [len(g) for g in graphs])
    starts = np.concatenate([[0], np.cumsum([len(g) for g in graphs])])
    arcs = np.array([(s + a, s + b) for g, s in zip(graphs, starts, strict=False) for a, b in nx.DiGraph(g).edges()]).T
    counts = colour_counts(np.zeros(len(owner), dtype=np.int64), arcs, owner, len(graphs), 3).toarray()
    hashes = [nx.weisfeiler_lehman_graph_hash(g, iterations=3) for g in graphs]
    for i in range(len(graphs)):
        for j in range(i):
            same = len(graphs[i]) == len(graphs[j]) and np.array_equal(counts[i], counts[j])
            assert same == (hashes[i] == hashes[j] and len(graphs[i]) == len(graphs[j])), (i, j)


def test_refinement_follows_directions_and_rows_that_never_repeat_are_no_colours():
    line = np.array([[0, 1], [1, 2]])
    assert len(set(refine(np.zeros(3, dtype=np.int64), line).tolist())) == 3
    ring = np.array([[0, 1, 2], [1, 2, 0]])
    assert len(set(refine(np.zeros(3, dtype=np.int64), ring).tolist())) == 1
    assert start_colours(np.random.default_rng(0).random((900, 2)), 900)[1] is False
    rows = unit_rows(colour_counts(np.array([0, 0, 1]), line, np.zeros(3, dtype=np.int64), 1, 0))
    assert np.linalg.norm(rows.toarray()) == pytest.approx(1)


def test_per_graph_values_are_those_of_networkx():
    held = random_graphs(36)
    found = per_graph(held)
    for row, data in zip(found, held.graphs, strict=True):
        graph = nx.Graph()
        graph.add_nodes_from(range(data.num_nodes))
        graph.add_edges_from(data.edge_index.T.tolist())
        degree = np.array([d for _, d in graph.degree()])
        wanted = {
            "nodes": len(graph), "edges": graph.number_of_edges(), "density": nx.density(graph),
            "degree_mean": degree.mean(), "degree_max": degree.max(), "degree_cv": degree.std() / degree.mean(),
            "clustering": nx.transitivity(graph), "components": nx.number_connected_components(graph),
            "triangles_per_node": sum(nx.triangles(graph).values()) / 3 / len(graph),
            "isolated": (degree == 0).mean(), "leaves": (degree == 1).mean(),
            "cycles_per_node": len(nx.cycle_basis(graph)) / len(graph),
        }  # fmt: skip
        assert set(wanted) == set(PER_GRAPH)
        np.testing.assert_allclose(row, [wanted[name] for name in PER_GRAPH], atol=1e-12)


def test_meta_features_of_a_collection():
    held = shapes()
    found = dict(zip(feature_names("collection"), meta_features(held, "collection"), strict=True))
    assert tuple(found) == COLLECTION_NAMES
    assert found["graphs"] == 60
    assert found["class_entropy_normalised"] == pytest.approx(1)
    assert found["nodes_mean"] == pytest.approx(np.mean([g.num_nodes for g in held.graphs]))
    assert found["told_by_leaves"] > 0.9 > 0.1 > found["told_by_nodes"]  # only stars have leaves
    assert np.isfinite(list(found.values())).all()
    with pytest.raises(UsageError, match="alone"):
        meta_features(held, "regular")
    with pytest.raises(UsageError, match="not one graph"):
        meta_features(nx.karate_club_graph(), "collection")


def test_share_between_classes_is_the_r_squared_of_class_means():
    rng = np.random.default_rng(0)
    labels, values = rng.integers(0, 3, 90), rng.standard_normal(90)
    fitted = np.array([values[labels == y].mean() for y in labels])
    assert between(values, labels) == pytest.approx(
        1 - ((values - fitted) ** 2).sum() / ((values - values.mean()) ** 2).sum()
    )
    assert between(np.ones(90), labels) == 0


def test_rings_values_are_those_of_rings():
    from graphnetz.rings import complementarity, diversity

    held = random_graphs(36)
    own, apart = diversity(list(held.graphs)), complementarity(list(held.graphs))
    wanted = [
        apart.mean(),
        apart.std(),
        own.structural.mean(),
        own.structural.std(),
        own.features.mean(),
        own.features.std(),
    ]
    np.testing.assert_allclose(rings_facts(held), wanted, rtol=1e-9)


def test_landmarks_tell_structure_from_features():
    formed, told = marks(random_graphs(120)), marks(random_graphs(120, features="class"))
    assert formed["structure"] > 0.8 > 0.7 > formed["mean_features"]
    assert told["mean_features"] > 0.9 > 0.7 > told["degrees"]
    assert formed["majority"] == pytest.approx(0.5, abs=0.05)


def test_landmarks_never_see_the_test_classes():
    held = shapes(60)
    parts = graph_split(held.labels, 0)
    changed = held.labels.copy()
    changed[parts["test"]] = 1 - changed[parts["test"]]
    reached = [
        _reached(_Rows(part_of(Collection(held.graphs, labels))), parts["train"], parts["val"])
        for labels in (held.labels, changed)
    ]
    assert reached[0] == reached[1]


def test_a_large_collection_is_looked_at_by_a_part():
    held = shapes(200)
    seen = part_of(held, graphs=50)
    assert seen.held.num_graphs == 50
    assert [seen.held.graphs[i] is held.graphs[p] for i, p in enumerate(seen.positions)] == [True] * 50


def test_splits_share_classes_evenly_and_do_not_overlap():
    labels = np.array([0] * 150 + [1] * 50)
    for seed in range(3):
        parts = graph_split(labels, seed)
        assert sorted(np.concatenate(list(parts.values())).tolist()) == list(range(200))
        assert [len(parts[name]) for name in ("train", "val", "test")] == [128, 32, 40]
        assert all(abs((labels[index] == 1).mean() - 0.25) < 0.04 for index in parts.values())
    assert not np.array_equal(graph_split(labels, 0)["test"], graph_split(labels, 1)["test"])


@pytest.mark.parametrize(
    ("source", "error", "words"),
    [
        (lambda: nx.karate_club_graph(), UsageError, "list of graphs"),
        (lambda: rings_and_stars(40, regression=True)[0], UsageError, "list of graphs"),
        (lambda: rings_and_stars(10), DataError, "needs 30"),
        (lambda: [Data(edge_index=torch.tensor([[0], [1]]), num_nodes=2)] * 40, DataError, "have a class y"),
        (lambda: [Data(edge_index=torch.tensor([[0], [1]]), y=torch.tensor([0, 1]))] * 40, DataError, "several labels"),
        (lambda: [Data(edge_index=torch.tensor([[0], [1]]), y=torch.tensor([0.5]))] * 40, DataError, "not classes"),
        (lambda: [Data(edge_index=torch.tensor([[0], [1]]), y=torch.tensor([1]))] * 40, DataError, "one class"),
    ],
)
def test_what_is_no_collection_is_refused_in_a_sentence(source, error, words):
    with pytest.raises(error, match=words):
        as_collection(source())


def test_collections_are_read_from_folders_files_and_tables(tmp_path):
    graphs = rings_and_stars(40)
    torch.save(graphs, tmp_path / "mine.pt")
    folder = tmp_path / "SHAPES"
    folder.mkdir()
    starts = np.concatenate([[0], np.cumsum([g.num_nodes for g in graphs])])
    arcs = [
        f"{s + a + 1}, {s + b + 1}" for g, s in zip(graphs, starts, strict=False) for a, b in g.edge_index.T.tolist()
    ]
    owner = [str(i + 1) for i, g in enumerate(graphs) for _ in range(g.num_nodes)]
    (folder / "SHAPES_A.txt").write_text("\n".join(arcs) + "\n")
    (folder / "SHAPES_graph_indicator.txt").write_text("\n".join(owner) + "\n")
    (folder / "SHAPES_graph_labels.txt").write_text("\n".join(str(int(g.y)) for g in graphs) + "\n")
    rows = [f"g{i:02d},{a},{b}" for i, g in enumerate(graphs) for a, b in g.edge_index.T.tolist() if a < b]
    (tmp_path / "edges.csv").write_text("graph,source,target\n" + "\n".join(rows) + "\n")
    kinds = [f"g{i:02d},{'star' if int(g.y) == 0 else 'ring'}" for i, g in enumerate(graphs)]
    (tmp_path / "kinds.csv").write_text("graph,label\n" + "\n".join(kinds) + "\n")
    read = [
        read_collection(tmp_path / "mine.pt"), read_collection(folder),
        read_collection(tmp_path / "edges.csv", labels=tmp_path / "kinds.csv"),
    ]  # fmt: skip
    assert [held.num_edges for held in read] == [read[0].num_edges] * 3
    assert [held.width for held in read] == [3, 0, 0]
    assert read[2].class_names == ("ring", "star")
    (tmp_path / "one.csv").write_text("source,target\n1,2\n")
    with pytest.raises(UsageError, match="holds one graph"):
        read_collection(tmp_path / "one.csv")
    with pytest.raises(UsageError, match="no classes of graphs"):
        read_collection("karate_club")


def test_every_configuration_classifies_graphs():
    held = shapes(40)
    space = bank_space("graph_cls")
    assert len(space) >= 20
    assert len({item.name for item in space}) == len(space)
    split = measured_task(held, "graph_cls").loader(None, seed=1).splits
    assert len(split["test"]) == 8
    for item in space:
        assert engine_model(item).serves("graph_cls"), item.name
        assert item.method != "WeisfeilerLeman" or not item.serves("node_cls")
    with pytest.raises(UsageError, match="graph_cls"):
        measured_task(held, "node_cls")
    with pytest.raises(UsageError, match="many graphs"):
        measured_task(as_graph(nx.karate_club_graph()), "graph_cls")


def test_collections_are_collected_and_kept(tmp_path, monkeypatch):
    from graphnetz.selection import plan

    monkeypatch.setattr(plan, "read_collection", lambda *_, **__: shapes(40))
    spec = CollectionSpec("elsewhere.pt")
    assert spec.name.startswith("shapes-")
    space = [item for item in bank_space("graph_cls") if item.method in ("FeatureOnly", "WeisfeilerLeman", "SGC")]
    made = collect(
        [Measurement(spec, item, "graph_cls") for item in space], tmp_path, effort=Effort(backend="serial", epochs=3)
    )
    again = PerformanceBank.load(tmp_path / "bank.npz")
    assert len(again) == len(space) == len(made)
    entry = again.graphs[spec.name]
    assert (entry.graphs, entry.real, entry.nodes) == (40, True, shapes(40).num_nodes)
    np.testing.assert_allclose(entry.features, meta_features(shapes(40), "collection"))
    np.testing.assert_allclose(entry.landmarks["graph_cls"], collection_landmarks(shapes(40)), rtol=1e-6)
    assert again.matrix("graph_cls").M.shape == (1, len(COLLECTION_NAMES))
    assert {record.metric for record in again.records} == {"acc"}


def test_chosen_plan_of_graph_classification_asks_for_collections_alone():
    plan = chosen_plan(PerformanceBank(), task_types=("graph_cls",), graphs=2)
    assert {item.graph.name for item in plan} == {"digits_superpixels", "csl"}
    assert {item.task_type for item in plan} == {"graph_cls"}


def test_a_bank_mixes_graphs_and_collections(tmp_path):
    bank = PerformanceBank()
    bank.add_graph("shapes", shapes(), domain="d", origin="o", real=True, task_types=("graph_cls",))
    bank.add_graph("karate", nx.karate_club_graph(), domain="e", origin="o")
    bank.save(tmp_path / "bank.npz")
    again = PerformanceBank.load(tmp_path / "bank.npz")
    for name in ("shapes", "karate"):
        np.testing.assert_array_equal(again.graphs[name].features, bank.graphs[name].features)
        assert again.graphs[name].graphs == bank.graphs[name].graphs


@pytest.fixture(scope="module")
def shipped():
    return PerformanceBank.load()


def test_shipped_bank_knows_collections(shipped):
    known = known_graphs(shipped, "graph_cls")
    assert len(known.graphs) >= 15
    assert len(np.unique(known.domains)) >= 6
    assert len(known.configurations) >= 12
    assert len({item.method for item in known.configurations}) >= 7
    assert set(known.configurations) <= set(bank_space("graph_cls"))
    for name in known.graphs:
        entry = shipped.graphs[name]
        assert all((entry.origin, entry.licence, entry.domain, entry.graphs >= 100))
        assert "graph_cls 0" in entry.splits


def test_advice_on_left_out_collections_is_not_worse_than_chance(shipped):
    """Few domains carry no more than this: the figures are in docs/selection.md."""
    known = known_graphs(shipped, "graph_cls")
    first, random = [], []
    for domain in np.unique(known.domains):
        out = known.domains == domain
        fitted = fit_real(known.take(~out))
        for i in np.flatnonzero(out):
            order = [j for j in fitted.advise(known.M[i]).order if np.isfinite(known.P[i, j])]
            first.append(known.P[i, order[0]])
            random.append(np.nanmean(known.P[i]))
    assert np.mean(first) > np.mean(random) + 0.02


def test_recommendation_for_graphs(shipped):
    found = recommend(list(random_graphs(60).graphs), "graph_cls", top=4)
    assert len(found.choices) == 4
    assert found.metric == "acc"
    assert all(0 <= c.low <= c.score <= c.high <= 1 for c in found.choices)
    assert found.known_graphs == len(known_graphs(shipped, "graph_cls").graphs)
    assert all(shipped.graphs[name].graphs > 1 for name, _ in found.nearest)
    for place in range(4):
        model = found.to_model(place)
        if isinstance(model, torch.nn.Module):
            assert model(found.graph.graphs[0]).shape == (1, 2)
        held = {}
        exec(found.to_code(place), held)
        assert type(held["model"]) is type(model)
    with pytest.raises(UsageError, match="list of graphs"):
        recommend(nx.karate_club_graph(), "graph_cls")


def test_twice_the_graphs_are_expected_to_take_twice_as_long():
    graphs = list(random_graphs(40).graphs)
    one, two = (recommend(graphs * times, "graph_cls", top=50) for times in (1, 2))
    seconds = {choice.name: choice.seconds for choice in one.choices}
    assert all(choice.seconds == pytest.approx(2 * seconds[choice.name]) for choice in two.choices)


def test_verified_choices_are_remembered(tmp_path):
    found = recommend(list(random_graphs(60).graphs), "graph_cls", top=2)
    race = verify(found, 1, seeds=(0,), epochs=2, workers=1)
    remember(race, found, tmp_path / "own.npz")
    (entry,) = PerformanceBank.load(tmp_path / "own.npz").graphs.values()
    assert (entry.graphs, entry.real) == (60, True)
    assert entry.landmarks["graph_cls"].shape == (len(COLLECTION_LANDMARKS),)


def test_command_line_answers_for_graphs(tmp_path, capsys):
    torch.save(rings_and_stars(60), tmp_path / "mine.pt")
    assert run_app(["select", "recommend", str(tmp_path / "mine.pt"), "--task", "graph_cls", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["graph"]["graphs"] == 60
    assert found["task_type"] == "graph_cls"
    assert run_app(["select", "recommend", str(tmp_path / "mine.pt"), "--task", "graph_cls"]) == 0
    text = capsys.readouterr().out
    assert "60 graphs" in text
    assert "known collections" in text
    assert run_app(["select", "features", str(tmp_path / "mine.pt"), "--set", "collection", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["graphs"] == 60


def test_the_best_network_for_graphs_is_kept_ready_for_prediction(tmp_path, capsys):
    from graphnetz.use import predict

    graphs = rings_and_stars(40)
    rows = [f"g{i:02d},{a},{b}" for i, g in enumerate(graphs) for a, b in g.edge_index.T.tolist() if a < b]
    edges, kinds = tmp_path / "edges.csv", tmp_path / "kinds.csv"
    edges.write_text("graph,source,target\n" + "\n".join(rows) + "\n")
    names = "".join(f"g{i:02d},{'star' if int(g.y) == 0 else 'ring'}\n" for i, g in enumerate(graphs))
    kinds.write_text("graph,label\n" + names)
    held = read_collection(edges, labels=kinds)
    order = [engine_model(choice.configuration).kind for choice in recommend(held, "graph_cls", top=50).choices]
    first = str(order.index("encoder") + 1)
    arguments = ["select", str(edges), "--labels", str(kinds), "--task", "graph_cls", "--verify", first]
    out = tmp_path / "out"
    assert run_app([*arguments, "--seeds", "1", "--epochs", "2", "--workers", "1", "--out", str(out)]) == 0
    said = capsys.readouterr()
    assert "graphs that training did not see" in " ".join(said.out.split())
    assert "a table with a column graph" in said.err
    found = predict(out / "model", str(edges))
    assert set(found["class"]) <= {"ring", "star"}
    assert len(found) == 40


def test_script_for_graphs_runs(tmp_path, capsys, monkeypatch):
    torch.save(rings_and_stars(60), tmp_path / "mine.pt")
    assert run_app(["select", "recommend", str(tmp_path / "mine.pt"), "--task", "graph_cls", "--code"]) == 0
    code = capsys.readouterr().out
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GRAPHNETZ_WORKERS", "1")
    script = Path("try_it.py")
    script.write_text(code)
    import runpy

    runpy.run_path(str(script), run_name="__main__")
    assert "mean" in capsys.readouterr().out
