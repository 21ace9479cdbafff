"""What is trained on: a task, and the card of the dataset behind it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from graphnetz._core.errors import UsageError
from graphnetz._core.text import counted
from graphnetz.records.section import Table

Replication = Literal["init", "resplit", "fold", "regenerate", "unknown"]
"""What a seed varies: initialisation on a fixed split, a fresh random split, a fold, fresh data.

``unknown`` is for loaders with a seed that do not say: they are tested as if runs shared training data.
"""
REPLICATIONS: tuple[str, ...] = get_args(Replication)


def check_replication(name: str | None) -> None:
    """Refuse a word that no analysis knows."""
    if name is not None and name not in REPLICATIONS:
        raise UsageError(f"Unknown replication {name!r}. Known: {', '.join(REPLICATIONS)}.")


@dataclass(frozen=True)
class CrossValidation:
    """Every seed is trained on every fold, as most papers with folds do.

    A cell's seed is ``seed * folds + fold``: it names both, and data with fixed splits find their fold in it.

    Parameters
    ----------
    folds
        How many fixed splits the data carry.
    seeds
        Seeds inside each fold; None takes those of the run. Seeds that a caller asks for win.

    Examples
    --------
    >>> CrossValidation(3).numbers((0, 41))
    (0, 1, 2, 123, 124, 125)
    """

    folds: int
    seeds: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        if self.folds < 2:
            raise UsageError(f"Cross-validation needs at least 2 folds, got {self.folds}.")

    def numbers(self, seeds: Sequence[int]) -> tuple[int, ...]:
        """Return the seeds of the cells, all folds of one seed before the next.

        Parameters
        ----------
        seeds
            Seeds inside each fold.

        Returns
        -------
        tuple of int
            As many as folds times seeds.

        Examples
        --------
        >>> [number % 5 for number in CrossValidation(5).numbers([12])]
        [0, 1, 2, 3, 4]
        """
        return tuple(seed * self.folds + fold for seed in seeds for fold in range(self.folds))

    def words(self, cells: int) -> str:
        """Return what ``cells`` of one model are: so many folds, so many seeds on each.

        Parameters
        ----------
        cells
            Cells of one model on the task.

        Returns
        -------
        str
            Words for a listing.

        Examples
        --------
        >>> CrossValidation(5).words(100)
        '5 folds x 20 seeds'
        """
        return f"{self.folds} folds x {counted(cells // self.folds, 'seed')}"


@dataclass(frozen=True, eq=False)
class ExampleNames:
    """What the files of a task call its nodes, classes and features; empty where they have only numbers.

    Examples
    --------
    >>> ExampleNames(classes=("cat", "dog")).classes[1]
    'dog'
    """

    nodes: Sequence[Any] = ()
    classes: Sequence[str] = ()
    features: Sequence[str] = ()


@dataclass(frozen=True, eq=False)
class DatasetCard:
    """Everything the product knows about a dataset before loading it.

    `LOADER_REGISTRY`, `BENCHMARK_TASKS`, the listings and the documentation derive from cards.

    Parameters
    ----------
    name, category
        Name of the dataset and the category it belongs to.
    serves
        Task type -> epoch budget, for each task type the dataset can serve.
    loader
        ``loader(root)`` returns the data.
    title, source, licence, citation
        What it is called, where it comes from, under which terms, whom to cite.
    checksum
        File name -> digest of the published file.
    simulated, offline
        Whether it is generated, and whether it loads without the network.
    graphs, nodes, edges, features, classes
        Sizes; None when unknown.
    extra
        Optional dependency that the loader needs.
    protocol
        Overrides of the protocol on this dataset.
    curated
        Task types that belong to the curated benchmark of the category.
    notes
        Remarks for the reader.
    mirror
        Addresses asked before the source.
    replication
        What a seed varies; None leaves it to the task type, which sees the data.
    metric
        Key of the headline metric, the official one where there is one, or keys by task type; None leaves it to the
        task type.
    evaluator
        Who says so: the evaluator or the paper that the metric is taken from.

    Examples
    --------
    >>> from graphnetz.datasets import CARDS
    >>> card = CARDS["random_tsp"]
    >>> card.category, card.simulated
    ('combinatorial', True)
    """

    name: str
    category: str
    serves: Mapping[str, int]
    loader: Callable[..., Any]
    title: str = ""
    source: str = ""
    licence: str = ""
    citation: str = ""
    checksum: Mapping[str, str] = field(default_factory=dict)
    simulated: bool = False
    offline: bool = False
    graphs: int | None = None
    nodes: int | None = None
    edges: int | None = None
    features: int | None = None
    classes: int | None = None
    extra: str | None = None
    protocol: Mapping[str, Any] = field(default_factory=dict)
    curated: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    mirror: tuple[str, ...] = ()
    replication: Replication | None = None
    metric: str | Mapping[str, str] | None = None
    evaluator: str = ""

    def __post_init__(self) -> None:
        check_replication(self.replication)

    def metric_of(self, task_type: str) -> str | None:
        """Return the key of the headline metric of one task type.

        Parameters
        ----------
        task_type
            One that the card serves.

        Returns
        -------
        str or None
            None leaves it to the task type.

        Examples
        --------
        >>> from graphnetz.datasets import CARDS
        >>> CARDS["cora"].metric_of("node_cls"), CARDS["cora"].metric_of("link_pred"), CARDS["tolokers"].evaluator[:15]
        ('acc', 'auc', 'Platonov et al.')
        """
        return self.metric.get(task_type) if isinstance(self.metric, Mapping) else self.metric

    def _repr_html_(self) -> str:
        """Return what it says for a notebook cell."""
        sizes = ((name, getattr(self, name)) for name in ("graphs", "nodes", "edges", "features", "classes"))
        facts = {
            "Category": self.category,
            "Serves": ", ".join(self.serves),
            "Size": ", ".join(f"{value:,} {name}" for name, value in sizes if value is not None),
            "Data": ("simulated" if self.simulated else "real") + (", nothing to download" if self.offline else ""),
            "A seed varies": self.replication or "",
            "Source": self.source,
            "Licence": self.licence,
            "Citation": self.citation,
            "Notes": " ".join(self.notes),
        }
        rows = tuple((name, value) for name, value in facts.items() if value)
        return Table((self.title or self.name, ""), rows)._repr_html_()

    @property
    def seeded(self) -> bool:
        """Whether the loader takes the benchmark seed; what the seed varies is for ``replication`` to say."""
        return takes_seed(self.loader)


@dataclass(frozen=True)
class Task:
    """One column of questions: a dataset, what is predicted on it, and how long to train.

    Parameters
    ----------
    name, task_type, loader, epochs
        As in the GraphNetz paper. ``loader(root)`` returns a PyTorch Geometric dataset, a list of
        ``Data`` or one ``Data``; a loader with a ``seed`` keyword receives the benchmark seed.
    card
        The dataset's card, when it has one.
    replication
        What a seed varies. None leaves it to the task type, which sees the data; where the loader takes a
        seed, the data of two seeds is compared.
    metric
        Key of the headline metric; None takes the first one the task type declares.
    protocol
        Overrides of the protocol for this task, such as ``{"lr": 1e-3}``.
    transform
        A PyG transform, applied to the data before they are split.
    category
        Category of the catalogue, for headings and listings.
    graph
        Identity of the underlying graph: two tasks with the same one are dependent blocks.
    model_protocol
        The same as ``protocol`` for single models of this task, by name: ``{"GIN": {"lr": 7e-3}}``.
        What the caller of a run asks for wins over both.
    after_split
        ``(split, seed) -> split``, called with every split of this task: what changes the graph that models
        see without changing what they are asked. Its code is part of a cell's key, as the loader's is.
    cross_validation
        Train every seed on every fold of data that carry fixed splits; None lets seeds take the splits in turn.
    names
        What its files call nodes, classes and features, for predictions that people read.

    Examples
    --------
    >>> import torch
    >>> from torch_geometric.data import Data
    >>> from graphnetz import Task
    >>> ring = Data(x=torch.eye(6), edge_index=torch.stack([torch.arange(6), (torch.arange(6) + 1) % 6]))
    >>> Task("ring", "link_pred", lambda root: ring, epochs=20).block
    'ring'
    """

    name: str
    task_type: str
    loader: Callable[..., Any]
    epochs: int = 100
    card: DatasetCard | None = field(default=None, compare=False)
    replication: Replication | None = None
    metric: str | None = None
    protocol: Mapping[str, Any] = field(default_factory=dict, compare=False)
    transform: Callable[[Any], Any] | None = field(default=None, compare=False)
    category: str | None = None
    graph: str | None = None
    model_protocol: Mapping[str, Mapping[str, Any]] = field(default_factory=dict, compare=False)
    after_split: Callable[[Any, int], Any] | None = field(default=None, compare=False)
    cross_validation: CrossValidation | None = None
    names: ExampleNames | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        check_replication(self.replication)

    @property
    def seeded(self) -> bool:
        """Whether the loader takes a ``seed`` keyword."""
        return takes_seed(self.loader)

    @property
    def block(self) -> str:
        """The graph this task stands on, for spotting dependent tasks."""
        return self.graph or (self.card.name if self.card else self.name)


def takes_seed(loader: Callable[..., Any]) -> bool:
    """Whether ``loader`` declares a ``seed`` parameter."""
    try:
        return "seed" in inspect.signature(loader).parameters
    except (TypeError, ValueError):  # builtins without a signature
        return False
