"""Workers from fresh interpreters: what macOS and Windows get, tried here by forcing it or by taking the fork away."""

import json
import os
import signal
import subprocess
import sys
import textwrap
import time

import psutil
import pytest

from graphnetz._core.errors import UsageError
from graphnetz.engine.executors.pool import must_spawn

pytestmark = pytest.mark.alone

# A system without these: what `import os`, `import signal` and `import socket` lack on Windows.
ELSEWHERE = """
import sys, torch, torch_geometric, pandas, matplotlib, psutil, cloudpickle, concurrent.futures, multiprocessing.connection
import os, signal, socket, subprocess
for name in ("fcntl", "resource", "termios", "pwd", "grp", "posix"):
    sys.modules[name] = None
for module, names in {
    os: "fork killpg setpgid getpgid getuid geteuid uname sysconf sched_getaffinity getloadavg statvfs",
    signal: "SIGKILL SIGHUP SIGALRM SIGUSR1 SIGUSR2 SIGCHLD SIGQUIT pthread_sigmask setitimer ITIMER_REAL",
    socket: "MSG_DONTWAIT send_fds recv_fds",
}.items():
    for name in names.split():
        if hasattr(module, name):
            delattr(module, name)
"""

# No ``if __name__ == "__main__"``: a worker must not run the user's script again.
SCRIPT = """
import json, sys, warnings
warnings.simplefilter("error", UserWarning)
import torch
from torch_geometric.nn import GCNConv
from graphnetz import run_benchmark

class Mine(torch.nn.Module):
    def __init__(self, in_dim, hidden_dim, out_dim):
        super().__init__()
        self.one, self.two = GCNConv(in_dim, hidden_dim), GCNConv(hidden_dim, out_dim)

    def forward(self, data):
        return self.two(self.one(data.x, data.edge_index).relu(), data.edge_index)

report = run_benchmark(
    tasks=["karate_club"], models={"Mine": (Mine, "node_cls")}, seeds=[0, 1], epochs=5, verbose=False,
    backend=sys.argv[1], workers=None if sys.argv[1] == "serial" else 2,
)
print(json.dumps([[r.task, r.seed, r.status, r.error, {k: v.hex() for k, v in r.metrics.items()}] for r in report.results]))
"""


def python(program, *arguments, timeout=100, **environment):
    return subprocess.run(
        [sys.executable, "-c", program, *arguments],
        capture_output=True,
        text=True,
        timeout=timeout,
        env={**os.environ, **environment},
    )


def test_a_model_of_the_users_script_has_the_same_bits_on_every_executor(tmp_path):
    script = tmp_path / "mine.py"
    script.write_text(SCRIPT)
    found = {}
    for name, executor, start in (("serial", "serial", ""), ("fork", "local", "fork"), ("spawn", "local", "spawn")):
        environment = {**os.environ, "GRAPHNETZ_START": start}
        done = subprocess.run(
            [sys.executable, script, executor],
            capture_output=True,
            text=True,
            env=environment,
            cwd=tmp_path,
            timeout=200,
        )
        assert done.returncode == 0, done.stderr
        found[name] = sorted(json.loads(done.stdout))
    assert [row[2] for row in found["serial"]] == ["ok", "ok"]
    assert found["spawn"] == found["fork"] == found["serial"]


def test_every_module_imports_where_the_posix_modules_are_missing():
    program = ELSEWHERE + textwrap.dedent(
        """
        import importlib, pkgutil, graphnetz
        names = [m.name for m in pkgutil.walk_packages(graphnetz.__path__, "graphnetz.") if not m.name.endswith("__main__")]
        for name in names:
            importlib.import_module(name)
        print(len(names))
        """
    )
    done = python(program)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 200


