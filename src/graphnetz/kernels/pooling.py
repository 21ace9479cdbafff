"""Pooling modules of PyTorch Geometric over graphs whose nodes lie one graph after the other."""

from __future__ import annotations

import contextlib
import importlib
import threading
from collections.abc import Iterator
from typing import Any, cast

import torch
from torch import Tensor
from torch_geometric.nn import MaxAggregation, MeanAggregation, SumAggregation

from graphnetz.kernels.blocks import POINTERS, pool
from graphnetz.kernels.runtime import usable

AGGREGATIONS: dict[type, Any] = {SumAggregation: "sum", MeanAggregation: "mean", MaxAggregation: "max"}
"""Pooling modules, and what the kernels call them."""

_PLACES: tuple[Any, ...] = tuple(
    importlib.import_module(f"torch_geometric.nn.{name}")
    for name in ("pool.glob", "norm.graph_norm", "norm.layer_norm", "norm.instance_norm")
)
"""Where functions and norms that a model calls itself look up their sum over the nodes of each graph."""
_scatter = _PLACES[0].scatter
_here = threading.local()
_lock = threading.Lock()
_blocks = 0


@contextlib.contextmanager
def pooled_functions() -> Iterator[None]:
    """Let ``global_mean_pool`` and its like, and norms per graph, run in the kernels in this thread.

    PyTorch Geometric's own function is back in its place when the last block ends, in whatever thread.
    """
    global _blocks
    with _lock:
        _blocks += 1
        for place in _PLACES:
            place.scatter = _summed
    _here.depth = (getattr(_here, "depth", None) or 0) + 1
    try:
        yield
    finally:
        _here.depth -= 1
        with _lock:
            _blocks -= 1
            for place in _PLACES if _blocks == 0 else ():
                place.scatter = _scatter


def _summed(src: Any, index: Any, dim: int = 0, dim_size: int | None = None, reduce: str = "sum") -> Tensor:
    if torch.compiler.is_compiling():
        return cast(Tensor, _scatter(src, index, dim, dim_size, reduce))
    how = _HOW.get(reduce)
    if how is not None and bool(getattr(_here, "depth", None)) and isinstance(src, Tensor):
        found = pooled_rows(how, src, index, None, dim_size, dim)
        if found is not None:
            return found
    return cast(Tensor, _scatter(src, index, dim, dim_size, reduce))


_HOW: dict[str, Any] = {"sum": "sum", "add": "sum", "mean": "mean", "max": "max"}


def pooled_rows(
    how: Any, x: Any = None, index: Any = None, ptr: Any = None, dim_size: int | None = None, dim: int = -2
) -> Tensor | None:
    """One row per graph, or None where the module itself must run."""
    if ptr is not None or dim not in (-2, 0) or not usable(x) or x.dim() != 2 or type(index) is not Tensor:
        return None
    if index.device.type != "cpu" or index.dtype != torch.int64 or index.dim() != 1 or index.numel() != x.size(0):
        return None
    slot = POINTERS.slot(index)
    if dim_size not in slot:
        slot[dim_size] = _pointers(index, dim_size)
    return None if slot[dim_size] is None else pool(x, slot[dim_size], how)


def _pointers(index: Tensor, size: int | None) -> Tensor | None:
    """Where each graph begins; None for rows that are not sorted by graph or name one outside."""
    if index.numel() and (int(index[0]) < 0 or not bool((index[1:] >= index[:-1]).all())):
        return None
    graphs = (int(index[-1]) + 1 if index.numel() else 0) if size is None else size
    if index.numel() and int(index[-1]) >= graphs:
        return None
    ptr = torch.zeros(graphs + 1, dtype=torch.int64)
    torch.cumsum(torch.bincount(index, minlength=graphs), 0, out=ptr[1:])
    return ptr
