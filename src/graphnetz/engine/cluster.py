"""Ray inside a SLURM allocation: one script that starts the cluster, runs the benchmark and cleans up."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from pathlib import Path

from graphnetz._core.errors import UsageError

_TIME = re.compile(r"^(\d+-)?\d{1,3}(:\d{2}){1,2}$")
_WORD = re.compile(r"^[A-Za-z0-9_.,:=@/+-]+$")

_BODY = Path(__file__).with_suffix(".sh").read_text(encoding="utf-8")


def slurm_script(
    arguments: Sequence[str],
    *,
    nodes: int = 2,
    cpus_per_node: int = 8,
    time: str = "04:00:00",
    memory: str | None = None,
    gpus_per_node: int = 0,
    partition: str | None = None,
    account: str | None = None,
    job_name: str = "graphnetz",
    setup: Sequence[str] = (),
    port: int = 6379,
    patience: int = 120,
) -> str:
    """Return a batch script for ``sbatch``.

    Parameters
    ----------
    arguments
        Arguments of ``graphnetz run``; they are quoted for the shell. The run folder must lie on a
        disk that the first node can write: only the driver there touches the store.
    nodes, cpus_per_node, time, memory, gpus_per_node, partition, account, job_name
        Of the allocation.
    setup
        Lines run first on the first node, such as ``source .venv/bin/activate``; taken as they are.
    port, patience
        Of the Ray head, and how many seconds to wait for all nodes.

    Examples
    --------
    >>> print(slurm_script(["--suite", "default", "--out", "runs/a"], nodes=2)[:19])
    #!/usr/bin/env bash
    """
    if nodes < 1 or cpus_per_node < 1 or gpus_per_node < 0:
        raise UsageError(f"nodes={nodes}, cpus_per_node={cpus_per_node}, gpus_per_node={gpus_per_node}: too few.")
    if not _TIME.match(time):
        raise UsageError(f"time is {time!r}. Write it as SLURM does: HH:MM:SS or D-HH:MM:SS.")
    if not 1024 <= port <= 65535:
        raise UsageError(f"port must be between 1024 and 65535, got {port}.")
    if "--backend" in arguments or "--address" in arguments:
        raise UsageError("--backend and --address are set by the script. Leave them out.")
    directives = {
        "job-name": job_name,
        "nodes": str(nodes),
        "ntasks-per-node": "1",
        "cpus-per-task": str(cpus_per_node),
        "time": time,
        "mem": memory,
        "gres": f"gpu:{gpus_per_node}" if gpus_per_node else None,
        "partition": partition,
        "account": account,
        "signal": "B:TERM@60",
    }
    lines = ["#!/usr/bin/env bash"]
    for name, value in directives.items():
        if value is None:
            continue
        if not _WORD.match(value):
            raise UsageError(f"{name} is {value!r}. Only letters, digits and _.,:=@/+- are allowed.")
        lines.append(f"#SBATCH --{name}={value}")
    body = _BODY.format(
        setup="\n".join(setup),
        port=port,
        cpus=cpus_per_node,
        gpu_flag=f" --num-gpus={gpus_per_node}" if gpus_per_node else "",
        patience=patience,
        command=shlex.join(["graphnetz", "run", *arguments]),
    )
    return "\n".join(lines) + "\n" + body
