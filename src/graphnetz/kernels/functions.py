"""The kernels as differentiable functions.

A backward pass with ``create_graph=True`` runs through `graphnetz.kernels.plain`, so second
derivatives are right, only slower. Callers ask `graphnetz.kernels.usable` first.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.autograd import Function

from graphnetz.kernels import plain
from graphnetz.kernels.runtime import ops
from graphnetz.kernels.structure import Kind, LoopedStructure, Structure

Context = Any
Gradients = tuple[Tensor | None, ...]
Apply = Callable[..., Tensor]
BLOCK_ARCS = 1 << 16
"""Arcs whose weights exist at a time in sums over a large structure: they stay in the cache."""


def array(tensor: Tensor) -> Any:
    """Return the tensor's memory as a contiguous NumPy array."""
    return tensor.detach().contiguous().numpy()


class _Untracked:
    """Stands for the context where no gradient is asked for: nothing is kept."""

    __slots__ = ()
    needs_input_grad = (False,) * 16

    def __setattr__(self, name: str, value: Any) -> None:
        pass

    def save_for_backward(self, *tensors: Tensor | None) -> None:
        """Keep nothing."""

    def set_materialize_grads(self, value: bool) -> None:
        """There is no backward pass to prepare."""


_UNTRACKED = _Untracked()


def quick(function: type[Function]) -> Callable[..., Any]:
    """``function.apply`` with less around it, which small graphs feel; callers have asked `usable` first.

    Torch looks for transforms, which `usable` excludes, and makes a node of the graph even where no gradient is asked
    for; this makes none then.
    """
    apply = super(Function, function).apply  # type: ignore[misc]
    forward: Any = function.forward

    def call(*args: Any) -> Any:
        if torch.is_grad_enabled():
            for value in args:
                if isinstance(value, Tensor) and value.requires_grad:
                    return apply(*args)
        return forward(_UNTRACKED, *args)

    return call


@functools.lru_cache(256)
def _zero_row(shape: tuple[int, ...], dtype: torch.dtype) -> Any:
    return torch.zeros((1, *shape), dtype=dtype).numpy()


def base_rows(base: Tensor | None, like: Tensor) -> Any:
    """Return what the output starts from: zeros, one row for all, or one row each."""
    if base is None:
        return _zero_row(tuple(like.shape[1:]), like.dtype)
    return array(base).reshape(-1, *like.shape[1:])


def base_gradient(base: Tensor | None, grad: Tensor) -> Tensor | None:
    """Gradient of ``base``; a single row takes part in every output."""
    if base is None:
        return None
    found = grad if base.numel() == grad.numel() else grad.sum(0)
    return found if found.shape == base.shape else found.reshape(base.shape)


class _Spmm(Function):
    @staticmethod
    def forward(
        ctx: Context, structure: Structure, weight: Tensor, transposed: Tensor | None, x: Tensor, base: Tensor | None
    ) -> Tensor:
        ctx.structure, ctx.transposed, ctx.has_base = structure, transposed, base is not None
        ctx.save_for_backward(weight, x, base)
        out = x.new_empty(structure.num_dst, x.size(1))
        start = base_rows(base, x)
        ops().aggregate(structure.indptr, structure.indices, array(weight), array(x), start, out.numpy())
        return out

    @staticmethod
    def backward(ctx: Context, *grads: Tensor) -> Gradients:
        (grad,) = grads
        s: Structure = ctx.structure
        weight, x, base = ctx.saved_tensors
        needs = ctx.needs_input_grad
        g_base = base_gradient(base, grad) if needs[4] else None
        if torch.is_grad_enabled():
            g_weight, g_x = plain.differentiable_gradients(
                lambda w, v: plain.spmm(s, w, v), (weight, x), (needs[1], needs[3]), grad
            )
            return None, g_weight, None, g_x, g_base
        g_weight = g_x = None
        dense = array(grad)
        if needs[1]:
            g_weight = torch.empty(weight.shape, dtype=weight.dtype)
            ends, one = (dense[:, None], array(x)[:, None]), dense.dtype.type(1)
            ops().sddmm(s.indptr, s.indices, *ends, one, g_weight.numpy()[:, None])
        if needs[3]:
            indptr, indices, position = s.transpose
            turned = array(weight)[position] if ctx.transposed is None else array(ctx.transposed)
            g_x = torch.empty(x.shape, dtype=x.dtype)
            ops().aggregate(indptr, indices, turned, dense, base_rows(None, grad), g_x.numpy())
        return None, g_weight, None, g_x, g_base


class _Max(Function):
    @staticmethod
    def forward(ctx: Context, structure: Structure, x: Tensor) -> Tensor:
        out = x.new_empty(structure.num_dst, x.size(1))
        ties = np.empty(out.shape, dtype=structure.indices.dtype)
        ops().segment_max(structure.indptr, structure.indices, array(x), out.numpy(), ties)
        ctx.structure, ctx.ties = structure, ties
        ctx.save_for_backward(x, out)
        return out

    @staticmethod
    def backward(ctx: Context, *grads: Tensor) -> Gradients:
        (grad,) = grads
        s: Structure = ctx.structure
        x, out = ctx.saved_tensors
        if torch.is_grad_enabled():
            return None, *plain.differentiable_gradients(lambda v: plain.max_aggregate(s, v), (x,), (True,), grad)
        g_x = torch.zeros(x.shape, dtype=x.dtype)
        ops().segment_max_backward(s.indptr, s.indices, array(x), array(out), ctx.ties, array(grad), g_x.numpy())
        return None, g_x


