"""Pooling modules of PyTorch Geometric over graphs whose nodes lie one graph after the other."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch_geometric.nn import MaxAggregation, MeanAggregation, SumAggregation

from graphnetz.kernels.blocks import pool
from graphnetz.kernels.runtime import usable
from graphnetz.kernels.structure import TensorCache

AGGREGATIONS: dict[type, Any] = {SumAggregation: "sum", MeanAggregation: "mean", MaxAggregation: "max"}
"""Pooling modules, and what the kernels call them."""

_POINTERS = TensorCache()


def pooled_rows(
    how: Any, x: Any = None, index: Any = None, ptr: Any = None, dim_size: int | None = None, dim: int = -2
) -> Tensor | None:
    """One row per graph, or None where the module itself must run."""
    if ptr is not None or dim not in (-2, 0) or not usable(x) or x.dim() != 2 or type(index) is not Tensor:
        return None
    if index.device.type != "cpu" or index.dtype != torch.int64 or index.dim() != 1 or index.numel() != x.size(0):
        return None
    slot = _POINTERS.slot(index)
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
