"""Real tasks and models through the whole engine: bit-equality, kills, environments, estimates, interruption."""

import importlib.util
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from graphnetz._core.errors import UsageError
from graphnetz.cli.app import run_app
from graphnetz.datasets import SUITES
from graphnetz.engine import outputs
from graphnetz.engine.cost import estimate
from graphnetz.engine.cost.estimate import Estimate, PairCost
from graphnetz.engine.executors import LocalExecutor, SerialExecutor, worker_process
from graphnetz.engine.identity.environment import environment_key
from graphnetz.engine.run import run_benchmark
from graphnetz.engine.store import Store, seal

pytestmark = pytest.mark.alone

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"
SMALL = {"models": ["GCN", "Majority", "DegreeProduct"], "seeds": range(2), "epochs": 2, "verbose": False}


def default_tasks(*names):
    return [task for task in SUITES["first-default"]() if task.name in names]


def bits(report):
    """All numbers of a report down to the last bit."""
    rows = []
    for r in report.results:
        curves = {key: [float(v).hex() for v in values] for key, values in r.history.items()}
        rows.append((r.key, r.status, {key: value.hex() for key, value in r.metrics.items()}, curves, r.environment))
    return rows


def test_serial_and_any_number_of_workers_agree_to_the_last_bit(tmp_path):
    tasks = default_tasks("sbm_communities", "les_miserables")
    assert len(tasks) == 2
    run = {"tasks": tasks, "root": str(tmp_path), **SMALL}
    serial = bits(run_benchmark(backend="serial", **run))
    assert len(serial) == 8
    assert {row[1] for row in serial} == {"ok"}
    for workers in (1, 2):
        assert bits(run_benchmark(backend="local", workers=workers, **run)) == serial


def test_a_large_run_leaves_its_curves_in_the_store_and_loses_no_number(tmp_path, monkeypatch):
    run = {"tasks": default_tasks("les_miserables"), "root": str(tmp_path), "backend": "serial", **SMALL}
    small = run_benchmark(**run)
    monkeypatch.setattr(outputs, "CURVES_UP_TO", len(small.results) - 1)
    large = run_benchmark(**run)
    assert all(r.history for r in small.results)
    assert not any(r.history for r in large.results)
    assert [r.metrics for r in large.results] == [r.metrics for r in small.results]
    assert large.summary().equals(small.summary())
    assert any("left in the store" in note for note in large.provenance["notes"])
    assert not any("left in the store" in note for note in small.provenance["notes"])
    assert all(r.predictions is not None for r in large.results), (
        "they are small, and a run without a folder has no other"
    )
    assert all(r.predictions is None for r in run_benchmark(save_predictions=False, **run).results)


def test_leftovers_of_killed_sittings_are_swept_and_nothing_else(tmp_path):
    (tmp_path / "figures").mkdir()
    old = [tmp_path / ".summary.csv.ab_cdef1", tmp_path / "figures" / ".forest.pdf.abcdefg2"]
    kept = [
        tmp_path / "summary.csv",
        tmp_path / "figures" / "forest.pdf",
        tmp_path / ".hidden",
        tmp_path / ".a.12345678",
    ]
    for path in (*old, *kept):
        path.touch()
        os.utime(path, (1000, 1000))
    young = tmp_path / ".summary.csv.abcdefg3"  # of another runner, at work now
    young.touch()
    outputs._sweep(tmp_path, before=time.time() - 60)
    assert {p for p in tmp_path.rglob("*") if p.is_file()} == {*kept, young}


@pytest.mark.chaos
def test_a_killed_and_resumed_run_leaves_the_same_bytes(tmp_path):
    """One command line run, killed at five steps, against an undisturbed one; see benchmarks/chaos_runs.py."""
    steps = ["claim", "load", "train", "commit", "report:pairwise.csv"]
    program = [sys.executable, str(BENCHMARKS / "chaos_runs.py"), str(tmp_path), *steps]
    done = subprocess.run(program, capture_output=True, text=True, timeout=280)
    assert done.returncode == 0, done.stdout + done.stderr[-3000:]
    assert done.stdout.count("killed at") == 5
    calm = {p.name for p in (tmp_path / "calm" / "run").iterdir()}
    assert {"config.toml", "results.json", "summary.csv", "pairwise_both.csv", "report.html", "figures"} <= calm


def test_the_comparison_of_folders_sees_one_changed_byte(tmp_path):
    spec = importlib.util.spec_from_file_location("chaos_runs", BENCHMARKS / "chaos_runs.py")
    runs = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(runs)
    for name in ("a", "b"):
        (tmp_path / name / "figures").mkdir(parents=True)
        (tmp_path / name / "report.html").write_text(f"x<!-- provenance -->{name}<!-- /provenance -->y")
        (tmp_path / name / "costs.csv").write_text(name)
        (tmp_path / name / "figures" / "f.png").write_bytes(b"1")
    assert runs.differences(tmp_path / "a", tmp_path / "b") == []
    (tmp_path / "b" / "figures" / "f.png").write_bytes(b"2")
    (tmp_path / "a" / "report.html").write_text("z<!-- provenance --><!-- /provenance -->y")
    (tmp_path / "a" / ".summary.csv.abcdefgh").touch()
    assert runs.differences(tmp_path / "a", tmp_path / "b") == [".summary.csv.abcdefgh", "figures/f.png", "report.html"]


@pytest.fixture
def quick_report(monkeypatch):
    """Without the report files: these tests look at the store."""
    monkeypatch.setattr("graphnetz.engine.run.write_outputs", lambda *_, **__: None)


