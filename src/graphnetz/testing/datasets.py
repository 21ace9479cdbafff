"""The contract of a dataset card and its loader."""

from __future__ import annotations

import inspect
import random
from typing import Any

import numpy as np
import torch
from torch_geometric.data import Data

from graphnetz.datasets import CARDS, CATEGORIES
from graphnetz.tasktypes import TASK_TYPES
from graphnetz.testing.contract import require, same, tensors

FACTS = ("title", "source", "licence", "citation")


def check_dataset(name: str, *, root: str = "data", load: bool | None = None, **options: Any) -> None:
    """Hold a dataset to its contract.

    The card says where the data comes from and under which licence, and names known task types with their
    epochs. The data is what the card says, is finite, serves those task types, is the same at every call,
    differs between seeds when the loader takes one, and loading leaves the global generators alone.

    Parameters
    ----------
    name
        Key of `graphnetz.datasets.CARDS`.
    root
        Folder where files are kept.
    load
        Whether to load the data; None loads it when the card says that it needs no download.
    **options
        Arguments of the loader, such as a smaller size; the counts of the card are then left out.

    Raises
    ------
    AssertionError
        With one sentence that says which promise is broken.

    Examples
    --------
    >>> check_dataset("les_miserables")
    """
    card, who = CARDS[name], f"The dataset {name!r}"
    require(card.name == name, f"{who} carries the name {card.name!r}.")
    require(card.category in CATEGORIES, f"{who} has the category {card.category!r}; known: {', '.join(CATEGORIES)}.")
    for fact in FACTS:
        require(getattr(card, fact), f"{who} does not state its {fact}.")
    require(card.loader.__doc__, f"{who} has a loader without a docstring.")
    require(inspect.signature(card.loader).parameters, f"{who} has a loader that does not take the folder of files.")
    require(card.serves, f"{who} serves no task type.")
    for kind, epochs in card.serves.items():
        require(kind in TASK_TYPES, f"{who} serves {kind!r}, which is not a task type.")
        require(isinstance(epochs, int) and epochs > 0, f"{who} gives {epochs!r} epochs for {kind!r}.")
    if card.offline if load is None else load:
        _check_data(who, name, root, options)


def _check_data(who: str, name: str, root: str, options: dict[str, Any]) -> None:
    card = CARDS[name]
    loaded = card.loader(root, **options)
    before = _generators()  # after a first call: a library may draw when it is imported
    again = card.loader(root, **options)
    require(same(before, _generators()), f"{who} draws from the global generators; make one of the seed.")
    graphs = _graphs(loaded)
    if not options:
        found = {
            "graphs": len(graphs), "nodes": sum(g.num_nodes for g in graphs), "edges": sum(g.num_edges for g in graphs)
        }  # fmt: skip
        for fact, count in found.items():
            wanted = getattr(card, fact)
            require(wanted in (None, count), f"{who} has {count:,} {fact}; its card says {wanted}.")
    for data in graphs[:20]:
        data.validate()
        if data.x is not None:
            require(torch.isfinite(data.x.float()).all(), f"{who} has features that are not finite numbers.")
            width = data.x.size(1) if data.x.dim() > 1 else 1
            require(card.features in (None, width), f"{who} has {width} features; its card says {card.features}.")
    content = tensors(graphs[:10])
    require(same(content, tensors(_graphs(again)[:10])), f"{who} differs from call to call.")
    for kind in card.serves:
        split = TASK_TYPES[kind].split(loaded, 0)
        require(split.n_train and split.n_test, f"{who} leaves nothing to train or to test on for {kind!r}.")
    if card.seeded:
        first, other = (tensors(_graphs(card.loader(root, seed=seed, **options))[:10]) for seed in (1, 2))
        require(not same(first, other), f"{who} takes a seed that changes nothing.")


def _generators() -> list[Any]:
    """Return the state of the three global generators."""
    state: Any = np.random.get_state(legacy=False)
    return [state["state"]["key"].copy(), state["state"]["pos"], torch.get_rng_state(), random.getstate()[1]]


def _graphs(loaded: Any) -> list[Any]:
    return [loaded] if isinstance(loaded, Data) else [loaded[i] for i in range(len(loaded))]
