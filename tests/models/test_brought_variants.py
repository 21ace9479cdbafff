"""Models as people write them: signatures, outputs and mistakes that the first file did not have."""

from __future__ import annotations

import re
import sys

import pytest
import torch
from torch_geometric import nn as pyg_nn

from graphnetz import load_model, run_benchmark, task_from_dataset
from graphnetz._core.errors import UnknownNameError, UsageError
from graphnetz.cli.app import run_app
from graphnetz.models.construct import call_with
from graphnetz.records.references import repeated
from graphnetz.testing.examples import two_cliques
from graphnetz.testing.models import try_model
from graphnetz.use.training import _transductive

ZOO = """
import torch
from torch_geometric.nn import GATConv, GCNConv, Sequential

class Base(torch.nn.Module):
    def __init__(self, in_channels, hidden_channels, out_channels):
        super().__init__()
        self.a, self.b = GCNConv(in_channels, hidden_channels), GCNConv(hidden_channels, out_channels)

    def out(self, x, edge_index, weight=None):
        return self.b(self.a(x, edge_index, weight).relu(), edge_index, weight)

class AnyOrder(Base):
    def forward(self, edge_index, batch, x, *, edge_weight):
        assert edge_weight.shape == (edge_index.size(1),)
        return self.out(x, edge_index, edge_weight)

class Rest(Base):
    def forward(self, x, edge_index, **kwargs):
        return self.out(x, edge_index)

class LogProbabilities(Base):
    def forward(self, x, edge_index):
        return self.out(x, edge_index).log_softmax(1)

class Probabilities(Base):
    def forward(self, x, edge_index):
        return self.out(x, edge_index).softmax(1)

class Several(Base):
    def forward(self, x, edge_index):
        return self.out(x, edge_index), x

class Nothing(Base):
    def forward(self, x, edge_index):
        self.out(x, edge_index)

class Matrix(Base):
    def forward(self, x, adj):
        return adj @ x

class OneMissing(Base):
    def forward(self, x, edge_index):
        return self.out(x, edge_index)[1:]

class ForCora(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.a = GCNConv(1433, 7)

    def forward(self, data):
        return self.a(data.x, data.edge_index)

class OfDataset(torch.nn.Module):
    def __init__(self, dataset, hidden=16):
        super().__init__()

    def forward(self, data):
        return data.x

class Chain(Sequential):
    def __init__(self, in_channels, hidden_channels, out_channels):
        layers = [(GCNConv(in_channels, hidden_channels), "x, edge_index -> x"), torch.nn.ReLU()]
        super().__init__("x, edge_index", [*layers, (GCNConv(hidden_channels, out_channels), "x, edge_index -> x")])

class OnEdges(torch.nn.Module):
    def __init__(self, in_channels, hidden_channels, out_channels, edge_dim):
        super().__init__()
        self.a = GATConv(in_channels, out_channels, edge_dim=edge_dim)

    def forward(self, x, edge_index, edge_attr):
        return self.a(x, edge_index, edge_attr)

class Numbered(torch.nn.Module):
    def __init__(self, in_channels, hidden_channels, out_channels, num_nodes):
        super().__init__()
        self.table = torch.nn.Embedding(num_nodes, out_channels)

    def forward(self, x, edge_index):
        return self.table.weight

class WrongIn(Base):
    def __init__(self, in_channels, hidden_channels, out_channels):
        super().__init__(16, hidden_channels, out_channels)

    def forward(self, x, edge_index):
        return self.out(x, edge_index)

class WrongOut(Base):
    def __init__(self, in_channels, hidden_channels, out_channels):
        super().__init__(in_channels, hidden_channels, 99)

    def forward(self, x, edge_index):
        return self.out(x, edge_index)

class Labels(Base):
    def forward(self, data):
        return self.out(data.x, data.edge_index) + torch.nn.functional.one_hot(data.y)

class NoWeights(torch.nn.Module):
    def forward(self, data):
        return data.x[:, :2]
"""


@pytest.fixture(scope="module")
def zoo(tmp_path_factory):
    """The file of models above, imported."""
    from graphnetz.models.brought import brought_spec

    file = tmp_path_factory.mktemp("zoo") / "zoo.py"
    file.write_text(ZOO)
    before, paths = set(sys.modules), list(sys.path)
    yield lambda name: brought_spec(f"{file}:{name}")
    sys.path[:] = paths
    for name in set(sys.modules) - before:
        if str(file) == str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


def line(text):
    return ZOO[: ZOO.index(text)].count("\n") + 1


@pytest.mark.parametrize("name", ["AnyOrder", "Rest", "LogProbabilities", "Chain", "Numbered"])
def test_forms_of_forward_that_fit(zoo, name):
    assert try_model(zoo(name), "node_cls") == ("fits", "")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("Several", "it returned a tuple of 2, not a tensor. Return one row of 2 values per node and nothing beside."),
        ("Nothing", "it returned nothing, not a tensor. Return one row of 2 values per node and nothing beside."),
        ("OneMissing", "it returned 23 rows for a batch of 24 nodes. Return one row of 2 values per node."),
        ("Matrix", "Matrix.forward asks for adj, which graphnetz does not know. It passes by name: x, edge_index, "),
    ],
)
def test_what_does_not_fit_is_refused_with_a_reason_at_the_users_line(zoo, name, said):
    verdict, words = try_model(zoo(name), "node_cls")
    assert verdict == "no"
    assert said in words
    begins = line(f"class {name}(") + 1
    assert words.endswith(f"(at zoo.py:{begins})")


