"""Splits for separability: sizes, class proportions, independence of the number of runs, and their way to the engine."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch_geometric.data import Data

from graphnetz._core.errors import UsageError
from graphnetz.benchmark import get_split
from graphnetz.records import Task
from graphnetz.records.graphs import GraphList
from graphnetz.rings import perturb_task
from graphnetz.rings.splits import share_splits


def graphs(labels):
    edges = torch.tensor([[0, 1], [1, 0]])
    return [Data(x=torch.ones(2, 1) * i, edge_index=edges, y=torch.tensor([y])) for i, y in enumerate(labels)]


def load(root):
    return graphs([0] * 60 + [1] * 30)


@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(0, 2), min_size=20, max_size=60), st.integers(0, 50))
def test_parts_are_a_partition_with_the_classes_in_proportion(labels, seed):
    split = share_splits(graphs(labels), test=0.2, count=seed + 1)[seed]
    assert all(len(index) for index in split.values())
    joined = np.sort(np.concatenate(list(split.values())))
    assert joined.tolist() == list(range(len(labels)))
    label = np.array(labels)
    for number in set(labels):
        assert abs((label[split["test"]] == number).sum() - 0.2 * (label == number).sum()) < 1
        assert abs((label[split["val"]] == number).sum() - 0.1 * (label == number).sum()) <= 1


def test_a_split_is_a_function_of_its_number():
    few, many = share_splits(load(""), test=0.2, count=2), share_splits(load(""), test=0.2, count=5)
    for part in ("train", "val", "test"):
        assert few[1][part].tolist() == many[1][part].tolist()
        assert many[1][part].tolist() != many[2][part].tolist()
    # Every graph is tested equally often.
    counts = np.zeros(90)
    for split in share_splits(load(""), test=0.2, count=400):
        counts[split["test"]] += 1
    assert counts.sum() == 400 * 18
    assert np.abs(counts - 80).max() < 5 * np.sqrt(400 * 0.2 * 0.8)


def test_real_targets_and_shares():
    real = [Data(edge_index=torch.zeros(2, 0, dtype=torch.long), num_nodes=1, y=torch.rand(1)) for _ in range(30)]
    assert len(share_splits(real, test=0.2, count=1)[0]["test"]) == 6
    with pytest.raises(UsageError, match="leave room"):
        share_splits(real, test=0.95)
    assert [len(part) for part in share_splits(real[:3], test=0.1, count=1)[0].values()] == [1, 1, 1]
    with pytest.raises(UsageError, match="2 graphs cannot be split"):
        share_splits(real[:2], test=0.1)


def test_all_modes_of_a_run_share_their_split_and_given_splits_stay():
    task = Task("t", "graph_cls", load)
    one = get_split(perturb_task(task, "o", test_share=0.2), 4)
    other = get_split(perturb_task(task, "rg", vary=True, test_share=0.2), 4)
    assert torch.equal(one.test, other.test)
    assert one.n_test == 18
    assert get_split(perturb_task(task, "o"), 4).n_test == 9
    fixed = {"train": list(range(30, 90)), "val": list(range(20, 30)), "test": list(range(20))}
    given_split = Task("g", "graph_cls", lambda root: GraphList(load(root), splits=fixed))
    assert get_split(perturb_task(given_split, "eg", test_share=0.2), 7).test.tolist() == fixed["test"]
