"""Habits of the published code that a protocol may ask for: weighted loss, metrics per batch."""

import itertools

import numpy as np
import pytest
import torch
from sklearn.metrics import balanced_accuracy_score
from torch.nn import functional as F

from graphnetz._core.errors import UsageError
from graphnetz.benchmark import run_benchmark
from graphnetz.datasets.custom import task_from_dataset
from graphnetz.datasets.generators import sbm, symmetric
from graphnetz.records import Protocol
from graphnetz.tasktypes import TASK_TYPES
from graphnetz.tasktypes.encodings import PositionalEncoding
from graphnetz.tasktypes.reference import as_published, batch_bounds, class_weights


@pytest.fixture(scope="module")
def split():
    return TASK_TYPES["node_cls"].split(sbm.cluster(0, train=6, val=3, test=5), 0)


def test_weights_are_the_share_of_other_classes():
    target = torch.tensor([0, 0, 0, 2, 2, 5])
    expected = [(6 - 3) / 6, 0, (6 - 2) / 6, 0, 0, (6 - 1) / 6]
    torch.testing.assert_close(class_weights(target, 6), torch.tensor(expected))


def test_weighted_loss_by_hand():
    kind = as_published(TASK_TYPES["node_cls"], Protocol(class_weights=True))
    score = torch.randn(6, 3, generator=torch.Generator().manual_seed(0))
    target = torch.tensor([0, 0, 0, 2, 2, 1])
    weight = class_weights(target, 3)[target]
    own = -F.log_softmax(score, 1)[torch.arange(6), target]
    torch.testing.assert_close(kind.criterion(score, target), (weight * own).sum() / weight.sum())
    alone = torch.tensor([1, 1])  # all weights would be zero
    torch.testing.assert_close(kind.criterion(score[:2], alone), F.cross_entropy(score[:2], alone))


def test_per_batch_metrics_by_hand(split):
    kind = as_published(TASK_TYPES["node_cls"], Protocol(compat=True, batch_size=2))
    target = split.targets["test"]
    score = np.random.default_rng(0).random((len(target), 6))
    sizes = np.diff(split.data.node_ptr.numpy())[split.test.numpy()]
    ends = np.cumsum(sizes)
    bounds = [0, ends[1], ends[3], ends[4]]
    assert batch_bounds(split, "test", 2) == bounds
    expected = [balanced_accuracy_score(target[a:b], score[a:b].argmax(1)) for a, b in itertools.pairwise(bounds)]
    found = kind.measure(split, "test", score, ("balanced_acc",))["test_balanced_acc"]
    assert found == pytest.approx(np.mean(expected))
    whole = TASK_TYPES["node_cls"].measure(split, "test", score, ("balanced_acc",))["test_balanced_acc"]
    assert whole == pytest.approx(balanced_accuracy_score(target, score.argmax(1)))
    assert whole != pytest.approx(found, abs=1e-6)


def test_graph_level_rows_are_cut_by_number():
    split = TASK_TYPES["graph_cls"].split(symmetric.csl(0), 0)
    assert batch_bounds(split, "test", 7) == [0, 7, 14, 21, 28, 30]
    assert batch_bounds(split, "test", 30) == [0, 30]


def test_one_batch_equals_the_whole(split):
    kind = as_published(TASK_TYPES["node_cls"], Protocol(compat=True, batch_size=100))
    score = np.random.default_rng(1).random((len(split.targets["val"]), 6))
    assert kind.measure(split, "val", score) == TASK_TYPES["node_cls"].measure(split, "val", score)


def test_nothing_changes_where_nothing_is_asked():
    kind = TASK_TYPES["graph_cls"]
    assert as_published(kind, Protocol()) is kind
    assert as_published(kind, Protocol(class_weights=True)) is kind  # has no meaning for graphs
    assert "compat" not in Protocol().as_dict()
    assert Protocol(compat=True).as_dict()["compat"] is True
    joint = TASK_TYPES["multi_reg"]  # measures its targets one by one, over the whole split
    assert as_published(joint, Protocol(compat=True)) is joint


def test_a_run_with_the_published_habits():
    task = task_from_dataset("cluster", "node_cls", sbm.cluster(0, train=6, val=3, test=5), epochs=1)
    values = {}
    for name, protocol in (("plain", {}), ("habits", {"class_weights": True, "compat": True})):
        report = run_benchmark(
            models=["bgnn.GCN"], tasks=[task], seeds=[0], backend="serial", verbose=False, hidden_channels=8,
            protocol={"batch_size": 2, **protocol},
        )  # fmt: skip
        values[name] = report.results[0]
        assert values[name].ok
    assert values["plain"].key != values["habits"].key
    assert values["plain"].metrics["test_acc"] != values["habits"].metrics["test_acc"]


def test_rows_of_neither_graphs_nor_nodes_are_refused(split):
    odd = TASK_TYPES["node_cls"].split(sbm.cluster(0, train=6, val=3, test=5), 0)
    odd.targets["test"] = odd.targets["test"][:-1]
    with pytest.raises(UsageError, match="batches of graphs or nodes"):
        batch_bounds(odd, "test", 2)


def test_an_encoding_must_say_its_rows():
    with pytest.raises(TypeError, match="abstract"):
        PositionalEncoding(3)
