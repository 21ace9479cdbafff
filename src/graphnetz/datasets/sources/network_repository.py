"""Networks of the Network Repository (Rossi and Ahmed, 2015): a zip with a Matrix Market or edge file."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from graphnetz._core.download import fetch
from graphnetz._core.errors import DataError, UsageError
from graphnetz._core.paths import slug
from graphnetz.datasets.sources.base import Built, GraphDataset, cached
from graphnetz.datasets.sources.netz import Network, network_data, open_member, opened

URLS = ("https://nrvis.com/download/data", "https://networkrepository.com/data")
SUFFIXES = (".mtx", ".edges", ".txt", ".csv")


def network_repository(
    root: str | Path,
    name: str,
    *,
    group: str = "misc",
    directed: bool = False,
    multigraph: bool = False,
    weighted: bool = False,
    mirror: str | Path | None = None,
) -> GraphDataset:
    """Load one network of the repository by name.

    Parameters
    ----------
    root, name
        Folder, and name of the network such as ``"soc-dolphins"``.
    group
        Collection the site keeps it in, such as ``"soc"`` or ``"bio"``.
    directed, multigraph, weighted
        As for `graphnetz.datasets.sources.netz.Netz`.
    mirror
        Folder or address that has it as ``NetworkRepository/<name>.zip``.
    """
    for part in (name, group):
        if slug(part, length=200) != part:
            raise UsageError(f"{part!r} is not a plain name of the Network Repository.")

    def build(raw: Path) -> Built:
        urls = (f"{URLS[0]}/{group}/{name}.zip", f"{URLS[1]}/{name}.zip")
        archive = fetch(urls, raw / f"{name}.zip", mirror=mirror, names=(f"NetworkRepository/{name}.zip",))
        network = read_repository_zip(archive)
        return network_data(network, directed=directed, multigraph=multigraph, weighted=weighted)

    tag = "".join(letter for letter, on in zip("mdw", (multigraph, directed, weighted), strict=True) if on)
    return cached(root, f"network-repository-{name}" + (f"-{tag}" if tag else ""), build)


def read_repository_zip(archive: Path) -> Network:
    """Read the one network file of an archive, whatever of the repository's formats it has."""
    with opened(archive) as source:
        found = [e for e in source.infolist() if Path(e.filename).suffix in SUFFIXES and not e.is_dir()]
        found = [e for e in found if "readme" not in e.filename.lower()]
        if not found:
            raise DataError(f"{archive.name!r} holds no network file ({', '.join(SUFFIXES)}).")
        entry = min(found, key=lambda e: (SUFFIXES.index(Path(e.filename).suffix), e.filename))
        with open_member(source, entry, errors="replace") as stream:
            lines = [line.strip() for line in stream]
    return _parse(lines, entry.filename)


def _parse(lines: list[str], name: str) -> Network:
    rows = [line.replace(",", " ").split() for line in lines if line and line[0] not in "%#"]
    size = None
    if lines and lines[0].lower().startswith("%%matrixmarket") and rows:
        size, rows = rows[0], rows[1:]  # rows, columns, entries
    if not rows:
        raise DataError(f"{name!r} holds no edge.")
    try:
        ends = np.array([[int(row[0]) for row in rows], [int(row[1]) for row in rows]], dtype=np.int64)
        weights = np.array([float(row[2]) for row in rows]) if all(len(row) > 2 for row in rows) else None
    except (ValueError, IndexError) as error:
        raise DataError(f"{name!r} is not a list of edges ({error}).") from error
    first = 1 if size is not None or ends.min() > 0 else 0
    ends -= first
    nodes = max(int(size[0]), int(size[1])) if size is not None else int(ends.max()) + 1
    if ends.min() < 0 or ends.max() >= nodes:
        raise DataError(f"{name!r} names the node {int(ends.max()) + first}, but has {nodes} nodes.")
    return Network(ends, nodes, {} if weights is None else {"weight": weights}, "network repository")
