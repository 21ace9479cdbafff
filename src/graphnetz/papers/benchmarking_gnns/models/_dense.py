"""Graphs as dense tensors [graphs, channels, n, n], batched with others of about their size."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.utils import one_hot

from graphnetz._core.errors import UsageError
from graphnetz.papers.benchmarking_gnns.models._frame import degree, membership
from graphnetz.tasktypes.encodings import positions

SLACK = 1.25
"""Largest over smallest graph of a dense batch: padding costs at most about half as much again."""

PAIRS = 250_000
"""Pairs of nodes in one dense batch: 100 MB per tensor of a hundred channels. A larger graph stands alone."""


@dataclass(frozen=True)
class DenseBatch:
    """Some graphs of a batch: ``x`` is zero outside ``mask``; ``graphs`` and ``nodes`` say whose they are.

    ``slot`` and ``place`` are the position of each of ``nodes`` in the dense tensors.
    """

    x: Tensor
    mask: Tensor
    graphs: Tensor
    nodes: Tensor
    slot: Tensor
    place: Tensor
    full: bool

    @property
    def pairs(self) -> Tensor:
        """1 where both row and column are nodes of the graph, [B, 1, n, n]."""
        return (self.mask.unsqueeze(1) * self.mask.unsqueeze(2)).unsqueeze(1)

    def masked(self, x: Tensor) -> Tensor:
        """Zero outside the graphs; nothing to do when all have the same size."""
        return x if self.full else x * self.pairs

    @property
    def sizes(self) -> Tensor:
        """Number of nodes of each graph, [B, 1, 1]."""
        return self.mask.sum(1).view(-1, 1, 1)

    def at_nodes(self, values: Tensor) -> Tensor:
        """Rows of ``nodes`` out of [B, channels, n]."""
        return values[self.slot, :, self.place]


def size_buckets(sizes: Tensor) -> Iterator[Tensor]:
    """Cut the graphs, ordered by size, into runs of similar sizes (`SLACK`) and bounded memory (`PAIRS`)."""
    order = torch.argsort(sizes, stable=True)
    ordered = sizes[order].tolist()
    start = 0
    for position in range(1, len(ordered) + 1):
        if position < len(ordered):
            size = ordered[position]
            similar = size <= max(SLACK * ordered[start], ordered[start] + 2)
            if similar and (position + 1 - start) * size**2 <= PAIRS:
                continue
        yield order[start:position]
        start = position


class DenseInput(nn.Module):
    """Channel 0 is the normalised adjacency; node features lie on the diagonal; edge features follow."""

    def __init__(
        self,
        in_channels: int,
        *,
        vocabulary: tuple[int, ...],
        pe_dim: int | None,
        pe_mode: str,
        edge_dim: int | None,
    ) -> None:
        super().__init__()
        self.vocabulary, self.pe_dim, self.pe_mode = vocabulary, pe_dim, pe_mode
        own = 0 if pe_dim is not None and pe_mode == "replace" else (sum(vocabulary) or in_channels)
        self.node_channels = own + (pe_dim or 0)
        self.edge_channels = edge_dim or 0
        self.channels = 1 + self.node_channels + self.edge_channels

    def node_rows(self, data: Data) -> Tensor:
        """What goes onto the diagonal, one row per node."""
        rows: list[Tensor] = []
        if self.pe_dim is None or self.pe_mode != "replace":
            if self.vocabulary:
                kind = torch.get_default_dtype()
                rows += [one_hot(data.x[:, c], size, dtype=kind) for c, size in enumerate(self.vocabulary)]
            else:
                rows.append(data.x)
        if self.pe_dim is not None:
            # The reference gives dense nets the encoding as it is: no sign flips.
            rows.append(positions(data, training=False))
        return torch.cat(rows, dim=1)

    def batches(self, data: Data) -> Iterator[DenseBatch]:
        """Dense batches that together hold every graph once."""
        rows = self.node_rows(data)
        nodes = rows.size(0)
        batch, graphs = membership(data, nodes)
        sizes = torch.bincount(batch, minlength=graphs)
        place = torch.arange(nodes, device=rows.device) - (sizes.cumsum(0) - sizes)[batch]
        for chosen in size_buckets(sizes):
            yield self._dense(data, rows, batch, place, chosen, sizes)

    def _dense(
        self, data: Data, rows: Tensor, batch: Tensor, place: Tensor, chosen: Tensor, sizes: Tensor
    ) -> DenseBatch:
        source, target = data.edge_index
        slots = torch.full_like(sizes, -1)
        slots[chosen] = torch.arange(chosen.numel(), device=rows.device)
        nodes = (slots[batch] >= 0).nonzero().squeeze(1)
        edges = (slots[batch[source]] >= 0).nonzero().squeeze(1)
        slot, spot = slots[batch[nodes]], place[nodes]
        largest = int(sizes[chosen].max())
        x = rows.new_zeros(chosen.numel(), self.channels, largest, largest)
        last = x.permute(0, 2, 3, 1)  # a view with the channels last, to be written by rows
        root = degree(target, rows.size(0), rows).clamp_(min=1).rsqrt()
        i, j = source[edges], target[edges]
        where = (slots[batch[i]], place[i], place[j])
        last[(*where, torch.zeros_like(i))] = root[i] * root[j]
        last[slot, spot, spot, 1 : 1 + self.node_channels] = rows[nodes]
        if self.edge_channels:
            last[(*where, slice(1 + self.node_channels, None))] = self._edge_rows(data, rows)[edges]
        mask = rows.new_zeros(chosen.numel(), largest)
        mask[slot, spot] = 1.0
        return DenseBatch(x, mask, chosen, nodes, slot, spot, full=bool((sizes[chosen] == largest).all()))

    def _edge_rows(self, data: Data, like: Tensor) -> Tensor:
        attr = data.edge_attr
        if attr is None:
            raise UsageError("This model was built with edge features, but the graph has no edge_attr.")
        if not attr.is_floating_point():
            attr = one_hot(attr.reshape(-1), self.edge_channels, dtype=like.dtype)
        rows: Tensor = attr.reshape(-1, self.edge_channels).to(like.dtype)
        return rows


def per_graph(batches: Iterator[DenseBatch], out: Callable[[DenseBatch], Tensor]) -> Tensor:
    """Apply ``out`` ([B, ...] per dense batch) and put the rows back into the order of the graphs."""
    return _in_order([(dense.graphs, out(dense)) for dense in batches])


def per_node(batches: Iterator[DenseBatch], out: Callable[[DenseBatch], Tensor]) -> Tensor:
    """Apply ``out`` ([B, channels, n] per dense batch) and put the rows back into the order of the nodes."""
    return _in_order([(dense.nodes, dense.at_nodes(out(dense))) for dense in batches])


def _in_order(pieces: list[tuple[Tensor, Tensor]]) -> Tensor:
    index = torch.cat([piece[0] for piece in pieces])
    back = torch.empty_like(index)
    back[index] = torch.arange(index.numel(), device=index.device)
    return torch.cat([piece[1] for piece in pieces])[back]
