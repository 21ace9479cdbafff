"""Models are given no label of validation and test: one that looks for the answers scores at chance."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from coins import NODES, many_graphs, one_graph
from torch import nn
from torch.nn import functional as F

from graphnetz import run_benchmark, task_from_dataset
from graphnetz._core.errors import DataError
from graphnetz._core.rng import training_context
from graphnetz.engine.fitting import train_once
from graphnetz.models import spec_from
from graphnetz.records import GraphList, Protocol
from graphnetz.tasktypes import TASK_TYPES, shown
from graphnetz.tasktypes.pairs import Pairs

SEEN: dict[str, torch.Tensor] = {}
PLACES = ("y", "y_node", "y_graph", "edge_label", "label", "labels", "target")


def found(data, rows, width):
    """Every attribute of a graph that may hold answers, as ``rows`` rows of scores; zeros where there is none."""
    for name in PLACES:
        value = data.get(name)
        if isinstance(value, torch.Tensor) and value.size(0) == rows:
            flat = value.reshape(rows, -1)
            if width > 1 and flat.size(1) == 1:
                return F.one_hot(flat[:, 0].long().clamp(min=0), width).float()
            return torch.nan_to_num(flat.float(), nan=0.0)
    return torch.zeros(rows, width)


class Cheat(nn.Module):
    """Answers what it finds in its input."""

    def __init__(self, in_channels, hidden_channels, out_channels, task_type="", out_graph=None):
        super().__init__()
        self.width, self.kind, self.out_graph = out_channels, task_type, out_graph
        self.scale = nn.Parameter(torch.ones(()))

    def forward(self, data):
        graphs = int(data.get("num_graphs") or 1)
        if self.kind == "multi_reg":
            return found(data, data.num_nodes, self.width) * self.scale, found(data, graphs, self.out_graph)
        rows = {"graph_cls": graphs, "graph_reg": graphs, "edge_cls": data.num_edges}.get(self.kind, data.num_nodes)
        return found(data, rows, self.width) * self.scale


class CheatPairs(nn.Module):
    """Looks pairs up among the edges it is shown and in every attribute that holds pairs; positives may come first."""

    def __init__(self, in_channels, hidden_channels, out_channels):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(()))

    def encode(self, data):
        nodes = int(data.num_nodes)
        known = torch.zeros(nodes, nodes)
        for _, value in data:
            if isinstance(value, torch.Tensor) and value.dim() == 2 and value.size(0) == 2:
                known[value[0].long(), value[1].long()] = 1.0
        return known * self.scale

    def decode(self, z, index, relation=None):
        place = torch.linspace(1e-3, 0.0, index.size(1))
        return z[index[0], index[1]] + z[index[1], index[0]] + place * self.scale


def score(kind_name, data, model, **protocol):
    kind = TASK_TYPES[kind_name]
    settings = Protocol().replace(**{**kind.defaults, "epochs": 3, "lr": 1e-3, "hidden_channels": 8, **protocol})
    with training_context(0):
        split = kind.split(data, 0)
        outcome, _ = train_once(kind, spec_from((model, kind_name)), split, settings, 0)
    return outcome.metrics[f"test_{split.metric}"], split


@pytest.mark.parametrize(
    "name",
    ["nodes", "node labels", "node labels in whole numbers", "nodes of many graphs", "graphs", "graph labels", "edges",
     "edges of many graphs"],
)  # fmt: skip
def test_a_model_that_reads_labels_is_no_better_than_a_coin(coins, name):
    value, split = score(*coins[name], Cheat)
    count = split.targets["test"].size
    worst = 0.72 if split.metric in ("micro_f1", "f1") else min(0.5 + 2 / np.sqrt(count), 0.95)
    assert value <= worst, f"{split.metric} {value:.3f} on coins"


@pytest.mark.parametrize("name", ["real values", "both"])
def test_a_model_that_reads_real_targets_has_the_error_of_a_constant(coins, name):
    value, split = score(*coins[name], Cheat)
    assert value == pytest.approx(np.abs(split.targets["test"]).mean(), rel=0.25)
    assert value > 0.5


@pytest.mark.parametrize("name", ["pairs", "triples"])
def test_a_model_that_looks_for_held_out_edges_is_no_better_than_a_coin(coins, name):
    value, split = score(*coins[name], CheatPairs)
    assert abs(value - 0.5) < 4 / np.sqrt(12 * split.n_test / 2) + 0.03, f"auc {value:.3f} on random edges"


@pytest.mark.parametrize("sampled", [False, True])
def test_a_sampled_batch_carries_training_labels_only(coins, sampled):
    kind, data = coins["nodes"]
    fanouts = {"batch_nodes": 50, "fanouts": (5, 5)} if sampled else {}
    value, _ = score(kind, data, Cheat, **fanouts)
    assert value < 0.7


class Reader(nn.Module):
    """Keeps what its fit hook was given."""

    def __init__(self, in_channels, hidden_channels, out_channels):
        super().__init__()
        self.out = nn.Linear(in_channels, out_channels)

    def fit(self, split, protocol):
        SEEN.update(targets=split.targets, labels=split.labels, test=split.test, data=split.data)

    def forward(self, data):
        return self.out(data.x)


class Guesser:
    """A predictor that hands its own test targets back."""

    def fit(self, split, rng):
        SEEN.update(targets=split.targets, labels=split.labels, test=split.test, data=split.data)

    def score(self, split):
        wide = split.dims.out_channels
        return {part: np.eye(wide)[np.maximum(split.targets[part], 0)] for part in ("train", "val", "test")}


@pytest.mark.parametrize("model", [Reader, Guesser])
def test_hooks_get_training_and_validation_targets_and_no_test_label(coins, model):
    kind, data = coins["nodes"]
    value, split = score(kind, data, model)
    assert value < 0.7
    np.testing.assert_array_equal(SEEN["targets"]["train"], split.targets["train"])
    np.testing.assert_array_equal(SEEN["targets"]["val"], split.targets["val"])
    assert set(SEEN["targets"]["test"].tolist()) == {-1}
    for held in (SEEN["labels"], SEEN["data"].y):
        assert torch.equal(held[split.train], data.y[split.train])
        assert held[split.val].eq(-1).all()
        assert held[split.test].eq(-1).all()


def test_a_hook_cannot_change_what_it_is_measured_by(coins):
    class Writer(Reader):
        def fit(self, split, protocol):
            for part in split.targets.values():
                with pytest.raises(ValueError, match="read-only"):
                    part[:] = 0
            split.targets["test"] = np.zeros(len(split.test), dtype=int)

    kind, data = coins["nodes"]
    value, split = score(kind, data, Writer)
    assert 0.3 < value < 0.7
    np.testing.assert_array_equal(split.targets["test"], data.y[split.test].numpy())


def test_test_pairs_are_shown_without_labels_and_in_no_telling_order(coins):
    for name in ("pairs", "triples"):
        kind, data = coins[name]
        split = TASK_TYPES[kind].split(data, 0)
        seen = shown(split)
        assert isinstance(seen.test, Pairs)
        assert torch.isnan(seen.test.label).all()
        assert not torch.isnan(seen.train.label).any()
        first = split.targets["test"][: split.n_test // 2].mean()
        assert 0.3 < first < 0.7, "positives stand in front"


def test_baselines_that_use_training_labels_work_as_before(coins):
    data = one = coins["nodes"][1].clone()
    one.y = torch.arange(one.num_nodes) // (one.num_nodes // 2 + 1)
    ends = torch.arange(one.num_nodes - 1)
    one.edge_index = torch.stack([torch.cat([ends, ends + 1]), torch.cat([ends + 1, ends])])
    for name in ("LabelPropagation", "CorrectAndSmooth"):
        value, _ = score("node_cls", data, spec_from(name).cls)
        assert value > 0.95, name
    value, split = score("node_cls", data, spec_from("Majority").cls)
    assert value == pytest.approx(max(np.bincount(split.targets["test"])) / split.n_test, abs=0.02)


def test_a_run_with_a_cheating_model_scores_it_at_chance(coins):
    task = task_from_dataset("coins", *coins["nodes"])
    options = {"seeds": range(2), "epochs": 2, "backend": "serial", "verbose": False}
    report = run_benchmark(models={"Cheat": (Cheat, "node_cls")}, tasks=task, **options)
    assert all(0.3 < result.value < 0.7 for result in report.results)


def overlapping(first, second):
    data = one_graph()
    data[f"{first}_mask"] = data[f"{first}_mask"] | (data[f"{second}_mask"] & (torch.arange(data.num_nodes) < 60))
    return data


@pytest.mark.parametrize(("first", "second"), [("test", "train"), ("val", "train"), ("test", "val")])
def test_overlapping_masks_are_refused_before_anything_is_trained(first, second, tmp_path):
    task = task_from_dataset("overlap", "node_cls", overlapping(first, second))
    with pytest.raises(DataError, match=r"'overlap': 20 of the 120 .* nodes are .* nodes as well"):
        run_benchmark(models=["MLP"], tasks=task, seeds=1, epochs=1, verbose=False, backend="serial")


def test_equal_masks_are_refused():
    data = one_graph()
    data.val_mask = data.test_mask = data.train_mask
    task = task_from_dataset("equal", "node_cls", data)
    with pytest.raises(DataError, match="100 of the 100 test nodes are validation nodes"):
        run_benchmark(models=["MLP"], tasks=task, seeds=1, epochs=1, verbose=False, backend="serial")


def test_graphs_listed_in_two_parts_are_refused():
    lists = {"train": range(80), "val": range(79, 100), "test": range(100, 120)}
    task = task_from_dataset("lists", "graph_cls", GraphList(many_graphs("class"), splits=lists))
    with pytest.raises(DataError, match="1 of the 21 validation graphs are training graphs"):
        run_benchmark(models=["MLP"], tasks=task, seeds=1, epochs=1, verbose=False, backend="serial")


def test_copies_of_training_graphs_are_named_in_report_and_provenance(tmp_path):
    graphs = many_graphs("class")
    graphs[100:110] = [graph.clone() for graph in graphs[:10]]
    lists = {"train": range(80), "val": range(80, 100), "test": range(100, 120)}
    task = task_from_dataset("copies", "graph_cls", GraphList(graphs, splits=lists))
    report = run_benchmark(models=["MLP"], tasks=task, seeds=2, epochs=1, verbose=False, backend="serial")
    words = "50 % of the test graphs equal a training graph"
    section = next(section for section in report.sections if section.name == "repeated")
    assert section.level == "warning"
    assert "copies" in section.verdict
    assert words in section.tables[0].rows[0][1]
    assert any(words in note for note in report.provenance["notes"])


def test_held_out_edges_in_the_message_graph_are_named():
    data = one_graph()
    for part, columns in (("val", slice(0, 40)), ("test", slice(40, 90))):
        data[f"{part}_pos_edge_index"] = data.edge_index[:, columns]
        data[f"{part}_neg_edge_index"] = torch.randint(NODES, (2, 40))
    task = task_from_dataset("both_roles", "link_pred", data)
    report = run_benchmark(models=["Jaccard"], tasks=task, seeds=1, verbose=False, backend="serial")
    found = next(section for section in report.sections if section.name == "repeated")
    assert "100 % of the test edges are edges that models pass messages over" in found.tables[0].rows[0][1]


def test_a_clean_task_has_no_such_section(coins):
    report = run_benchmark(
        models=["Majority"],
        tasks=task_from_dataset("coins", *coins["graphs"]),
        seeds=1,
        verbose=False,
        backend="serial",
    )
    assert "repeated" not in {section.name for section in report.sections}
