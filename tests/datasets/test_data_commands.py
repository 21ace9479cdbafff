"""The commands around data: mirror, doctor --datasets, run --graph, run --protocol, published."""

import json
import tomllib

import numpy as np
import pytest

from graphnetz._core.errors import UsageError
from graphnetz.cli.app import run_app
from graphnetz.datasets import SUITES, task_of
from graphnetz.engine.config import DEFAULT_MODELS, load_config
from graphnetz.engine.plan import resolve_protocol
from graphnetz.papers.graphnetz import PAPER_MODELS


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch):
    """The commands set these for the whole process; setting them first lets monkeypatch take them back."""
    for name in ("GRAPHNETZ_MIRROR", "GRAPHNETZ_OFFLINE"):
        monkeypatch.setenv(name, "")


@pytest.fixture
def source(tmp_path):
    """A mirror that holds one small network in the plain layout."""
    folder = tmp_path / "source" / "networks"
    folder.mkdir(parents=True)
    rows = [(i, (i + step) % 60) for i in range(60) for step in (1, 7)]
    (folder / "terrorists_911.csv").write_text("source,target\n" + "\n".join(f"{a},{b}" for a, b in rows) + "\n")
    return folder.parent


def test_mirror_copies_what_a_dataset_needs_and_it_works_offline(source, tmp_path, capsys):
    made = tmp_path / "made"
    assert (
        run_app(["mirror", "terrorists_911", "tsp_random", "--to", str(made), "--mirror", str(source), "--json"]) == 0
    )
    listed = {row["name"]: row for row in json.loads(capsys.readouterr().out)}
    assert listed["terrorists_911"]["files"] == ["networks/terrorists_911.csv"]
    assert listed["tsp_random"]["files"] == []
    copied = made / "networks" / "terrorists_911.csv"
    assert copied.read_bytes() == (source / "networks" / "terrorists_911.csv").read_bytes()
    out = tmp_path / "run"
    code = run_app(["run", "--task", "terrorists_911", "--model", "GCN", "--seeds", "1", "--epochs", "1", "--quiet",
                    "--mirror", str(made), "--root", str(tmp_path / "data"), "--out", str(out), "--backend", "serial"])  # fmt: skip
    assert code == 0
    assert json.loads((out / "results.json").read_text())


def test_mirror_names_what_it_could_not_get(source, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("GRAPHNETZ_OFFLINE", "1")
    code = run_app(["mirror", "terrorists_911", "euroroad", "--to", str(tmp_path / "m"), "--mirror", str(source)])
    said = capsys.readouterr()
    assert code == 1
    assert "euroroad: " in said.err
    assert "terrorists_911: 1 files" in said.out


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["mirror", "karate"], "--to DIR"),
        (["mirror", "--to", "{tmp}/m"], "No dataset was named"),
        (["mirror", "karte", "--to", "{tmp}/m"], "Did you mean 'karate'"),
        (["mirror", "karate", "--to", "{tmp}/file"], "is a file"),
        (["doctor", "karate"], "--datasets"),
        (["doctor", "--datasets", "karte"], "Did you mean 'karate'"),
        (["published", "{tmp}"], "results.json"),
    ],
)
def test_wrong_usage_is_one_sentence_and_writes_nothing(arguments, sentence, tmp_path, capsys):
    (tmp_path / "file").write_text("x")
    assert run_app([part.replace("{tmp}", str(tmp_path)) for part in arguments]) == 2
    said = capsys.readouterr().err
    assert sentence in said
    assert "Traceback" not in said
    assert [p.name for p in tmp_path.iterdir()] == ["file"]


