"""Run one workload once, with whichever `graphnetz` this interpreter has: the project's or the peer's.

``python benchmarks/workloads.py W1 --seeds 10 --workers 2 --folder CACHE --out FILE``. `bench.py` starts it in a
fresh process for each measurement; the result holds the final test metric of every (model, seed) cell.
"""

from __future__ import annotations

import argparse
import inspect
import json
import math
import os
from pathlib import Path

MODELS = {"W1": 4, "W2": 4, "W3": 5}
EPOCHS = {"W1": 100, "W2": 60, "W3": 40}
METRIC = {"W1": "test_acc", "W2": "test_auc", "W3": "test_acc"}
GRAPHS = 188


def link_graph():
    """5,000 nodes in 50 communities, 30,000 edges, no features."""
    import numpy as np
    import torch
    from torch_geometric.data import Data

    rng = np.random.default_rng(7)
    nodes, group = 5000, 100
    popularity = rng.pareto(2.5, nodes) + 0.2
    codes = np.zeros(0, dtype=np.int64)
    while codes.size < 30_000:
        u = rng.choice(nodes, 20_000, p=popularity / popularity.sum())
        near = rng.random(20_000) < 0.7
        v = np.where(near, (u // group) * group + rng.integers(0, group, u.size), rng.integers(0, nodes, u.size))
        drawn = np.minimum(u, v) * nodes + np.maximum(u, v)
        codes = np.unique(np.concatenate([codes, drawn[u != v]]))
    codes = rng.permutation(codes)[:30_000]
    half = np.stack([codes // nodes, codes % nodes])
    return Data(edge_index=torch.from_numpy(np.concatenate([half, half[::-1]], axis=1)), num_nodes=nodes)


def molecules():
    """188 graphs of 10 to 28 atoms of 7 kinds; the class says, with 10 % noise, whether rings and
    nitrogens are many."""
    import numpy as np
    import torch
    from torch_geometric.data import Data

    rng = np.random.default_rng(11)
    graphs = []
    for _ in range(GRAPHS):
        atoms = int(rng.integers(10, 29))
        many = int(rng.random() < 0.6)
        edges = {(int(rng.integers(max(0, i - 3), i)), i) for i in range(1, atoms)}
        for _ in range(int(rng.integers(2, 5)) if many else int(rng.integers(0, 2))):
            start = int(rng.integers(0, atoms - 5))
            edges.add((start, start + int(rng.integers(4, 6))))
        half = np.array(sorted(edges)).T
        share = [0.55, 0.2, 0.15, 0.04, 0.03, 0.02, 0.01] if many else [0.7, 0.08, 0.12, 0.04, 0.03, 0.02, 0.01]
        kinds = torch.from_numpy(rng.choice(7, atoms, p=share))
        label = many if rng.random() < 0.9 else 1 - many
        graphs.append(
            Data(
                x=torch.nn.functional.one_hot(kinds, 7).float(),
                edge_index=torch.from_numpy(np.concatenate([half, half[::-1]], axis=1)),
                y=torch.tensor([label]),
            )
        )
    return graphs


def peer_splits(seeds: int) -> list[dict[str, list[int]]]:
    """The splits that the peer draws for 188 graphs, so that both train and test on the same ones."""
    import torch

    splits = []
    for seed in range(seeds):
        torch.manual_seed(seed)
        order, held = torch.randperm(GRAPHS).tolist(), round(0.1 * GRAPHS)
        cut = GRAPHS - 2 * held
        splits.append({"train": order[:cut], "val": order[cut : cut + held], "test": order[cut + held :]})
    return splits


def tasks_of(workload: str, seeds: int, peer: bool):
    """Tasks in the form that this package takes."""
    import graphnetz.datasets as datasets

    if workload == "W1":
        if peer:
            from graphnetz.benchmark import Task

            return [Task("cora", "node_cls", datasets.social.cora, epochs=EPOCHS["W1"])]
        return ["cora"]
    if peer:
        from torch_geometric.data import InMemoryDataset

        from graphnetz.benchmark import task_from_dataset

        class Listed(InMemoryDataset):
            def __init__(self, graphs):
                super().__init__()
                self.data, self.slices = self.collate(graphs)

        if workload == "W2":
            return [task_from_dataset("w2", "link_pred", [link_graph()], epochs=EPOCHS["W2"])]
        return [task_from_dataset("w3", "graph_cls", Listed(molecules()), epochs=EPOCHS["W3"])]
    from graphnetz.records import GraphList

    if workload == "W2":
        return [datasets.task_from_dataset("w2", "link_pred", link_graph(), epochs=EPOCHS["W2"])]
    graphs = GraphList(molecules(), splits=peer_splits(seeds))
    return [datasets.task_from_dataset("w3", "graph_cls", graphs, epochs=EPOCHS["W3"])]


def finals(report, metric: str) -> dict[str, list[float]]:
    """Last value of the metric per model and seed; both packages keep histories by task, model and seed."""
    histories = next(iter(report.histories.values()))
    return {model: [float(history[metric][-1]) for history in runs] for model, runs in histories.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("workload", choices=[*MODELS])
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--folder", type=Path, required=True, help="where datasets are kept")
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()

    from graphnetz import models, run_benchmark

    peer = "workers" not in inspect.signature(run_benchmark).parameters
    chosen = [models.GCN, models.GAT, models.GraphSAGE, models.GraphTransformer, models.GIN]
    report = run_benchmark(
        tasks=tasks_of(options.workload, options.seeds, peer),
        models={cls.__name__: cls for cls in chosen[: MODELS[options.workload]]},
        root=str(options.folder),
        seeds=range(options.seeds),
        verbose=False,
        epochs=EPOCHS[options.workload],
        **({} if peer else {"workers": options.workers}),
    )
    values = finals(report, METRIC[options.workload])
    if any(math.isnan(value) for row in values.values() for value in row):
        raise SystemExit(f"{options.workload}: a cell ended without a metric.")
    options.out.write_text(json.dumps({"peer": peer, "finals": values, "pid": os.getpid()}))


if __name__ == "__main__":
    main()
