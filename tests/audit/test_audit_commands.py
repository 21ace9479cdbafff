"""`doctor --task`, `run --audit`, and the audit from Python."""

import json
import subprocess
import sys

from graphnetz.cli.app import run_app


def test_doctor_prints_findings_and_the_report_shows_them(tmp_path, capsys):
    root, out = str(tmp_path / "data"), str(tmp_path / "run")
    assert run_app(["doctor", "--task", "kinship_rules", "--root", root, "--out", out]) == 1
    assert "[leak] kinship_rules: reverse_pairs" in capsys.readouterr().out
    assert run_app(["doctor", "--task", "les_miserables", "--root", root]) == 0
    assert "No check found anything" in capsys.readouterr().out
    assert run_app(["doctor", "--task", "kinship_rules", "--root", root, "--json"]) == 1
    assert json.loads(capsys.readouterr().out)[0]["level"] == "leak"
    assert run_app(["doctor", "--task", "no_such_task"]) == 2


def test_run_with_an_audit_first(tmp_path, capsys):
    out = tmp_path / "run"
    code = run_app(
        ["run", "--task", "karate_club", "--model", "Majority", "--model", "FeatureOnly", "--seeds", "3", "--audit",
         "--backend", "serial", "--quiet", "--root", str(tmp_path / "data"), "--out", str(out)]
    )  # fmt: skip
    assert code == 0
    assert "[warning] karate_club" in capsys.readouterr().err
    sections = {section["name"] for section in json.loads((out / "results.json").read_text())["sections"]}
    assert {"audit", "preregistration"} <= sections
    assert "Leaks and sanity of the tasks" in (out / "report.html").read_text()


def test_the_package_is_callable_whatever_was_imported_before():
    code = (
        "import graphnetz.audit, graphnetz; from graphnetz.audit import Finding; "
        "print(callable(graphnetz.audit), graphnetz.audit.audit.__name__)"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.split() == ["True", "audit"]
