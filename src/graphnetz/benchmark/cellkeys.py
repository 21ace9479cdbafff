"""Names of cells: what a result depends on, hashed once per part and joined."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from graphnetz.benchmark.keys import UnhashableError, code_hash, content_key, fingerprint, run_only
from graphnetz.models import ModelSpec
from graphnetz.records import Protocol, Task


class CellKeys:
    """Hashes data, code and protocol of a plan; each of them once.

    ``notes`` collects what cannot be hashed: such cells get a key of this run only and are never
    reused. ``fingerprints`` maps tasks to the hash of their data.
    """

    def __init__(self, search: Mapping[str, Any] | None) -> None:
        self.search = search
        self.fingerprints: dict[str, str] = {}
        self.notes: list[str] = []
        self._models: dict[str, str] = {}

    def data(self, task: Task, loaded: Callable[[int | None], Any]) -> Callable[[int], str]:
        """Return a function seed -> hash of the data that cells of ``task`` see.

        A catalogue generator is named by its code and the seed, everything else by its tensors.
        """
        transform = "" if task.transform is None else self._code(f"the transform of {task.name}", task.transform)
        if not task.seeded:
            value = fingerprint(loaded(None)) + transform
            self.fingerprints[task.name] = value
            return lambda seed: value
        if task.card is not None:
            value = self._code(f"the generator of {task.name}", task.loader) + transform
            self.fingerprints[task.name] = value
            return lambda seed: f"{value}:{seed}"
        self.fingerprints[task.name] = fingerprint(loaded(None)) if loaded(None) is not None else ""
        return lambda seed: fingerprint(loaded(seed)) + transform

    def cell(self, task: Task, data: str, name: str, spec: ModelSpec, protocol: Protocol, seed: int) -> str:
        """Return the content key of one cell."""
        if name not in self._models:
            self._models[name] = self._code(f"model {name}", (spec.cls, spec.factory, dict(spec.kwargs)))
        return content_key(
            task={"name": task.name, "type": task.task_type, "metric": task.metric, "replication": task.replication},
            data=data,
            model={"name": name, "code": self._models[name]},
            protocol=protocol.as_dict() | {"search": self.search},
            seed=seed,
        )

    def _code(self, what: str, value: Any) -> str:
        try:
            return code_hash(value)
        except UnhashableError as error:
            self.notes.append(f"{what} cannot be hashed ({error}), so its cells cannot be resumed in a later run")
            return run_only()
