"""RINGS on the catalogue's tasks beyond the paper, from cheap to dear, one small JSON per task.

``python benchmarks/rings_beyond.py --data MIRROR --out RUNS [--root DATA] [--minutes N] [NAME ...]`` trains what is not
kept yet and keeps it (`rings_evidence.py`); stopped and called again it goes on. ``--minutes`` starts no further task
after so many. ``ship`` of `rings_evidence.py` and `rings_pages.py` then write what the package and the pages say.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import rings_evidence as evidence
from graphnetz._core.errors import GraphnetzError
from graphnetz.datasets import find_task
from graphnetz.engine.config import mirrored
from graphnetz.records import RunConfig, Task

RUNS = 20
MOST_EPOCHS = 200
"""On one graph an epoch is one step: these get the epochs of their card up to so many, and one learning rate."""
TASKS = (
    "polbooks_node_cls", "airports_brazil", "cornell", "texas", "wisconsin", "airports_europe", "terrorists_911",
    "train_terrorists", "hospital_contacts", "sp_high_school_friendship", "graph_classes", "les_miserables", "cora",
    "attack_tactics", "logic_gates", "email_departments", "nuclide_half_life", "london_transport", "eu_airlines",
    "celegans", "product_space", "breast_cancer_knn", "sbm_communities", "p2p_botnet", "trader_trust", "citeseer",
    "internet_as_simulated", "polblogs_node_cls", "airports_usa", "euroroad", "netscience_coauthors",
    "digits_superpixels", "ecoli_enzymes", "cora_link_pred", "college_messages", "minesweeper", "actor", "french_grid",
)  # fmt: skip
"""Runs on them have a split each: their own, or fresh ones of the nodes. Data split in time have one: left out."""
MANY_GRAPHS = ("graph_cls", "graph_reg")


def settings(task: Task, options: argparse.Namespace) -> argparse.Namespace:
    """Return what `rings_evidence` is asked for: GIN and the quick preset on many graphs, GCN on one."""
    many = task.task_type in MANY_GRAPHS
    return argparse.Namespace(
        name=task.name, data=options.data, root=options.root, runs=RUNS, first=0, modes=None, doubled=False, workers=1,
        model=["GIN" if many else "GCN"], one=not many,
        epochs=None if many else min(task.epochs, MOST_EPOCHS),
        fresh=task.task_type == "node_cls" and not task.seeded, out=options.out / task.name,
    )  # fmt: skip


def main(argv: Sequence[str] | None = None) -> int:
    """Train and keep."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="these tasks only")
    parser.add_argument("--data", type=Path, required=True, help="mirror of the catalogue")
    parser.add_argument("--out", type=Path, required=True, help="folder of run folders")
    parser.add_argument("--root", default="data/benchmark", help="where the catalogue's data are kept")
    parser.add_argument("--minutes", type=float, default=float("inf"))
    options = parser.parse_args(argv)
    start, left = time.monotonic(), []
    with mirrored(RunConfig.read({"mirror": str(options.data)})):
        for name in options.names or TASKS:
            if (evidence.KEPT / f"{name}.json").exists():
                continue
            if time.monotonic() - start > 60 * options.minutes:
                left.append(name)
                continue
            began, asked = sum(os.times()[:4]), settings(find_task(name), options)
            try:
                evidence.train(asked)
                asked.out, asked.looks = [asked.out], ()
                evidence.keep(asked)
            except GraphnetzError as error:
                left.append(name)
                print(f"{name}: {error}", file=sys.stderr)
            print(f"{name}: {sum(os.times()[:4]) - began:.0f} core-seconds", file=sys.stderr, flush=True)
    if left:
        print(f"not evaluated: {', '.join(left)}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
