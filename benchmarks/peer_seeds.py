"""W2 once more on the peer's own draws: its splits, initial weights and dropout masks, our kernels.

``python benchmarks/peer_seeds.py [--seeds 10] [--more 40]``. `bench.py` lets every package draw for itself, so a
difference between the means may be chance. Here the random numbers are the peer's, in its order, and what remains is
arithmetic: the first columns should agree. The last ones are the mean with our faster dropout stream, on the same seeds
and on ``--more`` further ones, which shows how far ten seeds are from the mean of many. Peer means are read from
``results/peer.json``, so run `bench.py` on W2 with as many seeds first.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import random
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch_geometric.transforms import RandomLinkSplit
from torch_geometric.utils import degree

import graphnetz.kernels as kernels
from graphnetz import models
from graphnetz.metrics import rank_auc
from graphnetz.tasktypes.heads import LinkHead
from workloads import EPOCHS, link_graph

RESULTS = Path(__file__).resolve().parent / "results"
HIDDEN, LEARNING_RATE = 64, 1e-2


def final_auc(name: str, seed: int, *, torch_stream: bool) -> float:
    """Test AUC after the last epoch, every random number drawn as the peer draws it."""
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)
    cut = RandomLinkSplit(num_val=0.05, num_test=0.10, is_undirected=True, add_negative_train_samples=True)
    train, _, test = cut(link_graph())
    nodes = int(train.num_nodes)
    log_degree = torch.log1p(degree(train.edge_index[0], nodes)) / math.log(nodes)
    train.x = torch.stack([log_degree, log_degree**2, torch.ones(nodes)], dim=1)
    model = LinkHead(getattr(models, name)(3, HIDDEN, HIDDEN))
    optimiser = torch.optim.Adam(model.parameters(), lr=LEARNING_RATE)
    with kernels.torch_dropout_stream() if torch_stream else contextlib.nullcontext():
        for _ in range(EPOCHS["W2"]):
            optimiser.zero_grad()
            scores = model.decode(model.encode(train), train.edge_label_index)
            F.binary_cross_entropy_with_logits(scores, train.edge_label).backward()
            optimiser.step()
    model.eval()
    with torch.no_grad():
        scores = model.decode(model.encode(train), test.edge_label_index)
    return float(rank_auc(test.edge_label.numpy(), scores.numpy()))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--more", type=int, default=40)
    options = parser.parse_args()
    torch.set_num_threads(1)
    peer = json.loads((RESULTS / "peer.json").read_text())["results"]["W2"]
    if peer["seeds"] != options.seeds:
        raise SystemExit(f"results/peer.json holds W2 with {peer['seeds']} seeds. Run bench.py with {options.seeds}.")
    rows = {}
    print(f"{'model':18s}{'peer':>8s}{'its draws':>11s}{'fast dropout':>14s}{'more seeds':>12s}{'s.d.':>7s}")
    for name, measured in peer["metrics"].items():
        drawn = [final_auc(name, seed, torch_stream=True) for seed in range(options.seeds)]
        fast = [final_auc(name, seed, torch_stream=False) for seed in range(options.seeds + options.more)]
        later = fast[options.seeds :]
        rows[name] = {
            "peer": measured["peer_mean"], "peer_draws": np.mean(drawn), "fast_dropout": np.mean(fast[: options.seeds]),
            "more_seeds": np.mean(later), "more_seeds_sd": np.std(later, ddof=1),
        }  # fmt: skip
        print(f"{name:18s}{rows[name]['peer']:8.4f}{rows[name]['peer_draws']:11.4f}{rows[name]['fast_dropout']:14.4f}"
              f"{rows[name]['more_seeds']:12.4f}{rows[name]['more_seeds_sd']:7.4f}", flush=True)  # fmt: skip
    document = {"seeds": options.seeds, "more": options.more, "models": rows}
    (RESULTS / "peer_seeds.json").write_text(json.dumps(document, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    main()
