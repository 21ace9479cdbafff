"""`graphnetz export`: cards, results and the bank in the formats of others; `graphnetz guide`."""

from __future__ import annotations

import json
import zlib
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from graphnetz._core.errors import UsageError
from graphnetz.cli.app import answer, app, put

export = typer.Typer(help="Write cards, results and the bank in the formats of others.", no_args_is_help=True,
                     rich_markup_mode=None)  # fmt: skip
app.add_typer(export, name="export")

Out = Annotated[Path, typer.Option(help="Folder to write to.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print as JSON.")]
Run = Annotated[Path, typer.Argument(help="A run folder, a results.json or a CSV of scores.")]


def _file_names(models: Iterable[str]) -> dict[str, str]:
    """Return a file name for every model; those that would share one get a number of their own."""
    from graphnetz._core.paths import slug

    plain = {model: slug(model) for model in models}
    often = Counter(name.lower() for name in plain.values())
    return {
        model: name if often[name.lower()] == 1 else f"{name}-{zlib.crc32(model.encode()):08x}"
        for model, name in plain.items()
    }


def _written(files: Mapping[Path, str], as_json: bool) -> int:
    from graphnetz._core.paths import write_file
    from graphnetz._core.text import counted

    for path, text in files.items():
        write_file(path, text)
    folder = next(iter(files)).parent
    listed = [str(path) for path in files]
    return answer(as_json, lambda: {"files": listed}, lambda: put(f"Wrote {counted(len(listed), 'file')} to {folder}."))


@export.command()
def croissant(
    names: Annotated[list[str] | None, typer.Argument(help="Datasets; default: every card.")] = None,
    out: Out = Path("croissant"),
    as_json: AsJson = False,
) -> int:
    """Write cards of datasets as Croissant 1.1 (JSON-LD)."""
    from graphnetz.datasets import CARDS
    from graphnetz.datasets.croissant import croissant as as_croissant

    cards = [CARDS[name] for name in names or list(CARDS)]
    return _written({out / f"{card.name}.json": _text(as_croissant(card)) for card in cards}, as_json)


@export.command("huggingface")
def hugging_face(
    source: Run,
    out: Out = Path("huggingface"),
    hub: Annotated[
        list[str] | None, typer.Option(help="TASK=OWNER/NAME: the benchmark of the Hub that a task is; repeatable.")
    ] = None,
    as_json: AsJson = False,
) -> int:
    """Write results for Hugging Face model cards.

    A model-index for the front matter of a card and, for benchmarks of the Hub, .eval_results.
    """
    from graphnetz.cli.load import load_report
    from graphnetz.report.exports import eval_results, model_index, yaml

    if wrong := next((item for item in hub or () if "=" not in item), None):
        raise UsageError(f"--hub got {wrong!r}. Write TASK=OWNER/NAME.")
    benchmarks = dict(item.split("=", 1) for item in hub or ())
    report = load_report(source)
    files = {}
    for model, name in _file_names(report.models).items():
        files[out / f"{name}.model-index.yaml"] = yaml(model_index(report, model)) + "\n"
        if entries := eval_results(report, model, benchmarks):
            files[out / f"{name}.eval_results.yaml"] = yaml(entries) + "\n"
    return _written(files, as_json)


@export.command("every-eval-ever")
def every_eval(
    source: Run,
    out: Out = Path("every-eval-ever"),
    organisation: Annotated[str, typer.Option(help="Who evaluated.")] = "not stated",
    relationship: Annotated[str, typer.Option(help="first_party, third_party, collaborative or other.")] = "other",
    as_json: AsJson = False,
) -> int:
    """Write results as Every Eval Ever JSON.

    One file per model.
    """
    from graphnetz.cli.load import load_report
    from graphnetz.report.exports import every_eval_ever

    report = load_report(source)
    files = {}
    for model, name in _file_names(report.models).items():
        made = every_eval_ever(report, model, organisation=organisation, relationship=relationship)
        files[out / f"{name}.json"] = _text(made)
    return _written(files, as_json)


@export.command()
def aslib(
    task_type: Annotated[str, typer.Argument(help="Which task of the bank, such as link_pred.")],
    bank: Annotated[Path | None, typer.Option(help="A bank of your own; default: the one that comes along.")] = None,
    out: Out = Path("aslib"),
    as_json: AsJson = False,
) -> int:
    """Write the bank of the selection as ASlib scenario."""
    from graphnetz.selection.aslib import aslib as scenario
    from graphnetz.selection.bank import PerformanceBank

    files = scenario(PerformanceBank.load(bank), task_type)
    return _written({out / name: text for name, text in files.items()}, as_json)


def _text(value: Any) -> str:
    return json.dumps(value, indent=1, ensure_ascii=False) + "\n"


@app.command()
def guide(as_json: AsJson = False) -> int:
    """Say everything that a program or an assistant needs to use this tool: commands, options, settings, names."""
    from graphnetz.cli.machine import guide_facts, guide_text

    return answer(as_json, guide_facts, lambda: put(guide_text(guide_facts()), end=""))
