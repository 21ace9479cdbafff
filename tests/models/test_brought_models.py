"""Models in files of one's own: what a student writes runs as it is, and a stranger's folder never brings code."""

from __future__ import annotations

import sys

import numpy as np
import pytest
import torch
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression, Ridge
from torch_geometric import nn as pyg_nn
from torch_geometric.nn import GCNConv, global_mean_pool

from graphnetz import get_split, run_benchmark, task_from_dataset
from graphnetz._core.errors import UsageError
from graphnetz.cli.app import run_app
from graphnetz.engine.config import load_config, resolve
from graphnetz.models import named_specs, spec_from
from graphnetz.models.brought import brought_spec
from graphnetz.models.construct import call_with
from graphnetz.models.predictors import design
from graphnetz.records.references import Reference, is_reference
from graphnetz.testing.examples import EXAMPLES, rings_and_stars, two_cliques

TINY = """
import torch
from torch_geometric.nn import GCNConv

class TinyGCN(torch.nn.Module):
    def __init__(self, num_features, num_classes, hidden=8):
        super().__init__()
        self.conv1 = GCNConv(num_features, hidden)
        self.conv2 = GCNConv(hidden, num_classes)

    def forward(self, x, edge_index):
        return self.conv2(self.conv1(x, edge_index).relu(), edge_index)
"""
QUICK = ["--epochs", "2", "--seeds", "2", "--backend", "serial", "--quiet"]


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder with a model, as the current one; modules and paths that loading adds are forgotten."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    before = set(sys.modules)
    (tmp_path / "tiny.py").write_text(TINY)
    yield tmp_path
    for name in set(sys.modules) - before:
        if str(tmp_path) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


def run(*arguments):
    return run_app(["run", "--task", "karate_club", *arguments, *QUICK])


@pytest.mark.parametrize("text", ["tiny.py:TinyGCN", "tiny.py", "tiny:TinyGCN"])
def test_a_students_model_runs_as_it_is(place, text, capsys):
    assert run("--model", text, "--model", "MLP", "--out", "out") == 0
    shown = capsys.readouterr().out
    assert "MLP" in shown
    assert ("TinyGCN" if ":" in text else "tiny") in shown


def test_the_file_enters_the_key_and_a_changed_file_is_trained_again(place):
    def keys():
        config = load_config(None, {"task": ["karate_club"], "model": ["tiny.py:TinyGCN"], "seeds": 1, "epochs": 1})
        return [cell.key for cell in resolve(config).plan()[1].cells]

    first = keys()
    del sys.modules["tiny"]
    assert keys() == first
    (place / "tiny.py").write_text(TINY + "\nUNUSED = 1\n")
    del sys.modules["tiny"]
    assert keys() != first


def test_two_models_of_one_name_are_told_apart_by_a_name_of_ones_own(place, capsys):
    (place / "mine.py").write_text(TINY.replace("TinyGCN", "GCN"))
    assert run("--model", "mine.py:GCN", "--model", "GCN", "--out", "a") == 2
    assert "name=path.py:Class" in capsys.readouterr().err
    assert run("--model", "mine=mine.py:GCN", "--model", "GCN", "--out", "a") == 0
    assert "mine" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("content", "reference", "said"),
    [
        ("class A(:\n", "broken.py:A", "broken.py:1"),
        ("x = 1\nraise RuntimeError('mine')\n", "broken.py:A", "RuntimeError: mine (at broken.py:2)"),
        (TINY, "broken.py:TinyGNC", "Did you mean 'TinyGCN'?"),
        ("TinyGCN = 3\n", "broken.py:TinyGCN", "not a class"),
        (TINY + TINY.replace("TinyGCN", "Other"), "broken.py", "say which one"),
        (TINY, "absent.py:TinyGCN", "There is no file 'absent.py'"),
        (TINY, "no_such_module_of_mine:A", "There is no module"),
        ("class A:\n    pass\n", "broken.py:A", "neither a torch.nn.Module"),
    ],
)
def test_what_cannot_be_brought_is_refused_in_one_sentence_at_the_users_line(place, capsys, content, reference, said):
    (place / "broken.py").write_text(content)
    assert run("--model", reference, "--out", "out") == 2
    error = capsys.readouterr().err
    assert said in error
    assert "Traceback" not in error
    assert not (place / "out").exists()


