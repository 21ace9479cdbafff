"""No tensor crosses devices unasked, shown on torch's meta device with every operation looked at.

No test here runs on a GPU: tensors of the meta device have a place and a shape and no values.
"""

from __future__ import annotations

import contextlib

import numpy as np
import pytest
import torch
from kernel_graphs import NAMES, convs, features, random_edges
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from torch_geometric.data import Data
from torch_geometric.nn import SumAggregation, global_mean_pool

from graphnetz import kernels as gk
from graphnetz.kernels.sampling import NeighbourSampler
from graphnetz.tasktypes.sampled import subgraph

EDGES = random_edges(12, 40)
# Their own code asks for values (which arcs are loops, which degrees there are), which a tensor without values lacks.
LOOKING = ("gcn", "gat", "sg", "cheb", "pna")
BLIND = [name for name in NAMES if not name.startswith(LOOKING)]


class Model(nn.Module):
    """A layer, a norm, dropout and both ways of pooling."""

    def __init__(self, conv):
        super().__init__()
        self.conv, self.norm, self.drop, self.pool = conv, nn.LazyBatchNorm1d(), nn.Dropout(0.5), SumAggregation()

    def forward(self, x, edge_index, batch):
        x = self.drop(self.norm(self.conv(x, edge_index)))
        return self.pool(x, batch, dim_size=2) + global_mean_pool(x, batch, 2)


def inputs(device, dtype=torch.float32):
    return features(12, 5, 0, dtype).to(device), EDGES.to(device), (torch.arange(12) // 6).to(device)


@pytest.mark.parametrize("name", BLIND)
def test_the_meta_device_keeps_its_tensors(name):
    model, (x, edges, batch) = Model(convs(5)[name]), inputs("meta")
    width = model.conv(*inputs("cpu")[:2]).size(1)
    model.norm = nn.BatchNorm1d(width)
    model = model.to("meta")
    with gk.accelerate(model, Data(x=x)) as report:
        out = model(x, edges, batch)
    assert out.device.type == "meta"
    assert out.shape == (2, width)
    assert report.in_kernels == 0
    assert "CPU" in report.layers[0].reason


class Recorded(TorchDispatchMode):
    """Refuses operations that mix devices, as a GPU would; single numbers of the CPU are allowed, as there."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        del types
        tensors = [value for value in tree_leaves((args, kwargs)) if isinstance(value, torch.Tensor) and value.dim()]
        if len({tensor.device.type for tensor in tensors}) > 1:
            raise AssertionError(f"{func} was given tensors of two devices")
        return func(*args, **(kwargs or {}))


@pytest.mark.parametrize("name", BLIND)
def test_no_operation_meets_two_devices(name):
    """Forward and backward on the meta device, every operation looked at."""
    model, (x, edges, batch) = Model(convs(5)[name]), inputs("meta")
    model.norm = nn.BatchNorm1d(model.conv(*inputs("cpu")[:2]).size(1))
    model = model.to("meta")
    with gk.accelerate(model, Data(x=x)), Recorded():
        model(x, edges, batch).sum().backward()
    assert {p.grad.device.type for p in model.parameters() if p.grad is not None} == {"meta"}


def test_the_record_notices_a_crossing():
    with Recorded(), pytest.raises(AssertionError, match="two devices"):
        torch.ones(3, 2, device="meta")[torch.tensor([0, 1])]


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
@pytest.mark.parametrize("device", ["cpu", "meta"])
@pytest.mark.parametrize("on", [True, False])
def test_every_switch(dtype, device, on):
    """Kernels run for float32 and float64 on the CPU while they are on, and nowhere else."""
    conv = convs(5)["sage"].to(device, dtype)
    x, edges, _ = inputs(device, dtype)
    with gk.enabled(on), gk.accelerate(conv) as report:
        out = conv(x, edges)
    assert (out.device.type, out.dtype) == (device, dtype)
    assert report.in_kernels == int(on and device == "cpu" and dtype in (torch.float32, torch.float64))


def test_edges_elsewhere_are_left_to_the_layer():
    conv, (x, _, _) = convs(5)["sage"], inputs("cpu")
    with gk.accelerate(conv) as report, contextlib.suppress(RuntimeError, NotImplementedError):
        conv(x, EDGES.to("meta"))
    assert report.in_kernels == 0
    assert "edges" in report.layers[0].reason


def test_sampled_batches_stay_where_the_graph_is():
    """The sampler works on the CPU; what a model gets of it is on the graph's device."""
    sampler = NeighbourSampler(gk.structure_of(EDGES, 12), None)
    sample = sampler.sample(np.arange(4), (3, 3), seed=1)
    here = Data(x=features(12, 5, 0), edge_index=EDGES, edge_weight=torch.ones(40), train_mask=torch.ones(12).bool())
    with Recorded():
        batch = subgraph(here.to("meta"), sample)
    found = {key: value.device.type for key, value in batch if isinstance(value, torch.Tensor)}
    assert found == dict.fromkeys(("edge_index", "n_id", "e_id", "x", "edge_weight", "train_mask"), "meta")
