"""Products of many rows with a small matrix, by the compiled tile where it is faster than torch's library."""

from __future__ import annotations

import functools
import importlib
from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function
from torch.nn import functional as F

from graphnetz.kernels import runtime
from graphnetz.kernels.functions import Apply, Context, Gradients, array, base_gradient, base_rows, quick
from graphnetz.kernels.plain import differentiable_gradients

LEAST = 1 << 20
"""Multiplications from which on a product of its own gains more than one more Python function costs."""
MOST = 1 << 23
"""Multiplications up to which one thread is not slower than several of torch's."""

_ops = functools.partial(runtime.ops, "numba_products")


@functools.cache
def wide_registers() -> bool:
    """Whether numba compiles for registers of 512 bits, for which the tile is made."""
    config: Any = importlib.import_module("numba").config
    if config.DISABLE_JIT:
        return False
    if config.CPU_NAME or config.CPU_FEATURES:  # another processor than this one was asked for
        return "+avx512f" in str(config.CPU_FEATURES)
    binding: Any = importlib.import_module("llvmlite.binding")
    return bool(binding.get_host_cpu_features().get("avx512f"))


def pays(rows: int, weight: Tensor, *, spared: int = 1) -> bool:
    """Whether the product of that many rows with ``weight`` is faster here than in torch.

    A function that spares several calls besides pays for products smaller by ``spared``.
    """
    work = rows * weight.numel()
    return work * spared >= LEAST and wide_registers() and (work <= MOST or torch.get_num_threads() == 1)


def forward_product(x: Tensor, weight: Tensor, base: Tensor | None, *, relu: bool = False) -> Tensor:
    """``base + x @ weight.T``, then ReLU if asked, without a gradient."""
    out = torch.empty((x.size(0), weight.size(0)), dtype=x.dtype)
    _ops().linear(array(x), array(weight), base_rows(base, out), relu, out.numpy())
    return out


def row_gradient(grad: Any, weight: Tensor) -> Tensor:
    """``grad @ weight``."""
    out = torch.empty((grad.shape[0], weight.size(1)), dtype=weight.dtype)
    _ops().linear_rows(grad, array(weight), out.numpy())
    return out


def weight_gradient(grad: Any, x: Any, like: Tensor, *, bias: bool) -> tuple[Tensor, Tensor | None]:
    """``grad.T @ x`` and, if asked, the sum of the rows of ``grad``."""
    if not bias and x.shape[1] < 16 <= grad.shape[1]:  # a tall gradient is multiplied transposed
        turned = torch.empty((x.shape[1], grad.shape[1]), dtype=like.dtype)
        _ops().linear_weight(x, grad, turned.numpy(), nothing(like.dtype))
        return turned.t(), None
    out = torch.empty((grad.shape[1], x.shape[1]), dtype=like.dtype)
    sums = torch.empty(grad.shape[1], dtype=like.dtype) if bias else None
    _ops().linear_weight(grad, x, out.numpy(), nothing(like.dtype) if sums is None else sums.numpy())
    return out, sums


@functools.cache
def nothing(dtype: torch.dtype) -> Any:
    """An empty array: what is not wanted."""
    return torch.empty(0, dtype=dtype).numpy()


def _plain(x: Tensor, weight: Tensor, base: Tensor | None = None) -> Tensor:
    if base is None or base.dim() == 1:
        return F.linear(x, weight, base)
    return torch.addmm(base, x, weight.t())


class _Linear(Function):
    @staticmethod
    def forward(ctx: Context, x: Tensor, weight: Tensor, base: Tensor | None) -> Tensor:
        ctx.save_for_backward(x, weight, base)
        return forward_product(x, weight, base)

    @staticmethod
    def backward(ctx: Context, *grads: Tensor) -> Gradients:
        x, weight, base = ctx.saved_tensors
        needs = ctx.needs_input_grad
        if torch.is_grad_enabled():
            given = (x, weight) if base is None else (x, weight, base)
            found = differentiable_gradients(_plain, given, needs[: len(given)], grads[0])
            return *found, *([None] if base is None else [])
        rows, g_x, g_weight, g_base = array(grads[0]), None, None, None
        single = needs[2] and base.dim() == 1
        if needs[1]:
            g_weight, g_base = weight_gradient(rows, array(x), x, bias=single)
        elif single:
            g_base = grads[0].sum(0)
        if needs[2] and not single:
            g_base = base_gradient(base, grads[0])
        if needs[0]:
            g_x = row_gradient(rows, weight)
        return g_x, g_weight, g_base


own_linear: Apply = quick(_Linear)


def linear(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """``torch.nn.functional.linear`` of a matrix that the kernels may take; ``bias`` may hold one row per row."""
    if x.dim() == 2 and x.size(1) == weight.size(1) and pays(x.size(0), weight):
        return own_linear(x, weight, bias)
    return _plain(x, weight, bias)
