"""Memory of training batches by architecture: Figure 16 of Dwivedi et al. (2023) for processors.

``python benchmarks/batch_memory.py MIRROR`` measures the 500k networks of GCN, GAT and GatedGCN at the end of the
forward pass, batch after batch, in plain PyTorch and with the kernels of this package, and writes
``benchmarks/results/batch_memory.json`` and ``docs/images/batch-memory.png``; without a mirror it draws what is stored.
The graphs are the 2,000 molecules of ZINC that a mirror can hold and CLUSTER of our generator. CLUSTER is taken 2
graphs at a time, where the paper has 64: what is kept grows with the graphs of a batch.
"""

from __future__ import annotations

import json
import statistics
import sys
from pathlib import Path

import torch

import graphnetz.kernels as kernels
from graphnetz.datasets import CARDS
from graphnetz.datasets.generators.sbm import cluster
from graphnetz.datasets.suites import SUITES
from graphnetz.models.memory import batch_memory
from graphnetz.tasktypes import TASK_TYPES

HERE = Path(__file__).resolve().parent
STORED = HERE / "results" / "batch_memory.json"
PICTURE = HERE.parent / "docs" / "images" / "batch-memory.png"
BATCHES = 5
DATA = {
    "ZINC, 128 molecules": ("bgnn-table-3", "zinc", "graph_reg", 128),
    "CLUSTER, 2 graphs": ("bgnn-table-8b", "cluster", "node_cls", 2),
}
COLOURS = {"GCN": "#4477aa", "GAT": "#ee6677", "GatedGCN": "#228833"}


def measured(mirror: str, root: str) -> None:
    """Write the megabytes of every batch, by data, architecture and implementation, as they are measured."""
    graphs = {
        "zinc": CARDS["zinc_held_out"].loader(root, mirror=mirror),
        "cluster": cluster(0, train=20, val=2, test=2),
    }
    rows: list[dict[str, object]] = []
    for label, (suite, name, kind, size) in DATA.items():
        task = next(task for task in SUITES[suite]() if task.name == name)
        split, specs = TASK_TYPES[kind].split(graphs[name], 0), SUITES[suite].models()
        for model in COLOURS:
            key = next(key for key in specs if key in (f"bgnn.{model}-500k", f"bgnn.{model}-E-500k"))
            spec, width = specs[key], task.model_protocol[key]["hidden_channels"]
            for fast in (False, True):
                torch.manual_seed(0)
                net = spec.build(kind, split.dims, width)
                taken = []
                for batch in range(BATCHES):
                    torch.manual_seed(batch)  # the first batch of a new order every time
                    with kernels.enabled(fast):
                        taken.append(round(batch_memory(TASK_TYPES[kind], net, split, size).total / 1e6, 2))
                rows.append({"data": label, "model": model, "kernels": fast, "megabytes": taken})
                STORED.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
                print(f"{label:22} {model:10} kernels {fast!s:5} {statistics.fmean(taken):8.1f} MB", flush=True)


def draw(rows: list[dict[str, object]]) -> None:
    """One panel per dataset, one line per architecture; dashed: with the kernels."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, panels = plt.subplots(1, len(DATA), figsize=(7.2, 2.8), squeeze=False)
    for axes, label in zip(panels[0], DATA, strict=True):
        for row in rows:
            if row["data"] == label:
                style = "--" if row["kernels"] else "-"
                name = None if row["kernels"] else row["model"]
                axes.plot(row["megabytes"], style, color=COLOURS[str(row["model"])], lw=1.2, label=name)
        axes.set_title(label, fontsize=9)
        axes.set_xlabel("batch")
        axes.set_ylim(bottom=0)
    panels[0][0].set_ylabel("MB after the forward pass")
    panels[0][0].legend(frameon=False, fontsize=7)
    figure.tight_layout()
    figure.savefig(PICTURE, dpi=110, metadata={"Software": None})


if __name__ == "__main__":
    torch.set_num_threads(1)
    if len(sys.argv) > 1:
        import tempfile

        with tempfile.TemporaryDirectory() as root:
            measured(sys.argv[1], root)
    draw(json.loads(STORED.read_text(encoding="utf-8")))
