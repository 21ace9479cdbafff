"""Graph isomorphism layers: the sum of a node and its neighbours, and the network on it.

The usual network (linear, norm, ReLU, linear, perhaps ReLU) runs with the sum as one function, forward and backward.
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple, cast

import numpy as np
import torch
from torch import Tensor
from torch.autograd import Function

from graphnetz.kernels import products, runtime
from graphnetz.kernels.chain import Norm, Step, chain, fits, norm_now, plain_steps, run_steps, steps_of
from graphnetz.kernels.features import Features, SparseFeatures, linear_map
from graphnetz.kernels.functions import (
    Apply,
    Context,
    Gradients,
    array,
    base_gradient,
    base_rows,
    quick,
    sum_aggregate,
)
from graphnetz.kernels.layers import dense_rows, first_rows, propagated_features
from graphnetz.kernels.plain import differentiable_gradients, spmm
from graphnetz.kernels.structure import Structure

_ops = functools.partial(runtime.ops, "numba_chain")


class _OwnSum(Function):
    """``base + own * x[i]`` and the sum of the neighbours of ``i``."""

    @staticmethod
    def forward(ctx: Context, structure: Structure, x: Tensor, eps: Tensor, base: Tensor | None) -> Tensor:
        rows = array(x)
        own = rows.dtype.type(1.0 + float(eps))
        ctx.structure, ctx.own = structure, own
        ctx.save_for_backward(x, eps, base)
        out = x.new_empty(structure.num_dst, x.size(1))
        _ops().own_sum(structure.indptr, structure.indices, own, rows, base_rows(base, x), out.numpy())
        return out

    @staticmethod
    def backward(ctx: Context, *grads: Tensor) -> Gradients:
        (grad,) = grads
        s: Structure = ctx.structure
        x, eps, base = ctx.saved_tensors
        needs = ctx.needs_input_grad
        g_base = base_gradient(base, grad) if needs[3] else None
        if torch.is_grad_enabled():

            def again(v: Tensor, e: Tensor) -> Tensor:
                return (1 + e) * v + spmm(s, v.new_ones(s.num_arcs), v)

            g_x, g_eps = differentiable_gradients(again, (x, eps), (needs[1], needs[2]), grad)
            return None, g_x, g_eps, g_base
        g_x = g_eps = None
        dense = array(grad)
        if needs[2]:
            g_eps = torch.dot(grad.reshape(-1), x.detach().reshape(-1)).reshape(eps.shape)
        if needs[1]:
            indptr, indices, _ = s.transpose
            g_x = torch.empty(x.shape, dtype=x.dtype)
            _ops().own_sum(indptr, indices, ctx.own, dense, base_rows(None, grad), g_x.numpy())
        return None, g_x, g_eps, g_base


own_sum: Apply = quick(_OwnSum)


class _Made(NamedTuple):
    """What a layer is made of besides its tensors."""

    structure: Structure
    norm: Norm | None
    relu: bool
    last_relu: bool

    def again(self, x: Tensor, eps: Tensor, *values: Tensor) -> Tensor:
        """The layer in torch operations."""
        mixed = (1 + eps) * x + spmm(self.structure, x.new_ones(self.structure.num_arcs), x)
        steps = [(True, self.norm, self.relu), (True, None, self.last_relu)]
        return plain_steps(steps, mixed, *values)


class _Layer(Function):
    """Inputs: the parts, rows, eps, weight and bias of the first map, of the norm (if there is one), of the last."""

    @staticmethod
    def forward(ctx: Context, made: _Made, x: Tensor, eps: Tensor, *values: Tensor) -> Tensor:
        s, norm = made.structure, made.norm
        first, first_bias, *scales, second, second_bias = map(array, values)
        rows, nothing = array(x), products.nothing(x.dtype)
        own = rows.dtype.type(1.0 + float(eps))
        wide = len(first)
        mixed, hidden = np.empty_like(rows), np.empty((len(rows), wide), dtype=rows.dtype)
        mapped = hidden if norm is None else np.empty_like(hidden)
        moments, state = np.empty((2, wide)), np.empty((3, wide), dtype=rows.dtype)
        scale, offset = scales or (nothing, nothing)
        now = norm or Norm(True, 0.0, 0.0, nothing, nothing)
        out = torch.empty((len(rows), len(second)), dtype=x.dtype)
        runtime.ops("numba_gin").layer_forward(
            s.indptr, s.indices, own, rows, first, first_bias[None], norm is not None, scale, offset, now.eps,
            now.fixed, moments, now.share, now.running, now.spread, state, made.relu, second, second_bias[None],
            made.last_relu, base_rows(None, x), mixed, mapped, hidden, out.numpy(),
        )  # fmt: skip
        # An alias of the output: the output itself would refer to this node, the node to it, and neither be freed.
        ctx.made, ctx.kept = made, (own, now, moments, state, mixed, mapped, hidden, out.detach().numpy())
        ctx.save_for_backward(x, eps, *values)
        return out

    @staticmethod
    def backward(ctx: Context, *grads: Tensor) -> Gradients:
        made: _Made = ctx.made
        x, eps, *values = ctx.saved_tensors
        if torch.is_grad_enabled():
            return None, *differentiable_gradients(made.again, (x, eps, *values), ctx.needs_input_grad[1:], grads[0])
        own, now, moments, state, *kept = ctx.kept
        indptr, indices, _ = made.structure.transpose
        found = [torch.empty(value.shape, dtype=x.dtype) for value in values]
        nothing = products.nothing(x.dtype)
        g_x = torch.empty(x.shape, dtype=x.dtype) if ctx.needs_input_grad[1] else None
        g_eps = torch.empty(1, dtype=x.dtype) if ctx.needs_input_grad[2] else None
        g_first, g_first_bias, *scales, g_second, g_second_bias = (part.numpy() for part in found)
        runtime.ops("numba_gin").layer_backward(
            indptr, indices, own, array(x), array(values[0]), made.norm is not None, now.eps, now.fixed, moments, state,
            made.relu, array(values[-2]), made.last_relu, base_rows(None, x), *kept, array(grads[0]),
            nothing.reshape(0, 0) if g_x is None else g_x.numpy(), nothing if g_eps is None else g_eps.numpy(),
            g_first, g_first_bias, *(scales or (nothing, nothing)), g_second, g_second_bias,
        )  # fmt: skip
        return None, g_x, None if g_eps is None else g_eps.reshape(eps.shape), *found


_layer: Apply = quick(_Layer)


def _fusable(steps: list[Step], rows: int) -> bool:
    """Whether the network is the usual one, and large enough for products of its own."""
    if len(steps) != 2 or steps[1].norm is not None:
        return False
    first, second = steps[0].linear, steps[1].linear
    biased = first is not None and second is not None and first.bias is not None and second.bias is not None
    return biased and products.pays(rows, second.weight, spared=16)


def whole_layer(steps: list[Step], x: Tensor, structure: Structure, eps: Tensor) -> Tensor:
    """Sum and network of two linear maps as one function."""
    (first, norm, relu), (second, _, last_relu) = steps
    scales = () if norm is None else (norm.weight, norm.bias)
    made = _Made(structure, None if norm is None else norm_now(norm), relu, last_relu)
    return _layer(made, x, eps, first.weight, first.bias, *scales, second.weight, second.bias)


def gin_conv(conv: Any, x: Features, structure: Structure, *, constant: bool = False) -> Tensor:
    """Return what a GINConv returns (Xu et al., 2019)."""
    steps = steps_of(conv.nn)
    whole = structure.num_dst == structure.num_src
    if not steps or not fits(steps, x, structure.num_dst):
        steps = None
    if steps and whole and steps[0].linear is not None and _first(x, steps[0].linear, constant):
        # The sum is linear: products come first where they make the rows narrower or meet mostly zeros.
        linear = steps[0].linear
        mixed = own_sum(structure, linear_map(x, linear.weight), conv.eps, linear.bias)
        return run_steps(steps[0]._replace(linear=None), steps[1:], mixed)
    dense = dense_rows(x)
    if constant and not dense.requires_grad:
        own = (1 + conv.eps) * cast(Tensor, first_rows(dense, structure))
        mixed = propagated_features(structure, dense, kind="sum") + own
    elif whole:
        if steps and _fusable(steps, dense.size(0)):
            return whole_layer(steps, dense, structure, conv.eps)
        mixed = own_sum(structure, dense, conv.eps, None)
    else:
        mixed = sum_aggregate(structure, dense, base=(1 + conv.eps) * cast(Tensor, first_rows(dense, structure)))
    return cast(Tensor, conv.nn(mixed)) if steps is None else chain(steps, mixed)


def _first(x: Features, linear: Any, constant: bool) -> bool:
    wide, out = linear.weight.shape[1], linear.weight.shape[0]
    if isinstance(x, SparseFeatures):
        return True
    return out < wide and not (constant and not x.requires_grad and wide < 4 * out)
