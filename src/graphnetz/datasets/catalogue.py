"""The public datasets, declared in ``catalogue.toml``: from a table to a loader with its card."""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Callable, Mapping
from importlib import import_module, resources
from pathlib import Path
from typing import Any

from graphnetz.datasets.cards import dataset


@functools.cache
def _tables() -> dict[str, dict[str, dict[str, Any]]]:
    text = resources.files("graphnetz.datasets").joinpath("catalogue.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


def public_loaders(category: str) -> dict[str, Callable[..., Any]]:
    """File the cards of a category's public datasets and return their loaders by name.

    A module of datasets calls it once, with ``globals().update``, so that a loader is a function of that module
    like any other.
    """
    facts = _tables()["facts"]
    loaders = {}
    for name, entry in _tables()[category].items():
        declared = {**facts.get(entry.get("facts", ""), {}), **entry}
        loader = _loader(category, name, declared)
        fields: dict[str, Any] = {
            key: tuple(v) if isinstance(v, list) else v for key, v in declared.items() if key not in _READING
        }
        loaders[name] = dataset(category, **fields)(loader)
    return loaders


_READING = ("about", "arguments", "facts", "options", "reader")
"""Entries of a table that say how to read the files; the others are fields of the card."""


def _loader(category: str, name: str, declared: Mapping[str, Any]) -> Callable[..., Any]:
    module, _, function = declared["reader"].partition(":")
    arguments, options = declared.get("arguments", ()), declared.get("options", {})

    def load(root: str | Path = f"data/{name}", *, mirror: str | Path | None = None) -> Any:
        # Imported here: listing datasets must not import torch.
        read = getattr(import_module(f"graphnetz.datasets.sources.{module}"), function)
        return read(root, *arguments, mirror=mirror, **options)

    load.__name__ = load.__qualname__ = name
    load.__module__ = f"graphnetz.datasets.{category}"
    load.__doc__ = declared["about"]
    return load
