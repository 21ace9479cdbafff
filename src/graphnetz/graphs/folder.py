"""A graph in a folder: compressed rows, features, labels and split as mapped files under one checked header.

Nothing is loaded when a folder is opened. Its header names sizes and digests by block; a folder whose files were
truncated, edited or never finished is refused in one sentence.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy.typing as npt

from graphnetz._core.errors import DataError, StoreError
from graphnetz._core.paths import refuse_links, write_file
from graphnetz._core.readers import read_json
from graphnetz.graphs.folder_checks import (
    AGAIN,
    BLOCK,
    FORMAT,
    VERSION,
    check_header,
    check_numbers,
    header_digest,
)
from graphnetz.graphs.mapped import mapped

HEADER = "header.json"
_CHECKED = "checked.json"
_HEADER_BYTES = 64 << 20


def is_folder(path: Any) -> bool:
    """Whether ``path`` is a folder with the header of a graph.

    Parameters
    ----------
    path
        Anything; only paths are looked at.

    Returns
    -------
    bool
        True where a header lies in it, whether it is sound or not.

    Examples
    --------
    >>> is_folder("/nowhere")
    False
    """
    return isinstance(path, str | os.PathLike) and Path(path, HEADER).is_file()


class GraphFolder:
    """One graph that stays on disk; arrays are mapped when they are asked for.

    Parameters
    ----------
    path
        The folder, as `open` checked it.
    header
        What its header says.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from graphnetz.graphs import GraphFolder, convert
    >>> place = Path(tempfile.mkdtemp())
    >>> np.savez(place / "ring.npz", edges=[[0, 1], [1, 2], [2, 0]], x=np.eye(3), y=[0, 1, 1])
    >>> graph = convert(place / "ring.npz", place / "ring")
    >>> graph.num_nodes, graph.num_arcs, graph.array("indices").tolist()
    (3, 6, [1, 2, 0, 2, 0, 1])
    """

    splits = ()
    """Fixed splits for seeds to take in turn: there is one, for all seeds."""

    def __init__(self, path: Path, header: Mapping[str, Any]) -> None:
        self.path, self.header = path, dict(header)
        self._arrays: dict[str, npt.NDArray[Any]] = {}

    @classmethod
    def open(cls, path: str | Path, *, verify: bool = False) -> GraphFolder:
        """Open a folder without loading it.

        Parameters
        ----------
        path
            A folder that 'graphnetz convert' made.
        verify
            Read every byte and compare it with the header. It is done without being asked for where a file was
            changed, or copied, after it was last compared.

        Returns
        -------
        GraphFolder
            Sizes and header are checked, which takes milliseconds.

        Examples
        --------
        >>> GraphFolder.open("/nowhere")
        Traceback (most recent call last):
            ...
        graphnetz._core.errors.DataError: '/nowhere' holds no header.json, so it is no graph folder. ...
        """
        folder = Path(path).absolute()
        if not is_folder(folder):
            raise DataError(
                f"{str(path)!r} holds no {HEADER}, so it is no graph folder. Make one with 'graphnetz convert'."
            )
        refuse_links(folder)
        header = read_json(folder / HEADER, most=_HEADER_BYTES, give=f"{AGAIN}.")
        check_header(folder, header)
        graph = cls(folder, header)
        stamps = graph._stamps()
        if verify or _last_checked(folder) != [header["digest"], stamps]:
            graph.verify()
        return graph

    def verify(self) -> None:
        """Compare every block of every file with its digest, and the numbers with each other; refuse what differs.

        Examples
        --------
        >>> import tempfile
        >>> import numpy as np
        >>> from graphnetz.graphs import convert
        >>> place = Path(tempfile.mkdtemp())
        >>> np.savez(place / "ring.npz", edges=[[0, 1], [1, 2], [2, 0]])
        >>> convert(place / "ring.npz", place / "ring").verify()
        """
        for name, facts in self.header["files"].items():
            for number, found in enumerate(digests(self.path / name)):
                if found != facts["blocks"][number]:
                    raise DataError(
                        f"The graph folder {str(self.path)!r} was edited or damaged: block {number} of {name!r} is not "
                        f"what was written. {AGAIN}, or restore the file."
                    )
        if words := check_numbers(self.header, self.array):
            raise DataError(f"The graph folder {str(self.path)!r} holds what no conversion writes: {words}. {AGAIN}.")
        self._note_checked()

    def _note_checked(self) -> None:
        """Note that the files are now what the header says, so that they are not read again to find that out."""
        with contextlib.suppress(StoreError):  # a folder that cannot be written to is compared again the next time
            write_file(self.path / _CHECKED, json.dumps([self.header["digest"], self._stamps()]))

    def _stamps(self) -> dict[str, list[int]]:
        """When each file was last written and last changed in any way, which nobody can set back, and its size."""
        found = {name: (self.path / name).stat() for name in self.header["files"]}
        return {name: [item.st_size, item.st_mtime_ns, item.st_ctime_ns] for name, item in found.items()}

    @property
    def digest(self) -> str:
        """Digest of the header, hence of every byte: it names the data in the keys of cells."""
        return str(self.header["digest"])

    @property
    def num_nodes(self) -> int:
        """Number of nodes, those without arcs included."""
        return int(self.header["nodes"])

    @property
    def num_arcs(self) -> int:
        """Number of arcs; an undirected edge is two of them."""
        return int(self.header["arcs"])

    @property
    def num_features(self) -> int:
        """Width of the features; 0 without any."""
        return int(self.header["files"]["features"]["shape"][1]) if "features" in self.header["files"] else 0

    @property
    def num_classes(self) -> int:
        """Number of classes; 0 without labels."""
        return int(self.header["classes"])

    def has(self, name: str) -> bool:
        """Whether the folder holds a file of this name, such as ``"features"``.

        Parameters
        ----------
        name
            One of indptr, indices, features, labels, train, val, test.

        Returns
        -------
        bool
            False where the source had none.

        Examples
        --------
        >>> import tempfile
        >>> import numpy as np
        >>> from graphnetz.graphs import convert
        >>> place = Path(tempfile.mkdtemp())
        >>> np.savez(place / "ring.npz", edges=[[0, 1], [1, 2], [2, 0]])
        >>> convert(place / "ring.npz", place / "ring").has("features")
        False
        """
        return name in self.header["files"]

    def array(self, name: str) -> npt.NDArray[Any]:
        """Return one of its arrays, mapped and read-only.

        Parameters
        ----------
        name
            One of indptr, indices, features, labels, train, val, test.

        Returns
        -------
        ndarray
            The same object at every call.

        Examples
        --------
        >>> import tempfile
        >>> import numpy as np
        >>> from graphnetz.graphs import convert
        >>> place = Path(tempfile.mkdtemp())
        >>> np.savez(place / "ring.npz", edges=[[0, 1], [1, 2], [2, 0]])
        >>> convert(place / "ring.npz", place / "ring").array("indptr").tolist()
        [0, 2, 4, 6]
        """
        if name not in self._arrays:
            facts = self.header["files"][name]
            self._arrays[name] = mapped(self.path / name, facts["dtype"], tuple(facts["shape"]))
        return self._arrays[name]

    def __getstate__(self) -> dict[str, Any]:
        return {"path": self.path, "header": self.header, "_arrays": {}}  # another process maps for itself

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        with contextlib.suppress(OSError):  # so that this process is known to hold a graph on disk
            self.array("indptr")

    def __repr__(self) -> str:
        return f"GraphFolder({str(self.path)!r}: {self.num_nodes:,} nodes, {self.num_arcs:,} arcs)"


def digests(path: Path) -> Iterator[str]:
    """Yield the digest of every block of a file.

    Parameters
    ----------
    path
        The file.

    Yields
    ------
    str
        BLAKE2b of 64 MB at a time.
    """
    with open(path, "rb") as stream:
        while block := stream.read(BLOCK):
            yield hashlib.blake2b(block, digest_size=16).hexdigest()


def seal(folder: Path, facts: Mapping[str, Any], files: Mapping[str, tuple[str, tuple[int, ...]]]) -> None:
    """Write the header of a finished folder.

    Parameters
    ----------
    folder
        Where the files lie, complete.
    facts
        Counts: nodes, arcs, self_loops, classes, and what the source was.
    files
        Type and shape by name.
    """
    listed = {
        name: {"dtype": dtype, "shape": list(shape), "blocks": list(digests(folder / name))}
        for name, (dtype, shape) in files.items()
    }
    header = {"format": FORMAT, "version": VERSION, "complete": True, **facts, "files": listed}
    header["digest"] = header_digest(header)
    write_file(folder / HEADER, json.dumps(header, indent=1))
    GraphFolder(folder, header)._note_checked()


def _last_checked(folder: Path) -> Any:
    path = folder / _CHECKED
    try:
        return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else None
    except (OSError, ValueError):
        return None
