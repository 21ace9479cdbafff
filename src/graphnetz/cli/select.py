"""`graphnetz select recommend | features | collect | testbed`.

The recommendation is the common case and must come at once: nothing here imports torch before it is needed.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from graphnetz._core.errors import UsageError
from graphnetz._core.plain import jsonable
from graphnetz.cli.app import answer, app, put, say

if TYPE_CHECKING:
    from graphnetz.selection import PerformanceBank, Recommendation
    from graphnetz.selection.study import TestbedStudy

select_app = typer.Typer(
    help="Which model should I try on my graph? (after GLEMOS and MetaGL: Park et al., 2023)",
    no_args_is_help=True,
    rich_markup_mode=None,
)
app.add_typer(select_app, name="select")

File = Annotated[Path | None, typer.Argument(help="Edge list file; without one a bundled example graph.")]
TaskType = Annotated[str, typer.Option("--task", "--task-type", help="link_pred or node_cls.")]
BankFile = Annotated[
    Path | None, typer.Option(help="Your own bank: joined to the one that ships; --verify and collect add to it.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print as JSON.")]


@select_app.command("recommend")
def recommend_command(
    file: File = None,
    task: TaskType = "link_pred",
    top: Annotated[int, typer.Option(min=1, help="Length of the shortlist.")] = 5,
    budget: Annotated[float | None, typer.Option(help="Seconds one training run may take.")] = None,
    labels: Annotated[Path | None, typer.Option(help="Node classes: CSV with the columns node and label.")] = None,
    bank: BankFile = None,
    selector: Annotated[str | None, typer.Option(help="Who ranks (see 'graphnetz list selectors').")] = None,
    verify: Annotated[int, typer.Option(min=0, help="Train this many of the shortlist through the engine.")] = 0,
    seeds: Annotated[int, typer.Option(min=1, help="Seeds of --verify.")] = 3,
    epochs: Annotated[int, typer.Option(min=1, help="Most epochs of --verify.")] = 300,
    workers: Annotated[int | None, typer.Option(min=1, help="Cells of --verify at a time.")] = None,
    out: Annotated[Path | None, typer.Option(help="Run folder of --verify; an existing one is resumed.")] = None,
    code: Annotated[bool, typer.Option("--code", help="Print only the code that builds the first choice.")] = False,
    as_json: AsJson = False,
) -> int:
    """Rank model configurations for a graph without training any."""
    from graphnetz.selection import SELECTORS, recommend

    chosen = SELECTORS[selector]() if selector else None
    graph = _graph(file, labels)
    known = _known(bank)
    result = recommend(graph, task, top=max(top, verify), budget=budget, bank=known, selector=chosen)
    measured = {}
    if verify:
        from graphnetz.selection.verify import verify as train

        measured = train(result, verify, seeds=range(seeds), epochs=epochs, workers=workers, out=out, keep=bank)
    words = (lambda: put(result.to_code(0), end="")) if code else lambda: _show(result, measured, top)
    return answer(as_json, lambda: _as_dict(result, measured, top), words)


@select_app.command()
def features(
    file: File = None,
    feature_set: Annotated[str, typer.Option("--set", help="A feature set, or several joined by +.")] = "regular",
    labels: Annotated[Path | None, typer.Option(help="Node classes: CSV with the columns node and label.")] = None,
    as_json: AsJson = False,
) -> int:
    """Print the meta-features of a graph."""
    from graphnetz.selection import feature_names, meta_features

    graph = _graph(file, labels)
    values = meta_features(graph, feature_set)
    table = {name: jsonable(value) for name, value in zip(feature_names(feature_set), values.tolist(), strict=True)}
    lines = [f"{name}\t{'' if value is None else repr(value)}" for name, value in table.items()]
    return answer(as_json, lambda: table, lambda: put("\n".join(lines)))


@select_app.command()
def collect(
    out: Annotated[Path, typer.Option(help="Folder of the collection; an existing one is resumed.")],
    task: Annotated[list[str] | None, typer.Option("--task", "--task-type", help="Task types; default: both.")] = None,
    graph: Annotated[
        list[Path] | None, typer.Option(help="Edge lists of your own instead of the built-in graphs.")
    ] = None,
    labels: Annotated[
        list[Path] | None, typer.Option(help="Node classes, one file per --graph: CSV with the columns node and label.")
    ] = None,
    graphs: Annotated[int | None, typer.Option(min=1, help="Only the first of the built-in graphs.")] = None,
    propose: Annotated[
        int | None, typer.Option("--next", min=1, help="Measure this many of the most informative missing pairs.")
    ] = None,
    extend: Annotated[bool, typer.Option("--extend", help="Start from the bank that ships.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="List what would be measured.")] = False,
    workers: Annotated[int | None, typer.Option(min=1, help="Cells at a time; default: one per core.")] = None,
    backend: Annotated[str, typer.Option(help="local, serial or ray.")] = "local",
    timeout: Annotated[float | None, typer.Option(help="Seconds a cell may take.")] = None,
    epochs: Annotated[int, typer.Option(min=1, help="Most epochs.")] = 300,
    as_json: AsJson = False,
) -> int:
    """Measure configurations on graphs through the engine and keep them in OUT/bank.npz."""
    from graphnetz.selection import PerformanceBank
    from graphnetz.selection.collect import Effort
    from graphnetz.selection.collect import collect as measure
    from graphnetz.selection.plan import chosen_plan, own_graphs
    from graphnetz.selection.space import TASK_TYPES

    file = out / "bank.npz"
    bank = PerformanceBank.load() if extend else PerformanceBank()
    if file.exists():
        bank = bank.merge(PerformanceBank.load(file))
    own = own_graphs(graph or (), labels or ())
    plan = chosen_plan(bank, task_types=tuple(task or TASK_TYPES), files=own, graphs=graphs, propose=propose)
    if dry_run:
        rows = [{"graph": m.graph.name, "configuration": m.configuration.name, "task": m.task_type} for m in plan]
        return answer(as_json, lambda: rows, lambda: put("\n".join("\t".join(row.values()) for row in rows)))
    say(f"{len(plan)} measurements to make, {len(bank)} in the bank.")
    effort = Effort(workers, backend, timeout, epochs)
    bank = measure(plan, out, bank=bank, effort=effort, on_chunk=lambda b: say(f"{len(b)} records"))
    summary = {"bank": str(file), "records": len(bank), "graphs": len(bank.graphs), "task_types": list(bank.task_types)}
    words = f"{file}: {len(bank)} records on {len(bank.graphs)} graphs"
    return answer(as_json, lambda: summary, lambda: put(words))


@select_app.command("testbed")
def compare_selectors(
    data: Annotated[
        Path | None, typer.Option(help="MetaGL_data.npz or the GLEMOS folder; default: the bank that ships.")
    ] = None,
    selector: Annotated[list[str] | None, typer.Option(help="Selectors; default: all.")] = None,
    feature_set: Annotated[
        list[str] | None, typer.Option("--set", help="Feature sets; default: all four, where there are several.")
    ] = None,
    only: Annotated[list[str] | None, typer.Option(help="Testbeds by name, such as 'fully observed'.")] = None,
    task: Annotated[
        list[str] | None, typer.Option("--task", "--task-type", help="Task types; default: all there are.")
    ] = None,
    metric: Annotated[str, typer.Option(help="auc, mrr, ndcg1 or regret.")] = "auc",
    out: Annotated[Path | None, typer.Option(help="Folder for the page, the tables and finished evaluations.")] = None,
    as_json: AsJson = False,
) -> int:
    """Compare the selectors themselves, with intervals, paired tests and ranks per testbed."""
    from graphnetz.selection.bench import run_testbeds, write_studies
    from graphnetz.selection.selectors import SELECTORS

    studies = run_testbeds(
        data, tuple(selector or SELECTORS), feature_sets=tuple(feature_set or ()), only=tuple(only or ()),
        tasks=tuple(task or ()), metric=metric, out=out, say=say,
    )  # fmt: skip
    if out is not None:
        write_studies(studies, out)
    sections = lambda: [item.to_section().to_json() for item in studies]  # noqa: E731
    return answer(as_json, sections, lambda: list(map(_show_study, studies)))


def _show_study(item: TestbedStudy) -> None:
    put(f"\n{item.task}: {item.testbed}, {item.graphs} graphs" + (f" ({item.note})" if item.note else ""))
    shown = (item.metric, "95 % interval", "rank", "mrr", "ndcg1", item.metric, "mrr", "ndcg1")
    widths = (6, 15, 6, 6, 6, 9, 6, 6)
    put(" " * 70 + "published")
    _show_row("selector", "features", shown, widths)
    for line in item.lines:
        paper = (line.published, line.published_mrr, line.published_ndcg1)
        numbers = [f"{v:.3f}" if v == v else "" for v in (line.mean, line.mrr, line.ndcg1, *paper)]
        rank = f"{line.rank:.2f}" if line.rank == line.rank else ""
        cells = (numbers[0], f"{line.low:.3f} to {line.high:.3f}", rank, *numbers[1:])
        _show_row(line.selector, line.features, cells, widths)
    for text in (item.interval_note + ".", item.friedman_sentence(), item.sentence()):
        if text:
            put(text)


def _show_row(selector: str, features: str, cells: Sequence[str], widths: Sequence[int]) -> None:
    row = " ".join(f"{cell:>{width}}" for cell, width in zip(cells, widths, strict=True))
    put(f"{selector:10} {features:14} {row}".rstrip())


def _graph(file: Path | None, labels: Path | None) -> Any:
    from graphnetz.selection.example import example_graph, read_labelled

    if file is None:
        if labels is not None:
            raise UsageError("--labels describes the nodes of a graph: give an edge list file as well.")
        say("No file given: showing the bundled example graph.")
        return example_graph()
    return read_labelled(file, labels)


def _known(own: Path | None) -> PerformanceBank:
    from graphnetz.selection import PerformanceBank

    shipped = PerformanceBank.load()
    return shipped.merge(PerformanceBank.load(own)) if own is not None and own.exists() else shipped


def _as_dict(result: Recommendation, measured: dict[str, Any], top: int) -> dict[str, Any]:
    return {
        "graph": {"name": result.graph.name, "nodes": result.graph.num_nodes, "edges": result.graph.num_edges},
        "task_type": result.task_type, "metric": result.metric, "level": result.level,
        "choices": [
            {
                "rank": c.rank, "configuration": c.configuration.to_json(), "name": c.name,
                **{key: jsonable(getattr(c, key)) for key in ("score", "low", "high", "seconds", "memory")},
                **({"measured": measured[c.name]} if c.name in measured else {}),
            }
            for c in result.choices[:top]
        ],
        "nearest": [{"graph": name, "distance": distance} for name, distance in result.nearest],
        "warning": result.warning, "notes": list(result.notes),
        "known": {"graphs": result.known_graphs, "configurations": result.known_configurations},
        "code": result.to_code(0),
    }  # fmt: skip


def _show(result: Recommendation, measured: dict[str, Any], top: int) -> None:
    graph = result.graph
    put(f"{graph.name}: {graph.num_nodes:,} nodes, {graph.num_edges:,} edges, {result.task_type}")
    put(f"Predicted {result.metric} with {result.level:.0%} intervals, from {result.known_graphs} known graphs;")
    put(f"{result.known_configurations} configurations were ranked and none was trained. The order weighs more than")
    put("the score: it is learned to put the best first, the score is forecast for each one alone.\n")
    width = max(len(c.name) for c in result.choices[:top])
    put(f"{'':>3} {'configuration':{width}} {'score':>6} {'interval':>15} {'seconds':>8}", end="")
    put(f" {'measured':>18}" if measured else "")
    for choice in result.choices[:top]:
        seconds = f"{choice.seconds:.2g}" if choice.seconds == choice.seconds else "?"
        span = f"{choice.low:.3f} to {choice.high:.3f}"
        line = f"{choice.rank:>3} {choice.name:{width}} {choice.score:6.3f} {span:>15} {seconds:>8}"
        got = measured.get(choice.name)
        if got:
            spread = f" ± {got['half']:.3f}" if got["half"] is not None else ""
            line += f" {got['mean']:>10.3f}{spread}" if got["mean"] is not None else f" {'failed':>10}"
        put(line)
    put("\nResembles (distance 0 the same, 1 the opposite):")
    for name, distance in result.nearest:
        put(f"  {distance:.3f} {name}")
    for text in (result.warning, *result.notes):
        if text:
            put(text)
    put("\n" + result.to_code(0), end="")
