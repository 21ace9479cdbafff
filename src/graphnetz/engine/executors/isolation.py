"""First steps of a child process: let go of everything of the driver that could hang or be disturbed."""

from __future__ import annotations

import contextlib
import ctypes
import faulthandler
import logging
import os
import signal
import sys
from typing import Any

from graphnetz._core.threads import Repeated

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_KEEP: list[Any] = []  # replaced streams and handlers: dropping them would flush them, and flushing can lock
ONE_THREAD = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "MKL", "OPENBLAS", "NUMBA")}


def signals(names: str) -> list[signal.Signals]:
    """Return the signals of these names that this system knows: Windows lacks most."""
    return [getattr(signal, name) for name in names.split() if hasattr(signal, name)]


_KILL = signals("SIGKILL SIGTERM")[0]


def one_thread() -> None:
    """Run numeric libraries on one thread.

    Must be the first torch call of a forked child: any other one hangs on the parent's thread pool.
    """
    torch = sys.modules.get("torch")
    if torch is not None and hasattr(torch, "set_num_threads"):
        torch.set_num_threads(1)
    os.environ.update(ONE_THREAD)


def cuda_in_use() -> bool:
    """Whether this process has started CUDA."""
    torch = sys.modules.get("torch")
    return bool(torch is not None and torch.cuda.is_initialized())


def silence() -> None:
    """Replace standard streams and log handlers: the console and the log belong to the driver."""
    _KEEP.extend((sys.stdin, sys.stdout, sys.stderr, sys.__stdin__, sys.__stdout__, sys.__stderr__))
    faulthandler.disable()  # it may write to a copy of the console's descriptor
    null = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(null, number)
    if null > 2:
        os.close(null)
    sys.stdin = sys.__stdin__ = open(0, encoding="utf-8", closefd=False)  # type: ignore[misc]  # noqa: SIM115
    sys.stdout = sys.__stdout__ = open(1, "w", encoding="utf-8", closefd=False)  # type: ignore[misc]  # noqa: SIM115
    sys.stderr = sys.__stderr__ = open(2, "w", encoding="utf-8", closefd=False)  # type: ignore[misc]  # noqa: SIM115
    for logger in logging.root.manager.loggerDict.values():
        if isinstance(logger, logging.Logger):
            _KEEP.append(logger.handlers)
            logger.handlers = []
    _KEEP.append(logging.root.handlers)
    logging.root.handlers = [logging.NullHandler()]


def own_group() -> None:
    """Lead a process group, so that all descendants can be ended together."""
    if hasattr(os, "setpgid"):
        os.setpgid(0, 0)


def kill_group(pid: int) -> None:
    """End the process group that ``pid`` leads or led, where there are such groups."""
    if hasattr(os, "killpg"):
        with contextlib.suppress(OSError):
            os.killpg(pid, _KILL)


def kill_family(pid: int) -> None:
    """End a child that is not yet waited for, with everything it started."""
    import psutil

    with contextlib.suppress(psutil.Error):
        leader = psutil.Process(pid)
        for process in [*leader.children(recursive=True), leader]:
            with contextlib.suppress(psutil.Error):
                process.kill()
    kill_group(pid)


def reset_signals() -> None:
    """Forget the driver's handlers; Ctrl-C is the driver's business."""
    signal.set_wakeup_fd(-1)
    for number in signals("SIGTERM SIGHUP SIGALRM SIGUSR1 SIGUSR2 SIGCHLD"):
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_SETMASK, [])


def die_with(parent: int, *, by: int = _KILL) -> None:
    """Ask the kernel for ``by`` when the parent ends; leave at once when it has ended already."""
    _prctl(_PR_SET_PDEATHSIG, int(by))
    if os.getppid() != parent:
        os._exit(0)


def watch(parent: int) -> None:
    """Leave within a second of the parent's end, where no kernel can be asked for it."""

    def look() -> None:
        import psutil

        if os.getppid() != parent or not psutil.pid_exists(parent):  # on Windows the first never changes
            kill_group(os.getpid())
            os._exit(0)

    Repeated(look, 1.0).__enter__()


def adopt_orphans() -> None:
    """Become the parent of descendants whose parents die, so that none escapes."""
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def _prctl(option: int, value: int) -> None:
    if sys.platform.startswith("linux"):
        ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0)