def test_an_error_of_the_first_batch_names_the_users_line(place, capsys):
    (place / "tiny.py").write_text(TINY.replace("self.conv1(x, edge_index).relu()", "x"))
    assert run("--model", "tiny.py:TinyGCN", "--out", "out") == 2
    assert "(at tiny.py:12 in forward)" in capsys.readouterr().err


def test_an_error_in_a_cell_names_the_users_line_and_not_ours(place, capsys):
    text = TINY.replace("def __init__", "task_types = {'node_cls'}\n\n    def __init__")
    (place / "tiny.py").write_text(text.replace("self.conv1(x, edge_index).relu()", "x"))
    assert run("--model", "tiny.py:TinyGCN", "--out", "out") == 1
    assert "(at tiny.py:14 in forward)" in capsys.readouterr().err


# -- a stranger's folder


EVIL = """
from pathlib import Path
Path("EVIL_RAN").write_text("")
import torch
class TinyGCN(torch.nn.Linear):
    pass
"""


def test_resume_asks_for_code_to_be_named_again(place, capsys):
    assert run("--model", "tiny.py:TinyGCN", "--model", "MLP", "--out", "out") == 0
    del sys.modules["tiny"]
    assert run_app(["resume", "out", "--quiet"]) == 2
    error = capsys.readouterr().err
    assert "graphnetz resume out --model tiny.py:TinyGCN" in error
    assert "tiny" not in sys.modules
    assert run_app(["resume", "out", "--model", "tiny.py:TinyGCN", "--quiet"]) == 0
    assert run_app(["resume", "out", "--model", "tiny.py:TinyGCN", "--model", "GAT", "--quiet"]) == 2
    assert "has no model 'GAT'" in capsys.readouterr().err


@pytest.mark.parametrize("evil", ["out/evil.py:TinyGCN", "out.evil:TinyGCN", "evil:TinyGCN"])
def test_nothing_inside_a_folder_is_imported_by_resume_reproduce_or_run(place, monkeypatch, capsys, evil):
    assert run("--model", "tiny.py:TinyGCN", "--out", "out") == 0
    (place / "out" / "evil.py").write_text(EVIL)
    config = place / "out" / "config.toml"
    config.write_text(config.read_text().replace("tiny.py:TinyGCN", evil))
    if evil.startswith("evil"):
        monkeypatch.chdir(place / "out")
    folder = "." if evil.startswith("evil") else "out"
    for command in (
        ["resume", folder], ["resume", folder, "--model", evil], ["reproduce", folder, "--model", evil],
        ["run", f"{folder}/config.toml"],
    ):  # fmt: skip
        assert run_app(command) == 2, command
        assert "Traceback" not in capsys.readouterr().err
    assert not list(place.rglob("EVIL_RAN"))


def test_a_model_name_in_results_is_never_a_reference(place):
    (place / "evil.py").write_text(EVIL)
    with pytest.raises(UsageError, match="Unknown model"):
        named_specs(["evil.py:TinyGCN"])
    assert not (place / "EVIL_RAN").exists()


def test_reproduce_says_what_is_missing_and_finds_it_again(place, capsys):
    assert run("--model", "tiny.py:TinyGCN", "--out", "out") == 0
    assert run_app(["reproduce", "out"]) == 1
    said = capsys.readouterr().err
    assert "brought as tiny.py:TinyGCN" in said
    assert str(place) not in (place / "out" / "results.json").read_text()
    assert run_app(["reproduce", "out", "--model", "tiny.py:TinyGCN", "--workers", "1"]) == 0
    assert "2 agree to the last bit" in capsys.readouterr().out


# -- what forward and constructors may look like


class Names(torch.nn.Module):
    def __init__(self, in_dim, hidden_dim, n_classes):
        super().__init__()
        self.conv, self.head = GCNConv(in_dim, hidden_dim), torch.nn.Linear(hidden_dim, n_classes)

    def forward(self, x, edge_index, batch):
        return self.head(global_mean_pool(self.conv(x, edge_index), batch))


