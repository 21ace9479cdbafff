"""Dataset cards: one decorated function per dataset; every listing and task derives from its card.

Nothing here imports torch, so that datasets can be listed without it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, TypeVar

from graphnetz._core.errors import UsageError, unknown_name
from graphnetz._core.paths import slug
from graphnetz._core.registry import Registry
from graphnetz.records import DatasetCard, Task

Loader = Callable[..., Any]
L = TypeVar("L", bound=Callable[..., Any])

CATEGORIES: Mapping[str, str] = MappingProxyType(
    {
        "combinatorial": "Instances of optimisation problems: tours, routes, flows, matchings, colourings, cuts.",
        "biology": "Molecules, proteins, tissues, brains and contacts between people.",
        "social": "Citations, pages, friendships and other ties between people or their works.",
        "knowledge": "Entities joined by typed relations.",
        "infrastructure": "Power, road, air and transit networks.",
        "finance": "Transactions, products, boards and patents.",
        "computing": "The internet and other networks of machines.",
        "vision": "Images and shapes as graphs.",
        "physics": "Lattices and molecules with physical targets.",
        "security": "Malware and covert networks.",
    }
)
"""The ten categories in the order of the GraphNetz paper, each with one line on what it holds."""

CURATED_TASK_TYPES = ("node_cls", "graph_cls", "graph_reg", "link_pred")
"""Task types that the curated benchmark of the ten categories holds; suites hold the others."""

LOADER_REGISTRY: dict[str, dict[str, list[tuple[str, Loader]]]] = {category: {} for category in CATEGORIES}
"""``LOADER_REGISTRY[category][task_type]`` lists (name, loader); derived from the cards."""

BENCHMARK_TASKS: dict[str, dict[str, list[Task]]] = {category: {} for category in CATEGORIES}
"""``BENCHMARK_TASKS[category][task_type]`` lists the curated tasks, plus those added by `register_task`."""


class _Cards(Registry[DatasetCard]):
    """Cards, and the two listings that derive from them."""

    def add(self, name: str, entry: DatasetCard) -> None:
        super().add(name, entry)
        for kind in entry.serves:
            LOADER_REGISTRY[entry.category].setdefault(kind, []).append((name, entry.loader))
        for kind in entry.curated:
            BENCHMARK_TASKS[entry.category].setdefault(kind, []).append(task_of(entry, kind))

    def remove(self, name: str) -> DatasetCard | None:
        card = super().remove(name)
        if card is not None:
            for rows in LOADER_REGISTRY[card.category].values():
                rows[:] = [row for row in rows if row[0] != name]
            for tasks in BENCHMARK_TASKS[card.category].values():
                tasks[:] = [task for task in tasks if task.card is not card]
        return card


CARDS: Registry[DatasetCard] = _Cards(
    "dataset",
    entry_points="graphnetz.datasets",
    accepts=DatasetCard,
    named="name",
    decorator="graphnetz.datasets.cards.dataset",
)
"""Every dataset by name. A third party names an entry point after its dataset and points it at the
decorated loader."""


def dataset(
    category: str,
    *,
    serves: Mapping[str, int],
    curated: tuple[str, ...] = (),
    name: str | None = None,
    **facts: Any,
) -> Callable[[L], L]:
    """Register the decorated loader's card and return the loader unchanged.

    Parameters
    ----------
    category
        One of `CATEGORIES`.
    serves
        Task types the dataset serves, each with its epoch budget. The first one names the plain
        task, the others are called ``<name>_<task_type>``.
    curated
        Those of ``serves`` that belong to the curated benchmark of the category.
    name
        Name of the dataset; the loader's own name when left out.
    **facts
        The remaining fields of `DatasetCard`: title, source, licence, citation, simulated, offline,
        graphs, nodes, edges, features, classes, extra, protocol, notes, checksum, mirror, metric and evaluator, and
        ``replication``, what a seed varies, for a loader with a ``seed`` argument.

    Returns
    -------
    callable
        Decorator for the loader.

    Examples
    --------
    >>> from graphnetz.datasets import CARDS, LOADER_REGISTRY, dataset
    >>> @dataset("social", serves={"node_cls": 100}, name="my_network")
    ... def load(root):
    ...     ...
    >>> CARDS["my_network"].category
    'social'
    >>> _ = CARDS.remove("my_network"), LOADER_REGISTRY["social"]["node_cls"].pop()  # leave all as it was
    """
    if category not in CATEGORIES:
        raise unknown_name("category", category, CATEGORIES)
    stray = [kind for kind in curated if kind not in serves or kind not in CURATED_TASK_TYPES]
    if stray:
        raise UsageError(
            f"The curated task types {stray} are not served or not among {list(CURATED_TASK_TYPES)}; name served ones."
        )

    def file(loader: L) -> L:
        card = DatasetCard(
            name=name or loader.__name__,
            category=category,
            serves=dict(serves),
            loader=loader,
            curated=curated,
            **facts,
        )
        if slug(card.name) != card.name:
            raise UsageError(f"The dataset name {card.name!r} is not a plain file name; use {slug(card.name)!r}.")
        CARDS.add(card.name, card)
        return loader

    return file


def task_name(card: DatasetCard, task_type: str) -> str:
    """Return the task's name: the card's own for the type it serves first, suffixed for the others."""
    return card.name if task_type == next(iter(card.serves)) else f"{card.name}_{task_type}"


def task_of(card: DatasetCard | str, task_type: str | None = None) -> Task:
    """Return a task on a card's dataset.

    Parameters
    ----------
    card
        A card, or the name of its dataset.
    task_type
        One of the task types the card serves; None takes the first.

    Returns
    -------
    Task
        Nothing is loaded yet.

    Examples
    --------
    >>> from graphnetz.datasets import task_of
    >>> task_of("random_tsp", "edge_cls").name
    'random_tsp_edge_cls'
    """
    if isinstance(card, str):
        card = CARDS[card]
    kind = task_type or next(iter(card.serves))
    if kind not in card.serves:
        raise UsageError(
            f"The dataset {card.name!r} does not serve the task type {kind!r}. It serves: {', '.join(card.serves)}."
        )
    return Task(
        name=task_name(card, kind),
        task_type=kind,
        loader=card.loader,
        epochs=card.serves[kind],
        card=card,
        replication=card.replication,
        metric=card.metric_of(kind),
        protocol=card.protocol,
        category=card.category,
        graph=card.name,
    )


def list_datasets(category: str | None = None, task_type: str | None = None) -> list[str]:
    """Return dataset names in the order of the categories.

    Parameters
    ----------
    category
        Only datasets of this category; None takes all.
    task_type
        Only datasets that serve this task type; None takes all.

    Returns
    -------
    list of str
        Names, as `find_task` and ``graphnetz run --task`` take them.

    Examples
    --------
    >>> from graphnetz import list_datasets
    >>> "random_tsp" in list_datasets("combinatorial", "edge_cls")
    True
    """
    chosen = list(CATEGORIES) if category is None else [_known_category(category)]
    return [
        card.name
        for name in chosen
        for card in CARDS.values()
        if card.category == name and (task_type is None or task_type in card.serves)
    ]


def real_graphs(*, at_most: int = 20_000) -> list[str]:
    """Return the datasets that are one real graph: the one list from which the bank of the selection is fed.

    Parameters
    ----------
    at_most
        Largest number of nodes. Datasets whose card does not state it are left out.

    Returns
    -------
    list of str
        Names in the order of the categories.

    Examples
    --------
    >>> from graphnetz.datasets import real_graphs
    >>> "french_grid" in real_graphs(), "random_tsp" in real_graphs()
    (True, False)
    """
    names = (CARDS[name] for name in list_datasets())
    return [
        card.name
        for card in names
        if not card.simulated and card.graphs in (None, 1) and 0 < (card.nodes or 0) <= at_most
    ]


def iter_benchmark_tasks(category: str | None = None, task_type: str | None = None) -> Iterator[Task]:
    """Yield the curated tasks and those added by `register_task`, category by category.

    Parameters
    ----------
    category
        Only tasks of this category; None takes all.
    task_type
        Only tasks of this type; None takes all.

    Yields
    ------
    Task
        In the order of the catalogue.

    Examples
    --------
    >>> from graphnetz import iter_benchmark_tasks
    >>> {task.task_type for task in iter_benchmark_tasks("social", "node_cls")}
    {'node_cls'}
    """
    len(CARDS)  # a plug-in's datasets join on the first listing
    names = list(BENCHMARK_TASKS) if category is None else [_known_category(category)]
    for name in names:
        for kind, tasks in BENCHMARK_TASKS[name].items():
            if task_type is None or kind == task_type:
                yield from list(tasks)


def find_task(name: str) -> Task:
    """Return the task called ``name``: registered, of a card, or of a suite.

    Parameters
    ----------
    name
        Name of a task; a wrong one is answered with the nearest known names.

    Returns
    -------
    Task
        Nothing is loaded yet.

    Examples
    --------
    >>> from graphnetz.datasets import find_task
    >>> find_task("random_tsp_edge_cls").task_type
    'edge_cls'
    """
    for task in iter_benchmark_tasks():
        if task.name == name:
            return task
    known: dict[str, tuple[DatasetCard, str]] = {
        task_name(card, kind): (card, kind) for card in CARDS.values() for kind in card.serves
    }
    if name in known:
        return task_of(*known[name])
    from graphnetz.datasets.suites import SUITES  # suites are made of cards, so they import this module

    others = {task.name: task for suite in SUITES.values() for task in suite()}
    if name in others:
        return others[name]
    custom = [task.name for task in iter_benchmark_tasks()]
    raise unknown_name("task", name, {*known, *others, *custom})


def _known_category(category: str) -> str:
    """Return ``category`` when it exists (built in or made by `register_task`), else say which do."""
    if category not in BENCHMARK_TASKS:
        raise unknown_name("category", category, BENCHMARK_TASKS)
    return category
