"""Short form of ``make chaos``: kills at every step and at random, two runners, full and read-only disks."""

import contextlib
import importlib.util
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from graphnetz._core.errors import StoreError
from graphnetz.engine.executors import LocalExecutor, SerialExecutor, drive, worker_process
from graphnetz.engine.store import Store, new_owner
from graphnetz.records import Cell, CellResult, Protocol

pytestmark = [pytest.mark.alone, pytest.mark.chaos]
_spec = importlib.util.spec_from_file_location("chaos", Path(__file__).resolve().parents[2] / "benchmarks" / "chaos.py")
chaos = importlib.util.module_from_spec(_spec)
sys.modules["chaos"] = chaos
_spec.loader.exec_module(chaos)


@pytest.fixture(autouse=True)
def quick_environment(monkeypatch):
    monkeypatch.setitem(worker_process._ENVIRONMENT, False, "test")


@pytest.fixture(scope="module")
def calm(tmp_path_factory):
    folder = tmp_path_factory.mktemp("calm")
    assert chaos.start(folder, cells=30, sleep=0, workers=2).wait(60) == 0
    chaos.verify(folder, 30)
    return chaos.timeless(folder)


@pytest.mark.parametrize("step", chaos.STEPS)
def test_a_driver_killed_at_any_step_resumes_to_the_same_results(step, calm, tmp_path):
    chaos.die_at(tmp_path, step, cells=30, sleep=0.002, workers=2)
    chaos.verify(tmp_path, 30)
    assert chaos.timeless(tmp_path) == calm


@pytest.mark.parametrize(("runners", "kills"), [(1, 12), (2, 12)])
def test_random_kills_lose_and_double_nothing(runners, kills, calm, tmp_path):
    tally = chaos.storm(tmp_path, kills=kills, rng=random.Random(7), runners=runners, cells=30, sleep=0.15, lease=5)
    assert tally.kills >= kills // 2
    chaos.verify(tmp_path, 30)
    assert chaos.timeless(tmp_path) == calm


def test_no_process_outlives_a_killed_driver_not_even_children_of_cells(tmp_path):
    program = (
        "import subprocess, sys, time\n"
        "from graphnetz.engine.executors import LocalExecutor, Limits, worker_process\n"
        "from graphnetz.records import *\n"
        "worker_process._ENVIRONMENT[False] = 'test'\n"
        "def one(c):\n"
        "    subprocess.Popen(['sleep', '7654321'], start_new_session=True); time.sleep(1000)\n"
        "cells = [Cell(str(i), 't', 'm', i, Protocol()) for i in range(2)]\n"
        "LocalExecutor(workers=2).run(cells, one, limits=Limits(), on_start=lambda c: True, on_result=print)\n"
    )
    driver = subprocess.Popen([sys.executable, "-c", program])
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        family = chaos.descendants(driver.pid)
        if sum("7654321" in p.cmdline() for p in family if p.is_running()) == 2:
            break
        time.sleep(0.05)
    assert len(family) == 5, family
    chaos.kill_driver(driver)


def small_cells(n):
    return [Cell(f"k{i:03d}", "t", "m", i, Protocol()) for i in range(n)]


