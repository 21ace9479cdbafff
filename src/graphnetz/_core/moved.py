"""Modules that have moved: the old path still imports the same module, and says once where it went."""

from __future__ import annotations

import importlib
import sys
import warnings
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType

_KEPT_NAMES = {
    ("benchmark", "engine"): "adaptive api cluster config executors outputs plan progress reproduce run search store "
    "worker",
    ("report", "analysis"): "planning ranking scores sequential sizes standings verdicts",
}
"""Packages that modules left and entered under their own name."""

MOVED = {f"{old}.{name}": f"{new}.{name}" for (old, new), names in _KEPT_NAMES.items() for name in names.split()} | {
    "benchmark.budgets": "engine.cost.parameters",
    "benchmark.code_hash": "engine.identity.code",
    "benchmark.environment": "engine.identity.environment",
    "benchmark.estimate": "engine.cost.estimate",
    "benchmark.fingerprint": "engine.identity.data",
    "benchmark.footprint": "engine.cost.footprint",
    "benchmark.health": "engine.doctor",
    "benchmark.keys": "engine.identity.keys",
    "benchmark.loggers": "engine.trackers",
    "benchmark.register": "engine.preregistration",
    "benchmark.sources": "engine.identity.code",
    "benchmark.studies": "papers.benchmarking_gnns.suite",
    "datasets.bgnn": "papers.benchmarking_gnns.tasks",
    "datasets.files": "graphs.files",
    "models.bgnn": "papers.benchmarking_gnns.models",
    "render": "report",
    "render.views": "records.views",
    "report.across": "analysis.across_tasks",
    "report.analysis": "analysis.comparisons",
    "report.design": "analysis.power",
    "report.fromscores": "report.from_scores",
    "report.info": "records.task_info",
    "report.origins": "report.provenance",
    "report.population": "analysis.task_population",
    "report.several": "report.compare_runs",
    "report.views": "records.views",
    "rings._random_graphs": "graphs.random_graphs",
    "rings.published": "papers.rings.tables",
    "selection.edgelist": "graphs.edgelist",
    "selection.graph": "graphs.compressed",
    "selection.kernels": "graphs.counts",
    "selection.orbits": "graphs.counts",
    "selection.readers": "papers.glemos.readers",
}
"""First-edition paths below the package, and where the module is now; what lay below such a path moved with it."""


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
