"""The sweep that the GraphNetz paper calls next: five architectures and their baselines on every reachable task.

``run DIR`` trains the field in parts, one run folder each, the cheapest first, until ``--minutes`` are over: the suite
``default``, the suite ``algorithmic`` by task type, and what else the suite ``reachable`` holds, by task type and cost.
Called again it goes on where it stopped, and with more ``--seeds`` it adds those; ``--only`` and ``--task`` choose.
``run DIR --tuned`` trains a fixed list of cheap tasks with a search inside every cell instead, the same number of
settings for every model (those of ``graphnetz run --search default``), the default settings first among them.
``bundle DIR`` packs every finished part into ``results/field/`` (predictions of a sample of cells where all would be
large), which ``make site`` reads; with ``--tuned`` the tuned ones, into ``results/field/tuned/``. ``gather DIR`` reads
bundles or run folders and adds their scores to ``results/sweep.json``; the folders of ``graphnetz replicate graphnetz``
can be gathered too, whose cells are trained under the protocol of the paper. ``read`` adds the stored scores of
``decide_sooner.py``, draws the critical-difference diagram of all tasks and says how the critical difference falls with
their number, and what nine rows of the cross-category experiment say.
Data come from generators, from wheels and from the folder or address in ``GRAPHNETZ_MIRROR``.
"""

from __future__ import annotations

import argparse
import json
import math
import re
import resource
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatch
from pathlib import Path

HERE = Path(__file__).resolve().parent
RESULT = HERE / "results" / "sweep.json"
RANKS = RESULT.with_name("sweep_ranks.json")
FIELD = HERE / "results" / "field"
IMAGES = HERE.parent / "docs" / "images"
SEEDS = 10
ENCODERS = ("GCN", "GAT", "GraphSAGE", "GraphTransformer")  # those that serve every task type
MODELS = (
    *ENCODERS, "GIN", "MLP", "Majority", "DegreeProduct", "AdamicAdar", "FeatureOnly", "GradientBoosting",
    "LabelPropagation", "CorrectAndSmooth",
)  # fmt: skip
PREDICTIONS = 200_000
"""Bytes of predictions of a task up to which a bundle keeps those of all cells; of more it keeps a sample."""
SPENT = "spent.jsonl"
PART = 8
"""Tasks of a part: enough that its report costs less than its cells, few enough to be finished."""
TRIALS = 6
"""Settings that a search tries in every cell, the default ones among them; two baselines have five in all."""
TUNED = (
    ("florentine_families", "davis_southern_women", "karate_club_link_pred", "les_miserables", "terrorists_911"),
    ("karate_club", "cornell", "texas", "polbooks_node_cls", "airports_brazil"),
    ("trader_trust",),
    ("algo_cycle",),
    ("wisconsin", "breast_cancer_knn", "sbm_communities"),
    ("london_transport", "polbooks", "sp_high_school_friendship"),
)
"""Tasks that are tuned, by part: cheap ones of each type, chosen before any was tuned; of edge tasks the cheapest."""


