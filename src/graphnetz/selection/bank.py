"""The performance bank: what was measured, on which graph, with which configuration, at what cost."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from graphnetz._core.errors import DataError, UsageError
from graphnetz._core.paths import write_file
from graphnetz._core.readers import refuse_bomb
from graphnetz.graphs.compressed import Graph, as_graph
from graphnetz.selection.collection import Collection
from graphnetz.selection.landmarks import LANDMARKS, landmarks
from graphnetz.selection.metafeatures import feature_names, meta_features
from graphnetz.selection.space import Configuration

FloatArray = npt.NDArray[np.float64]

BANK_SCHEMA = 3
_READABLE = (1, 2, 3)
FEATURE_SET, COLLECTION_SET = "extended", "collection"
"""Meta-features of a graph, and of many graphs with a class each."""


@dataclass(frozen=True, eq=False)
class BankGraph:
    """A known graph, or a known collection of graphs: its meta-features and where it comes from."""

    name: str
    features: FloatArray
    nodes: int
    edges: int
    domain: str = ""
    origin: str = ""
    real: bool = False
    """Whether it was found and not made."""

    licence: str = ""
    landmarks: Mapping[str, FloatArray] = field(default_factory=dict)
    """What simple methods reach on it, by task type (`graphnetz.selection.landmarks`)."""

    splits: Mapping[str, str] = field(default_factory=dict)
    """Digest of each split by task type and number, such as ``link_pred 0``."""

    graphs: int = 1
    """Of a collection the number of its graphs, whose nodes and edges are counted together."""


def own_name(graph: Graph | Collection) -> str:
    """Return the name under which a bank files a graph of the user's own: its name and a digest of what it holds.

    Two files called ``edges.csv`` are then two graphs, and one graph under two file names differs in its name alone.

    Examples
    --------
    >>> from graphnetz.graphs import as_graph
    >>> own_name(as_graph([(0, 1), (1, 2)], name="edges")) == own_name(as_graph([(0, 1), (0, 2)], name="edges"))
    False
    """
    return f"{graph.name}-{graph.digest[:8]}"


@dataclass(frozen=True)
class PerformanceRecord:
    """One measurement of a configuration on a graph.

    Parameters
    ----------
    graph
        Name of a graph of the bank.
    configuration
        What was trained.
    task_type
        What was predicted.
    value
        The headline metric, greater is better.
    metric, metrics
        Key of the headline metric, and all metrics by key.
    seconds, memory
        Cost of the run in seconds and bytes; NaN when unknown.
    seed
        Seed of the run.

    Examples
    --------
    >>> from graphnetz.selection import Configuration, PerformanceRecord
    >>> PerformanceRecord("triangle", Configuration("Jaccard"), "link_pred", 0.9).key
    ('triangle', 'Jaccard', 'link_pred', 0)
    """

    graph: str
    configuration: Configuration
    task_type: str
    value: float
    metric: str = ""
    metrics: Mapping[str, float] = field(default_factory=dict, compare=False)
    seconds: float = float("nan")
    memory: float = float("nan")
    seed: int = 0

    @property
    def key(self) -> tuple[str, str, str, int]:
        """What makes a record unique: graph, configuration, task type, seed."""
        return self.graph, self.configuration.name, self.task_type, self.seed


@dataclass(frozen=True, eq=False)
class Matrix:
    """Mean performance and cost per graph and configuration; NaN where nothing was measured."""

    graphs: tuple[str, ...]
    configurations: tuple[Configuration, ...]
    P: FloatArray
    M: FloatArray
    seconds: FloatArray
    memory: FloatArray
    size: FloatArray
    metric: str = ""


class PerformanceBank:
    """Records and the graphs they were measured on; grows by `add` and `merge`.

    Examples
    --------
    >>> import numpy as np
    >>> from graphnetz.selection import Configuration, PerformanceBank, PerformanceRecord
    >>> bank = PerformanceBank()
    >>> _ = bank.add_graph("triangle", np.array([[0, 1, 2], [1, 2, 0]]))
    >>> bank.add(PerformanceRecord("triangle", Configuration("Jaccard"), "link_pred", 0.9))
    >>> len(bank)
    1
    """

    def __init__(self) -> None:
        self.graphs: dict[str, BankGraph] = {}
        self._records: dict[tuple[str, str, str, int], PerformanceRecord] = {}

    def __len__(self) -> int:
        return len(self._records)

    @property
    def records(self) -> tuple[PerformanceRecord, ...]:
        """All records, in order of arrival."""
        return tuple(self._records.values())

    @property
    def task_types(self) -> tuple[str, ...]:
        """Task types with at least one record."""
        return tuple(sorted({record.task_type for record in self._records.values()}))

    def add_graph(
        self,
        name: str,
        graph: Any,
        *,
        domain: str = "",
        origin: str = "",
        real: bool = False,
        task_types: Sequence[str] = (),
    ) -> BankGraph:
        """Describe a graph by its meta-features and file it.

        Parameters
        ----------
        name
            Name by which records refer to it; an earlier graph of that name is replaced.
        graph
            Anything `graphnetz.graphs.read_graph` reads, or a `graphnetz.selection.collection.Collection`.
        domain, origin
            Field it comes from, and its source.
        real
            Whether it was found and not made.
        task_types
            Tasks for which its landmarks are computed.

        Returns
        -------
        BankGraph
            Meta-features, size, domain and origin.

        Examples
        --------
        >>> import numpy as np
        >>> from graphnetz.selection import PerformanceBank
        >>> PerformanceBank().add_graph("triangle", np.array([[0, 1, 2], [1, 2, 0]])).nodes
        3
        """
        many = isinstance(graph, Collection)
        one = graph if isinstance(graph, Collection) else as_graph(graph)
        marks = {task: landmarks(one, task) for task in task_types if task in LANDMARKS}
        entry = BankGraph(
            name, meta_features(one, COLLECTION_SET if many else FEATURE_SET), one.num_nodes, one.num_edges, domain,
            origin, real=real, landmarks=marks, graphs=graph.num_graphs if many else 1,
        )  # fmt: skip
        self.graphs[name] = entry
        return entry

    def add(self, record: PerformanceRecord) -> None:
        """File a record; a second one with the same key replaces the first.

        Parameters
        ----------
        record
            A measurement on a graph that the bank knows.

        Examples
        --------
        >>> from graphnetz.selection import Configuration, PerformanceBank, PerformanceRecord
        >>> PerformanceBank().add(PerformanceRecord("unknown", Configuration("Jaccard"), "link_pred", 0.9))
        Traceback (most recent call last):
            ...
        graphnetz._core.errors.UsageError: The bank does not know the graph 'unknown'. Call add_graph first.
        """
        if record.graph not in self.graphs:
            raise UsageError(f"The bank does not know the graph {record.graph!r}. Call add_graph first.")
        self._records[record.key] = record

    def merge(self, other: PerformanceBank) -> PerformanceBank:
        """Return a bank with the graphs and records of both.

        Parameters
        ----------
        other
            Another bank; it wins where both have a record or a graph.

        Returns
        -------
        PerformanceBank
            A new bank.

        Examples
        --------
        >>> from graphnetz.selection import PerformanceBank
        >>> len(PerformanceBank().merge(PerformanceBank()))
        0
        """
        out = PerformanceBank()
        for bank in (self, other):
            out.graphs.update(bank.graphs)
            out._records.update(bank._records)
        return out

    def matrix(self, task_type: str) -> Matrix:
        """Arrange the records of one task type; seeds are averaged.

        Parameters
        ----------
        task_type
            One of ``bank.task_types``.

        Returns
        -------
        Matrix
            Performances ``P`` and cost ``[graphs, configurations]``, NaN where nothing was measured, and
            meta-features ``M``.

        Examples
        --------
        >>> import numpy as np
        >>> from graphnetz.selection import Configuration, PerformanceBank, PerformanceRecord
        >>> bank = PerformanceBank()
        >>> _ = bank.add_graph("triangle", np.array([[0, 1, 2], [1, 2, 0]]))
        >>> bank.add(PerformanceRecord("triangle", Configuration("Jaccard"), "link_pred", 0.9))
        >>> bank.matrix("link_pred").P.tolist()
        [[0.9]]
        """
        chosen = [record for record in self._records.values() if record.task_type == task_type]
        if not chosen:
            known = ", ".join(self.task_types) or "none"
            raise UsageError(f"The bank has no records for {task_type!r}. It has: {known}. Collect some first.")
        graphs = tuple(dict.fromkeys(record.graph for record in chosen))
        columns = tuple(dict.fromkeys(record.configuration for record in chosen))
        row = {name: i for i, name in enumerate(graphs)}
        column = {item: j for j, item in enumerate(columns)}
        where = np.array([(row[r.graph], column[r.configuration]) for r in chosen]).T
        tables = []
        for values in ([r.value for r in chosen], [r.seconds for r in chosen], [r.memory for r in chosen]):
            tables.append(_mean_table(where, np.asarray(values, dtype=np.float64), (len(graphs), len(columns))))
        entries = [self.graphs[name] for name in graphs]
        size = np.array([entry.nodes + entry.edges for entry in entries], dtype=np.float64)
        M = np.stack([entry.features for entry in entries])
        return Matrix(graphs, columns, tables[0], M, tables[1], tables[2], size, chosen[0].metric)

    def save(self, path: str | Path) -> None:
        """Write one compressed ``.npz`` without pickles; the file appears whole or not at all.

        Parameters
        ----------
        path
            File to write.

        Examples
        --------
        >>> import tempfile
        >>> from graphnetz.selection import PerformanceBank
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     PerformanceBank().save(f"{folder}/bank.npz")
        ...     len(PerformanceBank.load(f"{folder}/bank.npz"))
        0
        """
        records, graphs = self.records, list(self.graphs.values())
        configurations = list(dict.fromkeys(record.configuration for record in records))
        metrics = sorted({key for record in records for key in record.metrics})
        row = {graph.name: i for i, graph in enumerate(graphs)}
        column = {item: j for j, item in enumerate(configurations)}
        header = {
            "schema": BANK_SCHEMA,
            "feature_names": list(feature_names(FEATURE_SET)),
            "graphs": [
                [g.name, g.nodes, g.edges, g.domain, g.origin, g.real, g.licence, dict(g.splits), g.graphs]
                for g in graphs
            ],
            "collection_names": list(feature_names(COLLECTION_SET)),
            "landmarks": {task: list(names) for task, names in LANDMARKS.items()},
            "configurations": [item.to_json() for item in configurations],
            "metrics": metrics,
            "records": [[r.task_type, r.metric] for r in records],
        }
        buffer = io.BytesIO()
        marks = {f"landmarks_{task}": _marks(graphs, task) for task in LANDMARKS}
        np.savez_compressed(
            buffer,
            **marks,  # type: ignore[arg-type]
            header=np.frombuffer(json.dumps(header).encode(), dtype=np.uint8),
            features=_rows(graphs, FEATURE_SET),
            collections=_rows(graphs, COLLECTION_SET),
            index=np.array([[row[r.graph], column[r.configuration], r.seed] for r in records], dtype=np.int64).reshape(
                -1, 3
            ),
            values=np.array([[r.value, r.seconds, r.memory] for r in records], dtype=np.float64).reshape(-1, 3),
            metrics=np.array([[r.metrics.get(m, np.nan) for m in metrics] for r in records]).reshape(
                len(records), len(metrics)
            ),
        )
        write_file(path, buffer.getvalue())

    @classmethod
    def load(cls, path: str | Path | None = None) -> PerformanceBank:
        """Read a bank.

        Parameters
        ----------
        path
            File written by `save`; None reads the bank that ships with the package.

        Returns
        -------
        PerformanceBank
            Empty when no bank ships.

        Examples
        --------
        >>> from graphnetz.selection import PerformanceBank
        >>> PerformanceBank.load().task_types
        ('graph_cls', 'link_pred', 'node_cls')
        """
        if path is None:
            shipped = resources.files("graphnetz.selection") / "shipped" / "bank.npz"
            return _parse(shipped.read_bytes(), "shipped bank") if shipped.is_file() else cls()
        try:
            refuse_bomb(path)
            return _parse(Path(path).read_bytes(), Path(path).name)
        except OSError as error:
            raise DataError(f"Cannot read the bank {str(path)!r}: {error.strerror}. Give a saved bank.") from error


def _mean_table(where: npt.NDArray[np.int64], values: FloatArray, shape: tuple[int, int]) -> FloatArray:
    total, count = np.zeros(shape), np.zeros(shape)
    known = np.isfinite(values)
    np.add.at(total, tuple(where[:, known]), values[known])
    np.add.at(count, tuple(where[:, known]), 1.0)
    return np.where(count > 0, total / np.maximum(count, 1.0), np.nan)


def _rows(graphs: Sequence[BankGraph], feature_set: str) -> FloatArray:
    """Meta-features of the graphs, or of the collections, among the entries."""
    rows = [g.features for g in graphs if (g.graphs > 1) == (feature_set == COLLECTION_SET)]
    return np.array(rows, dtype=np.float64).reshape(len(rows), len(feature_names(feature_set)))


def _marks(graphs: Sequence[BankGraph], task_type: str) -> npt.NDArray[np.float32]:
    """One row of landmarks per graph, NaN where a graph does not serve the task."""
    missing = np.full(len(LANDMARKS[task_type]), np.nan)
    rows = [graph.landmarks.get(task_type, missing) for graph in graphs]
    return np.array(rows, dtype=np.float32).reshape(len(graphs), len(missing))


_LATER: tuple[Any, ...] = (False, "", {}, 1)
"""What the graphs of older files do not say: found or made, licence, splits, number of graphs."""


def _parse(content: bytes, name: str) -> PerformanceBank:
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as data:
            header = json.loads(data["header"].tobytes())
            arrays = {key: data[key] for key in ("features", "index", "values", "metrics")}
            marks = {task: data[f"landmarks_{task}"] for task in header.get("landmarks", {})}
            many = data["collections"] if "collections" in data else np.zeros((0, 0))
    except (ValueError, KeyError, OSError, zipfile.BadZipFile) as error:
        raise DataError(f"{name!r} is not a performance bank ({error}). Give a file written by save().") from error
    if header.get("schema") not in _READABLE:
        raise DataError(f"{name!r} has the bank schema {header.get('schema')}, this version reads {BANK_SCHEMA}.")
    if tuple(header["feature_names"]) != feature_names(FEATURE_SET):
        raise DataError(f"{name!r} was written with other meta-features. Collect it again with this version.")
    if tuple(header.get("collection_names", feature_names(COLLECTION_SET))) != feature_names(COLLECTION_SET):
        raise DataError(f"{name!r} was written with other meta-features of collections. Collect it again.")
    bank = PerformanceBank()
    single, several = iter(arrays["features"]), iter(many)
    same = {task: held for task, held in marks.items() if tuple(header["landmarks"][task]) == LANDMARKS.get(task)}
    for i, (title, nodes, edges, domain, origin, *more) in enumerate(header["graphs"]):
        real, licence, splits, count = tuple(more) + _LATER[len(more) :]
        found = {task: held[i].astype(np.float64) for task, held in same.items() if np.isfinite(held[i]).any()}
        row = next(several if int(count) > 1 else single).astype(np.float64)
        bank.graphs[title] = BankGraph(
            title,
            row,
            int(nodes),
            int(edges),
            domain,
            origin,
            bool(real),
            str(licence),
            found,
            dict(splits),
            int(count),
        )
    names = list(bank.graphs)
    configurations = [Configuration.from_json(item) for item in header["configurations"]]
    for (task_type, metric), (g, c, seed), (value, seconds, memory), extra in zip(
        header["records"], arrays["index"], arrays["values"], arrays["metrics"], strict=True
    ):
        metrics = {key: float(v) for key, v in zip(header["metrics"], extra, strict=True) if np.isfinite(v)}
        bank.add(
            PerformanceRecord(
                *(names[g], configurations[c], task_type, float(value), metric, metrics),
                *(float(seconds), float(memory), int(seed)),
            )
        )
    return bank
