"""`graphnetz rings evaluate | complementarity | diversity | separability`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from graphnetz._core.errors import UsageError
from graphnetz.cli.app import OK, app, put

rings_app = typer.Typer(
    help="Is this dataset fit to judge models? (RINGS: Coupette et al., 2025)",
    no_args_is_help=True,
    rich_markup_mode=None,
)
app.add_typer(rings_app, name="rings")

Name = Annotated[str, typer.Argument(help="A dataset or task of the catalogue.")]
Root = Annotated[str, typer.Option(help="Where datasets are kept.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print as JSON.")]
Modes = Annotated[
    list[str] | None,
    typer.Option("--mode", help="A perturbation (see 'graphnetz list perturbations'); repeat for several."),
]


def _graphs(name: str, root: str) -> Any:
    from graphnetz.datasets import find_task
    from graphnetz.engine.worker import Workbench

    task = find_task(name)
    return Workbench({task.name: task}, {}, root).dataset(task.name, 0)


@rings_app.command()
def complementarity(
    name: Name, root: Root = "data/benchmark", t: int = 1, mode: Modes = None, as_json: AsJson = False
) -> int:
    """Do structure and features tell different things? Mean and spread over the graphs, per perturbation."""
    import numpy as np

    from graphnetz.rings import complementarity as measure

    graphs = _graphs(name, root)
    rows = {}
    for code in mode or ("o", "eg", "cg", "ef", "cf"):
        values = np.asarray(measure(graphs, perturbation=code, t=t))
        rows[code] = {"mean": float(np.nanmean(values)), "std": float(np.nanstd(values))}
    _print(rows, as_json, [f"{code}: {row['mean']:.3f} +- {row['std']:.3f}" for code, row in rows.items()])
    return OK


@rings_app.command()
def diversity(name: Name, root: Root = "data/benchmark", as_json: AsJson = False) -> int:
    """Is there anything to learn from? Structural and feature diversity."""
    from graphnetz.rings import diversity as measure

    result = measure(_graphs(name, root))
    rows = {"mean": dict(result.mean), "std": dict(result.std), "symbols": dict(result.symbols)}
    lines = [f"{k}: {result.mean[k]:.3f} +- {result.std[k]:.3f} ({result.symbols[k]})" for k in result.mean]
    _print(rows, as_json, lines)
    return OK


@rings_app.command()
def separability(
    scores: Annotated[Path, typer.Argument(help="CSV with the columns mode and score, one row per run.")],
    alpha: float = 0.01,
    statistic: str = "ks",
    lower_is_better: Annotated[bool, typer.Option("--lower-is-better", help="For errors such as MAE.")] = False,
    as_json: AsJson = False,
) -> int:
    """Do perturbed versions of a dataset perform differently? From scores trained anywhere."""
    from graphnetz._core.readers import read_csv
    from graphnetz.report.from_scores import numbers
    from graphnetz.rings import separability as test

    frame = read_csv(scores, text=("mode",))
    missing = {"mode", "score"} - set(frame.columns)
    if missing:
        raise UsageError(f"{str(scores)!r} lacks the columns {sorted(missing)}. It needs mode and score.")
    frame["score"] = numbers(frame, "score")
    runs = {str(mode): group["score"].to_numpy() for mode, group in frame.groupby("mode", sort=False)}
    result = test(runs, alpha=alpha, statistic=statistic, greater_is_better=not lower_is_better)  # type: ignore[arg-type]
    _print({"relation": result.relation, "notes": list(result.notes)}, as_json, [result.relation, *result.notes])
    return OK


@rings_app.command()
def evaluate(
    name: Name,
    tuning: Annotated[str, typer.Option(help="quick or paper.")] = "quick",
    runs: Annotated[int | None, typer.Option(help="Runs per mode.")] = None,
    mode: Modes = None,
    model: Annotated[list[str] | None, typer.Option(help="Architectures; default GCN, GAT, GIN.")] = None,
    workers: Annotated[int | None, typer.Option(help="Cells at a time.")] = None,
    backend: str = "local",
    out: Annotated[str | None, typer.Option(help="Run folder; an existing one is resumed.")] = None,
    root: Root = "data/benchmark",
    compare_paper: Annotated[
        bool, typer.Option("--compare-paper", help="Print the paper's scores beside ours.")
    ] = False,
    as_json: AsJson = False,
) -> int:
    """Train on original and perturbed data and say: keep, realign or deprecate."""
    from graphnetz.rings import evaluate as judge

    models = tuple(model) if model else ("GCN", "GAT", "GIN")
    result = judge(
        name,
        models=models,
        tuning=tuning,
        runs=runs,
        modes=mode,
        workers=workers,
        backend=backend,
        out=out,
        root=root,
        verbose=not as_json,
    )
    rows = {
        "verdict": result.verdict, "reason": result.reason, "provisional": result.provisional,
        "relations": dict(result.relations), "structure": result.assessment.structure,
        "features": result.assessment.features, "score": result.assessment.score,
        "diversity": dict(result.diversity.mean), "notes": list(result.notes),
    }  # fmt: skip
    lines = [result.paragraph, *result.notes, f"Verdict: {result.verdict}"]
    if out is not None:
        lines.append(f"Page: {Path(out) / 'report.html'}")
    if compare_paper:
        lines += _beside_paper(result, rows)
    _print(rows, as_json, lines)
    return OK


def _beside_paper(result: Any, rows: dict[str, Any]) -> list[str]:
    """Add the paper's judgement and scores to what is printed."""
    from graphnetz.rings import compare_judgement
    from graphnetz.rings import compare_paper as compare

    judged = compare_judgement(result)
    if judged is None:
        rows["paper"] = None
        return [f"The paper does not treat {result.name}."]
    scores = compare(result)
    rows["paper"] = {
        "judgement": judged.to_dict("records"),
        "scores": scores.astype(object).where(scores.notna(), None).to_dict("records"),
    }
    return ["", judged.to_string(index=False), "", scores.round(3).to_string(index=False)]


def _print(rows: dict[str, Any], as_json: bool, lines: list[str]) -> None:
    put(json.dumps(rows, indent=1, default=str) if as_json else "\n".join(lines))
