"""Where cells run: in this process, on this machine, on a cluster."""

from graphnetz.engine.executors.base import EXECUTORS, Executor, Limits, RunOne, Terminated, results_of
from graphnetz.engine.executors.drive import drive
from graphnetz.engine.executors.local import LocalExecutor, default_workers
from graphnetz.engine.executors.ray_tasks import RayExecutor
from graphnetz.engine.executors.serial import SerialExecutor

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
    "results_of",
]
