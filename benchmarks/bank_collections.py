"""Measure collections of graphs for the bank: ``python benchmarks/bank_collections.py --shared DATA --out RUN``.

Every cell is trained by the engine's own worker and appended to ``records.jsonl`` at once, so that a run that is
stopped goes on where it was.
Large sets are measured on a seeded sample of their graphs, which is an entry of its own name.
``--write FILE`` joins what is there to a bank. Only measurements and meta-features are shipped, no data.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from torch_geometric.data import Data

from graphnetz._core.rng import generator
from graphnetz.datasets import CARDS
from graphnetz.selection.collection import Collection, as_collection, read_collection
from graphnetz.selection.plan import bank_space

SPLITS = 2
GRAPHS = 300
KEYS = ("x", "edge_index", "edge_attr", "y", "num_nodes")
TURNS = (
    ("FeatureOnly", "GradientBoosting", "WeisfeilerLeman", "MLP", "SGC", "GCN-act=relu-dropout=0.0", "GIN-num_layers"),
    ("GIN-hidden", "GraphSAGE-act=relu-aggr=mean", "GAT", "EGC-aggregators=symnorm"),
    ("PNA", "GPS", "GraphTransformer", "EGC-aggregators=max", "ChebNet", "GraphSAGE-act=relu-aggr=max",
     "GCN-act=relu-dropout=0.5"),
)  # fmt: skip
"""Beginnings of the names of configurations: the cheap ones of all collections first, the dear ones last."""


@dataclass(frozen=True)
class Entry:
    """A collection of the bank: name, field it comes from, how it was made, and whether it was found."""

    name: str
    domain: str
    card: str
    kind: str
    build: Callable[[str], Collection]
    real: bool = True


def sample(held: Collection, name: str, count: int) -> Collection:
    """Random graphs of a collection, the same ones every time."""
    if held.num_graphs <= count:
        return as_collection(list(held.graphs), name=name)
    chosen = np.sort(generator("bank-collections", name).choice(held.num_graphs, count, replace=False))
    return as_collection([held.graphs[place] for place in chosen], name=name)


def listed(card: str, domain: str, count: int = GRAPHS, *, real: bool = True, part: int = 0) -> Entry:
    """A set of the catalogue whose graphs have classes, or a sample of it."""
    name = card if not part else f"{card} sample {part}"

    def build(root: str) -> Collection:
        return sample(read_collection(card, root=root), name, count)

    kind = "graphs of the set" if not part else f"a random sample of at most {count} graphs"
    return Entry(name, domain, card, kind, build, real)


def toxic(root: str) -> Collection:
    """ClinTox by its second label alone: toxic in trials."""
    graphs = CARDS["clintox"].loader(str(Path(root) / CARDS["clintox"].category / "clintox"))
    return sample(
        as_collection([_with(graph, int(graph.y.reshape(-1)[1])) for graph in graphs]), "clintox toxicity", GRAPHS
    )


def halves(card: str, domain: str, count: int = GRAPHS) -> Entry:
    """A set whose graphs have a number each: the classes are below and above its median."""
    name = f"{card} above median"

    def build(root: str) -> Collection:
        graphs = list(CARDS[card].loader(str(Path(root) / CARDS[card].category / card)))
        values = np.array([float(graph.y.reshape(-1)[0]) for graph in graphs])
        graphs = [_with(graph, int(value > np.median(values))) for graph, value in zip(graphs, values, strict=True)]
        return sample(as_collection(graphs), name, count)

    return Entry(name, domain, card, "classes are ours: target above its median", build, not CARDS[card].simulated)


def egos(card: str, domain: str, *, hops: int = 1, count: int = 300, width: int = 64, most: int = 60) -> Entry:
    """The surroundings of nodes with a class: a graph each, of its class; classes of others are not given."""
    name = f"{card} surroundings"

    def build(root: str) -> Collection:
        found = CARDS[card].loader(str(Path(root) / CARDS[card].category / card))
        data = found[0] if hasattr(found, "slices") or isinstance(found, list | tuple) else found
        y = data.y.reshape(-1)
        size = torch.bincount(y.clamp(min=0), weights=(y >= 0).double()).numpy()
        large = [c for c in np.argsort(-size) if size[c] >= 30][:6]
        rng, nodes = generator("surroundings", card), []
        for c in large:
            members = np.flatnonzero((y == int(c)).numpy())
            nodes += rng.choice(members, min(len(members), count // len(large)), replace=False).tolist()
        x = None
        if data.x is not None and data.x.is_floating_point():
            columns = data.x.var(dim=0).argsort(descending=True)[:width].sort().values
            x = data.x[:, columns]
        rows, columns = data.edge_index.numpy()
        ones = sp.csr_matrix((np.ones(len(rows)), (rows, columns)), shape=(data.num_nodes,) * 2)
        joined = ((ones + ones.T) > 0).tocsr()
        chosen = sorted(nodes)
        return as_collection([_around(joined, x, v, int(y[v]), hops, most, rng) for v in chosen], name=name)

    return Entry(name, domain, card, f"nodes within {hops} of a node, at most {most}", build)


def _around(adjacency: Any, x: Any, node: int, label: int, hops: int, most: int, rng: Any) -> Data:
    near = np.array([node])
    for _ in range(hops):
        near = np.union1d(near, adjacency[near].indices)
    if len(near) > most:
        near = np.array(sorted([node, *rng.choice(near[near != node], most - 1, replace=False).tolist()]))
    edges = torch.from_numpy(np.stack(adjacency[near][:, near].nonzero()).astype(np.int64))
    # Which node is meant is part of what a model has to know.
    centre = torch.from_numpy(near == node).float()[:, None]
    held = centre if x is None else torch.cat([x[torch.from_numpy(near)].float(), centre], dim=1)
    return Data(x=held, edge_index=edges, y=torch.tensor([label]), num_nodes=len(near))


def _with(graph: Any, label: int) -> Data:
    keep = {key: graph[key] for key in ("x", "edge_attr") if graph.get(key) is not None}
    return Data(edge_index=graph.edge_index, y=torch.tensor([label]), num_nodes=graph.num_nodes, **keep)


def entries() -> list[Entry]:
    """Every collection of the bank; domains take turns, any prefix is a mixture; generated ones come last."""
    made = [
        listed("mutag", "molecules"), listed("enzymes", "proteins", part=1),
        listed("imdb_binary", "collaborations", part=1),
        listed("digits_superpixels", "images", part=1), egos("airports_usa", "air traffic"),
        halves("knot_volume", "mathematics"),
        halves("fx_months", "finance"), egos("logic_gates", "circuits", hops=2),
        egos("ecoli_enzymes", "metabolism", hops=2),
        egos("cora", "citations"), listed("nci1", "molecules", part=1), listed("proteins", "proteins", part=1),
        listed("imdb_multi", "collaborations", part=1), listed("mnist_5k_superpixels", "images", part=1),
        listed("aids", "molecules", part=1), listed("bbbp", "molecules", part=1),
        Entry("clintox toxicity", "molecules", "clintox", f"one label; a sample of at most {GRAPHS} graphs", toxic),
        egos("tolokers", "crowd workers", count=300), egos("attack_tactics", "security weaknesses"),
        egos("email_departments", "e-mail and messages"), listed("dd", "proteins", 150, part=1),
        halves("esol", "molecules"), halves("lipo", "molecules"), egos("polblogs", "politics", count=300),
    ]  # fmt: skip
    simulated = [
        *(listed(f"algo_{name}", f"algo_{name}", real=False, part=1) for name in (
            "connected", "bipartite", "eulerian", "clique_number", "cycle", "perfect_matching", "chromatic_number",
        )),
        listed("csl", "csl", real=False), listed("cycles", "cycles", real=False, part=1),
    ]  # fmt: skip
    return [*made, *simulated]


def kept(entry: Entry, out: Path, root: str) -> Collection | None:
    """The collection of an entry, from the run's folder where it is there; None where its data cannot be had."""
    path = out / "graphs" / f"{entry.name.replace(' ', '_')}.pt"
    if not path.exists():
        try:
            held = entry.build(root)
        except Exception as error:
            print(f"{entry.name} is left out: {type(error).__name__}: {error}"[:200], flush=True)
            return None
        path.parent.mkdir(parents=True, exist_ok=True)
        torch.save([graph.to_dict() for graph in held.graphs], path)
    graphs = [
        Data(**{key: row[key] for key in KEYS if row.get(key) is not None})
        for row in torch.load(path)
    ]  # fmt: skip
    return as_collection(graphs, name=entry.name)


