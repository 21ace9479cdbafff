"""GPS: the library's layer, built for any task and any width."""

import networkx as nx
import pytest
import torch
from torch_geometric.data import Batch, Data
from torch_geometric.nn import GPSConv

from graphnetz._core.errors import UsageError
from graphnetz.models import GPS, MODELS
from graphnetz.models.budget import width_for
from graphnetz.tasktypes import Dims
from graphnetz.tasktypes.encodings import LaplacianPE


def graphs():
    torch.manual_seed(0)
    out = []
    for seed, n in enumerate([5, 8, 6]):
        edges = torch.tensor(list(nx.gnp_random_graph(n, 0.5, seed=seed).to_directed().edges)).T
        out.append(Data(edge_index=edges, x=torch.randn(n, 3), edge_attr=torch.randn(edges.size(1), 2)))
    return out


def test_forward_is_projection_library_layers_projection():
    batch = Batch.from_data_list(graphs())
    model = GPS(3, 8, 4, num_layers=2).eval()
    h = model.input(batch.x)
    for conv in model.convs:
        assert isinstance(conv, GPSConv)
        h = conv(h, batch.edge_index, batch.batch)
    torch.testing.assert_close(model(batch), model.output(h))


def test_attention_stays_inside_each_graph():
    parts = graphs()
    model = GPS(3, 8, 4, edge_dim=2).eval()
    together = model(Batch.from_data_list(parts))
    torch.testing.assert_close(together, torch.cat([model(part) for part in parts]), rtol=1e-4, atol=1e-5)


def test_attention_reaches_beyond_the_neighbours():
    path = nx.path_graph(12).to_directed()
    data = Data(edge_index=torch.tensor(list(path.edges)).T, x=torch.randn(12, 3))
    model = GPS(3, 8, 4, num_layers=1).eval()
    before = model(data)[0]
    data.x[11] += 1.0
    assert float((model(data)[0] - before).detach().abs().max()) > 1e-6


def test_encodings_change_the_output():
    part = graphs()[1]
    model = GPS(3, 8, 4, pe_dim=2).eval()
    first, second = LaplacianPE(2)(part), LaplacianPE(2)(part)
    second.pe = second.pe + 1.0
    assert float((model(first) - model(second)).abs().max()) > 1e-6


@pytest.mark.parametrize(("width", "heads"), [(6, 3), (7, 1), (8, 4), (3, 3)])
def test_heads_fit_any_width(width, heads):
    assert GPS(3, width, 2, heads=4).convs[0].attn.num_heads == heads


def test_heads_must_be_positive():
    with pytest.raises(UsageError, match="at least one"):
        GPS(3, 8, 2, heads=0)


def test_a_budget_can_be_met():
    assert abs(width_for(MODELS["GPS"], "node_cls", Dims(7, 3), "50k").relative_error) < 0.02
