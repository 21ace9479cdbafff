"""The gate of a build: a drop fails it, noise does not, and what cannot be told is said."""

import json
import os
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
import yaml
from scipy import stats

from graphnetz._core.errors import DataError, UsageError
from graphnetz.analysis.gate import gate
from graphnetz.cli.app import run_app
from graphnetz.cli.load import load_report
from graphnetz.records.digests import digest_of
from graphnetz.report import BenchmarkReport, example_report
from graphnetz.report.baseline import read_baseline, write_baseline
from graphnetz.report.gates import gate_markdown, gate_reports, junit
from graphnetz.testing import assert_not_worse

ROOT = Path(__file__).parents[2]


def report(**scores):
    return BenchmarkReport.from_scores({k: np.asarray(v, float) for k, v in scores.items()}, metric="acc", task="cora")


def csv_of(path, scores, shift=0.0, metric="test_acc"):
    lines = [f"cora,GCN,{i},{v + shift},{metric}" for i, v in enumerate(scores)]
    path.write_text("task,model,seed,score,metric\n" + "\n".join(lines) + "\n")
    return str(path)


SCORES = (0.81, 0.803, 0.832, 0.795, 0.82, 0.809, 0.811, 0.8, 0.79, 0.82)


@pytest.mark.parametrize("seeds", [3, 5, 10])
def test_a_drop_of_five_points_on_all_seeds_fails_the_build(tmp_path, seeds, capsys):
    """It ended with 0 on three and on five seeds: the same difference everywhere leaves nothing to test against."""
    old = csv_of(tmp_path / "old.csv", SCORES[:seeds])
    new = csv_of(tmp_path / "new.csv", SCORES[:seeds], -0.05)
    assert run_app(["compare", old, new, "--fail-if-worse"]) == 1
    assert "The gate fails: 1 of 1" in capsys.readouterr().out
    assert run_app(["compare", old, new, "--fail-if-worse", "--margin", "0.06"]) == 0
    assert run_app(["compare", new, old, "--fail-if-worse"]) == 0
    assert run_app(["compare", old, old, "--fail-if-worse"]) == 0
    assert run_app(["compare", old, new, "--fail-if-worse", "--margin", "nan"]) == 2
    assert run_app(["compare", old, new, "--junit", "x.xml"]) == 2


def test_lower_is_better_for_errors(tmp_path):
    old = csv_of(tmp_path / "old.csv", SCORES, metric="test_mae")
    new = csv_of(tmp_path / "new.csv", SCORES, 0.05, metric="test_mae")
    assert run_app(["compare", old, new, "--fail-if-worse"]) == 1
    assert run_app(["compare", new, old, "--fail-if-worse"]) == 0


@pytest.mark.parametrize("margin", [0.0, 0.01])
def test_p_is_that_of_a_one_sided_paired_test(margin):
    rng = np.random.default_rng(5)
    a = rng.normal(0.8, 0.02, 8)
    b = a - 0.015 + rng.normal(0, 0.01, 8)
    row = gate(report(m=a).analysis, report(m=b).analysis, margin=margin).rows[0]
    assert row.p == pytest.approx(stats.ttest_rel(a - margin, b, alternative="greater").pvalue, rel=1e-9)


def test_what_the_candidate_lacks_or_fails_is_worse_and_other_seeds_get_welch():
    old = report(a=SCORES, b=SCORES)
    gone = gate_reports(old, report(a=SCORES))
    assert [(row.model, row.outcome, row.reason) for row in gone.worse] == [
        ("b", "worse", "the candidate has no score")
    ]
    failing = gate_reports(old, report(a=SCORES, b=(*SCORES[:8], np.nan, np.nan)))
    assert "2 of 10 seeds fail" in failing.worse[0].reason
    assert not gate_reports(old, report(a=SCORES[:6], b=SCORES[:6])).failed
    frame = {"task": "cora", "model": "a", "seed": range(20, 25), "score": np.array(SCORES[:5]) - 0.1, "metric": "acc"}
    other = gate_reports(report(a=SCORES), BenchmarkReport.from_scores(frame | {"metric": "test_acc"}))
    witness = stats.ttest_ind(SCORES, np.array(SCORES[:5]) - 0.1, equal_var=False, alternative="greater").pvalue
    assert other.rows[0].p == pytest.approx(witness, rel=1e-9)
    assert other.failed


def test_one_seed_cannot_tell_and_strict_decides():
    found = gate_reports(report(a=[0.8]), report(a=[0.7]))
    assert (found.failed, found.rows[0].outcome) == (False, "unsure")
    assert "too few seeds to tell" in found.sentence()
    assert gate_reports(report(a=[0.8]), report(a=[0.7]), strict=True).failed
    assert gate_reports(report(a=[0.8, 0.81]), report(a=[0.7, 0.71])).rows[0].outcome == "unsure"


