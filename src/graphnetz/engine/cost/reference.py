"""The reference cell: one small training, the same everywhere, whose cost says how fast a machine is.

Costs of runs on different machines are compared in its units. It is plain PyTorch on a fixed graph, without data or
kernels of ours, so that it stays what it is.
"""

from __future__ import annotations

import math
import time
from itertools import pairwise
from typing import Any

from graphnetz.engine.executors import memory

VERSION = 1
"""Of the work below: costs in units of different versions do not compare."""
NODES, EDGES, WIDTH, CLASSES, EPOCHS, REPEATS = 2_000, 20_000, 64, 8, 5, 3


def reference_cell() -> dict[str, Any]:
    """Train the reference cell and return its ``version``, ``seconds`` (best of three) and ``peak_memory`` in bytes.

    One thread, like every cell. Memory is NaN where the kernel does not tell.

    Examples
    --------
    >>> found = reference_cell()
    >>> found["version"], 0 < found["seconds"] < 60
    (1, True)
    """
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        _train()  # libraries are loaded before anything is measured
        fresh, baseline = memory.reset_high_water(), memory.high_water()
        seconds = min(_train() for _ in range(REPEATS))
        peak = memory.high_water() - baseline if fresh else math.nan
    finally:
        torch.set_num_threads(threads)
    return {"version": VERSION, "seconds": seconds, "peak_memory": peak if peak > 0 else None}


def _train() -> float:
    """Seconds of a two-layer graph convolution on a fixed random graph; nothing global is touched."""
    import torch

    draw = torch.Generator().manual_seed(0)
    x = torch.randn(NODES, WIDTH, generator=draw)
    y = torch.randint(CLASSES, (NODES,), generator=draw)
    source, target = torch.randint(NODES, (2, EDGES), generator=draw)
    sizes = (WIDTH, WIDTH, CLASSES)
    weights = [(torch.randn(a, b, generator=draw) / math.sqrt(a)).requires_grad_() for a, b in pairwise(sizes)]
    optimiser = torch.optim.Adam(weights, lr=0.01)
    begin = time.perf_counter()
    for _ in range(EPOCHS):
        h = x
        for i, weight in enumerate(weights):
            h = h @ weight
            h = h + torch.zeros_like(h).index_add(0, target, h[source])
            h = h.relu() if i + 1 < len(weights) else h
        optimiser.zero_grad()
        torch.nn.functional.cross_entropy(h, y).backward()  # type: ignore[no-untyped-call]
        optimiser.step()
    return time.perf_counter() - begin