def test_doctor_compares_datasets_with_their_cards(source, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("GRAPHNETZ_OFFLINE", "1")
    common = ["--mirror", str(source), "--root", str(tmp_path / "data")]
    assert run_app(["doctor", "--datasets", "tsp_random", "ising_lattice_published", *common]) == 0
    assert "[ok] tsp_random: 1 graphs, 200 nodes" in capsys.readouterr().out
    assert run_app(["doctor", "--datasets", "terrorists_911", "euroroad", "--json", *common]) == 1
    found = {row["name"]: row for row in json.loads(capsys.readouterr().out)}
    assert found["terrorists_911"]["status"] == "differs"
    assert found["terrorists_911"]["differences"] == ["edges: card 250, found 240"]
    assert found["euroroad"]["status"] == "unavailable"


def test_doctor_without_names_tries_everything_without_the_network(tmp_path, capsys, monkeypatch):
    import graphnetz.datasets as datasets

    monkeypatch.setattr(datasets, "list_datasets", lambda: ["tsp_random", "euroroad"])
    assert run_app(["doctor", "--datasets", "--root", str(tmp_path)]) == 0
    said = capsys.readouterr().out
    assert "[ok] tsp_random" in said
    assert "[unavailable] euroroad" in said


@pytest.fixture
def files(tmp_path):
    """Two rings of people joined by one edge, with names, classes and features."""
    people = [f"p{i:02d}" for i in range(60)]
    edges = [(i, (i + s) % 30) for i in range(30) for s in (1, 2)]
    edges += [(30 + i, 30 + (i + s) % 30) for i in range(30) for s in (1, 2)] + [(0, 30)]
    (tmp_path / "edges.csv").write_text("source,target\n" + "".join(f"{people[a]},{people[b]}\n" for a, b in edges))
    (tmp_path / "labels.csv").write_text(
        "node,label\n" + "".join(f"{p},{'ab'[i // 30]}\n" for i, p in enumerate(people))
    )
    rng = np.random.default_rng(0)
    rows = "".join(f"{p},{i // 30 + 0.1 * rng.normal():.3f},{rng.normal():.3f}\n" for i, p in enumerate(people))
    (tmp_path / "f.csv").write_text("node,a,b\n" + rows)
    return tmp_path


def run_own(folder, *arguments):
    return run_app(["run", "--graph", str(folder / "edges.csv"), "--model", "GCN", "--model", "Majority", "--seeds",
                    "2", "--epochs", "30", "--quiet", "--backend", "serial", "--out", str(folder / "run"), *arguments])  # fmt: skip


def test_run_on_your_own_files(files):
    assert run_own(files, "--labels", str(files / "labels.csv"), "--features", str(files / "f.csv")) == 0
    rows = [line.split(",") for line in (files / "run" / "summary.csv").read_text().splitlines()]
    mean = {row[rows[0].index("model")]: float(row[rows[0].index("mean")]) for row in rows[1:]}
    assert mean["GCN"] > 0.95  # the features give the class away
    assert mean["Majority"] <= 0.6
    assert run_app(["resume", str(files / "run"), "--quiet"]) == 0


def test_run_on_edges_alone_predicts_links(files):
    assert run_own(files) == 0
    assert "edges" in (files / "run" / "summary.csv").read_text()
    assert tomllib.loads((files / "run" / "config.toml").read_text())["graph"].endswith("edges.csv")


@pytest.mark.parametrize(
    ("change", "arguments", "sentence"),
    [
        ({}, ["--suite", "default"], "exclude each other"),
        ({}, ["--task-type", "edge_cls"], "label per edge"),
        ({}, ["--task-type", "node_cls"], "no labels"),
        ({}, ["--task-type", "nodecls"], "unknown task type"),
        ({}, ["--labels", "{tmp}/none.csv"], "does not exist"),
        ({"labels.csv": "node,label\nnobody,a\n"}, ["--labels", "{tmp}/labels.csv"], "'nobody'"),
        ({"labels.csv": "node,label\np00,a\np01,a\n"}, ["--labels", "{tmp}/labels.csv"], "fewer than two classes"),
        ({"f.csv": "node,a\np00,1\n"}, ["--features", "{tmp}/f.csv"], "one row per node"),
        ({"f.csv": "node,a\n"}, ["--features", "{tmp}/f.csv"], "one row per node"),
        ({"edges.csv": "source\np00\n"}, [], "target"),
        ({"edges.csv": ""}, [], "is empty"),
    ],
)
def test_bad_files_are_one_sentence(files, change, arguments, sentence, capsys):
    for name, text in change.items():
        (files / name).write_text(text)
    assert run_own(files, *[part.replace("{tmp}", str(files)) for part in arguments]) == 2
    said = capsys.readouterr().err
    assert sentence in said
    assert not (files / "run" / "results.json").exists()


def test_labels_without_a_graph_are_refused(files, capsys):
    assert run_app(["run", "--labels", str(files / "labels.csv")]) == 2
    assert "--graph" in capsys.readouterr().err


def test_the_paper_protocol_is_what_it_says():
    config = load_config(None, {"protocol": "paper"})
    assert config.models() == list(PAPER_MODELS) == ["GCN", "GAT", "GraphSAGE", "GraphTransformer", "GIN"]
    for task in SUITES["cross-category"]():
        found = resolve_protocol(task, config.overrides())
        assert (found.selection, found.edge_attributes, found.hidden_channels) == ("last", False, 64)
        assert (found.optimiser, found.epochs) == ("adam", task.epochs)
        rates = {"node_cls": (1e-2, 5e-4), "graph_cls": (1e-3, 0.0), "link_pred": (1e-2, 0.0)}
        assert (found.lr, found.weight_decay) == rates[task.task_type]


def test_single_flags_win_over_the_protocol_and_unknown_ones_are_named():
    config = load_config(None, {"protocol": "paper", "selection": "best_val", "hidden_channels": 16})
    assert config.overrides()["selection"] == "best_val"
    assert resolve_protocol(task_of("cora"), config.overrides()).hidden_channels == 16
    plain = load_config(None, {})
    assert plain.overrides() == {}
    assert plain.models() == list(DEFAULT_MODELS)
    with pytest.raises(UsageError, match=r"'protocol' is wrong.*default, paper"):
        load_config(None, {"protocol": "papr"})


def test_cross_category_runs_from_a_mirror_and_names_missing_rows(source, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("GRAPHNETZ_OFFLINE", "1")
    out = tmp_path / "run"
    code = run_app(["run", "--suite", "cross-category", "--protocol", "paper", "--model", "GCN", "--seeds", "2",
                    "--epochs", "1", "--mirror", str(source), "--root", str(tmp_path / "data"), "--out", str(out),
                    "--backend", "serial", "--quiet"])  # fmt: skip
    said = capsys.readouterr()
    assert code == 0
    assert "beside the published numbers" in said.out
    assert "0 of 0 rows" in said.out  # a row counts with all of its models
    results = (out / "results.json").read_text()
    for name in ("tsp_random", "ising_lattice_published", "terrorists_911"):
        assert f'"{name}"' in results
    assert run_app(["published", str(out), "--json"]) == 0
    rows = {(r["task"], r["model"]): r for r in json.loads(capsys.readouterr().out)}
    assert rows["tsp_random", "GCN"]["runs"] == 2
    assert ("cora", "GCN") not in rows  # its files are not at hand


def test_two_tasks_on_one_dataset_share_its_folder(tmp_path):
    from graphnetz.engine.worker import Workbench

    asked = []

    def loader(root):
        asked.append(root)

    import dataclasses

    tasks = [dataclasses.replace(task_of("cora", kind), loader=loader) for kind in ("node_cls", "link_pred")]
    bench = Workbench({task.name: task for task in tasks}, {}, str(tmp_path))
    for task in tasks:
        bench.load(task.name, 0)
    assert asked == [str(tmp_path / "social" / "cora")] * 2
