"""What a terminal of 80 columns shows: whole names, whole sentences, reasons once."""

import io
import re
import sys

import pytest
import typer.main

from graphnetz._core.errors import unknown_name
from graphnetz.cli import app as cli
from graphnetz.cli.app import ORDER
from graphnetz.cli.run import absent_lines, failure_lines
from graphnetz.records import CellResult
from graphnetz.report import BenchmarkReport, example_report


def commands():
    cli.load_commands()
    root = typer.main.get_command(cli.app)
    out = [()]
    for name, command in sorted(root.commands.items()):
        out.append((name,))
        out += [(name, inner) for inner in sorted(getattr(command, "commands", {}))]
    return out


@pytest.fixture
def narrow(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")


@pytest.mark.parametrize("words", commands(), ids="-".join)
def test_no_line_of_any_help_is_cut_or_too_long(words, narrow, capsys):
    assert cli.run_app([*words, "--help"]) == 0
    lines = capsys.readouterr().out.splitlines()
    # Repeatable arguments are written NAME... by the parser.
    cut = [line for line in lines if re.search(r"…|[a-z ,]\.\.\.$", line) and "Usage:" not in line]
    assert cut == []
    assert [line for line in lines if len(line) > 80] == []


@pytest.mark.parametrize("what", ["", "datasets", "models", "suites", "tasks", "metrics", "selectors"])
def test_lists_show_whole_names_at_80_columns(what, narrow, capsys):
    assert cli.run_app(["list", *filter(None, [what]), "--json"]) == 0
    import json

    rows = json.loads(capsys.readouterr().out)
    assert cli.run_app(["list", *filter(None, [what])]) == 0
    text = capsys.readouterr().out
    assert "…" not in text
    first = {line.split("  ")[0].strip() for line in text.splitlines()}
    names = {row.get("name") or row["list"] for row in rows}
    assert names <= first
    assert max(map(len, text.splitlines())) <= 80


def test_tasks_that_only_suites_use_are_listed_with_their_suites(capsys):
    from graphnetz.datasets import SUITES

    assert cli.run_app(["list", "tasks", "--json"]) == 0
    import json

    rows = {row["name"]: row["suites"].split(", ") for row in json.loads(capsys.readouterr().out)}
    for name in ("default", "cross-category"):
        assert all(name in rows[task.name] for task in SUITES[name]())


def test_every_registry_of_the_package_is_listed():
    import tomllib
    from pathlib import Path

    import graphnetz

    root = Path(graphnetz.__file__).parent
    declared = tomllib.loads((root / "cli" / "registries.toml").read_text())
    made = {
        match
        for path in root.rglob("*.py")
        for match in re.findall(r"^([A-Z_]+)\b[^=\n]*= Registry\(", path.read_text(), re.MULTILINE)
    }
    assert made <= {value.partition(":")[2] for value in declared.values()}


def test_a_typo_is_answered_with_three_names():
    many = [f"dataset_{i}" for i in range(200)]
    text = str(unknown_name("dataset", "dataset_1x", many))
    assert text.count("dataset_") == 4
    assert "Did you mean 'dataset_1" in text
    assert len(str(unknown_name("dataset", "zzz", many))) < 160
    assert "Known: a, b." in str(unknown_name("thing", "x", ["a", "b"]))


def test_a_run_without_a_suite_says_what_it_would_do(capsys, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    assert cli.run_app(["run"]) == 2
    said = capsys.readouterr().err
    assert "12 tasks" in said
    assert "--suite default" in said
    assert said.count("\n") == 1


def failed(task, model, seed, error):
    return CellResult(f"{task}{model}{seed}", task, model, seed, "failed", "test_acc", True, error=error)


def test_a_failed_model_shows_its_reason_once():
    error = "ValueError: bad width (at mine.py:12 in forward)"
    cells = [failed(task, "Mine", seed, error) for task in ("cora", "pubmed") for seed in range(10)]
    lines = failure_lines([*cells, failed("cora", "GAT", 3, "RuntimeError: no memory")], 60)
    assert lines == [
        f"Mine failed on 20 of 60 cells (cora seeds 0 to 9; pubmed seeds 0 to 9): {error}",
        "GAT failed on 1 of 60 cells (cora seed 3): RuntimeError: no memory",
    ]


def test_a_model_without_a_cell_says_why_with_file_and_line(tmp_path, monkeypatch, capsys):
    """Code that fails on the first batch is trained nowhere: the table said n/a and nobody said why."""
    reasons = {
        ("cora", "Mine"): "Mine cannot do node classification: ValueError: no (at mine.py:7 in forward)",
        ("a", "GIN"): "GIN does not serve node_cls", ("b", "GIN"): "GIN does not serve node_cls",
        ("c", "GIN"): "GIN does not serve link_pred",
    }  # fmt: skip
    assert absent_lines(reasons) == [
        "n/a: GIN does not serve node_cls (2 tasks); does not serve link_pred (1 task)",
        "n/a: Mine cannot do node classification: ValueError: no (at mine.py:7 in forward) (1 task)",
    ]
    (tmp_path / "mine.py").write_text(
        "import torch\nclass Broken(torch.nn.Module):\n    def __init__(self, in_channels, out_channels):\n"
        "        super().__init__()\n        self.w = torch.nn.Linear(in_channels, out_channels)\n"
        "    def forward(self, x, edge_index):\n        return x @ torch.ones(3, 3)\n"
    )
    monkeypatch.chdir(tmp_path)
    asked = ["--task", "random_maxflow", "--model", "GCN", "--model", "mine.py:Broken"]
    cli.run_app(["run", *asked, "--seeds", "1", "--epochs", "1", "--backend", "serial", "--out", "run"])
    said = capsys.readouterr().err
    assert "1 task x 2 models x 1 seed (0): 1 cell, without 1 pair of task and model that does not fit." in said
    (line,) = [line for line in said.splitlines() if line.startswith("n/a: Broken ")]
    assert "mine.py:7 in forward" in line
    declared = (
        (tmp_path / "mine.py")
        .read_text()
        .replace("    def __init__", "    task_types = {'link_pred'}\n    def __init__", 1)
    )
    (tmp_path / "told.py").write_text(declared)
    again = [
        *asked[:-1],
        "told.py:Broken",
        "--seeds",
        "1",
        "--epochs",
        "1",
        "--backend",
        "serial",
        "--quiet",
        "--out",
        "b",
    ]
    assert cli.run_app(["run", *again]) == 1
    lines = [line for line in capsys.readouterr().err.splitlines() if "told.py:8 in forward" in line]
    assert len(lines) == 1  # its cells failed: the reason stands with their number, and nowhere else


def test_comparisons_print_what_decides_within_80_columns():
    """Of thirty-six columns pandas printed the first four and the last four: no p, no interval, no answer."""
    frame = example_report().pairwise()
    lines = str(frame).splitlines()
    assert lines[0].split() == list(frame._FIRST)
    assert max(map(len, lines[:-1])) <= 80
    assert "p_holm" in lines[-1]
    assert "p_holm" in str(frame[["p_holm"]])
    assert frame.columns[:4].tolist() == ["task", "model_a", "model_b", "mean_diff"]


def test_help_begins_with_what_somebody_does_first(capsys):
    assert cli.run_app(["--help"]) == 0
    listed = [
        line.split()[0] for line in capsys.readouterr().out.partition("Commands:")[2].splitlines() if line[2:3].strip()
    ]
    assert listed[:4] == ["check", "run", "resume", "status"]
    assert set(ORDER) < set(listed)


def test_the_summary_prints_mean_and_interval_first_within_80_columns():
    frame = example_report().summary()
    text = str(frame)
    head = text.splitlines()[0].split()
    assert head == ["mean", "ci_half", "ci_low", "ci_high", "n_seeds"]
    assert max(map(len, text.splitlines()[:-1])) <= 80
    assert "corrected_low" in text.splitlines()[-1]
    assert list(frame.columns[:7]) == ["n_seeds", "mean", "std", "sem", "ci_low", "ci_high", "ci_half"]
    assert "n_seeds" in str(frame[["n_seeds"]])
    assert str(frame["mean"])


def test_printed_verdicts_name_their_task_once():
    text = str(example_report().verdicts())
    assert text.splitlines().count("cora:") == 1
    assert all(line.startswith("  - ") or line.endswith(":") for line in text.splitlines())


def test_the_command_prints_verdicts_by_task(tmp_path, capsys):
    example_report().frame("cells").to_csv(tmp_path / "scores.csv", index=False)
    assert cli.run_app(["report", str(tmp_path / "scores.csv"), "--no-figures"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines.count("cora") == 1
    assert lines.count("zinc") == 1
    assert isinstance(example_report(), BenchmarkReport)
