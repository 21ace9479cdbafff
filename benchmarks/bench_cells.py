"""Boards of ten thousand to ten million synthetic cells in Parquet, and how often their places are right.

``python benchmarks/bench_cells.py FOLDER`` writes shards to FOLDER, lets ``graphnetz leaderboard`` read them in a
process of its own, and keeps processor seconds, seconds and peak memory in `results/cells.json`; ``--only N`` measures
tables of N rows, ``--coverage`` simulates how often all places of a board hold together, and both write the tables of
`docs/scale.md`; ``--page`` writes them alone. This file imports nothing
large before it starts a process: a child's peak memory begins with that of its parent.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from itertools import product
from pathlib import Path
from typing import Any

OUT = Path(__file__).parent / "results" / "cells.json"
PAGE = Path(__file__).parents[1] / "docs" / "scale.md"
SHAPES = (  # models, tasks, seeds; without seeds a row is the mean of a model on a task
    (100, 10, 10), (100, 100, 10), (1_000, 100, 10), (1_000, 1_000, 10), (10_000, 1_000, 0),
)  # fmt: skip
SHARD = 1_000_000
WORLDS = (("normal", 0.0), ("normal", 1.0), ("t3", 0.0), ("t3", 1.0), ("heteroscedastic models", 0.0),
          ("heteroscedastic models", 1.0), ("specialist", 0.0), ("specialist", 1.0))  # fmt: skip
TABLES = ((30, 200), (100, 200), (100, 1_000))
"""Tasks and models of the simulated benchmarks."""
STORE_BYTES, COMMITS, PRICE = 1_300, 130, 0.04
"""A cell in a store with curves, results a driver commits per second (docs/scale.md), and dollars of a core-hour."""
PLANS = (("1,000 models x 1,000 tasks x 10 seeds", 10_000_000), ("10,000 models x 1,000 tasks x 10 seeds", 100_000_000),
         ("the same with 5 seeds", 50_000_000),
         ("one more model on 1,000 tasks x 10 seeds", 10_000))  # fmt: skip


def generate(folder: Path, models: int, tasks: int, seeds: int) -> None:
    """Write a table as shards of about a million rows: models and tasks with effects of their own, and noise."""
    import numpy as np
    import pyarrow as pa
    from pyarrow import parquet

    rng, skill = np.random.default_rng(0), np.random.default_rng(1).normal(0, 0.05, models)
    folder.mkdir(parents=True)
    each = max(1, SHARD // (models * max(seeds, 1)))
    runs = max(seeds, 1)
    for first in range(0, tasks, each):
        some = range(first, min(first + each, tasks))
        size = len(some) * models * runs
        names = pa.array([f"task {t:04d}" for t in some])
        model = pa.array([f"model {m:05d}" for m in range(models)])
        task_of = np.repeat(np.arange(len(some), dtype=np.int32), models * runs)
        model_of = np.tile(np.repeat(np.arange(models, dtype=np.int32), runs), len(some))
        scores = np.clip(0.6 + skill[model_of] + rng.normal(0, 0.1, size), 0, 1)
        columns: dict[str, Any] = {
            "task": pa.DictionaryArray.from_arrays(task_of, names),
            "model": pa.DictionaryArray.from_arrays(model_of, model),
            "score" if seeds else "mean": scores,
            "metric": pa.DictionaryArray.from_arrays(np.zeros(size, dtype=np.int32), pa.array(["test_acc"])),
        }
        if seeds:
            columns["seed"] = np.tile(np.arange(runs, dtype=np.int64), size // runs)
        else:
            columns |= {"sd": np.full(size, 0.01), "n": np.full(size, 10, dtype=np.int64)}
        parquet.write_table(pa.table(columns), folder / f"{first:04d}.parquet", row_group_size=SHARD // 4)


def measure(folder: Path, models: int, tasks: int, seeds: int) -> dict[str, Any]:
    """Generate in one process, read and rank in another."""
    table = folder / f"{models}x{tasks}x{seeds}"
    if not table.exists():
        made = [str(part) for part in (models, tasks, seeds)]
        subprocess.run([sys.executable, __file__, str(table), "--generate", *made], check=True)
    command = [sys.executable, "-m", "graphnetz", "leaderboard", str(table), "--out", str(table / "board")]
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, env={**os.environ, "OMP_NUM_THREADS": "1"})
    _, status, used = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"{' '.join(command)} ended with {status}")
    return {
        "rows": models * tasks * max(seeds, 1), "models": models, "tasks": tasks, "seeds": seeds,
        "cpu_s": round(used.ru_utime + used.ru_stime, 1), "s": round(time.perf_counter() - start, 1),
        "peak_gb": round(used.ru_maxrss * 1024 / 1e9, 2),
        "parquet_mb": round(sum(path.stat().st_size for path in table.glob("*.parquet")) / 1e6, 1),
        "board_mb": round((table / "board" / "board.csv").stat().st_size / 1e6, 2),
        "load": round(os.getloadavg()[0], 1),
    }  # fmt: skip


def coverage(kind: str, spread: float, tasks: int, models: int, *, replicates: int, seed: int = 0) -> dict[str, Any]:
    """Share of simulated benchmarks whose places by interval all hold, and how wide they are."""
    import numpy as np

    from calibration.across import POPULATIONS
    from graphnetz.stats import rank_bands

    def ranks(scores: Any) -> Any:  # continuous: there are no ties
        return np.argsort(np.argsort(-scores, axis=1), axis=1) + 1.0

    draw, effects = POPULATIONS[kind], spread * (np.arange(models) < models // 2)
    reference = draw(np.random.default_rng(99), (4_000, models)) + effects
    truth = ranks(reference).mean(axis=0)
    # Models of one kind are equal: only what lies apart by more than the error of the reference is an order.
    ahead = truth[:, None] < truth - 6 * models / np.sqrt(12 * len(reference))
    first, last = 1 + ahead.sum(axis=0), models - ahead.sum(axis=1)
    rng = np.random.default_rng([seed, tasks, models])
    held, width = np.empty(replicates), np.empty(replicates)
    for r in range(replicates):
        scores = draw(rng, (tasks, models)) + effects
        found = rank_bands(-ranks(scores))
        held[r] = ((found.low <= first) & (found.high >= last)).all()
        width[r] = ((found.high - found.low) / models).mean()
    return {
        "kind": kind, "spread": spread, "tasks": tasks, "models": models, "replicates": replicates,
        "coverage": round(float(held.mean()), 4), "width": round(float(width.mean()), 3),
    }  # fmt: skip


def page(kept: dict[str, Any]) -> str:
    """The tables of the documentation: measured, simulated, computed."""
    columns = ("rows", "models x tasks", "a row is", "processor s", "s", "load", "peak memory", "Parquet")
    lines = [*_head(columns)]
    for row in kept["boards"]:
        kind = f"a run of {row['seeds']}" if row["seeds"] else "a mean"
        lines.append(
            f"| {row['rows']:,} | {row['models']:,} x {row['tasks']:,} | {kind} | {row['cpu_s']} | {row['s']} | "
            f"{row['load']} | {row['peak_gb']} GB | {row['parquet_mb']} MB |"
        )
    columns = ("scores of models over tasks", "half of them better", "tasks", "models", "all places hold", "mean width")
    lines += ["", *_head(columns)]
    for row in kept.get("coverage", ()):
        apart = "yes" if row["spread"] else "no"
        lines.append(
            f"| {row['kind']} | {apart} | {row['tasks']} | {row['models']:,} | {row['coverage']:.1%} | "
            f"{row['width']:.0%} |"
        )
    runs = next(row for row in kept["boards"] if row["rows"] == 10_000_000 and row["seeds"])
    each = runs["parquet_mb"] * 1e6 / runs["rows"]
    columns = ("computed", "cells", "core-years at 10 s a cell", "days on 1,000 cores", "dollars", "stores", "Parquet",
               "commits of one driver")  # fmt: skip
    lines += ["", *_head(columns)]
    for what, cells in PLANS:
        hours = cells * 10 / 3600
        figures = (hours / 8766, hours / 24 / 1000, hours * PRICE)
        sizes = (cells * STORE_BYTES, cells * each)
        cost = (*map(_rounded, figures), *map(_bytes, sizes), f"{_rounded(cells / COMMITS / 3600)} h")
        lines.append(f"| {what} | {cells:,} | {' | '.join(cost)} |")
    return "\n".join(lines)


def _rounded(value: float) -> str:
    """Two digits, or whole numbers."""
    return f"{value:,.0f}" if value >= 10 else f"{value:.2g}"


def _bytes(value: float) -> str:
    unit = next((unit for unit in ("GB", "MB") if value >= _UNITS[unit]), "kB")
    return f"{_rounded(value / _UNITS[unit])} {unit}"


_UNITS = {"kB": 1e3, "MB": 1e6, "GB": 1e9}


def _head(columns: tuple[str, ...]) -> tuple[str, str]:
    return f"| {' | '.join(columns)} |", f"|{'---|' * len(columns)}"


def write_page(kept: dict[str, Any]) -> None:
    text = PAGE.read_text(encoding="utf-8")
    before, _, rest = text.partition("<!-- cells: benchmarks/bench_cells.py -->\n")
    after = rest.partition("<!-- /cells -->")[2]
    PAGE.write_text(
        f"{before}<!-- cells: benchmarks/bench_cells.py -->\n{page(kept)}\n<!-- /cells -->{after}", encoding="utf-8"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="where shards are written; a table that lies there is used again")
    parser.add_argument("--only", type=int, help="tables of so many rows")
    parser.add_argument("--coverage", action="store_true", help="simulate places instead of measuring time")
    parser.add_argument("--page", action="store_true", help="write the tables of the documentation from what is kept")
    parser.add_argument("--replicates", type=int, default=400)
    parser.add_argument("--generate", nargs=3, type=int, metavar=("MODELS", "TASKS", "SEEDS"), help="write one table")
    given = parser.parse_args()
    if given.generate:
        generate(given.folder, *given.generate)
        return
    kept = json.loads(OUT.read_text(encoding="utf-8")) if OUT.exists() else {}
    if given.page:
        write_page(kept)
        return
    if given.coverage:
        asked = [(kind, spread, tasks, models) for (tasks, models), (kind, spread) in product(TABLES, WORLDS)]
        found = {(row["kind"], row["spread"], row["tasks"], row["models"]): row for row in kept.get("coverage", ())}
        for one in asked:  # what was interrupted goes on
            if found.get(one, {}).get("replicates") != given.replicates:
                found[one] = coverage(*one, replicates=given.replicates)
                kept["coverage"] = [found[key] for key in asked if key in found]
                OUT.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
    else:
        rows = {(row["models"], row["tasks"], row["seeds"]): row for row in kept.get("boards", ())}
        for shape in SHAPES:
            if given.only in (None, shape[0] * shape[1] * max(shape[2], 1)):
                rows[shape] = measure(given.folder, *shape)
                print(json.dumps(rows[shape]), flush=True)
        kept["boards"] = [rows[shape] for shape in SHAPES if shape in rows]
    OUT.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
    if kept.get("boards") and kept.get("coverage"):
        write_page(kept)


if __name__ == "__main__":
    main()
