"""Stopped processes, clocks that jump, leases from the future, folders that vanish: nothing waits without a word."""

import contextlib
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import threading
import time
from pathlib import Path

import pytest

from graphnetz._core.errors import StoreError
from graphnetz.engine.executors import LocalExecutor, SerialExecutor, drive, waiting, worker_process
from graphnetz.engine.store import Store, database, files, new_owner, owners
from graphnetz.records import Cell, CellResult, Protocol

pytestmark = [pytest.mark.alone, pytest.mark.chaos]
CHAOS = Path(__file__).resolve().parents[2] / "benchmarks" / "chaos.py"
YEAR = 3.2e7


@pytest.fixture(autouse=True)
def soon(monkeypatch):
    monkeypatch.setitem(worker_process._ENVIRONMENT, False, "test")
    monkeypatch.setattr(waiting, "FIRST_WORD", 0.2)


def cells(n):
    return [Cell(f"k{i:03d}", "t", "m", i, Protocol()) for i in range(n)]


def quick(cell):
    return CellResult(cell.key, "t", "m", cell.seed, metric="m", metrics={"m": float(cell.seed)})


def values(folder):
    with Store.open(folder, readonly=True) as store:
        return [result.value for result in store.results()]


def test_a_lease_from_the_future_is_named_and_not_waited_for_for_ever(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(waiting, "STALE_LEASES", 1)
    todo = cells(3)
    with Store.create(tmp_path) as store:
        store.plan([*todo, Cell("other", "another plan", "m", 0, Protocol())])
        store.claim("other", "a runner of another plan")
        store.claim(todo[1].key, "somebody else")
        store.db.execute("UPDATE cells SET lease = 9e18 WHERE owner = 'somebody else'")
        drive(store, todo, quick, executor=SerialExecutor(), lease_seconds=1.0, poll_seconds=0.05)
        assert store.running()[0][:4] == ("another plan", "m", 0, "a runner of another plan")
    said = capsys.readouterr().err
    assert "Waiting for 1 cell in work elsewhere (t / m / seed 1): held by a runner on another machine" in said
    assert "further ahead than any runner asks for" in said
    assert "Took over the cells of a runner on another machine" in said
    assert values(tmp_path) == [0.0, 1.0, 2.0]


def test_a_runner_that_stirs_is_waited_for_however_long_it_takes(tmp_path, monkeypatch):
    """Its leases move, so it lives; the patience would be over three times."""
    monkeypatch.setattr(waiting, "STALE_LEASES", 1)
    todo = cells(1)
    with Store.create(tmp_path) as store:
        store.plan(todo)
        store.claim(todo[0].key, "elsewhere", 1000)
        begin = time.monotonic()

        def tick():
            if time.monotonic() - begin < 1.0:
                store.heartbeat("elsewhere", 1000)
            else:
                store.finish("elsewhere", CellResult("k000", "t", "m", 0, metric="m", metrics={"m": 42.0}))

        drive(store, todo, quick, executor=SerialExecutor(), lease_seconds=0.3, poll_seconds=0.05, tick=tick)
    assert values(tmp_path) == [42.0]


def test_a_stopped_runner_is_named_with_what_to_do(tmp_path, capsys):
    todo = cells(2)
    holder = subprocess.Popen(["sleep", "1000"])
    os.kill(holder.pid, signal.SIGSTOP)
    started = Path(f"/proc/{holder.pid}/stat").read_text().rpartition(")")[2].split()[19]
    machine, _, _, tail = new_owner().split("|")
    with Store.create(tmp_path) as store:
        store.plan(todo)
        store.claim(todo[0].key, f"{machine}|{holder.pid}|{started}|{tail}", 1000)
        ends = threading.Timer(1.0, lambda: (holder.kill(), holder.wait()))
        ends.start()
        drive(store, todo, quick, executor=SerialExecutor(), poll_seconds=0.05)
        ends.join()
    said = capsys.readouterr().err
    assert f"held by process {holder.pid} of this machine, which is stopped" in said
    assert f"kill -CONT {holder.pid}" in said
    assert values(tmp_path) == [0.0, 1.0]


def test_a_stopped_worker_is_named_and_goes_on_or_is_replaced(tmp_path, capsys):
    todo = cells(2)
    mark = tmp_path / "stopped"

    def stops_once(cell):
        if cell.seed == 1 and not mark.exists():
            mark.write_text(str(os.getpid()))
            os.kill(os.getpid(), signal.SIGSTOP)
        return quick(cell)

    said, begin = "", time.monotonic()
    with Store.create(tmp_path / "run") as store:
        store.plan(todo)

        def tick():
            nonlocal said
            said += capsys.readouterr().err
            if "which is stopped" in said:
                with contextlib.suppress(ProcessLookupError):  # a tick later it is gone already
                    os.kill(int(mark.read_text()), signal.SIGKILL)  # as the sentence says
            assert time.monotonic() - begin < 60, "waits without a word"

        drive(store, todo, stops_once, executor=LocalExecutor(workers=2), tick=tick)
    pid = mark.read_text()
    assert f"Waiting for process {pid} (t / m / seed 1), which is stopped (go on with 'kill -CONT {pid}'" in said
    assert said.count("which is stopped") == 1
    assert values(tmp_path / "run") == [0.0, 1.0]


def test_a_heartbeat_that_fails_is_not_the_last(tmp_path, monkeypatch):
    todo = cells(1)
    real, beats = Store.heartbeat, []

    def heartbeat(self, owner, lease_seconds):
        if threading.get_ident() != threading.main_thread().ident:
            beats.append(len(beats))
            if len(beats) == 1:
                raise StoreError("The disk is full.")
        return real(self, owner, lease_seconds)

    def slow(cell):
        deadline = time.monotonic() + 30
        while len(beats) < 3 and time.monotonic() < deadline:
            time.sleep(0.02)
        return quick(cell)

    monkeypatch.setattr(Store, "heartbeat", heartbeat)
    with Store.create(tmp_path) as store:
        store.plan(todo)
        drive(store, todo, slow, executor=SerialExecutor(), lease_seconds=0.4)
    assert len(beats) >= 3
    assert values(tmp_path) == [0.0]


def driver(shim, folder, clock=0.0, **options):
    flags = [part for name, value in options.items() for part in (f"--{name}", value)]
    return shim(CHAOS, "drive", folder, *flags, clock=clock)


def test_a_driver_that_is_stopped_loses_its_cells_and_writes_nothing_when_it_wakes(shim, tmp_path):
    """Two runners; one is stopped until its lease is over, and woken when the other has finished."""
    from chaos import verify

    first = driver(shim, tmp_path, cells=12, sleep=0.3, workers=2, lease=3)
    deadline = time.monotonic() + 60
    while not (tmp_path / "accepted.log").exists() or not (tmp_path / "accepted.log").read_text():
        assert time.monotonic() < deadline
        time.sleep(0.05)
    first.send_signal(signal.SIGSTOP)
    while str(first.pid) in files.lock_holder(tmp_path / "store.sqlite"):  # in the middle of a write: the next test
        first.send_signal(signal.SIGCONT)
        time.sleep(0.05)
        first.send_signal(signal.SIGSTOP)
    second = driver(shim, tmp_path, cells=12, sleep=0.05, workers=2, lease=3)
    _, said = second.communicate(timeout=90)
    assert second.returncode == 0, said
    first.send_signal(signal.SIGCONT)
    _, errors = first.communicate(timeout=60)
    assert first.returncode == 0, errors
    verify(tmp_path, 12)


def test_a_runner_that_is_stopped_while_it_writes_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(database, "PATIENCE", 0.5)
    with Store.create(tmp_path):
        pass
    writer = os.fork()
    if writer == 0:
        with contextlib.suppress(BaseException):
            db = sqlite3.connect(tmp_path / "store.sqlite", isolation_level=None)
            db.execute("PRAGMA journal_mode = WAL")
            db.execute("BEGIN IMMEDIATE")
            os.kill(os.getpid(), signal.SIGSTOP)
        os._exit(1)
    try:
        assert os.WIFSTOPPED(os.waitpid(writer, os.WUNTRACED)[1])
        with pytest.raises(StoreError, match=f"locked by process {writer} of this machine, which is stopped"):
            Store.create(tmp_path)
    finally:
        os.kill(writer, signal.SIGKILL)
        os.waitpid(writer, 0)


@pytest.mark.parametrize("apart", [YEAR, -YEAR])
def test_runners_whose_clocks_differ_by_a_year_lose_and_double_nothing(apart, shim, tmp_path):
    from chaos import verify

    here = driver(shim, tmp_path, cells=16, sleep=0.05, workers=1, lease=5)
    there = driver(shim, tmp_path, apart, cells=16, sleep=0.05, workers=1, lease=5)
    for runner in (here, there):
        _, errors = runner.communicate(timeout=120)
        assert runner.returncode == 0, errors
    verify(tmp_path, 16)


@pytest.mark.parametrize("jump", [YEAR, -YEAR, 0.0])
def test_a_clock_that_jumps_in_mid_run_changes_nothing(jump, shim, tmp_path):
    program = (
        "import json, sys\n"
        "from faults import shim\n"
        "from faults.scenarios import InProcess, plan, expected\n"
        "from graphnetz.engine.executors import drive\n"
        "from graphnetz.engine.store import Store, to_json\n"
        "import time\n"
        "def jumps(cell):\n"
        "    if cell.seed == 3: shim.handle().fault_clock(float(sys.argv[2]))\n"
        "    return expected(cell)\n"
        "before = time.time()\n"
        "with Store.create(sys.argv[1]) as store:\n"
        "    store.plan(plan(6))\n"
        "    drive(store, plan(6), jumps, executor=InProcess())\n"
        "    to_json(store, sys.argv[1] + '/results.json')\n"
        "print(json.dumps(time.time() - before))\n"
    )
    process = shim("-c", program, tmp_path / "run", jump)
    out, errors = process.communicate(timeout=60)
    assert process.returncode == 0, errors
    assert abs(json.loads(out) - jump) < 60, "the clock did not jump"
    cells_ = json.loads((tmp_path / "run" / "results.json").read_text())["cells"]
    assert [cell["seed"] for cell in cells_] == list(range(6))
    assert {cell["status"] for cell in cells_} == {"ok"}


def test_own_leases_far_ahead_after_a_jump_back_are_released_at_the_end(tmp_path, monkeypatch):
    todo = cells(2)
    now = [time.time()]
    monkeypatch.setattr(database.time, "time", lambda: now[0])

    def back(cell):
        now[0] -= YEAR
        if cell.seed == 1:
            raise KeyboardInterrupt
        return quick(cell)

    with Store.create(tmp_path) as store:
        store.plan(todo)
        with pytest.raises(KeyboardInterrupt):
            drive(store, todo, back, executor=SerialExecutor())
        assert store.counts() == {"ok": 1, "pending": 1}
        drive(store, todo, quick, executor=SerialExecutor())
    assert values(tmp_path) == [0.0, 1.0]


@pytest.mark.parametrize("kind", [SerialExecutor, LocalExecutor])
def test_a_run_folder_that_is_removed_ends_the_run_with_a_sentence(kind, tmp_path):
    todo = cells(4)
    run = tmp_path / "run"

    def removes(cell):
        if cell.seed == 1:
            shutil.rmtree(run)
        return quick(cell)

    with Store.create(run) as store:
        store.plan(todo)
        with pytest.raises(StoreError, match="removed or moved while it was in use"):
            drive(store, todo, removes, executor=kind(workers=1))
    assert not run.exists(), "nothing is made anew in its place"


def test_the_command_says_that_its_folder_is_gone(tmp_path, monkeypatch, capsys):
    from graphnetz.cli.app import run_app
    from graphnetz.engine.worker import Workbench

    monkeypatch.chdir(tmp_path)
    real = Workbench.__call__

    def removes(self, cell):
        shutil.rmtree("run", ignore_errors=True)
        return real(self, cell)

    monkeypatch.setattr(Workbench, "__call__", removes)
    words = "run --task sbm_communities --model Majority --seeds 2 --backend serial --quiet --out run"
    assert run_app(words.split()) == 2
    said = capsys.readouterr().err
    assert "was removed or moved while it was in use" in said
    assert not (tmp_path / "run").exists()


def test_a_process_that_is_gone_or_runs_is_not_called_stopped():
    gone = subprocess.Popen(["true"])
    gone.wait()
    assert not owners.is_stopped(gone.pid)
    assert not owners.is_stopped(os.getpid())
    assert owners.process_words(os.getpid()) == f"process {os.getpid()} of this machine"
