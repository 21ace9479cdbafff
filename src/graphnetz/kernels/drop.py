"""Dropout that is fast on the CPU: one number of torch's stream seeds a counter-based generator."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import torch
from torch import Tensor
from torch.autograd import Function
from torch.nn import functional as F

from graphnetz._core.errors import UsageError
from graphnetz.kernels.functions import Apply, quick
from graphnetz.kernels.runtime import ops, usable, uses_torch_stream
from graphnetz.kernels.structure import Structure


class _Drop:
    """One draw: probability, seed, and the numbers that the kernels take."""

    def __init__(self, p: float, dtype: torch.dtype) -> None:
        number = np.float32 if dtype == torch.float32 else np.float64
        self.scale: Any = number(1.0 / (1.0 - p)) if p < 1.0 else number(0)
        self.keep = np.uint64(round((1.0 - p) * 2**32))
        self.seed = np.uint64(int(torch.randint(2**63 - 1, ())))

    def __call__(self, x: Tensor) -> Tensor:
        out = torch.empty(x.shape, dtype=x.dtype)
        ops().dropout(x.detach().contiguous().view(-1).numpy(), self.seed, self.keep, self.scale, out.view(-1).numpy())
        return out


class _Dropout(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, drop: _Drop) -> Tensor:
        ctx.drop = drop
        return drop(x)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        return _dropout(grads[0], ctx.drop), None


_dropout: Apply = quick(_Dropout)


def dropout(x: Any, p: float, *, training: bool = True) -> Any:
    """Dropout, about thirty times faster than torch's on the CPU and a function of torch's seed.

    Sparse features lose stored values only. Where the kernels may not run, and inside
    `torch_dropout_stream`, it is ``torch.nn.functional.dropout``.
    """
    if not 0.0 <= p <= 1.0:
        raise UsageError(f"The dropout probability is {p}; allowed is 0 to 1. Pass such a number.")
    if not isinstance(x, Tensor):
        return x.dropout(p, training=training)
    if not training or p == 0.0:
        return x
    if uses_torch_stream() or not usable(x):
        return F.dropout(x, p)
    return _dropout(x, _Drop(p, x.dtype))


def attention_mask(structure: Structure, heads: int, p: float, *, like: Tensor) -> Tensor:
    """Dropout mask of the attention ``[arcs, heads]`` in CSR order: 0 or ``1 / (1 - p)``."""
    ones = torch.ones(structure.num_arcs, heads, dtype=like.dtype)
    if uses_torch_stream():  # drawn in the order of the edge index, as the plain layer does
        return F.dropout(ones, p)[structure.order_tensor]
    return cast(Tensor, dropout(ones, p))