def bulky(cell):
    """A result that does not compress."""
    rng = random.Random(cell.seed)
    values = [rng.random() for _ in range(5000)]
    return CellResult(cell.key, "t", "m", cell.seed, metric="m", metrics={"m": 1.0}, history={"loss": values})


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 1 MB, where mounting is allowed."""
    place = tmp_path / "disk"
    place.mkdir()
    mount = shutil.which("mount")
    done = mount and subprocess.run([mount, "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(place)], capture_output=True)
    if not done or done.returncode:
        pytest.skip("mounting is not allowed here")

    def remount(option):
        subprocess.run([mount, "-o", f"remount,{option}", str(place)], check=True)

    yield place, remount
    subprocess.run(["umount", "-l", str(place)], check=True)


def test_a_full_disk_is_a_clear_error_and_the_run_resumes(small_disk):
    place, remount = small_disk
    cells = small_cells(40)
    with Store.create(place) as store:
        store.plan(cells)
        with pytest.raises(StoreError, match="full"):
            drive(store, cells, bulky, executor=LocalExecutor(workers=2))
    with Store.open(place, readonly=True) as store:
        kept = store.counts()["ok"]
        assert 0 < kept < 40
        assert store.db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    remount("size=20m")
    with Store.create(place) as store:
        drive(store, cells, bulky, executor=LocalExecutor(workers=2))
        assert store.counts() == {"ok": 40}
        assert [r.history for r in store.results()] == [bulky(c).history for c in cells]


def test_a_read_only_folder_is_a_clear_error_for_writing_and_fine_for_reading(small_disk):
    place, remount = small_disk
    cells = small_cells(2)
    with Store.create(place / "run") as store:
        store.plan(cells)
        drive(store, cells[:1], bulky, executor=SerialExecutor())
        store.checkpoint_to_one_file()
    remount("ro")
    with Store.open(place / "run", readonly=True) as store:
        assert next(store.results()).history == bulky(cells[0]).history
    with pytest.raises(StoreError, match=r"read-only|cannot be"):
        Store.create(place / "run")
    with pytest.raises(StoreError, match="Cannot make the folder"):
        Store.create(place / "other")
    remount("rw")
    with Store.create(place / "run") as store:
        drive(store, cells, bulky, executor=SerialExecutor())
        assert store.counts() == {"ok": 2}


def test_a_file_size_quota_is_a_clear_error_and_the_store_stays_whole(tmp_path):
    cells = small_cells(40)
    child = os.fork()
    if child == 0:
        code = 1
        with contextlib.suppress(BaseException):
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            with Store.create(tmp_path) as store:
                store.plan(cells)
                resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, 400_000))
                try:
                    drive(store, cells, bulky, executor=SerialExecutor())
                except StoreError as error:
                    code = 0 if "disk" in str(error).lower() else 2
        os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    with Store.create(tmp_path) as store:
        assert 0 < store.counts()["ok"] < 40
        drive(store, cells, bulky, executor=SerialExecutor())
        assert store.counts() == {"ok": 40}


def test_a_slow_cell_that_outlives_its_lease_is_not_written_and_nothing_crashes(tmp_path):
    (cell,) = small_cells(1)
    with Store.create(tmp_path) as store, Store.create(tmp_path) as other:
        store.plan([cell])

        def slow(cell):
            """In this process: while it trains, its lease runs out and another runner takes over."""
            other.db.execute("UPDATE cells SET lease = 0")
            assert other.claim(cell.key, "other", 60)
            assert other.finish("other", CellResult(cell.key, "t", "m", 0, metric="m", metrics={"m": 42.0}))
            return CellResult(cell.key, "t", "m", 0, metric="m", metrics={"m": -1.0})

        told = []
        drive(store, [cell], slow, executor=SerialExecutor(), on_result=told.append)
        assert [r.value for r in store.results()] == [42.0]
        assert told == []


def test_a_runner_waits_for_cells_of_another_and_takes_them_over_when_it_dies(tmp_path):
    cells = small_cells(3)
    with Store.create(tmp_path) as store:
        store.plan(cells)
        holder = subprocess.Popen(["sleep", "1000"])
        stat = Path(f"/proc/{holder.pid}/stat").read_text().rpartition(")")[2].split()[19]
        machine, _, _, tail = new_owner().split("|")
        assert store.claim(cells[1].key, f"{machine}|{holder.pid}|{stat}|{tail}", 1000)
        ticks = []

        def tick():
            ticks.append(time.monotonic())
            if store.counts()["ok"] == 2 and psutil.pid_exists(holder.pid) and len(ticks) > 3:
                holder.kill()
                holder.wait()

        drive(store, cells, bulky, executor=SerialExecutor(), tick=tick, poll_seconds=0.05)
        assert store.counts() == {"ok": 3}
