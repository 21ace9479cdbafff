"""Perturbed tasks: what the benchmark engine trains on in place of the original."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch_geometric.data import Data

from graphnetz.records import Task
from graphnetz.records.graphs import GraphList
from graphnetz.rings._batches import stream
from graphnetz.rings.message import PerturbedMessages
from graphnetz.rings.perturbations import PERTURBATIONS, perturb_dataset
from graphnetz.rings.splits import SPLITS, fresh_masks, share_splits

RANDOM_WIDTH = 10
"""Columns of random features in training (Coupette et al. 2025, Table 4)."""
RESPLIT_SHARE = 0.2
"""Test share of fresh splits by graphs, where none is stated."""


def degree_features(graphs: Sequence[Data]) -> list[Data]:
    """Give graphs without features their one-hot out-degree, one column per degree up to the largest.

    This is what the paper uses for datasets that come without node features.

    Parameters
    ----------
    graphs
        The graphs; those of a dataset in which every graph has features are returned unchanged.

    Returns
    -------
    list of Data
        Graphs with ``x``.

    Examples
    --------
    >>> import torch
    >>> from torch_geometric.data import Data
    >>> from graphnetz.rings import degree_features
    >>> path = Data(num_nodes=3, edge_index=torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]))
    >>> degree_features([path])[0].x.tolist()
    [[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [0.0, 1.0, 0.0]]
    """
    if all(data.x is not None for data in graphs):
        return list(graphs)
    degrees = [torch.bincount(data.edge_index[0], minlength=int(data.num_nodes or 0)) for data in graphs]
    width = 1 + max((int(item.max()) for item in degrees if item.numel()), default=0)
    out = []
    for data, degree in zip(graphs, degrees, strict=True):
        changed = data.clone("edge_index")
        changed.x = torch.nn.functional.one_hot(degree, width).to(torch.get_default_dtype())
        out.append(changed)
    return out


@dataclass(frozen=True)
class PerturbedLoader:
    """A loader that perturbs what another loader returns; equal by content, so it keys a store.

    Structural perturbations see the same features as the original: a dataset without any gets
    one-hot degrees of the unperturbed graphs first. With a ``test_share`` many graphs that come
    without a split get stratified ones, and with ``resplit`` all data get fresh ones.
    """

    loader: Callable[..., Any]
    code: str
    perturbation_seed: int = 0
    width: int | None = None
    test_share: float | None = None
    splits: int = SPLITS
    resplit: bool = False

    def __call__(self, root: Any) -> Any:
        """Load and perturb."""
        return self.convert(self.loader(root), self.perturbation_seed)

    def convert(self, dataset: Any, seed: int) -> Any:
        """Perturb a loaded dataset; one graph stays one graph, many keep their split."""
        graphs = degree_features(list(stream(dataset)))
        changed = perturb_dataset(graphs, self.code, seed=seed, **self._options(graphs))
        if self.resplit and len(changed) == 1:
            changed = [fresh_masks(changed[0], count=self.splits)]
        if isinstance(dataset, Data) and len(changed) == 1:
            return changed[0]
        splits = None if self.resplit else getattr(dataset, "splits", None)
        replication = "resplit" if self.resplit else getattr(dataset, "replication", "resplit")
        share = RESPLIT_SHARE if self.resplit and self.test_share is None else self.test_share
        if splits is None and share is not None and len(graphs) > 1:  # one graph is split by its nodes or edges
            splits = share_splits(graphs, test=share, count=self.splits)
        return GraphList(changed, splits=splits, replication=replication)

    def _options(self, graphs: Sequence[Data]) -> dict[str, Any]:
        if "width" not in getattr(PERTURBATIONS[self.code], "__dataclass_fields__", {}):
            return {}
        if self.code == "cf" and self.width is None:  # one width for all graphs: that of the largest
            return {"width": max(int(data.num_nodes or 0) for data in graphs)}
        return {"width": RANDOM_WIDTH if self.code == "rf" and self.width is None else self.width}


@dataclass(frozen=True)
class SeededPerturbedLoader(PerturbedLoader):
    """A perturbed loader that receives the benchmark seed.

    ``vary`` draws a fresh perturbation for every seed; ``forward`` hands the seed to the inner loader.
    """

    vary: bool = False
    forward: bool = False

    def __call__(self, root: Any, *, seed: int) -> Any:  # type: ignore[override]
        """Load and perturb for one benchmark seed."""
        dataset = self.loader(root, seed=seed) if self.forward else self.loader(root)
        return self.convert(dataset, self.perturbation_seed + seed if self.vary else self.perturbation_seed)


def perturb_task(
    task: Task,
    code: str,
    *,
    seed: int = 0,
    width: int | None = None,
    vary: bool = False,
    test_share: float | None = None,
    splits: int = SPLITS,
    resplit: bool = False,
) -> Task:
    """Return the task whose dataset is perturbed after loading.

    Parameters
    ----------
    task
        The original task.
    code
        A key of `PERTURBATIONS`.
    seed
        Seed of the perturbation, the same for all runs unless ``vary``.
    width
        Feature width: ``cf`` defaults to the size of the largest graph, ``rf`` to ten columns.
    vary
        Draw a fresh random perturbation for every benchmark seed (the paper's finer setup, Table 12).
    test_share, splits
        Test share of many graphs that come without a split of their own, and how many splits to
        draw; None leaves the splits to the task type.
    resplit
        Draw fresh splits of nodes or graphs also where the data carry their own.

    Returns
    -------
    Task
        Named ``name@code``.

    Notes
    -----
    Link prediction and edge classification keep their targets in the edge list: there the split is
    made on the original and only the graph that messages travel along is perturbed (`perturb_split`).

    Examples
    --------
    >>> import networkx as nx
    >>> from graphnetz import get_split, task_from_networkx
    >>> from graphnetz.rings import perturb_task
    >>> task = perturb_task(task_from_networkx("karate", nx.karate_club_graph(), label="club"), "eg")
    >>> task.name, get_split(task).data.num_edges
    ('karate@eg', 0)
    """
    cls = PERTURBATIONS[code]
    vary = vary and cls.random
    if task.task_type == "link_pred" or (task.task_type == "edge_cls" and cls.mode in ("graph", "both")):
        wide = RANDOM_WIDTH if code == "rf" and width is None else width
        hook = PerturbedMessages(cls, seed, wide, vary, task.after_split)
        return dataclasses.replace(task, name=f"{task.name}@{code}", after_split=hook, graph=task.block)
    fields: dict[str, Any] = {
        "loader": task.loader, "code": code, "perturbation_seed": seed, "width": width, "test_share": test_share,
        "splits": max(splits, SPLITS), "resplit": resplit and task.task_type != "edge_cls",
    }  # fmt: skip
    loader = PerturbedLoader(**fields)
    if task.seeded or vary:
        loader = SeededPerturbedLoader(**fields, vary=vary, forward=task.seeded)
    return dataclasses.replace(task, name=f"{task.name}@{code}", loader=loader, graph=task.block)
