"""Parts of a run: together they are the run, merged they are its report; seeds that stop by a rule keep tasks whole."""

import json

import pytest

from graphnetz._core.errors import UsageError
from graphnetz.cli.app import run_app
from graphnetz.datasets import SUITES
from graphnetz.engine.run import run_benchmark
from graphnetz.records import RunConfig


def arguments(out, root, *more):
    tasks = [part for name in NAMES for part in ("--task", name)]
    return ["run", "--suite", "first-default", *tasks, "--model", "MLP", "--model", "Majority", "--epochs", "2",
            "--root", str(root), "--out", str(out), "--quiet", *more]  # fmt: skip


NAMES = [task.name for task in SUITES["first-default"]() if task.task_type == "node_cls"][:2]


def cells(folder):
    raw = json.loads((folder / "results.json").read_text())
    return [{key: cell[key] for key in cell} for cell in raw["cells"]]


def test_parts_are_the_run_and_merged_its_report(tmp_path, capsys):
    assert run_app(arguments(tmp_path / "whole", tmp_path, "--seeds", "3")) == 0
    parts = []
    for i in (1, 2, 3):
        out = tmp_path / f"part-{i}"
        assert run_app(arguments(out, tmp_path, "--seeds", "3", "--shard", f"{i}/3")) == 0
        parts.append(str(out))
    counts = [len(cells(tmp_path / f"part-{i}")) for i in (1, 2, 3)]
    assert sum(counts) == len(cells(tmp_path / "whole")) == 12
    assert max(counts) - min(counts) <= 1
    capsys.readouterr()
    assert run_app(["merge", *reversed(parts), "--out", str(tmp_path / "all")]) == 0
    assert cells(tmp_path / "all") == cells(tmp_path / "whole")
    for name in ("summary.csv", "pairwise.csv", "plan.json"):
        assert (tmp_path / "all" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes(), name
    section = next(s for s in json.loads((tmp_path / "all" / "results.json").read_text())["sections"]
                   if s["name"] == "preregistration")  # fmt: skip
    assert "is the one that was planned" in section["verdict"]
    assert run_app(["report", str(tmp_path / "all"), "--no-figures"]) == 0
    capsys.readouterr()
    assert run_app(["merge", *parts[:2], "--out", str(tmp_path / "two")]) == 0
    assert "is not here: the report lacks the cells of 1 of 3 parts." in capsys.readouterr().err
    section = next(s for s in json.loads((tmp_path / "two" / "results.json").read_text())["sections"]
                   if s["name"] == "preregistration")  # fmt: skip
    assert "departs from its plan" in section["verdict"]


def test_automatic_seeds_are_decided_again_over_all_parts(tmp_path, capsys):
    rule = ("--seeds", "auto", "--precision", "0.05", "--max-seeds", "5")
    assert run_app(arguments(tmp_path / "whole", tmp_path, *rule)) == 0
    for i in (1, 2):
        assert run_app(arguments(tmp_path / f"p{i}", tmp_path, *rule, "--shard", f"{i}/2")) == 0
        assert len({cell["task"] for cell in cells(tmp_path / f"p{i}")}) == 1
    assert run_app(["merge", str(tmp_path / "p1"), str(tmp_path / "p2"), "--out", str(tmp_path / "all")]) == 0
    whole, merged = (json.loads((tmp_path / name / "results.json").read_text()) for name in ("whole", "all"))
    pick = [next(s for s in raw["sections"] if s["name"] == "seeds-auto") for raw in (whole, merged)]
    assert pick[0] == pick[1]
    assert whole["config"]["auto"] == merged["config"]["auto"]
    assert run_app(arguments(tmp_path / "fixed", tmp_path, "--seeds", "2")) == 0
    capsys.readouterr()
    assert run_app(["merge", str(tmp_path / "p1"), str(tmp_path / "fixed"), "--out", str(tmp_path / "no")]) == 2
    assert "a fixed number of seeds" in capsys.readouterr().err


@pytest.mark.parametrize("wrong", ["0/3", "4/3", "1", "a/b", "1/0", "-1/3"])
def test_wrong_parts_are_refused(wrong):
    with pytest.raises(UsageError, match="such as 3/20"):
        RunConfig.read({"shard": wrong})


def test_an_empty_part_is_refused(tmp_path):
    task = next(task for task in SUITES["first-default"]() if task.name == NAMES[0])
    with pytest.raises(UsageError, match="at most 2 parts"):
        run_benchmark(tasks=[task], models=["Majority"], seeds=2, shard="3/3", root=str(tmp_path), verbose=False)
    assert RunConfig.read({"shard": "3/20", "task": "cora"}).folder().name == "cora-part-3-of-20"