def test_strict_env_compares_with_the_workers_and_trains_only_what_differs(tmp_path, monkeypatch, quick_report):
    monkeypatch.setitem(worker_process._ENVIRONMENT, False, "of the workers")  # forked workers inherit it
    assert environment_key() != "of the workers"
    run = {"tasks": default_tasks("les_miserables"), "root": str(tmp_path / "data"), "out": tmp_path / "run", **SMALL}

    def finished():
        with Store.open(tmp_path / "run") as store:
            rows = store.db.execute("SELECT key, finished_at, environment FROM cells ORDER BY position").fetchall()
        return {key: (at, env) for key, at, env in rows}

    first = run_benchmark(**run)
    before = finished()
    assert {env for _, env in before.values()} == {"of the workers"}
    assert set(first.provenance["environments"]) == {"of the workers", environment_key()}
    run_benchmark(strict_env=True, **run)
    assert finished() == before, "made in the environment of the workers: nothing to do"
    foreign = list(before)[1]
    with Store.open(tmp_path / "run") as store:
        store.db.execute("UPDATE cells SET environment = 'elsewhere' WHERE key = ?", (foreign,))
        seal.everything(store.db)
    mixed = run_benchmark(**run)
    assert mixed.provenance["mixed_environments"], "without the flag it is kept and said"
    again = run_benchmark(strict_env=True, **run)
    after = finished()
    assert {key for key in after if after[key][0] != before[key][0]} == {foreign}
    assert not again.provenance["mixed_environments"]
    assert bits(again) == bits(first)


def test_executors_ask_their_workers_for_the_environment():
    for executor in (SerialExecutor(), LocalExecutor(workers=2)):
        found = executor.environments()
        assert list(found) == [environment_key()]
        assert environment_key(found[environment_key()]) == environment_key()


RUN = ["run", "--suite", "first-default", "--task", "les_miserables", "--seeds", "2"]


def test_dry_run_prices_the_plan_and_refuses_one_over_its_memory(tmp_path, capsys, quick_report):
    dry = [*RUN, "--model", "GCN", "--model", "DegreeProduct", "--out", str(tmp_path / "run"), "--quiet"]
    dry += ["--root", str(tmp_path), "--epochs", "50"]
    assert run_app([*dry, "--dry-run", "--json", "--workers", "2"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert not (tmp_path / "run").exists(), "nothing is trained or made"
    assert (told["cells"], told["missing"], told["workers"], told["fits"]) == (4, 4, 2, True)
    gcn, degree = told["pairs"]
    assert gcn["measured"] == degree["measured"] == "one-epoch probe"
    assert gcn["seconds"] > degree["seconds"] > 0
    assert told["seconds"] == pytest.approx(gcn["seconds"] + degree["seconds"], abs=0.06)

    with pytest.MonkeyPatch.context() as patch:  # of cells this small the sampled peak can be nothing at all
        patch.setattr(estimate, "_price", lambda *args: (1.0, 5.0, "one-epoch probe", 1.0))
        assert run_app([*dry, "--dry-run", "--memory", "0.001"]) == 2
    said = capsys.readouterr()
    assert "4 cells to train" in said.out
    assert "MB per cell and a worker may use 0 MB" in said.err
    assert run_app([*dry, "--workers", "1", "--epochs", "3"]) == 0
    capsys.readouterr()
    assert run_app([*dry, "--dry-run", "--json", "--epochs", "3", "--seeds", "3"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["cells"], told["missing"]) == (6, 2)
    assert {pair["measured"] for pair in told["pairs"]} == {"recorded cells"}
    with Store.open(tmp_path / "run", readonly=True) as store:
        seconds = [r.seconds for r in store.results() if r.model == "GCN"]
    assert told["pairs"][0]["seconds"] == pytest.approx(sum(seconds) / 2)


def test_an_estimate_without_figures_is_null_and_never_the_worst():
    nan = float("nan")
    pairs = (
        PairCost("t", "broken", 2, 0, nan, nan, "the probe ended as failed"),
        PairCost("t", "m", 4, 1, 2.0, 50, ""),
    )
    estimate = Estimate(pairs, workers=2, memory_limit=40)
    assert estimate.seconds == 3.0
    assert estimate.as_dict()["pairs"][0]["seconds"] is None
    with pytest.raises(UsageError, match="t / m needs about 50 MB per cell and a worker may use 40 MB"):
        estimate.refuse_if_over()


def test_status_tells_what_runs_and_ctrl_c_tells_how_to_go_on(tmp_path, capsys, interruptible):
    """The quick model is done, the other would train for hours: looked at, then interrupted."""
    folder = tmp_path / "run"
    models = ["--model", "DegreeProduct", "--model", "GCN", "--epochs", "10000000", "--workers", "2"]
    places = ["--out", str(folder), "--root", str(tmp_path)]
    runner = subprocess.Popen([sys.executable, "-m", "graphnetz", *RUN, *models, *places], stderr=subprocess.PIPE)
    deadline = time.monotonic() + 200
    while time.monotonic() < deadline and runner.poll() is None:
        if (folder / "store.sqlite").exists():
            with Store.open(folder, readonly=True) as store:
                if store.counts() == {"ok": 2, "running": 2}:
                    break
        time.sleep(0.1)
    assert run_app(["status", str(folder), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["running"] == 2
    assert run_app(["status", str(folder)]) == 0
    assert "running: les_miserables / GCN / seed 0\n" in capsys.readouterr().out
    os.kill(runner.pid, signal.SIGINT)
    _, said = runner.communicate(timeout=60)
    assert runner.returncode == 130, said.decode()
    assert f"go on with: graphnetz resume {folder}" in said.decode()
    assert "Traceback" not in said.decode()
    with Store.open(folder, readonly=True) as store:
        assert store.counts() == {"ok": 2, "pending": 2}
    assert run_app(["status", str(folder)]) == 0
    assert f"not running; go on with: graphnetz resume {folder}" in capsys.readouterr().out
