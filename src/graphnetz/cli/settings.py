"""Options of a command made from the settings of a run, grouped as they are declared."""

from __future__ import annotations

import inspect
from types import NoneType, UnionType
from typing import Annotated, Any, Union, get_args, get_origin

import typer
from typer.core import TyperCommand

KEY = "graphnetz.settings"
"""Where the context of a command keeps the settings that were given."""


class SettingsCommand(TyperCommand):
    """A command with one option for every setting; they are read when it runs or shows its help, not at start-up."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the options of the function, then those of the settings, then ``--help``."""
        *own, last = super().get_params(ctx)
        return [*own, *_options(), last]

    def invoke(self, ctx: Any) -> Any:
        """Hand the settings over in ``ctx.meta``: the function has no parameters for them."""
        from graphnetz.records.config import RunConfig

        found = {key: ctx.params.pop(key) for key in list(ctx.params) if key in RunConfig.model_fields}
        ctx.meta[KEY] = {key: list(value) if isinstance(value, tuple) else value for key, value in found.items()}
        return super().invoke(ctx)

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


def _options() -> list[Any]:
    """One option per setting, made by typer itself out of a signature."""
    from graphnetz.records import config

    parameters = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation)
        for name, item in sorted(config.RunConfig.model_fields.items(), key=lambda pair: _place(pair[1]))
        if (annotation := _option(name, item)) is not None
    ]

    def settings(**_: Any) -> None: ...

    settings.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    settings.__annotations__ = {item.name: item.annotation for item in parameters}
    made = typer.Typer(add_completion=False)
    made.command()(settings)
    return list(typer.main.get_command(made).params)


def _group(item: Any) -> str:
    return str((item.json_schema_extra or {}).get("group", "Others"))


def _place(item: Any) -> int:
    from graphnetz.records.config import GROUPS

    return GROUPS.index(_group(item)) if _group(item) in GROUPS else len(GROUPS)


def _option(name: str, item: Any) -> Any:
    """Type and option of a setting; its value is read by the settings, so that every door refuses it alike."""
    from graphnetz.records.config import describe

    kinds = _kinds(item.annotation)
    if dict in kinds:
        return None  # a table of values is for files and Python
    flag = "--" + name.replace("_", "-")
    if kinds == {bool}:
        flag += "" if item.default is False else f"/--no-{flag[2:]}"
    several = kinds == {list} and item.default_factory is list
    words = None if kinds == {bool} else "INTEGER" if kinds == {int} else "NUMBER" if kinds == {float} else "TEXT"
    kind = bool | None if kinds == {bool} else list[str] | None if several else str | None
    option = typer.Option(flag, help=describe(item), metavar=words, rich_help_panel=_group(item), show_default=False)
    return Annotated[kind, option]


def _kinds(annotation: Any) -> set[type]:
    """The plain types that a setting may have, without None."""
    if get_origin(annotation) in (Union, UnionType):
        return {kind for part in get_args(annotation) for kind in _kinds(part)} - {NoneType}
    if hasattr(annotation, "__metadata__"):
        return _kinds(annotation.__origin__)
    origin = get_origin(annotation) or annotation
    if not isinstance(origin, type):
        return {str}  # one of several words
    return {dict} if issubclass(origin, dict) or origin.__name__ == "Mapping" else {origin}
