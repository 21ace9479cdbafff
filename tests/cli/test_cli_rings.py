"""The RINGS commands: words for people, JSON for scripts, one sentence for mistakes."""

import json

from graphnetz.cli.app import run_app


def test_measures_of_an_offline_dataset(tmp_path, capsys):
    root = str(tmp_path)
    assert run_app(["rings", "diversity", "digits_superpixels", "--root", root, "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert 0 <= said["mean"]["structural"] <= 1
    assert run_app(["rings", "complementarity", "digits_superpixels", "--root", root]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(":")[0] for line in lines] == ["o", "eg", "cg", "ef", "cf"]


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

    def fake(name, **options):
        asked.update(options, name=name)
        rng = np.random.default_rng(0)
        cells = [
            CellResult(f"{mode}{s}", f"x@{mode}", "GIN", s, metrics={"test_acc": v, "test_auc": v})
            for mode, level in (("o", 0.9), ("eg", 0.5), ("rf", 0.4))
            for s, v in enumerate(level + rng.normal(size=12) / 100)
        ]
        values = {code: np.full((5, 1), 0.5) for code in ("o", "ef", "eg")}
        profile = ComplementarityProfile(values=values, t=(1.0,), name=name)
        return judge(name, cells, complementarity=profile, metrics=("acc", "auc"), modes=("o", "eg", "rf"))

    monkeypatch.setattr(graphnetz.rings, "evaluate", fake)
    out = str(tmp_path / "run")
    assert run_app(["rings", "mutag", "--runs", "12", "--model", "GIN", "--out", out, "--compare-paper"]) == 0
    said = capsys.readouterr().out
    assert (asked["name"], asked["runs"], asked["models"], asked["out"]) == ("mutag", 12, ("GIN",), out)
    assert "o > eg > rf" in said
    assert "cf/cg/o/rg > eg > rf" in said  # Table 1
    assert "0.767" in said  # Table 6, GIN on the original
    assert "report.html" in said
    assert run_app(["rings", "evaluate", "mutag", "--compare-paper", "--json"]) == 0
    read = json.loads(capsys.readouterr().out)
    assert read["relations"] == {"acc": "o > eg > rf", "auc": "o > eg > rf"}
    assert read["paper"]["judgement"][-1]["paper"] == "realign"
    assert asked["verbose"] is False
    assert run_app(["rings", "cora", "--compare-paper"]) == 0
    assert "does not treat cora" in capsys.readouterr().out
