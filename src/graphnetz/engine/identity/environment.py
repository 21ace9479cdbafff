"""Where a number was made: versions, processor and threads, and one key for all of it."""

from __future__ import annotations

import json
import os
import platform
from importlib import metadata
from pathlib import Path
from typing import Any

from graphnetz.records.digests import sha256

_PACKAGES = ("torch", "torch_geometric", "numpy", "scipy", "numba", "scikit-learn")
# What can change the last bit of a metric. The rest of `environment` is told, not compared.
_DECISIVE = ("python", "packages", "system", "machine", "vendor", "capability", "threads", "cuda", "gpu")


def environment() -> dict[str, Any]:
    """Return versions, system, processor, vector instructions, threads and accelerators of this process.

    ``threads`` is the thread count of a cell, not of the caller: every executor trains with one.
    """
    import torch

    cuda = bool(torch.cuda.is_initialized())  # type: ignore[no-untyped-call]
    return {
        "python": ".".join(platform.python_version_tuple()[:2]),
        "python_full": platform.python_version(),
        "packages": {name: _version(name) for name in _PACKAGES},
        "graphnetz": _version("graphnetz-bench"),
        "system": platform.system(),
        "release": platform.release(),
        "machine": platform.machine(),
        "vendor": _cpuinfo("vendor_id"),
        "processor": _cpuinfo("model name"),
        "capability": torch.backends.cpu.get_cpu_capability(),
        "cores": os.cpu_count() or 1,
        "memory": _total_memory(),
        "threads": 1,
        "cuda": torch.version.cuda if cuda else None,
        "gpu": torch.cuda.get_device_name() if cuda else None,
    }


def environment_key(values: dict[str, Any] | None = None) -> str:
    """Return a short name of the environment: equal keys promise bit-equal metrics."""
    facts = environment() if values is None else values
    text = json.dumps({name: facts.get(name) for name in _DECISIVE}, sort_keys=True)
    return sha256(text.encode())[:12]


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _cpuinfo(field: str) -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines():
            name, _, value = line.partition(":")
            if name.strip() == field:
                return value.strip()
    except OSError:
        pass
    return platform.processor()


def _total_memory() -> int:
    import psutil

    return int(psutil.virtual_memory().total)
