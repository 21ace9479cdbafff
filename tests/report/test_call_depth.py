"""From a command to a paired test: few own frames in few files, so that a reader finds the way."""

import sys
from pathlib import Path

import pandas as pd
import pytest

import graphnetz
from graphnetz.analysis import comparisons
from graphnetz.cli.app import run_app
from graphnetz.stats import paired_test_rows

PACKAGE = Path(graphnetz.__file__).parent


@pytest.fixture
def seen(monkeypatch):
    """Own frames of the first call of the paired tests of a task, outermost first, and the tests themselves."""
    found = []

    def probe(*arguments, **options):
        if not found:
            found.append((Path("stats/paired_rows.py"), "paired_test_rows"))
            frame = sys._getframe(1)
            while frame is not None:
                if Path(frame.f_code.co_filename).is_relative_to(PACKAGE):
                    found.insert(0, (Path(frame.f_code.co_filename).relative_to(PACKAGE), frame.f_code.co_name))
                frame = frame.f_back
        return paired_test_rows(*arguments, **options)

    monkeypatch.setattr(comparisons, "paired_test_rows", probe)
    return found


def check(seen):
    assert seen
    assert seen[0][1] == "run_app"
    assert len(seen) <= 10, seen
    assert len({path for path, _ in seen}) <= 6, seen


def test_from_report(tmp_path, seen):
    rows = [("cora", m, s, 0.1 * s + 0.5 * i, "test_acc") for i, m in enumerate("AB") for s in range(3)]
    pd.DataFrame(rows, columns=["task", "model", "seed", "score", "metric"]).to_csv(tmp_path / "x.csv", index=False)
    assert run_app(["report", str(tmp_path / "x.csv"), "--no-figures"]) == 0
    check(seen)


def test_from_run(tmp_path, seen):
    flags = ["--task", "karate_club", "--model", "GCN", "--model", "Majority", "--epochs", "2", "--backend", "serial"]
    flags += ["--root", str(tmp_path / "data"), "--out", str(tmp_path / "run"), "--quiet", "--seeds", "2"]
    assert run_app(["run", *flags]) == 0
    check(seen)