@pytest.mark.parametrize(
    ("name", "kind", "said"),
    [
        ("WrongIn", "node_cls", ". This data has 6 features per node: take the width of the input from in_channels."),
        (
            "WrongOut",
            "node_cls",
            "it returned 99 values per node, and the task has 2. Take the width of the output from",
        ),
        ("WrongOut", "graph_cls", "its rows are nodes of 99 values, and a head for them was told 8. Take the width of"),
        (
            "Labels",
            "node_cls",
            ". It reads y: labels are hidden from models, -1 or missing, but for those of training.",
        ),
    ],
)
def test_common_mistakes_are_told_what_to_do(zoo, name, kind, said):
    """They were told which matrices do not fit, or to return other rows than the ones that were right."""
    verdict, words = try_model(zoo(name), kind)
    assert verdict == "no"
    assert said in words
    assert "(at zoo.py:" in words


@pytest.mark.parametrize("text", ["torch_geometric.nn.models.GIN", "sklearn.svm.SVC"])
def test_a_dot_before_the_class_is_told_the_colon(text):
    from graphnetz.models import spec_from

    module, _, name = text.rpartition(".")
    with pytest.raises(UnknownNameError, match=re.escape(f"named with a colon: {module}:{name}.")):
        spec_from(text, code=True)


def test_two_outputs_are_asked_for_in_words(zoo):
    verdict, words = try_model(zoo("OneMissing"), "multi_reg")
    assert verdict == "no"
    assert "it returned one tensor. Return two tensors, one row per node and one row per graph." in words


def test_a_constructor_without_widths_is_called_without_them(zoo):
    verdict, words = try_model(zoo("ForCora"), "node_cls")
    assert verdict == "no"
    assert "cannot be multiplied" in words  # its own 1433 columns, not the number of arguments
    assert f"zoo.py:{line('return self.a(data.x, data.edge_index)')} in forward" in words
    assert zoo("NoWeights").build("node_cls", two_dims(), 8)(two_cliques()).shape == (24, 2)


def two_dims():
    from graphnetz.tasktypes import Dims

    return Dims(6, 2)


def test_an_argument_that_nobody_knows_is_named(zoo):
    assert (
        "OfDataset must be told dataset, which graphnetz does not know." in try_model(zoo("OfDataset"), "node_cls")[1]
    )
    with pytest.raises(UsageError, match="must be told num_nodes, embedding_dim"):
        call_with(pyg_nn.LightGCN, (1, 2, 3), given={}, offered={})
    with pytest.raises(UsageError, match="must be told edge_dim, which this data does not have"):
        call_with(lambda in_channels, out_channels, edge_dim: 0, (1, 2, 3), given={}, offered={"edge_dim": None})


def test_check_gives_edges_attributes_to_a_model_that_needs_them(zoo):
    verdict, words = try_model(zoo("OnEdges"), "node_cls")
    assert (verdict, words) == ("fits", "only where edges have attributes")
    assert try_model(zoo("OnEdges"), "graph_cls")[0] == "fits"


def test_check_says_that_probabilities_are_no_logits(zoo):
    verdict, words = try_model(zoo("Probabilities"), "node_cls")
    assert verdict == "fits"
    assert "its rows are probabilities: the loss takes logits" in words


def test_a_model_that_is_told_the_number_of_nodes_trains_on_one_graph(zoo):
    task = task_from_dataset("t", "node_cls", two_cliques(), epochs=1)
    report = run_benchmark(models={"Numbered": zoo("Numbered")}, tasks=task, seeds=[0], backend="serial", verbose=False)
    assert [r.status for r in report.results] == ["ok"]
    assert "learns a vector for every node" in _transductive(zoo("Numbered"))
    assert _transductive(zoo("Rest")) == ""


def test_any_keyword_is_no_number_of_nodes():
    class Open(torch.nn.Module):
        def __init__(self, in_channels, hidden_channels, out_channels, **kwargs):
            super().__init__()

    from graphnetz.models import spec_from

    assert _transductive(spec_from(Open)) == ""


def test_a_suggested_command_has_no_two_models_of_one_name(capsys):
    assert run_app(["check", "torch_geometric.nn:GCN", "--task-type", "node_cls"]) == 0
    shown = capsys.readouterr().out
    assert "--model mine=torch_geometric.nn:GCN --model GCN" in shown
    assert "jk, **kwargs), called as forward(x, edge_index, " in shown


def test_the_command_of_resume_names_all_models_again():
    with pytest.raises(UsageError) as error:
        repeated(["a.py:One", "MLP", "a.py:Two"], ["b.py:One"], folder="r", command="resume")
    assert str(error.value).endswith("graphnetz resume r --model b.py:One --model a.py:Two")


