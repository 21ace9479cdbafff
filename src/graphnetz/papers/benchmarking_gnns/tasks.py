"""Tasks of Dwivedi et al., Benchmarking Graph Neural Networks (JMLR 24(43), 2023), under their protocol.

``size="published"`` is the data as published; ``size="small"`` keeps the generated datasets only, with fewer graphs
and shorter training (`SMALL` says how much). Nothing here imports torch.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from graphnetz._core.errors import unknown_name
from graphnetz.datasets.cards import CARDS, task_of
from graphnetz.records import GraphList, Plateau, Task

Size = Literal["published", "small"]
SIZES: tuple[Size, ...] = ("published", "small")

POSITIONS: Mapping[str, int] = {"zinc": 8, "aqsol": 4, "pattern": 2, "cluster": 20, "csl": 20, "cycles": 20,
                                "graph_theory_prop": 12, "wikics": 20}  # fmt: skip
"""Number of Laplacian eigenvectors on each dataset."""

CYCLES_TRAIN = (200, 500, 1000, 5000)
"""Training graphs of the CYCLES rows."""


def _protocol(batch_size: int, lr: float, patience: int, min_lr: float, **more: Any) -> dict[str, Any]:
    """Adam with the rate halved at plateaus of the validation loss; metrics of the last epoch."""
    plan = Plateau(factor=0.5, patience=patience, min_lr=min_lr)
    return {"batch_size": batch_size, "lr": lr, "weight_decay": 0.0, "schedule": plan, "selection": "last"} | more


PROTOCOLS: Mapping[str, Mapping[str, Any]] = {
    "zinc": _protocol(128, 1e-3, 10, 1e-5),
    "aqsol": _protocol(128, 1e-3, 10, 1e-5),
    "mnist_superpixels_slic": _protocol(128, 1e-3, 10, 1e-5),
    "cifar10_superpixels": _protocol(128, 1e-3, 10, 1e-5),
    "pattern": _protocol(128, 1e-3, 5, 1e-5, class_weights=True),
    "cluster": _protocol(128, 1e-3, 5, 1e-5, class_weights=True),
    "wikics": _protocol(128, 1e-2, 25, 1e-5, weight_decay=5e-4),
    "ogbl_collab": _protocol(128, 1e-3, 10, 1e-5),
    "csl": _protocol(5, 5e-4, 5, 1e-6),
    "cycles": _protocol(25, 1e-4, 10, 1e-6),
    "graph_theory_prop": _protocol(25, 1e-3, 15, 1e-6),
    "enzymes": _protocol(20, 1e-3, 25, 1e-6),
    "dd": _protocol(20, 1e-4, 25, 1e-6),
    "proteins": _protocol(20, 1e-4, 25, 1e-6),
    "random_tsp": _protocol(64, 1e-3, 10, 1e-5),
}
"""Batch size, first rate, patience and last rate as published."""

_RATED = ("MLP", "GCN", "GCN-vanilla", "GraphSAGE", "MoNet", "GAT", "GatedGCN", "GIN", "RingGNN", "3WLGNN")
RATES: Mapping[str, Mapping[str, float]] = {
    name: {f"bgnn.{model}": rate for model, rate in zip(_RATED, rates, strict=True)}
    for name, rates in (
        ("enzymes", (1e-3, 7e-4, 7e-4, 7e-4, 1e-3, 1e-3, 7e-4, 7e-3, 1e-4, 1e-3)),
        ("dd", (1e-4, 7e-4, 7e-4, 1e-3, 1e-5, 5e-5, 1e-5, 1e-3, 1e-4, 1e-4)),
        ("proteins", (1e-4, 7e-4, 7e-4, 7e-5, 7e-5, 1e-3, 1e-4, 1e-4, 7e-5, 1e-3)),
    )
}
"""First rate of every model where the paper chose one for each; other models take that of `PROTOCOLS`."""

METRIC: Mapping[str, str] = {
    "ogbl_collab": "hits@50",
    "pattern": "balanced_acc",
    "cluster": "balanced_acc",
    "graph_theory_prop": "log_mse",
    "random_tsp": "f1",
}
"""Headline metrics that are not the first of their task type."""

SMALL: Mapping[str, tuple[Mapping[str, Any], int, Mapping[str, Any]]] = {
    "csl": ({}, 120, {"schedule": Plateau(patience=7, min_lr=1e-6)}),
    "cycles": (
        {"train": 1000, "val": 100, "test": 500},
        40,
        {"lr": 1e-3, "schedule": Plateau(patience=4, min_lr=1e-6)},
    ),
    "graph_theory_prop": (
        {"train": 500, "val": 100, "test": 300},
        40,
        {"schedule": Plateau(patience=1, min_lr=1e-6)},
    ),
    "pattern": ({"train": 1000, "val": 100, "test": 200}, 8, {"batch_size": 16}),
    "cluster": ({"train": 1000, "val": 100, "test": 200}, 8, {"batch_size": 16}),
    "random_tsp": ({"num_graphs": 64}, 10, {"batch_size": 16}),
}
"""What ``size="small"`` changes: arguments of the generator, epochs, protocol. Other datasets are left out."""

EPOCHS = 1000


@dataclass(frozen=True)
class Positions:
    """Laplacian eigenvectors with random signs while training, as a transform that loads torch when it is used."""

    k: int

    def __call__(self, data: Any) -> Any:
        """Encode one graph."""
        return self.many([data])[0]

    def many(self, graphs: list[Any]) -> list[Any]:
        """Encode a list of graphs."""
        from graphnetz.tasktypes.encodings import LaplacianPE

        return LaplacianPE(self.k).many(graphs)


FOLDED: Mapping[str, tuple[str, str, int | None]] = {
    "enzymes": ("ENZYMES", "enzymes_attributes", 18),
    "dd": ("DD", "dd", None),
    "proteins": ("PROTEINS", "proteins_folds", None),
}
"""TU datasets: name in the collection, name of the task, and how many attributes stand for the node labels."""


def folded(root: str, *, name: str, mirror: Any = None) -> GraphList:
    """Return a TU dataset with ten stratified folds of our own (8:1:1); ENZYMES with its 18 attributes only."""
    import numpy as np

    from graphnetz._core.rng import generator
    from graphnetz.datasets.generators.symmetric import stratified_folds
    from graphnetz.datasets.sources.tu import tu_dataset

    theirs, _, attributes = FOLDED[name]
    graphs = [graph.clone() for graph in tu_dataset(root, theirs, use_node_attr=attributes is not None, mirror=mirror)]
    if attributes is not None:
        for graph in graphs:
            graph.x = graph.x[:, :attributes]
    labels = np.array([int(graph.y) for graph in graphs])
    folds = stratified_folds(labels, generator(f"{name}-folds", 41), folds=10)
    return GraphList(graphs, splits=folds, replication="fold")


def study_task(name: str, *, size: Size = "published", pe: bool = False, train: int | None = None) -> Task | None:
    """Return the task on a dataset under the published protocol, or None where ``size`` leaves it out.

    ``pe`` adds Laplacian positional encodings and "_pe" to the name; ``train`` sets the training graphs of CYCLES.
    """
    if name not in PROTOCOLS:
        raise unknown_name("dataset of the studies", name, PROTOCOLS)
    if size == "small" and name not in SMALL:
        return None
    kind = "edge_cls" if name == "random_tsp" else None
    base = task_of(CARDS[name], kind)
    arguments, epochs, changes = SMALL[name] if size == "small" else ({}, EPOCHS, {})
    loader: Callable[..., Any] = functools.partial(folded, name=name) if name in FOLDED else base.loader
    if train is not None:
        arguments = {**arguments, "train": train} if size == "small" else {"train": train}
    label = FOLDED[name][1] if name in FOLDED else base.name
    label += (f"_{train}" if train is not None else "") + ("_pe" if pe else "") + ("_small" if size == "small" else "")
    return dataclasses.replace(
        base,
        name=label,
        loader=functools.partial(loader, **arguments) if arguments else loader,
        epochs=epochs,
        metric=METRIC.get(name),
        protocol={**PROTOCOLS[name], **changes},
        model_protocol={model: {"lr": rate} for model, rate in RATES.get(name, {}).items()},
        transform=Positions(POSITIONS[name]) if pe else None,
    )


def _listed(size: Size, *names: str | tuple[str, dict[str, Any]]) -> list[Task]:
    wanted = [(item, {}) if isinstance(item, str) else item for item in names]
    made = (study_task(name, size=size, **options) for name, options in wanted)
    return [task for task in made if task is not None]


_PE: dict[str, Any] = {"pe": True}


def benchmarking_gnns(size: Size = "published") -> list[Task]:
    """Return the datasets of Benchmarking GNNs at equal parameter budgets (Dwivedi et al., 2023)."""
    return _listed(
        size, "zinc", "aqsol", "ogbl_collab", "wikics", "mnist_superpixels_slic", "cifar10_superpixels", "pattern",
        "cluster", "csl", ("csl", _PE), "cycles", ("cycles", _PE), "graph_theory_prop", ("graph_theory_prop", _PE),
        "random_tsp", "enzymes", "dd", "proteins",
    )  # fmt: skip


def pe_study(size: Size = "published") -> list[Task]:
    """Return CSL, CYCLES and GraphTheoryProp without and with positional encodings (Tables 10 to 12)."""
    sizes = CYCLES_TRAIN if size == "published" else (1000,)
    cycles = [("cycles", {"train": n, "pe": pe}) for n in sizes for pe in (False, True)]
    return _listed(size, "csl", ("csl", _PE), *cycles, "graph_theory_prop", ("graph_theory_prop", _PE))


def csl_study(size: Size = "published") -> list[Task]:
    """Return CSL without and with positional encodings: five folds, twenty seeds each (Table 10)."""
    return _listed(size, "csl", ("csl", _PE))


def anisotropy_study(size: Size = "published") -> list[Task]:
    """Return the datasets on which isotropic and anisotropic layers are compared (Tables 3 to 8)."""
    return _listed(
        size, "zinc", "aqsol", "wikics", "mnist_superpixels_slic", "cifar10_superpixels", "pattern", "cluster"
    )


def edge_study(size: Size = "published") -> list[Task]:
    """Return the edge tasks on which edge representations are compared (Tables 14 and 15); the tours are our own."""
    return _listed(size, "random_tsp", "ogbl_collab")


def budget_study(size: Size = "published") -> list[Task]:
    """Return the datasets with published rows at 100k and 500k parameters (Tables 3, 4 and 8)."""
    return _listed(size, "zinc", "aqsol", "pattern", "cluster")