class Whole(Names):
    def forward(self, data):
        return self.head(self.conv(data.x, data.edge_index))


class Weighted(Names):
    def forward(self, x, edge_index, edge_attr):
        assert edge_attr is not None
        return self.head(self.conv(x, edge_index))


class Pairs(Names):
    def encode(self, x, edge_index):
        return self.conv(x, edge_index)

    def decode(self, z, edge_label_index):
        return (z[edge_label_index[0]] * z[edge_label_index[1]]).sum(-1)


def tasks():
    return [task_from_dataset(kind, kind, make(), epochs=2) for kind, make in EXAMPLES.items()]


def statuses(models):
    report = run_benchmark(models=models, tasks=tasks(), seeds=[0], backend="serial", verbose=False)
    assert {(r.model, r.task): r.error for r in report.results if not r.ok} == {}
    return {(r.model, r.task) for r in report.results}, report.absent


def test_task_types_are_found_out_by_the_first_batch():
    done, absent = statuses({"Names": Names, "Whole": Whole, "Weighted": Weighted, "PyG": pyg_nn.GraphSAGE})
    every = set(EXAMPLES)
    assert {task for model, task in done if model == "Whole"} == every  # rows of nodes are pooled, or put on edges
    assert {task for model, task in done if model == "PyG"} == every
    assert {task for model, task in done if model == "Names"} >= {"graph_cls", "graph_reg"}
    assert ("Names", "edge_cls") not in done
    assert "Names cannot do edge classification" in absent["edge_cls", "Names"]
    assert "edge_attr, which this graph does not have" in absent["node_cls", "Weighted"]
    assert all(reason.count("\n") == 0 for reason in absent.values())


def test_a_model_with_its_own_decoder_is_asked_for_pairs():
    report = run_benchmark(
        models={"mine": (Pairs, "link_pred")}, tasks=task_from_dataset("links", "link_pred", two_cliques(), epochs=2),
        seeds=[0], backend="serial", verbose=False,
    )  # fmt: skip
    assert report.results[0].ok, report.results[0].error


def test_trying_a_model_changes_neither_data_nor_classes():
    class Rude(Names):
        seen = []

        def forward(self, data):
            data.x.add_(1)
            self.seen.append(1)
            return self.head(self.conv(data.x, data.edge_index))

    data = two_cliques()
    before = data.x.clone()
    report = run_benchmark(
        models=[Rude, "MLP"], tasks=task_from_dataset("t", "node_cls", data, epochs=1), seeds=[0], backend="serial",
        verbose=False,
    )  # fmt: skip
    assert torch.equal(data.x, before)
    assert Rude.seen == []
    assert {r.model: r.status for r in report.results} == {"Rude": "tampered", "MLP": "ok"}


@pytest.mark.parametrize(
    ("make", "wanted"),
    [
        (lambda i, h, o: (i, h, o), (5, 8, 2)),
        (lambda in_channels, out_channels, hidden=3: (in_channels, hidden, out_channels), (5, 8, 2)),
        (lambda nfeat, nhid, nclass, dropout=0.5: (nfeat, nhid, nclass), (5, 8, 2)),
        (lambda num_features, num_classes: (num_features, num_classes), (5, 2)),
        (lambda in_channels, hidden_channels, num_layers, out_channels: (num_layers, out_channels), (2, 2)),
        (lambda in_channels, h, o: (in_channels, h, o), (5, 8, 2)),
    ],
)
def test_constructors_are_told_widths_by_the_names_they_use(make, wanted):
    assert call_with(make, (5, 8, 2), given={}, offered={}) == wanted


def test_an_unknown_required_argument_is_named():
    with pytest.raises(UsageError, match=r"must be told depth, which graphnetz does not know"):
        call_with(lambda in_channels, hidden_channels, out_channels, depth: None, (1, 2, 3), given={}, offered={})


def test_a_type_error_of_a_users_constructor_passes_through():
    def make(in_channels, hidden_channels, out_channels):
        raise TypeError("mine")

    with pytest.raises(TypeError, match="mine"):
        call_with(make, (1, 2, 3), given={}, offered={})


