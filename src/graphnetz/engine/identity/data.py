"""What a dataset holds, as a hash: names, types, shapes and bytes of everything in it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from graphnetz._core.errors import DataError
from graphnetz.graphs.folder import GraphFolder
from graphnetz.records import Replication

_PARTS_OF_A_SPLIT = ("train_", "val_", "valid_", "test_")


def fingerprint(dataset: Any) -> str:
    """Return a hash of a graph, a list of graphs, a dataset, a tensor or a nest of them.

    Equal content gives equal fingerprints in any process. Where a dataset transforms its graphs on
    access, the transform takes part.
    """
    state = hashlib.blake2b(digest_size=20)
    _add(state, dataset)
    return state.hexdigest()


def seed_effect(first: Any, second: Any) -> Replication | None:
    """What a seed varies, judged by the data that a loader returned for two seeds.

    Parameters
    ----------
    first, second
        The data of two seeds.

    Returns
    -------
    str or None
        ``resplit`` where only masks, split lists or the order of graphs differ, ``regenerate`` where the
        graphs do, ``unknown`` where that cannot be told (a split by edges changes the graph, too), None where
        the data is the same.

    Examples
    --------
    >>> import torch
    >>> from torch_geometric.data import Data
    >>> edges, y = torch.tensor([[0, 1], [1, 0]]), torch.arange(4)
    >>> one, other = (Data(x=y[:, None], edge_index=edges, y=y, train_mask=y < n) for n in (2, 3))
    >>> seed_effect(one, other)
    'resplit'
    """
    from graphnetz.tasktypes.graphs import as_graphs  # needs torch, which listing results does not

    try:
        if fingerprint(first) == fingerprint(second):
            return None
        graphs = [[graph.to_dict() for graph in as_graphs(data, "Comparing two seeds")] for data in (first, second)]
        content = [sorted(fingerprint(_without_split(graph)) for graph in item) for item in graphs]
    except DataError:
        return "unknown"
    if content[0] == content[1]:
        return "resplit"
    by_edges = any(key.startswith(_PARTS_OF_A_SPLIT) and "edge" in key for key in graphs[0][0])
    return "unknown" if by_edges else "regenerate"


def _without_split(graph: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in graph.items() if not key.startswith(_PARTS_OF_A_SPLIT)}


def _add(state: Any, value: Any) -> None:
    for part in _parts(value):
        raw = part.encode() if isinstance(part, str) else part
        state.update(len(raw).to_bytes(8, "little"))
        state.update(raw)


def _parts(value: Any) -> Iterator[Any]:
    if value is None or isinstance(value, (bool, int, float, complex, str, bytes, np.generic)):
        yield from (type(value).__name__, repr(value))
    elif isinstance(value, np.ndarray):
        yield from _array(value)
    elif isinstance(value, GraphFolder):  # its header holds the digests of every block
        yield from ("graph folder", value.digest)
    elif hasattr(value, "layout") and hasattr(value, "detach"):
        yield from _tensor(value)
    elif isinstance(value, Mapping):
        yield f"mapping {len(value)}"
        for key in sorted(value, key=repr):
            yield from (repr(key), *_parts(value[key]))
    elif hasattr(value, "to_dict") and hasattr(value, "stores"):  # Data, HeteroData, Batch
        yield type(value).__name__
        yield from _parts(value.to_dict())
    elif hasattr(value, "_data") and hasattr(value, "slices"):  # InMemoryDataset
        yield from _in_memory(value)
    elif isinstance(value, Sequence) or (hasattr(value, "__len__") and hasattr(value, "__getitem__")):
        yield f"sequence {len(value)}"
        for index in range(len(value)):
            yield from _parts(value[index])
        yield from _extras(value)
    elif isinstance(value, (set, frozenset)):
        yield from ("set", *sorted(fingerprint(item) for item in value))
    elif hasattr(value, "coo"):  # torch_sparse.SparseTensor
        yield from ("sparse", *_parts(list(value.coo())))
    elif hasattr(value, "__dict__"):
        yield type(value).__qualname__
        yield from _parts(vars(value))
    else:
        raise DataError(f"A dataset holds a {type(value).__name__}, which has no stable bytes. Use tensors or arrays.")


def _array(value: np.ndarray[Any, Any]) -> Iterator[Any]:
    if value.dtype.hasobject:
        yield f"objects {value.shape}"
        for item in value.ravel().tolist():
            yield from _parts(item)
        return
    yield from (f"array {value.dtype.str} {value.shape}", np.ascontiguousarray(value).tobytes())


def _tensor(value: Any) -> Iterator[Any]:
    import torch

    plain = value.detach().cpu()
    if plain.layout is not torch.strided:
        coo = plain.to_sparse_coo().coalesce()
        yield f"sparse {tuple(plain.shape)}"
        yield from (*_tensor(coo.indices()), *_tensor(coo.values()))
        return
    yield f"tensor {plain.dtype} {tuple(plain.shape)}"
    flat = plain.resolve_conj().resolve_neg().contiguous().reshape(-1)
    yield flat.view(torch.uint8).numpy().tobytes() if flat.numel() else b""


def _in_memory(value: Any) -> Iterator[Any]:
    yield "dataset"
    yield from _parts(value._data)
    yield from _parts(value.slices)
    yield from _parts(list(value.indices()))
    transform = getattr(value, "transform", None)
    if transform is not None:
        from graphnetz.engine.identity.code import code_hash

        described = code_hash(transform)
        if isinstance(described, str):
            yield described
        else:
            for index in range(len(value)):
                yield from _parts(value[index])
    if getattr(value, "splits", None) is not None:
        yield from ("splits", *_parts(value.splits))


def _extras(value: Any) -> Iterator[Any]:
    """Attributes of a list that carries more than its items, such as fixed splits."""
    if not isinstance(value, (str, bytes)) and getattr(value, "__dict__", None) and isinstance(value, Sequence):
        yield from _parts({key: item for key, item in vars(value).items() if not key.startswith("_")})
