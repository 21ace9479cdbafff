"""Products by the compiled tile: what torch's library gives, for every shape, and bits that rows do not share."""

from __future__ import annotations

import numba
import numpy as np
import pytest
import torch
from kernel_graphs import features, gradients
from torch.nn import functional as F
from torch_geometric.nn import Linear

from graphnetz import kernels as gk
from graphnetz.kernels import products, runtime

pytestmark = pytest.mark.skipif(not products.wide_registers(), reason="no registers of 512 bits")
SHAPES = [
    (1, 1, 1),
    (5, 3, 64),
    (6, 64, 7),
    (13, 16, 16),
    (29, 65, 33),
    (40, 300, 24),
    (131, 8, 129),
    (7, 0, 3),
    (0, 4, 5),
]
EXACT = {"atol": 1e-9, "rtol": 1e-9}


@pytest.mark.parametrize("relu", [False, True])
@pytest.mark.parametrize("each", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
def test_forward_products_are_numpys(shape, each, relu):
    rows, depth, width = shape
    x, weight = features(rows, depth, 0), features(width, depth, 1)
    base = features(rows, width, 2) if each else features(1, width, 2)[0]
    want = x.numpy() @ weight.numpy().T + base.numpy()
    got = products.forward_product(x, weight, base, relu=relu).numpy()
    np.testing.assert_allclose(got, np.maximum(want, 0) if relu else want, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
def test_gradients_are_numpys(shape, bias):
    rows, depth, width = shape
    x, weight, grad = (features(*size, 3).numpy() for size in ((rows, depth), (width, depth), (rows, width)))
    np.testing.assert_allclose(
        products.row_gradient(grad, torch.from_numpy(weight)), grad @ weight, rtol=1e-12, atol=1e-12
    )
    found, sums = products.weight_gradient(grad, x, torch.from_numpy(x), bias=bias)
    np.testing.assert_allclose(found, grad.T @ x, rtol=1e-12, atol=1e-12)
    if bias:
        np.testing.assert_allclose(sums, grad.sum(0), rtol=1e-12, atol=1e-12)
    else:
        assert sums is None


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_row_has_the_same_bits_whatever_stands_beside_it(dtype):
    x, weight = features(50, 200, 0, dtype), features(37, 200, 1, dtype)
    whole = products.forward_product(x, weight, None)
    for cut in (1, 5, 6, 20):
        assert torch.equal(products.forward_product(x[cut:], weight, None), whole[cut:])


def test_not_a_number_passes_relu():
    x = torch.tensor([[float("nan"), 1.0]])
    assert products.forward_product(x, torch.eye(2), None, relu=True).isnan().all()


@pytest.mark.parametrize("base", ["none", "row", "rows"])
def test_linear_is_torchs_with_both_derivatives(base, any_products):
    x, weight = features(20, 6, 0).requires_grad_(), features(9, 6, 1).requires_grad_()
    given = {"none": None, "row": features(1, 9, 2)[0].requires_grad_(), "rows": features(20, 9, 2).requires_grad_()}[
        base
    ]
    inputs = [x, weight, *([] if given is None else [given])]

    def plain() -> torch.Tensor:
        return F.linear(x, weight) if given is None else F.linear(x, weight) + given

    got, want = products.linear(x, weight, given), plain()
    torch.testing.assert_close(got, want, **EXACT)
    for a, b in zip(gradients(got, inputs), gradients(want, inputs), strict=True):
        torch.testing.assert_close(a, b, **EXACT)
    first = [
        torch.autograd.grad(out.pow(3).sum(), x, create_graph=True)[0]
        for out in (products.linear(x, weight, given), plain())
    ]
    for a, b in zip(*(gradients(out, [x, weight]) for out in first), strict=True):
        torch.testing.assert_close(a, b, **EXACT)


def test_small_products_and_many_threads_stay_with_torch(monkeypatch):
    monkeypatch.setattr(torch, "get_num_threads", lambda: 4)
    assert not products.pays(10, torch.empty(8, 8))
    assert products.pays(1100, torch.empty(64, 64))
    assert not products.pays(100_000, torch.empty(64, 64))
    monkeypatch.setattr(torch, "get_num_threads", lambda: 1)
    assert products.pays(100_000, torch.empty(64, 64))


def test_wrong_widths_get_torchs_error(any_products):
    with pytest.raises(RuntimeError, match="shapes cannot be multiplied"):
        products.linear(torch.ones(3, 4), torch.ones(2, 5))


def test_the_tile_is_compiled_before_workers_fork():
    runtime.load()
    module = runtime.ops("numba_products")
    assert all(getattr(module, name).signatures for name in ("linear", "linear_rows", "linear_weight"))


@pytest.mark.parametrize("kind", [torch.nn.Linear, Linear])
def test_linear_maps_of_any_module_run_in_the_tile(kind, any_products, monkeypatch):
    own, calls = products.own_linear, []
    monkeypatch.setattr(products, "own_linear", lambda *args: calls.append(1) or own(*args))
    model, x = torch.nn.Sequential(kind(4, 5), torch.nn.Tanh(), kind(5, 2, bias=False)).double(), features(7, 4, 0)
    seen: list[int] = []
    model[0].register_forward_hook(lambda *_: seen.append(1))
    want = model(x)
    with gk.accelerate(model):
        got = model(x)
        stacked = model(x.unsqueeze(0))
    torch.testing.assert_close(got, want, **EXACT)
    torch.testing.assert_close(stacked[0], want, **EXACT)
    for a, b in zip(*(gradients(out, list(model.parameters())) for out in (got, want)), strict=True):
        torch.testing.assert_close(a, b, **EXACT)
    assert len(seen) == 3
    assert len(calls) == (2 if products.pays(7, model[0].weight) else 0)
    assert not any("forward" in vars(part) for part in model.modules())


@pytest.mark.parametrize(
    ("setting", "wide"),
    [({"DISABLE_JIT": 1}, False), ({"CPU_NAME": "generic"}, False), ({"CPU_FEATURES": "+avx512f,+avx2"}, True)],
)
def test_the_tile_needs_a_compiler_for_wide_registers(setting, wide, monkeypatch):
    for name, value in setting.items():
        monkeypatch.setattr(numba.config, name, value, raising=False)
    assert products.wide_registers.__wrapped__() is wide
