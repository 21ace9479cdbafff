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
