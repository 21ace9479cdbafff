"""What models are given of a split: training labels, and of validation and test the inputs alone."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor

from graphnetz.tasktypes.base import Split, TaskType
from graphnetz.tasktypes.packing import PackedGraphs
from graphnetz.tasktypes.pairs import Pairs


def shown(split: Split, answers: tuple[str, ...] = TaskType.answers) -> Split:
    """Return the split as models see it; made once per split.

    Parameters
    ----------
    split
        The engine's own, with every true value.
    answers
        Attributes of graphs that hold what is to be predicted.

    Returns
    -------
    Split
        Its graphs and ``labels`` hold the training labels; those of other examples are -1 (class numbers) or NaN.
        ``targets`` hold training and validation, for models that fit themselves and choose their settings; those of
        the test part and of any further part are -1 or NaN too. Features and edges are the same tensors.

    Examples
    --------
    >>> import networkx as nx
    >>> from graphnetz import get_split, task_from_networkx
    >>> from graphnetz.tasktypes import shown
    >>> split = get_split(task_from_networkx("karate", nx.karate_club_graph(), label="club"))
    >>> shown(split).data.y[split.test].unique(), shown(split).targets["test"][:3]
    (tensor([-1]), array([-1, -1, -1]))
    """
    if "shown" not in split.cache:
        seen = dataclasses.replace(
            split,
            data=_data(split, answers),
            test=_unlabelled(split.test),
            labels=None if split.labels is None else _hidden(split.labels, _known_rows(split)),
            targets=_targets(split.targets),
            cache={},
        )
        seen.cache["shown"] = None  # itself: a model that evaluates itself gets no more than it was given
        split.cache["shown"] = seen
    found: Split | None = split.cache["shown"]
    return split if found is None else found  # no cycle: large splits go when nobody needs them


def lent(data: Any) -> Any:
    """Return a graph whose attributes a model may set or add without anyone else noticing; tensors are shared."""
    return copy.copy(data) if hasattr(data, "_store") else data


def _data(split: Split, answers: tuple[str, ...]) -> Any:
    data = split.data
    if isinstance(data, PackedGraphs):
        return dataclasses.replace(
            data,
            node=_table(data.node, answers, lambda: _spans(data.node_ptr, split.train)),
            edge=_table(data.edge, answers, lambda: _spans(data.edge_ptr, split.train)),
            graph=_table(data.graph, answers, lambda: split.train),
        )
    if isinstance(split.train, Pairs):
        return data  # the graph of training edges, which is all that models of pairs are ever shown
    seen = copy.copy(data)
    for name in answers:
        value = data.get(name) if hasattr(data, "get") else None
        if isinstance(value, Tensor):
            wanted = data.num_edges if split.unit == "edge" else data.num_nodes
            fits = value.dim() > 0 and value.size(0) == wanted
            seen[name] = _hidden(value, split.train if fits else None)
    return seen


def _table(values: Mapping[str, Tensor], answers: tuple[str, ...], known: Any) -> Mapping[str, Tensor]:
    return {key: _hidden(value, known()) if key in answers else value for key, value in values.items()}


def _known_rows(split: Split) -> Tensor:
    """Rows of ``split.labels`` that belong to the training part."""
    if not isinstance(split.data, PackedGraphs):
        return split.train  # type: ignore[no-any-return]
    pointers = split.data.edge_ptr if split.unit == "edge" else split.data.node_ptr
    return _spans(pointers, split.train)


def _spans(pointers: Tensor, graphs: Tensor) -> Tensor:
    """Whether each node, or edge, belongs to one of ``graphs``."""
    inside = torch.zeros(pointers.numel() - 1, dtype=torch.bool, device=pointers.device)
    inside[graphs] = True
    return torch.repeat_interleave(inside, pointers.diff())


def _hidden(value: Tensor, known: Tensor | None) -> Tensor:
    """Copy labels, with -1 or NaN in place of those that are not ``known``."""
    real = value.is_floating_point() or value.is_complex()
    kind = value.dtype if real or value.dtype in (torch.int16, torch.int32, torch.int64) else torch.int64
    out = torch.full(value.shape, float("nan") if real else -1, dtype=kind, device=value.device)
    if known is not None:
        out[known] = value[known].to(kind)
    return out


def _unlabelled(part: Any) -> Any:
    return (
        dataclasses.replace(part, label=torch.full_like(part.label, float("nan"))) if isinstance(part, Pairs) else part
    )


def _targets(targets: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    out = {}
    for part, value in targets.items():
        copied = np.array(value)
        if part not in ("train", "val"):
            real = np.issubdtype(copied.dtype, np.inexact)
            signed = real or np.issubdtype(copied.dtype, np.signedinteger)
            copied = np.full(copied.shape, np.nan if real else -1, dtype=copied.dtype if signed else np.int64)
        copied.setflags(write=False)
        out[part] = copied
    return out
