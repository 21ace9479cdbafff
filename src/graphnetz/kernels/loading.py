"""Mini-batches of PyTorch Geometric's ``DataLoader``, copied from graphs that were collated once.

Collating costs a batch of small graphs as much as training on it. Where a loader's graphs stay the same objects, all
of them are collated once by PyTorch Geometric itself, and a batch is a selection of blocks with the same content.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any, NamedTuple

import torch
from torch import Tensor

from graphnetz.kernels.blocks import Blocks
from graphnetz.kernels.runtime import is_enabled


def is_loader(data: Any) -> bool:
    """Whether ``data`` is a loader of PyTorch Geometric, not of a class derived from it."""
    return type(data).__name__ == "DataLoader" and type(data).__module__ == "torch_geometric.loader.dataloader"


@contextlib.contextmanager
def quick_batches(loader: Any) -> Iterator[None]:
    """Let ``loader`` copy its batches inside a ``with`` block, where its graphs allow it."""
    collate = loader.collate_fn
    graphs = _graphs(loader) if is_enabled() and type(collate).__name__ == "Collater" else None
    kept = None if graphs is None else _keep(graphs)
    if kept is None:
        yield
        return
    loader.collate_fn = _Collate(collate, kept)
    try:
        yield
    finally:
        loader.collate_fn = collate


def _graphs(loader: Any) -> list[Any] | None:
    """The graphs of a loader that reads them in this process and returns the same tensors every time."""
    from torch_geometric.data import Data, InMemoryDataset

    given, collate = loader.dataset, loader.collate_fn
    if loader.num_workers or collate.follow_batch or collate.exclude_keys or not len(given):
        return None
    if not isinstance(given, (list, tuple)) and (not isinstance(given, InMemoryDataset) or given.transform is not None):
        return None
    graphs = [given[number] for number in range(len(given))]
    if any(type(graph) is not Data for graph in graphs) or "num_nodes" in graphs[0]._store._mapping:
        return None
    return graphs


class _Kept(NamedTuple):
    """Graphs collated once: their tensors, what each is selected by, and the number of each graph."""

    graphs: dict[int, tuple[int, dict[str, Any], list[int]]]
    whole: Any
    by: dict[str, str]
    blocks: Blocks


def _versions(values: dict[str, Any]) -> list[int]:
    return [value._version for value in values.values() if isinstance(value, Tensor)]


def _keep(graphs: list[Any]) -> _Kept | None:
    from torch_geometric.data import Batch

    stored = [graph._store._mapping for graph in graphs]
    names = list(stored[0])
    if "edge_index" not in names or "x" not in names or any(list(values) != names for values in stored):
        return None
    if any(not isinstance(value, Tensor) or value.device.type != "cpu" for row in stored for value in row.values()):
        return None
    whole = Batch.from_data_list(graphs)
    nodes, edges = whole.ptr, whole._slice_dict["edge_index"]
    lengths = {"nodes": nodes, "edges": edges, "graphs": torch.arange(len(graphs) + 1)}
    by: dict[str, str] = {}
    for name in names:
        rows, slices, moved = whole[name], whole._slice_dict[name], whole._inc_dict[name]
        if name == "edge_index":
            continue
        kind = next((kind for kind in lengths if torch.equal(lengths[kind], slices)), None)
        if kind is None or type(rows) is not Tensor or rows.size(0) != int(slices[-1]) or bool(moved.any()):
            return None
        by[name] = kind
    plain = type(whole.edge_index) is Tensor and whole.edge_index.dtype == torch.int64 and int(edges[-1]) > 0
    if not plain or whole.edge_index.dim() != 2 or not torch.equal(whole._inc_dict["edge_index"], nodes[:-1]):
        return None
    blocks = Blocks(whole.edge_index - torch.repeat_interleave(nodes[:-1], edges.diff()), nodes, edges)
    known = {
        id(values["edge_index"]): (number, dict(values), _versions(values)) for number, values in enumerate(stored)
    }
    return _Kept(known, whole, by, blocks) if len(known) == len(graphs) else None


class _Collate:
    """Stands for the collater of a loader."""

    def __init__(self, plain: Any, kept: _Kept) -> None:
        self.plain, self.kept = plain, kept

    def __call__(self, graphs: list[Any]) -> Any:
        numbers = self._numbers(graphs) if is_enabled() else None
        return self.plain(graphs) if numbers is None else self._taken(torch.tensor(numbers), graphs[0])

    def _numbers(self, graphs: list[Any]) -> list[int] | None:
        """The graphs' numbers; None where one of them is not what it was when it was collated."""
        found = []
        for graph in graphs:
            store = getattr(graph, "_store", None)
            values = {} if store is None else store._mapping
            known = self.kept.graphs.get(id(values.get("edge_index")))
            if known is None or values.keys() != known[1].keys():
                return None
            number, kept, versions = known
            if any(values[name] is not kept[name] for name in kept) or _versions(values) != versions:
                return None
            found.append(number)
        return found

    def _taken(self, index: Tensor, first: Any) -> Any:
        from torch_geometric.data import Batch, Data

        kept, chosen = self.kept, self.kept.blocks.select(index)
        places = {"nodes": chosen.nodes, "edges": chosen.edges, "graphs": index}
        edge_ptr = torch.zeros(index.numel() + 1, dtype=torch.int64)
        torch.cumsum((kept.whole._slice_dict["edge_index"].diff())[index], 0, out=edge_ptr[1:])
        slices = {"nodes": chosen.ptr, "edges": edge_ptr, "graphs": torch.arange(index.numel() + 1)}
        values, cuts, moved = {}, {}, {}
        for name in first._store._mapping:
            if name == "edge_index":
                values[name], cuts[name], moved[name] = chosen.edge_index, edge_ptr, chosen.ptr[:-1]
                continue
            kind = kept.by[name]
            values[name] = kept.whole[name].index_select(0, places[kind])
            cuts[name], moved[name] = slices[kind], torch.zeros_like(index)
        out = Batch(_base_cls=Data)
        out._store._mapping.update(values | {"batch": chosen.batch, "ptr": chosen.ptr})
        vars(out).update(_num_graphs=index.numel(), _slice_dict=cuts, _inc_dict=moved)
        return out
