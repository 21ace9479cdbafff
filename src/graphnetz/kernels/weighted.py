"""Arc weights that PyTorch Geometric's own functions compute, sorted once and kept while their inputs live."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor

from graphnetz.kernels.functions import spmm
from graphnetz.kernels.structure import Structure, TensorCache

LEARNED = "its edge weights are learned"


@dataclass(frozen=True, eq=False)
class WeightedArcs:
    """A structure with weights in CSR order, and in that of the transpose where they are kept."""

    structure: Structure
    weight: Tensor
    turned: Tensor | None

    def sums(self, x: Tensor, *, base: Tensor | None = None) -> Tensor:
        """Weighted sum of the neighbours, added to ``base``."""
        return spmm(self.structure, self.weight, x, base=base, turned=self.turned)


def own_tensor(view: Tensor) -> Tensor:
    """The tensor that ``view`` reshapes, so that ``data.edge_weight.view(-1)`` is recognised at every call."""
    base = view._base
    same = base is not None and base.numel() == view.numel() and base.data_ptr() == view.data_ptr()
    return cast(Tensor, base) if same and view.is_contiguous() and cast(Tensor, base).is_contiguous() else view


def kept_arcs(
    structure: Structure, key: Any, tensors: tuple[Tensor | None, ...], make: Callable[[], tuple[Structure, Tensor]]
) -> WeightedArcs:
    """Return the arcs that ``make`` gives for ``tensors``, computed once while those and ``structure`` live.

    ``make`` returns a structure and its weights in CSR order.
    """
    slot = structure._store
    for place, tensor in enumerate(tensors):
        if tensor is not None:
            slot = slot.setdefault(("tensor", place), TensorCache()).slot(own_tensor(tensor))
    if key not in slot:
        with torch.no_grad():
            arcs, weight = make()
            slot[key] = WeightedArcs(arcs, weight, weight[torch.from_numpy(arcs.transpose[2].astype(np.int64))])
    found: WeightedArcs = slot[key]
    return found


def sorted_arcs(edge_index: Tensor, weight: Tensor, num_nodes: int) -> tuple[Structure, Tensor]:
    """The structure of ``edge_index`` with ``weight`` in its order."""
    arcs = Structure.from_edges(edge_index, num_nodes)
    return arcs, weight.detach().reshape(-1)[arcs.order_tensor]


def gcn_weights(
    structure: Structure, edge_weight: Tensor | None, dtype: torch.dtype, *, loops: bool, improved: bool = False,
    normalise: bool = True,
) -> WeightedArcs:  # fmt: skip
    """Symmetrically normalised weights as ``gcn_norm`` gives them; with ``normalise=False`` the weights themselves."""
    from torch_geometric.nn.conv.gcn_conv import gcn_norm

    nodes = structure.num_src
    if edge_weight is not None and edge_weight.requires_grad:
        return _learned_weights(structure, edge_weight, dtype, loops=loops, improved=improved, normalise=normalise)

    def make() -> tuple[Structure, Tensor]:
        index, weight = structure.edge_index, None if edge_weight is None else edge_weight.reshape(-1)
        if normalise:
            index, weight = gcn_norm(index, weight, nodes, improved, loops, dtype=dtype)
        elif weight is None:
            weight = torch.ones(index.size(1), dtype=dtype)
        return sorted_arcs(index, weight, nodes)

    return kept_arcs(structure, ("gcn", normalise, loops, improved, dtype), (edge_weight,), make)


def _learned_weights(
    structure: Structure, edge_weight: Tensor, dtype: torch.dtype, *, loops: bool, improved: bool, normalise: bool
) -> WeightedArcs:
    """The same for weights that change at every step; what is kept is the order of their arcs."""
    from torch_geometric.nn.conv.gcn_conv import gcn_norm

    index, weight = structure.edge_index, edge_weight.reshape(-1)
    if not normalise:
        return WeightedArcs(structure, weight[structure.order_tensor], None)
    index, weight = gcn_norm(index, weight, structure.num_src, improved, loops, dtype=dtype)
    key = ("learned", loops)
    if key not in structure._store:
        structure._store[key] = Structure.from_edges(index, structure.num_src)
    arcs: Structure = structure._store[key]
    return WeightedArcs(arcs, weight[arcs.order_tensor], None)
