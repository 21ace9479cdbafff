"""Fail every allocation while a thread begins, works and ends: nobody may wait for it without end.

``python -m faults.threads`` under the shim (`faults.shim.under`); prints one JSON object per kind of fault.
"""

from __future__ import annotations

import errno
import json
import os
import select
import signal
import sys
import time

from graphnetz._core import threads

from . import shim

LONGEST = 15.0
"""Seconds that the whole may take: a thread has 2 to begin and 5 to end."""


def once(n: int, *, persistent: bool) -> tuple[str, int]:
    """Begin and end a thread in a process of its own while the ``n``-th allocation fails: how it ended, and faults."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        _in_child(n, persistent, writer)
    os.close(writer)
    there = select.select([reader], [], [], LONGEST)[0]
    text = os.read(reader, 100).decode() if there else ""
    os.close(reader)
    if not there:
        os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    end, _, hits = text.partition(" ")
    return (end, int(hits)) if text else ("hangs" if not there else "died", 1)


def _in_child(n: int, persistent: bool, writer: int) -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    threads.PATIENCE = 2
    called: list[int] = []
    library = shim.handle()
    off, found, end = library.fault_disarm, library.fault_hits, b"traceback"  # looked up while there is memory
    try:
        shim.arm("malloc", n, errno.ENOMEM, persistent=persistent)
        with threads.Repeated(lambda: called.append(1), 0.001):
            deadline = time.monotonic() + 2
            while not called and not persistent and time.monotonic() < deadline:
                time.sleep(0.001)
        end = b"complete" if called or persistent else b"silent"  # one allocation that fails is not the last call
    except MemoryError:
        end = b"sentence"
    finally:
        try:
            off()
        except MemoryError:  # the fault has struck here
            off()
        os.write(writer, b"%s %d" % (end, found()))
        os._exit(0)


def sweep(*, persistent: bool) -> dict[str, object]:
    """Fail one allocation after the other until a thread has come and gone before its fault."""
    ends: dict[str, int] = {}
    broken: list[dict[str, object]] = []
    n = 0
    while True:
        n += 1
        end, hits = once(n, persistent=persistent)
        if hits == 0:
            break
        ends[end] = ends.get(end, 0) + 1
        if end not in ("complete", "sentence"):
            broken.append({"n": n, "wrong": [end]})
    tried = n - 1
    return {"scenario": "threads", "fault": "malloc ENOMEM" + " and all after" * persistent, "tried": tried,
            "held": tried - len(broken), "ends": ends, "stride": 1, "broken": broken}  # fmt: skip


def main() -> None:
    """Both kinds of fault; one that fails once among all objects, most of which else come out of what was there."""
    with threads.Repeated(lambda: None, 0.001):
        pass  # the first thread that ends makes the C library load another one, and abort where it cannot
    once_only = os.environ.get("PYTHONMALLOC") == "malloc"
    print(json.dumps(sweep(persistent=not once_only)), flush=True)
    if not once_only:
        os.execve(sys.executable, [sys.executable, "-m", "faults.threads"], {**os.environ, "PYTHONMALLOC": "malloc"})


if __name__ == "__main__":
    main()
