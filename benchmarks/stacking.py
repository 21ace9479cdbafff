"""Would seeds stacked into one batched product give each seed's own bits? ``python benchmarks/stacking.py``.

For every shape of a layer's three products (output, gradient of the input, gradient of the weight) the result of a
stack of seeds is compared, bit by bit, with that of each seed alone, and both are timed on one thread.
"""

from __future__ import annotations

import itertools
import json
import time
from pathlib import Path

import torch

ROWS = (150, 576, 2708)
WIDTHS = ((7, 64), (64, 2), (64, 7), (64, 16), (64, 64), (256, 64))
SEEDS = (1, 3, 10)


def seconds(function, repeats: int = 20) -> float:
    best = float("inf")
    for _ in range(5):
        start = time.perf_counter()
        for _ in range(repeats):
            function()
        best = min(best, (time.perf_counter() - start) / repeats)
    return best


def case(rows: int, width: int, out: int, seeds: int) -> dict:
    """Compare the three products of ``seeds`` layers ``[rows, width] -> out`` with one batched product each."""
    x, w, g = torch.randn(seeds, rows, width), torch.randn(seeds, width, out), torch.randn(seeds, rows, out)
    pairs = {"output": (x, w), "input gradient": (g, w.mT), "weight gradient": (x.mT, g)}
    same = {
        name: all(torch.equal(stacked[s], a[s] @ b[s]) for s in range(seeds))
        for name, (a, b) in pairs.items()
        for stacked in [torch.bmm(a, b)]
    }
    alone = seconds(lambda: [a[s] @ b[s] for a, b in pairs.values() for s in range(seeds)])
    together = seconds(lambda: [torch.bmm(a, b) for a, b in pairs.values()])
    return {"rows": rows, "in": width, "out": out, "seeds": seeds, "same": same, "speedup": round(alone / together, 2)}


def main() -> None:
    torch.set_num_threads(1)
    torch.manual_seed(0)
    rows = [case(r, *w, s) for r, w, s in itertools.product(ROWS, WIDTHS, SEEDS)]
    differing = [row for row in rows if not all(row["same"].values())]
    gains = sorted(row["speedup"] for row in rows if row["seeds"] == 10)
    print(f"{len(differing)} of {len(rows)} shapes give a stacked seed other bits than the seed alone")
    print(f"ten seeds together are {gains[len(gains) // 2]} times as fast (median; {gains[0]} to {gains[-1]})")
    target = Path(__file__).parent / "results" / "stacking.json"
    target.write_text(json.dumps({"torch": torch.__version__, "shapes": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
