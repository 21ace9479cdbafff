"""`graphnetz train` and `graphnetz predict`: from a graph to a model that can be used."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from graphnetz._core.errors import UsageError
from graphnetz.cli.app import OK, answer, app, put, say

if TYPE_CHECKING:
    from graphnetz.records import Task
    from graphnetz.use import Trained

AsJson = Annotated[bool, typer.Option("--json", help="Print as JSON.")]
Features = Annotated[
    Path | None, typer.Option(help="Numbers of the nodes: a table with the column node and one column per feature.")
]


@app.command()
def train(
    out: Annotated[Path, typer.Option(help="Folder for the model.")],
    task: Annotated[str | None, typer.Option(help="A task by name; or a graph of your own:")] = None,
    graph: Annotated[
        Path | None, typer.Option(help="Edges as CSV (source, target; a column graph: many graphs), Parquet, GraphML.")
    ] = None,
    labels: Annotated[
        Path | None, typer.Option(help="Classes: a table with the columns node (or graph) and label.")
    ] = None,
    label_column: Annotated[str | None, typer.Option(help="Column to predict, where there are several.")] = None,
    features: Features = None,
    task_type: Annotated[
        str | None, typer.Option(help="node_cls, link_pred, edge_cls, graph_cls or graph_reg; default: what fits.")
    ] = None,
    model: Annotated[str, typer.Option(help="best, a model by name, path.py:Class or module:Class.")] = "best",
    seeds: Annotated[int, typer.Option(min=1, help="Splits on which models are compared.")] = 3,
    probe: Annotated[
        str | None, typer.Option(help="Time that the choice may take, such as 60s; default: train every model in full.")
    ] = None,
    epochs: Annotated[int | None, typer.Option(min=1, help="Most training epochs; default: the task's own.")] = None,
    export: Annotated[
        bool, typer.Option("--export", help="Also write model.pt2 with torch.export, where it works.")
    ] = False,
    root: Annotated[str, typer.Option(help="Where datasets are kept.")] = "data/benchmark",
    workers: Annotated[int | None, typer.Option(min=1, help="Cells at a time; default: one per core.")] = None,
    as_json: AsJson = False,
) -> int:
    """Choose a model for a task or a graph of your own, train it, and keep it in a folder."""
    from graphnetz.selection.probe import parse_seconds
    from graphnetz.use import train_model

    if (task is None) == (graph is None):
        raise UsageError("Give --task NAME or --graph FILE: one of them says what to train on.")
    if task is not None and (labels or features or label_column):
        raise UsageError("--labels, --label-column and --features belong to --graph; a task has its own.")
    given: Task | str = task or _own(graph, labels, label_column, features, task_type)  # type: ignore[arg-type]
    if task is not None and task_type is not None:
        raise UsageError("--task-type belongs to --graph; a task has its own.")
    found = train_model(
        given, out, model=model, seeds=seeds, epochs=epochs, root=root, workers=workers,
        probe=None if probe is None else parse_seconds(probe), say=str if as_json else say,
    )  # fmt: skip
    answer(as_json, lambda: dataclasses.asdict(found), lambda: _show(found, out))
    if export:
        from graphnetz.use.predicting import export_program

        try:
            path = export_program(out, model=model if found.reference else None)
            say(f"Program for torch.export.load: {path}")
        except UsageError as error:
            say(f"No model.pt2: {error}")
    return OK


def _own(graph: Path, labels: Path | None, column: str | None, features: Path | None, task_type: str | None) -> Task:
    from graphnetz._core.paths import slug
    from graphnetz.datasets import task_from_edges

    return task_from_edges(
        slug(graph.stem), str(graph), labels=None if labels is None else str(labels), label_column=column,
        features=None if features is None else str(features), task_type=task_type,
    )  # fmt: skip


def _show(found: Trained, out: Path) -> None:
    from graphnetz._core.text import number
    from graphnetz.metrics import METRICS

    label = METRICS[found.metric].label
    put(f"{_capital(label)}, mean over splits:")
    put("  validation  test   model")  # names last: settings make some of them wide
    for item in found.candidates:
        note = "" if item.saved else "  (a simple rule; cannot be kept as a file)"
        put(f"  {_said(item.validation):10}  {_said(item.test):5}  {item.model}{note}")
    best = found.candidates[0]
    spread = "" if best.spread is None else f", standard deviation {number(best.spread)} over {best.seeds} splits"
    put(f"Kept: {found.label}. {_capital(label)} on examples it had not seen: {_said(best.test)}{spread}.")
    better = METRICS[found.metric].greater_is_better
    rule = next(
        (r for r in found.candidates if not r.saved and r.validation is not None and best.validation is not None
         and (r.validation >= best.validation if better else r.validation <= best.validation)), None
    )  # fmt: skip
    if rule is not None:
        put(f"{rule.model}, a simple rule, validates no worse: a network may not be worth its cost here.")
    if not found.inductive:
        put(f"It serves this graph only: {found.why}")
    whole = f"Trained again on all {found.trained_on:,} labelled examples"
    again = whole if found.with_test else "Trained on the first split"
    put(f"{again} and written to {out} (weights, facts, README.md).")
    put(f"Use it: {found.command(str(out))}")


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _said(value: float | None) -> str:
    from graphnetz._core.text import number

    return "not defined" if value is None or value != value else number(value)


@app.command()
def predict(
    folder: Annotated[Path, typer.Argument(help="A folder that 'graphnetz train' wrote.")],
    graph: Annotated[Path, typer.Option(help="Edges of the graph to predict for, in any format that train takes.")],
    out: Annotated[Path | None, typer.Option(help="CSV to write; default: print the first rows.")] = None,
    features: Features = None,
    top: Annotated[int, typer.Option(min=1, help="Link prediction: how many of the likeliest new links.")] = 100,
    model: Annotated[
        str | None, typer.Option(help="The model's code, path.py:Class, where it is your own; never the folder's.")
    ] = None,
    as_json: AsJson = False,
) -> int:
    """Predict with a kept model: classes by name, values of graphs, or the likeliest new links."""
    from graphnetz.use import predict as apply

    found = apply(folder, str(graph), features=None if features is None else str(features), top=top, model=model)
    if out is not None:
        from graphnetz._core.paths import write_file

        write_file(out, found.map(_cell).to_csv(index=False, lineterminator="\n"))
        say(f"{len(found)} rows written to {out}.")
    shown = lambda: put(found.head(5 if out is not None else 20).to_string(index=False))  # noqa: E731
    return answer(as_json, lambda: found.to_dict(orient="records"), shown)


def _cell(value: object) -> object:
    """Names for a table: what a spreadsheet would run as a formula is quoted, numbers that are names stay."""
    from graphnetz.report import escape

    try:
        float(str(value))
    except ValueError:
        return escape.csv(value)
    return value
