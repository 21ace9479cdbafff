"""The kernels' mathematics in plain torch operations.

They differentiate any number of times, so a backward pass that must itself be differentiated goes
through them, and the tests compare the kernels with them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor
from torch.nn import functional as F

from graphnetz.kernels.structure import Structure


def spmm(structure: Structure, weight: Tensor, x: Tensor) -> Tensor:
    """Weighted sum of the neighbours."""
    src, dst = structure.coo
    return x.new_zeros(structure.num_dst, x.size(1)).index_add(0, dst, weight.view(-1, 1) * x[src])


def max_aggregate(structure: Structure, x: Tensor) -> Tensor:
    """Largest neighbour per channel; zero for a destination without one."""
    src, dst = structure.coo
    index = dst.view(-1, 1).expand(-1, x.size(1))
    return x.new_zeros(structure.num_dst, x.size(1)).scatter_reduce(0, index, x[src], "amax", include_self=False)


def pair_scores(z: Tensor, pairs: Tensor) -> Tensor:
    """Dot products of node pairs."""
    return (z[pairs[0]] * z[pairs[1]]).sum(-1)


def edge_softmax(structure: Structure, scores: Tensor) -> Tensor:
    """Softmax of arc scores ``[arcs, heads]`` over the arcs of each destination."""
    _, dst = structure.coo
    index = dst.view(-1, 1).expand_as(scores)
    size = (structure.num_dst, scores.size(1))
    top = scores.detach().new_zeros(size).scatter_reduce(0, index, scores.detach(), "amax", include_self=False)
    powers = (scores - top[dst]).exp()
    return powers / (powers.new_zeros(size).index_add(0, dst, powers) + 1e-16)[dst]


def _attend(structure: Structure, scores: Tensor, x: Tensor, mask: Tensor | None) -> Tensor:
    src, dst = structure.coo
    alpha = edge_softmax(structure, scores)
    alpha = alpha if mask is None else alpha * mask
    return x.new_zeros(structure.num_dst, *x.shape[1:]).index_add(0, dst, alpha.unsqueeze(-1) * x[src])


def gat_attention(
    structure: Structure,
    x: Tensor,
    att_src: Tensor,
    att_dst: Tensor,
    arcs: Tensor | None = None,
    *,
    slope: float,
    mask: Tensor | None,
) -> Tensor:
    """Additive attention (Velickovic et al., 2018) over transformed nodes ``[nodes, heads, channels]``."""
    src, dst = structure.coo
    scores = (x * att_src).sum(-1)[src] + (x[: structure.num_dst] * att_dst).sum(-1)[dst]
    scores = scores if arcs is None else scores + arcs
    return _attend(structure, F.leaky_relu(scores, slope), x, mask)


def dot_attention(
    structure: Structure, query: Tensor, key: Tensor, value: Tensor, *, scale: float, mask: Tensor | None
) -> Tensor:
    """Scaled dot-product attention along the arcs."""
    src, dst = structure.coo
    return _attend(structure, (query[dst] * key[src]).sum(-1) * scale, value, mask)


def edged_dot_attention(
    structure: Structure,
    edges: Tensor,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    asked: Tensor,
    *,
    scale: float,
    mask: Tensor | None,
) -> tuple[Tensor, Tensor]:
    """Dot-product attention whose scores know the arcs: mixed values and mixed edge attributes."""
    src, dst = structure.coo
    scores = (query[dst] * key[src]).sum(-1) + (asked[dst] * edges).sum(-1)
    alpha = edge_softmax(structure, scores * scale)
    alpha = (alpha if mask is None else alpha * mask).unsqueeze(-1)
    rows = ((value, value[src]), (asked, edges))
    out, mixed = (x.new_zeros(structure.num_dst, *x.shape[1:]).index_add(0, dst, alpha * y) for x, y in rows)
    return out, mixed


def differentiable_gradients(
    function: Callable[..., Tensor | tuple[Tensor, ...]],
    inputs: Sequence[Tensor],
    needed: Sequence[bool],
    grad: Tensor | tuple[Tensor, ...],
) -> list[Tensor | None]:
    """Gradients of ``function(*inputs)`` that can be differentiated again.

    Views stand in for the inputs: when one input was computed from another, its gradient must not
    take in the path through the other.
    """
    with torch.enable_grad():
        views = [tensor.view_as(tensor) for tensor in inputs]
        out = function(*views)
        wanted = [view for view, need in zip(views, needed, strict=True) if need]
        found = iter(torch.autograd.grad(out, wanted, grad, create_graph=True))
    return [next(found) if need else None for need in needed]
