"""Ray inside a SLURM allocation: one script that starts the cluster, runs the benchmark and cleans up."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from time import monotonic as time_now
from time import sleep

from graphnetz._core.errors import UsageError
from graphnetz._core.optional import require

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
    dashboard: bool = False,
    niceness: int | None = None,
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
    dashboard
        Whether Ray's dashboard runs on the first node; nothing here needs it.
    niceness
        Priority of Ray's workers, 0 for the normal one; None leaves Ray's own, which is 15: behind everything else.

    Examples
    --------
    >>> print(slurm_script(["--suite", "default", "--out", "runs/a"], nodes=2)[:19])
    #!/usr/bin/env bash
    """
    if nodes < 1 or cpus_per_node < 1 or gpus_per_node < 0:
        raise UsageError(f"nodes={nodes}, cpus_per_node={cpus_per_node}, gpus_per_node={gpus_per_node}: too few.")
    if niceness is not None and not 0 <= niceness <= 19:
        raise UsageError(f"niceness must be between 0 (normal) and 19 (behind everything else), got {niceness}.")
    if "--backend" in arguments or "--address" in arguments:
        raise UsageError("--backend and --address are set by the script. Leave them out.")
    if not 1024 <= port <= 65535:
        raise UsageError(f"port must be between 1024 and 65535, got {port}.")
    lines = _directives(
        time, {
            "job-name": job_name, "nodes": str(nodes), "ntasks-per-node": "1", "cpus-per-task": str(cpus_per_node),
            "time": time, "mem": memory, "gres": f"gpu:{gpus_per_node}" if gpus_per_node else None,
            "partition": partition, "account": account, "signal": "B:TERM@60",
        },
    )  # fmt: skip
    body = _BODY.format(
        setup="\n".join(setup),
        port=port,
        cpus=cpus_per_node,
        gpu_flag=f" --num-gpus={gpus_per_node}" if gpus_per_node else "",
        patience=patience,
        dashboard="true" if dashboard else "false",
        niceness="" if niceness is None else f" RAY_worker_niceness={niceness}",
        command=shlex.join(["graphnetz", "run", *arguments]),
    )
    return "\n".join(lines) + "\n" + body


def array_script(
    arguments: Sequence[str],
    *,
    parts: int,
    cpus: int = 8,
    time: str = "04:00:00",
    memory: str | None = None,
    gpus: int = 0,
    partition: str | None = None,
    account: str | None = None,
    job_name: str = "graphnetz",
    setup: Sequence[str] = (),
) -> str:
    """Return a script for ``sbatch`` that trains a run in parts, one job of an array each, without Ray.

    Parameters
    ----------
    arguments
        Arguments of ``graphnetz run`` with ``--out``: part 3 is written to ``OUT/part-3``.
    parts
        Jobs of the array.
    cpus, time, memory, gpus, partition, account, job_name, setup
        As in `slurm_script`, of one job.

    Returns
    -------
    str
        The script; its last line says how the parts are put together.

    Examples
    --------
    >>> print(array_script(["--task", "cora", "--out", "runs/a"], parts=20).splitlines()[-1])
    # When all are done: graphnetz merge runs/a/part-* --out runs/a/all
    """
    if parts < 1 or cpus < 1 or gpus < 0:
        raise UsageError(f"parts={parts}, cpus={cpus}, gpus={gpus}: too few.")
    given = list(arguments)
    if "--shard" in given:
        raise UsageError("--shard is set by the script. Leave it out.")
    if "--out" not in given[:-1]:
        raise UsageError("A job array needs --out: every part is written to a folder below it.")
    place = given.index("--out")
    out = given[place + 1]
    del given[place : place + 2]
    lines = _directives(
        time, {
            "job-name": job_name, "array": f"1-{parts}", "nodes": "1", "ntasks": "1", "cpus-per-task": str(cpus),
            "time": time, "mem": memory, "gres": f"gpu:{gpus}" if gpus else None, "partition": partition,
            "account": account, "signal": "TERM@60",
        },
    )  # fmt: skip
    where = f'{shlex.quote(out)}/part-"$SLURM_ARRAY_TASK_ID"'
    command = shlex.join(["graphnetz", "run", *given, "--workers", str(cpus)] if "--workers" not in given
                         else ["graphnetz", "run", *given])  # fmt: skip
    lines += [
        "set -euo pipefail", "export OMP_NUM_THREADS=1 MKL_NUM_THREADS=1", *setup,
        f'exec {command} --shard "$SLURM_ARRAY_TASK_ID/{parts}" --out {where}',
        f"# When all are done: graphnetz merge {shlex.quote(out)}/part-* --out {shlex.quote(out + '/all')}",
    ]  # fmt: skip
    return "\n".join(lines) + "\n"


def _directives(time: str, values: Mapping[str, str | None]) -> list[str]:
    """Return the head of a batch script; words that SLURM or the shell could read otherwise are refused."""
    if not _TIME.match(time):
        raise UsageError(f"time is {time!r}. Write it as SLURM does: HH:MM:SS or D-HH:MM:SS.")
    lines = ["#!/usr/bin/env bash"]
    for name, value in values.items():
        if value is None:
            continue
        if not _WORD.match(value):
            raise UsageError(f"{name} is {value!r}. Only letters, digits and _.,:=@/+- are allowed.")
        lines.append(f"#SBATCH --{name}={value}")
    return lines


def wait_for_nodes(address: str, nodes: int, *, patience: float = 120.0) -> int:
    """Wait until a Ray cluster has as many living nodes, and return how many it has.

    Parameters
    ----------
    address
        Of the head, as ``host:port``; it need not be up yet.
    nodes
        How many to wait for.
    patience
        Seconds after which to give up.

    Returns
    -------
    int
        Living nodes: fewer than asked for when the time is up.
    """
    ray = require("ray", extra="ray", purpose="Waiting for a Ray cluster")
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    end, alive = time_now() + patience, 0
    while True:
        # The head's own table of nodes, which needs no dashboard.
        try:
            ray.init(address=address, log_to_driver=False, logging_level="error", configure_logging=False)
            while (alive := sum(bool(node["Alive"]) for node in ray.nodes())) < nodes and time_now() < end:
                sleep(0.5)
            return alive
        except (ConnectionError, RuntimeError, ValueError, OSError):  # the head is not up yet
            if time_now() >= end:
                return alive
            sleep(1)
        finally:
            ray.shutdown()
