"""Load what is available and compare it with the cards."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from graphnetz._core.errors import DownloadError, GraphnetzError, MissingExtraError
from graphnetz.datasets.cards import CARDS, list_datasets

FIELDS = ("graphs", "nodes", "edges", "features", "classes")


@dataclass(frozen=True)
class DatasetCheck:
    """One dataset against its card.

    ``status`` is ``"ok"``, ``"differs"`` (the numbers are in ``differences``), ``"unavailable"`` (no
    place has the files, or an extra is missing) or ``"failed"``.
    """

    name: str
    status: Literal["ok", "differs", "unavailable", "failed"]
    found: dict[str, int]
    differences: tuple[str, ...] = ()
    message: str = ""
    seconds: float = 0.0


def check_datasets(names: Iterable[str] | None = None, *, root: str | Path = "data/doctor") -> list[DatasetCheck]:
    """Load datasets and compare graphs, nodes, edges, features and classes with their cards.

    Parameters
    ----------
    names
        Dataset names; all of them when left out.
    root
        Folder under which each dataset gets a folder of its own.
    """
    chosen = list_datasets() if names is None else list(names)
    return [_check(name, Path(root)) for name in chosen]


def measure(dataset: Any) -> dict[str, int]:
    """Return graphs, nodes, edges (columns of ``edge_index``), features and classes of a dataset."""
    from torch_geometric.data import Data

    graphs = [dataset] if isinstance(dataset, Data) else [dataset[i] for i in range(len(dataset))]
    features = [graph.x for graph in graphs if graph.x is not None]
    return {
        "graphs": len(graphs),
        "nodes": sum(int(graph.num_nodes or 0) for graph in graphs),
        "edges": sum(int(graph.num_edges) for graph in graphs),
        "features": 0 if not features else (1 if features[0].dim() == 1 else int(features[0].shape[1])),
        "classes": _classes([graph.y for graph in graphs if graph.y is not None]),
    }


def _classes(targets: list[Any]) -> int:
    """Return the number of classes, or of labels or targets when a row holds several or real ones."""
    import torch

    if not targets:
        return 0
    first = torch.as_tensor(targets[0])
    if first.dim() > 1 and first.shape[1] > 1:
        return int(first.shape[1])
    if first.is_floating_point():
        return 1
    return max(int(torch.as_tensor(y).max()) for y in targets) + 1


def _check(name: str, root: Path) -> DatasetCheck:
    card = CARDS[name]
    start = time.perf_counter()
    try:
        found = measure(card.loader(root / card.category / card.name))
    except (DownloadError, MissingExtraError) as error:
        return DatasetCheck(name, "unavailable", {}, message=str(error))
    except GraphnetzError as error:
        return DatasetCheck(name, "failed", {}, message=str(error))
    except Exception as error:  # a third party's loader may raise anything; the others are still checked
        return DatasetCheck(name, "failed", {}, message=f"{type(error).__name__}: {error}")
    stated = {key: getattr(card, key) for key in FIELDS if getattr(card, key) is not None}
    differences = tuple(
        f"{key}: card {value}, found {found[key]}" for key, value in stated.items() if found[key] != value
    )
    seconds = time.perf_counter() - start
    return DatasetCheck(name, "differs" if differences else "ok", found, differences, seconds=seconds)
