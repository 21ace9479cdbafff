"""Tasks of Dwivedi et al., Benchmarking Graph Neural Networks (JMLR 24(43), 2023), under their protocol.

``size="published"`` is the published files (CYCLES and GraphTheoryProp, published as objects of another library, are
generated); ``size="generated"`` the published sizes and protocol on data of our own generators or rebuilt from their
sources; ``size="small"`` fewer graphs of these and shorter training (`SMALL` says how much). This imports no torch.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from graphnetz._core.errors import unknown_name
from graphnetz.datasets.cards import CARDS, task_of
from graphnetz.records import CrossValidation, GraphList, Plateau, Task
from graphnetz.records.suite import Published, read_published

Size = Literal["published", "generated", "small"]
SIZES: tuple[Size, ...] = ("published", "generated", "small")

SOURCES: Mapping[str, tuple[str, str | None]] = {
    "zinc": ("zinc", None),
    "aqsol": ("bgnn_aqsol", "aqsol"),
    "mnist_superpixels_slic": ("mnist_superpixels_slic", None),
    "cifar10_superpixels": ("cifar10_superpixels", None),
    "pattern": ("bgnn_pattern", "pattern"),
    "cluster": ("bgnn_cluster", "cluster"),
    "wikics": ("wikics", None),
    "ogbl_collab": ("ogbl_collab", None),
    "csl": ("bgnn_csl", "csl"),
    "cycles": ("cycles", "cycles"),
    "graph_theory_prop": ("graph_theory_prop", "graph_theory_prop"),
    "enzymes": ("bgnn_enzymes", "enzymes"),
    "dd": ("bgnn_dd", "dd"),
    "proteins_full": ("bgnn_proteins_full", "proteins_full"),
    "tsp": ("bgnn_tsp", "random_tsp"),
}
"""Cards of the published files, and of data of our own that stands in for them at other sizes."""

POSITIONS: Mapping[str, int] = {"zinc": 8, "aqsol": 4, "pattern": 2, "cluster": 20, "csl": 20, "cycles": 20,
                                "graph_theory_prop": 12, "wikics": 20, "ogbl_collab": 20}  # fmt: skip
"""Number of Laplacian eigenvectors on each dataset."""

CYCLES_TRAIN = (200, 500, 1000, 5000)
"""Training graphs of the CYCLES rows."""


def _protocol(batch_size: int, lr: float, patience: int, min_lr: float, **more: Any) -> dict[str, Any]:
    """Adam with the rate halved at plateaus of the validation loss; metrics of the last epoch, of training data too."""
    plan = Plateau(factor=0.5, patience=patience, min_lr=min_lr)
    shared = {
        "weight_decay": 0.0,
        "schedule": plan,
        "selection": "last",
        "edge_attributes": True,
        "train_metrics": True,
    }
    return {"batch_size": batch_size, "lr": lr} | shared | more


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
    "proteins_full": _protocol(20, 1e-4, 25, 1e-6),
    "tsp": _protocol(64, 1e-3, 10, 1e-5),
}
"""Batch size, first rate, patience and last rate as published."""

_RATED = ("MLP", "GCN", "GCN-vanilla", "GraphSAGE", "MoNet", "GAT", "GatedGCN", "GIN", "RingGNN", "3WLGNN")
RATES: Mapping[str, Mapping[str, float]] = {
    name: {f"bgnn.{model}": rate for model, rate in zip(_RATED, rates, strict=True)}
    for name, rates in (
        ("enzymes", (1e-3, 7e-4, 7e-4, 7e-4, 1e-3, 1e-3, 7e-4, 7e-3, 1e-4, 1e-3)),
        ("dd", (1e-4, 7e-4, 7e-4, 1e-3, 1e-5, 5e-5, 1e-5, 1e-3, 1e-4, 1e-4)),
        ("proteins_full", (1e-4, 7e-4, 7e-4, 7e-5, 7e-5, 1e-3, 1e-4, 1e-4, 7e-5, 1e-3)),
    )
}
"""First rate of every model where the paper chose one for each; other models take that of `PROTOCOLS`."""

METRIC: Mapping[str, str] = {
    "ogbl_collab": "hits@50",
    "pattern": "balanced_acc",
    "cluster": "balanced_acc",
    "graph_theory_prop": "log_mse",
    "tsp": "f1",
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
    "tsp": ({"num_graphs": 128}, 30, {"batch_size": 4}),
    "enzymes": ({}, 40, {"schedule": Plateau(patience=10, min_lr=1e-6)}),
}
"""What ``size="small"`` changes: arguments of the generator, epochs, protocol. Other datasets are left out."""

REDUCED: Mapping[str, str] = {
    "csl": "one seed on each fold, at most 120 epochs",
    "cycles": "1,000 training graphs of our generator, at most 40 epochs at 1e-3",
    "graph_theory_prop": "500 training graphs, at most 40 epochs",
    "pattern": "1,000 training graphs, 8 epochs in batches of 16",
    "cluster": "1,000 training graphs, 8 epochs in batches of 16",
    "tsp": "128 graphs of 50 cities with local optima, 30 epochs in batches of 4",
    "enzymes_attributes": "our own stratified folds, one seed, at most 40 epochs",
}
"""The same in words."""

EPOCHS = 1000


LARGEST: Mapping[str, int] = {"csl": 41, "pattern": 188, "cluster": 190, "zinc": 38}
"""Nodes of the largest graph, for encodings by node number."""

ENCODINGS: Mapping[str, str] = {
    "_pe": "eigenvectors with random signs while training",
    "_eigvecs": "eigenvectors as they are",
    "_abs": "absolute values of eigenvectors",
    "_index": "node numbers",
    "_random_index": "node numbers, drawn anew for every batch",
}
"""Positional encodings of Table 13, by what they add to the name of a task."""


@dataclass(frozen=True)
class Positions:
    """A positional encoding (see `ENCODINGS`), as a transform that loads torch when it is used."""

    k: int
    kind: str = "_pe"

    def __call__(self, data: Any) -> Any:
        """Encode one graph."""
        return self.many([data])[0]

    def many(self, graphs: list[Any]) -> list[Any]:
        """Encode a list of graphs."""
        from graphnetz.tasktypes.encodings import LaplacianPE, NodeIndexPE

        if self.kind in ("_index", "_random_index"):
            return NodeIndexPE(self.k, order="fixed" if self.kind == "_index" else "random").many(graphs)
        signs = {"_pe": "random", "_eigvecs": "fixed", "_abs": "absolute"}[self.kind]
        return LaplacianPE(self.k, signs=signs).many(graphs)  # type: ignore[arg-type]


FOLDED: Mapping[str, tuple[str, str, int | None]] = {
    "enzymes": ("ENZYMES", "enzymes_attributes", 18),
    "dd": ("DD", "dd", None),
    "proteins_full": ("PROTEINS_full", "proteins_full", 29),
}
"""TU datasets: name in the collection, name of the task, and how many attributes stand for the node labels."""


SEEDS = (41, 95, 12, 35)
"""The published seeds, of which TU datasets have the first two."""

FOLDS: Mapping[str, CrossValidation] = {
    "enzymes": CrossValidation(10, SEEDS[:2]),
    "dd": CrossValidation(10, SEEDS[:2]),
    "proteins_full": CrossValidation(10, SEEDS[:2]),
    "wikics": CrossValidation(20, SEEDS),
    "csl": CrossValidation(5, tuple(a + b for a in (12, 32, 52, 82, 92) for b in (2, 3, 6, 7))),
}
"""Folds or fixed splits on all of which every seed was trained, as published."""


def validated_on_both(root: str, **places: Any) -> GraphList:
    """Return WikiCS with the nodes for early stopping added to those for validation, as the paper has it."""
    data = CARDS["wikics"].loader(root, **places)[0].clone()
    data.val_mask = data.val_mask | data.stopping_mask
    return GraphList([data])


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


def training_of(row: Published) -> dict[str, Any]:
    """Return rate, schedule and batch of a published row; nothing where the paper names none."""
    more = row.more
    if not more["lr"]:
        return {}
    out = {"lr": float(more["lr"]), "schedule": Plateau(0.5, int(more["patience"]), float(more["min_lr"]))}
    return out if row.task.startswith(WHOLE_GRAPH) else out | {"batch_size": int(more["batch_size"])}


WHOLE_GRAPH = ("wikics", "ogbl_collab")
"""Tasks on one graph, which the engine trains on as a whole."""


def _own_settings(name: str, task: str) -> dict[str, dict[str, Any]]:
    """Settings of single models: their rates, and what the published rows of the dense networks say."""
    own: dict[str, dict[str, Any]] = {model: {"lr": rate} for model, rate in RATES.get(name, {}).items()}
    for row in read_published("graphnetz.papers.benchmarking_gnns"):
        dense = row.model.startswith(("bgnn.RingGNN", "bgnn.3WLGNN")) and row.more["budget"] == "100k"
        if dense and row.task == task and row.table not in _REPEATED:
            own[row.model] = training_of(row)
    return own


_REPEATED = ("13", "16 (second run)")


def _encoding(name: str, kind: str) -> Positions:
    if kind not in ENCODINGS:
        raise unknown_name("positional encoding", kind, ENCODINGS)
    return Positions(LARGEST[name] if kind.endswith("index") else POSITIONS[name], kind)


def study_task(name: str, *, size: Size = "published", pe: bool | str = False, train: int | None = None) -> Task | None:
    """Return the task on a dataset under the published protocol, or None where ``size`` leaves it out.

    ``pe`` adds Laplacian positional encodings and "_pe" to the name, or another of `ENCODINGS`; ``train`` sets the
    training graphs of CYCLES.
    """
    if name not in PROTOCOLS:
        raise unknown_name("dataset of the studies", name, PROTOCOLS)
    source = SOURCES[name][0] if size == "published" else SOURCES[name][1]
    if source is None or (size == "small" and name not in SMALL):
        return None
    base = task_of(CARDS[source], "edge_cls" if name == "tsp" else None)
    arguments, epochs, changes = SMALL[name] if size == "small" else ({}, EPOCHS, {})
    loader: Callable[..., Any] = base.loader
    if name in FOLDED and size != "published":
        loader = functools.partial(folded, name=name)
    if name == "wikics":
        loader = validated_on_both
    rule = FOLDS.get(name)
    if rule is not None and size == "small":
        rule = CrossValidation(rule.folds, (0,))
    if train is not None:
        arguments = {**arguments, "train": train} if size == "small" else {"train": train}
    label = FOLDED[name][1] if name in FOLDED else name
    own = _own_settings(name, label if size != "small" else "")
    label += (f"_{train}" if train is not None else "") + ("_pe" if pe is True else pe or "")
    label += "" if size == "published" else f"_{size}"
    return dataclasses.replace(
        base,
        name=label,
        loader=functools.partial(loader, **arguments) if arguments else loader,
        epochs=epochs,
        metric=METRIC.get(name),
        protocol={**PROTOCOLS[name], **changes},
        model_protocol=own,
        transform=_encoding(name, "_pe" if pe is True else pe) if pe else None,
        cross_validation=rule,
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
        "tsp", "enzymes", "dd", "proteins_full",
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
    """Return the edge tasks on which edge representations are compared (Tables 14 and 15)."""
    return _listed(size, "tsp", "ogbl_collab")


def budget_study(size: Size = "published") -> list[Task]:
    """Return the datasets with published rows at 100k and 500k parameters (Tables 3, 4 and 8)."""
    return _listed(size, "zinc", "aqsol", "pattern", "cluster")
