"""Graphs larger than memory: convert, train and exactly evaluate a papers100M-shaped graph, with memory per phase.

``python benchmarks/bench_folders.py --edges 10000000 --place DIR [--model GraphSAGE SGC] [--memory 4000]`` writes the
graph as a folder (or goes on where it was interrupted), trains one cell per model through the engine, each in a
process of its own, and prints one JSON line per phase; ``--write`` appends them to
``benchmarks/results/folders.jsonl``. Memory is sampled every 20 ms: anonymous and shared pages, and mapped pages apart.

``--promise`` trains the cells in workers instead, and prints the estimate of each beside the peak that was measured.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

RESULTS = Path(__file__).parent / "results" / "folders.jsonl"
EPOCHS = {"GraphSAGE": 3, "SGC": 30, "GCN": 3, "GAT": 3}


class Meter:
    """Time, processor time and the peak of memory between two calls of `phase`."""

    def __init__(self) -> None:
        self.rows: list[dict[str, Any]] = []
        self.own = self.files = 0.0
        self.mark = (time.perf_counter(), time.process_time())
        threading.Thread(target=self._watch, daemon=True).start()

    def _watch(self) -> None:
        while True:
            found = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
            size = {key: int(found[key].split()[0]) / 1e6 for key in ("RssAnon", "RssShmem", "RssFile")}
            self.own = max(self.own, size["RssAnon"] + size["RssShmem"])
            self.files = max(self.files, size["RssFile"])
            time.sleep(0.02)

    def phase(self, name: str, **facts: Any) -> None:
        now = (time.perf_counter(), time.process_time())
        self.rows.append(
            {"phase": name, **facts, "s": round(now[0] - self.mark[0], 1), "cpu_s": round(now[1] - self.mark[1], 1),
             "memory_gb": round(self.own, 2), "mapped_gb": round(self.files, 2)}
        )  # fmt: skip
        print(json.dumps(self.rows[-1]), flush=True)
        self.own = self.files = 0.0
        self.mark = (time.perf_counter(), time.process_time())


def convert_phase(edges: int, place: Path, meter: Meter) -> None:
    from graphnetz.graphs import convert
    from papers_like import papers_like

    meter.phase("start")
    folder = convert(papers_like(edges), place, dtype="float16", memory=1000)
    disk = sum(path.stat().st_size for path in place.iterdir()) / 1e9
    meter.phase("convert", edges=edges, nodes=folder.num_nodes, arcs=folder.num_arcs, disk_gb=round(disk, 2))


def cell_phase(model: str, place: Path, memory: float | None, epochs: int | None, meter: Meter) -> None:
    from graphnetz import run_benchmark, task_from_edges
    from graphnetz._core import malloc
    from graphnetz.tasktypes import streamed
    from graphnetz.tasktypes.streamed import StreamedNodes

    scores, batches, spread = StreamedNodes.scores, StreamedNodes.batches, streamed.propagated
    seen: list[str] = []
    epochs = epochs or EPOCHS[model]

    def propagated(*args: Any) -> Any:
        found = spread(*args)
        if "propagate" not in seen:
            seen.append("propagate")
            meter.phase("propagate", model=model)
        return found

    def timed(self: Any, *args: Any) -> Any:
        meter.phase("train", model=model, epochs=epochs)
        found = scores(self, *args)
        meter.phase("evaluate", model=model)
        return found

    def epoch(self: Any, *args: Any) -> Any:
        if "start" not in seen:
            seen.append("start")
            meter.phase("open", model=model)
        yield from batches(self, *args)

    malloc.reuse_memory()  # as a worker does, for whose memory it is a promise
    StreamedNodes.scores, StreamedNodes.batches = timed, epoch  # type: ignore[method-assign]
    streamed.propagated = propagated
    task = task_from_edges("papers", place, epochs=epochs)
    report = run_benchmark(
        tasks=task, models=model, seeds=[0], protocol={"eval_every": epochs}, backend="serial",
        verbose=False, memory=memory,
    )  # fmt: skip
    (result,) = report.results
    meter.phase("end", model=model, status=result.status, test_acc=result.metrics.get("test_acc"))


def promise_phase(model: str, place: Path, memory: float | None, epochs: int | None) -> dict[str, Any]:
    """Estimate and measured peak of one cell in a worker."""
    from graphnetz import run_benchmark, task_from_edges
    from graphnetz.engine.cost import footprint

    estimated, price = [], footprint.estimate
    footprint.estimate = lambda *args, **how: estimated.extend(price(*args, **how)) or list(estimated)
    for kept in place.glob("propagated-*"):
        kept.unlink()
    begin, epochs = time.perf_counter(), epochs or EPOCHS[model]
    task = task_from_edges("papers", place, epochs=epochs)
    report = run_benchmark(
        tasks=task, models=model, seeds=[0], protocol={"eval_every": epochs}, backend="local", workers=1,
        verbose=False, memory=memory,
    )  # fmt: skip
    (result,) = report.results
    footprint.estimate = price
    return {
        "phase": "promise", "model": model, "status": result.status, "estimate_mb": round(estimated[0] / 1e6),
        "peak_mb": round(result.peak_memory / 1e6), "ratio": round(estimated[0] / result.peak_memory, 2),
        "cell_s": round(result.seconds, 1), "all_s": round(time.perf_counter() - begin, 1),
    }  # fmt: skip


def check_phase(place: Path, meter: Meter) -> None:
    """Compare exact evaluation from the folder with that of the same graph in memory."""
    import numpy as np
    import torch
    from torch_geometric.data import Data

    from graphnetz import GAT, GCN, GraphSAGE, kernels
    from graphnetz.graphs import GraphFolder
    from graphnetz.models import SGC
    from graphnetz.records import Protocol
    from graphnetz.tasktypes import TASK_TYPES, evaluate
    from graphnetz.tasktypes.streamed import StreamedNodes

    folder = GraphFolder.open(place)
    target = np.repeat(np.arange(folder.num_nodes), np.diff(folder.array("indptr")))
    data = Data(x=torch.from_numpy(folder.array("features").astype(np.float32)))
    data.edge_index = torch.from_numpy(np.stack([folder.array("indices"), target]).astype(np.int64))
    data.y = torch.from_numpy(folder.array("labels").astype(np.int64))
    for part in ("train", "val", "test"):
        data[f"{part}_mask"] = torch.zeros(folder.num_nodes, dtype=torch.bool)
        data[f"{part}_mask"][torch.from_numpy(folder.array(part).copy())] = True
    kind = TASK_TYPES["node_cls"]
    whole, disk = kind.split(data, 0), kind.split(folder, 0)
    for build in (GraphSAGE, GCN, SGC, GAT):
        torch.manual_seed(0)
        model = build(folder.num_features, 64, folder.num_classes)
        with kernels.accelerate(model):
            meter.phase("open")
            want = evaluate(kind, model, whole)["test"]
            meter.phase("in memory", model=build.__name__)
            found = evaluate(StreamedNodes(Protocol(), model), model, disk)["test"]
        error = float((found - want).abs().max() / want.abs().max())
        meter.phase("folder", model=build.__name__, relative_difference=error)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--edges", type=int, default=1_000_000)
    parser.add_argument("--place", type=Path, required=True)
    parser.add_argument("--model", nargs="+", default=["GraphSAGE", "SGC"])
    parser.add_argument("--memory", type=float)
    parser.add_argument("--epochs", type=int, help="default: 3, and 30 of SGC")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--promise", action="store_true", help="compare estimates with measured peaks, and end")
    parser.add_argument("--check", action="store_true", help="compare evaluation with that in memory, and end")
    parser.add_argument("--only", help=argparse.SUPPRESS)
    options = parser.parse_args()
    place = options.place / f"papers-{options.edges}"
    if options.check:
        check_phase(place, Meter())
        return
    if options.promise:
        for model in options.model:
            print(json.dumps(promise_phase(model, place, options.memory, options.epochs)), flush=True)
        return
    if options.only is None:  # one process per phase: the next one starts without the memory of the last
        for only in ("convert", *options.model):
            words = [sys.executable, __file__, *sys.argv[1:], "--only", only]
            subprocess.run(words, check=True)
        return
    meter = Meter()
    if options.only == "convert":
        place.parent.mkdir(parents=True, exist_ok=True)
        convert_phase(options.edges, place, meter)
    else:
        cell_phase(options.only, place, options.memory, options.epochs, meter)
    if options.write:
        with RESULTS.open("a", encoding="utf-8") as stream:
            stream.writelines(json.dumps({"edges": options.edges, **row}) + "\n" for row in meter.rows)


if __name__ == "__main__":
    main()