def test_reproduce_says_that_the_file_has_changed(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    kept = "return self.out(x, edge_index)\n\nclass Log"
    (tmp_path / "then.py").write_text(ZOO)
    (tmp_path / "now.py").write_text(
        ZOO.replace(kept, kept.replace("self.out", "self.out(x.abs() * 0, edge_index) * self.out"))
    )
    options = ["--epochs", "2", "--seeds", "1", "--backend", "serial", "--quiet", "--out", "r"]
    assert run_app(["run", "--task", "karate_club", "--model", "then.py:Rest", *options]) == 0
    assert run_app(["reproduce", "r", "--model", "then.py:Rest"]) == 0
    assert "has changed" not in capsys.readouterr().err
    assert run_app(["reproduce", "r", "--model", "now.py:Rest"]) == 1
    assert "its file has changed: sha256 " in capsys.readouterr().err


def test_a_reviewer_trains_cells_of_brought_code_again_from_a_bundle(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "paper.py").write_text(ZOO)
    options = ["--epochs", "2", "--seeds", "2", "--backend", "serial", "--quiet", "--out", "r"]
    assert run_app(["run", "--task", "karate_club", "--model", "paper.py:Rest", *options]) == 0
    assert run_app(["submit", "r", "--out", "paper.zip"]) == 0
    capsys.readouterr()
    assert run_app(["verify", "paper.zip", "--retrain", "2"]) == 0
    assert "name it again, --model paper.py:Rest" in capsys.readouterr().out
    assert run_app(["verify", "paper.zip", "--retrain", "2", "--model", "paper.py:Rest"]) == 0
    assert "All 2 cells retrained agree" in capsys.readouterr().out
    (tmp_path / "r" / "evil.py").write_text(ZOO)
    assert run_app(["verify", "r", "--model", "r/evil.py:Rest"]) == 2
    assert "must not bring code that runs" in capsys.readouterr().err


def test_an_installed_class_with_the_name_of_one_of_ours_is_not_taken_for_it(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    options = ["--epochs", "2", "--seeds", "1", "--backend", "serial", "--quiet", "--out", "r"]
    theirs = ["--model", "torch_geometric.nn:GraphSAGE", "--model", "sklearn.tree:DecisionTreeClassifier"]
    assert run_app(["run", "--task", "karate_club", *theirs, *options]) == 0
    assert run_app(["reproduce", "r"]) == 1
    said = capsys.readouterr().err
    assert "name it again, --model torch_geometric.nn:GraphSAGE" in said
    assert "name it again, --model sklearn.tree:DecisionTreeClassifier" in said
    assert run_app(["reproduce", "r", *theirs]) == 0
    assert "2 agree to the last bit" in capsys.readouterr().out


def test_a_kept_model_of_an_installed_class_is_not_built_as_ours(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    model = "torch_geometric.nn:GAT"
    assert (
        run_app(["train", "--task", "karate_club", "--model", model, "--seeds", "1", "--epochs", "2", "--out", "m"])
        == 0
    )
    (tmp_path / "e.csv").write_text("source,target\n" + "".join(f"{i},{(i + 1) % 34}\n" for i in range(34)))
    capsys.readouterr()
    assert run_app(["predict", "m", "--graph", "e.csv", "--out", "p.csv"]) == 2
    assert f"name it: --model {model}" in capsys.readouterr().err
    assert run_app(["predict", "m", "--graph", "e.csv", "--out", "p.csv", "--model", model]) == 0


def test_widths_written_into_a_class_and_a_common_reason_are_said_once(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    head = "import torch\nfrom torch_geometric.nn import GCNConv\n\n\nclass {}(torch.nn.Module):\n    def __init__(self{}):\n"
    body = "        super().__init__()\n        self.c = GCNConv(1433, 7)\n\n    def forward(self, x, edge_index):\n"
    rest = "        return self.c(x, edge_index)\n"
    (tmp_path / "written.py").write_text(head.format("Written", "") + body + rest)
    (tmp_path / "asked.py").write_text(head.format("Asked", ", args") + body + rest)
    assert run_app(["check", "written.py:Written", "--task-type", "node_cls"]) == 1
    said = capsys.readouterr().out
    assert "told no widths: take in_channels, hidden_channels and out_channels" in said
    assert "fits none of the tiny graphs that were tried" in said  # it may fit another graph
    assert run_app(["check", "asked.py:Asked"]) == 1
    assert capsys.readouterr().out.count("must be told args") == 1


def test_weights_of_an_installed_class_are_not_loaded_into_ours(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    reference = "torch_geometric.nn:GraphSAGE"
    options = ["--epochs", "1", "--seeds", "1", "--backend", "serial", "--quiet", "--save-weights", "--out", "r"]
    assert run_app(["run", "--task", "karate_club", "--model", reference, *options]) == 0
    with pytest.raises(UsageError, match=r"brought as torch_geometric.nn:GraphSAGE. Name it again: spec="):
        load_model("r", "karate_club", "GraphSAGE", 0)
    kept = load_model("r", "karate_club", "GraphSAGE", 0, spec=reference)
    assert any(isinstance(part, pyg_nn.GraphSAGE) for part in kept.modules())
