"""Networks of the Netzschleuder catalogue (Peixoto, 2020), by name, and plain CSV copies of them."""

from __future__ import annotations

import csv
import gzip
import io
import json
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch_geometric.data import Data

from graphnetz._core.download import fetch, mirror_has
from graphnetz._core.errors import DataError, DownloadError, GraphnetzError, UsageError
from graphnetz._core.paths import slug
from graphnetz._core.readers import Bounded
from graphnetz.datasets.generators.build import with_masks
from graphnetz.datasets.sources.base import Built, GraphDataset, cached, rule_for

SITE = "https://networks.skewed.de"
MAX_MEMBER = 16 << 30
PLAIN_NETWORKS: Mapping[str, str] = {
    "karate": "78",
    "board_directors": "net1m_2002-05-01",
    "product_space": "SITC",
    "us_roads": "DC",
    "urban_streets": "brasilia",
    "route_views": "20000102",
    "budapest_connectome": "all_20k",
    "sp_high_school": "proximity",
}
"""Which network of a family a plain ``networks/<dataset>.csv`` stands for; otherwise the one named like it."""

_NOT_EDGES = ("source", "target")


@dataclass(frozen=True)
class Network:
    """The tables of one network: two columns of ends, the other columns by name, and its size."""

    ends: np.ndarray
    nodes: int
    columns: Mapping[str, np.ndarray] = field(default_factory=dict)
    layout: str = "netzschleuder"


class Netz(GraphDataset):
    """Any network of the Netzschleuder site as a PyG dataset with one graph.

    Parameters
    ----------
    root
        Folder for raw and processed files.
    dataset_name, network_name
        Name of the dataset on the site, and of the network inside it.
    transform, pre_transform
        As in PyG: applied at every access, or once before processing ends (the result of a
        ``pre_transform`` is not kept on disk).
    multigraph
        Keep parallel edges and self-loops; left out, repeated pairs (layers, time stamps, both
        directions) become one edge, and loops are dropped.
    directed
        Keep the stored direction; left out, every edge is present in both directions.
    weighted
        Add ``edge_weight``: the ``weight`` column where there is one (summed over merged rows),
        else the number of merged rows.
    mirror
        Folder or address asked before the site.

    Notes
    -----
    The graph has no features: ``data.feature_rule`` says whether a task gives it one-hot identity
    ("identity", up to 8,192 nodes) or log-degrees of its training edges ("degree"). With
    ``multigraph`` a column ``layer`` becomes ``edge_type``. What was merged is in ``info``.

    Examples
    --------
    >>> from graphnetz import Netz
    >>> karate = Netz("data", "karate", "78")  # doctest: +SKIP
    >>> karate[0].num_nodes  # doctest: +SKIP
    34
    """

    def __init__(
        self,
        root: str | Path,
        dataset_name: str = "urban_streets",
        network_name: str = "brasilia",
        transform: Callable[[Any], Any] | None = None,
        pre_transform: Callable[[Any], Any] | None = None,
        multigraph: bool = False,
        *,
        directed: bool = False,
        weighted: bool = False,
        mirror: str | Path | None = None,
    ) -> None:
        for name in (dataset_name, network_name):
            if slug(name, length=200) != name:
                raise UsageError(f"{name!r} is not the name of a network; use the plain name the site gives it.")
        options = (multigraph, directed, weighted)
        tag = "".join(letter for letter, on in zip("mdw", options, strict=True) if on)
        found = cached(
            root,
            f"netz-{dataset_name}-{network_name}" + (f"-{tag}" if tag else ""),
            lambda raw: _build(raw, dataset_name, network_name, options=options, mirror=mirror),
        )
        data = found._data if pre_transform is None else pre_transform(found._data)
        super().__init__(
            data, None, name=dataset_name, info=found.info, fingerprint=found.fingerprint, transform=transform
        )
        self.dataset_name = dataset_name
        self.network_name = network_name
        self.multigraph = multigraph

    def __repr__(self) -> str:
        return f"Netz({self.dataset_name}/{self.network_name})"


