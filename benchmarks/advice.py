"""Follow the advice what to buy next on real tasks, and hold its cost against "more seeds".

A pilot of a few seeds sees the answers of some test examples only. Both ways then buy until the interval of the
difference for new examples is as narrow as the target: further seeds, or the other test examples, for which every seed
is trained again (labels are not priced). Cells are really trained. Prints a table and the median ratio of costs.
"""

from __future__ import annotations

import argparse
import json
import math
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from graphnetz import run_benchmark
from graphnetz.analysis.advice import cost_of, expected_width, ways
from graphnetz.analysis.components import components_of
from graphnetz.records import CellResult, Components, Contributions, ScoreTable
from graphnetz.stats.components import crossed_components, half_width

TASKS = ("cora", "citeseer", "breast_cancer_knn", "digits_knn", "airports_europe", "pubmed", "proteins")
RESULTS = Path(__file__).resolve().parent / "results" / "advice.json"
MODELS = ("GCN", "GraphSAGE")


def hits_of(cells: list[CellResult], model: str, ids: np.ndarray) -> np.ndarray:
    """0/1 hits ``[seed, example]`` of one model, NaN where an example was not tested."""
    rows = []
    for cell in sorted((c for c in cells if c.model == model), key=lambda c: c.seed):
        row = np.full(len(ids), np.nan)
        if cell.predictions is not None:
            score = np.asarray(cell.predictions.score)
            chosen = score.argmax(axis=1) if score.ndim == 2 and score.shape[1] > 1 else (score.ravel() > 0).astype(int)
            row[np.searchsorted(ids, cell.predictions.example)] = chosen == np.asarray(cell.predictions.target).ravel()
        rows.append(row)
    return np.array(rows)


def width_of(hits: dict[str, np.ndarray], splits: list[int], seeds: int, columns: np.ndarray) -> float:
    """Width of the interval for new examples from these seeds and examples."""
    d = (hits[MODELS[0]] - hits[MODELS[1]])[:seeds][:, columns]
    found = crossed_components(d, splits[:seeds])
    return 2 * half_width(found.error, found.df) if math.isfinite(found.p) else math.inf


def pilot_components(
    hits: dict[str, np.ndarray], splits: list[int], seeds: int, columns: np.ndarray, replication: str
) -> Components:
    """Components of the pilot, through the same call as a report."""
    values = {model: rows[:seeds][:, columns] for model, rows in hits.items()}
    scores = np.array([[np.nanmean(values[model], axis=1) for model in MODELS]])
    table = ScoreTable(
        ("task",), MODELS, tuple(range(seeds)), scores, (True,), ("test_acc",), (replication,), (math.nan,), ("task",)
    )
    found = Contributions("task", "test_acc", tuple(range(seeds)), tuple(splits[:seeds]), columns, values)
    return components_of(table, 0, [MODELS], found)[MODELS]


def check(
    task: str, cells: list[CellResult], *, pilot: int, share: float, narrower: float, pilots: int
) -> dict[str, object]:
    """Buy both ways from several pilots of one task, drawn from its seeds and examples, and add up what each cost."""
    kept = [c for c in cells if c.predictions is not None]
    ids = np.unique(np.concatenate([c.predictions.example for c in kept if c.predictions is not None]))
    hits = {model: hits_of(kept, model, ids) for model in MODELS}
    masks = [tuple(np.flatnonzero(np.isfinite(row))) for row in hits[MODELS[0]]]
    numbers = [masks.index(mask) for mask in masks]
    cost = float(np.mean([c.seconds for c in kept])) * len(MODELS)
    rng = np.random.default_rng(0)
    bought = []
    for _ in range(pilots):
        rows, order = rng.permutation(len(masks)), rng.permutation(len(ids))
        drawn = {model: values[rows] for model, values in hits.items()}
        splits = [numbers[row] for row in rows]
        bought.append(_buy(drawn, splits, order, kept[0].replication, pilot=pilot, share=share, narrower=narrower))
    found = [each for each in bought if each is not None]
    by_seeds, by_advice = (sum(each[i] for each in found) for i in (0, 1))
    return {
        "task": task, "replication": kept[0].replication, "pilots": len(found), "seconds_per_seed": round(cost, 2),
        "advice_test_set": sum(each[2] for each in found), "seeds_bought": by_seeds, "advice_bought": by_advice,
        "seeds_not_reached": sum(each[3] for each in found), "advice_not_reached": sum(each[4] for each in found),
        "ratio": round(by_seeds / by_advice, 2),
    }  # fmt: skip


