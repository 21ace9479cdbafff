"""The RINGS commands: words for people, JSON for scripts, one sentence for mistakes."""

import json
import os

from graphnetz.cli.app import run_app


def test_measures_of_an_offline_dataset(tmp_path, capsys):
    root = str(tmp_path)
    assert run_app(["rings", "diversity", "digits_superpixels", "--root", root, "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert 0 <= said["mean"]["structural"] <= 1
    assert run_app(["rings", "complementarity", "digits_superpixels", "--root", root]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(":")[0] for line in lines[:-1]] == ["o", "eg", "cg", "ef", "cf"]
    assert lines[1].endswith("(empty graph)")
    assert lines[-1].startswith("Mean and spread over")


def test_separability_of_scores_trained_elsewhere(tmp_path, capsys):
    path = tmp_path / "scores.csv"
    rows = [f"{mode},{base + i / 100}" for mode, base in (("o", 0.9), ("eg", 0.5), ("cg", 0.5)) for i in range(12)]
    path.write_text("mode,score\n" + "\n".join(rows))
    assert run_app(["rings", "separability", str(path)]) == 0
    assert capsys.readouterr().out.splitlines()[0] == "o > cg/eg"
    path.write_text("modus,score\no,1\n")
    assert run_app(["rings", "separability", str(path)]) == 2
    assert "lacks the columns ['mode']" in capsys.readouterr().err


def test_the_bare_form_is_evaluate(capsys):
    assert run_app(["rings", "nothing_like_it"]) == 2
    assert "Unknown task" in capsys.readouterr().err


def test_evaluation_beside_the_paper(tmp_path, capsys, monkeypatch):
    """The command hands its options on and prints judgement, page and what the paper says, as words and as JSON."""
    import numpy as np

    import graphnetz.rings
    from graphnetz.records import CellResult
    from graphnetz.rings.complementarity import ComplementarityProfile
    from graphnetz.rings.evaluate import judge

    asked = {}

    def fake(task, **options):
        name = task.name
        asked.update(options, name=name)
        rng = np.random.default_rng(0)
        cells = [
            CellResult(f"{mode}{s}", f"x@{mode}", "GIN", s, metrics={"test_acc": v, "test_auc": v, "val_acc": v})
            for mode, level in (("o", 0.9), ("eg", 0.5), ("rf", 0.4))
            for s, v in enumerate(level + rng.normal(size=12) / 100)
        ]
        values = {code: np.full((5, 1), 0.5) for code in ("o", "ef", "eg")}
        profile = ComplementarityProfile(values=values, t=(1.0,), name=name)
        return judge(name, cells, complementarity=profile, metrics=("acc", "auc"), modes=("o", "eg", "rf"))

    monkeypatch.setattr(graphnetz.rings, "evaluate", fake)
    out = str(tmp_path / "run")
    more = ["--alpha", "0.1", "--margin", "0.01", "--modes", "o,eg,rf", "--statistic", "ranksum"]
    assert run_app(["rings", "mutag", "--runs", "12", "--model", "GIN", "--out", out, "--compare-paper", *more]) == 0
    said = capsys.readouterr().out
    assert (asked["name"], asked["runs"], asked["models"], asked["out"]) == ("mutag", 12, ("GIN",), out)
    assert (asked["alpha"], asked["margin"], asked["statistic"]) == (0.1, 0.01, "ranksum")
    assert asked["modes"] == ["o", "eg", "rf"]
    assert said.startswith("Verdict: keep (structure informative, features informative)")
    assert "('" not in said  # no Python tuples
    assert "o > eg > rf" in said
    assert "cf/cg/o/rg > eg > rf" in said  # Table 1
    assert "0.767" in said  # Table 6, GIN on the original
    assert "rings.html" in said
    assert run_app(["rings", "evaluate", "mutag", "--compare-paper", "--json"]) == 0
    read = json.loads(capsys.readouterr().out)
    assert read["relations"] == {"acc": "o > eg > rf", "auc": "o > eg > rf"}
    assert read["paper"]["judgement"][-1]["paper"] == "realign"
    assert asked["verbose"] is False
    assert run_app(["rings", "cora", "--compare-paper"]) == 0
    assert "does not treat cora" in capsys.readouterr().out
    assert run_app(["rings", "cora", "--task-type", "link_pred"]) == 0  # it was left aside for names
    assert asked["name"] == "cora_link_pred"
    assert run_app(["rings", "mutag", "--runs", "auto", "--max-runs", "30"]) == 0
    assert (asked["runs"], asked["max_runs"], asked["resplit"]) == ("auto", 30, False)
    monkeypatch.setenv("GRAPHNETZ_MIRROR", "elsewhere")  # restored after the test
    assert run_app(["rings", "cora", "--resplit", "--mirror", str(tmp_path)]) == 0
    assert asked["resplit"] is True
    assert os.environ["GRAPHNETZ_MIRROR"] == str(tmp_path)
    capsys.readouterr()
    for words, said in (
        (["--runs", "many"], "a number or 'auto'"),
        (["--runs", "5", "--max-runs", "30"], "--runs auto"),
        (["--labels", "x.csv"], "is a name"),
        (["--task-type", "node_cls"], "It serves: graph_cls"),
    ):
        assert run_app(["rings", "mutag", *words]) == 2
        assert said in capsys.readouterr().err


def tu_folder(folder, *, graphs=12, attributes=False):
    """A dataset in TU layout: paths and rings of four to six nodes, without node labels."""
    folder.mkdir()
    edges, owner, labels, node = [], [], [], 0
    for index in range(graphs):
        n = 4 + index % 3
        pairs = [(i, i + 1) for i in range(n - 1)] + ([(n - 1, 0)] if index % 2 else [])
        edges += [f"{node + a + 1}, {node + b + 1}" for pair in pairs for a, b in (pair, pair[::-1])]
        owner += [str(index + 1)] * n
        labels.append(str(index % 2))
        node += n
    texts = {"A": edges, "graph_indicator": owner, "graph_labels": labels}
    if attributes:
        texts["node_attributes"] = [f"{i % 5}.5" for i in range(node)]
    for part, lines in texts.items():
        (folder / f"SHAPES_{part}.txt").write_text("\n".join(lines) + "\n")
    return folder


def test_measures_of_data_of_ones_own(tmp_path, capsys):
    """Graphs without features get degrees here as in an evaluation, where NaN was printed before."""
    folder = str(tu_folder(tmp_path / "own"))
    assert run_app(["rings", "complementarity", folder]) == 0
    assert "nan" not in capsys.readouterr().out
    assert run_app(["rings", "diversity", folder]) == 0
    said = capsys.readouterr().out
    assert "level" in said
    assert "('" not in said
    edges = tmp_path / "ring.csv"
    edges.write_text("source,target\n" + "\n".join(f"{i},{(i + 1) % 30}" for i in range(30)))
    assert run_app(["rings", "complementarity", str(edges)]) == 0  # one graph: parts of it, as in an evaluation
    assert "30 ego-graphs of two hops" in capsys.readouterr().out
    features = tmp_path / "features.csv"
    features.write_text("node,size\n" + "\n".join(f"{i},{i % 7}" for i in range(30)))
    assert run_app(["rings", "complementarity", str(edges), "--json"]) == 0
    degrees = json.loads(capsys.readouterr().out)["o"]["mean"]
    assert run_app(["rings", "complementarity", str(edges), "--features", str(features), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["o"]["mean"] != degrees
    (tmp_path / "empty").mkdir()
    assert run_app(["rings", "diversity", str(tmp_path / "empty")]) == 2
    assert "TU layout" in capsys.readouterr().err
    assert run_app(["rings", "diversity", str(tmp_path / "missing.csv")]) == 2
    assert "There is no" in capsys.readouterr().err


def test_own_data_as_files(tmp_path):
    import pytest
    import torch
    from torch_geometric.data import Data, InMemoryDataset

    from graphnetz._core.errors import DataError
    from graphnetz.rings import read_pyg, task_from_source

    shapes = task_from_source(tu_folder(tmp_path / "own", attributes=True))
    assert (shapes.name, shapes.task_type) == ("SHAPES", "graph_cls")
    assert shapes.loader()[0].x.shape == (4, 1)  # the attributes, as the paper has them
    graphs = [
        Data(x=torch.eye(3), edge_index=torch.tensor([[0, 1], [1, 2]]), y=torch.tensor([i % 2])) for i in range(4)
    ]
    torch.save(graphs, tmp_path / "graphs.pt")
    torch.save(InMemoryDataset.collate(graphs), tmp_path / "collated.pt")
    for name in ("graphs", "collated"):
        back = read_pyg(tmp_path / f"{name}.pt")
        assert [int(data.y) for data in back] == [0, 1, 0, 1]
        assert all(torch.equal(data.edge_index, graphs[0].edge_index) for data in back)
        assert task_from_source(tmp_path / f"{name}.pt").task_type == "graph_cls"
    torch.save(Data(x=torch.eye(3), edge_index=graphs[0].edge_index, y=torch.tensor([0, 1, 0])), tmp_path / "one.pt")
    assert task_from_source(tmp_path / "one.pt").task_type == "node_cls"
    torch.save([Data(edge_index=graphs[0].edge_index, y=torch.tensor([0.5]))] * 3, tmp_path / "real.pt")
    assert task_from_source(tmp_path / "real.pt").task_type == "graph_reg"
    marker = tmp_path / "ran"
    torch.save({"x": _Runs(str(marker))}, tmp_path / "bad.pt")
    with pytest.raises(DataError, match="was not read"):
        read_pyg(tmp_path / "bad.pt")
    assert not marker.exists()
    torch.save({"x": torch.eye(2)}, tmp_path / "none.pt")
    with pytest.raises(DataError, match="holds no graphs"):
        read_pyg(tmp_path / "none.pt")


class _Runs:
    """What a pickle could do."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return open, (self.path, "w")


def test_decisions_from_scores_trained_elsewhere(tmp_path, capsys):
    path = tmp_path / "scores.csv"
    rows = [
        f"{mode},{base + i % 3 / 100},{i}" for mode, base in (("o", 0.9), ("eg", 0.5), ("cf", 0.9)) for i in range(12)
    ]
    path.write_text("mode,score,run\n" + "\n".join(rows))
    assert run_app(["rings", "separability", str(path), "--margin", "0.02", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["decisions"]["structure"]["outcome"] == "informative"
    assert said["decisions"]["features"]["outcome"] == "uninformative"
    path.write_text("mode,score\no,1\neg,0\n")
    assert run_app(["rings", "separability", str(path), "--margin", "0.02"]) == 2
    assert "column run" in capsys.readouterr().err


def test_table_of_many(tmp_path, capsys):
    from graphnetz.records import Section
    from graphnetz.report.sections import write_section

    facts = {
        "verdict": "undecided", "structure": "informative", "features": "undecided", "scores": [3.0, 5.0], "runs": 20,
        "needed": 34, "diversity": {"structural": 0.51, "features": 0.76}, "width": 7,
    }  # fmt: skip
    for name in ("mutag", "mine"):
        write_section(tmp_path / name, Section(f"rings-{name}", f"Is {name} fit?", extra=facts))
    folders = [str(tmp_path / name) for name in ("mutag", "mine")]
    page = tmp_path / "taxonomy.html"
    assert run_app(["rings", "table", *folders, "--out", str(page)]) == 0
    said = capsys.readouterr().out
    assert "3 to 5" in said
    assert "realign (1.5)" in said  # the paper on MUTAG
    assert "2 undecided" in said
    assert "<img" in page.read_text()
    assert run_app(["rings", "table", *folders, "--json"]) == 0
    assert [item["published"] for item in json.loads(capsys.readouterr().out)] == [[1.5, "realign"], None]
    assert run_app(["rings", "table", str(tmp_path / "nowhere")]) == 2
    assert "There is no folder" in capsys.readouterr().err


def test_measures_of_the_catalogue_are_those_of_an_evaluation(shared_data, tmp_path, capsys, monkeypatch):
    """Degrees were added and ego-graphs taken in ``evaluate`` only: IMDB-BINARY printed NaN, Cora its whole graph."""
    monkeypatch.setenv("GRAPHNETZ_MIRROR", "")  # restored after the test
    where = ["--root", str(tmp_path), "--mirror", str(shared_data)]
    assert run_app(["rings", "complementarity", "imdb_binary", *where, "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert abs(rows["o"]["mean"] - 0.49) <= 0.005  # Table 2 of the paper
    assert run_app(["rings", "complementarity", "cora", *where, "--modes", "o"]) == 0
    said = capsys.readouterr().out
    assert "nan" not in said
    assert "Taken over 200 ego-graphs of two hops" in said
