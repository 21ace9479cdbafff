"""The reference pages of the documentation, read off signatures, docstrings, options and settings during the build."""

from __future__ import annotations

import ast
import functools
import importlib
import inspect
import itertools
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from numpydoc.docscrape import NumpyDocString

PACKAGES: dict[str, str] = {
    "graphnetz": "What the GraphNetz paper's code samples import, and what users script against.",
    "graphnetz.report": "The outcome of a benchmark: tables, verdicts, figures, files.",
    "graphnetz.analysis": "Statistics of a benchmark, computed once.",
    "graphnetz.stats": "Tests, intervals, ranks and power: arrays in, records out; no torch.",
    "graphnetz.rings": "Is this dataset fit to judge models?",
    "graphnetz.selection": "Which model should I try?",
    "graphnetz.audit": "Leaks and sanity before training.",
    "graphnetz.datasets": "The catalogue, and tasks made of your own data.",
    "graphnetz.models": "Built-in models, and how to register yours.",
    "graphnetz.tasktypes": "What can be predicted: splits, heads, losses and metrics of each task type.",
    "graphnetz.metrics": "Metrics, declared once with their direction.",
    "graphnetz.records": "The vocabulary: small records that every part shares.",
    "graphnetz.training": "Training functions for scripts of your own.",
    "graphnetz.plotting": "Figures in the look of the report.",
    "graphnetz.kernels": "Fast layers on the processor. The engine calls them by itself.",
    "graphnetz.graphs": "Graphs read from files and objects, compressed, and counted.",
    "graphnetz.testing": "Contract tests for plug-ins of your own.",
}
"""Pages in the order of the site. A package that does not exist, or exports nothing, has no page."""

CHOSEN = {"graphnetz.kernels": ("accelerate", "enabled", "is_enabled", "set_enabled")}
"""Packages of which users need only these names; the rest is for models and the engine."""


@dataclass(frozen=True)
class Entry:
    """One name of a page."""

    package: str
    name: str
    value: Any

    @property
    def is_code(self) -> bool:
        """Whether it is a class or a function, and not a constant."""
        return inspect.isclass(self.value) or inspect.isroutine(inspect.unwrap(self.value))


def _exported(package: str) -> dict[str, Any]:
    try:
        module = importlib.import_module(package)
    except ModuleNotFoundError:
        return {}
    names = CHOSEN.get(package) or getattr(module, "__all__", None) or _own_names(module)
    found = {name: getattr(module, name) for name in names if not name.startswith("_") and hasattr(module, name)}
    return {name: value for name, value in found.items() if not isinstance(value, ModuleType)}


def _own_names(module: ModuleType) -> list[str]:
    """Names that a module without ``__all__`` defines itself: functions, classes and registries."""
    return [
        name
        for name, value in vars(module).items()
        if not name.startswith("_")
        and (getattr(value, "__module__", None) == module.__name__ or type(value).__name__ == "Registry")
    ]


@functools.cache
def pages() -> dict[str, list[Entry]]:
    """Entries by package. A name that two packages export stands on the page of the lower one."""
    taken: dict[int, str] = {}
    found: dict[str, list[Entry]] = {}
    for package in reversed(PACKAGES):  # lower packages stand below; the root, last, only passes names on
        entries = [
            Entry(package, name, value)
            for name, value in sorted(_exported(package).items(), key=lambda item: item[0].lower())
            if taken.setdefault(id(value), package) == package
        ]
        if entries:
            found[package] = entries
    return {package: found[package] for package in PACKAGES if package in found}


def methods(cls: type) -> dict[str, Any]:
    """Public methods and properties that a class adds.

    An override is documented where it is first declared. Models and predictors follow one contract, which the guide
    to adding a model describes, so their methods are not repeated for each.
    """
    if any(base.__module__.startswith("torch.nn") for base in cls.__mro__) or {"fit", "score"} <= set(dir(cls)):
        return {}
    own = [base for base in cls.__mro__ if base.__module__.startswith("graphnetz.")]
    found: dict[str, Any] = {}
    for base in own:
        for name, value in vars(base).items():
            known = any(hasattr(parent, name) for parent in base.__mro__[1:])
            if not name.startswith("_") and _is_method(value) and not known:
                found.setdefault(name, value)
    # Of a base with a page of its own nothing is repeated; parts of a class that are no page belong to it.
    listed = {id(entry.value) for entries in pages().values() for entry in entries}
    hidden = {name for base in own[1:] if id(base) in listed for name in vars(base)}
    return {name: value for name, value in sorted(found.items()) if name not in hidden}


def _is_method(value: Any) -> bool:
    cached = type(value).__name__ == "cached_property"
    return cached or inspect.isfunction(value) or isinstance(value, property | classmethod | staticmethod)


def is_attribute(value: Any) -> bool:
    """Whether a member is read without being called."""
    return isinstance(value, property) or type(value).__name__ == "cached_property"


def _text(annotation: Any) -> str:
    if annotation is inspect.Parameter.empty:
        return ""
    words = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
    return re.sub(r"\b(npt|np|pd|collections\.abc|typing|datetime)\.", "", words)


