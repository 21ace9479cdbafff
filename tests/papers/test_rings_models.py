"""The architectures of the RINGS paper: three layers, batch norm, sum readout."""

import pytest
import torch
from torch_geometric.data import Batch, Data

from graphnetz.models import MODELS
from graphnetz.rings import PRESETS

NAMES = PRESETS["paper"].graph_models


@pytest.mark.parametrize("name", NAMES)
def test_layers_norms_and_readout(name):
    torch.manual_seed(0)
    model = MODELS[name].cls(4, 16, 2).eval()
    assert len(model.convs) == len(model.norms) == 3
    assert all(isinstance(norm, torch.nn.BatchNorm1d) for norm in model.norms)
    ring = Data(x=torch.rand(5, 4), edge_index=torch.tensor([[0, 1, 2, 3, 4], [1, 2, 3, 4, 0]]))
    path = Data(x=torch.rand(3, 4), edge_index=torch.tensor([[0, 1], [1, 2]]))
    together = model(Batch.from_data_list([ring, path]))
    assert together.shape == (2, 2)
    assert torch.allclose(together[1], model(path)[0], atol=1e-6)
    # Two copies of a graph in one sum to twice its readout: a sum, not a mean.
    twice = Data(x=torch.cat([ring.x, ring.x]), edge_index=torch.cat([ring.edge_index, ring.edge_index + 5], dim=1))
    assert torch.allclose(model(twice) - model.head.bias, 2 * (model(ring) - model.head.bias), atol=1e-5)


def test_the_grid_of_table_5_reaches_the_models():
    assert set(PRESETS["paper"].search["model"]) == {"dropout"}
    for name in NAMES:
        assert MODELS[name].cls(4, 16, 2, dropout=0.5).dropout == 0.5
