"""Let a PyTorch Geometric class process raw files that our layer has fetched.

PyG's own download helper (no certificate check, no checksum, half files) is never reached: a missing
raw file is a `DownloadError`. Nothing is written or read as a pickle: what the class would save is
taken from memory, and files of tensors go through the restricted reader.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from torch_geometric.data import Data, HeteroData, InMemoryDataset
from torch_geometric.io import fs

from graphnetz._core.errors import DataError, DownloadError
from graphnetz._core.unpickle import read_torch
from graphnetz.datasets.sources.base import Built, GraphDataset, RawFile, cached, fetch_all

Prepare = Callable[[list[Path], Path], None]


def pyg_dataset(
    root: str | Path,
    dataset_class: type[InMemoryDataset],
    files: Sequence[RawFile],
    *,
    name: str | None = None,
    finish: Callable[[dict[str, list[Any]]], Built] | None = None,
    prepare: Prepare | None = None,
    mirror: str | Path | None = None,
    **options: Any,
) -> GraphDataset:
    """Fetch ``files``, let ``dataset_class`` process them, and keep the result in our own cache.

    Parameters
    ----------
    root, name
        Folder and name of the result.
    dataset_class, options
        A class of `torch_geometric.datasets` and its constructor's keywords (without ``root``).
    files
        The published files, fetched into a folder of their own.
    prepare
        Puts fetched files into the class's raw folder; copies them by default.
    finish
        Turns what the class saved (graphs by file name) into the result; the first file by default.
    """
    label = name or dataset_class.__name__

    def build(raw: Path) -> Built:
        fetched = fetch_all(files, raw, mirror=mirror)
        with tempfile.TemporaryDirectory(prefix=".pyg-", dir=raw) as scratch:
            saved = process_with(
                dataset_class, Path(scratch), lambda folder: (prepare or _copy)(fetched, folder), **options
            )
        return (finish or _first)(saved)

    return cached(root, label, build)


def process_with(
    dataset_class: type[InMemoryDataset], scratch: Path, place: Callable[[Path], None], **options: Any
) -> dict[str, list[Any]]:
    """Run a class's processing in ``scratch`` and return the graphs it saves, by file name."""
    saved: dict[str, list[Any]] = {}

    class Guarded(dataset_class):  # type: ignore[misc]
        def download(self) -> None:
            """Refuse: every raw file must be there already."""
            missing = [Path(path).name for path in self.raw_paths if not Path(path).exists()]
            raise DownloadError(
                f"{dataset_class.__name__} lacks the raw files {missing}, and its own download is switched off. "
                "Give them to the source that wraps it."
            )

        @classmethod
        def save(cls, data_list: Sequence[Any], path: str) -> None:
            """Keep the graphs in memory instead of pickling them."""
            saved[Path(path).name] = list(data_list)
            Path(path).touch()

        def load(self, path: str, data_cls: type = Data) -> None:  # noqa: ARG002
            """Take the graphs from memory."""
            self.data, self.slices = self.collate(saved[Path(path).name])

    Guarded.__name__ = dataset_class.__name__
    folder = _raw_folder(Guarded, scratch, options)
    folder.mkdir(parents=True, exist_ok=True)
    place(folder)
    with _restricted_reader():
        try:
            Guarded(str(scratch), **options)
        except (KeyError, IndexError, ValueError, TypeError, AssertionError) as error:
            if isinstance(error, DataError):
                raise
            raise DataError(
                f"The raw files are not what {dataset_class.__name__} expects ({type(error).__name__}: {error})."
            ) from error
    return saved


def _raw_folder(guarded: Any, scratch: Path, options: dict[str, Any]) -> Path:
    """Ask the class where it looks for raw files, which may depend on its name option."""
    probe = guarded.__new__(guarded)
    probe.root = str(scratch)
    for key, value in options.items():
        setattr(probe, key, value.lower() if key == "name" and isinstance(value, str) else value)
    return Path(probe.raw_dir)


@contextmanager
def _restricted_reader() -> Iterator[None]:
    """Replace PyG's reader of ``.pt`` files, which falls back to unpickling anything."""
    original = fs.torch_load
    fs.torch_load = lambda path, map_location=None: read_torch(path)  # noqa: ARG005
    try:
        yield
    finally:
        fs.torch_load = original


def _copy(fetched: list[Path], folder: Path) -> None:
    for path in fetched:
        shutil.copyfile(path, folder / path.name)


def _first(saved: dict[str, list[Any]]) -> Built:
    if not saved:
        raise DataError("The class saved no graphs.")
    graphs = next(iter(saved.values()))
    if any(isinstance(graph, HeteroData) for graph in graphs):
        raise DataError("The class makes heterogeneous graphs; give a `finish` that turns them into plain ones.")
    return Built(graphs)