def _default(value: Any) -> str:
    shown = repr(value)
    return "..." if "<" in shown or len(shown) > 60 else shown


def signature(name: str, value: Any) -> str:
    """The call as one would write it, one parameter per line where it is long."""
    try:
        parameters = list(inspect.signature(value).parameters.values())
        returns = "" if inspect.isclass(value) else _text(inspect.signature(value).return_annotation)
    except (TypeError, ValueError):
        return name
    marks = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}
    shown: list[str] = []
    for one in parameters:
        if one.name in ("self", "cls"):
            continue
        if one.kind is one.KEYWORD_ONLY and "*" not in shown and not any(item.startswith("*") for item in shown):
            shown.append("*")
        text = marks.get(one.kind, "") + one.name
        kind = _text(one.annotation)
        default = "" if one.default is one.empty else f" = {_default(one.default)}"
        shown.append(f"{text}: {kind}{default}" if kind else f"{text}{default.replace(' ', '')}")
    arrow = f" -> {returns}" if returns else ""
    line = f"{name}({', '.join(shown)}){arrow}"
    if len(line) <= 100:
        return line
    return f"{name}(\n" + "".join(f"    {item},\n" for item in shown) + f"){arrow}"


def _cell(lines: list[str]) -> str:
    """Text of a table cell: one line, with the bars outside of code escaped."""
    parts = re.split(r"(``.*?``)", " ".join(line.strip() for line in lines))
    return "".join(part if part.startswith("``") else part.replace("|", "\\|") for part in parts)


def _rows(items: list[Any], head: str) -> str:
    rows = "".join(f"| `{item.name}` | {_cell(item.desc)} |\n" for item in items)
    return f"| {head} | Meaning |\n| --- | --- |\n{rows}\n"


def _examples(lines: list[str]) -> str:
    """Examples as code: prompts and output stand in one block, words between them stay words."""
    out: list[str] = []
    inside = False
    for line in lines:
        if line.startswith(">>>") and not inside:
            out.append("```pycon")
            inside = True
        elif inside and not line.strip():
            out.append("```")
            inside = False
        out.append(line)
    return "\n".join([*out, "```"] if inside else out)


def described(value: Any) -> str:
    """A numpydoc docstring as Markdown."""
    doc = NumpyDocString(inspect.getdoc(value) or "")
    parts = [" ".join(doc["Summary"]), "\n".join(doc["Extended Summary"])]
    for head, section in (("Parameter", "Parameters"), ("Attribute", "Attributes")):
        if doc[section]:
            parts.append(_rows(doc[section], head))
    for section in ("Returns", "Yields"):
        parts += [
            f"**{section}** `{item.type or item.name}`: " + " ".join(line.strip() for line in item.desc)
            for item in doc[section]
        ]
    if doc["Notes"]:
        parts += ["**Notes**", "\n".join(doc["Notes"])]
    if doc["Examples"]:
        parts.append(_examples(doc["Examples"]))
    return "\n\n".join(part for part in parts if part.strip())


def _constant_words(entry: Entry) -> str:
    """The string below the assignment of a constant, found in the source of the package."""
    root = importlib.import_module(entry.package)
    folder = Path(str(root.__file__))
    files = sorted(folder.parent.rglob("*.py")) if folder.name == "__init__.py" else [folder]
    for path in files:
        body = ast.parse(path.read_text(encoding="utf-8")).body
        for node, after in itertools.pairwise(body):
            targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
            named = any(isinstance(item, ast.Name) and item.id == entry.name for item in targets)
            if named and isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant):
                return inspect.cleandoc(str(after.value.value))
    return ""


def _constant(entry: Entry) -> str:
    value, kind = entry.value, type(entry.value).__name__
    if kind == "Registry":
        known = ", ".join(f"`{name}`" for name in value)
        what = f"Registry of every {value.kind}. Known: {known}." if known else f"Registry of every {value.kind}."
    elif kind.endswith("GenericAlias"):
        what = f"Type: `{_text(value)}`."
    else:
        what = f"A `{kind}`."
    return f"## {entry.name}\n\n{_constant_words(entry)}\n\n{what}\n"


def entry_text(entry: Entry) -> str:
    """One public name with everything below it."""
    if not entry.is_code:
        return _constant(entry)
    kind = "class " if inspect.isclass(entry.value) else ""
    head = f"## {entry.name}\n\n```python\n{kind}{signature(entry.name, entry.value)}\n```\n\n"
    text = [head + described(entry.value) + "\n"]
    if not inspect.isclass(entry.value):
        return text[0]
    members = methods(entry.value)
    attributes = {name: value for name, value in members.items() if is_attribute(value)}
    if attributes:
        rows = "".join(
            f"| `{name}` | {_cell((inspect.getdoc(value) or '').split(chr(10) * 2)[0].splitlines())} |\n"
            for name, value in attributes.items()
        )
        text.append(f"| Property | Meaning |\n| --- | --- |\n{rows}")
    for name in members:
        if name not in attributes:
            bound = getattr(entry.value, name)
            shown = signature(f"{entry.name}.{name}", bound)
            label = f'{{ data-toc-label="{name}" }}'
            text.append(f"### {entry.name}.{name} {label}\n\n```python\n{shown}\n```\n\n{described(bound)}\n")
    return "\n".join(text)


