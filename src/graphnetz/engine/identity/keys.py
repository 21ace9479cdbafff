"""Content keys: a cell is named by everything that can change its numbers."""

from __future__ import annotations

import functools
import json
import uuid
from collections.abc import Callable, Mapping
from typing import Any

from graphnetz._core.errors import DataError
from graphnetz.engine.identity.code import Unhashable, code_hash
from graphnetz.engine.identity.data import fingerprint
from graphnetz.engine.store.codec import plain
from graphnetz.engine.store.schema import KEY_VERSION
from graphnetz.models import ModelSpec
from graphnetz.records import Protocol, Task
from graphnetz.records.digests import sha256

__all__ = ["CellKeys", "Unhashable", "code_hash", "content_key", "fingerprint"]


def content_key(
    *,
    task: str,
    task_type: str,
    dataset: str,
    model: str,
    model_hash: str,
    protocol: Mapping[str, Any],
    seed: int,
    extra: Mapping[str, Any] | None = None,
) -> str:
    """Return the key of one cell: the same facts give the same 40 characters, anywhere.

    Parameters
    ----------
    task, task_type
        Name of the task and what is predicted.
    dataset
        Fingerprint of the data.
    model, model_hash
        Name of the model and hash of its code and arguments.
    protocol, seed
        How it is trained.
    extra
        Whatever else decides the numbers, such as a search space.
    """
    facts = {
        "version": KEY_VERSION,
        "task": task,
        "task_type": task_type,
        "dataset": dataset,
        "model": model,
        "model_hash": model_hash,
        "protocol": plain(dict(protocol)),
        "seed": int(seed),
        "extra": plain(dict(extra or {})),
    }
    return sha256(json.dumps(facts, sort_keys=True).encode())[:40]


def _facts(spec: ModelSpec) -> tuple[Any, ...]:
    """What a model is: its code and arguments, and the hash of the file that it was brought in."""
    facts = (spec.cls, spec.factory, dict(spec.kwargs))
    return (*facts, spec.source.sha256) if spec.source and spec.source.sha256 else facts


class CellKeys:
    """Keys of one plan; hashes of data and models are computed once.

    Parameters
    ----------
    search
        Model -> its search space as plain values, None where nothing is searched inside its cells.

    Attributes
    ----------
    fingerprints
        Data fingerprints by task, for the provenance of a run.
    notes
        One sentence for each thing that has no stable hash: its cells get keys of this run only.
    """

    def __init__(self, search: Callable[[str], Mapping[str, Any] | None] = lambda _: None) -> None:
        self.fingerprints: dict[str, str] = {}
        self.notes: list[str] = []
        self._search = functools.cache(lambda model: {"search": dict(found)} if (found := search(model)) else {})
        self._codes: dict[int, tuple[Any, str]] = {}
        self._protocols: dict[int, tuple[Protocol, dict[str, Any]]] = {}
        self._run = uuid.uuid4().hex

    def data(self, task: Task, loaded: Callable[[int | None], Any]) -> Callable[[int], str]:
        """Return seed -> data key of a task.

        ``loaded(seed)`` gives data the driver holds (``seed`` None for data that no seed varies), or
        None. Data made where it is needed is named by the code of its loader.
        """
        if not task.seeded:
            key = self._data_key(task, None, loaded(None))
            return lambda _: key
        return functools.cache(lambda seed: self._data_key(task, seed, loaded(seed)))

    def cell(self, task: Task, data_key: str, model: str, spec: ModelSpec, protocol: Protocol, seed: int) -> str:
        """Return the content key of one cell."""
        hook = task.after_split
        return content_key(
            task=task.name,
            task_type=task.task_type,
            dataset=data_key,
            model=model,
            model_hash=self._code(f"Model {model!r}", spec, _facts(spec)),
            protocol=self._plain(protocol),
            seed=seed,
            extra={
                **self._search(model),
                "metric": task.metric or "",
                "replication": task.replication or "",
                "after_split": "" if hook is None else self._code(f"after_split of task {task.name!r}", hook, hook),
            },
        )

    def _code(self, what: str, owner: Any, facts: Any) -> str:
        """Hash of ``facts``, computed once for each owner; where there is none, one that only this run knows."""
        if id(owner) not in self._codes:
            described = code_hash(facts)
            if isinstance(described, Unhashable):
                described = self._only_now(what, described.reason)
            self._codes[id(owner)] = (owner, described)
        return self._codes[id(owner)][1]

    def _plain(self, protocol: Protocol) -> dict[str, Any]:
        """Many cells share one protocol object; turning it into plain values is the slow part of a key."""
        if id(protocol) not in self._protocols:
            self._protocols[id(protocol)] = (protocol, plain(protocol.as_dict()))
        return self._protocols[id(protocol)][1]

    def _data_key(self, task: Task, seed: int | None, dataset: Any) -> str:
        label = task.name if seed is None else f"{task.name} (seed {seed})"
        if dataset is not None:
            try:
                self.fingerprints[label] = fingerprint(dataset)
            except DataError as error:
                return self._only_now(f"The data of task {task.name!r}", str(error))
            return self.fingerprints[label]
        described = code_hash((task.loader, task.transform))
        if isinstance(described, Unhashable):
            return self._only_now(f"The loader of task {task.name!r}", described.reason)
        checksum = dict(task.card.checksum) if task.card is not None else {}
        return sha256(json.dumps([described, checksum], sort_keys=True).encode())[:40]

    def _only_now(self, what: str, reason: str) -> str:
        note = f"{what} has no stable hash: {reason.rstrip('.')}. Its cells belong to this run and cannot be resumed."
        if note not in self.notes:
            self.notes.append(note)
        return f"{self._run}:{what}"