def _buy(
    hits: dict[str, np.ndarray], splits: list[int], order: np.ndarray, replication: str, *, pilot: int, share: float,
    narrower: float,
) -> tuple[int, int, bool, bool, bool] | None:  # fmt: skip
    """Seeds trained until the target by more seeds and by the advice, whether that was more examples, who failed.

    More test examples cost training the seeds of the pilot again, however many they are, so all there are come at
    once; more seeds follow where that is not enough. Who has used up all seeds stops there: a lower bound.
    """
    size = max(40, int(share * len(order)))
    known = np.sort(order[:size])
    now = width_of(hits, splits, pilot, known)
    small = pilot_components(hits, splits, pilot, known, replication)
    if not math.isfinite(now) or small.reason:
        return None
    target, times = narrower * now, len(order) / size
    large = replace(
        small, n_tested=small.n_tested * times, pool=small.pool * times, n_examples=int(small.n_examples * times)
    )
    seeds, missed = _more_seeds(hits, splits, known, pilot, target)
    if pilot + _expected(large, target) >= _expected(small, target):
        return seeds, seeds, False, missed, missed
    more, failed = _more_seeds(hits, splits, np.arange(len(order)), pilot, target)
    return seeds, pilot + more, True, missed, failed


def _expected(components: Components, target: float) -> float:
    """Seeds that are expected to be needed further."""
    if expected_width(components) <= target:
        return 0.0
    return min(cost_of(components, 1.0, target, what)[0] for what in ways(components))


def _more_seeds(
    hits: dict[str, np.ndarray], splits: list[int], known: np.ndarray, pilot: int, target: float
) -> tuple[int, bool]:
    last = len(splits)
    for n in range(pilot, last + 1):
        if width_of(hits, splits, n, known) <= target:
            return n - pilot, False
    return last - pilot, True


def main() -> None:
    """Run, print and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mirror", default="", help="folder with raw files of the datasets")
    parser.add_argument("--tasks", nargs="*", default=list(TASKS))
    parser.add_argument("--seeds", type=int, default=30)
    parser.add_argument("--pilot", type=int, default=5)
    parser.add_argument("--epochs", type=int, default=30)
    parser.add_argument("--pilots", type=int, default=30, help="pilots drawn from the seeds and examples of a task")
    parser.add_argument("--out", default="", help="folder that keeps the trained cells")
    parser.add_argument("--share", type=float, default=0.15, help="share of the test examples known to the pilot")
    parser.add_argument("--narrower", type=float, default=0.7, help="target width as a share of the pilot's")
    given = parser.parse_args()
    rows = []
    for task in given.tasks:
        kept: dict[str, Any] = {"out": str(Path(given.out) / task)} if given.out else {}
        kept |= {"mirror": given.mirror} if given.mirror else {}
        with TemporaryDirectory() as folder:
            report = run_benchmark(
                models=list(MODELS), tasks=task, seeds=given.seeds, epochs=given.epochs, save_predictions=True,
                backend="serial", verbose=False, root=folder, hidden_channels=16,
                **kept,
            )  # fmt: skip
        cells = [cell for cell in report.results if cell.ok]
        options = {"pilot": given.pilot, "share": given.share, "narrower": given.narrower, "pilots": given.pilots}
        rows.append(check(task, cells, **options))
        print(json.dumps(rows[-1]), flush=True)
    # Every task counts, also those where the advice was dearer.
    ratios = [float(str(row["ratio"])) for row in rows]
    print(f"cost of more seeds : cost of the advice, median {np.median(ratios):.2f} over {len(ratios)} tasks")
    table = [{**{k: v for k, v in row.items() if k != "seconds_per_seed"}, "seeds": given.seeds} for row in rows]
    RESULTS.write_text(json.dumps({"schema": 1, "tasks": table}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
