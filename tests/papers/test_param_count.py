"""Every published configuration of Dwivedi et al. (2023) has the published number of parameters."""

import json
from pathlib import Path

import pytest
import torch

from graphnetz.datasets import SUITES
from graphnetz.models import MODELS
from graphnetz.papers.benchmarking_gnns.tables import arguments_of, dataset_of
from graphnetz.papers.benchmarking_gnns.tasks import POSITIONS
from graphnetz.tasktypes import Dims

REFERENCE = Path(__file__).resolve().parents[2].parent / "shared" / "reference" / "benchmarking_gnns_configs.json"
CONFIGS = json.loads(REFERENCE.read_text()) if REFERENCE.exists() else []

# dataset: task type, features, outputs, sizes of categories, width of the edge input
DATA = {
    "ZINC": ("graph_reg", 1, 1, (28,), 4),
    "AQSOL": ("graph_reg", 1, 1, (65,), 5),
    "MNIST": ("graph_cls", 3, 10, (), 1),
    "CIFAR10": ("graph_cls", 5, 10, (), 1),
    "SBM_PATTERN": ("node_cls", 1, 2, (3,), None),
    "SBM_CLUSTER": ("node_cls", 1, 6, (7,), None),
    "TSP": ("edge_cls", 2, 2, (), 1),
    "OGBL-COLLAB": ("link_pred", 128, 1, (), 2),
    "COLLAB": ("link_pred", 128, 1, (), 2),
    "WikiCS": ("node_cls", 300, 10, (), None),
    "CSL": ("graph_cls", 1, 10, (1,), None),
    "CYCLES": ("graph_cls", 1, 2, (), None),
    "GraphTheoryProp": ("multi_reg", 2, 3, (), None),
    "ENZYMES": ("graph_cls", 18, 6, (), None),
    "DD": ("graph_cls", 89, 2, (), None),
    "PROTEINS_full": ("graph_cls", 29, 2, (), None),
}
VARIANTS = {"isotropic": "isotropic", "edgefeat": "edge_feature", "edgereprfeat": "edge_representation"}
# The constant that stands for absent edge features is as wide as they would be, on the TU sets as the nodes'.
EDGE_ONES = {"OGBL-COLLAB": 2, "COLLAB": 2, "ENZYMES": 18, "DD": 89, "PROTEINS_full": 29}
EDGE_INPUT = {"GatedGCN", "GAT-edgefeat", "GraphSAGE"}


def name_of(config):
    model, layer = config["model"], config["net"].get("layer_type")
    if model == "GraphSage":
        return "GraphSAGE"
    if model == "GAT" and layer in VARIANTS:
        return "GAT-edgefeat"
    if config["dataset"] == "GraphTheoryProp":
        return f"{model}-GRU"
    return model


def arguments(config, name):
    """Constructor arguments that a configuration asks for beyond what the data says."""
    net, dataset = config["net"], config["dataset"]
    extra = {"num_layers": net["L"]} if name != "MF" else {"num_nodes": net["num_embs"]}
    if "n_heads" in net:
        extra["heads"] = net["n_heads"]
    if net.get("pos_enc") and dataset in ("CSL", "CYCLES"):
        extra["pe_mode"] = "replace"
    if name in ("RingGNN", "3WLGNN"):
        extra |= {"residual": net["residual"], "edge_feat": bool(net.get("edge_feat"))}
    if name in EDGE_INPUT:
        extra["edge_feat"] = bool(net.get("edge_feat"))
        extra["edge_ones"] = EDGE_ONES.get(dataset, 1)
        if "layer_type" in net:
            extra["variant"] = VARIANTS[net["layer_type"]]
        if dataset == "WikiCS":
            extra["num_bond_types"] = 1
    if name == "MLP" and dataset == "WikiCS":
        extra["embed"] = True
    return extra


def count(name, task_type, dims, hidden, extra):
    with torch.device("meta"):
        model = MODELS[f"bgnn.{name}"].with_kwargs(extra).build(task_type, dims, hidden)
    return sum(p.numel() for p in model.parameters())


def dims_of(dataset, pe_dim=None):
    _, wide, out, vocabulary, edge = DATA[dataset]
    return Dims(wide, out, edge, None, vocabulary, 3 if dataset == "GraphTheoryProp" else None, pe_dim)


@pytest.mark.data
@pytest.mark.skipif(not CONFIGS, reason="the published configurations are not beside the project")
@pytest.mark.parametrize("config", CONFIGS, ids=[c["config"] for c in CONFIGS])
def test_param_count(config):
    name, net = name_of(config), config["net"]
    dims = dims_of(config["dataset"], net["pos_enc_dim"] if net.get("pos_enc") else None)
    found = count(name, DATA[config["dataset"]][0], dims, net["hidden_dim"], arguments(config, name))
    assert found == config["params"]