def passes() -> Iterator[tuple[int, int]]:
    """Split, and which of `TURNS`."""
    for turn in range(len(TURNS)):
        for split in range(SPLITS):
            yield split, turn


def measure(entry: Entry, held: Collection, turn: tuple[int, int], done: set[str], stream: Any) -> float:
    """Train what is missing of one collection and split; return the processor seconds it took."""
    from graphnetz.engine.plan import make_plan
    from graphnetz.engine.worker import Workbench
    from graphnetz.selection.building import engine_model
    from graphnetz.selection.collect import PROTOCOL, OnProcessor, measured_task

    split, number = turn
    space = {item.name: item for item in bank_space("graph_cls") if item.name.startswith(TURNS[number])}
    missing = [name for name in space if f"{entry.name}|{split}|{name}" not in done]
    if not missing:
        return 0.0
    task = measured_task(held, "graph_cls")
    bench = Workbench({task.name: task}, {name: engine_model(space[name]) for name in missing}, "unused")
    run, begin = OnProcessor(bench), time.process_time()
    for cell in make_plan(bench, (split,), protocol=PROTOCOL).cells:
        row: dict[str, Any] = {"graph": entry.name, "split": split, "configuration": cell.model}
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


def collect(out: Path, root: str, only: str | None) -> None:
    """Measure, pass after pass."""
    path = out / "records.jsonl"
    rows = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    done = {f"{r['graph']}|{r['split']}|{r['configuration']}" for r in rows}
    if odd := [item.name for item in bank_space("graph_cls") if sum(map(item.name.startswith, TURNS)) != 1]:
        raise SystemExit(f"TURNS does not name {odd[0]} once.")
    chosen = [entry for entry in entries() if only is None or only in entry.name]
    found, made = ([entry for entry in chosen if entry.real == real] for real in (True, False))
    with path.open("a", buffering=1) as stream:
        for turn, part in ((turn, part) for part in (found, made) for turn in passes()):
            for number, entry in enumerate(part):
                held = kept(entry, out, root)
                if held is not None:
                    spent = measure(entry, held, turn, done, stream)
                    print(f"pass {turn} {number + 1}/{len(part)} {entry.name} {spent:.1f} s",
                          time.strftime("%H:%M:%S"), flush=True)  # fmt: skip


