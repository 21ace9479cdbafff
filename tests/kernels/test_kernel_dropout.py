"""Dropout of the kernels: distribution, gradients, reproducibility, and torch's own stream on demand."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from kernel_graphs import features, random_edges
from scipy import stats
from torch.nn import functional as F

from graphnetz import kernels as gk
from graphnetz._core.errors import UsageError
from graphnetz.kernels.drop import attention_mask


@pytest.mark.parametrize("p", [0.1, 0.5, 0.6, 0.9])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_kept_share_is_binomial_and_kept_values_are_scaled(p, dtype):
    torch.manual_seed(0)
    out = gk.dropout(torch.ones(100_001, dtype=dtype), p)
    kept = int((out != 0).sum())
    assert stats.binomtest(kept, out.numel(), 1 - p).pvalue > 1e-4
    torch.testing.assert_close(out[out != 0].unique(), torch.tensor([1 / (1 - p)], dtype=dtype))


def test_draws_are_independent_along_the_array_and_between_calls():
    torch.manual_seed(1)
    draws = [(gk.dropout(torch.ones(200_000), 0.5) != 0).numpy() for _ in range(2)]
    for a, b in ((draws[0][:-1], draws[0][1:]), (draws[0][:-2], draws[0][2:]), (draws[0], draws[1])):
        table = np.array([[np.sum(a & b), np.sum(a & ~b)], [np.sum(~a & b), np.sum(~a & ~b)]])
        assert stats.chi2_contingency(table).pvalue > 1e-4


@pytest.mark.parametrize("size", [(1,), (7, 3), (40, 6)])
def test_values_gradients_and_second_derivatives(size):
    x = torch.randn(size, dtype=torch.float64, generator=torch.Generator().manual_seed(0)).requires_grad_()
    torch.manual_seed(5)
    got = gk.dropout(x, 0.4)
    torch.manual_seed(5)
    mask = gk.dropout(torch.ones(size, dtype=torch.float64), 0.4)
    want = x * mask
    torch.testing.assert_close(got, want)
    found = []
    for out in (got, want):
        (first,) = torch.autograd.grad(out.pow(2).sum(), x, create_graph=True)
        found.append((first, torch.autograd.grad(first.pow(2).sum(), x)[0]))
    torch.testing.assert_close(*found)


def test_nothing_is_drawn_in_evaluation():
    x = features(5, 4, 0)
    before = torch.get_rng_state()
    torch.testing.assert_close(gk.dropout(x, 0.5, training=False), x)
    torch.testing.assert_close(gk.dropout(x, 0.0), x)
    assert torch.equal(torch.get_rng_state(), before)
    assert not gk.dropout(x, 1.0).any()


@pytest.mark.parametrize("how", ["stream", "off"])
def test_torch_stream_on_demand_and_where_kernels_are_off(how):
    x = features(9, 5, 0)
    torch.manual_seed(2)
    want = F.dropout(x, 0.3)
    torch.manual_seed(2)
    with gk.torch_dropout_stream() if how == "stream" else gk.enabled(False):
        got = gk.dropout(x, 0.3)
    assert torch.equal(got, want)


def test_sparse_features_lose_stored_values_only():
    x = features(40, 50, 0) * (features(40, 50, 1) > 1.5)
    sparse = gk.SparseFeatures.from_dense(x)
    torch.manual_seed(0)
    out = gk.dropout(sparse, 0.5)
    kept = out.values_tensor != 0
    assert 0 < int(kept.sum()) < kept.numel()
    torch.testing.assert_close(out.values_tensor[kept], 2.0 * sparse.values_tensor[kept])
    assert gk.dropout(sparse, 0.5, training=False) is sparse
    torch.manual_seed(3)
    want = F.dropout(x, 0.5)
    torch.manual_seed(3)
    with gk.torch_dropout_stream():
        assert torch.equal(gk.dropout(sparse, 0.5).to_dense(), want)


def test_mask_is_a_function_of_the_seed():
    s = gk.Structure.from_edges(random_edges(10, 60), 10)
    masks = []
    for seed in (0, 0, 1):
        torch.manual_seed(seed)
        masks.append(attention_mask(s, 3, 0.5, like=torch.ones(1)))
    assert torch.equal(masks[0], masks[1])
    assert not torch.equal(masks[0], masks[2])


def test_wrong_probability_is_refused():
    with pytest.raises(UsageError, match="0 to 1"):
        gk.dropout(torch.ones(2), 1.5)


def test_the_first_rows_of_sparse_features_are_cut_out_once():
    x = torch.zeros(6, 40)
    x[torch.arange(6), torch.arange(6) * 3] = torch.arange(1.0, 7.0)
    sparse = gk.SparseFeatures.from_dense(x)
    assert torch.equal(sparse.first(4).to_dense(), x[:4])
    assert sparse.first(4) is sparse.first(4)
