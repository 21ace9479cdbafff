"""The sweep that the GraphNetz paper calls next: five architectures and their baselines on every reachable task.

``run DIR`` trains the suite ``reachable``, one run folder per task, the cheapest first, until ``--minutes`` are over;
called again it goes on where it stopped, and with more ``--seeds`` it adds those. ``gather DIR`` reads what is
finished and adds it to ``results/sweep.json`` (scores only); the folders of ``graphnetz replicate graphnetz`` can be
gathered too, whose cells are trained under the protocol of the paper. ``read`` adds the stored scores of
``decide_sooner.py``, draws the critical-difference diagram of all tasks and says how the critical difference falls with
their number, and what nine rows of the cross-category experiment say.
Data come from generators, from wheels and from the folder or address in ``GRAPHNETZ_MIRROR``.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
RESULT = HERE / "results" / "sweep.json"
RANKS = RESULT.with_name("sweep_ranks.json")
IMAGES = HERE.parent / "docs" / "images"
SEEDS = 10
ENCODERS = ("GCN", "GAT", "GraphSAGE", "GraphTransformer")  # those that serve every task type
MODELS = ("GCN", "GAT", "GraphSAGE", "GraphTransformer", "GIN", "MLP", "Majority", "DegreeProduct")


def work(task) -> float:
    """A guess at what a task costs, to do the cheap ones first: edges times epochs."""
    card = task.card
    edges = card.edges or 8 * (card.nodes or 20_000 * (card.graphs or 100) // 1000)
    return float((edges + 2000) * task.epochs)


def run(folder: Path, *, minutes: float, seeds: int, workers: int | None, most: float) -> None:
    """Train task by task; a task is begun only while there is time, a begun one is finished."""
    from graphnetz._core.errors import GraphnetzError
    from graphnetz.datasets import SUITES
    from graphnetz.engine.run import run_benchmark

    deadline = time.monotonic() + 60 * minutes
    for task in sorted(SUITES["reachable"](), key=work):
        if work(task) > most or finished(folder / task.name, seeds):
            continue
        if time.monotonic() > deadline:
            print("out of time; call again to go on", flush=True)
            return
        started = time.monotonic()
        try:
            options = {"suite": "reachable", "task": [task.name], "seeds": seeds, "workers": workers, "model": MODELS}
            run_benchmark(**options, out=str(folder / task.name), root=str(folder / "data"), verbose=False)
        except GraphnetzError as error:
            print(f"{task.name}: not run: {error}", flush=True)
            continue
        print(f"{task.name}: {time.monotonic() - started:.0f} s", flush=True)
    print("finished", flush=True)


def finished(folder: Path, seeds: int) -> bool:
    """Whether a task has a report of that many seeds."""
    path = folder / "results.json"
    return path.exists() and len(json.loads(path.read_text(encoding="utf-8"))["seeds"]) >= seeds


def gather(folder: Path) -> None:
    """Add the scores of every finished task to what is stored, where they are of more seeds."""
    from graphnetz.datasets import SUITES
    from graphnetz.report import BenchmarkReport

    tasks = json.loads(RESULT.read_text(encoding="utf-8"))["tasks"] if RESULT.exists() else {}
    reachable = {task.name for task in SUITES["reachable"]()}
    for path in sorted(folder.glob("*/results.json")):
        report = BenchmarkReport.from_json(path)
        (name,) = report.task_info
        if name not in reachable or len(report.seeds) < seeds_of(tasks.get(name)):
            continue
        info, table = report.task_info[name], report.scores
        tasks[name] = {
            "category": info.category, "task_type": info.task_type, "metric": info.metric, "graph": info.block,
            "greater_is_better": info.greater_is_better, "replication": info.replication, "splits": info.splits,
            "test_ratio": None if math.isnan(info.test_ratio) else round(info.test_ratio, 6),
            "scores": {
                model: [None if math.isnan(value) else round(value, 6) for value in table.cell(name, model)]
                for model in table.present(name)
                if model in MODELS
            },
        }  # fmt: skip
    body = {"about": __doc__.split("\n")[0], "tasks": tasks}
    lines = json.dumps(body, indent=1)
    RESULT.write_text(lines + "\n", encoding="utf-8")
    print(f"{len(tasks)} tasks, {sum(len(t['scores']) for t in tasks.values())} (task, model) pairs: {RESULT.name}")


def seeds_of(task: dict | None) -> int:
    """How many seeds the stored scores of a task have."""
    return max((len(values) for values in task["scores"].values()), default=0) if task else 0


def borrowed() -> dict:
    """Tasks of the study of early decisions, which trained the suite ``first-default`` on seeds of its own."""
    import pandas as pd

    from graphnetz.datasets import SUITES
    from graphnetz.metrics import METRICS

    frame = pd.read_csv(RESULT.with_name("decide_sooner_scores.csv"))
    known = {task.name: task for task in SUITES["first-default"]()}
    out = {}
    for name, rows in frame.groupby("task", sort=False):
        task = known[name]
        out[name] = {
            "category": task.category, "task_type": task.task_type, "metric": f"test_{task.metric}", "graph": name,
            "greater_is_better": METRICS[task.metric].greater_is_better, "replication": task.replication or "resplit",
            "splits": 0, "test_ratio": None,
            "scores": {model: list(mine.sort_values("seed")["score"]) for model, mine in rows.groupby("model")},
        }  # fmt: skip
    return out


def report_of(tasks: dict):
    """The stored scores as a report."""
    import pandas as pd

    from graphnetz import BenchmarkReport

    rows = [
        {
            "task": name, "model": model, "seed": seed, "score": value, "metric": task["metric"],
            "greater_is_better": task["greater_is_better"], "replication": task["replication"], "block": task["graph"],
            "test_ratio": task["test_ratio"], "category": task["category"], "task_type": task["task_type"],
            "splits": task["splits"],
        }
        for name, task in tasks.items()
        for model, values in task["scores"].items()
        for seed, value in enumerate(values)
        if value is not None
    ]  # fmt: skip
    return BenchmarkReport.from_scores(pd.DataFrame(rows))


def one_per_graph(tasks: dict) -> dict:
    """Tasks with all four encoders, the first of each graph: two tasks on one graph are no two observations."""
    out: dict = {}
    for name, task in tasks.items():
        if set(ENCODERS) <= set(task["scores"]) and task["graph"] not in {t["graph"] for t in out.values()}:
            out[name] = {**task, "scores": {model: task["scores"][model] for model in ENCODERS}}
    return out


def falling(ranks, *, draws: int = 2000) -> list[dict]:
    """Critical difference, and how often random parts of the tasks separate anything, by number of tasks."""
    import numpy as np
    from scipy import stats

    from graphnetz.stats import friedman_chi2, nemenyi

    rng, total = np.random.default_rng(0), len(ranks)
    sizes = [n for n in (5, 10, 15, 20, 30, 40, 60, 80) if n < total] + [total]
    out = []
    for n in sizes:
        cd, wide, rejected = nemenyi(ranks.mean(axis=0), n).cd, 0, 0
        for _ in range(draws if n < total else 1):
            part = ranks[rng.choice(total, n, replace=False)]
            means = part.mean(axis=0)
            reject = bool(stats.chi2.sf(friedman_chi2(means, n), len(means) - 1) < 0.05)
            rejected += reject
            wide += bool(reject and means.max() - means.min() > cd)
        times = draws if n < total else 1
        out.append({"tasks": n, "cd": round(cd, 3), "rejected": rejected / times, "separated": wide / times})
    return out


def cross_category() -> None:
    """Diagram and Friedman test of the paper's categories from our stored means: nine rows, MNIST was not at hand."""
    import csv

    import pandas as pd

    from graphnetz import BenchmarkReport

    with open(RESULT.with_name("cross_category.csv"), encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    table = [(row["task"], model, 0, float(row[model]), "test_score", True) for row in rows for model in ENCODERS]
    columns = ["task", "model", "seed", "score", "metric", "greater_is_better"]
    drawn(
        BenchmarkReport.from_scores(pd.DataFrame(table, columns=columns)), "cross-category-cd", "the paper's categories"
    )


def drawn(report, name: str, title: str):
    """Draw the critical-difference diagram, print what it says, and return the ranking."""
    found = report.ranking()
    figure, _ = report.plot_critical_difference(title=f"{len(found.tasks)} tasks: {title}")
    figure.savefig(IMAGES / f"{name}.png", dpi=110, metadata={"Software": None})
    means = ", ".join(f"{found.models[i]} {found.mean_ranks[i]:.2f}" for i in found.order)
    print(
        f"{title}, {len(found.tasks)} tasks: p = {found.p:.2g} ({found.test}), CD = {found.cd:.2f}; mean ranks {means}"
    )
    return found


def read() -> None:
    """Figure 3 of the paper with all tasks, from the stored scores, and how the critical difference falls."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    import numpy as np

    from graphnetz.datasets import SUITES

    cross_category()
    tasks = json.loads(RESULT.read_text(encoding="utf-8"))["tasks"]
    tasks |= {name: task for name, task in borrowed().items() if seeds_of(task) > seeds_of(tasks.get(name))}
    found = drawn(report_of(one_per_graph(tasks)), "sweep-cd", "one task of each finished graph")
    table = falling(np.asarray(found.ranks))
    for row in table:
        print(row)
    seeds = [len(values) for task in tasks.values() for values in task["scores"].values()]
    summary = {
        "reachable": len(SUITES["reachable"]()), "tasks": len(tasks), "graphs": len(found.tasks),
        "seeds": [min(seeds), max(seeds)],
        "runs": sum(value is not None for t in tasks.values() for row in t["scores"].values() for value in row),
        "p": round(float(found.p), 4), "test": found.test, "cd": round(float(found.cd), 3),
        "mean_ranks": {found.models[i]: round(float(found.mean_ranks[i]), 2) for i in found.order}, "falling": table,
        "names": list(tasks),
    }  # fmt: skip
    RANKS.write_text(json.dumps(summary, indent=1) + "\n", encoding="utf-8")
    figure, axes = plt.subplots(figsize=(6.4, 3.6))
    n = [row["tasks"] for row in table]
    axes.plot(n, [row["cd"] for row in table], marker="o", color="#333333", label="critical difference")
    gap = float(np.ptp(found.mean_ranks))
    axes.axhline(gap, color="#4477aa", linestyle="--", label=f"largest gap of mean ranks here ({gap:.2f})")
    axes.set(xlabel="tasks", ylabel="mean ranks", ylim=(0, None))
    axes.legend(frameon=False)
    figure.tight_layout()
    figure.savefig(IMAGES / "sweep-n.png", dpi=110, metadata={"Software": None})


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("command", choices=("run", "gather", "read"))
    parser.add_argument("folder", type=Path, nargs="?", default=Path("runs/sweep"))
    parser.add_argument("--minutes", type=float, default=math.inf)
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--workers", type=int)
    parser.add_argument("--most", type=float, default=math.inf, help="leave out tasks with more work than this")
    given = parser.parse_args()
    if given.command == "run":
        run(given.folder, minutes=given.minutes, seeds=given.seeds, workers=given.workers, most=given.most)
    elif given.command == "gather":
        gather(given.folder)
    else:
        read()
    return 0


if __name__ == "__main__":
    sys.exit(main())