# -- scikit-learn


def test_an_estimator_gives_what_scikit_learn_gives_on_the_same_rows():
    task = task_from_dataset("t", "node_cls", two_cliques(), epochs=1)
    report = run_benchmark(
        models={"lr": LogisticRegression(C=0.5)}, tasks=task, seeds=[0], backend="serial", verbose=False
    )
    split = get_split(task, 0)
    rows = design(split)
    witness = LogisticRegression(C=0.5).fit(rows["train"], split.targets["train"])
    assert report.results[0].metrics["test_acc"] == witness.score(rows["test"], split.targets["test"])


def test_estimators_serve_what_they_can_and_repeat_their_seed():
    models = {
        "forest": RandomForestClassifier(n_estimators=5), "ridge": Ridge,
        "spectral": brought_spec("sklearn.svm:SVC@SpectralEmbedding"),
    }  # fmt: skip
    first = run_benchmark(models=models, tasks=tasks(), seeds=[0], backend="serial", verbose=False)
    again = run_benchmark(models=models, tasks=tasks(), seeds=[0], backend="serial", verbose=False)
    assert {r.model: r.error for r in first.results if not r.ok} == {}
    assert {(r.model, r.task) for r in first.results} == {
        ("forest", "node_cls"), ("forest", "graph_cls"), ("forest", "edge_cls"), ("forest", "link_pred"),
        ("ridge", "graph_reg"), ("ridge", "multi_reg"), ("spectral", "node_cls"), ("spectral", "link_pred"),
    }  # fmt: skip
    np.testing.assert_array_equal([r.value for r in first.results], [r.value for r in again.results])


def test_an_embedding_that_is_none_and_a_transformer_are_refused():
    with pytest.raises(UsageError, match="'GCN' is no embedding"):
        brought_spec("sklearn.svm:SVC@GCN")
    with pytest.raises(UsageError, match="neither a classifier nor a regressor"):
        spec_from(_Transformer())


class _Transformer:
    def fit(self, x, y=None):
        return self

    def predict(self, x):
        return x

    def get_params(self, deep=True):
        return {}

    def set_params(self, **given):
        return self

    def __sklearn_clone__(self):
        return self

    def __sklearn_tags__(self):
        from sklearn.base import BaseEstimator

        return BaseEstimator().__sklearn_tags__()


# -- how it is written


@pytest.mark.parametrize(
    ("text", "label", "place", "name"),
    [
        ("a/b.py:C", "C", "a/b.py", "C"), ("x=a/b.py:C", "x", "a/b.py", "C"), ("b.py", "b", "b.py", ""),
        (r"C:\m\b.py:K", "K", r"C:\m\b.py", "K"), ("pkg.mod:C", "C", "pkg.mod", "C"),
    ],
)  # fmt: skip
def test_references(text, label, place, name):
    found = Reference.read(text)
    assert is_reference(text)
    assert (found.label, found.place, found.name) == (label, place, name)


def test_graphs_without_features_and_several_graphs_reach_the_model():
    graphs = rings_and_stars(12)
    for graph in graphs:
        graph.x = None
    report = run_benchmark(
        models=[Whole], tasks=task_from_dataset("t", "graph_cls", graphs, epochs=1), seeds=[0], backend="serial",
        verbose=False,
    )  # fmt: skip
    assert report.results[0].ok, report.results[0].error


# -- check


def test_check_says_where_a_model_fits_and_what_a_report_needs(place, capsys):
    assert run_app(["check", "tiny.py:TinyGCN", "--task-type", "node_cls", "--task-type", "graph_cls"]) == 0
    shown = capsys.readouterr().out
    assert "called as forward(x, edge_index)" in shown
    assert "graph_cls  fits" in shown
    assert "graphnetz run --task karate_club --model tiny.py:TinyGCN" in shown


def test_check_names_a_broken_promise(place, capsys):
    (place / "tiny.py").write_text(TINY.replace(".relu()", ".relu() + torch.seed() % 7"))
    assert run_app(["check", "tiny.py:TinyGCN", "--task-type", "node_cls"]) == 1
    assert "gives other outputs on node_cls for the same seed" in capsys.readouterr().out
