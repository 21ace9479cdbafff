"""`graphnetz cluster`: scripts that start a Ray cluster inside a batch system."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from graphnetz.cli.app import FAILED_CELLS, OK, WholeGroup, app, put, say

cluster = typer.Typer(cls=WholeGroup, help="Run on a cluster.", no_args_is_help=True, rich_markup_mode=None)
app.add_typer(cluster, name="cluster")


@cluster.command()
def slurm(
    arguments: Annotated[list[str], typer.Argument(help="After --: the arguments of 'graphnetz run'.")],
    nodes: Annotated[int, typer.Option(help="Nodes of the allocation.")] = 2,
    cpus: Annotated[int, typer.Option(help="Processors per node; as many cells run at a time there.")] = 8,
    time: Annotated[str, typer.Option(help="Time limit as SLURM writes it: HH:MM:SS or D-HH:MM:SS.")] = "04:00:00",
    mem: Annotated[str | None, typer.Option(help="Memory per node, such as 64G.")] = None,
    gpus: Annotated[int, typer.Option(help="Graphics processors per node.")] = 0,
    partition: Annotated[str | None, typer.Option(help="Partition.")] = None,
    account: Annotated[str | None, typer.Option(help="Account.")] = None,
    job_name: Annotated[str, typer.Option(help="Name of the job.")] = "graphnetz",
    setup: Annotated[
        list[str] | None, typer.Option(help="A line run first, such as 'source .venv/bin/activate'; repeatable.")
    ] = None,
    port: Annotated[int, typer.Option(help="Port of the Ray head.")] = 6379,
    patience: Annotated[int, typer.Option(help="Seconds to wait until all nodes have joined.")] = 120,
    dashboard: Annotated[bool, typer.Option("--dashboard", help="Start Ray's dashboard on the first node.")] = False,
    niceness: Annotated[
        int | None, typer.Option(help="Priority of Ray's workers: 0 is normal; left out: Ray's own, 15.")
    ] = None,
    array: Annotated[
        int | None, typer.Option(help="Without Ray: a job array of this many parts, to be merged afterwards.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Write the script here instead of printing it.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print as JSON.")] = False,
) -> int:
    """Print a batch script: Ray on every node of the allocation, or a job array, and the benchmark on top of it."""
    from graphnetz.engine.cluster import array_script, slurm_script

    if array is not None:
        script = array_script(
            arguments, parts=array, cpus=cpus, time=time, memory=mem, gpus=gpus, partition=partition, account=account,
            job_name=job_name, setup=setup or (),
        )  # fmt: skip
    else:
        script = slurm_script(
            arguments, nodes=nodes, cpus_per_node=cpus, time=time, memory=mem, gpus_per_node=gpus,
            partition=partition, account=account, job_name=job_name, setup=setup or (), port=port, patience=patience,
            dashboard=dashboard, niceness=niceness,
        )  # fmt: skip
    if as_json:
        put(json.dumps({"script": script}, indent=1))
    elif out is None:
        put(script, end="")
    if out is not None:
        from graphnetz._core.paths import write_file

        write_file(out, script)
        say(f"Wrote {out}. Submit it with: sbatch {out}")
    return OK


@cluster.command()
def wait(
    address: Annotated[str, typer.Option(help="Of the Ray head: host:port.")],
    nodes: Annotated[int, typer.Option(min=1, help="How many nodes must have joined.")],
    patience: Annotated[float, typer.Option(min=0, help="Seconds after which to give up.")] = 120.0,
    as_json: Annotated[bool, typer.Option("--json", help="Print as JSON.")] = False,
) -> int:
    """Wait until every node of a Ray cluster has joined; no dashboard is needed."""
    from graphnetz.engine.cluster import wait_for_nodes

    alive = wait_for_nodes(address, nodes, patience=patience)
    if as_json:
        put(json.dumps({"alive": alive, "wanted": nodes}))
    if alive < nodes:
        say(f"Only {alive} of {nodes} nodes joined the Ray cluster within {patience:g} s.")
        return FAILED_CELLS
    say(f"{alive} of {nodes} nodes joined the Ray cluster.")
    return OK
