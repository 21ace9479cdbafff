"""`graphnetz rings evaluate | complementarity | diversity | separability | table`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from graphnetz._core.errors import UsageError
from graphnetz.cli.app import OK, WholeGroup, answer, app, put

rings_app = typer.Typer(
    cls=WholeGroup,
    help="Is this dataset fit to judge models? (RINGS: Coupette et al., 2025)\n\n"
    "'graphnetz rings NAME' is short for 'graphnetz rings evaluate NAME'.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
app.add_typer(rings_app, name="rings")

Source = Annotated[
    str,
    typer.Argument(
        help="A dataset or task of the catalogue, a folder in TU layout, a .pt file of PyG graphs, or an edge list."
    ),
]
Root = Annotated[str, typer.Option(help="Where datasets are kept.")]
Mirror = Annotated[str | None, typer.Option(help="Folder or URL asked for datasets before the network.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print as JSON.")]
Modes = Annotated[
    list[str] | None,
    typer.Option(
        "--mode", "--modes", help="Perturbations (see 'graphnetz list perturbations'), joined by commas or repeated."
    ),
]
TaskType = Annotated[str | None, typer.Option(help="What to predict, where the data do not say.")]
Labels = Annotated[Path | None, typer.Option(help="Node classes of an edge list: CSV with the columns node and label.")]
Features = Annotated[Path | None, typer.Option(help="Node features of an edge list: CSV with a column node.")]
Statistic = Annotated[str, typer.Option(help="Describes pairs of modes: ks, ranksum, signedrank or bootstrap.")]


def _codes(modes: list[str] | None) -> list[str] | None:
    return [code.strip() for item in modes for code in item.split(",") if code.strip()] if modes else None


def _task(
    source: str, mirror: str | None, *, task_type: str | None = None, labels: Path | None, features: Path | None
) -> Any:
    """The task that a name, a file or a folder stands for."""
    from graphnetz.rings import task_from_source

    if mirror:
        os.environ["GRAPHNETZ_MIRROR"] = mirror
    return task_from_source(source, task_type=task_type, labels=labels, features=features)


def _graphs(task: Any, root: str) -> tuple[list[Any], str]:
    """The graphs that `evaluate` would measure, and a sentence where they are parts of one graph."""
    from graphnetz.rings.evaluate import dataset_graphs

    graphs, whole, _ = dataset_graphs(task, root)
    note = "" if whole is None else f"Taken over {len(graphs)} ego-graphs of two hops, because it is one graph."
    return graphs, note


@rings_app.command()
def complementarity(
    name: Source,
    root: Root = "data/benchmark",
    t: Annotated[int, typer.Option(help="Steps of the diffusion between nodes.")] = 1,
    mode: Modes = None,
    labels: Labels = None,
    features: Features = None,
    mirror: Mirror = None,
    as_json: AsJson = False,
) -> int:
    """Do structure and features tell different things? Mean and spread over the graphs, per perturbation."""
    import numpy as np

    from graphnetz.rings import PERTURBATIONS
    from graphnetz.rings import complementarity as measure

    graphs, note = _graphs(_task(name, mirror, labels=labels, features=features), root)
    rows: dict[str, Any] = {}
    for code in _codes(mode) or ("o", "eg", "cg", "ef", "cf"):
        values = np.asarray(measure(graphs, perturbation=code, t=t))
        rows[code] = {"mean": float(np.nanmean(values)), "std": float(np.nanstd(values))}
    lines = [
        f"{code}: {row['mean']:.3f} +- {row['std']:.3f} ({PERTURBATIONS[code].title})" for code, row in rows.items()
    ]
    note = note or f"Mean and spread over {len(graphs)} graphs."
    return answer(as_json, lambda: rows, lambda: _say([*lines, note]))


@rings_app.command()
def diversity(
    name: Source,
    root: Root = "data/benchmark",
    labels: Labels = None,
    features: Features = None,
    mirror: Mirror = None,
    as_json: AsJson = False,
) -> int:
    """Is there anything to learn from? Structural and feature diversity."""
    from graphnetz.rings import diversity as measure

    graphs, note = _graphs(_task(name, mirror, labels=labels, features=features), root)
    result = measure(graphs)
    rows = {"mean": dict(result.mean), "std": dict(result.std), "symbols": dict(result.symbols)}
    lines = [
        f"{key}: {result.mean[key]:.3f} +- {result.std[key]:.3f} (level {level}, spread {spread})"
        for key, (level, spread) in result.symbols.items()
    ]
    return answer(as_json, lambda: rows, lambda: _say([*lines, note]))


@rings_app.command()
def separability(
    scores: Annotated[
        Path, typer.Argument(help="CSV with the columns mode and score, one row per run; run and block decide.")
    ],
    alpha: Annotated[float, typer.Option(help="Level of the relation, over all pairs.")] = 0.01,
    statistic: Statistic = "ks",
    margin: Annotated[
        float | None, typer.Option(help="Largest advantage of the original that does not matter.")
    ] = None,
    lower_is_better: Annotated[bool, typer.Option("--lower-is-better", help="For errors such as MAE.")] = False,
    as_json: AsJson = False,
) -> int:
    """Do perturbed versions of a dataset perform differently? From scores trained anywhere.

    With a column run, which pairs the modes, it also decides whether structure and features are informative; a column
    block names the fold or fixed split of a run.
    """
    from graphnetz.rings import Rule, SeparabilityStudy

    frame = _read_scores(scores)
    paired = "run" in frame.columns
    study = SeparabilityStudy(tuple(dict.fromkeys(frame["mode"].astype(str))), {"score": not lower_is_better})
    for index, row in enumerate(frame.to_dict("records")):
        block = str(row["block"]) if "block" in row else None
        run = row["run"] if paired else index
        study.record(str(row["mode"]), float(row["score"]), metric="score", run=run, block=block)
    result = study.evaluate("score", alpha=alpha, statistic=statistic)
    data: dict[str, Any] = {"relation": result.relation, "notes": list(result.notes)}
    lines = [result.relation, *result.notes]
    if paired and "o" in study.modes:
        decisions = study.decide("score", rule=Rule(margin=margin)).values()
        data["decisions"] = {item.part: {"outcome": item.outcome, "needed": item.needed} for item in decisions}
        lines += [item.sentence for item in decisions]
    elif margin is not None:
        raise UsageError("--margin decides by runs that the modes share: the CSV needs a column run and a mode o.")
    return answer(as_json, lambda: data, lambda: _say(lines))


def _read_scores(path: Path) -> Any:
    from graphnetz._core.readers import read_csv
    from graphnetz.report.from_scores import numbers

    frame = read_csv(path, text=("mode", "run", "block"))
    missing = {"mode", "score"} - set(frame.columns)
    if missing:
        raise UsageError(f"{str(path)!r} lacks the columns {sorted(missing)}. It needs mode and score.")
    frame["score"] = numbers(frame, "score")
    return frame


@rings_app.command()
def evaluate(
    name: Source,
    tuning: Annotated[
        str, typer.Option(help="quick, paper, or crossed: the paper with the seeds of its Table 12.")
    ] = "quick",
    runs: Annotated[str | None, typer.Option(help="Runs per mode, or auto: as many as a decision takes.")] = None,
    max_runs: Annotated[int | None, typer.Option(min=10, help="Most runs per mode of --runs auto.")] = None,
    mode: Modes = None,
    model: Annotated[list[str] | None, typer.Option(help="Architectures; default: those of the tuning.")] = None,
    statistic: Statistic = "ks",
    alpha: Annotated[float | None, typer.Option(help="Level of the decisions; default 0.05.")] = None,
    margin: Annotated[
        float | None, typer.Option(help="Largest advantage of the original that does not matter.")
    ] = None,
    task_type: TaskType = None,
    labels: Labels = None,
    features: Features = None,
    workers: Annotated[int | None, typer.Option(help="Cells at a time.")] = None,
    backend: Annotated[str, typer.Option(help="Executor: local, serial or ray.")] = "local",
    out: Annotated[str | None, typer.Option(help="Run folder; an existing one is resumed.")] = None,
    root: Root = "data/benchmark",
    mirror: Mirror = None,
    resplit: Annotated[
        bool, typer.Option("--resplit", help="A fresh split per run, also where the data have splits of their own.")
    ] = False,
    compare_paper: Annotated[
        bool, typer.Option("--compare-paper", help="Print the paper's scores beside ours.")
    ] = False,
    as_json: AsJson = False,
) -> int:
    """Train on original and perturbed data and say: keep, realign, deprecate or undecided."""
    from graphnetz.rings import evaluate as judge
    from graphnetz.rings.evaluate import MAX_RUNS

    if max_runs is not None and runs != "auto":
        raise UsageError("--max-runs is the budget of --runs auto. Give --runs auto as well, or leave it out.")
    result = judge(
        _task(name, mirror, task_type=task_type, labels=labels, features=features),
        models=tuple(model) if model else None,
        tuning=tuning,
        runs=_runs(runs),
        max_runs=MAX_RUNS if max_runs is None else max_runs,
        modes=_codes(mode),
        statistic=statistic,
        alpha=alpha,
        margin=margin,
        resplit=resplit,
        workers=workers,
        backend=backend,
        out=out,
        root=root,
        verbose=not as_json,
    )
    rows = dict(result.facts) | {"notes": list(result.notes)}
    lines = [f"Verdict: {result.verdict} ({result.standing})", result.paragraph, *result.evidence, *result.notes]
    if out is not None:
        lines.append(f"Page: {Path(out) / 'rings.html'}, all runs: {Path(out) / 'report.html'}")
    if compare_paper:
        lines += _beside_paper(result, rows)
    return answer(as_json, lambda: rows, lambda: _say(lines))


def _runs(text: str | None) -> int | Literal["auto"] | None:
    if text is None or text == "auto":
        return "auto" if text else None
    try:
        return int(text)
    except ValueError:
        raise UsageError(f"--runs is a number or 'auto', got {text!r}.") from None


@rings_app.command()
def table(
    folders: Annotated[list[Path], typer.Argument(help="Folders that graphnetz rings NAME --out DIR wrote.")],
    out: Annotated[Path | None, typer.Option(help="Write the table with its picture as a page (.html).")] = None,
    as_json: AsJson = False,
) -> int:
    """Put the verdicts on many datasets into one table: the taxonomy, the paper's beside it."""
    from graphnetz._core.paths import write_file
    from graphnetz.cli.show import console_of, print_table
    from graphnetz.papers.rings import published_judgements
    from graphnetz.records.section import shown
    from graphnetz.report.page import render_sections
    from graphnetz.rings import read_facts, taxonomy_section

    facts = [fact for folder in folders for fact in read_facts(folder)]
    published = published_judgements(facts)
    section = taxonomy_section(facts, published=published)
    if out is not None:
        write_file(out, render_sections(section.title, [section]))

    def words() -> None:
        found = section.tables[0]
        print_table(console_of(180), found.columns, [[shown(value) for value in row] for row in found.rows])
        _say([section.verdict, f"Page: {out}" if out else ""])

    data = lambda: [fact | {"published": published.get(fact["dataset"])} for fact in facts]  # noqa: E731
    return answer(as_json, data, words)


def _beside_paper(result: Any, rows: dict[str, Any]) -> list[str]:
    """Add the paper's judgement and scores to what is printed."""
    from graphnetz.rings import compare_judgement
    from graphnetz.rings import compare_paper as compare

    judged = compare_judgement(result)
    if judged is None:
        rows["paper"] = None
        return [f"The paper does not treat {result.name}, or not with {result.width} feature columns."]
    scores = compare(result)
    rows["paper"] = {
        "judgement": judged.to_dict("records"),
        "scores": scores.astype(object).where(scores.notna(), None).to_dict("records"),
    }
    return ["", judged.to_string(index=False), "", scores.round(3).to_string(index=False)]


def _say(lines: list[str]) -> int:
    put("\n".join(line for index, line in enumerate(lines) if line or index < len(lines) - 1))
    return OK
