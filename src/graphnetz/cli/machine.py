"""The guide for machines: made from the commands, the settings and the registries, never written by hand."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import typer

from graphnetz import __version__
from graphnetz.cli import app as application

PATHS = (
    (
        "a model of one's own",
        "graphnetz run --task cora --model mymodel.py:MyGNN --model GCN --seeds 10 --out runs/mine",
    ),
    ("scores from elsewhere", "graphnetz report scores.csv --metric acc --replication init --json"),
    (
        "a graph of one's own, and a model to use on it",
        "graphnetz train --graph edges.csv --labels people.csv --label-column role --features numbers.csv --out model",
    ),
    (
        "predictions of that model",
        "graphnetz predict model --graph new.csv --features new_numbers.csv --out predictions.csv",
    ),
    ("a gate for a build", "graphnetz compare baseline.json runs/now --fail-if-worse --margin 0.01 --json"),
    ("is a dataset fit to judge models", "graphnetz rings mutag --json"),
    ("which model to try on a graph", "graphnetz select edges.csv --task link_pred --json"),
)
EXIT_CODES = {
    "0": "fine", "1": "some cells failed, or a gate failed; they are named", "2": "wrong usage: one sentence on stderr",
    "130": "interrupted; stderr has the command to go on with",
}  # fmt: skip


def commands() -> Iterator[tuple[str, Any]]:
    """Yield every command with the words that call it."""
    application.load_commands()
    yield from _walk(typer.main.get_command(application.app), ())


def _walk(command: Any, words: tuple[str, ...]) -> Iterator[tuple[str, Any]]:
    if not hasattr(command, "commands"):
        yield " ".join(words), command
        return
    for name, child in command.commands.items():
        yield from _walk(child, (*words, name))


def guide_facts() -> dict[str, Any]:
    """Return commands with their parameters, settings, lists of names and exit codes as plain values."""
    import click

    from graphnetz.cli.inspect import LISTS
    from graphnetz.cli.settings import option_name
    from graphnetz.records.config import RunConfig, describe

    found = []
    for words, command in commands():
        context = click.Context(command)
        rows = [_parameter(item) for item in command.get_params(context) if item.name != "help"]
        found.append({"command": f"graphnetz {words}", "what": (command.help or "").partition("\n")[0], "takes": rows})
    settings = [
        {"key": key, "option": option_name(key, item), "what": describe(item)}
        for key, item in RunConfig.model_fields.items()
    ]
    return {
        "schema": "graphnetz.guide", "version": __version__, "paths": [{"for": a, "command": b} for a, b in PATHS],
        "commands": found, "settings": settings, "lists": [f"graphnetz list {name} --json" for name in LISTS],
        "exit_codes": EXIT_CODES,
    }  # fmt: skip


def _parameter(item: Any) -> dict[str, Any]:
    names = list(item.opts) if item.param_type_name == "option" else [item.name.upper()]
    return {"name": names[0], "required": bool(item.required), "what": getattr(item, "help", None) or ""}


def guide_text(facts: dict[str, Any]) -> str:
    """Return the guide as text, in the form of llms.txt."""
    lines = [
        "# graphnetz", "",
        "> Honest evaluation of graph learning: which model is better and how far that reaches, whether a dataset is "
        "fit to say so, and which model to try on a graph. Every command that prints results takes --json.", "",
        "## Paths", "", *(f"- {row['for']}: `{row['command']}`" for row in facts["paths"]), "", "## Commands", "",
    ]  # fmt: skip
    for row in facts["commands"]:
        takes = ", ".join(item["name"] for item in row["takes"])
        lines.append(f"- `{row['command']}`: {row['what']}{f' Takes {takes}.' if takes else ''}")
    lines += ["", "## Settings of a run", ""]
    lines += ["Keys of a TOML file, options of `graphnetz run`, keywords of `run_benchmark`.", ""]
    lines += [f"- `{row['key']}`: {row['what']}" for row in facts["settings"]]
    lines += ["", "## Names", "", *(f"- `{row}`" for row in facts["lists"]), "", "## Exit codes", ""]
    lines += [f"- {code}: {what}" for code, what in facts["exit_codes"].items()]
    return "\n".join(lines) + "\n"