def network_data(
    network: Network,
    *,
    multigraph: bool = False,
    directed: bool = False,
    weighted: bool = False,
    time: str | None = None,
) -> Built:
    """Turn tables into one graph, and state what was merged or dropped on the way.

    ``time`` names a column: every edge then carries the first time at which it occurs (``edge_time``).
    """
    source, target = network.ends
    loops = source == target
    weight = network.columns.get("weight")
    weight = np.ones(len(source)) if weight is None else weight.astype(np.float64)
    extra: dict[str, torch.Tensor] = {}
    if multigraph:
        one_way = loops if not directed else np.ones_like(loops)
        rows = np.concatenate([np.arange(len(source)), np.flatnonzero(~one_way)])
        flipped = np.arange(len(rows)) >= len(source)
        ends = np.where(flipped, network.ends[::-1][:, rows], network.ends[:, rows])
        if "layer" in network.columns:
            _, layer = np.unique(network.columns["layer"], return_inverse=True)
            extra["edge_type"] = torch.from_numpy(layer[rows].astype(np.int64))
        sums = weight[rows]
    else:
        low, high = (source, target) if directed else (np.minimum(source, target), np.maximum(source, target))
        code, inverse = np.unique((low * network.nodes + high)[~loops], return_inverse=True)
        sums = np.bincount(inverse, weights=weight[~loops], minlength=len(code))
        ends = np.stack([code // max(network.nodes, 1), code % max(network.nodes, 1)])
        if not directed:
            ends = np.concatenate([ends, ends[::-1]], axis=1)
            sums = np.concatenate([sums, sums])
        order = np.lexsort((ends[1], ends[0]))
        ends, sums = ends[:, order], sums[order]
        if time is not None:
            first = np.full(len(code), np.inf)
            np.minimum.at(first, inverse, network.columns[time].astype(np.float64)[~loops])
            extra["edge_time"] = torch.from_numpy((first if directed else np.concatenate([first, first]))[order])
    data = Data(edge_index=torch.from_numpy(np.ascontiguousarray(ends, dtype=np.int64)), num_nodes=network.nodes)
    for key, value in extra.items():
        data[key] = value
    if weighted:
        data.edge_weight = torch.from_numpy(sums).float()
    data.feature_rule = rule_for(network.nodes)
    info = {
        "rows": len(source),
        "self_loops": int(loops.sum()),
        "columns": sorted(network.columns),
        "layout": network.layout,
        "directed": directed,
        "multigraph": multigraph,
    }
    return Built([data], info=info)


def _build(
    raw: Path, dataset: str, network: str, *, options: tuple[bool, bool, bool], mirror: str | Path | None
) -> Built:
    multigraph, directed, weighted = options
    tables = _fetch(raw, dataset, network, mirror=mirror)
    return network_data(tables, multigraph=multigraph, directed=directed, weighted=weighted)


def _fetch(raw: Path, dataset: str, network: str, *, mirror: str | Path | None) -> Network:
    packed = f"netzschleuder/{dataset}/{network}.csv.zip"
    stems = [f"networks/{dataset}/{network}"]
    if PLAIN_NETWORKS.get(dataset, dataset) == network:
        stems.append(f"networks/{dataset}")
    if not mirror_has(packed, mirror=mirror):
        for stem in stems:
            for suffix in (".csv", ".csv.gz"):
                if mirror_has(stem + suffix, mirror=mirror):
                    return _fetch_plain(raw, stem, suffix, mirror=mirror)
    url = f"{SITE}/net/{dataset}/files/{network}.csv.zip"
    try:
        archive = fetch(url, raw / f"{dataset}-{network}.csv.zip", mirror=mirror, names=(packed,))
    except DownloadError as error:
        raise DownloadError(f"{error}{_known_networks(raw, dataset, network)}") from error
    return read_netzschleuder(archive)


def _known_networks(raw: Path, dataset: str, network: str) -> str:
    """Return a sentence with the networks the site lists, when it can be asked."""
    try:
        path = fetch(f"{SITE}/api/net/{dataset}", raw / f"{dataset}.json", retries=1, timeout=10.0)
        names = json.loads(path.read_text(encoding="utf-8"))["nets"]
    except (GraphnetzError, ValueError, KeyError):
        return ""
    finally:
        (raw / f"{dataset}.json").unlink(missing_ok=True)
    if network in names:
        return ""
    listing = ", ".join(map(str, names[:20])) + (", ..." if len(names) > 20 else "")
    return f" The dataset {dataset!r} has no network {network!r}; it has: {listing}."


def _fetch_plain(raw: Path, stem: str, suffix: str, *, mirror: str | Path | None) -> Network:
    name = Path(stem).name
    edges = fetch((), raw / f"{name}{suffix}", mirror=mirror, names=(stem + suffix,))
    nodes = None
    for end in ("_nodes.csv", "_nodes.csv.gz"):
        if mirror_has(stem + end, mirror=mirror):
            nodes = fetch((), raw / f"{name}{end}", mirror=mirror, names=(stem + end,))
            break
    header, rows = _table(_open_text(edges), edges.name)
    count = None if nodes is None else len(_table(_open_text(nodes), nodes.name)[1])
    return _network(header, rows, count, name=edges.name, layout="plain csv")


def plain_network(
    root: str | Path,
    name: str,
    *,
    label: str | None = None,
    time: str | None = None,
    mirror: str | Path | None = None,
) -> GraphDataset:
    """Load ``networks/<name>.csv`` of a mirror: a network that has no public address of its own here.

    ``label`` names a column of ``networks/<name>_nodes.csv`` whose values become classes, ``time`` a column of the
    edges whose first value becomes the time of an edge.
    """
    if slug(name) != name:
        raise UsageError(f"{name!r} is not the name of a network; use a plain name.")

    def build(raw: Path) -> Built:
        suffix = ".csv.gz" if mirror_has(f"networks/{name}.csv.gz", mirror=mirror) else ".csv"
        tables = _fetch_plain(raw, f"networks/{name}", suffix, mirror=mirror)
        if time is not None and time not in tables.columns:
            raise DataError(f"'{name}{suffix}' lacks the column {time!r}; it has {sorted(tables.columns)}.")
        built = network_data(tables, time=time)
        if label is not None:
            header, rows = _table(_open_text(raw / f"{name}_nodes.csv"), f"{name}_nodes.csv")
            if label not in header:
                raise DataError(f"'{name}_nodes.csv' lacks the column {label!r}; its header is {header}.")
            _, y = np.unique([row[header.index(label)] for row in rows], return_inverse=True)
            built.graphs[0].y = torch.from_numpy(y.astype(np.int64))
            with_masks(built.graphs[0], splits=10)
        return built

    return cached(root, "-".join(filter(None, ("network", name, label, time))), build)


def read_netzschleuder(archive: Path) -> Network:
    """Read ``edges.csv`` and ``nodes.csv`` out of a zip of the site."""
    with opened(archive) as source:
        members = {Path(entry.filename).name: entry for entry in source.infolist()}
        if "edges.csv" not in members:
            raise DataError(f"{archive.name!r} has no 'edges.csv'; it is not a network of the site.")
        header, rows = _table(open_member(source, members["edges.csv"]), f"{archive.name}/edges.csv")
        count = None
        if "nodes.csv" in members:
            count = len(_table(open_member(source, members["nodes.csv"]), f"{archive.name}/nodes.csv")[1])
    return _network(header, rows, count, name=archive.name)


@contextmanager
def opened(archive: Path) -> Iterator[zipfile.ZipFile]:
    """Open a zip file; whatever is broken in it becomes one sentence."""
    try:
        with zipfile.ZipFile(archive) as source:
            yield source
    except GraphnetzError:
        raise
    except (zipfile.BadZipFile, EOFError, OSError) as error:
        raise DataError(f"{archive.name!r} is broken ({error}). Remove it and try again.") from error


def open_member(source: zipfile.ZipFile, entry: zipfile.ZipInfo, *, errors: str = "strict") -> io.TextIOBase:
    """Open a text file of an archive, unless it would unpack to far more than it should."""
    if entry.file_size > MAX_MEMBER or entry.file_size > 1000 * max(entry.compress_size, 1 << 20):
        raise DataError(f"{entry.filename!r} unpacks to {entry.file_size} bytes, which looks like a bomb.")
    return io.TextIOWrapper(source.open(entry), encoding="utf-8", errors=errors, newline="")


def _open_text(path: Path) -> io.TextIOBase:
    if path.suffix == ".gz":
        bounded = io.BufferedReader(Bounded(gzip.open(path, "rb"), path))  # noqa: SIM115 - closed by who reads it
        return io.TextIOWrapper(bounded, encoding="utf-8", newline="")
    return open(path, encoding="utf-8", newline="")


def _table(stream: io.TextIOBase, name: str) -> tuple[list[str], list[list[str]]]:
    """Return the header and the rows; the site's header starts with a number sign."""
    with stream:
        try:
            reader = csv.reader(stream, skipinitialspace=True)
            header = next(reader, [])
            rows = [row for row in reader if row]
        except (csv.Error, UnicodeDecodeError) as error:
            raise DataError(f"{name!r} is not a CSV table ({error}).") from error
    return [cell.strip().lstrip("#").strip() for cell in header], rows


def _network(
    header: list[str], rows: list[list[str]], count: int | None, *, name: str, layout: str = "netzschleuder"
) -> Network:
    missing = [column for column in _NOT_EDGES if column not in header]
    if missing:
        raise DataError(f"{name!r} lacks the column {missing[0]!r}; its header is {header}.")
    if not rows:
        raise DataError(f"{name!r} holds no edge.")
    width = len(header)
    short = next((i for i, row in enumerate(rows) if len(row) < width), None)
    if short is not None:
        raise DataError(f"Row {short + 2} of {name!r} has {len(rows[short])} of {width} columns.")
    columns = {key: [row[i] for row in rows] for i, key in enumerate(header)}
    try:
        ends = np.array([columns["source"], columns["target"]], dtype=np.int64)
    except ValueError as error:
        raise DataError(f"{name!r} holds a node number that is not a whole number ({error}).") from error
    nodes = int(ends.max()) + 1 if count is None else count
    if ends.min() < 0 or ends.max() >= nodes:
        raise DataError(
            f"{name!r} names the node {int(ends.max() if ends.max() >= nodes else ends.min())}, out of 0..{nodes - 1}."
        )
    values = {}
    for key in header:
        if key not in _NOT_EDGES:
            column = np.array(columns[key])
            try:
                values[key] = column.astype(np.float64)
            except ValueError:
                values[key] = column
    return Network(ends, nodes, values, layout)
