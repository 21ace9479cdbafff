"""Edge attributes: off in the documented call, on by choice, always there for tasks on edges."""

import dataclasses

import pytest
import torch
from torch_geometric.data import Data

from graphnetz import Task, run_benchmark
from graphnetz.records import GraphList

MODELS = ["GCN", "GAT", "GraphSAGE", "GraphTransformer", "GIN"]


def molecules(_root=None):
    """Rings with two kinds of bonds."""
    torch.manual_seed(0)
    graphs = []
    for number in range(20):
        ends = torch.arange(6)
        edges = torch.stack([torch.cat([ends, (ends + 1) % 6]), torch.cat([(ends + 1) % 6, ends])])
        kind = torch.randint(0, 2, (6,))
        label = torch.cat([kind, kind])
        graphs.append(
            Data(x=torch.rand(6, 3), edge_index=edges, edge_attr=label, edge_label=label, y=torch.tensor([number % 2]))
        )
    return GraphList(graphs)


def cells(task_type="graph_cls", loader=molecules, **options):
    task = Task("rings", task_type, loader, epochs=1)
    run = {"models": MODELS, "seeds": [0], "hidden_channels": 8, "backend": "serial", "verbose": False, **options}
    return {cell.model: cell for cell in run_benchmark(tasks=[task], **run).results}


def without_attributes(_root=None):
    graphs = molecules()
    for graph in graphs:
        del graph.edge_attr
    return graphs


def test_the_documented_call_keeps_them_from_every_model():
    shown, bare = cells(), cells(loader=without_attributes)
    for model in MODELS:
        assert not shown[model].protocol.edge_attributes
        assert shown[model].parameters == bare[model].parameters, model
        assert shown[model].metrics == bare[model].metrics, model


def test_they_are_given_by_choice_and_the_run_says_what_it_withheld():
    given, kept = cells(edge_attributes=True), cells()
    larger = {model for model in MODELS if given[model].parameters > kept[model].parameters}
    assert larger == {"GAT", "GraphTransformer"}
    task = Task("rings", "graph_cls", molecules, epochs=1)
    run = {"tasks": [task], "models": ["GAT"], "seeds": [0], "backend": "serial", "verbose": False}
    words = "has edge attributes, which no model is given"
    assert any(words in note for note in run_benchmark(**run).provenance["notes"])
    assert not any(words in note for note in run_benchmark(**run, edge_attributes=True).provenance["notes"])


def test_tasks_on_edges_read_them_as_before():
    assert all(cell.protocol.edge_attributes for cell in cells("edge_cls").values())


def test_a_card_or_a_task_may_ask_for_them():
    task = dataclasses.replace(Task("rings", "graph_cls", molecules, epochs=1), protocol={"edge_attributes": True})
    run = {"models": ["GAT"], "seeds": [0], "backend": "serial", "verbose": False}
    assert run_benchmark(tasks=[task], **run).results[0].protocol.edge_attributes
    from graphnetz.datasets import CARDS

    # What these graphs say stands on their edges: over or under, and how strongly two currencies move together.
    assert all(CARDS[name].protocol["edge_attributes"] for name in ("knot_volume", "fx_months"))


@pytest.mark.data
def test_bond_types_of_mutag_reach_no_model_of_the_seed_call(shared_data, tmp_path, monkeypatch):
    monkeypatch.setenv("GRAPHNETZ_MIRROR", str(shared_data))
    call = {
        "category": "biology",
        "models": ["GAT"],
        "only": ["mutag"],
        "epochs": 1,
        "seeds": [0],
        "root": str(tmp_path),
    }
    kept, given = (run_benchmark(**call, verbose=False, **more) for more in ({}, {"edge_attributes": True}))
    assert kept.results[0].parameters < given.results[0].parameters
