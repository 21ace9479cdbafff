"""A small network of linear maps, batch norms and ReLU as one differentiable function.

On small graphs most of an epoch is spent between operations. A network inside a layer, whose parts are known, runs as
one node of torch's graph: its products are torch's own, everything else is a compiled pass over the rows.
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple, cast

import numpy as np
import torch
from torch import Tensor, nn
from torch.autograd import Function
from torch.nn import functional as F

from graphnetz.kernels import products, runtime
from graphnetz.kernels.functions import (
    Apply,
    Context,
    Gradients,
    array,
    quick,
)
from graphnetz.kernels.layers import is_linear
from graphnetz.kernels.plain import differentiable_gradients

_ops = functools.partial(runtime.ops, "numba_chain")


class Step(NamedTuple):
    """A linear map, then a batch norm, then ReLU; each may be missing."""

    linear: Any
    norm: Any
    relu: bool


def steps_of(network: Any) -> list[Step] | None:
    """The steps of ``network``, or None where it holds anything else than linear maps, batch norms and ReLU.

    Known are ``torch.nn.Sequential`` and the ``MLP`` of PyTorch Geometric, without hooks and with dropout only where
    it does nothing.
    """
    parts = _parts(network)
    if parts is None:
        return None
    steps: list[Step] = []
    last = Step(None, None, False)
    for part in parts:
        kind = type(part)
        if is_linear(part):
            steps.append(last)
            last = Step(part, None, False)
        elif kind is nn.BatchNorm1d and _plain_norm(part):
            if last.norm is not None or last.relu:
                steps.append(last)
                last = Step(None, None, False)
            last = last._replace(norm=part)
        elif kind is nn.ReLU and not _watched(part):
            last = last._replace(relu=True)
        elif not _does_nothing(part):
            return None
    return [step for step in (*steps, last) if step != (None, None, False)]


def _parts(network: Any) -> list[Any] | None:
    if _watched(network) or _replaced(network):
        return None
    if is_linear(network):
        return [network]
    if type(network) is nn.Sequential:
        return list(network)
    if type(network).__module__ != "torch_geometric.nn.models.mlp" or type(network).__name__ != "MLP":
        return None
    parts: list[Any] = []
    for number, linear in enumerate(network.lins):
        parts.append(linear)
        if number == len(network.lins) - 1 and network.plain_last:
            break
        norm, act = network.norms[number], network.act
        inner = getattr(norm, "module", norm) if type(norm).__name__ == "BatchNorm" else norm
        if _watched(norm) or (inner is not norm and getattr(norm, "allow_single_element", False)):
            return None
        both = [inner, *([] if act is None else [act])]
        parts += both[::-1] if network.act_first else both
        if network.training and network.dropout[number] > 0.0:
            return None
    return parts


def _watched(module: Any) -> bool:
    state = vars(module)
    return bool(state.get("_forward_hooks") or state.get("_forward_pre_hooks") or state.get("_backward_hooks"))


def _plain_norm(norm: Any) -> bool:
    return norm.affine and norm.momentum is not None and not _watched(norm) and not _replaced(norm)


def _replaced(module: Any) -> bool:
    # A forward that the user put there is the user's; one that `accelerate` put there computes the same.
    own = vars(module).get("forward")
    return own is not None and not getattr(own, "swaps", False)


def norm_step(norm: Any) -> Step | None:
    """The step of a batch norm that stands alone, where it is one that is known."""
    return Step(None, norm, False) if type(norm) is nn.BatchNorm1d and _plain_norm(norm) else None


def _does_nothing(part: Any) -> bool:
    if type(part).__name__ == "Identity":
        return not _watched(part)
    return type(part) is nn.Dropout and (part.p == 0.0 or not part.training) and not _watched(part)


class Norm(NamedTuple):
    """How one batch norm runs now: moments of the rows or running ones, and how far those move."""

    fixed: bool
    eps: float
    share: float
    running: Any
    spread: Any


def plain_steps(steps: list[tuple[bool, Norm | None, bool]], x: Tensor, *values: Tensor | None) -> Tensor:
    """`_Chain` in torch operations, without a change of running moments; ``values`` are weights and biases in order."""
    given = iter(values)
    for has_linear, norm, relu in steps:
        if has_linear:
            x = F.linear(x, cast(Tensor, next(given)), next(given))
        if norm is not None:
            mean, variance = map(torch.from_numpy, (norm.running, norm.spread)) if norm.fixed else (None, None)
            x = F.batch_norm(x, mean, variance, next(given), next(given), not norm.fixed, 0.0, norm.eps)
        x = x.relu() if relu else x
    return x


class _Chain(Function):
    """Inputs: what each step is made of, the rows, and for each step weight and bias of its map and of its norm."""

    @staticmethod
    def forward(ctx: Context, steps: list[tuple[bool, Any, bool]], x: Tensor, *values: Tensor | None) -> Tensor:
        given, kept = iter(values), []
        out = x.detach()
        ctx.own = own = _own_products(out, values)
        for has_linear, norm, relu in steps:
            before: Tensor = out
            state: Any = None
            if has_linear:
                weight, bias = cast(Tensor, next(given)).detach(), next(given)
                if own:
                    out = products.forward_product(out, weight, bias, relu=relu and norm is None)
                else:
                    out = out @ weight.t() if bias is None else torch.addmm(bias.detach(), out, weight.t())
            mapped = out
            if norm is not None:
                mapped = mapped.contiguous()
                out, rows = torch.empty_like(mapped), mapped.numpy()
                moments, lines = np.empty((2, rows.shape[1])), np.empty((3, rows.shape[1]), dtype=rows.dtype)
                weight, bias = cast(Tensor, next(given)), cast(Tensor, next(given))
                _ops().norm_forward(
                    rows, array(weight), array(bias), norm.eps, norm.fixed, moments[0], moments[1], norm.share,
                    norm.running, norm.spread, relu, lines, out.numpy(),
                )  # fmt: skip
                state = lines, moments[1]
            elif relu and not (own and has_linear):
                out = out.relu_() if has_linear else out.relu()
            # An alias of the output: the output itself would refer to this node, the node to it, and neither be freed.
            live = out.detach() if relu and norm is None else None
            kept.append((before, mapped if norm is not None else None, live, state))
        ctx.steps, ctx.kept = steps, kept
        ctx.save_for_backward(x, *values)
        return out

    @staticmethod
    def backward(ctx: Context, *grads: Tensor) -> Gradients:
        x, *values = ctx.saved_tensors
        if torch.is_grad_enabled():
            again = functools.partial(plain_steps, ctx.steps)
            present = [number for number, value in enumerate(values) if value is not None]

            def run(*inputs: Tensor) -> Tensor:
                filled: list[Tensor | None] = [None] * len(values)
                for number, value in zip(present, inputs[1:], strict=True):
                    filled[number] = value
                return again(inputs[0], *filled)

            needed = [ctx.needs_input_grad[1], *(ctx.needs_input_grad[2 + number] for number in present)]
            found = differentiable_gradients(run, [x, *(values[number] for number in present)], needed, grads[0])
            out: list[Tensor | None] = [None] * len(values)
            for number, value in zip(present, found[1:], strict=True):
                out[number] = value
            return None, found[0], *out
        (grad,), reverse = grads, len(values)
        gradients: list[Tensor | None] = [None] * len(values)
        for (has_linear, norm, relu), (before, mapped, out, state) in zip(
            reversed(ctx.steps), reversed(ctx.kept), strict=True
        ):
            if norm is not None:
                turned = torch.empty_like(mapped)
                g_weight, g_bias = torch.empty_like(mapped[0]), torch.empty_like(mapped[0])
                _ops().norm_backward(
                    mapped.numpy(), array(grad), state[1], norm.eps, norm.fixed, relu, state[0], turned.numpy(),
                    g_weight.numpy(), g_bias.numpy(),
                )  # fmt: skip
                grad, reverse = turned, reverse - 2
                gradients[reverse], gradients[reverse + 1] = g_weight, g_bias
            elif relu:
                grad = _relu_backward(grad, out, 0)
            if has_linear:
                reverse -= 2
                weight = values[reverse]
                if ctx.own:
                    rows, biased = array(grad), values[reverse + 1] is not None
                    gradients[reverse : reverse + 2] = products.weight_gradient(
                        rows, array(before), weight, bias=biased
                    )
                    if reverse > 0 or ctx.needs_input_grad[1]:
                        grad = products.row_gradient(rows, weight)
                    continue
                # A tall gradient is multiplied transposed, as in `narrow_linear`.
                tall = before.size(1) <= 32 and weight.size(0) > before.size(1)
                gradients[reverse] = (before.t() @ grad).t() if tall else grad.t() @ before
                if values[reverse + 1] is not None:
                    gradients[reverse + 1] = grad.sum(0)
                if reverse > 0 or ctx.needs_input_grad[1]:
                    grad = grad @ weight.detach()
        return None, grad if ctx.needs_input_grad[1] else None, *gradients


def _own_products(x: Tensor, values: tuple[Tensor | None, ...]) -> bool:
    """Whether the largest of the products is one that pays to take out of torch's hands."""
    return any(value is not None and value.dim() == 2 and products.pays(x.size(0), value) for value in values)


