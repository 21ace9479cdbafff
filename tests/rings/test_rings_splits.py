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
from graphnetz.rings.splits import MASKS, fresh_masks, share_splits


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


def masked(n=40, *, classes=3, columns=0):
    """One graph whose last nodes are in no part; ``columns`` published splits in the place of one."""
    rng = np.random.default_rng(0)
    data = Data(
        x=torch.eye(n), edge_index=torch.from_numpy(rng.integers(0, n, (2, 3 * n))), y=torch.arange(n) % classes
    )
    part = torch.arange(n) // (n // 4)  # the last quarter belongs to nothing
    for number, name in enumerate(MASKS):
        mask = part == number
        data[name] = torch.stack([mask, mask.roll(5)][:columns], dim=1) if columns else mask
    return data


@pytest.mark.parametrize("columns", [0, 2])
def test_fresh_masks_keep_the_size_of_every_class_in_every_part(columns):
    data = masked(columns=columns)
    fresh = fresh_masks(data, count=30)
    first = [data[name][:, 0] if columns else data[name] for name in MASKS]
    masks = [fresh[name] for name in MASKS]
    named = torch.stack(first).any(dim=0)
    assert torch.equal(torch.stack(masks).sum(dim=0), named[:, None].expand(-1, 30).long())  # a partition of the same
    for before, after in zip(first, masks, strict=True):
        for value in range(3):
            assert set(after[data.y == value].sum(dim=0).tolist()) == {int(before[data.y == value].sum())}
    columns_seen = {tuple(fresh.test_mask[:, s].tolist()) for s in range(30)}
    assert len(columns_seen) == 30
    again = fresh_masks(data, count=3)
    assert torch.equal(again.test_mask, fresh.test_mask[:, :3])
    assert data.train_mask.dim() == (2 if columns else 1)  # the input is as it was
    assert not hasattr(fresh_masks(Data(num_nodes=3), count=2), "train_mask")


def test_fresh_masks_without_one_class_per_node():
    data = masked()
    data.y = torch.rand(40, 4)
    assert set(fresh_masks(data, count=5).val_mask.sum(dim=0).tolist()) == {10}


def test_resplit_takes_the_place_of_given_splits_in_all_modes_alike():
    nodes = Task("n", "node_cls", lambda root: GraphList([masked()]))
    kept, drawn = perturb_task(nodes, "eg"), perturb_task(nodes, "eg", resplit=True)
    assert torch.equal(get_split(kept, 0).test, get_split(kept, 1).test)
    one, two = get_split(drawn, 0), get_split(drawn, 1)
    assert not torch.equal(one.test, two.test)
    assert (one.replication, get_split(kept, 0).replication) == ("resplit", "init")
    other = get_split(perturb_task(nodes, "rf", vary=True, resplit=True), 1)
    assert torch.equal(other.test, two.test)
    fixed = {"train": list(range(30, 90)), "val": list(range(20, 30)), "test": list(range(20))}
    given_split = Task("g", "graph_cls", lambda root: GraphList(load(root), splits=fixed))
    fresh = get_split(perturb_task(given_split, "eg", resplit=True), 3)
    assert fresh.n_test == 18
    assert fresh.test.tolist() != fixed["test"]
