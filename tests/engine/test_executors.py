"""Executors: every way a cell can fail, limits, fork traps, interruption; all with the same answers."""

import ctypes
import logging
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import cloudpickle
import numpy as np
import psutil
import pytest
import torch

from graphnetz import run_benchmark
from graphnetz._core.errors import StoreError, UnknownNameError, UsageError
from graphnetz.engine.executors import (
    EXECUTORS,
    Limits,
    LocalExecutor,
    SerialExecutor,
    default_workers,
    drive,
    memory,
    warm,
)
from graphnetz.engine.executors.pool import Pool
from graphnetz.engine.identity.environment import environment_key
from graphnetz.engine.store import Store
from graphnetz.records import Cell, CellResult, Protocol
from graphnetz.testing import check_executor

pytestmark = pytest.mark.alone


@pytest.fixture(params=["fork", "spawn"])
def start(request, monkeypatch):
    """Both ways to start workers; a fresh interpreter knows no test module, so ours crosses by value."""
    monkeypatch.setenv("GRAPHNETZ_START", request.param)
    module = sys.modules[__name__]
    cloudpickle.register_pickle_by_value(module)
    yield request.param
    cloudpickle.unregister_pickle_by_value(module)


def cells_of(*models, seeds=1, tasks=("task",)):
    return [Cell(f"{t}/{m}/{s}", t, m, s, Protocol()) for t in tasks for m in models for s in range(seeds)]


def answer(cell, value=1.0, **values):
    return CellResult(cell.key, cell.task, cell.model, cell.seed, metric="m", metrics={"m": value}, **values)


def run(executor, cells, run_one, *, limits=None, on_start=lambda cell: True, tick=None):
    results = []
    executor.run(cells, run_one, limits=limits or Limits(), on_start=on_start, on_result=results.append, tick=tick)
    assert len({r.key for r in results}) == len(results)
    return {r.model if len(cells) == len({c.model for c in cells}) else r.key: r for r in results}


def misbehave(cell):
    """One model for each way to fail, and one that works."""
    match cell.model:
        case "raises":
            raise TypeError("no such thing at 0x7f0011223344")
        case "exits":
            sys.exit(3)
        case "leaves":
            os._exit(4)
        case "crashes":
            ctypes.string_at(0)
        case "aborts":
            os.abort()
        case "hangs":
            subprocess.Popen(["sleep", "1234567"], start_new_session=True)
            time.sleep(1000)
        case "diverges":
            return CellResult(cell.key, cell.task, cell.model, cell.seed, status="diverged", error="the loss is NaN")
        case "numpy_oom":
            np.ones(1 << 46)
        case "torch_oom":
            torch.empty(1 << 46)
        case "hoards":
            hoard = []
            while True:
                hoard.append(np.ones(1 << 20))
                time.sleep(0.01)
        case "lies":
            return "not a result"
        case "unsendable":
            return answer(cell, trace=({"lambda": lambda: 0},))
    return answer(cell)


FAILURES = {
    "works": ("ok", ""),
    "raises": ("failed", "TypeError: no such thing at 0x... (at test_executors.py:"),
    "exits": ("failed", "SystemExit: 3"),
    "leaves": ("failed", "worker died: exit code 4"),
    "crashes": ("failed", "worker died: signal 11 (segmentation fault)"),
    "aborts": ("failed", "worker died: signal 6 (aborted)"),
    "hangs": ("timeout", "The time limit of 5 s was reached."),
    "diverges": ("diverged", "the loss is NaN"),
    "numpy_oom": ("oom", "MemoryError"),
    "torch_oom": ("oom", "DefaultCPUAllocator"),
    "hoards": ("oom", "The memory limit of 100 MB was exceeded"),
    "lies": ("failed", "TypeError: the cell returned str"),
    "unsendable": ("failed", "The result cannot be sent"),
    "works_too": ("ok", ""),
}


def sleepers():
    return [p for p in psutil.process_iter(["cmdline"]) if "1234567" in (p.info["cmdline"] or [])]


