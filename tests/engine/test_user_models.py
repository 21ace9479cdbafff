"""Modules that people bring: written for ``data``, or for ``(x, edge_index, ...)`` as PyTorch Geometric's own are."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.nn import functional as F
from torch_geometric.data import Data
from torch_geometric.nn import GCNConv, global_mean_pool
from torch_geometric.nn import models as pyg

from graphnetz import run_benchmark, task_from_dataset
from graphnetz._core.rng import seed_everything, training_context
from graphnetz.engine.fitting import train_once
from graphnetz.models import spec_from
from graphnetz.records import Protocol
from graphnetz.tasktypes import TASK_TYPES

DEGREES = torch.tensor([0, 5, 9, 6, 2])
EPOCHS = 4


def one_graph(**extra):
    source = torch.Generator().manual_seed(0)
    half = torch.randint(60, (2, 120), generator=source)
    data = Data(
        x=torch.randn(60, 9, generator=source),
        edge_index=torch.cat([half, half.flip(0)], dim=1),
        y=torch.randint(3, (60,), generator=source),
        **extra,
    )
    part = torch.arange(60) % 3
    data.train_mask, data.val_mask, data.test_mask = part == 0, part == 1, part == 2
    return data


def family(name, **extra):
    def factory(in_channels, hidden_channels, out_channels):
        options = dict(extra)
        if name == "PNA":
            options |= {"aggregators": ["mean", "max", "std"], "scalers": ["identity", "attenuation"], "deg": DEGREES}
        return getattr(pyg, name)(in_channels, hidden_channels, 2, out_channels, **options)

    return factory


def plain_training(factory, data, protocol, seed):
    """The same training written with PyTorch Geometric and torch alone."""
    seed_everything(seed)
    model = factory(data.x.size(1), protocol.hidden_channels, 3).double()
    optimiser = torch.optim.Adam(model.parameters(), lr=protocol.lr, weight_decay=protocol.weight_decay)
    for _ in range(protocol.epochs):
        model.train()
        optimiser.zero_grad()
        out = model(data.x, data.edge_index)
        loss = F.cross_entropy(out[data.train_mask], data.y[data.train_mask])
        loss.backward()
        optimiser.step()
    model.eval()
    with torch.no_grad():
        return float(loss), model(data.x, data.edge_index)[data.test_mask]


@pytest.mark.parametrize("name", ["GCN", "GraphSAGE", "GIN", "GAT", "PNA", "EdgeCNN"])
@pytest.mark.parametrize("norm", [None, "batch_norm"])
def test_models_of_pyg_give_what_plain_pyg_gives(name, norm):
    kind, protocol = TASK_TYPES["node_cls"], Protocol(epochs=EPOCHS, hidden_channels=8, dtype="float64")
    factory = family(name, norm=norm)
    with training_context(0, dtype="float64"):
        data = one_graph()
        data.x = data.x.double()
        split = kind.split(data, 0)
        outcome, model = train_once(kind, spec_from((getattr(pyg, name), "node_cls", factory)), split, protocol, 0)
        loss, scores = plain_training(factory, data, protocol, 0)
    assert outcome.metrics["train_loss"] == pytest.approx(loss, rel=1e-9)
    torch.testing.assert_close(torch.from_numpy(outcome.scores["test"]), scores, rtol=1e-9, atol=1e-9)
    assert outcome.layers == "2 of 2"
    assert not any("forward" in vars(part) for part in model.modules())


def test_models_of_pyg_are_adapted_to_every_task_and_the_layers_are_reported():
    tasks = [
        task_from_dataset("nodes", "node_cls", one_graph(), epochs=2),
        task_from_dataset("links", "link_pred", one_graph(), epochs=2),
    ]
    models = {
        "GCN": (pyg.GCN, {"node_cls", "link_pred"}, family("GCN")),
        "direct": (pyg.GCN, "node_cls"),
        "Cheby": "ChebNet",
        "MLP": "MLP",
    }
    report = run_benchmark(
        tasks=tasks, models=models, seeds=[0], backend="serial", model_kwargs={"direct": {"num_layers": 3}}
    )
    assert [result.status for result in report.results] == ["ok"] * len(report.results)
    costs = report.costs().set_index(["task", "model"])["layers"]
    assert costs["nodes", "GCN"] == costs["links", "GCN"] == "2 of 2"
    assert costs["nodes", "direct"] == "3 of 3"
    assert costs["nodes", "MLP"] == ""


class Pooling(nn.Module):
    def __init__(self, in_channels, hidden_channels, out_channels):
        super().__init__()
        self.conv = GCNConv(in_channels, hidden_channels)
        self.head = nn.Linear(hidden_channels, out_channels)

    def forward(self, x, edge_index, edge_weight=None, batch=None):
        assert batch is not None
        assert edge_weight is not None
        return self.head(global_mean_pool(self.conv(x, edge_index, edge_weight).relu(), batch))


def test_a_module_of_x_and_edge_index_gets_what_it_names():
    graphs = []
    for number in range(12):
        graph = one_graph(edge_weight=torch.rand(240))
        graph.y = torch.tensor([number % 2])
        graphs.append(graph)
    task = task_from_dataset("graphs", "graph_cls", graphs, epochs=2)
    report = run_benchmark(tasks=[task], models={"Pooling": (Pooling, "graph_cls")}, seeds=[0], backend="serial")
    (result,) = report.results
    assert result.ok
    assert result.layers == "1 of 1"


class Recording(nn.Module):
    """Asks for its attention weights, which the kernels do not give."""

    def __init__(self, in_channels, hidden_channels, out_channels):
        super().__init__()
        from torch_geometric.nn import GATConv

        self.first, self.second = GCNConv(in_channels, hidden_channels), GATConv(hidden_channels, out_channels)

    def forward(self, data):
        x = self.first(data.x, data.edge_index).relu()
        return self.second(x, data.edge_index, return_attention_weights=True)[0]


def test_the_report_says_why_a_layer_ran_by_itself():
    task = task_from_dataset("nodes", "node_cls", one_graph(), epochs=2)
    report = run_benchmark(tasks=[task], models={"R": (Recording, "node_cls")}, seeds=[0], backend="serial")
    (layers,) = report.costs()["layers"]
    assert layers == "1 of 2 (second GATConv: it was called with return_attention_weights)"
