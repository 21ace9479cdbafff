"""Shared by the tests of what must not get in."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import torch

sys.path.insert(0, str(Path(__file__).parent))
from coins import many_graphs, one_graph, triples


@pytest.fixture(scope="session")
def coins():
    """The datasets by name, with the task type of each."""
    edge = one_graph()
    edge.edge_label = torch.randint(2, (edge.num_edges,), generator=torch.Generator().manual_seed(3))
    return {
        "nodes": ("node_cls", one_graph()),
        "node labels": ("node_cls", one_graph(labels="float")),
        "node labels in whole numbers": ("node_cls", one_graph(labels="whole")),
        "nodes of many graphs": ("node_cls", many_graphs("nodes")),
        "graphs": ("graph_cls", many_graphs("class")),
        "graph labels": ("graph_cls", many_graphs("labels")),
        "real values": ("graph_reg", many_graphs("real")),
        "edges": ("edge_cls", edge),
        "edges of many graphs": ("edge_cls", many_graphs("edges")),
        "both": ("multi_reg", many_graphs("both")),
        "pairs": ("link_pred", one_graph()),
        "triples": ("link_pred", triples()),
    }
