"""Restrict a full-batch training pass to the nodes that its loss can see."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from graphnetz._core.errors import UsageError
from graphnetz.kernels.features import Features, SparseFeatures
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


def at_layer(graph: Tensor | Structure | ReceptiveField, layer: int) -> Tensor | Structure:
    """Return what layer ``layer`` of an encoder passes messages along."""
    return graph.structures[layer] if isinstance(graph, ReceptiveField) else graph
