"""The reference pages of the documentation, made from signatures, docstrings and settings while the site is built."""

from __future__ import annotations

import importlib
import inspect
from typing import Any

PACKAGES = (
    ("graphnetz", "What the GraphNetz paper's code samples import, and what users script against."),
    ("graphnetz.stats", "Arrays in, records out; no torch."),
    ("graphnetz.rings", "Is this dataset fit to judge models?"),
    ("graphnetz.selection", "Which model should I try?"),
    ("graphnetz.audit", "Leaks and sanity before training."),
)


def _signature(value: Any) -> str:
    try:
        text = str(inspect.signature(value))
    except (TypeError, ValueError):
        return ""
    return text if len(text) <= 400 else text[:400] + " ..."


def entry(name: str, value: Any) -> str:
    """One public name: signature and the first sentence of its docstring; constants are named with their type."""
    if not callable(value):
        return f"### {name}\n\nA `{type(value).__name__}`.\n"
    kind = "class " if inspect.isclass(value) else ""
    first = (inspect.getdoc(value) or "").split("\n\n")[0].replace("\n", " ")
    return f"### {name}\n\n```python\n{kind}{name}{_signature(value)}\n```\n\n{first}\n"


def reference_page() -> str:
    """Every public name of the packages that users import from."""
    parts = ["# Reference\n\nMade from the code. `help(name)` in Python prints the whole docstring.\n"]
    for package, words in PACKAGES:
        module = importlib.import_module(package)
        names = sorted((n for n in module.__all__ if not n.startswith("_")), key=str.lower)
        parts.append(f"## {package}\n\n{words}\n")
        parts += [entry(name, getattr(module, name)) for name in names]
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


def on_files(files: Any, config: Any) -> Any:
    """Add the pages to the site."""
    from mkdocs.structure.files import File

    for name, make in (("reference", reference_page), ("configuration", configuration_page)):
        files.append(File.generated(config, f"{name}.md", content=make()))
    return files
