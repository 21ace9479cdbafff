"""`graphnetz cluster`: scripts that start a Ray cluster inside a batch system."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from graphnetz.cli.app import OK, app, put, say

cluster = typer.Typer(help="Run on a cluster.", no_args_is_help=True, rich_markup_mode=None)
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
    out: Annotated[Path | None, typer.Option(help="Write the script here instead of printing it.")] = None,
) -> int:
    """Print a batch script: Ray on every node of the allocation, the benchmark on top of it."""
    from graphnetz.engine.cluster import slurm_script

    script = slurm_script(
        arguments, nodes=nodes, cpus_per_node=cpus, time=time, memory=mem, gpus_per_node=gpus, partition=partition,
        account=account, job_name=job_name, setup=setup or (), port=port, patience=patience,
    )  # fmt: skip
    if out is None:
        put(script, end="")
    else:
        from graphnetz._core.paths import write_file

        write_file(out, script)
        say(f"Wrote {out}. Submit it with: sbatch {out}")
    return OK
