"""The command line from outside: folders, exit codes, start-up."""

import json
import subprocess
import sys
import time

import pytest

from graphnetz.cli.app import run_app

RUN = [
    "run",
    "--task",
    "karate_clubs",
    "--model",
    "GCN",
    "--model",
    "Majority",
    "--seeds",
    "3",
    "--epochs",
    "3",
    "--quiet",
]


@pytest.fixture(scope="module")
def offline_task():
    from graphnetz.datasets import SUITES

    return next(t.name for t in SUITES["first-default"]() if t.task_type == "node_cls")


@pytest.fixture(scope="module")
def folder(tmp_path_factory, offline_task):
    out = tmp_path_factory.mktemp("cli") / "run"
    code = run_app(["run", "--suite", "first-default", "--task", offline_task, "--model", "GCN", "--model", "Majority",
                    "--seeds", "3", "--epochs", "3", "--out", str(out), "--quiet"])  # fmt: skip
    assert code == 0
    return out


def test_a_run_leaves_the_promised_files(folder):
    promised = [
        "config.toml",
        "store.sqlite",
        "results.json",
        "provenance.json",
        "summary.csv",
        "summary.md",
        "pairwise.csv",
        "pairwise_both.csv",
        "costs.csv",
        "results.tex",
        "pairwise.tex",
        "report.html",
    ]
    assert not [name for name in promised if not (folder / name).is_file()]
    figures = {p.name for p in (folder / "figures").iterdir()}
    for kind in ("forest", "pairwise", "learning_curves", "dashboard"):
        assert any(kind in name and name.endswith(".pdf") for name in figures), kind
        assert any(kind in name and name.endswith(".png") for name in figures), kind
    assert not list(folder.glob("store.sqlite-*"))


def test_running_again_trains_nothing_and_changes_no_result_file(folder):
    def snapshot():
        skip = ("provenance.json", "costs.csv", "report.html", "store.sqlite")
        return {p: p.read_bytes() for p in folder.rglob("*") if p.is_file() and p.name not in skip}

    before = snapshot()
    assert run_app(["resume", str(folder), "--quiet"]) == 0
    after = snapshot()
    assert before.keys() == after.keys()
    assert [p.name for p in before if before[p] != after[p]] == []


def test_two_fresh_runs_are_bit_identical(folder, tmp_path, offline_task):
    out = tmp_path / "again"
    run_app(["run", "--suite", "first-default", "--task", offline_task, "--model", "GCN", "--model", "Majority",
             "--seeds", "3", "--epochs", "3", "--out", str(out), "--quiet", "--workers", "1"])  # fmt: skip
    for name in ("results.json", "summary.csv", "pairwise.csv", "results.tex"):
        assert (out / name).read_bytes() == (folder / name).read_bytes(), name


def test_adding_a_seed_adds_only_its_cells(folder, tmp_path, offline_task):
    import shutil

    from graphnetz.engine.store import Store

    out = tmp_path / "more"
    shutil.copytree(folder, out)
    with Store.open(out, readonly=True) as store:
        before = {r.key: r.seconds for r in store.results(histories=False)}
    run_app(["run", "--suite", "first-default", "--task", offline_task, "--model", "GCN", "--model", "Majority",
             "--seeds", "4", "--epochs", "3", "--out", str(out), "--quiet"])  # fmt: skip
    with Store.open(out, readonly=True) as store:
        after = {r.key: r.seconds for r in store.results(histories=False)}
    assert len(after) == len(before) + 2
    assert {k: after[k] for k in before} == before


def test_status_and_report_and_json(folder, capsys):
    assert run_app(["status", str(folder)]) == 0
    assert "6 ok" in capsys.readouterr().out
    assert run_app(["report", str(folder), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)
    assert run_app(["list", "datasets", "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)) >= 10
    for what in ("models", "suites", "tasks", "categories", "metrics", "tests"):
        assert run_app(["list", what]) == 0
    capsys.readouterr()
    assert run_app(["doctor", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)


def test_scores_trained_elsewhere(tmp_path, capsys):
    rows = ["task,model,seed,score,metric,greater_is_better"]
    rows += [f"t,{m},{s},{0.5 + 0.1 * (m == 'B') + 0.01 * s},acc,True" for m in "AB" for s in range(6)]
    (tmp_path / "scores.csv").write_text("\n".join(rows))
    assert run_app(["report", str(tmp_path / "scores.csv")]) == 0
    assert (tmp_path / "scores" / "report.html").exists()


def test_failed_cells_are_named_and_exit_with_1(tmp_path, capsys, offline_task):
    code = run_app(["run", "--suite", "first-default", "--task", offline_task, "--model", "GCN", "--seeds", "2", "--epochs",
                    "3", "--lr", "1e38", "--out", str(tmp_path / "run"), "--quiet"])  # fmt: skip
    assert code == 1
    said = capsys.readouterr().err
    assert f"GCN diverged on 2 of 2 cells ({offline_task} seeds 0, 1)" in said


def heavy_modules(*arguments):
    code = (
        "import sys; sys.argv=['graphnetz', *sys.argv[1:]]\nfrom graphnetz.cli.app import run_app\nrun_app()\n"
        "print([m for m in ('torch','pandas','scipy','sklearn','numba','matplotlib') if m in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=True)
    return done.stderr.strip().splitlines()[-1]


@pytest.mark.parametrize("arguments", [("--help",), ("run", "--help"), ("list", "datasets")])
def test_light_commands_import_nothing_heavy(arguments):
    assert heavy_modules(*arguments) == "[]"


def test_help_starts_quickly():
    best = 9.0
    for _ in range(3):
        start = time.perf_counter()
        subprocess.run([sys.executable, "-m", "graphnetz", "--help"], capture_output=True, check=True)
        best = min(best, time.perf_counter() - start)
    assert best < 0.8  # 0.4 s on an idle machine; twice that where tests run side by side


def test_a_run_does_not_wait_for_plotting_or_for_classical_learners():
    code = (
        "import sys; from graphnetz import GCN, BenchmarkReport, run_benchmark; "
        "print([m for m in ('matplotlib', 'scipy.stats', 'sklearn', 'statsmodels') if m in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


def test_status_of_a_killed_run_says_what_the_page_says(tmp_path, capsys):
    """Its last cell is still claimed: the status called it running until the lease ended."""
    from graphnetz.cli.live import Live
    from graphnetz.engine.store import Store
    from graphnetz.engine.store.owners import new_owner
    from graphnetz.records import Cell, Protocol

    machine, _, _, tail = new_owner().split("|")
    dead = f"{machine}|4194303|1|{tail}"  # a process that is no more
    cells = [Cell(f"c{seed}", "cora", "GCN", seed, Protocol()) for seed in range(2)]
    with Store.create(tmp_path / "run") as store:
        store.plan(cells)
        store.claim("c0", dead)
    assert Live(tmp_path / "run").status()["state"] == "stopped"
    assert run_app(["status", str(tmp_path / "run")]) == 0
    said = capsys.readouterr().out
    assert "2 pending" in said
    assert "running:" not in said
    assert "not running; go on with: graphnetz resume" in said
