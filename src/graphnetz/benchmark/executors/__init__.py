"""Where cells run: in this process, on this machine, on a cluster."""

from graphnetz.benchmark.executors.base import EXECUTORS, Executor, Limits, RunOne, Terminated
from graphnetz.benchmark.executors.drive import drive
from graphnetz.benchmark.executors.local import LocalExecutor, default_workers
from graphnetz.benchmark.executors.ray_tasks import RayExecutor
from graphnetz.benchmark.executors.serial import SerialExecutor

__all__ = [
    "EXECUTORS",
    "Executor",
    "Limits",
    "LocalExecutor",
    "RayExecutor",
    "RunOne",
    "SerialExecutor",
    "Terminated",
    "default_workers",
    "drive",
]
