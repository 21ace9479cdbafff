"""What every source shares: raw files, the processed cache, and the dataset that loaders return."""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from filelock import FileLock
from torch_geometric.data import Data, InMemoryDataset

from graphnetz._core.download import fetch
from graphnetz._core.errors import DataError, GraphnetzError
from graphnetz._core.paths import slug
from graphnetz.datasets.sources.container import read_container, write_container
from graphnetz.datasets.splits import consecutive_split

Transform = Callable[[Any], Any]
Splits = Mapping[str, Any] | Sequence[Mapping[str, Any]] | None

FIRST_USE = "no checksum is published: that of the first copy is recorded in checksums.json and checked ever after"
"""What a run says of data whose pickled files were read without a published checksum (``info["trust"]``)."""

IDENTITY_LIMIT = 8192
"""Featureless networks up to this size get one-hot identity features, larger ones log-degrees."""

_log = logging.getLogger(__name__)


class GraphDataset(InMemoryDataset):  # type: ignore[misc]
    """Graphs in memory with their canonical split, read from a processed cache without pickle.

    Attributes
    ----------
    name
        The dataset's name.
    splits
        None, one mapping ``{"train": indices, "val": indices, "test": indices}`` of graph indices,
        or a sequence of such mappings, one per seed or fold.
    replication
        What the sequence of splits is: ``"resplit"`` or ``"fold"``.
    info
        Facts about the raw data and what was done to it.
    fingerprint
        The sha256 of the processed file.
    """

    def __init__(
        self,
        data: Data,
        slices: Mapping[str, torch.Tensor] | None,
        *,
        name: str,
        splits: Splits = None,
        replication: str = "resplit",
        info: Mapping[str, Any] | None = None,
        fingerprint: str = "",
        transform: Transform | None = None,
    ) -> None:
        super().__init__(None, transform)
        self._data, self.slices = data, dict(slices) if slices is not None else None
        self.name = name
        self.splits = splits
        self.replication = replication
        self.info = dict(info or {})
        self.fingerprint = fingerprint

    @property
    def num_classes(self) -> int:
        """Number of classes, or of targets when they are real numbers."""
        y = self._data.y
        if isinstance(y, torch.Tensor) and y.is_floating_point():
            return int(y.shape[-1]) if y.dim() > 1 else 1
        return int(super().num_classes)

    def __repr__(self) -> str:
        return f"{self.name}({len(self)})"


@dataclass(frozen=True)
class Built:
    """What a reader makes of raw files: graphs, and what is known about them."""

    graphs: Sequence[Data]
    splits: Splits = None
    replication: str = "resplit"
    info: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class RawFile:
    """One published file.

    ``names`` are the places where a mirror may hold it.
    """

    name: str
    urls: tuple[str, ...]
    names: tuple[str, ...] = ()
    sha256: str | None = None

    @classmethod
    def at(cls, name: str, address: str, place: str, sha256: str | None = None) -> RawFile:
        """Return the file of that name below an address of its publisher and below a folder of mirrors."""
        return cls(name, (f"{address}/{name}",), (f"{place}/{name}",), sha256)

    def get(self, folder: Path, *, mirror: str | Path | None = None) -> Path:
        """Fetch the file into ``folder`` and return its path."""
        return fetch(self.urls, folder / self.name, sha256=self.sha256, mirror=mirror, names=self.names)


def fetch_all(files: Iterable[RawFile], folder: Path, *, mirror: str | Path | None = None) -> list[Path]:
    """Fetch several files into ``folder``."""
    return [item.get(folder, mirror=mirror) for item in files]


def find_in(folder: Path, name: str) -> Path:
    """Return the file or folder of that name in an unpacked archive."""
    found = sorted(path for path in folder.rglob(name) if "__MACOSX" not in path.parts)
    if not found:
        raise DataError(f"The archive holds no {name!r}; it is not the published one.")
    return found[0]


def cached(
    root: str | Path,
    name: str,
    build: Callable[[Path], Built],
    *,
    version: int = 1,
    transform: Transform | None = None,
    kind: type[GraphDataset] = GraphDataset,
) -> GraphDataset:
    """Return the processed dataset under ``root``, building it once when it is missing or damaged.

    ``build`` receives the folder for raw files. ``version`` changes when a reader's result does.
    """
    root = Path(root)
    path = root / "processed" / f"{slug(name)}.gnz"
    path.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(str(path) + ".lock"):
        found = _read(path, version=version)
        if found is None:
            built = _built(build, root / "raw", name)
            if not built.graphs:
                raise DataError(f"The raw files of {name!r} hold no graph. Remove {str(root / 'raw')!r} and try again.")
            _write(path, built, version=version)
            found = _read(path, version=version)
    if found is None:
        raise DataError(f"{str(path)!r} cannot be read back. Check the disk.")
    return kind(name=name, transform=transform, **found)


