"""`graphnetz replicate`: a paper's numbers and claims beside ours."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from graphnetz.cli.app import OK, answer, app, put, say


@app.command()
def replicate(
    paper: Annotated[str, typer.Argument(help="graphnetz, benchmarking-gnns, rings or glemos.")],
    table: Annotated[str | None, typer.Option(help="One table of the paper; default: all.")] = None,
    size: Annotated[
        str,
        typer.Option(help="'small': minutes; 'generated': its protocol, our own data; 'published': its data too."),
    ] = "small",
    out: Annotated[Path | None, typer.Option(help="Folder of runs and page; an existing one is resumed.")] = None,
    hours: Annotated[float, typer.Option(help="Leave out what takes more core-hours per model and task.", min=0)] = 8.0,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Price what is missing, train nothing.")] = False,
    price: Annotated[bool, typer.Option("--price/--no-price", help="Price cells before training them.")] = True,
    seeds: Annotated[str | None, typer.Option(help="Other seeds than the paper's, such as 14,15 or a number.")] = None,
    mirror: Annotated[str | None, typer.Option(help="Folder or URL asked for datasets before the network.")] = None,
    root: Annotated[str | None, typer.Option(help="Where datasets are kept.")] = None,
    workers: Annotated[int | None, typer.Option(help="Cells at a time; default: one per core.", min=1)] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the certificate as JSON.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress.")] = False,
) -> int:
    """Run what is reachable of a paper and set each published cell and claim beside ours."""
    from graphnetz.papers.replicate import replicate as make

    folder = out or Path("runs") / f"replicate-{paper}-{size}"
    given = {"seeds": seeds, "mirror": mirror, "root": root, "workers": workers}
    settings = {key: value for key, value in given.items() if value is not None}
    most = 0.0 if dry_run else hours if price else None
    made = make(paper, table=table, size=size, out=folder, hours=most, tell=None if quiet else say, **settings)
    return answer(as_json, made.to_json, lambda: _print(made, folder))


def _print(made: Any, folder: Path) -> int:
    for item in made.claims:
        put(str(item))
    for what, counts in made.counts().items():
        put(f"{what}: " + ", ".join(f"{count} {name}" for name, count in counts.items()))
    put(f"Page: {folder / 'certificate.html'}")
    return OK