# Rows of the tables that have no configuration of their own: width, layers, options, published count.
ROWS = [
    ("GatedGCN", "ZINC", 70, {"num_layers": 4, "edge_feat": True, "num_bond_types": 4}, None, 105875),
    ("GatedGCN", "ZINC", 78, {"num_layers": 16, "edge_feat": True, "num_bond_types": 4}, None, 504309),
    ("GatedGCN", "ZINC", 78, {"num_layers": 16, "edge_feat": True, "num_bond_types": 4}, 8, 505011),
    ("GatedGCN", "AQSOL", 70, {"num_layers": 4, "edge_feat": True, "num_bond_types": 5}, None, 108535),
    ("GatedGCN", "AQSOL", 78, {"num_layers": 16, "edge_feat": True, "num_bond_types": 5}, 4, 507663),
    ("GraphSAGE", "ZINC", 85, {"num_layers": 4}, None, 94977),
    ("RingGNN", "ZINC", 33, {"num_layers": 2}, None, 97978),
    ("RingGNN", "ZINC", 33, {"num_layers": 2, "edge_feat": True}, None, 104403),
    ("RingGNN", "ZINC", 35, {"num_layers": 8, "edge_feat": True, "residual": True}, None, 510305),
    ("3WLGNN", "ZINC", 79, {"num_layers": 3, "edge_feat": True}, None, 103098),
    ("3WLGNN", "ZINC", 180, {"num_layers": 3, "edge_feat": True}, None, 507603),
    ("3WLGNN", "AQSOL", 104, {"num_layers": 8, "edge_feat": True, "residual": True}, None, 598632),
    ("GatedGCN", "TSP", 77, {"num_layers": 16, "edge_feat": True}, None, 500770),
    ("RingGNN", "TSP", 94, {"num_layers": 2, "edge_feat": True}, None, 507938),
    ("3WLGNN", "TSP", 115, {"num_layers": 3, "edge_feat": True}, None, 506681),
]


@pytest.mark.parametrize(("name", "dataset", "hidden", "extra", "pe_dim", "expected"), ROWS)
def test_published_rows_without_a_configuration(name, dataset, hidden, extra, pe_dim, expected):
    assert count(name, DATA[dataset][0], dims_of(dataset, pe_dim), hidden, extra) == expected


def test_gated_mlp_adds_one_square_layer():
    plain = count("MLP", "graph_reg", dims_of("ZINC"), 10, {})
    assert count("GatedMLP", "graph_reg", dims_of("ZINC"), 10, {}) == plain + 10 * 10 + 10


def test_vanilla_and_symmetric_convolution_cost_the_same():
    symmetric = count("GCN", "graph_reg", dims_of("ZINC"), 145, {})
    assert symmetric == count("GCN-vanilla", "graph_reg", dims_of("ZINC"), 145, {}) == 103077


@pytest.mark.parametrize("name", sorted(name for name in SUITES if name.startswith("bgnn-table-")))
def test_networks_of_a_table_have_the_published_number_of_parameters(name):
    theirs = {
        "zinc": "ZINC", "aqsol": "AQSOL", "mnist_superpixels_slic": "MNIST", "cifar10_superpixels": "CIFAR10",
        "pattern": "SBM_PATTERN", "cluster": "SBM_CLUSTER", "tsp": "TSP", "ogbl_collab": "OGBL-COLLAB",
        "wikics": "WikiCS", "csl": "CSL", "cycles": "CYCLES", "graph_theory_prop": "GraphTheoryProp",
        "enzymes": "ENZYMES", "dd": "DD", "proteins_full": "PROTEINS_full",
    }  # fmt: skip
    wrong = {}
    for row in SUITES[name].published():
        dataset, options = dataset_of(row.task)
        if not (row.more["params"] and row.more["width"]) or row.model == "bgnn.MF":
            continue
        kind, wide, out, vocabulary, edge = DATA[theirs[dataset]]
        pe = POSITIONS[dataset] if options.get("pe") else None
        dims = Dims(wide, out, edge, None, vocabulary, 3 if dataset == "graph_theory_prop" else None, pe)
        original = row.model.partition("-500k")[0]
        spec = MODELS[original]
        spec = spec.with_kwargs({k: v for k, v in arguments_of(row).items() if spec.accepts(k)})
        with torch.device("meta"):
            found = sum(p.numel() for p in spec.build(kind, dims, int(row.more["width"])).parameters())
        if found != int(row.more["params"]):
            wrong[row.task, row.model] = (found, int(row.more["params"]))
    assert wrong == {}