def _built(build: Callable[[Path], Built], raw: Path, name: str) -> Built:
    """Run a reader; whatever it stumbles over in strange files becomes one sentence."""
    try:
        return build(raw)
    except GraphnetzError:
        raise
    except (LookupError, ValueError, TypeError, AttributeError, RuntimeError, AssertionError, EOFError) as error:
        raise DataError(
            f"The raw files of {name!r} are not what their publisher describes ({type(error).__name__}: {error}). "
            f"Remove {str(raw)!r} and try again."
        ) from error


def rule_for(num_nodes: int) -> str:
    """Return how a network without features gets them: ``"identity"`` or ``"degree"``."""
    return "identity" if num_nodes <= IDENTITY_LIMIT else "degree"


def mask_of(index: Any, size: int) -> torch.Tensor:
    """Return a boolean mask of ``size`` that is true at ``index``."""
    mask = torch.zeros(size, dtype=torch.bool)
    mask[torch.as_tensor(np.asarray(index), dtype=torch.long)] = True
    return mask


def in_parts(*parts: Sequence[Data]) -> Built:
    """Return the graphs of training, validation and test, stored one after the other."""
    return Built([graph for part in parts for graph in part], splits=consecutive_split(*map(len, parts)))


def first_use(built: Built) -> Built:
    """Return what was built from pickled files without a published checksum, so that a run can say so."""
    return dataclasses.replace(built, info={**(built.info or {}), "trust": FIRST_USE})


def _write(path: Path, built: Built, *, version: int) -> None:
    graphs = list(built.graphs)
    data, slices = InMemoryDataset.collate(graphs)
    arrays: dict[str, np.ndarray] = {}
    plain: dict[str, Any] = {}
    for key, value in data._store.items():
        if isinstance(value, torch.Tensor):
            arrays[f"data/{key}"] = value.detach().cpu().numpy()
        else:
            plain[key] = value
    counts = getattr(data._store, "_num_nodes", None)  # how PyG keeps the sizes of graphs without features
    if counts is not None:
        arrays["counts/nodes"] = np.asarray(counts)
    for key, value in (slices or {}).items():
        arrays[f"slices/{key}"] = value.numpy()
    splits = built.splits
    listed = [splits] if isinstance(splits, Mapping) else list(splits or [])
    for number, split in enumerate(listed):
        for part, index in split.items():
            arrays[f"splits/{number}/{part}"] = np.asarray(index)
    meta = {
        "version": version,
        "plain": plain,
        "sliced": slices is not None,
        "splits": None if splits is None else ("one" if isinstance(splits, Mapping) else len(listed)),
        "replication": built.replication,
        "info": dict(built.info or {}),
    }
    write_container(path, arrays, meta=meta)


def _read(path: Path, *, version: int) -> dict[str, Any] | None:
    """Return the arguments of a `GraphDataset`, or None when the file must be built (again)."""
    if not path.is_file():
        return None
    try:
        arrays, meta, fingerprint = read_container(path)
    except DataError as error:
        _log.warning("%s Building it again.", error)
        return None
    if meta.get("version") != version:
        return None
    data = Data()
    for key, value in meta["plain"].items():
        data._store[key] = value
    parts: dict[int, dict[str, torch.Tensor]] = {}
    slices: dict[str, torch.Tensor] = {}
    for name, array in arrays.items():
        group, _, key = name.partition("/")
        tensor = torch.from_numpy(array)
        if group == "data":
            data._store[key] = tensor
        elif group == "slices":
            slices[key] = tensor
        elif group == "counts":
            data._store._num_nodes = tensor.tolist()
        else:
            number, _, part = key.partition("/")
            parts.setdefault(int(number), {})[part] = tensor
    splits: Splits = [parts[number] for number in sorted(parts)]
    if meta["splits"] in (None, "one"):
        splits = parts[0] if meta["splits"] == "one" else None
    return {
        "data": data,
        "slices": slices if meta["sliced"] else None,
        "splits": splits,
        "replication": meta["replication"],
        "info": meta["info"],
        "fingerprint": fingerprint,
    }
