"""What a child learned that its worker should know before the next fork: imports, and code that layers generate.

A child ends with its cell, and with it what libraries made on first use. It tells the worker their names, and the
worker makes them again from what is installed: nothing that a model made crosses over.
"""

from __future__ import annotations

import contextlib
import importlib
import itertools
import json
import sys
from collections.abc import Iterable
from importlib.util import find_spec
from typing import Any

from graphnetz.engine.identity.places import is_installed

_MOST = 32_000  # bytes: less than a pipe holds, so that telling never waits


def known() -> int:
    """Return how much this process has imported: generated code is imported, too."""
    return len(sys.modules)


def news(before: int) -> bytes:
    """Return what came since, for the worker.

    Modules stand in the order in which they came. The old ones are not looked at: counting references to their names
    would copy thousands of memory pages that a child shares with its worker.
    """
    names: list[str] = []
    size = 2
    came = list(itertools.islice(reversed(sys.modules), max(len(sys.modules) - before, 0)))[::-1]
    code = [name for name in came if name.endswith(("_propagate", "_edge_updater"))]
    for name in [*(_generated() if code else ()), *came]:
        if name in code:
            continue
        size += len(name) + 4
        if size > _MOST:
            break
        names.append(name)
    return json.dumps(names).encode()


def learn(told: bytes) -> None:
    """Import and generate in this process what a child needed; anything else that it says is not obeyed."""
    try:
        names = json.loads(told)
    except ValueError:
        return
    for name in names if isinstance(names, list) else ():
        if not isinstance(name, str):
            continue
        with contextlib.suppress(BaseException):
            if ":" in name:
                _generate(name)
            elif name not in sys.modules and _is_installed(name):
                importlib.import_module(name)


def _is_installed(name: str) -> bool:
    spec = find_spec(name.partition(".")[0])
    origin = getattr(spec, "origin", None) or ""
    return origin in ("built-in", "frozen") or (bool(origin) and is_installed(origin))


def _generated() -> Iterable[str]:
    """Layers of PyTorch Geometric whose ``propagate`` was generated, as ``module:class``."""
    package = sys.modules.get("torch_geometric.nn.conv")
    for value in list(vars(package).values()) if package is not None else ():
        own = vars(value).get("propagate") if isinstance(value, type) else None
        if getattr(own, "__module__", "").endswith("_propagate"):
            yield f"{value.__module__}:{value.__qualname__}"


def _generate(name: str) -> None:
    from torch_geometric.nn.conv import MessagePassing

    module, _, attribute = name.partition(":")
    cls: Any = getattr(sys.modules[module], attribute) if module.startswith("torch_geometric.") else None
    if isinstance(cls, type) and issubclass(cls, MessagePassing):
        layer: Any = object.__new__(cls)
        MessagePassing.__init__(layer)  # generates for the class; a constructor of its own would want arguments