def write(out: Path, root: str, target: Path, base: Path | None) -> None:
    """Join what is measured so far to a bank."""
    from graphnetz.selection.bank import COLLECTION_SET, BankGraph, PerformanceBank, PerformanceRecord
    from graphnetz.selection.landmarks import landmarks
    from graphnetz.selection.metafeatures import meta_features
    from graphnetz.selection.splits import graph_split

    bank = PerformanceBank.load(base)
    rows = [json.loads(line) for line in (out / "records.jsonl").read_text().splitlines()]
    wanted = {row["graph"] for row in rows}
    space = {item.name: item for item in bank_space("graph_cls")}
    for entry in entries():
        held = kept(entry, out, root) if entry.name in wanted else None
        if held is None:
            continue
        card, digests = CARDS[entry.card], {}
        for split in range(SPLITS):
            digest = hashlib.sha256()
            for key, value in sorted(graph_split(held.labels, split).items()):
                digest.update(key.encode() + np.ascontiguousarray(value, dtype="<i8").tobytes())
            digests[f"graph_cls {split}"] = digest.hexdigest()[:12]
        bank.graphs[entry.name] = BankGraph(
            entry.name, meta_features(held, COLLECTION_SET), held.num_nodes, held.num_edges, entry.domain,
            f"{card.source or card.title} ({entry.kind})", entry.real, card.licence or "see the source",
            {"graph_cls": landmarks(held, "graph_cls")}, digests, held.num_graphs,
        )  # fmt: skip
    for row in rows:
        if row["value"] is not None and not row["error"] and row["graph"] in bank.graphs:
            metrics = {key.removeprefix("test_"): value for key, value in row["metrics"].items()}
            bank.add(PerformanceRecord(
                row["graph"], space[row["configuration"]], "graph_cls", row["value"],
                row["metric"].removeprefix("test_"), metrics, row["seconds"], row["memory"], row["split"],
            ))  # fmt: skip
    bank.save(target)
    print(
        f"{len(bank)} records, {sum(g.graphs > 1 for g in bank.graphs.values())} collections, "
        f"{target.stat().st_size} bytes"
    )


def main() -> None:
    """Parse and run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--shared", type=Path, required=True, help="folder of data sets, asked before the sources")
    parser.add_argument("--catalogue", default="data/benchmark", help="data of our own catalogue")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--only", help="collections whose name contains this")
    parser.add_argument("--write", type=Path, help="join what is there to a bank and write it, instead of measuring")
    parser.add_argument("--base", type=Path, help="bank to join; default: the shipped one")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    os.environ.setdefault("GRAPHNETZ_MIRROR", str(arguments.shared.resolve()))
    arguments.out.mkdir(parents=True, exist_ok=True)
    if arguments.write:
        write(arguments.out, arguments.catalogue, arguments.write, arguments.base)
    else:
        collect(arguments.out, arguments.catalogue, arguments.only)


if __name__ == "__main__":
    main()
