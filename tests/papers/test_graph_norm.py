"""Graph-size normalisation divides by the root of the number of nodes (or edges) of each graph; memory of a batch."""

import numpy as np
import pytest
import torch
from torch import nn
from torch_geometric.data import Batch, Data

from graphnetz.datasets.generators import symmetric
from graphnetz.models import MODELS
from graphnetz.models.memory import batch_memory
from graphnetz.tasktypes import TASK_TYPES, Dims


def two_graphs():
    torch.manual_seed(0)
    sizes = (4, 9)
    graphs = [Data(x=torch.randn(n, 3), edge_index=torch.randint(0, n, (2, 3 * n)), num_nodes=n) for n in sizes]
    return Batch.from_data_list(graphs), sizes


def norm_input(name, batch, which="norm", **kwargs):
    torch.manual_seed(1)
    model = MODELS[name].with_kwargs(kwargs).build("graph_cls", Dims(3, 2), 24).eval()
    seen = []
    getattr(model.blocks[0], which).register_forward_pre_hook(lambda _, args: seen.append(args[0].detach()))
    out = model(batch)
    assert out.shape == (2, 2)
    return seen[0], out.detach()


@pytest.mark.parametrize(
    "name", ["bgnn.GCN", "bgnn.GCN-vanilla", "bgnn.GIN", "bgnn.GatedGCN", "bgnn.GAT", "bgnn.MoNet"]
)
def test_nodes_are_divided_by_the_root_of_their_number(name):
    batch, sizes = two_graphs()
    plain, before = norm_input(name, batch)
    scaled, after = norm_input(name, batch, graph_norm=True)
    factor = torch.cat([torch.full((n, 1), n**-0.5) for n in sizes])
    torch.testing.assert_close(scaled, plain * factor)
    assert not torch.allclose(before, after)


def test_edges_are_divided_by_the_root_of_their_number():
    batch, sizes = two_graphs()
    plain, _ = norm_input("bgnn.GatedGCN", batch, "edge_norm")
    scaled, _ = norm_input("bgnn.GatedGCN", batch, "edge_norm", graph_norm=True)
    factor = torch.cat([torch.full((3 * n, 1), (3 * n) ** -0.5) for n in sizes])
    torch.testing.assert_close(scaled, plain * factor)


def test_parameter_counts_do_not_change():
    for name in ("bgnn.GCN", "bgnn.GatedGCN", "bgnn.GIN"):
        counts = {
            sum(
                p.numel()
                for p in MODELS[name].with_kwargs({"graph_norm": on}).build("graph_cls", Dims(3, 2), 8).parameters()
            )
            for on in (False, True)
        }
        assert len(counts) == 1


class TwoLayers(nn.Module):
    """Keeps, per node, exactly its input, the hidden row and (for the mean) nothing else of size."""

    def __init__(self, width):
        super().__init__()
        self.first, self.second = nn.Linear(1, width, bias=False), nn.Linear(width, 10, bias=False)

    def forward(self, data):
        rows = self.second(torch.relu(self.first(data.x.float())))
        return rows.view(data.num_graphs, -1, 10).mean(1)


def test_memory_of_a_batch_by_hand():
    kind = TASK_TYPES["graph_cls"]
    split = kind.split(symmetric.csl(0), 0)
    model = TwoLayers(100)
    torch.manual_seed(5)
    expected = torch.rand(1)
    torch.manual_seed(5)
    found = batch_memory(kind, model, split, 5)
    assert torch.equal(torch.rand(1), expected)
    nodes = 5 * 41
    assert found.parameters == 4 * 4 * (100 + 1000)
    # float features, the hidden rows behind the ReLU, and the log-probabilities and labels of the loss
    least = 4 * nodes * (1 + 100) + 4 * 5 * 10
    assert least <= found.kept <= least + 4 * nodes * 10 + 200
    assert found.total == found.batch + found.parameters + found.kept
    double = batch_memory(kind, model, split, 10)
    assert np.isclose(double.kept / found.kept, 2, rtol=0.05)
    assert np.isclose(double.batch / found.batch, 2, rtol=0.05)
