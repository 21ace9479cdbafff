"""Why are ``rf`` and ``rg`` on MUTAG harder with us than in the paper? Twenty paired runs of every reading of them.

``python benchmarks/rings_redrawn.py --data DIR --out RUNS [--mode rf] [--only 6]`` trains what is missing and keeps the
scores; ``rings_pages.py`` makes their table. What a reading does not name is the quick preset.
"""

from __future__ import annotations

import argparse
import copy
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Data

from graphnetz.benchmark import SearchSpace, run_benchmark
from graphnetz.models.gin import GIN
from graphnetz.papers.rings import models as paper
from graphnetz.rings import perturb_task, task_from_source
from graphnetz.rings.presets import PRESETS

KEPT = Path(__file__).resolve().parent / "results" / "rings_redrawn.json"
QUICK = PRESETS["quick"]
METRICS = ("acc", "auc")


def features(data: Data) -> Data:
    """Return a batch whose features are drawn anew, as by a transform that is applied whenever a graph is read."""
    fresh = copy.copy(data)
    fresh.x = torch.randn_like(data.x)
    return fresh


def graphs(data: Data, *, doubled: bool = False) -> Data:
    """Return a batch with as many random arcs per graph as it has; undirected edges, or ordered pairs (doubled)."""
    fresh, out = copy.copy(data), []
    sizes, first = torch.bincount(data.batch).tolist(), 0
    arcs = torch.bincount(data.batch[data.edge_index[0]], minlength=len(sizes)).tolist()
    for n, m in zip(sizes, arcs, strict=True):
        source, target = (torch.arange(n) for _ in range(2))
        pairs = torch.cartesian_prod(source, target)
        pairs = pairs[pairs[:, 0] != pairs[:, 1]] if doubled else pairs[pairs[:, 0] < pairs[:, 1]]
        drawn = pairs[torch.randperm(len(pairs))[: m if doubled else m // 2]].T + first
        out.append(drawn if doubled else torch.cat([drawn, drawn.flip(0)], dim=1))
        first += n
    fresh.edge_index = torch.cat(out, dim=1)
    return fresh


def doubled(data: Data) -> Data:
    """Return a batch with random ordered pairs, as many as there are arcs."""
    return graphs(data, doubled=True)


def redrawn(model: type, draw: Callable[[Data], Data], *, evaluated: bool = True) -> type:
    """Return a model to which no batch looks twice the same, in evaluation neither unless ``evaluated`` is off."""

    class Redrawn(model):  # type: ignore[misc]
        def forward(self, data: Data) -> Tensor:
            return super().forward(draw(data) if self.training or evaluated else data)

    return Redrawn


LONG = {"epochs": 200, "protocol": {**QUICK.protocol, "selection": "best_val", "eval_every": 1}}
VARIANTS: dict[str, dict[str, Mapping[str, Any]]] = {
    "rf": {
        "ten columns, one draw per run (ours)": {},
        "as many columns as the data, 7": {"width": 7},
        "100 columns": {"width": 100},
        "one draw for all runs": {"vary": False},
        "200 epochs, best on validation": LONG,
        "the paper's GIN (batch norm)": {"model": paper.GIN},
        "drawn anew in every epoch": {"model": redrawn(GIN, features)},
        "drawn anew in every epoch, not in evaluation": {"model": redrawn(GIN, features, evaluated=False)},
        "drawn anew in every epoch, the paper's GIN": {"model": redrawn(paper.GIN, features)},
        "drawn anew in every epoch, 200 epochs, best on validation": {"model": redrawn(GIN, features), **LONG},
    },
    "rg": {
        "one draw per run (ours)": {},
        "drawn anew in every epoch": {"model": redrawn(GIN, graphs)},
        "doubled edges, drawn anew in every epoch": {"code": "o", "model": redrawn(GIN, doubled)},
        "drawn anew in every epoch, the paper's GIN": {"model": redrawn(paper.GIN, graphs)},
    },
}


def scores_of(options: argparse.Namespace, mode: str, number: int) -> dict[str, list[float]]:
    """Train one variant and return its test scores by metric, in the order of the runs."""
    changes = list(VARIANTS[mode].values())[number]
    original = replace(task_from_source(options.data / "MUTAG"), metric="auc")
    task = perturb_task(
        original, changes.get("code", mode), vary=changes.get("vary", True), width=changes.get("width"),
        test_share=QUICK.test_share,
    )  # fmt: skip
    report = run_benchmark(
        models={"GIN": changes.get("model", GIN)}, tasks=[task], seeds=range(options.runs),
        epochs=changes.get("epochs", QUICK.epochs), search=SearchSpace(lr=QUICK.search["lr"]),
        protocol={"edge_attributes": False, **changes.get("protocol", QUICK.protocol)}, backend="serial",
        out=options.out / f"{mode}{number}", verbose=False,
    )  # fmt: skip
    cells = sorted((cell for cell in report.results if cell.ok), key=lambda cell: cell.seed)
    return {metric: [round(cell.metrics[f"test_{metric}"], 5) for cell in cells] for metric in METRICS}


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder of TU datasets")
    parser.add_argument("--out", type=Path, required=True, help="run folder")
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--mode", action="append", choices=list(VARIANTS))
    parser.add_argument("--only", type=int, action="append", help="number of a variant, from 0")
    options = parser.parse_args(argv)
    kept = json.loads(KEPT.read_text(encoding="utf-8")) if KEPT.exists() else {}
    for mode in options.mode or VARIANTS:
        rows = kept.setdefault(mode, {})
        for number, name in enumerate(VARIANTS[mode]):
            if options.only is None or number in options.only:
                rows[name] = scores_of(options, mode, number)
                kept[mode] = rows = {key: rows[key] for key in VARIANTS[mode] if key in rows}
                KEPT.write_text(json.dumps(kept) + "\n", encoding="utf-8")
                print(mode, name, {metric: round(float(np.mean(v)), 3) for metric, v in rows[name].items()}, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