def test_the_local_executor_runs_and_holds_limits_without_fork_and_groups():
    program = ELSEWHERE + textwrap.dedent(
        """
        import time, warnings
        warnings.simplefilter("error", UserWarning)
        from graphnetz.engine.executors import LocalExecutor, SerialExecutor, Limits, memory
        from graphnetz.records import *
        memory._PROC = False  # no /proc either: psutil answers
        signal.SIGKILL = 9  # psutil itself needs it on this system

        class One:
            def __init__(self):
                self.place = "the driver"  # without a state nothing is set

            def __setstate__(self, state):  # in a worker, before it says what memory it begins with
                memory._PROC = False

            def __call__(self, cell):
                if cell.model == "hangs":
                    time.sleep(1000)
                hoard = []
                while cell.model == "hoards":
                    hoard.append(torch.ones(1 << 20))
                    time.sleep(0.01)
                if cell.model == "dies":
                    import os
                    os._exit(4)
                return CellResult(cell.key, cell.task, cell.model, cell.seed, metric="m", metrics={"m": 1.0})

        one = One()

        out = []
        cells = [Cell(m, "t", m, 0, Protocol()) for m in ("works", "hangs", "hoards", "dies", "works_too")]
        go = dict(on_start=lambda c: True, on_result=out.append)
        LocalExecutor(workers=2).run(cells, one, limits=Limits(seconds=4, memory_mb=60), **go)
        slow = lambda cell: time.sleep(0.2) or one(cell)
        SerialExecutor().run([Cell("slow", "t", "slow", 0, Protocol())], slow, limits=Limits(seconds=0.1), **go)
        print(*sorted((r.model, r.status) for r in out), len(psutil.Process().children(recursive=True)))
        """
    )
    done = python(program)
    assert done.returncode == 0, done.stderr
    expected = {
        "works": "ok",
        "works_too": "ok",
        "hangs": "timeout",
        "hoards": "oom",
        "dies": "failed",
        "slow": "timeout",
    }
    assert done.stdout.split("\n")[0] == " ".join(map(str, sorted(expected.items()))) + " 0"


def test_workers_leave_when_their_driver_is_killed():
    program = textwrap.dedent(
        """
        import time
        from graphnetz.engine.executors import Limits, isolation
        from graphnetz.engine.executors.pool import Pool
        from graphnetz.records import *

        def one(cell):
            isolation._prctl(1, 0)  # as where the kernel cannot be asked
            time.sleep(1000)

        pool = Pool(one, 2, Limits(), spawn=True)
        while len(pool.idle()) < 2:
            pool.poll(0.1)
        for worker in pool.idle():
            pool.submit(worker, Cell("k", "t", "m", 0, Protocol()))
        time.sleep(0.5)
        print(*pool.processes, flush=True)
        time.sleep(1000)
        """
    )
    driver = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    workers = [psutil.Process(int(word)) for word in driver.stdout.readline().split()]
    assert len(workers) == 2
    assert all(worker.is_running() for worker in workers)
    driver.send_signal(signal.SIGKILL)
    driver.wait()
    _, alive = psutil.wait_procs(workers, timeout=10)
    assert alive == []


def test_the_way_to_start_is_chosen_by_system_and_variable(monkeypatch):
    assert must_spawn() is False
    monkeypatch.setattr(sys, "platform", "darwin")
    assert must_spawn() is True
    monkeypatch.setenv("GRAPHNETZ_START", "fork")
    assert must_spawn() is False
    monkeypatch.delattr(os, "fork")
    assert must_spawn() is True
    monkeypatch.setenv("GRAPHNETZ_START", "forks")
    with pytest.raises(UsageError, match="allowed are fork and spawn"):
        must_spawn()


def test_a_run_that_ends_while_workers_start_leaves_none_behind():
    from graphnetz.engine.executors.base import Limits
    from graphnetz.engine.executors.pool import Pool

    pool = Pool(print, 2, Limits(), spawn=True)
    pool.poll(0.0)
    family = [psutil.Process(pid) for pid in pool.processes]
    begin = time.monotonic()
    pool.close()
    assert time.monotonic() - begin < 2
    assert len(family) == 2
    assert not any(process.is_running() for process in family)


def test_a_system_that_refuses_new_processes_ends_in_this_process(monkeypatch):
    from graphnetz.engine.executors import Limits, LocalExecutor, spawner
    from graphnetz.records import Cell, CellResult, Protocol

    def refuse(*_, **__):
        raise OSError("no more processes")

    monkeypatch.setattr(spawner.subprocess, "Popen", refuse)
    out = []
    with pytest.warns(UserWarning, match="no more processes.*one after another"):
        LocalExecutor(spawn=True).run(
            [Cell("k", "t", "m", 0, Protocol())],
            lambda cell: CellResult(cell.key, cell.task, cell.model, cell.seed, metric="m", metrics={"m": 1.0}),
            limits=Limits(),
            on_start=lambda _: True,
            on_result=out.append,
        )
    assert [result.status for result in out] == ["ok"]
