"""Run every kernel once on a tiny graph, so that its code is compiled or read from the cache."""

from __future__ import annotations

import torch

from graphnetz.kernels import arcs, attention, blocks, drop, functions, narrow
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
            functions.pair_scores(flat, edges),
            drop.dropout(flat, 0.5),
        ]
        pieces = torch.tensor([0, 3])
        batch = blocks.Blocks(edges, pieces, torch.tensor([0, 4])).select(torch.tensor([0, 0]))
        outputs += [functions.gcn_aggregate(structure_of(batch.edge_index, 6).with_self_loops, flat[batch.nodes])]
        outputs += [blocks.pool(flat, pieces, "mean"), blocks.pool(flat, pieces, "max")]
        torch.stack([out.sum() for out in outputs]).sum().backward()  # type: ignore[no-untyped-call]
