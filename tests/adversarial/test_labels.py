"""Models are given no label of validation and test: one that looks for the answers scores at chance."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F

from graphnetz import run_benchmark, task_from_dataset
from graphnetz._core.rng import training_context
from graphnetz.engine.worker import train_once
from graphnetz.models import spec_from
from graphnetz.records import Protocol
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