_relu_backward = torch.ops.aten.threshold_backward.default
_chain: Apply = quick(_Chain)


def chain(steps: list[Step], x: Tensor) -> Tensor:
    """Run ``steps`` on the rows of ``x``; running moments of batch norms are updated in training, as torch does."""
    made, values = [], []
    for linear, norm, relu in steps:
        if linear is not None:
            values += [linear.weight, linear.bias]
        if norm is not None:
            values += [norm.weight, norm.bias]
        made.append((linear is not None, None if norm is None else norm_now(norm), relu))
    return _chain(made, x, *values)


def norm_now(norm: nn.BatchNorm1d) -> Norm:
    """How the norm runs now; in training its batches are counted."""
    if norm.running_mean is None or norm.running_var is None:
        nothing = np.empty(0, dtype=array(norm.weight).dtype)
        return Norm(False, norm.eps, 0.0, nothing, nothing)
    moves = norm.training and norm.momentum is not None
    if norm.training and norm.num_batches_tracked is not None:
        norm.num_batches_tracked.add_(1)
    share = float(norm.momentum or 0.0) if moves else 0.0
    return Norm(not norm.training, norm.eps, share, norm.running_mean.numpy(), norm.running_var.numpy())


def fits(steps: list[Step], x: Any, rows: int) -> bool:
    """Whether ``x``, which the kernels may take, may run through the steps: as plain weights of its type would have it.

    A batch norm of a single row is left to torch, which refuses it.
    """
    for step in steps:
        if step.norm is not None and rows < 2:
            return False
        for part in (step.linear, step.norm):
            if part is not None:
                weight = part.weight
                if type(weight) is not nn.Parameter or weight.dtype != x.dtype or weight.device.type != "cpu":
                    return False
    return True


def run_steps(first: Step, others: list[Step], x: Tensor) -> Tensor:
    """Run what is left of a step whose linear map was applied elsewhere, and the others."""
    steps = [first, *others] if first.norm is not None or first.relu else others
    return chain(steps, x) if steps else x