def test_each_failure_is_a_result_with_its_reason_and_the_others_go_on(start):
    begin = time.monotonic()
    results = run(LocalExecutor(workers=2), cells_of(*FAILURES), misbehave, limits=Limits(seconds=5, memory_mb=100))
    assert time.monotonic() - begin < (60 if start == "fork" else 240), "a fresh interpreter takes seconds to start"
    assert set(results) == set(FAILURES)
    for model, (status, words) in FAILURES.items():
        assert results[model].status == status, (model, results[model])
        assert words in results[model].error, (model, results[model])
        assert results[model].seconds >= 0
        assert results[model].environment == environment_key()
    assert 5 <= results["hangs"].seconds < 7
    assert 100e6 < results["hoards"].peak_memory < 1.5e9
    assert any("misbehave" in line for line in results["raises"].trace[0]["traceback"])
    assert sleepers() == [], "children of a killed cell are ended with it"


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs /proc")
def test_a_child_between_vfork_and_exec_does_not_count_its_parents_memory_again(tmp_path):
    """Such a moment, met on a busy machine, ended a cell as out of memory. Here a pipe that nobody writes prolongs it."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    program = """
        import os, sys
        kept = bytearray(os.urandom(1)) * 200_000_000
        print(flush=True)
        os.posix_spawn("/bin/true", ["true"], {}, file_actions=[(os.POSIX_SPAWN_OPEN, 0, sys.argv[1], os.O_RDONLY, 0)])
    """
    holder = subprocess.Popen([sys.executable, "-c", textwrap.dedent(program), pipe], stdout=subprocess.PIPE)
    try:
        holder.stdout.readline()
        deadline = time.monotonic() + 30
        while not memory.children(holder.pid) and time.monotonic() < deadline:
            time.sleep(0.01)
        assert memory.children(holder.pid), "the child is about to become another program"
        assert 2e8 < memory.family(holder.pid) < 3e8
    finally:
        os.close(os.open(pipe, os.O_WRONLY))
        holder.wait(30)


def test_a_child_tells_its_worker_what_it_imported_and_no_more(tmp_path, monkeypatch):
    (tmp_path / "brought_along.py").write_text("")
    monkeypatch.syspath_prepend(str(tmp_path))
    sys.modules.pop("this", None)
    before = warm.known()
    assert warm.news(before) == b"[]"
    __import__("brought_along")
    __import__("this")
    assert warm.news(before) == b'["brought_along", "this"]'
    for name in ("brought_along", "this"):
        del sys.modules[name]
    warm.learn(b'["brought_along", "this"]')
    assert "this" in sys.modules, "installed code is fetched"
    assert "brought_along" not in sys.modules, "code of the user's own is not run by the worker"


def test_serial_gives_the_same_answers_where_it_can():
    models = ("works", "raises", "exits", "diverges", "numpy_oom", "torch_oom", "lies", "hangs")

    def run_one(cell):
        if cell.model == "hangs":
            time.sleep(1000)
        return misbehave(cell)

    results = run(SerialExecutor(), cells_of(*models), run_one, limits=Limits(seconds=0.5))
    for model in models:
        status, words = FAILURES[model]
        assert results[model].status == status
        assert words.replace("5 s", "0.5 s") in results[model].error


def matmul(cell):
    generator = torch.Generator().manual_seed(cell.seed)
    x = torch.randn(64, 64, generator=generator, requires_grad=True)
    for _ in range(5):
        loss = torch.tanh(x @ x).logsumexp(0).sum()
        (grad,) = torch.autograd.grad(loss, x)
        x = (x - 0.1 * grad).detach().requires_grad_()
    return answer(cell, float(x.detach().sum()))


def values_of(results):
    return {key: result.value.hex() for key, result in results.items()}


def test_metrics_are_bit_equal_on_every_executor_and_any_number_of_workers(start):
    cells = cells_of("a", "b", seeds=4, tasks=("s", "t"))
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        serial = values_of(run(SerialExecutor(), cells, matmul))
    finally:
        torch.set_num_threads(threads)
    for workers in (1, 2, 3):
        assert values_of(run(LocalExecutor(workers=workers), cells, matmul)) == serial


def test_no_hang_when_the_parent_has_trained_with_more_threads():
    program = (
        "import torch; torch.set_num_threads(2)\n"
        "from graphnetz.engine.executors import LocalExecutor, Limits\n"
        "from graphnetz.records import *\n"
        "x = torch.randn(400, 400, requires_grad=True)\n"
        "for _ in range(3): torch.tanh(x @ x).sum().backward()\n"
        "def one(c):\n"
        "    y = torch.randn(400, 400, requires_grad=True); torch.tanh(y @ y).sum().backward()\n"
        "    assert torch.get_num_threads() == 1\n"
        "    return CellResult(c.key, c.task, c.model, c.seed)\n"
        "out = []\n"
        "cells = [Cell(str(i), 't', 'm', i, Protocol()) for i in range(4)]\n"
        "go = dict(limits=Limits(seconds=60), on_start=lambda c: True, on_result=out.append)\n"
        "LocalExecutor(workers=2).run(cells, one, **go)\n"
        "print([r.status for r in out], torch.get_num_threads())\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=True)
    assert done.stdout.strip() == "['ok', 'ok', 'ok', 'ok'] 2"


class Stuck:
    """A stream, log handler or lock that the driver holds for ever, as a busy thread would."""

    def __init__(self):
        self.lock = threading.Lock()
        self.lock.acquire()

    def write(self, text):
        with self.lock:
            return len(text)

    flush = write
    emit = handle = write
    level = 0


def test_workers_never_touch_the_drivers_console_log_or_database(tmp_path, monkeypatch, capfd):
    store = Store.create(tmp_path)
    logger = logging.getLogger("stuck")
    monkeypatch.setattr(logger, "handlers", [Stuck()])
    monkeypatch.setattr(logging.root, "handlers", [Stuck()])

    def run_one(cell):
        print("to the console")
        sys.stderr.write("to the console")
        os.write(1, b"to the descriptor")
        logger.warning("to the log")
        logging.error("to the root log")
        try:
            store.counts()
        except StoreError:
            return answer(cell)

    stream = sys.stdout
    sys.stdout = sys.stderr = Stuck()
    try:
        results = run(LocalExecutor(workers=2), cells_of("a", "b", "c"), run_one, limits=Limits(seconds=20))
    finally:
        sys.stdout = stream
        sys.stderr = sys.__stderr__
    assert [r.status for r in results.values()] == ["ok"] * 3
    assert store.counts() == {}
    assert "to the" not in "".join(capfd.readouterr())


def test_a_fresh_interpreter_instead_of_a_fork_gives_the_same_numbers():
    offset = 3.5

    class Local:
        def __call__(self, cell):
            x = torch.randn(64, 64, generator=torch.Generator().manual_seed(cell.seed))
            value = float(torch.tanh(x @ x).logsumexp(0).sum()) + offset
            return CellResult(cell.key, cell.task, cell.model, cell.seed, metric="m", metrics={"m": value})

    cells = cells_of("a", seeds=2)
    forked = values_of(run(LocalExecutor(workers=1, spawn=False), cells, Local()))
    assert values_of(run(LocalExecutor(workers=1, spawn=True), cells, Local())) == forked


def test_what_cannot_be_moved_runs_here_and_the_run_says_so():
    lock = threading.Lock()

    def run_one(cell):
        with lock:
            return answer(cell, os.getpid())

    with pytest.warns(UserWarning, match="one after another in this process"):
        results = run(LocalExecutor(workers=2, spawn=True), cells_of("a", "b"), run_one)
    assert {r.value for r in results.values()} == {os.getpid()}


def test_a_worker_killed_from_outside_costs_no_cell(tmp_path, start):
    marks = tmp_path / "marks"
    marks.mkdir()
    driver = os.getpid()

    def run_one(cell):
        mark = marks / str(cell.seed)
        if not mark.exists():
            mark.touch()
            parent = os.getppid()
            # Itself, or the nursery; a worker whose nursery is gone already has another parent, which must live.
            orphan = parent == driver or (psutil.pid_exists(parent) and psutil.Process(parent).ppid() != driver)
            os.kill(os.getpid() if cell.seed % 2 or orphan else parent, signal.SIGKILL)
            time.sleep(10)
        return answer(cell)

    results = run(LocalExecutor(workers=2), cells_of("a", seeds=6), run_one, limits=Limits(seconds=30))
    assert [r.status for r in results.values()] == ["ok"] * 6


def test_a_cell_that_is_killed_again_and_again_fails_in_the_end(start):
    def run_one(cell):
        os.kill(os.getpid(), signal.SIGKILL)

    results = run(LocalExecutor(workers=1, retries=2), cells_of("doomed"), run_one)
    assert results["doomed"].status == "failed"
    assert "signal 9 (killed), 3 times in a row" in results["doomed"].error


def test_peak_memory_is_per_cell(start):
    def run_one(cell):
        block = np.ones(int(cell.model) * 125_000)  # megabytes
        return answer(cell, float(block[-1]))

    results = run(LocalExecutor(workers=1), cells_of("1", "100", "2"), run_one)
    assert results["100"].peak_memory > 95e6
    assert results["2"].peak_memory < 60e6, "the mark of the cell before does not stick"


def test_cells_start_in_the_order_of_the_plan():
    cells, order = cells_of("a", "b", seeds=3, tasks=("s", "t")), []
    for executor in (SerialExecutor(), LocalExecutor(workers=1)):
        order.clear()
        run(executor, cells, answer, on_start=lambda cell: order.append(cell) or cell.seed != 1)
        assert order == cells


def test_a_worker_stays_with_its_task(start):
    def run_one(cell):
        time.sleep(0.05)
        return answer(cell, os.getpid())

    results = run(LocalExecutor(workers=2), cells_of("a", "b", seeds=5, tasks=("s", "t")), run_one)
    by_task = [{r.value for r in results.values() if r.task == t} for t in ("s", "t")]
    assert sum(map(len, by_task)) <= 3, "each worker loads its own task, and at most one helps the other out"


@pytest.mark.parametrize("name", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("executor", [LocalExecutor(workers=2), SerialExecutor()])
def test_interruption_keeps_what_is_finished_and_ends_the_workers(tmp_path, name, executor, interruptible, start):
    cells = cells_of("quick", "slow", seeds=2)
    before = set(psutil.Process().children(recursive=True))

    def run_one(cell):
        if cell.model == "slow":
            time.sleep(60)
        return answer(cell)

    def interrupt():
        while store_view.counts()["ok"] < 2:
            time.sleep(0.02)
        os.kill(os.getpid(), name)

    with Store.create(tmp_path) as store:
        store.plan(cells)

        def started():
            nonlocal store_view
            store_view = Store.open(tmp_path, readonly=True)
            interrupt()
            store_view.close()

        store_view = None
        thread = threading.Thread(target=started)
        thread.start()
        begin = time.monotonic()
        with pytest.raises(KeyboardInterrupt):
            drive(store, cells, run_one, executor=executor)
        assert time.monotonic() - begin < 20
        thread.join()
        assert store.counts() == {"ok": 2, "pending": 2}
    time.sleep(0.1)
    assert set(psutil.Process().children(recursive=True)) - before == set()


@pytest.mark.parametrize(("name", "options"), [("serial", {}), ("local", {"workers": 1}), ("local", {"workers": 2})])
def test_contract_of_the_executors(name, options):
    check_executor(name, **options)


def test_limits_and_names_are_checked():
    with pytest.raises(UsageError, match="above 0"):
        Limits(seconds=0)
    with pytest.raises(UsageError, match="at least 1"):
        LocalExecutor(workers=0)
    with pytest.raises(UnknownNameError, match="Did you mean 'local'"):
        EXECUTORS["locall"]
    assert set(EXECUTORS) >= {"serial", "local", "ray"}
    assert default_workers(Limits()) <= len(os.sched_getaffinity(0))
    assert default_workers(Limits(memory_mb=1e9)) == 1


def test_an_executor_of_others_gets_the_settings_it_takes(tmp_path):
    """Address and graphics processors are for whoever names them, not for the one called ray."""
    got = []

    class Cluster(SerialExecutor):
        takes = ("address",)

        def __init__(self, *, address=None, **options):
            super().__init__(**options)
            got.append(address)

    EXECUTORS.add("cluster", Cluster)
    options = {
        "models": "MLP",
        "tasks": "karate_club",
        "seeds": 1,
        "epochs": 1,
        "root": str(tmp_path),
        "verbose": False,
    }
    try:
        run_benchmark(**options, backend="cluster", address="there:1")
        with pytest.raises(UsageError, match="gpus is for Ray clusters, not for the backend 'cluster'"):
            run_benchmark(**options, backend="cluster", address="there:1", gpus=0.5)
    finally:
        EXECUTORS.remove("cluster")
    assert got == ["there:1"]


def test_a_pool_leaves_nothing_behind(start):
    pool = Pool(answer, 2, Limits())
    while len(pool.idle()) < 2:
        pool.poll(0.1)
    family = [psutil.Process(pid) for pid in pool.processes]
    assert len(family) == (3 if start == "fork" else 2), "a nursery is needed for forks only"
    pool.close()
    assert not any(p.is_running() and p.status() != psutil.STATUS_ZOMBIE for p in family)


def test_workers_that_cannot_start_end_in_this_process(monkeypatch):
    from graphnetz.engine.executors import worker_process

    def broken(*_):
        os._exit(9)

    monkeypatch.setattr(worker_process, "_loop", broken)
    with pytest.warns(UserWarning, match="end before they are ready"):
        results = run(LocalExecutor(workers=1), cells_of("a", "b"), answer)
    assert [r.status for r in results.values()] == ["ok", "ok"]
