"""Validation and test never meet: a model that mixes the examples of its batch cannot mix the two parts."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch_geometric.data import Data

from graphnetz.tasktypes import TASK_TYPES, evaluate


class BatchMean(nn.Module):
    """Its output for a graph, a node or an edge depends on everything in the batch, also in evaluation."""

    def __init__(self, level):
        super().__init__()
        self.level = level

    def forward(self, data):
        rows = {"graph": data.num_graphs, "node": data.num_nodes, "edge": data.edge_index.size(1)}[self.level]
        out = data.x.mean() + torch.zeros(rows, 2)
        return (out, data.x.mean() + torch.zeros(data.num_graphs, 2)) if self.level == "both" else out


class BothMeans(BatchMean):
    def forward(self, data):
        return data.x.mean() + torch.zeros(data.num_nodes, 2), data.x.mean() + torch.zeros(data.num_graphs, 1)


class Listed(list):
    splits = None


def graphs(factor):
    """Ten small graphs of which the last two are for testing; ``factor`` changes those only."""
    made = Listed()
    for number in range(10):
        x = torch.full((4, 3), float(number + 1)) * (factor if number >= 8 else 1.0)
        edges = torch.tensor([[0, 1, 2, 3], [1, 2, 3, 0]])
        graph = Data(x=x, edge_index=edges, y=torch.tensor([number % 2]))
        graph.edge_label = torch.tensor([0, 1, 0, 1])
        graph.y_node, graph.y_graph = torch.rand(4, 2), torch.rand(1, 1)
        made.append(graph)
    made.splits = {"train": [0, 1, 2, 3, 4, 5], "val": [6, 7], "test": [8, 9]}
    return made


@pytest.mark.parametrize(
    ("kind", "model"),
    [
        ("graph_cls", BatchMean("graph")),
        ("edge_cls", BatchMean("edge")),
        ("node_cls", BatchMean("node")),
        ("multi_reg", BothMeans("both")),
    ],
)
def test_validation_outputs_do_not_change_with_the_test_graphs(kind, model):
    found = []
    for factor in (1.0, 100.0):
        dataset = graphs(factor)
        if kind == "node_cls":
            for graph in dataset:
                graph.y = torch.tensor([0, 1, 0, 1])
        split = TASK_TYPES[kind].split(dataset, 0)
        found.append(evaluate(TASK_TYPES[kind], model, split))
    assert torch.equal(found[0]["val"], found[1]["val"])
    assert not torch.equal(found[0]["test"], found[1]["test"])  # the change reaches the model
    assert torch.equal(found[0]["val"][:, 0].unique(), torch.tensor([7.5]))  # the mean of the two validation graphs


def test_the_whole_graph_is_one_example_for_nodes():
    """On one graph every node, of whatever part, is visible in training and evaluation alike; labels are not."""
    x = torch.randn(6, 3)
    graph = Data(x=x, edge_index=torch.tensor([[0, 1], [1, 0]]), y=torch.tensor([0, 1] * 3))
    for part, nodes in (("train", [0, 1]), ("val", [2, 3]), ("test", [4, 5])):
        graph[f"{part}_mask"] = torch.zeros(6, dtype=torch.bool).index_fill(0, torch.tensor(nodes), True)
    found = []
    for labels in (graph.y, torch.where(graph.test_mask, 1 - graph.y, graph.y)):
        graph.y = labels
        found.append(evaluate(TASK_TYPES["node_cls"], BatchMean("node"), TASK_TYPES["node_cls"].split(graph, 0)))
    assert torch.equal(found[0]["val"], found[1]["val"])
