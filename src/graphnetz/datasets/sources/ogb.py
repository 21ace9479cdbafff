"""The Open Graph Benchmark (Hu et al., 2020), read from its raw files.

The facts of each dataset come from the installed ``ogb`` package (the extra); its own loaders are
not used, because they ask questions at the terminal and unpickle without limits.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch_geometric.data import Data
from torch_geometric.utils import scatter, to_undirected

from graphnetz._core.archive import unpack
from graphnetz._core.download import fetch
from graphnetz._core.errors import DataError, MissingExtraError, unknown_name
from graphnetz._core.optional import pip_install
from graphnetz._core.readers import open_binary
from graphnetz._core.unpickle import read_torch
from graphnetz.datasets.sources.base import Built, GraphDataset, cached, mask_of, rule_for

_FILES = {"train": "train", "val": "valid", "test": "test"}
FAMILIES: Mapping[str, str] = {"ogbn": "nodeproppred", "ogbg": "graphproppred", "ogbl": "linkproppred"}


def ogb_dataset(root: str | Path, name: str, *, mirror: str | Path | None = None) -> GraphDataset:
    """Load an OGB node, graph or link dataset such as ``"ogbn-arxiv"`` with its official split."""
    facts = ogb_facts(name)
    family = FAMILIES[name[:4]]

    def build(raw: Path) -> Built:
        archive = fetch(
            str(facts["url"]).replace("http://", "https://"),
            raw / f"{facts['download_name']}.zip",
            mirror=mirror,
            names=(f"OGB/{family}/{facts['download_name']}.zip",),
        )
        folder = unpack(archive, raw / str(facts["download_name"]))
        inner = [path for path in folder.iterdir() if (path / "raw").is_dir()]
        if not inner and not (folder / "raw").is_dir():
            raise DataError(f"{archive.name!r} has no 'raw' folder; it is not an OGB dataset.")
        return _READERS[family](inner[0] if inner else folder, facts)

    return cached(root, name, build)


def ogb_facts(name: str) -> dict[str, Any]:
    """Return what the ``ogb`` package states about a dataset, without importing the package."""
    spec = importlib.util.find_spec("ogb")
    if spec is None or not spec.submodule_search_locations:
        raise MissingExtraError(f"{name} requires the 'ogb' extra: {pip_install('ogb')}.")
    import pandas as pd

    if name[:4] not in FAMILIES:
        raise unknown_name("OGB family", name[:4], FAMILIES)
    path = Path(next(iter(spec.submodule_search_locations))) / FAMILIES[name[:4]] / "master.csv"
    master = pd.read_csv(path, index_col=0, keep_default_na=False)
    if name not in master:
        raise unknown_name("OGB dataset", name, map(str, master.columns))
    facts = {str(key): str(value) for key, value in master[name].items()}
    if facts.get("is hetero") == "True" or facts.get("binary") == "True":
        raise DataError(f"{name!r} is a heterogeneous or binary OGB dataset, which this source does not read.")
    return facts


def _node(folder: Path, facts: Mapping[str, Any]) -> Built:
    (data,) = _graphs(folder / "raw", facts)
    label = _table(folder / "raw" / "node-label.csv.gz")
    data.y = torch.from_numpy(label).reshape(-1) if label.shape[1] == 1 else torch.from_numpy(label).float()
    nodes = int(data.num_nodes or 0)
    if data.x is None and data.edge_attr is not None:  # ogbn-proteins: the mean of a node's edges, as its authors do
        data.x = scatter(data.edge_attr.float(), data.edge_index[1], dim_size=nodes, reduce="mean")
    for part, index in _splits(folder, facts).items():
        data[f"{part}_mask"] = mask_of(index, nodes)
    if facts["add_inverse_edge"] != "True":  # arXiv: citations are followed both ways, as is customary
        data.edge_index = to_undirected(data.edge_index, num_nodes=nodes)
    return Built([data])


def _graph(folder: Path, facts: Mapping[str, Any]) -> Built:
    graphs = _graphs(folder / "raw", facts)
    labels = _table(folder / "raw" / "graph-label.csv.gz")
    if len(labels) != len(graphs):
        raise DataError(f"{len(labels)} labels for {len(graphs)} graphs; the files do not belong together.")
    classes = "classification" in facts["task type"] and not np.isnan(labels).any()
    for graph, label in zip(graphs, labels, strict=True):
        y = torch.from_numpy(np.atleast_1d(label))
        single = len(y) == 1
        graph.y = (y.long() if classes and single else y.float()).reshape(
            -1 if single else 1, *(() if single else (len(y),))
        )
    return Built(graphs, splits=_splits(folder, facts))


def _link(folder: Path, facts: Mapping[str, Any]) -> Built:
    if facts["task type"] == "KG completion":
        return _triples(folder, facts)
    (data,) = _graphs(folder / "raw", facts)
    path = folder / "split" / facts["split"]
    held = {part: read_torch(path / f"{file}.pt") for part, file in _FILES.items()}
    try:
        for part in _FILES:
            data[f"{part}_pos_edge_index"] = _true_pairs(held[part])
        for part in ("val", "test"):
            data[f"{part}_neg_edge_index"] = _false_pairs(held[part])
    except (KeyError, TypeError) as error:
        raise DataError(f"The split files in {path.name!r} lack {error}; they are not an OGB link split.") from error
    if (
        facts["add_inverse_edge"] != "True"
    ):  # messages follow citations both ways; what is predicted keeps its direction
        data.edge_index = to_undirected(data.edge_index, num_nodes=data.num_nodes)
    if data.x is None:
        data.feature_rule = rule_for(int(data.num_nodes or 0))
    return Built([data], info={"negatives": "supplied"})


def _triples(folder: Path, facts: Mapping[str, Any]) -> Built:
    """A knowledge graph whose held-out triples come with the heads and tails that each is ranked among."""
    path = folder / "split" / facts["split"]
    data = Data(num_nodes=int(_table(folder / "raw" / "num-node-list.csv.gz").sum()))
    try:
        for part, file in _FILES.items():
            held = {
                key: torch.as_tensor(np.asarray(rows)).long() for key, rows in read_torch(path / f"{file}.pt").items()
            }
            data[f"{file}_edge_index"], data[f"{file}_edge_type"] = (
                torch.stack([held["head"], held["tail"]]),
                held["relation"],
            )
            if part != "train":
                data[f"{part}_head_neg"], data[f"{part}_tail_neg"] = held["head_neg"], held["tail_neg"]
    except (KeyError, TypeError, AttributeError) as error:
        raise DataError(f"The split files in {path.name!r} lack {error}; they are not triples of OGB.") from error
    data.num_relations = 1 + max(int(data[f"{file}_edge_type"].max()) for file in _FILES.values())
    forward, kinds = data.train_edge_index, data.train_edge_type
    data.edge_index = torch.cat([forward, forward.flip(0)], dim=1)
    data.edge_type = torch.cat([kinds, kinds + data.num_relations])
    data.feature_rule = "degree"
    return Built([data], info={"negatives": "supplied", "relations": data.num_relations})


_READERS = {"nodeproppred": _node, "graphproppred": _graph, "linkproppred": _link}


def _graphs(raw: Path, facts: Mapping[str, Any]) -> list[Data]:
    edges = _table(raw / "edge.csv.gz").T
    nodes = _table(raw / "num-node-list.csv.gz").reshape(-1)
    counts = _table(raw / "num-edge-list.csv.gz").reshape(-1)
    x = _table(raw / "node-feat.csv.gz") if (raw / "node-feat.csv.gz").is_file() else None
    attr = _table(raw / "edge-feat.csv.gz") if (raw / "edge-feat.csv.gz").is_file() else None
    if counts.sum() != edges.shape[1] or (x is not None and nodes.sum() != len(x)):
        raise DataError("The raw OGB files disagree about the number of nodes or edges; they do not belong together.")
    starts, bounds = np.cumsum([0, *nodes]), np.cumsum([0, *counts])
    graphs = []
    for i in range(len(nodes)):
        edge = edges[:, bounds[i] : bounds[i + 1]]
        if edge.size and (edge.min() < 0 or edge.max() >= nodes[i]):
            raise DataError(f"Graph {i} names a node outside 0..{nodes[i] - 1}.")
        both = facts["add_inverse_edge"] == "True"
        if both:  # each edge is followed by its inverse, as the OGB loaders order them
            edge = np.stack([edge, edge[::-1]], axis=2).reshape(2, -1)
        graph = Data(edge_index=torch.from_numpy(np.ascontiguousarray(edge, dtype=np.int64)))
        if x is None:
            graph.num_nodes = int(nodes[i])
        else:
            graph.x = torch.from_numpy(x[starts[i] : starts[i + 1]])
        if attr is not None:
            rows = attr[bounds[i] : bounds[i + 1]]
            graph.edge_attr = torch.from_numpy(np.repeat(rows, 2, axis=0) if both else rows)
        graphs.append(graph)
    return graphs


def _table(path: Path) -> np.ndarray:
    """Read a headerless number table: whole numbers stay whole, the rest is single precision."""
    import pandas as pd

    if not path.is_file():
        raise DataError(f"The OGB archive lacks {path.name!r}.")
    try:
        with open_binary(path) as stream:
            values = pd.read_csv(stream, header=None).to_numpy()
    except (ValueError, OSError, EOFError) as error:
        raise DataError(f"{path.name!r} is not a table of numbers ({error}).") from error
    if values.dtype.kind not in "iuf":
        raise DataError(f"{path.name!r} is not a table of numbers.")
    return np.ascontiguousarray(values.astype(np.int64 if values.dtype.kind in "iu" else np.float32))


def _splits(folder: Path, facts: Mapping[str, Any]) -> dict[str, np.ndarray]:
    where = folder / "split" / str(facts["split"])
    return {part: _table(where / f"{file}.csv.gz").reshape(-1) for part, file in _FILES.items()}


def _true_pairs(held: Mapping[str, Any]) -> torch.Tensor:
    """Pairs ``[2, pair]``, listed as pairs or, in ogbl-citation2, as sources and targets."""
    if "source_node" not in held:
        return _columns(held["edge"])
    return torch.stack([torch.as_tensor(np.asarray(held[end])).long() for end in ("source_node", "target_node")])


def _false_pairs(held: Mapping[str, Any]) -> torch.Tensor:
    """Negatives of all pairs ``[2, negative]``, or the other targets of each source ``[2, pair, candidate]``."""
    if "source_node" not in held:
        return _columns(held["edge_neg"])
    targets = torch.as_tensor(np.asarray(held["target_node_neg"])).long()
    sources = torch.as_tensor(np.asarray(held["source_node"])).long()
    return torch.stack([sources[:, None].expand_as(targets), targets])


def _columns(pairs: Any) -> torch.Tensor:
    return torch.as_tensor(np.asarray(pairs), dtype=torch.long).t().contiguous()