def _file(package: str) -> str:
    return f"reference/{package.removeprefix('graphnetz.')}.md"


def package_page(package: str, entries: list[Entry]) -> str:
    """The page of one package."""
    parts = [f"# {package}\n\n{PACKAGES[package]}\n"]
    if package == "graphnetz":
        homes = {id(entry.value): entry for found in pages().values() for entry in found}
        rows = ""
        for name, value in sorted(_exported(package).items(), key=lambda item: item[0].lower()):
            home = homes[id(value)].package
            rows += f"| `{name}` | [{home}]({Path(_file(home)).name}#{name.lower()}) |\n"
        words = "All of these can be imported from `graphnetz`."
        parts.append(f"{words}\n\n| Name | Described in |\n| --- | --- |\n{rows}")
    return "\n".join([*parts, *(entry_text(entry) for entry in entries)])


def _application() -> Any:
    import typer.main

    from graphnetz.cli.app import app, load_commands

    load_commands()
    return typer.main.get_command(app)


def _commands(command: Any, path: str) -> Iterator[tuple[str, Any]]:
    if hasattr(command, "commands"):
        for name, inner in sorted(command.commands.items()):
            yield from _commands(inner, f"{path} {name}")
    else:
        yield path, command


def cli_page() -> str:
    """Every command with its options, read off the application."""
    parts = ["# Command line\n\n`graphnetz COMMAND --help` prints the same in a terminal.\n"]
    for path, command in _commands(_application(), "graphnetz"):
        context = command.context_class(command, info_name=path)
        usage = " ".join([path, *command.collect_usage_pieces(context)])
        records = [item.get_help_record(context) for item in command.get_params(context)]
        rows = "".join(f"| `{record[0].strip()}` | {_cell([record[1]])} |\n" for record in records if record)
        table = f"| Argument or option | Meaning |\n| --- | --- |\n{rows}" if rows else ""
        words = inspect.cleandoc(command.help or "")
        parts.append(f"## {path.removeprefix('graphnetz ')}\n\n```sh\n{usage}\n```\n\n{words}\n\n{table}")
    return "\n".join(parts)


def configuration_page() -> str:
    """Every setting of a run: key, option, default and meaning, by group."""
    from graphnetz.cli.settings import option_name
    from graphnetz.records.config import GROUPS, RunConfig, describe

    parts = [
        "# Configuration\n\nEvery setting of a run, made from `graphnetz.records.RunConfig`: the key is that of a TOML "
        "file and the keyword of `run_benchmark`. A setting without a default is left to the suite, the task or the "
        "engine.\n"
    ]
    for group in GROUPS:
        parts.append(f"## {group}\n\n| key | option | default | meaning |\n|---|---|---|---|")
        for name, item in RunConfig.model_fields.items():
            if item.json_schema_extra["group"] == group:
                default = item.get_default(call_default_factory=True)
                shown = "" if default in (None, []) else f"`{default!r}`"
                option = option_name(name, item)
                parts.append(f"| `{name}` | {f'`{option}`' if option else 'none'} | {shown} | {describe(item)} |")
        parts.append("")
    return "\n".join(parts)


def index_page(found: Mapping[str, list[Entry]]) -> str:
    """What there is, page by page."""
    rows = "".join(
        f"| [{package}]({Path(_file(package)).name}) | {PACKAGES[package]} | {len(entries)} |\n"
        for package, entries in found.items()
    )
    return (
        "# Reference\n\nMade from the code: signatures, docstrings, options and settings. `help(name)` in Python "
        "prints the same text, and every example is run by the tests.\n\n"
        f"| Package | Purpose | Names |\n| --- | --- | --- |\n{rows}\n"
        "Beside them: [every command and its options](cli.md) and [every setting of a run](configuration.md).\n"
    )


def all_pages() -> dict[str, str]:
    """Every page by its path below the documentation."""
    found = pages()
    made = {"reference/index.md": index_page(found)}
    made |= {_file(package): package_page(package, entries) for package, entries in found.items()}
    return made | {"reference/cli.md": cli_page(), "reference/configuration.md": configuration_page()}


def on_config(config: Any) -> Any:
    """Put the pages where the navigation says Reference; which packages exist is known only here."""
    titles = {"Overview": "reference/index.md", "Command line": "reference/cli.md"}
    titles |= {"Configuration": "reference/configuration.md"} | {package: _file(package) for package in pages()}
    place = next(number for number, item in enumerate(config["nav"]) if "Reference" in item)
    config["nav"][place] = {"Reference": [{title: path} for title, path in titles.items()]}
    return config


def on_files(files: Any, config: Any) -> Any:
    """Add the pages to the site."""
    from mkdocs.structure.files import File

    for path, text in all_pages().items():
        files.append(File.generated(config, path, content=text))
    return files
