"""Options of a command made from the settings of a run, grouped as they are declared."""

from __future__ import annotations

import functools
import inspect
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand

if TYPE_CHECKING:
    from graphnetz.records import RunConfig

KEY = "graphnetz.settings"
"""Where the context of a command keeps the settings that were given."""


class SettingsCommand(TyperCommand):
    """A command with one option for every setting; they are read when it runs or shows its help, not at start-up."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the options of the function, then those of the settings, then ``--help``."""
        from graphnetz.records import config

        *own, last = super().get_params(ctx)
        return [*own, *_options(config.RunConfig), last]

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Hand the settings over in ``ctx.meta``: the function has no parameters for them."""
        from graphnetz.records.config import RunConfig

        rest = super().parse_args(ctx, args)
        found = {key: ctx.params.pop(key) for key in list(ctx.params) if key in RunConfig.model_fields}
        ctx.meta[KEY] = {key: list(value) if isinstance(value, tuple) else value for key, value in found.items()}
        return rest

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the options group by group."""
        groups: dict[str, list[tuple[str, str]]] = {}
        last = "This command"
        for param in self.get_params(ctx):
            record = param.get_help_record(ctx)
            if record is not None:
                group = getattr(param, "rich_help_panel", None) or last
                groups.setdefault("Arguments" if param.param_type_name == "argument" else group, []).append(record)
        for group, records in (*((name, groups[name]) for name in groups if name != last), (last, groups[last])):
            with formatter.section(group):
                formatter.write_dl(records)


@functools.cache
def _options(config: type[RunConfig]) -> list[Any]:
    """One option per setting, made by typer itself out of a signature."""
    from graphnetz.records.config import GROUPS

    def place(pair: tuple[str, Any]) -> int:
        return GROUPS.index(pair[1].json_schema_extra["group"])

    parameters = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=_option(item, flag))
        for name, item in sorted(config.model_fields.items(), key=place)
        if (flag := option_name(name, item))
    ]

    def settings(**_: Any) -> None: ...

    settings.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    settings.__annotations__ = {item.name: item.annotation for item in parameters}
    made = typer.Typer(add_completion=False)
    made.command()(settings)
    return list(typer.main.get_command(made).params)


def option_name(name: str, item: Any) -> str:
    """Return how a setting is written on the command line, empty for a table of values: those are for files."""
    kinds, flag = _kinds(item), "--" + name.replace("_", "-")
    if kinds == {"object"}:
        return ""
    return f"{flag}/--no-{flag[2:]}" if kinds == {"boolean"} and item.default is not False else flag


def _option(item: Any, flag: str) -> Any:
    """Type and option of a setting; its value is read by the settings, so that every door refuses it alike."""
    from graphnetz.records.config import describe

    kinds = _kinds(item)
    kind: Any = bool if kinds == {"boolean"} else list[str] if item.default_factory is list else str
    words = None if kind is bool else {"integer": "INTEGER", "number": "NUMBER"}.get("".join(kinds), "TEXT")
    group = item.json_schema_extra["group"]
    option = typer.Option(flag, help=describe(item), metavar=words, rich_help_panel=group, show_default=False)
    return Annotated[kind | None, option]


def _kinds(item: Any) -> set[str]:
    """JSON types that a setting may have, without null."""
    from pydantic import TypeAdapter

    schema = TypeAdapter(item.annotation).json_schema()
    return {str(part.get("type")) for part in schema.get("anyOf", [schema])} - {"null"}
