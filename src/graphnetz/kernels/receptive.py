"""Restrict a full-batch training pass to the nodes that its loss can see."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from graphnetz._core.errors import UsageError
from graphnetz.kernels.features import Features, SparseFeatures, SparseRows, mark_constant
from graphnetz.kernels.runtime import ops
from graphnetz.kernels.structure import Structure, structure_of


@dataclass(frozen=True, eq=False)
class ReceptiveField:
    """The nodes within as many hops of the training nodes as the model has layers.

    ``structures[k]`` is the structure of layer ``k``; its destinations are the sources of layer
    ``k + 1`` and the last layer's are the training nodes, in their order. ``nodes`` are the inputs.
    A model that mixes nodes otherwise (batch norm, global attention) must not be restricted.
    """

    nodes: npt.NDArray[np.int64]
    structures: tuple[Structure, ...]

    def rows(self, x: Features) -> Features:
        """Return the rows of the input features that the first layer needs."""
        if isinstance(x, SparseFeatures):
            return x.rows(self.nodes)
        return x[torch.from_numpy(self.nodes)]

    def inputs(self, x: Features) -> Tensor:
        """Those rows as a tensor for the model, which are constant as ``x`` is."""
        rows = self.rows(x)
        if isinstance(rows, SparseFeatures):
            return SparseRows(rows)
        mark_constant(rows)
        return rows

    def edges(self, layers: Sequence[Any]) -> FieldEdges:
        """What the model passes on as edge index, from which each of ``layers`` takes its structure."""
        return FieldEdges(self, layers)


def receptive_field(
    edge_index: Tensor | Structure, seeds: Tensor | npt.NDArray[Any], *, num_layers: int, num_nodes: int
) -> ReceptiveField:
    """Return the receptive field of ``seeds`` under ``num_layers`` rounds of message passing.

    Parameters
    ----------
    edge_index
        The whole graph.
    seeds
        Numbers of the training nodes, or a mask over the nodes.
    num_layers
        Rounds of message passing.
    num_nodes
        Number of nodes.
    """
    whole = edge_index if isinstance(edge_index, Structure) else structure_of(edge_index, num_nodes)
    chosen = seeds.detach().cpu().numpy() if isinstance(seeds, Tensor) else np.asarray(seeds)
    nodes = np.flatnonzero(chosen) if chosen.dtype == np.bool_ else chosen.astype(np.int64)
    if num_layers < 1 or np.unique(nodes).size != nodes.size:
        raise UsageError(
            f"A receptive field needs at least one layer and distinct nodes, got {num_layers} layers and "
            f"{nodes.size - np.unique(nodes).size} repeated nodes. Remove the repetitions."
        )
    structures: list[Structure] = []
    for _ in range(num_layers):
        structures.append(whole.restrict(nodes))
        nodes = structures[-1].sources_in_parent
    return ReceptiveField(nodes, tuple(reversed(structures)))


def reach(edge_index: Tensor, seeds: Tensor, *, num_layers: int, num_nodes: int) -> int:
    """Return how many nodes a `receptive_field` would have, without making it.

    Parameters
    ----------
    edge_index, seeds, num_layers, num_nodes
        As there.

    Returns
    -------
    int
        The seeds included.
    """
    whole, mask = structure_of(edge_index, num_nodes), np.zeros(num_nodes, dtype=bool)
    mask[seeds.cpu().numpy()] = True
    for _ in range(num_layers):
        ops("folder_ops").mark_sources(whole.indptr, whole.indices, np.flatnonzero(mask), mask)
    return int(mask.sum())


class FieldEdges(Tensor):
    """Stands for the edge index in a pass over a `ReceptiveField`: each layer finds its own structure behind it.

    It holds no numbers. Any operation on it is refused, so that nothing but the layers it was made for can use it.
    """

    structures: dict[int, Structure]

    def __new__(cls, field: ReceptiveField, layers: Sequence[Any]) -> FieldEdges:
        """Stand for the edges of ``field``, of which ``layers`` take one structure each."""
        arcs = field.structures[0].num_arcs
        make: Any = torch.Tensor._make_wrapper_subclass
        out: FieldEdges = make(cls, (2, arcs), dtype=torch.int64, device="cpu")
        out.structures = {id(layer): part for layer, part in zip(layers, field.structures, strict=True)}
        return out

    __torch_function__ = torch._C._disabled_torch_function_impl  # type: ignore[assignment]

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:  # type: ignore[override]
        del types, args, kwargs
        raise UsageError(
            f"{func} was applied to the edges of a part of the graph. A model whose class declares its convolutions as "
            "`layers` may pass messages by them only: remove that property, or keep to it."
        )

    def at(self, layer: Any) -> Structure:
        """The structure of one of the layers."""
        if id(layer) not in self.structures:
            raise UsageError(f"{type(layer).__name__} passes messages and is not among the model's declared `layers`.")
        return self.structures[id(layer)]
