"""How far a training epoch is from what the machine can do: bytes moved and products multiplied, against its rates.

Counted are the operations that really run, each reading its inputs and writing its outputs once: torch's own by a
dispatch mode, the compiled kernels by wrappers around them, of which those that gather rows read one row per arc. The
limit is the sum of both at the rates that this very process measures, so a share of 1 would be a machine without a
cache that does nothing else; data that lies in the cache can be faster than that.
"""

from __future__ import annotations

import contextlib
import importlib
import math
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
from torch.utils._python_dispatch import TorchDispatchMode

MODULES = ("numba_ops", "numba_arcs", "numba_blocks", "numba_heads", "numba_chain", "numba_products", "numba_gin")
GATHERED = {"x", "b", "x1", "x2", "left", "right", "z", "grad"}
"""Arguments of which a kernel with arcs reads one row per arc."""
PRODUCTS = {"mm": (0, 1), "addmm": (1, 2), "bmm": (0, 1)}
KERNEL_PRODUCTS: dict[str, Callable[[dict[str, Any]], float]] = {
    "linear": lambda given: given["x"].shape[0] * given["weight"].size,
    "linear_rows": lambda given: given["grad"].shape[0] * given["weight"].size,
    "linear_weight": lambda given: given["grad"].size * given["x"].shape[1],
    "layer_forward": lambda given: len(given["x"]) * (given["first"].size + given["second"].size),
    "layer_backward": lambda given: (
        len(given["x"]) * (2 * given["second"].size + given["first"].size * (2 if given["g_x"].size else 1))
    ),
}
"""Multiplications of the kernels that multiply matrices."""


class Traffic(TorchDispatchMode):
    """Bytes and floating-point operations of everything that runs inside."""

    def __init__(self) -> None:
        super().__init__()
        self.bytes, self.flops = 0.0, 0.0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        del types
        out = func(*args, **(kwargs or {}))
        if not func.is_view:
            parts = [*args, *(out if isinstance(out, (tuple, list)) else (out,))]
            self.bytes += sum(part.nbytes for part in parts if isinstance(part, torch.Tensor))
            places = PRODUCTS.get(func._schema.name.removeprefix("aten::"))
            if places is not None:
                a, b = (args[place] for place in places)
                self.flops += 2.0 * a.numel() * b.shape[-1]
        return out

    def wrapped(self, kernel: Any) -> Callable[..., None]:
        """The kernel, with its arrays counted."""
        names = kernel.py_func.__code__.co_varnames

        def run(*args: Any) -> None:
            given = {name: value for name, value in zip(names, args, strict=False) if isinstance(value, np.ndarray)}
            ends = [given[key].shape[-1] for key in ("indices", "t_indices", "source", "pairs") if key in given]
            arcs = max(ends, default=0)
            for name, value in given.items():
                row = value.nbytes / max(1, value.shape[0])
                self.bytes += arcs * row if arcs and name in GATHERED and value.ndim > 1 else value.nbytes
            if kernel.py_func.__name__ in KERNEL_PRODUCTS:
                self.flops += 2.0 * KERNEL_PRODUCTS[kernel.py_func.__name__](given)
            kernel(*args)

        return run


@contextlib.contextmanager
def traffic() -> Iterator[Traffic]:
    """Count inside the block."""
    counter = Traffic()
    with contextlib.ExitStack() as undo:
        for name in MODULES:
            with contextlib.suppress(ImportError):
                module = importlib.import_module(f"graphnetz.kernels.{name}")
                for key, kernel in list(vars(module).items()):
                    if hasattr(kernel, "py_func") and not key.startswith("_"):
                        setattr(module, key, counter.wrapped(kernel))
                        undo.callback(setattr, module, key, kernel)
        undo.enter_context(counter)
        yield counter


def rates() -> tuple[float, float]:
    """Bytes copied and floating-point operations multiplied per second by one core, by torch or by our own tile."""
    from graphnetz.kernels import products

    big, a, b = torch.ones(2**24), torch.ones(2048, 512), torch.ones(512, 512)
    copy, out = torch.empty_like(big), torch.empty(2048, 512)
    work = 2 * 2048 * 512 * 512
    jobs = [(lambda: copy.copy_(big), 2 * big.nbytes), (lambda: torch.mm(a, b, out=out), work)]
    if products.wide_registers():
        jobs.append((lambda: products.forward_product(a, b, None), work))
    found = []
    for job, work in jobs:
        best = math.inf
        for _ in range(9):
            begin = time.process_time()
            job()
            best = min(best, time.process_time() - begin)
        found.append(work / best)
    return found[0], max(found[1:])


def counted(sides: dict[str, Callable[[int], None]]) -> dict[str, Any]:
    """Bytes and operations of one epoch of our sides, and milliseconds that the machine's rates allow for them."""
    copied, multiplied = rates()
    found: dict[str, Any] = {"gb_per_s": copied / 1e9, "gflop_per_s": multiplied / 1e9}
    for name, run in sides.items():
        if name.startswith("ours"):
            totals = []
            for epochs in (1, 2):  # the difference leaves out what is done once
                with traffic() as counter:
                    run(epochs)
                totals.append((counter.bytes, counter.flops))
            moved, products = (b - a for a, b in zip(*totals, strict=True))
            limit = (moved / copied + products / multiplied) * 1e3
            found[name] = {"gb": moved / 1e9, "gflop": products / 1e9, "limit_ms": limit}
    return found
