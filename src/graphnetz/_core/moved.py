"""Modules that have moved: the old path still imports the same module, and says once where it went."""

from __future__ import annotations

import importlib
import json
import sys
import warnings
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType

MOVED: dict[str, str] = json.loads(Path(__file__).with_name("moved.json").read_text(encoding="utf-8"))
"""First-edition paths below the package, and where the module is now."""


class _Alias:
    """Loader that hands out the module at its new place."""

    def __init__(self, target: str) -> None:
        self.target = target

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        warnings.warn(f"{spec.name} is now {self.target}. Import it from there.", DeprecationWarning, stacklevel=2)
        module = importlib.import_module(self.target)
        self.own = module.__spec__, getattr(module, "__loader__", None)
        return module

    def exec_module(self, module: ModuleType) -> None:
        module.__spec__, module.__loader__ = self.own  # the import system has just overwritten them


class MovedFinder:
    """Finds old paths, and nothing else."""

    @staticmethod
    def find_spec(name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> ModuleSpec | None:
        """Return a spec for a module that has moved, None for any other."""
        del path, target
        parts = name.split(".")[1:] if name.startswith("graphnetz.") else []
        for count in range(len(parts), 0, -1):
            new = MOVED.get(".".join(parts[:count]))
            if new is not None:
                return ModuleSpec(name, _Alias(".".join(["graphnetz", new, *parts[count:]])))  # type: ignore[arg-type]
        return None


def install() -> None:
    """Let old import paths be found."""
    if not any(finder is MovedFinder for finder in sys.meta_path):
        # First: below an aliased package the ordinary finder would load a module a second time.
        sys.meta_path.insert(0, MovedFinder)  # type: ignore[arg-type]