def work(task) -> float:
    """A guess at what a task costs, to do the cheap ones first: edges times epochs."""
    card = task.card
    edges = card.edges or 8 * (card.nodes or 20_000 * (card.graphs or 100) // 1000)
    return float((edges + 2000) * task.epochs)


@dataclass(frozen=True)
class Part:
    """Tasks of one suite that are trained into one folder; None is every task of the suite."""

    name: str
    suite: str
    tasks: tuple[str, ...] | None
    work: float
    trials: int | None = None
    """Settings tried inside every cell; None trains the default ones."""


def parts() -> list[Part]:
    """The field, the cheapest part first."""
    from graphnetz.datasets import SUITES

    first, exact = SUITES["default"](), SUITES["algorithmic"]()
    taken = {task.name for task in (*first, *exact)}
    out = [Part("default", "default", None, max(map(work, first)))]
    kinds: dict[tuple[str, str], list] = {}
    for suite, tasks in (("algorithmic", exact), ("reachable", SUITES["reachable"]())):
        for task in tasks:
            if suite == "algorithmic" or task.name not in taken:
                kinds.setdefault((suite, task.task_type), []).append(task)
    for (suite, kind), tasks in kinds.items():
        ordered = sorted(tasks, key=work)
        for i in range(0, len(ordered), PART):
            chosen = ordered[i : i + PART]
            name = f"{kind}-{i // PART + 1}" if suite == "reachable" else f"{suite}-{kind}-{i // PART + 1}"
            out.append(Part(name, suite, tuple(task.name for task in chosen), work(chosen[-1])))
    return sorted(out, key=lambda part: part.work)


def chosen_parts(every: Iterable[Part], most: float, only: Sequence[str], tasks: Sequence[str]) -> Iterator[Part]:
    """Parts by cost and name, cut down to the given tasks where there are any."""
    for part in every:
        if part.work > most or not any(fnmatch(part.name, pattern) for pattern in only):
            continue
        mine = tuple(task for task in part.tasks or () if task in tasks)
        if mine or not tasks:
            yield replace(part, tasks=mine or part.tasks)


def tuned_parts() -> Iterator[Part]:
    """The tasks of `TUNED`, in folders of their own."""
    from graphnetz.datasets import find_task

    for i, names in enumerate(TUNED, 1):
        suite = "algorithmic" if names[0].startswith("algo_") else "reachable"
        yield Part(f"tuned/{i}-{find_task(names[0]).task_type}", suite, names, 0.0, TRIALS)


def run(folder: Path, *, minutes: float, seeds: int, workers: int | None, wanted: Iterable[Part]) -> None:
    """Train part by part; one is begun only while there is time, a begun one is finished."""
    from graphnetz._core.errors import GraphnetzError
    from graphnetz.engine.run import run_benchmark
    from graphnetz.report import write

    write.write_figures = lambda *_, **__: None  # no bundle holds one, and they take longer than many a cell
    deadline = time.monotonic() + 60 * minutes
    for part in wanted:
        if finished(folder / part.name, seeds, part.tasks):
            continue
        if time.monotonic() > deadline:
            print("out of time; call again to go on", flush=True)
            return
        started, before = time.monotonic(), processor_seconds()
        options = {"suite": part.suite, "seeds": seeds, "workers": workers, "model": MODELS}
        options |= {"task": list(part.tasks)} if part.tasks else {}
        options |= {"search": "default", "trials": part.trials} if part.trials else {}
        try:
            run_benchmark(**options, out=str(folder / part.name), root=str(folder / "data"), verbose=False)
        except GraphnetzError as error:
            print(f"{part.name}: not run: {error}", flush=True)
            continue
        with (folder / part.name / SPENT).open("a", encoding="utf-8") as stream:
            stream.write(
                json.dumps({"seeds": seeds, "processor_seconds": round(processor_seconds() - before, 1)}) + "\n"
            )
        print(f"{part.name}: {time.monotonic() - started:.0f} s", flush=True)
    print("finished", flush=True)


def processor_seconds() -> float:
    """What this process and its workers have spent; the clock of a busy machine says little."""
    found = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(used.ru_utime + used.ru_stime for used in found)


def finished(folder: Path, seeds: int, tasks: Sequence[str] | None) -> bool:
    """Whether a part has a report of that many seeds and these tasks."""
    path = folder / "results.json"
    if not path.exists():
        return False
    raw = json.loads(path.read_text(encoding="utf-8"))
    return len(raw["seeds"]) >= seeds and set(tasks or ()) <= {task["name"] for task in raw["tasks"]}


def bundle(folder: Path, *, tuned: bool) -> None:
    """Pack every finished part, and write what all of them took; parts that are stored already keep their row."""
    from graphnetz.engine.bundle import submit
    from graphnetz.engine.store import Store
    from graphnetz.records.findings import PLAN, TUNING
    from graphnetz.report import BenchmarkReport

    into = FIELD / "tuned" if tuned else FIELD
    into.mkdir(parents=True, exist_ok=True)
    (FIELD / "more").mkdir(exist_ok=True)
    cost = FIELD / "more" / ("tuned_cost.json" if tuned else "cost.json")
    known = json.loads(cost.read_text(encoding="utf-8"))["findings"][0]["table"]["rows"] if cost.exists() else []
    rows = {row[0]: row for row in known}
    for path in sorted((folder / "tuned" if tuned else folder).glob("*/results.json")):
        made = submit(path.parent, out=into / f"{path.parent.name}.zip", predictions=PREDICTIONS)
        report = BenchmarkReport.from_json(path)
        shown = {(cell.task, cell.model, cell.seed) for cell in report.results}
        with Store.open(path.parent, readonly=True) as store:
            cells = [r for r in store.results(histories=False) if (r.task, r.model, r.seed) in shown]
        clock = sum(cell.seconds for cell in cells if math.isfinite(cell.seconds))
        spent = (path.parent / SPENT).read_text(encoding="utf-8").splitlines() if (path.parent / SPENT).exists() else []
        processor = sum(json.loads(line)["processor_seconds"] for line in spent)
        rows[made.stem] = [
            made.stem, len(report.task_info), len(report.seeds), len(cells), round(clock / 3600, 3),
            round(processor / 3600, 3) if spent else "not measured",
        ]  # fmt: skip
        print(f"{made.name}: {made.stat().st_size / 1e6:.2f} MB")
    told = [rows[path.stem] for path in sorted(into.glob("*.zip")) if path.stem in rows]
    table = {
        "columns": ["Part", "Tasks", "Seeds", "Runs", "Hours by the clock", "Processor hours"], "rows": told,
        "caption": "Clock time of every run, added up; two ran at a time, mostly at the lowest priority beside other "
        "work, which lengthens it. Processor time of whole sittings, start-up and reports included.",
    }  # fmt: skip
    text = cost_words(told, "tuned runs, with all settings that were tried," if tuned else "runs")
    finding = {
        "name": "tuned-hours" if tuned else "hours", "question": TUNING if tuned else PLAN, "text": text,
        "table": table, "tally": [], "claims": [],
    }  # fmt: skip
    cost.write_text(json.dumps({"findings": [finding], "tasks": {}}, indent=None) + "\n", encoding="utf-8")


def cost_words(rows: Sequence[Sequence], what: str) -> str:
    """Clock and processor time of the rows of `bundle`, as far as these were measured."""
    measured = [row for row in rows if not isinstance(row[5], str)]
    runs, counted = (sum(row[3] for row in some) for some in (rows, measured))
    text = f"These {runs:,} {what} took {sum(row[4] for row in rows):.1f} hours by the clock, mostly beside other work"
    processor = f"{60 * sum(row[5] for row in measured):.0f} minutes of processor time"
    whole = counted == runs
    return f"{text}, and {processor}." if whole else f"{text}; {processor} were measured for {counted:,} of them."


def gather(folder: Path) -> None:
    """Add the scores of every bundle of a folder, and of every finished run where they are of more seeds."""
    from graphnetz.datasets import SUITES
    from graphnetz.engine.bundle import opened
    from graphnetz.report import BenchmarkReport

    tasks = json.loads(RESULT.read_text(encoding="utf-8"))["tasks"] if RESULT.exists() else {}
    reachable = {task.name for task in SUITES["reachable"]()}
    for path in [*sorted(folder.glob("*.zip")), *(path.parent for path in sorted(folder.glob("*/results.json")))]:
        with opened(path) as (run_folder, _):
            report = BenchmarkReport.from_json(run_folder / "results.json")
        for name in report.task_info:
            newer = path.suffix == ".zip" or len(report.seeds) >= seeds_of(tasks.get(name))
            if name in reachable and newer:
                tasks[name] = entry(report, name)
    body = {"about": __doc__.split("\n")[0], "tasks": dict(sorted(tasks.items()))}
    # Numbers of one model on one line: a change is read model by model.
    lines = re.sub(r"\[[^\[\]{}]*\]", lambda found: " ".join(found[0].split()), json.dumps(body, indent=1))
    RESULT.write_text(lines + "\n", encoding="utf-8")
    print(f"{len(tasks)} tasks, {sum(len(t['scores']) for t in tasks.values())} (task, model) pairs: {RESULT.name}")


def entry(report, name: str) -> dict:
    """What is stored of one task."""
    info, table = report.task_info[name], report.scores
    return {
        "category": info.category, "task_type": info.task_type, "metric": info.metric, "graph": info.block,
        "greater_is_better": info.greater_is_better, "replication": info.replication, "splits": info.splits,
        "test_ratio": None if math.isnan(info.test_ratio) else round(info.test_ratio, 6),
        "scores": {
            model: [None if math.isnan(value) else round(float(value), 6) for value in table.cell(name, model)]
            for model in table.present(name)
            if model in MODELS
        },
    }  # fmt: skip


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
    lent = {name: task for name, task in borrowed().items() if name not in tasks}
    tasks |= lent
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
        "names": list(tasks), "borrowed": list(lent),
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
    parser.add_argument("command", choices=("run", "bundle", "gather", "read"))
    parser.add_argument("folder", type=Path, nargs="?", default=Path("runs/sweep"))
    parser.add_argument("--minutes", type=float, default=math.inf)
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--workers", type=int)
    parser.add_argument(
        "--most", type=float, default=math.inf, help="leave out parts with a task of more work than this"
    )
    parser.add_argument("--only", nargs="+", default=["*"], help="parts by name, with wildcards")
    parser.add_argument("--task", nargs="+", default=[], help="only these tasks of them")
    parser.add_argument("--tuned", action="store_true", help="the fixed list of tasks with a search inside every cell")
    given = parser.parse_args()
    if given.command == "run":
        wanted = chosen_parts(tuned_parts() if given.tuned else parts(), given.most, given.only, given.task)
        run(given.folder, minutes=given.minutes, seeds=given.seeds, workers=given.workers, wanted=wanted)
    elif given.command == "bundle":
        bundle(given.folder, tuned=given.tuned)
    elif given.command == "gather":
        gather(given.folder)
    else:
        read()
    return 0


if __name__ == "__main__":
    sys.exit(main())
