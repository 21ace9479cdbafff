"""The Ray executor on a two-node cluster of this machine: nodes, workers and the driver die; results do not."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
import torch

from graphnetz.datasets import SUITES
from graphnetz.engine.executors import Limits, LocalExecutor, RayExecutor, drive
from graphnetz.engine.run import run_benchmark
from graphnetz.engine.store import Store
from graphnetz.records import Cell, CellResult, Protocol

pytestmark = [pytest.mark.alone, pytest.mark.ray, pytest.mark.xdist_group("ray")]
ray = pytest.importorskip("ray")


def make_work(folder, *, slow=0.0):
    """A cell that leaves a mark of its process, so that the test can kill it; pickled by value."""

    def run_one(cell):
        Path(folder, f"{os.getpid()}-{cell.seed}").touch()
        time.sleep(slow)
        if cell.model == "crash":
            os.abort()
        if cell.model == "hang":
            time.sleep(1000)
        x = torch.randn(32, 32, generator=torch.Generator().manual_seed(cell.seed))
        value = float(torch.tanh(x @ x).logsumexp(0).sum())
        return CellResult(cell.key, cell.task, cell.model, cell.seed, metric="m", metrics={"m": value})

    return run_one


def cells_of(*models, seeds):
    return [Cell(f"{m}/{s}", "task", m, s, Protocol()) for m in models for s in range(seeds)]


def in_store(folder, cells, work, executor, **options):
    with Store.create(folder) as store:
        store.plan(cells)
        drive(store, cells, work, executor=executor, limits=Limits(seconds=4), **options)
        results = list(store.results())
        assert [r.key for r in results] == [c.key for c in cells]
    return [(r.key, r.status, r.error, r.value.hex(), r.environment) for r in results]


@pytest.fixture(scope="module")
def cluster():
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    from ray.cluster_utils import Cluster

    paths = [p for p in sys.path if p]
    os.environ["PYTHONPATH"] = os.pathsep.join(paths)
    made = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    second = made.add_node(num_cpus=1, num_gpus=1)  # claimed, never used: what Ray hands out is what is tested
    made.wait_for_nodes()
    yield made, second
    ray.shutdown()
    made.shutdown()
    del os.environ["PYTHONPATH"]


def test_tasks_of_the_default_suite_equal_the_local_executor_and_nodes_tell_their_environment(cluster, tmp_path):
    """The whole suite with full budgets is ``benchmarks/ray_suite.py``."""
    made, _ = cluster
    names = ("sbm_communities", "les_miserables", "ising_energy")
    tasks = [task for task in SUITES["first-default"]() if task.name in names]
    run = {"tasks": tasks, "models": ["GCN", "Majority", "DegreeProduct"], "seeds": range(2), "epochs": 2,
           "root": str(tmp_path), "verbose": False}  # fmt: skip
    there = run_benchmark(backend="ray", address=made.address, **run)
    here = run_benchmark(backend="local", workers=2, **run)
    assert {r.task for r in here.results if r.ok} == set(names)

    def facts(report):
        return [(r.key, r.status, r.metrics, r.history, r.parameters, r.environment) for r in report.results]

    assert facts(there) == facts(here)
    assert there.to_json() == here.to_json()
    environments = RayExecutor(address=made.address).environments()
    assert {r.environment for r in there.results} <= environments.keys()


def test_failures_and_metrics_equal_the_local_executor(cluster, tmp_path):
    made, _ = cluster
    cells = cells_of("a", "crash", "hang", seeds=2)
    work = make_work(str(tmp_path))
    there = in_store(tmp_path / "ray", cells, work, RayExecutor(address=made.address))
    here = in_store(tmp_path / "local", cells, work, LocalExecutor(workers=2))
    assert there == here
    assert [row[1] for row in there] == ["ok", "ok", "failed", "failed", "timeout", "timeout"]


def test_a_share_of_a_graphics_processor_is_asked_of_ray(cluster, tmp_path):
    made, _ = cluster

    def run_one(cell):
        seen = float(os.environ.get("CUDA_VISIBLE_DEVICES") or -1.0)
        return CellResult(cell.key, cell.task, cell.model, cell.seed, metric="m", metrics={"m": seen})

    rows = in_store(tmp_path, cells_of("a", seeds=2), run_one, RayExecutor(address=made.address, gpus=0.5))
    assert [row[3] for row in rows] == [(0.0).hex()] * 2  # device 0 of the one node that has one


def test_a_worker_and_a_node_killed_mid_run_cost_no_cell(cluster, tmp_path):
    made, second = cluster
    cells = cells_of("a", seeds=12)
    marks = tmp_path / "marks"
    marks.mkdir()
    killed = []

    def cause_trouble():
        done = len(list(marks.iterdir()))
        if done >= 3 and not killed:
            killed.append("worker")
            for mark in marks.iterdir():
                worker = int(mark.name.split("-")[0])
                if psutil.pid_exists(worker):
                    psutil.Process(worker).parent().parent().kill()  # the Ray process above nursery and worker
                    break
        elif done >= 6 and len(killed) == 1:
            killed.append("node")
            made.remove_node(second, allow_graceful=False)

    executor = RayExecutor(address=made.address)
    there = in_store(tmp_path / "ray", cells, make_work(str(marks), slow=0.3), executor, tick=cause_trouble)
    assert killed == ["worker", "node"]
    here = in_store(tmp_path / "local", cells, make_work(str(marks)), LocalExecutor(workers=1))
    assert there == here


DRIVER = """
import sys, time, os
from graphnetz.engine.executors import RayExecutor, Limits, drive
from graphnetz.engine.store import Store
from graphnetz.records import Cell, CellResult, Protocol
folder, address = sys.argv[1:]
def one(cell):
    time.sleep(0.2)
    return CellResult(cell.key, cell.task, cell.model, cell.seed, metric="m", metrics={"m": cell.seed / 3})
cells = [Cell(f"k{i:02d}", "t", "m", i, Protocol()) for i in range(10)]
with Store.create(folder) as store:
    store.plan(cells)
    drive(store, cells, one, executor=RayExecutor(address=address))
"""


def test_the_driver_killed_and_started_again_completes(cluster, tmp_path):
    made, _ = cluster
    program = [sys.executable, "-c", DRIVER, str(tmp_path), made.address]
    first = subprocess.Popen(program)
    deadline = time.monotonic() + 100
    while time.monotonic() < deadline:
        if (tmp_path / "store.sqlite").exists():
            with Store.open(tmp_path, readonly=True) as view:
                if view.counts()["ok"] >= 2:
                    break
        time.sleep(0.05)
    first.kill()
    assert first.wait() == -signal.SIGKILL
    with Store.open(tmp_path, readonly=True) as view:
        assert 2 <= view.counts()["ok"] < 10
    subprocess.run(program, check=True, timeout=200)
    with Store.open(tmp_path, readonly=True) as view:
        assert [r.value for r in view.results()] == [i / 3 for i in range(10)]
