"""How close a race comes to the best of all: ``python benchmarks/probe_regret.py OUT.jsonl --graphs FOLDER``.

One graph of every domain of the bank, drawn with a seed, is read from FOLDER (the ``graphs`` of a run of
`bank_collect.py`), its whole domain is taken out of the bank, and for each task it serves a line says how far from the
best stay the first choice and the best of three of the recommendation, of a race within the budget. The
best is that of all configurations trained in full on the same splits. What is there is not measured again.
With ``--processor`` budgets are processor seconds, so that other work on the machine takes nothing away; no run is
stopped by the clock then, and ``took`` says how much the last one went over.
With ``--records`` what each configuration reaches in full is taken from the bank, whose records are of the same splits
and protocol, so that a graph costs its race alone; ``apart`` is how far what the race measured lies from them.
``--json FILE`` writes means and rows of what is in OUT.jsonl.
``--shared`` and ``--wheels`` (as for `bank_collect.py`) build graphs that FOLDER lacks; what cannot be had is left out.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
from bank_collect import LARGE, kept_graph
from bank_graphs import Folders, real_entries
from graphnetz._core.errors import GraphnetzError
from graphnetz.engine import executors
from graphnetz.graphs import as_graph
from graphnetz.graphs.compressed import Graph
from graphnetz.selection import PerformanceBank, recommend
from graphnetz.selection import probe as race_module
from graphnetz.selection.probe import Race, probe
from graphnetz.selection.real import fit_real, known_graphs

limits = executors.Limits
SPLITS, RECORDED = 3, 2
"""Splits of a race, and those that every record of the bank has."""
FOREVER = 1e6
TARGETS = {"link_pred": 0.01, "node_cls": 0.02}
"""How far below the best of all the best of three of a race should stay."""


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


def sample(bank: PerformanceBank, seed: int, task_types: tuple[str, ...]) -> list[tuple[list[str], str]]:
    """The graphs of each domain and the task, in an order drawn with the seed; the tasks take turns."""
    rng, turns = np.random.default_rng(seed), []
    for task_type in task_types:
        known = known_graphs(bank, task_type)
        names = np.array(known.graphs)
        domains = rng.permutation(np.unique(known.domains))
        turns.append([(rng.permutation(names[known.domains == domain]).tolist(), task_type) for domain in domains])
    return [pair for pairs in zip_longest(*turns) for pair in pairs if pair]


def at_hand(
    names: list[str], task_type: str, folder: Path, bank: PerformanceBank, folders: Folders | None
) -> str | None:
    """The first of the graphs that is small enough and in the folder, or can be built as the bank knows it.

    Those measured on `RECORDED` splits come before those with fewer.
    """

    built = {} if folders is None else {entry.name: entry for entry in real_entries(folders)}

    def splits(name: str) -> int:
        return sum(key.startswith(f"{task_type} ") and bool(recorded(bank, name, task_type, int(key[-1]) + 1))
                   for key in bank.graphs[name].splits)  # fmt: skip

    for name in sorted(names, key=lambda name: -min(splits(name), RECORDED)):
        held = bank.graphs[name]
        if held.edges > LARGE:
            continue
        try:
            graph = kept_graph(built[name], folder) if name in built else graph_of(folder, name)
        except (OSError, KeyError, ValueError, GraphnetzError):
            continue  # a wheel or a set that is not here
        if (graph.num_nodes, graph.num_edges) == (held.nodes, held.edges):
            return name
    return None


def regrets(found: Race, truth: dict[str, float], prior: list[str]) -> dict[str, float]:
    """Distance from the best of the first and of the best among three, for the race and for the prior alone."""
    best = max(truth.values())
    order = [row.name for row in found.contenders if row.name in truth]
    return {
        "prior_1": best - truth[prior[0]], "prior_3": best - max(truth[name] for name in prior[:3]),
        "probe_1": best - truth[order[0]], "probe_3": best - max(truth[name] for name in order[:3]),
        "random": best - float(np.mean(list(truth.values()))), "best": best,
    }  # fmt: skip


def recorded(bank: PerformanceBank, name: str, task_type: str, splits: int) -> dict[str, float]:
    """What the configurations reach on the first splits of a graph, those that were measured on all of them."""
    held: dict[str, dict[int, float]] = {}
    for record in bank.records:
        if (record.graph, record.task_type) == (name, task_type) and record.seed < splits:
            held.setdefault(record.configuration.name, {})[record.seed] = record.value
    return {key: float(np.mean([*values.values()])) for key, values in held.items() if len(values) == splits}


def one(
    graph: Graph, task_type: str, bank: PerformanceBank, budget: float, known: PerformanceBank | None = None
) -> dict[str, Any]:
    """Race; then train in full what the race left out, or look it up in ``known``."""
    splits = SPLITS
    if known is not None:
        splits = RECORDED if recorded(known, graph.name, task_type, RECORDED) else 1
    result = recommend(graph, task_type, top=1000, bank=bank)
    clock = race_module.time.perf_counter
    begin = clock()
    found = probe(result, budget, splits=splits)
    took, more = clock() - begin, {}
    if known is not None:
        truth = recorded(known, graph.name, task_type, splits)
        more = {"apart": _apart(found, truth, splits), "splits": splits}
    else:
        rows = found.measured
        if any(row.splits < splits and not row.error for row in found.contenders):
            rows = probe(result, FOREVER, splits=splits).measured
        truth = {row.name: row.mean for row in rows if row.splits == splits}
    prior = [choice.name for choice in result.choices if choice.name in truth]
    full = sum(row.splits == splits for row in found.contenders)
    facts = {"graph": graph.name, "task": task_type, "edges": graph.num_edges, "budget": budget, "took": took}
    return facts | more | {"in_full": full, "of": len(found.contenders)} | regrets(found, truth, prior)


def summary(rows: list[dict[str, Any]], bank: PerformanceBank) -> dict[str, Any]:
    """Means by task over one graph of each domain, and the rows; the recommendation alone is that of today."""
    out: dict[str, Any] = {}
    for task_type in dict.fromkeys(row["task"] for row in rows):
        held, known = [row for row in rows if row["task"] == task_type], known_graphs(bank, task_type)
        for row in held:
            place = known.graphs.index(row["graph"])
            advice = fit_real(known.take(known.domains != known.domains[place])).advise(known.M[place])
            truth = recorded(bank, row["graph"], task_type, row["splits"])
            order = [known.configurations[j].name for j in advice.order if known.configurations[j].name in truth]
            row["domain"] = str(known.domains[place])
            row["prior_1"], row["prior_3"] = (max(truth.values()) - max(truth[n] for n in order[:k]) for k in (1, 3))
        keys = ("probe_1", "probe_3", "prior_1", "prior_3", "random", "took", "apart")
        out[task_type] = {
            "graphs": len(held), "of": len(np.unique(known.domains)),
            "all in full": sum(row["in_full"] == row["of"] for row in held), "budget": held[0]["budget"],
            **{key: float(np.nanmean([row[key] for row in held])) for key in keys},
            **{f"median {key}": float(np.median([row[key] for row in held])) for key in ("probe_3", "took")},
            "within target": sum(row["probe_3"] <= TARGETS[task_type] for row in held), "rows": held,
        }  # fmt: skip
    return out


def _apart(found: Race, truth: dict[str, float], splits: int) -> float:
    gaps = [abs(row.mean - truth[row.name]) for row in found.measured if row.splits == splits and row.name in truth]
    return float(np.mean(gaps)) if gaps else float("nan")


def main() -> None:
    """Measure what is missing."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--graphs", type=Path, required=True)
    parser.add_argument("--budget", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--most", type=int, default=1000, help="graphs and tasks at most")
    parser.add_argument("--processor", action="store_true", help="count processor seconds")
    parser.add_argument("--records", action="store_true", help="take what is reached in full from the bank")
    parser.add_argument("--json", type=Path, help="write what is there, with means, and measure nothing")
    parser.add_argument("--task", help="only this task type")
    parser.add_argument("--shared", type=Path, help="folder of data sets and networks, to build missing graphs")
    parser.add_argument("--wheels", type=Path, default=Path("wheels"), help="folder of wheels")
    parser.add_argument("--catalogue", type=Path, default=Path("data/benchmark"))
    asked = parser.parse_args()
    if asked.processor:
        race_module.time = Processor  # type: ignore[assignment]
        executors.Limits = lambda *_: limits(None)  # type: ignore[assignment, misc]
    bank = PerformanceBank.load()
    lines = asked.out.read_text().splitlines() if asked.out.exists() else []
    if asked.json:
        found = summary([json.loads(line) for line in lines], bank)
        asked.json.write_text(json.dumps(found, indent=1) + "\n")
        print(*({k: v for k, v in one.items() if k != "rows"} for one in found.values()), sep="\n")
        return
    done = {(row["graph"], row["task"], row["budget"]) for row in map(json.loads, lines)}
    folders = Folders(asked.shared, asked.wheels, asked.catalogue) if asked.shared is not None else None
    tasks = (asked.task,) if asked.task else ("node_cls", "link_pred")
    for names, task_type in sample(bank, asked.seed, tasks)[: asked.most]:
        name = at_hand(names, task_type, asked.graphs, bank, folders)
        if name is None:
            print(f"{bank.graphs[names[0]].domain}: no graph at hand for {task_type}", flush=True)
        elif (name, task_type, asked.budget) not in done:
            rest = without(bank, bank.graphs[name].domain)
            row = one(graph_of(asked.graphs, name), task_type, rest, asked.budget, bank if asked.records else None)
            with asked.out.open("a") as stream:
                stream.write(json.dumps(row) + "\n")
            print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
