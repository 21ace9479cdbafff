"""Run every kernel once on a tiny graph, so that its code is compiled or read from the cache."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from graphnetz.kernels import arcs, attention, blocks, chain, drop, functions, gin, narrow, pairwise, products
from graphnetz.kernels.structure import Structure, structure_of


def exercise(dtype: torch.dtype) -> None:
    """Compile the kernels for ``dtype``; torch's random stream is left as it was."""
    edges = torch.tensor([[0, 1, 2, 2], [1, 0, 0, 2]])
    s = Structure.from_edges(edges, 3)
    with torch.random.fork_rng(devices=[]), torch.enable_grad():
        x = torch.ones(3, 2, 2, dtype=dtype, requires_grad=True)
        flat, att = x.flatten(1), torch.ones(2, 2, dtype=dtype, requires_grad=True)
        weight = torch.ones(4, dtype=dtype, requires_grad=True)
        mask = drop.attention_mask(s, 2, 0.5, like=x)
        outputs = [
            functions.spmm(s, weight, flat),
            functions.gcn_aggregate(s.with_self_loops, flat),
            functions.max_aggregate(s, flat),
            attention.gat_attention(s, x, att, att, mask=mask),
            attention.dot_attention(s, x, x, x, mask=mask),
            narrow.head_products(x, x[:2]),
            *attention.edged_dot_attention(s, x.detach()[[0, 0, 1, 2]], x, x, x, x, scale=1.0, mask=mask),
            arcs.ends_sum(edges, flat[:1], flat, flat),
            _network(flat, s),
            *_products(flat, s),
            pairwise.pair_scores(s, 0.2, x, x, att),
            pairwise.gated_sum(edges, flat, flat, flat),
            functions.pair_scores(flat, edges),
            drop.dropout(flat, 0.5),
        ]
        pieces = torch.tensor([0, 3])
        batch = blocks.Blocks(edges, pieces, torch.tensor([0, 4])).select(torch.tensor([0, 0]))
        outputs += [functions.gcn_aggregate(structure_of(batch.edge_index, 6).with_self_loops, flat[batch.nodes])]
        outputs += [blocks.pool(flat, pieces, "mean"), blocks.pool(flat, pieces, "max")]
        torch.stack([out.sum() for out in outputs]).sum().backward()  # type: ignore[no-untyped-call]


def _network(x: Tensor, structure: Structure) -> Tensor:
    """A sum with a node's own row, then a linear map, a norm and ReLU."""
    linear, norm = nn.Linear(x.size(1), x.size(1)).to(x.dtype), nn.BatchNorm1d(x.size(1)).to(x.dtype)
    mixed = gin.own_sum(structure, x, torch.zeros(1, dtype=x.dtype), None)
    return chain.chain([chain.Step(linear, norm, True)], mixed)


def _products(x: Tensor, structure: Structure) -> list[Tensor]:
    """A linear map, and a whole graph isomorphism layer, where their kernels would run at all."""
    if not products.wide_registers():
        return []
    wide = x.size(1)
    maps = [nn.Linear(wide, wide).to(x.dtype) for _ in range(2)]
    norm = nn.BatchNorm1d(wide).to(x.dtype)
    steps = [chain.Step(maps[0], norm, True), chain.Step(maps[1], None, False)]
    return [products.own_linear(x, maps[0].weight, maps[0].bias), gin.whole_layer(steps, x, structure, x.new_zeros(1))]
