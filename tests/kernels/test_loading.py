"""Loaders inside `accelerate`: the batches of PyTorch Geometric, copied where the graphs are the ones that were seen."""

from __future__ import annotations

import copy

import pytest
import torch
from kernel_graphs import features, random_edges
from torch_geometric.data import Data, InMemoryDataset
from torch_geometric.loader import DataLoader
from torch_geometric.nn import GIN, global_mean_pool

from graphnetz import kernels as gk
from graphnetz.kernels.loading import _Collate


def graphs(count=9, **more):
    made = []
    for number in range(count):
        nodes, arcs = 2 + number % 4, 3 * (number % 5)
        made.append(
            Data(
                x=features(nodes, 3, number),
                edge_index=random_edges(nodes, arcs, number),
                edge_attr=features(arcs, 2, number),
                y=torch.tensor([number % 2]),
                level=torch.tensor(number / 2),
                **{key: value(nodes, arcs) for key, value in more.items()},
            )
        )
    return made


class Memory(InMemoryDataset):
    def __init__(self, given, transform=None):
        super().__init__(None, transform)
        self.data, self.slices = self.collate(given)


def assert_same(one, other):
    assert type(one) is type(other)
    assert one.keys() == other.keys()
    assert one.num_graphs == other.num_graphs
    for key in sorted(one.keys()):
        assert one[key].dtype == other[key].dtype
        assert torch.equal(one[key], other[key]), key
    for name in ("_slice_dict", "_inc_dict"):
        assert getattr(one, name).keys() == getattr(other, name).keys()
        for key, value in getattr(one, name).items():
            assert torch.equal(value, getattr(other, name)[key]), (name, key)
    for mine, theirs in zip(one.to_data_list(), other.to_data_list(), strict=True):
        assert mine.keys() == theirs.keys()
        assert all(torch.equal(mine[key], theirs[key]) for key in sorted(mine.keys()))


def batches(loader, seed=0):
    torch.manual_seed(seed)
    return list(loader)


def net():
    return GIN(3, 8, 2, 2).double()


@pytest.mark.parametrize("kind", [list, tuple, Memory])
def test_batches_are_those_of_pytorch_geometric(kind):
    loader = DataLoader(kind(graphs()), batch_size=4, shuffle=True)
    plain = loader.collate_fn
    want = batches(loader)
    with gk.accelerate(net(), loader):
        assert isinstance(loader.collate_fn, _Collate)
        got = batches(loader)
        with gk.enabled(False):
            off = batches(loader)
    assert loader.collate_fn is plain
    for some in (got, off):
        for one, other in zip(want, some, strict=True):
            assert_same(one, other)


def test_several_loaders_and_the_same_training():
    given = graphs(12)
    loaders = [DataLoader(given[:8], batch_size=3, shuffle=True), DataLoader(given[8:], batch_size=3)]
    outputs = []
    for fast in (False, True):
        torch.manual_seed(1)
        model = net()
        with gk.enabled(fast), gk.accelerate(model, loaders):
            optimiser = torch.optim.Adam(model.parameters(), lr=0.01)
            for _ in range(3):
                for batch in loaders[0]:
                    optimiser.zero_grad()
                    out = global_mean_pool(model(batch.x, batch.edge_index), batch.batch)
                    torch.nn.functional.cross_entropy(out, batch.y).backward()
                    optimiser.step()
            outputs.append(torch.cat([model(batch.x, batch.edge_index) for batch in loaders[1]]))
    torch.testing.assert_close(*outputs, atol=1e-9, rtol=1e-9)


def test_changed_graphs_are_seen():
    given = graphs(4)
    loader = DataLoader(given, batch_size=4)
    with gk.accelerate(net(), loader):
        list(loader)
        given[1].x[0] = 7.0  # in place
        assert_same(next(iter(loader)), DataLoader(given, batch_size=4).collate_fn(given))
        given[2].y = torch.tensor([5])  # another tensor
        given[3] = copy.deepcopy(given[3])  # another graph
        assert_same(next(iter(loader)), DataLoader(given, batch_size=4).collate_fn(given))
        for graph in given:
            graph.more = torch.ones(1)  # one more attribute
        assert_same(next(iter(loader)), DataLoader(given, batch_size=4).collate_fn(given))


def test_pooling_of_a_last_graph_without_nodes():
    given = [
        *graphs(3),
        Data(
            **{
                **graphs(1)[0].to_dict(),
                "x": torch.zeros(0, 3).double(),
                "edge_index": torch.zeros(2, 0).long(),
                "edge_attr": torch.zeros(0, 2).double(),
            }
        ),
    ]
    loader, model = DataLoader(given, batch_size=4), net()
    with gk.accelerate(model, loader):
        assert isinstance(loader.collate_fn, _Collate)
        batch = next(iter(loader))
        for size in (None, 4):
            got = global_mean_pool(batch.x, batch.batch, size)
            assert got.size(0) == (3 if size is None else 4)


class Other(Data):
    pass


class OwnLoader(DataLoader):
    pass


@pytest.mark.parametrize(
    "loader",
    [
        lambda: DataLoader(graphs(), follow_batch=["x"]),
        lambda: DataLoader(graphs(), exclude_keys=["y"]),
        lambda: DataLoader(graphs(name=lambda *_: "molecule")),
        lambda: DataLoader(graphs(ring_index=lambda nodes, _: torch.arange(nodes))),
        lambda: DataLoader(graphs(ragged=lambda nodes, _: torch.ones(nodes + 1))),
        lambda: DataLoader([Other(**graph.to_dict()) for graph in graphs()]),
        lambda: DataLoader(Memory(graphs(), transform=lambda graph: graph)),
        lambda: DataLoader([graphs()[0]] * 3),
        lambda: OwnLoader(graphs()),
        lambda: DataLoader(graphs(), num_workers=1),
        lambda: DataLoader([Data(edge_index=random_edges(3, 4), num_nodes=3) for _ in range(3)]),
    ],
    ids=["follow", "exclude", "words", "moved", "ragged", "class", "transform", "twice", "loader", "workers", "sized"],
)  # fmt: skip
def test_other_loaders_are_left_alone(loader):
    given = loader()
    with gk.accelerate(net(), given):
        assert not isinstance(given.collate_fn, _Collate)


def test_switched_off():
    loader = DataLoader(graphs())
    with gk.enabled(False), gk.accelerate(net(), loader):
        assert not isinstance(loader.collate_fn, _Collate)