def test_two_runs_that_share_nothing_do_not_pass():
    assert gate_reports(report(a=SCORES), report(b=SCORES)).failed
    other = BenchmarkReport.from_scores({"a": SCORES}, metric="mae", task="cora")
    found = gate_reports(report(a=SCORES), other)
    assert found.failed
    assert found.incomparable[0][0] == "cora"


def test_junit_and_markdown_say_the_same(tmp_path):
    evil = "<b>|`x`\x1b[31m"
    old = BenchmarkReport.from_scores({evil: SCORES, "ok": SCORES}, metric="acc", task="cora")
    new = BenchmarkReport.from_scores({evil: np.array(SCORES) - 0.05, "ok": SCORES}, metric="acc", task="cora")
    found = gate_reports(old, new)
    suite = ElementTree.fromstring(junit(found))
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("2", "1", "0")
    assert len(suite.findall("testcase/failure")) == 1
    text = gate_markdown(found)
    assert text.count("**worse**") == 1
    assert "<b>" not in text
    assert "\x1b" not in text + junit(found)


def test_a_baseline_is_small_reads_back_and_refuses_edits(tmp_path, capsys):
    made = example_report()
    path = write_baseline(made, tmp_path / "baseline.json")
    again = read_baseline(path)
    assert gate_reports(made, again).sentence() == "The gate passes: all 6 (task, model) pairs have identical scores."
    assert {(r.task, r.model, r.seed): r.value for r in again.results} == {
        (r.task, r.model, r.seed): r.value for r in made.results
    }
    assert load_report(path).seeds == made.seeds
    text = path.read_text()
    first = next(line for line in text.splitlines() if '"0": 0.' in line)
    path.write_text(text.replace(first, first.replace("0.", "0.9", 1), 1))
    with pytest.raises(DataError, match="was edited"):
        load_report(path)
    for place, value in (
        (("tasks", "cora", "metric"), None),
        (("scores", "cora", "GCN", "0"), 7.5),
        (("scores",), [1]),
    ):
        body = json.loads(text)
        del body["digest"]
        node = body
        for key in place[:-1]:
            node = node[key]
        node[place[-1]] = value
        path.write_text(json.dumps(body | {"digest": digest_of(body)}))
        with pytest.raises(DataError):
            load_report(path)
    source = csv_of(tmp_path / "s.csv", SCORES)
    assert run_app(["baseline", source, "--out", str(tmp_path / "b.json"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["cells"] == 10
    assert run_app(["compare", str(tmp_path / "b.json"), source, "--fail-if-worse", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["failed"] is False


def test_assert_not_worse_takes_lists_reports_and_files(tmp_path):
    assert not assert_not_worse(SCORES, SCORES).failed
    with pytest.raises(AssertionError, match=r"became worse by more than 0\.01"):
        assert_not_worse(report(a=SCORES), report(a=np.array(SCORES) - 0.05), margin=0.01)
    path = csv_of(tmp_path / "new.csv", SCORES)
    assert not assert_not_worse(path, Path(path)).failed
    with pytest.raises(UsageError, match="There is no"):
        assert_not_worse(tmp_path / "absent", path)


def test_the_plugin_gives_the_fixture_and_loads_nothing_else(tmp_path):
    (tmp_path / "test_mine.py").write_text(
        "import sys\n"
        "def test_light():\n"
        "    assert not {'torch', 'pandas', 'scipy', 'numpy'} & set(sys.modules)\n"
        "def test_gate(assert_not_worse):\n"
        "    assert_not_worse([.8, .81, .79], [.8, .81, .79])\n"
    )
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "graphnetz.pytest_plugin",
        "-p",
        "no:cacheprovider",
        "test_mine.py",
    ]
    env = os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "2 passed" in done.stdout


def test_the_action_runs_the_gate(tmp_path):
    action = yaml.safe_load((ROOT / "action.yml").read_text())
    steps = {step["name"]: step for step in action["runs"]["steps"]}
    assert not any("${{" in step["run"] for step in steps.values())  # inputs reach the shell as values, not as code
    old, new = csv_of(tmp_path / "old.csv", SCORES), csv_of(tmp_path / "new.csv", SCORES, -0.05)
    (tmp_path / "graphnetz").write_text(
        f"#!/usr/bin/env bash\nexec {sys.executable} -c 'import sys; from graphnetz.cli import main; sys.exit(main())' \"$@\"\n"
    )
    (tmp_path / "graphnetz").chmod(0o755)
    env = os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT / "src"), "MARGIN": "0.01",
                        "STRICT": "false", "GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md")}  # fmt: skip
    for candidate, code in ((new, 1), (old, 0)):
        done = subprocess.run(
            ["bash", "-e", "-c", steps["Compare"]["run"]], cwd=tmp_path, capture_output=True, text=True, check=False,
            env=env | {"BASELINE": old, "CANDIDATE": candidate},
        )  # fmt: skip
        assert done.returncode == code, done.stderr
    assert "The gate fails" in (tmp_path / "summary.md").read_text()
    assert (tmp_path / "graphnetz-gate.xml").is_file()
