"""What every card promises; the cards that need no download are loaded and counted."""

import pickle
import subprocess
import sys

import pytest
import torch
from torch_geometric.data import Data

from graphnetz._core.errors import UnknownNameError, UsageError
from graphnetz.datasets import (
    BENCHMARK_TASKS,
    CARDS,
    CATEGORIES,
    LOADER_REGISTRY,
    dataset,
    find_task,
    iter_benchmark_tasks,
    list_datasets,
    task_of,
)
from graphnetz.datasets.generators import build
from graphnetz.engine.identity.code import code_hash
from graphnetz.testing import check_dataset

SMALLER = {
    "pattern": {"train": 20, "val": 5, "test": 5},
    "cluster": {"train": 20, "val": 5, "test": 5},
    "cycles": {"train": 20, "val": 5, "test": 5},
    "graph_theory_prop": {"train": 20, "val": 5, "test": 5},
}
SMALLER |= {
    name: {"train": 30, "val": 6, "test": 6, "ood": 2, "larger": (18, 20)} for name in CARDS if name.startswith("algo_")
}
OFFLINE = [name for name in CARDS if CARDS[name].offline]
SEEDED = [name for name in OFFLINE if CARDS[name].seeded]
TASK_TYPES = {"node_cls", "graph_cls", "graph_reg", "link_pred", "edge_cls", "multi_reg"}


def _graphs(loaded):
    return [loaded] if isinstance(loaded, Data) else [loaded[i] for i in range(len(loaded))]


def _load(name, **options):
    return CARDS[name].loader("nowhere", **SMALLER.get(name, {}), **options)


@pytest.mark.parametrize("name", list(CARDS))
def test_contract_of_every_card(name):
    check_dataset(name, root="nowhere", **SMALLER.get(name, {}))


@pytest.mark.parametrize("name", OFFLINE)
def test_offline_cards_serve_what_they_say(name):
    card, graphs = CARDS[name], _graphs(_load(name))
    assert all(data.num_edges > 0 for data in graphs[:20])
    for kind in card.serves:
        _CHECKS[kind](graphs, card)


def _check_node(graphs, card):
    labels = torch.cat([g.y for g in graphs])
    assert labels.min() == 0
    assert labels.unique().numel() >= 2
    if len(graphs) == 1:
        masks = torch.stack([graphs[0][key] for key in ("train_mask", "val_mask", "test_mask")])
        assert masks.dtype == torch.bool
        assert (masks.sum(0) <= 1).all()
        assert (masks.flatten(1).sum(1) > 0).all()
    if set(card.serves) == {"node_cls"} and card.classes is not None:
        assert labels.unique().numel() == card.classes


def _check_graph(graphs, card):
    targets = torch.cat([g.y.reshape(1, -1) for g in graphs])
    assert len(targets) == len(graphs) >= 100 or card.name in SMALLER
    if not targets.is_floating_point() and card.classes is not None:
        assert targets.unique().numel() == card.classes


def _check_edges(graphs, card):
    for data in graphs:
        assert data.edge_label.shape == (data.num_edges,)
    assert torch.cat([g.edge_label for g in graphs]).unique().tolist() == list(range(card.classes))


def _check_link(graphs, card):
    first = graphs[0]
    pairs = {frozenset(pair) for pair in first.edge_index.T.tolist()}
    assert len(pairs) >= 20
    if hasattr(first, "train_edge_index"):
        assert first.num_relations > int(first.edge_type.max())


def _check_multi(graphs, card):
    for data in graphs:
        assert data.y_node.size(0) == data.num_nodes
        assert data.y_graph.size(0) == 1


_CHECKS = {
    "node_cls": _check_node,
    "graph_cls": _check_graph,
    "graph_reg": _check_graph,
    "edge_cls": _check_edges,
    "link_pred": _check_link,
    "multi_reg": _check_multi,
}


@pytest.mark.parametrize("name", SEEDED)
def test_cards_with_a_seed_are_fresh_data(name):
    assert task_of(name).replication == "regenerate"


@pytest.mark.parametrize("name", OFFLINE)
def test_the_code_of_a_generator_is_part_of_a_key(name, monkeypatch):
    loader = CARDS[name].loader
    before = code_hash(loader)
    assert before == code_hash(pickle.loads(pickle.dumps(loader)))
    monkeypatch.setattr(build, "graph", lambda *_, **__: None)  # as every generator has taken it: by its name
    for module in [item for key, item in sys.modules.items() if key.startswith("graphnetz.datasets.generators.")]:
        if hasattr(module, "graph"):
            monkeypatch.setattr(module, "graph", build.graph)
    assert isinstance(before, str)
    assert code_hash(loader) != before


def test_registries_derive_from_the_cards():
    assert list(LOADER_REGISTRY) == list(CATEGORIES)
    listed = {
        (category, kind, name)
        for category, kinds in LOADER_REGISTRY.items()
        for kind, rows in kinds.items()
        for name, _ in rows
    }
    assert listed == {(card.category, kind, card.name) for card in CARDS.values() for kind in card.serves}
    curated = {(c, kind, t.card.name) for c, kinds in BENCHMARK_TASKS.items() for kind, ts in kinds.items() for t in ts}
    assert curated == {(card.category, kind, card.name) for card in CARDS.values() for kind in card.curated}
    assert {kind for kinds in BENCHMARK_TASKS.values() for kind in kinds} <= TASK_TYPES - {"edge_cls", "multi_reg"}


def test_task_names_are_unique_and_found():
    names = [task_of(card, kind).name for card in CARDS.values() for kind in card.serves]
    assert len(names) == len(set(names))
    for name in names:
        assert find_task(name).name == name
    assert find_task("random_tsp").task_type == "link_pred"
    assert find_task("random_tsp_edge_cls").task_type == "edge_cls"
    with pytest.raises(UnknownNameError, match="Did you mean 'random_tsp'"):
        find_task("random_tps")


def test_listing_filters():
    assert set(list_datasets("combinatorial", "edge_cls")) <= set(list_datasets("combinatorial")) < set(list_datasets())
    assert next(t.name for t in iter_benchmark_tasks("physics", "link_pred")) == "ising_lattice"
    with pytest.raises(UnknownNameError, match="Did you mean 'social'"):
        list_datasets("socal")
    with pytest.raises(UnknownNameError, match="category"):
        list(iter_benchmark_tasks("socal"))


def test_wrong_declarations_are_refused():
    def loader(_root):
        """Never called."""

    with pytest.raises(UnknownNameError, match="category"):
        dataset("sociall", serves={"node_cls": 1})
    with pytest.raises(UsageError, match="curated"):
        dataset("social", serves={"node_cls": 1}, curated=("link_pred",))
    with pytest.raises(UsageError, match="already registered"):
        dataset("social", serves={"node_cls": 1}, name="random_tsp")(loader)
    with pytest.raises(UsageError, match="plain file name"):
        dataset("social", serves={"node_cls": 1}, name="../x")(loader)
    with pytest.raises(UsageError, match="does not serve"):
        task_of("random_tsp", "node_cls")
    assert "../x" not in CARDS


def test_listing_needs_no_heavy_import():
    code = (
        "import sys, graphnetz.datasets as d; d.list_datasets(); "
        "print([m for m in ('torch', 'scipy', 'pandas', 'sklearn', 'networkx', 'numba') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120)
    assert done.stdout.strip() == "[]"
