"""Sums along unsorted arcs and the fused end of a layer equal plain torch, with their gradients."""

import copy

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

import graphnetz.kernels as kernels
from graphnetz.kernels import arcs

TOLERANCE = {torch.float64: 1e-10, torch.float32: 2e-5}


def random_arcs(nodes, count, seed):
    return torch.randint(0, nodes, (2, count), generator=torch.Generator().manual_seed(seed))


def rows(nodes, width, seed, dtype=torch.float64):
    made = torch.randn(nodes, width, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    return made.to(dtype).requires_grad_()


def same(fast, plain, inputs, dtype):
    """Values and gradients of a weighted sum of all outputs agree."""
    close = {"rtol": TOLERANCE[dtype], "atol": TOLERANCE[dtype]}
    found, expected = [x if isinstance(x, tuple) else (x,) for x in (fast(), plain())]
    weights = [torch.randn(x.shape, generator=torch.Generator().manual_seed(9)).to(dtype) for x in expected]
    gradients = []
    for outputs in (found, expected):
        total = sum((x * w).sum() for x, w in zip(outputs, weights, strict=True))
        gradients.append(torch.autograd.grad(total, inputs, allow_unused=True))
    for a, b in zip((*found, *gradients[0]), (*expected, *gradients[1]), strict=True):
        assert (a is None) == (b is None)
        if a is not None:
            torch.testing.assert_close(a, b, **close)


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 9), st.integers(0, 30), st.integers(1, 7), st.booleans(), st.integers(0, 99))
def test_neighbour_sums(nodes, count, width, weighted, seed):
    edges, x = random_arcs(nodes, count, seed), rows(nodes, width, seed)
    weight = torch.rand(count, dtype=x.dtype) if weighted else None
    same(
        lambda: kernels.neighbour_sum(edges, x, weight=weight),
        lambda: arcs.plain_neighbour_sum(edges, x, weight, nodes),
        (x,), x.dtype,
    )  # fmt: skip
    same(
        lambda: kernels.row_sum(x, edges[0, :1].expand(nodes), nodes),
        lambda: torch.zeros_like(x).index_add(0, edges[0, :1].expand(nodes), x),
        (x,), x.dtype,
    ) if count else None  # fmt: skip


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 9), st.integers(0, 30), st.integers(1, 7), st.booleans(), st.integers(0, 99))
def test_sums_of_both_ends(nodes, count, width, one_row, seed):
    edges = random_arcs(nodes, count, seed)
    inputs = rows(1 if one_row else count, width, seed), rows(nodes, width, seed + 1), rows(nodes, width, seed + 2)
    same(
        lambda: kernels.ends_sum(edges, *inputs), lambda: arcs.plain_ends_sum(edges, *inputs), inputs, torch.float64
    )  # fmt: skip


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 9), st.integers(0, 30), st.integers(1, 7), st.booleans(), st.integers(0, 99))
def test_gated_means(nodes, count, width, one_row, seed):
    edges = random_arcs(nodes, count, seed)
    edge = rows(1 if one_row else count, width, seed)
    left, right, x = (rows(nodes, width, seed + i) for i in (1, 2, 3))
    inputs = (edge, left, right, x)
    same(
        lambda: kernels.gated_mean(edges, *inputs, eps=1e-6),
        lambda: arcs.plain_gated_mean(edges, *inputs, 1e-6),
        inputs, x.dtype,
    )  # fmt: skip


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize("before_rows", [None, 1, 150])
@pytest.mark.parametrize("training", [True, False])
def test_norm_relu_add_is_batch_norm(dtype, before_rows, training):
    x = rows(150, 5, 0, dtype)
    before = None if before_rows is None else rows(before_rows, 5, 1, dtype)
    norm = nn.BatchNorm1d(5).to(dtype)
    with torch.no_grad():
        norm.weight.copy_(torch.linspace(-1.5, 2, 5))
        norm.bias.copy_(torch.linspace(-1, 1, 5))
        norm(torch.randn(40, 5, dtype=dtype) * 3 + 1)
    norm.train(training)
    twin = copy.deepcopy(norm)
    for _ in range(2):  # running moments carry over
        fast = kernels.norm_relu_add(x, before, norm)
        plain = torch.relu(twin(x)) if before is None else before + torch.relu(twin(x))
        torch.testing.assert_close(fast, plain, rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype])
    torch.testing.assert_close(norm.state_dict(), twin.state_dict(), rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype])
    weight = torch.randn(150, 5, generator=torch.Generator().manual_seed(4)).to(dtype)
    inputs = [x, *([] if before is None else [before])]
    found = torch.autograd.grad((fast * weight).sum(), [*inputs, norm.weight, norm.bias])
    expected = torch.autograd.grad((plain * weight).sum(), [*inputs, twin.weight, twin.bias])
    for a, b in zip(found, expected, strict=True):
        torch.testing.assert_close(a, b, rtol=20 * TOLERANCE[dtype], atol=20 * TOLERANCE[dtype])


def test_second_derivatives_go_the_plain_way():
    edges = random_arcs(4, 9, 0)
    x, edge = rows(4, 2, 1), rows(9, 2, 2)
    norm = nn.BatchNorm1d(2).double()

    def value(x, edge):
        mixed, gate = kernels.gated_mean(edges, edge, x, 2 * x, x, eps=1e-6)
        out = kernels.norm_relu_add(kernels.neighbour_sum(edges, mixed) + 3.0, mixed, norm)
        return out.square().sum() + gate.square().sum()

    assert torch.autograd.gradgradcheck(value, (x, edge), atol=1e-4)


def test_nan_is_not_hidden():
    x = torch.tensor([[1.0], [float("nan")], [2.0]])
    assert torch.isnan(kernels.norm_relu_add(x, None, nn.BatchNorm1d(1))).all()
    edges = torch.tensor([[1], [0]])
    assert np.isnan(kernels.neighbour_sum(edges, x)[0, 0])


def test_switched_off_means_plain_torch():
    edges, x = random_arcs(4, 9, 0), rows(4, 2, 1, torch.float32)
    with kernels.enabled(False):
        assert kernels.neighbour_sum(edges, x).grad_fn.name().startswith("IndexAdd")
    assert "NeighbourSum" in kernels.neighbour_sum(edges, x).grad_fn.name()