class _Pairs(Function):
    @staticmethod
    def forward(ctx: Context, z: Tensor, pairs: Tensor) -> Tensor:
        ctx.save_for_backward(z, pairs)
        out = z.new_empty(pairs.size(1))
        ops().pair_dots(array(pairs), array(z), out.numpy())
        return out

    @staticmethod
    def backward(ctx: Context, *grads: Tensor) -> Gradients:
        (grad,) = grads
        z, pairs = ctx.saved_tensors
        if torch.is_grad_enabled():
            return *plain.differentiable_gradients(lambda v: plain.pair_scores(v, pairs), (z,), (True,), grad), None
        g_z = torch.zeros(z.shape, dtype=z.dtype)
        ops().pair_dots_backward(array(pairs), array(z), array(grad), g_z.numpy())
        return g_z, None


_spmm: Apply = quick(_Spmm)
_max: Apply = quick(_Max)
_pairs: Apply = quick(_Pairs)


def spmm(
    structure: Structure,
    weight: Tensor | None,
    x: Tensor,
    *,
    base: Tensor | None = None,
    turned: Tensor | None = None,
) -> Tensor:
    """Weighted sum of the neighbours of each destination, added to ``base``.

    Parameters
    ----------
    structure
        The arcs.
    weight
        One weight per arc in CSR order (``edge_weight[structure.order_tensor]``), or None for 1.
        It may require a gradient.
    x
        Source features ``[sources, channels]``.
    base
        What the sums start from: a bias ``[channels]`` or one row per destination.
    turned
        The weights in the order of the transpose, where the caller keeps them.
    """
    if weight is None:
        return sum_aggregate(structure, x, base=base)
    return _spmm(structure, weight, turned, x, base)


class _BlockSums(Function):
    """`_Spmm` on a large structure, with the same bits: weights are made for a block of rows and used at once."""

    @staticmethod
    def forward(ctx: Context, structure: Structure, kind: Kind, x: Tensor, base: Tensor | None) -> Tensor:
        ctx.structure, ctx.kind = structure, kind
        ctx.save_for_backward(x, base)
        out = x.new_empty(structure.num_dst, x.size(1))
        block_sums(structure, kind, array(x), base_rows(base, x), out.numpy())
        return out

    @staticmethod
    def backward(ctx: Context, *grads: Tensor) -> Gradients:
        (grad,), s = grads, ctx.structure
        x, base = ctx.saved_tensors
        g_base = base_gradient(base, grad) if ctx.needs_input_grad[3] else None
        if not ctx.needs_input_grad[2]:
            return None, None, None, g_base
        if torch.is_grad_enabled():
            weight = s.weights(ctx.kind, x.dtype)[0]
            (g_x,) = plain.differentiable_gradients(lambda v: plain.spmm(s, weight, v), (x,), (True,), grad)
            return None, None, g_x, g_base
        g_x = torch.empty(x.shape, dtype=x.dtype)
        block_sums(s, ctx.kind, array(grad), base_rows(None, grad), g_x.numpy(), turned=True)
        return None, None, g_x, g_base


_block_sums: Apply = quick(_BlockSums)


def block_sums(structure: Structure, kind: Kind, x: Any, base: Any, out: Any, *, turned: bool = False) -> None:
    """Write weighted sums along the arcs, or against them, for some thousand rows at a time.

    Parameters
    ----------
    structure, kind
        A large structure and what its arcs weigh.
    x, base
        Rows that are summed, and what the sums start from (one row, or one each).
    out
        One row per destination; per source where ``turned``.
    turned
        Sum over the opposite arcs.
    """
    bare, loop = (structure.bare, 1 + turned) if isinstance(structure, LoopedStructure) else (structure, 0)
    left, right = structure.factors(kind)[:: -1 if turned else 1]
    indptr, indices = bare.turned if turned else (bare.indptr, bare.indices)
    start, nodes = 0, indptr.size - 1
    while start < nodes:
        stop = int(np.searchsorted(indptr, indptr[start] + BLOCK_ARCS, side="right")) - 1
        stop = min(max(stop, start + 1), start + BLOCK_ARCS, nodes)
        rows, most = np.arange(start, stop), int(indptr[stop] - indptr[start]) + stop - start
        own, ends, weight = np.empty(rows.size + 1, np.int32), np.empty(most, indices.dtype), np.empty(most, x.dtype)
        size = ops("folder_ops").weighed_block(indptr, indices, left, right, rows, loop, own, ends, weight)
        from_rows = base if base.shape[0] == 1 else base[start:stop]
        ops().aggregate(own, ends[:size], weight[:size], x, from_rows, out[start:stop])
        start = stop


def _weighted(structure: Structure, kind: Kind, x: Tensor, base: Tensor | None) -> Tensor:
    if structure.is_large:
        return _block_sums(structure, kind, x, base)
    return _spmm(structure, *structure.weights(kind, x.dtype), x, base)


def sum_aggregate(structure: Structure, x: Tensor, *, base: Tensor | None = None) -> Tensor:
    """Sum of the neighbours, added to ``base``."""
    return _weighted(structure, "sum", x, base)


def mean_aggregate(structure: Structure, x: Tensor, *, base: Tensor | None = None) -> Tensor:
    """Mean of the neighbours (zero for a destination without one), added to ``base``."""
    return _weighted(structure, "mean", x, base)


def gcn_aggregate(structure: Structure, x: Tensor, *, base: Tensor | None = None) -> Tensor:
    """Sum of the neighbours with symmetric normalisation; the structure holds its self-loops."""
    return _weighted(structure, "gcn", x, base)


def max_aggregate(structure: Structure, x: Tensor) -> Tensor:
    """Largest neighbour per channel; zero for a destination without one."""
    return _max(structure, x)


def pair_scores(z: Tensor, pairs: Tensor) -> Tensor:
    """Dot products ``<z[u], z[v]>`` of node pairs ``[2, pairs]``, the usual decoder of links."""
    return _pairs(z, pairs)
