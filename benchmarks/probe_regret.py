"""How close a race comes to the best of all: ``python benchmarks/probe_regret.py OUT.jsonl --graphs FOLDER``.

One graph of every domain of the bank, drawn with a seed, is read from FOLDER (the ``graphs`` of a run of
`bank_collect.py`), its whole domain is taken out of the bank, and for each task it serves a line says how far from the
best stay the first choice and the best of three of the recommendation, of a race within the budget. The
best is that of all configurations trained in full on the same splits. What is there is not measured again.
With ``--processor`` budgets are processor seconds, so that other work on the machine takes nothing away.
"""

from __future__ import annotations

import argparse
import json
import time
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np

from graphnetz.graphs import as_graph
from graphnetz.graphs.compressed import Graph
from graphnetz.selection import PerformanceBank, recommend
from graphnetz.selection import probe as race_module
from graphnetz.selection.probe import Race, probe
from graphnetz.selection.real import known_graphs

SPLITS = 3
FOREVER = 1e6


class Processor:
    """Stands for the module ``time`` in a race whose budget counts processor seconds."""

    perf_counter = staticmethod(time.process_time)


def graph_of(folder: Path, name: str) -> Graph:
    """Read a graph that was kept as arrays."""
    with np.load(folder / f"{name.replace(' ', '_')}.npz", allow_pickle=False) as held:
        extra = {key: held[key] for key in ("labels", "features") if key in held.files}
        return as_graph(held["edges"], int(held["nodes"]), directed=False, name=name, **extra)


def without(bank: PerformanceBank, domain: str) -> PerformanceBank:
    """Return the bank as if nothing were known of a domain."""
    out = PerformanceBank()
    out.graphs.update({name: graph for name, graph in bank.graphs.items() if graph.domain != domain})
    for record in bank.records:
        if record.graph in out.graphs:
            out.add(record)
    return out


def sample(bank: PerformanceBank, seed: int) -> list[tuple[str, str]]:
    """One graph per domain and task, in an order drawn with the seed; the tasks take turns."""
    rng, turns = np.random.default_rng(seed), []
    for task_type in ("node_cls", "link_pred"):
        known = known_graphs(bank, task_type)
        domains = rng.permutation(np.unique(known.domains))
        names = np.array(known.graphs)
        turns.append([(str(rng.choice(names[known.domains == domain])), task_type) for domain in domains])
    return [pair for pairs in zip_longest(*turns) for pair in pairs if pair]


def regrets(found: Race, truth: dict[str, float], prior: list[str]) -> dict[str, float]:
    """Distance from the best of the first and of the best among three, for the race and for the prior alone."""
    best = max(truth.values())
    order = [row.name for row in found.contenders if row.name in truth]
    return {
        "prior_1": best - truth[prior[0]], "prior_3": best - max(truth[name] for name in prior[:3]),
        "probe_1": best - truth[order[0]], "probe_3": best - max(truth[name] for name in order[:3]),
        "random": best - float(np.mean(list(truth.values()))), "best": best,
    }  # fmt: skip


def one(graph: Graph, task_type: str, bank: PerformanceBank, budget: float) -> dict[str, Any]:
    """Race; then train in full what the race left out."""
    result = recommend(graph, task_type, top=1000, bank=bank)
    clock = race_module.time.perf_counter
    begin = clock()
    found = probe(result, budget, splits=SPLITS)
    took = clock() - begin
    rows = found.measured
    if any(row.splits < SPLITS and not row.error for row in found.contenders):
        rows = probe(result, FOREVER, splits=SPLITS).measured
    truth = {row.name: row.mean for row in rows if row.splits == SPLITS}
    prior = [choice.name for choice in result.choices if choice.name in truth]
    full = sum(row.splits == SPLITS for row in found.contenders)
    facts = {"graph": graph.name, "task": task_type, "edges": graph.num_edges, "budget": budget, "took": took}
    return facts | {"in_full": full, "of": len(found.contenders)} | regrets(found, truth, prior)


def main() -> None:
    """Measure what is missing."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--graphs", type=Path, required=True)
    parser.add_argument("--budget", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--most", type=int, default=1000, help="graphs and tasks at most")
    parser.add_argument("--processor", action="store_true", help="count processor seconds")
    asked = parser.parse_args()
    if asked.processor:
        race_module.time = Processor  # type: ignore[assignment]
    bank = PerformanceBank.load()
    lines = asked.out.read_text().splitlines() if asked.out.exists() else []
    done = {(row["graph"], row["task"], row["budget"]) for row in map(json.loads, lines)}
    for name, task_type in sample(bank, asked.seed)[: asked.most]:
        if (name, task_type, asked.budget) not in done:
            rest = without(bank, bank.graphs[name].domain)
            row = one(graph_of(asked.graphs, name), task_type, rest, asked.budget)
            with asked.out.open("a") as stream:
                stream.write(json.dumps(row) + "\n")
            print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
