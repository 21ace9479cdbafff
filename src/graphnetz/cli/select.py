"""`graphnetz select recommend | features | collect | testbed`.

The recommendation is the common case and must come at once: nothing here imports torch before it is needed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from graphnetz._core.errors import UsageError
from graphnetz._core.plain import jsonable
from graphnetz.cli.app import OK, WholeGroup, answer, app, put, say

if TYPE_CHECKING:
    from graphnetz.selection import PerformanceBank, Recommendation
    from graphnetz.selection.example import Source
    from graphnetz.selection.probe import Race
    from graphnetz.selection.published import PublishedBank
    from graphnetz.selection.study import TestbedStudy

select_app = typer.Typer(
    cls=WholeGroup,
    help="Which model should I try on my graph? (after GLEMOS and MetaGL: Park et al., 2023)",
    no_args_is_help=True,
    rich_markup_mode=None,
)
app.add_typer(select_app, name="select")

File = Annotated[
    str | None,
    typer.Argument(
        metavar="[GRAPH]",
        help="Edge list, GraphML, GML, Matrix Market or npz file, graph folder, or a dataset; for graph_cls a dataset, "
        "a folder in TU layout, a .pt file or a table with a column graph; default: an example.",
    ),
]
TaskType = Annotated[str, typer.Option("--task", "--task-type", help="link_pred, node_cls or graph_cls.")]
Labels = Annotated[
    Path | None, typer.Option(help="Node classes: CSV with the columns node and label; for graph_cls graph and label.")
]
LabelColumn = Annotated[str | None, typer.Option(help="Column of the classes, where there are several.")]
Features = Annotated[
    Path | None, typer.Option(help="Numbers of the nodes: CSV with the column node and one column per feature.")
]
Root = Annotated[str, typer.Option(help="Where datasets are kept.")]
Orbits = Annotated[
    str, typer.Option(help="exact, or sampled: counted on 20,000 edges of a larger graph, with standard errors.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print as JSON.")]


@select_app.command("recommend")
def recommend_command(
    file: File = None,
    task: TaskType = "link_pred",
    top: Annotated[int, typer.Option(min=1, help="Length of the shortlist.")] = 5,
    budget: Annotated[float | None, typer.Option(help="Seconds one training run may take.")] = None,
    labels: Labels = None,
    label_column: LabelColumn = None,
    features: Features = None,
    bank: Annotated[
        str | None,
        typer.Option(help="glemos, metagl (published records), or a file of your own: joined to the bank that ships."),
    ] = None,
    selector: Annotated[str | None, typer.Option(help="Who ranks (see 'graphnetz list selectors').")] = None,
    orbits: Orbits = "exact",
    probe: Annotated[
        str | None,
        typer.Option(help="Race configurations on your graph for so long, such as 60s; the answer is measured."),
    ] = None,
    verify: Annotated[int, typer.Option(min=0, help="Train this many of the shortlist in full and keep the best.")] = 0,
    seeds: Annotated[int, typer.Option(min=1, help="Splits of --probe and --verify.")] = 3,
    epochs: Annotated[
        int | None, typer.Option(min=1, help="Most epochs of --probe and --verify; default: 300, for graph_cls 60.")
    ] = None,
    workers: Annotated[int | None, typer.Option(min=1, help="Cells of --verify at a time.")] = None,
    out: Annotated[
        Path | None, typer.Option(help="Folder for the best model of --probe or --verify, and the runs of --verify.")
    ] = None,
    code: Annotated[bool, typer.Option("--code", help="Print only a script that trains the first choice.")] = False,
    root: Root = "data/benchmark",
    as_json: AsJson = False,
) -> int:
    """Rank model configurations for a graph: at once without training, or measured with --probe and --verify."""
    from graphnetz.cli.select_show import as_dict, show
    from graphnetz.graphs import GraphFolder
    from graphnetz.selection import SELECTORS, recommend
    from graphnetz.selection.example import Source

    if probe is not None and verify:
        raise UsageError("--probe and --verify both train: give one of them.")
    chosen = SELECTORS[selector]() if selector else None
    source = Source(file, labels, label_column, features, root)
    if file is None and not as_json and not code:
        say("No graph given: showing the bundled example.")
    graph = source.read(task)
    if isinstance(graph, GraphFolder) and (probe is not None or verify or code):
        raise UsageError(
            "A graph folder is not trained on here: leave --probe, --verify and --code out, and train what is on the "
            f"shortlist with 'graphnetz run --graph {file}'."
        )
    known, own = _known(bank, root)
    longest = 1000 if probe is not None else max(top, verify)
    result = recommend(graph, task, top=longest, budget=budget, bank=known, selector=chosen, orbits=orbits)
    race = None
    if probe is not None or verify:
        race = _trained(result, probe, verify, seeds=seeds, epochs=epochs, workers=workers, out=out)
        if own is not None:
            from graphnetz.selection.verify import remember

            remember(race, result, own)
    if code:
        best = race.contenders[0].name if race is not None else result.choices[0].name
        place = next(i for i, choice in enumerate(result.choices) if choice.name == best)
        return answer(as_json, lambda: as_dict(result, race, top), lambda: put(result.to_script(source, place), end=""))
    answer(as_json, lambda: as_dict(result, race, top), lambda: show(result, race, top))
    kept = _kept(result, race, out) if race is not None and race.measured else None
    if not as_json:
        _next_steps(source, race, kept, many=task == "graph_cls")
    return OK


def _trained(
    result: Recommendation, probe: str | None, verify: int, *, seeds: int, epochs: int | None, workers: int | None,
    out: Path | None,
) -> Race:  # fmt: skip
    if probe is not None:
        from graphnetz.selection.probe import probe as run_race

        return run_race(result, probe, splits=seeds, epochs=epochs, say=say)
    from graphnetz.selection.verify import verify as train

    return train(result, verify, seeds=range(seeds), epochs=epochs, workers=workers, out=out)


def _kept(result: Recommendation, race: Race, out: Path | None) -> Path | None:
    """Keep the best network that was measured; rules and embeddings fit themselves and cannot be written down."""
    import torch

    from graphnetz.selection.bank import own_name
    from graphnetz.selection.building import engine_model
    from graphnetz.selection.collect import feature_factor
    from graphnetz.use.training import keep_best

    by_name = {choice.name: engine_model(choice.configuration) for choice in result.choices}
    networks = {
        item.name: by_name[item.name] for item in race.measured if by_name[item.name].kind == "encoder"
    }  # fmt: skip
    if not networks:
        say("No model is kept: those measured fit themselves and cannot be written down.")
        return None
    folder = (out or Path("runs") / f"select-{own_name(result.graph)}") / "model"
    features, factor = result.graph.features, 1.0
    if features is not None and result.task_type != "graph_cls":
        factor = feature_factor(torch.tensor(features.toarray() if hasattr(features, "toarray") else features))
    trained = keep_best(result.to_task(), race, networks, folder, factor=factor)
    if trained.candidates[0].model != race.measured[0].name:
        say(f"{race.measured[0].name} fits itself and cannot be written down: the best network is kept.")
    return folder


def _next_steps(source: Source, race: Race | None, kept: Path | None, *, many: bool) -> None:
    name = source.name or ""
    if race is None:
        say("\nMeasure instead of guess: --probe 60s. A script of the first choice: --code.")
    elif kept is not None:
        say(f"\nThe best network is kept in {kept} (README.md says how good it is). Use it:")
        if many:
            say(f"  graphnetz predict {kept} --graph EDGES.csv    (a table with a column graph)")
        else:
            say(f"  graphnetz predict {kept} --graph {name or 'GRAPH'}")


@select_app.command()
def features(
    file: File = None,
    feature_set: Annotated[str, typer.Option("--set", help="A feature set, or several joined by +.")] = "regular",
    labels: Labels = None,
    label_column: LabelColumn = None,
    node_features: Annotated[
        Path | None, typer.Option("--features", help="Numbers of the nodes: CSV with the column node.")
    ] = None,
    orbits: Orbits = "exact",
    root: Root = "data/benchmark",
    as_json: AsJson = False,
) -> int:
    """Print the meta-features of a graph; from samples or a graph folder with their standard errors (0: exact)."""
    from graphnetz.graphs import GraphFolder
    from graphnetz.selection import feature_names, meta_features
    from graphnetz.selection.collection import Collection
    from graphnetz.selection.example import Source
    from graphnetz.selection.folders import folder_features
    from graphnetz.selection.sampled import check_how, sampled_features

    check_how(orbits)
    of = "graph_cls" if feature_set == "collection" else ""
    graph = Source(file, labels, label_column, node_features, root).read(of)
    if isinstance(graph, GraphFolder):
        return _with_errors(folder_features(graph, feature_set), as_json, "are not computed for a graph on disk")
    if orbits == "sampled" and not isinstance(graph, Collection):
        return _with_errors(sampled_features(graph, feature_set), as_json, "have no value on this graph")
    values = meta_features(graph, feature_set)
    table = {name: jsonable(value) for name, value in zip(feature_names(feature_set), values.tolist(), strict=True)}
    lines = [f"{name}\t{'' if value is None else repr(value)}" for name, value in table.items()]
    return answer(as_json, lambda: table, lambda: put("\n".join(lines)))


def _with_errors(found: Mapping[str, tuple[float, float]], as_json: bool, else_: str) -> int:
    """Values with standard errors; least and greatest of a sample have none."""
    rows = {name: dict(zip(("value", "error"), map(jsonable, pair), strict=True)) for name, pair in found.items()}
    words = [
        f"{name}\t{value!r}\t{f'± {error!r}' if error == error else 'of the sample'}"
        for name, (value, error) in found.items()
        if value == value
    ]
    blank = sum(value != value for value, _ in found.values())
    words.append(f"{blank} more {else_}.") if blank else None
    return answer(as_json, lambda: rows, lambda: put("\n".join(words)))


@select_app.command()
def collect(
    out: Annotated[Path, typer.Option(help="Folder of the collection; an existing one is resumed.")],
    task: Annotated[
        list[str] | None,
        typer.Option(
            "--task", "--task-type", help="Task types; default: link_pred and node_cls. graph_cls stands alone."
        ),
    ] = None,
    graph: Annotated[
        list[Path] | None,
        typer.Option(help="Edge lists of your own instead of the built-in graphs; for graph_cls what recommend reads."),
    ] = None,
    labels: Annotated[
        list[Path] | None,
        typer.Option(
            help="Node classes, one file per --graph: CSV with the columns node (for graph_cls graph) and label."
        ),
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
    epochs: Annotated[int | None, typer.Option(min=1, help="Most epochs; default: 300, for graph_cls 60.")] = None,
    as_json: AsJson = False,
) -> int:
    """Measure configurations on graphs through the engine and keep them in OUT/bank.npz."""
    from graphnetz.selection import PerformanceBank
    from graphnetz.selection.collect import Effort
    from graphnetz.selection.collect import collect as measure
    from graphnetz.selection.plan import chosen_plan, own_collections, own_graphs
    from graphnetz.selection.space import TASK_TYPES

    file = out / "bank.npz"
    bank = PerformanceBank.load() if extend else PerformanceBank()
    if file.exists():
        bank = bank.merge(PerformanceBank.load(file))
    if task and "graph_cls" in task and len(set(task)) > 1:
        raise UsageError("graph_cls is about many graphs and the others about one: collect it in a command of its own.")
    own = (own_collections if task and "graph_cls" in task else own_graphs)(graph or (), labels or ())
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
    shown: tuple[str, ...] = (item.metric, "95 % interval", "rank", "mrr", "ndcg1", item.metric, "mrr", "ndcg1")
    widths = (6, 15, 6, 6, 6, 9, 6, 6)
    if item.has_published:
        put(" " * 70 + "published")
    else:
        shown = shown[:5]
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
    row = " ".join(f"{cell:>{width}}" for cell, width in zip(cells, widths, strict=False))
    put(f"{selector:10} {features:14} {row}".rstrip())


def _known(bank: str | None, root: str) -> tuple[PerformanceBank | PublishedBank, Path | None]:
    """The bank to rank with, and the file of one's own that measurements are added to."""
    from graphnetz.selection import PerformanceBank
    from graphnetz.selection.published import BANKS

    if bank is not None and not Path(bank).exists() and Path(bank).suffix == "":
        return BANKS[bank](root), None
    shipped = PerformanceBank.load()
    own = None if bank is None else Path(bank)
    return (shipped.merge(PerformanceBank.load(own)) if own is not None and own.exists() else shipped), own
