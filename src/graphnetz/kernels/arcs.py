"""Sums along unsorted arcs and the end of a layer, as differentiable functions of whole batches.

The functions take the fast way where `graphnetz.kernels.usable` allows it and plain torch otherwise; both give
the same numbers to rounding. A backward pass that must itself be differentiated runs through the plain way.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor, nn
from torch.autograd import Function

from graphnetz.kernels import runtime
from graphnetz.kernels.functions import Apply, array, quick
from graphnetz.kernels.plain import differentiable_gradients

Context = Any
Gradients = tuple[Tensor | None, ...]


_ops = functools.partial(runtime.ops, "numba_arcs")


def _ends(edge_index: Tensor) -> tuple[Any, Any]:
    return array(edge_index[0]), array(edge_index[1])


def plain_neighbour_sum(edge_index: Tensor, x: Tensor, weight: Tensor | None, size: int) -> Tensor:
    """`neighbour_sum` in torch operations."""
    messages = x[edge_index[0]] if weight is None else x[edge_index[0]] * weight.unsqueeze(1)
    return x.new_zeros(size, x.size(1)).index_add_(0, edge_index[1], messages)


class _NeighbourSum(Function):
    @staticmethod
    def forward(ctx: Context, edge_index: Tensor, x: Tensor, weight: Tensor | None, size: int) -> Tensor:
        ctx.size = size
        ctx.save_for_backward(edge_index, x, weight)
        return _summed(*_ends(edge_index), weight, x, size)

    @staticmethod
    def backward(ctx: Context, *grads: Tensor) -> Gradients:
        edge_index, x, weight = ctx.saved_tensors
        if torch.is_grad_enabled():
            again = functools.partial(plain_neighbour_sum, edge_index, weight=weight, size=ctx.size)
            return None, *differentiable_gradients(again, (x,), (True,), grads[0]), None, None
        source, target = _ends(edge_index)
        return None, _summed(target, source, weight, grads[0], x.size(0)), None, None


_apply_neighbours: Apply = quick(_NeighbourSum)


def _summed(source: Any, target: Any, weight: Tensor | None, x: Tensor, size: int) -> Tensor:
    out = x.new_zeros(size, x.size(1))
    rows = array(x)
    weights = np.empty(0, dtype=rows.dtype) if weight is None else array(weight)
    _ops().add_neighbours(source, target, weights, rows, out.numpy())
    return out


def neighbour_sum(edge_index: Tensor, x: Tensor, *, weight: Tensor | None = None, size: int | None = None) -> Tensor:
    """Sum of ``weight[e] * x[source]`` over the arcs into each of ``size`` targets (default: as many as rows).

    ``weight`` is a constant: no gradient flows into it.
    """
    wide = x.size(0) if size is None else size
    if runtime.usable(x) and edge_index.device.type == "cpu" and (weight is None or weight.dtype == x.dtype):
        return _apply_neighbours(edge_index, x, weight, wide)
    return plain_neighbour_sum(edge_index, x, weight, wide)


class _RowSum(Function):
    @staticmethod
    def forward(ctx: Context, values: Tensor, index: Tensor, size: int) -> Tensor:
        ctx.save_for_backward(index)
        out = values.new_zeros(size, values.size(1))
        _ops().add_rows(array(index), array(values), out.numpy())
        return out

    @staticmethod
    def backward(ctx: Context, *grads: Tensor) -> Gradients:
        (index,) = ctx.saved_tensors
        return grads[0][index], None, None


_apply_rows: Apply = quick(_RowSum)


def row_sum(values: Tensor, index: Tensor, size: int) -> Tensor:
    """Sum the rows that share an index into ``size`` rows."""
    if values.dim() == 2 and runtime.usable(values) and index.device.type == "cpu":
        return _apply_rows(values, index, size)
    return values.new_zeros(size, *values.shape[1:]).index_add_(0, index, values)


class _TakeRows(Function):
    @staticmethod
    def forward(ctx: Context, x: Tensor, index: Tensor) -> Tensor:
        ctx.size = x.size(0)
        ctx.save_for_backward(index)
        return x.index_select(0, index)

    @staticmethod
    def backward(ctx: Context, *grads: Tensor) -> Gradients:
        return row_sum(grads[0], ctx.saved_tensors[0], ctx.size), None


_apply_take: Apply = quick(_TakeRows)


def take_rows(x: Tensor, index: Tensor) -> Tensor:
    """``x[index]``, with the sums of the backward pass done by a kernel."""
    return _apply_take(x, index)


def plain_ends_sum(edge_index: Tensor, edge: Tensor, left: Tensor, right: Tensor) -> Tensor:
    """`ends_sum` in torch operations."""
    return edge + left[edge_index[0]] + right[edge_index[1]]


class _EndsSum(Function):
    @staticmethod
    def forward(ctx: Context, edge_index: Tensor, edge: Tensor, left: Tensor, right: Tensor) -> Tensor:
        ctx.sizes, ctx.one_row = (left.size(0), right.size(0)), edge.size(0) == 1
        ctx.save_for_backward(edge_index)
        out = left.new_empty(edge_index.size(1), left.size(1))
        _ops().gates(*_ends(edge_index), array(edge), array(left), array(right), out.numpy())
        return out

    @staticmethod
    def backward(ctx: Context, *grads: Tensor) -> Gradients:
        (edge_index,), (grad,) = ctx.saved_tensors, grads
        ends = (row_sum(grad, index, size) for index, size in zip(edge_index, ctx.sizes, strict=True))
        return None, grad.sum(0, keepdim=True) if ctx.one_row else grad, *ends


_apply_ends: Apply = quick(_EndsSum)


def ends_sum(edge_index: Tensor, edge: Tensor, left: Tensor, right: Tensor) -> Tensor:
    """``edge + left[source] + right[target]`` per arc; ``edge`` has one row per arc, or one for all."""
    if runtime.usable(left) and edge_index.device.type == "cpu":
        return _apply_ends(edge_index, edge, left, right)
    return plain_ends_sum(edge_index, edge, left, right)


def plain_gated_mean(
    edge_index: Tensor, edge: Tensor, left: Tensor, right: Tensor, x: Tensor, eps: float
) -> tuple[Tensor, Tensor]:
    """`gated_mean` in torch operations."""
    source, target = edge_index
    gate = edge + left[source] + right[target]
    sigma = torch.sigmoid(gate)
    weighed = torch.zeros_like(x).index_add_(0, target, sigma * x[source])
    return weighed / (torch.zeros_like(x).index_add_(0, target, sigma) + eps), gate


class _GatedMean(Function):
    @staticmethod
    def forward(
        ctx: Context, edge_index: Tensor, edge: Tensor, left: Tensor, right: Tensor, x: Tensor, eps: float
    ) -> tuple[Tensor, Tensor]:
        source, target = _ends(edge_index)
        gate = x.new_empty(source.size, x.size(1))
        _ops().gates(source, target, array(edge), array(left), array(right), gate.numpy())
        sigma = torch.sigmoid(gate)
        weighed, weights = torch.zeros_like(x), torch.zeros_like(x)
        _ops().gated_sums(source, target, array(sigma), array(x), weighed.numpy(), weights.numpy())
        weights += eps
        mixed = weighed.div_(weights)
        ctx.eps = eps
        ctx.save_for_backward(edge_index, edge, left, right, x, sigma, mixed, weights)
        ctx.set_materialize_grads(False)
        return mixed, gate

    @staticmethod
    def backward(ctx: Context, *grads: Tensor | None) -> Gradients:
        edge_index, edge, left, right, x, sigma, mixed, weights = ctx.saved_tensors
        grad, grad_gate = grads
        grad = torch.zeros_like(mixed) if grad is None else grad
        if torch.is_grad_enabled():
            gate_too = torch.zeros_like(sigma) if grad_gate is None else grad_gate
            again = functools.partial(plain_gated_mean, edge_index, eps=ctx.eps)
            inputs, needed = (edge, left, right, x), ctx.needs_input_grad[1:5]
            return None, *differentiable_gradients(again, inputs, needed, (grad, gate_too)), None
        source, target = _ends(edge_index)
        g_weighed = grad / weights
        g_weights = -g_weighed * mixed
        g_gate = (
            torch.zeros_like(sigma) if grad_gate is None else grad_gate.clone(memory_format=torch.contiguous_format)
        )
        g_x, g_left, g_right = torch.zeros_like(x), torch.zeros_like(x), torch.zeros_like(x)
        _ops().gated_backward(
            source, target, array(sigma), array(x), array(g_weighed), array(g_weights), g_gate.numpy(),
            g_x.numpy(), g_left.numpy(), g_right.numpy(),
        )  # fmt: skip
        g_edge = g_gate if edge.shape == g_gate.shape else g_right.sum(0, keepdim=True)
        return None, g_edge, g_left, g_right, g_x, None


_apply_gates: Callable[..., tuple[Tensor, Tensor]] = quick(_GatedMean)


def gated_mean(
    edge_index: Tensor, edge: Tensor, left: Tensor, right: Tensor, x: Tensor, *, eps: float
) -> tuple[Tensor, Tensor]:
    """Mean of ``x[source]`` weighed by sigmoid gates, and the gates before the sigmoid.

    Parameters
    ----------
    edge_index
        Arcs [2, arcs].
    edge, left, right
        The gate of an arc is ``edge + left[source] + right[target]``; ``edge`` has one row per arc, or one for all.
    x
        What is averaged, one row per node.
    eps
        Added to the sum of gates.
    """
    if runtime.usable(x) and edge_index.device.type == "cpu":
        return _apply_gates(edge_index, edge, left, right, x, eps)
    return plain_gated_mean(edge_index, edge, left, right, x, eps)


class _NormReluAdd(Function):
    @staticmethod
    def forward(
        ctx: Context, x: Tensor, before: Tensor | None, weight: Tensor, bias: Tensor, mean: Any, var: Any, norm: Any
    ) -> Tensor:
        inverse = 1.0 / np.sqrt(var + norm.eps)
        rows = array(x)
        scale = (array(weight) * inverse).astype(rows.dtype)
        offset = (array(bias) - mean * array(weight) * inverse).astype(rows.dtype)
        ctx.norm, ctx.kept = norm, (scale, offset, mean, inverse)
        ctx.batch_moments = norm.training or norm.running_mean is None
        ctx.save_for_backward(x, before, weight, bias)
        out = x.new_empty(x.shape)
        base = np.empty((0, x.size(1)), dtype=rows.dtype) if before is None else array(before)
        _ops().scaled_relu_add(rows, base, scale, offset, out.numpy())
        return out

    @staticmethod
    def backward(ctx: Context, *grads: Tensor) -> Gradients:
        (grad,) = grads
        x, before, weight, bias = ctx.saved_tensors
        scale, offset, mean, inverse = ctx.kept
        if torch.is_grad_enabled():
            inputs = (x, weight, bias) if before is None else (x, weight, bias, before)
            needed = [ctx.needs_input_grad[i] for i in ((0, 2, 3) if before is None else (0, 2, 3, 1))]
            again = functools.partial(_plain_again, ctx.norm, ctx.batch_moments)
            g_x, g_weight, g_bias, *rest = differentiable_gradients(again, inputs, needed, grad)
            return g_x, (rest[0] if rest else None), g_weight, g_bias, None, None, None
        rows, centre, dense = array(x), mean.astype(scale.dtype), array(grad)
        plain, along = np.empty(rows.shape[1]), np.empty(rows.shape[1])
        _ops().norm_sums(rows, scale, offset, centre, dense, plain, along)
        g_weight, g_bias = torch.from_numpy(along * inverse).to(x.dtype), torch.from_numpy(plain.copy()).to(x.dtype)
        share = 1.0 / len(rows) if ctx.batch_moments else 0.0
        g_x = torch.empty_like(x, memory_format=torch.contiguous_format)
        level, slope = (plain * share).astype(rows.dtype), (along * inverse**2 * share).astype(rows.dtype)
        _ops().norm_backward(rows, scale, offset, centre, dense, level, slope, g_x.numpy())
        g_before = None if before is None else grad if before.shape == grad.shape else grad.sum(0, keepdim=True)
        return g_x, g_before, g_weight, g_bias, None, None, None


_apply_norm: Apply = quick(_NormReluAdd)


def _plain_again(
    norm: Any, batch_moments: bool, x: Tensor, weight: Tensor, bias: Tensor, before: Tensor | None = None
) -> Tensor:
    mean, variance = (None, None) if batch_moments else (norm.running_mean, norm.running_var)
    out = torch.relu(nn.functional.batch_norm(x, mean, variance, weight, bias, batch_moments, 0.0, norm.eps))
    return out if before is None else before + out


def norm_relu_add(x: Tensor, before: Tensor | None, norm: nn.BatchNorm1d) -> Tensor:
    """``before + relu(norm(x))`` in two passes over the rows; ``before`` has one row each, one for all, or is None."""
    plain_norm = type(norm) is nn.BatchNorm1d and norm.affine and norm.momentum is not None
    watched = norm._forward_hooks or norm._forward_pre_hooks
    if not plain_norm or watched or not runtime.usable(x) or x.size(0) < 2 or norm.weight.dtype != x.dtype:
        out = torch.relu(norm(x))
        return out if before is None else before + out
    if norm.training or norm.running_mean is None:
        mean, variance = np.empty(x.size(1)), np.empty(x.size(1))
        _ops().moments(array(x), mean, variance)
        _track(norm, mean, variance, x.size(0))
    else:
        running = norm.running_mean, cast(Tensor, norm.running_var)
        mean, variance = (array(value).astype(np.float64) for value in running)
    return _apply_norm(x, before, norm.weight, norm.bias, mean, variance, norm)


def _track(norm: nn.BatchNorm1d, mean: Any, variance: Any, rows: int) -> None:
    """Update running moments as torch does: variance with n - 1."""
    if norm.running_mean is None or norm.running_var is None or not norm.training:
        return
    with torch.no_grad():
        share = float(norm.momentum or 0.0)
        unbiased = variance * (rows / (rows - 1))
        norm.running_mean.lerp_(torch.from_numpy(mean).to(norm.running_mean), share)
        norm.running_var.lerp_(torch.from_numpy(unbiased).to(norm.running_var), share)
        if norm.num_batches_tracked is not None:
            norm.num_batches_tracked += 1
