"""Selection: accuracy of every selector on the published collections, and speed of the features.

Usage: ``python benchmarks/bench_selection.py [speed|command|metagl|glemos] [selector ...]``. The collections are
read from ``../shared/data`` beside the project, or from the folder in ``GRAPHNETZ_DATA``. Times are
process CPU seconds; set OMP_NUM_THREADS=1 for one thread.
"""

from __future__ import annotations

import os
import sys
import time
import warnings
from pathlib import Path

import networkx as nx
import numpy as np

from graphnetz.graphs.compressed import as_graph
from graphnetz.papers.glemos import glemos_testbeds, read_glemos, read_metagl
from graphnetz.selection.metafeatures import meta_features
from graphnetz.selection.selectors import SELECTORS
from graphnetz.selection.testbeds import cross_task, evaluate, fully_observed

DATA = Path(os.environ.get("GRAPHNETZ_DATA", Path(__file__).resolve().parents[1].parent / "shared" / "data"))


def seconds(function, *args):
    start = time.process_time()
    function(*args)
    return time.process_time() - start


def speed(_):
    meta_features(nx.karate_club_graph(), "reg+graphlets")  # compile
    rng = np.random.default_rng(0)
    for nodes, edges in ((20_000, 100_000), (200_000, 1_000_000)):
        pairs = rng.integers(0, nodes, (2, edges))
        for name in ("regular", "graphlets", "compact", "extended"):
            graph = as_graph(pairs, nodes, directed=False)
            print(f"{name:10s} {graph.num_edges:>9,} edges: {seconds(meta_features, graph, name):.3f} s")
        graph = as_graph(pairs, nodes, directed=False)
        print(f"orbits     {graph.num_edges:>9,} edges: {seconds(lambda g: g.orbits, graph):.3f} s")
        if edges == 100_000:
            ours = seconds(meta_features, as_graph(pairs, nodes, directed=False), "regular")
            theirs = seconds(networkx_regular, nx.Graph(list(map(tuple, graph.edges.tolist()))))
            print(f"regular with networkx, distributions only: {theirs:.2f} s")
            print(f"regular with ours, statistics included: {ours:.3f} s, {theirs / ours:.0f} times faster")


def command(_):
    """The whole command in a fresh process, wall-clock seconds, median of three."""
    import statistics
    import subprocess
    import tempfile

    rng = np.random.default_rng(0)
    run = [sys.executable, "-m", "graphnetz", "select"]
    with tempfile.TemporaryDirectory() as folder:
        for nodes, edges in ((0, 0), (20_000, 100_000), (200_000, 1_000_000)):
            file = Path(folder) / f"{edges}.csv"
            if edges:
                np.savetxt(file, rng.integers(0, nodes, (edges, 2)), fmt="%d", delimiter=",")
            times = []
            for _ in range(3):
                start = time.perf_counter()
                subprocess.run([*run, *([str(file)] if edges else [])], check=True, capture_output=True)
                times.append(time.perf_counter() - start)
            print(f"graphnetz select, {edges:>9,} edges, cold: {statistics.median(times):.2f} s", flush=True)


def networkx_regular(graph):
    """The five distributions and the scalars; without the statistics, which are ours to make fast."""
    nx.density(graph), nx.degree_assortativity_coefficient(graph)
    nx.core_number(graph), nx.triangles(graph), nx.pagerank(graph, alpha=0.7, tol=1e-12, max_iter=500)


def show(name, bed):
    result = evaluate(name, bed)
    mean, sem = result.mean, result.standard_error
    cells = "  ".join(f"{key} {mean[key]:.3f} ({sem[key]:.3f})" for key in ("auc", "mrr", "ndcg1", "hit5"))
    print(f"{bed.name:22s} {name:8s} {cells}  train {max(result.train_seconds):.2f} s", flush=True)


def metagl(names):
    data = read_metagl(DATA / "MetaGL" / "MetaGL_data.npz")
    for name in names:
        show(name, fully_observed(data.P, data.M, data.domains))


def glemos(names):
    tar, features = DATA / "GLEMOS" / "testbeds.tar.xz", DATA / "GLEMOS" / "metafeats.npz"
    tasks = {task: read_glemos(tar, features, task=task) for task in ("link-pred", "node-class")}
    for task, data in tasks.items():
        print(f"\n{task}: {data.note}")
        for bed in glemos_testbeds(data, tar, task=task).values():
            for name in names:
                show(name, bed)
    print("\ncross task: not comparable: 10 % masked, unidentified EGC columns left out")
    sides = {task: (data.P, data.M, data.models) for task, data in tasks.items()}
    for source, target in (("node-class", "link-pred"), ("link-pred", "node-class")):
        bed = cross_task(sides[source], sides[target], name=f"{source} to {target}")
        for name in names:
            show(name, bed)


if __name__ == "__main__":
    warnings.filterwarnings("ignore")
    what = sys.argv[1] if len(sys.argv) > 1 else "speed"
    {"speed": speed, "command": command, "metagl": metagl, "glemos": glemos}[what](sys.argv[2:] or list(SELECTORS))
