"""Is this dataset fit to judge models? Train on it and its perturbations, measure, and say so."""

from __future__ import annotations

import dataclasses
import math
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from torch_geometric.data import Data

from graphnetz._core.errors import UsageError
from graphnetz.datasets import find_task
from graphnetz.datasets.custom import HeldDataset
from graphnetz.metrics import METRICS
from graphnetz.records import CellResult, Task
from graphnetz.report.sections import combine, write_section
from graphnetz.rings._batches import stream
from graphnetz.rings.agreement import AgreementResult, agreement, correct_examples, correlate
from graphnetz.rings.complementarity import ComplementarityProfile, RingsWarning, profile
from graphnetz.rings.diversity import DiversityResult, to_diversity
from graphnetz.rings.evaluation import DatasetEvaluation
from graphnetz.rings.figures import metric_grid
from graphnetz.rings.presets import Tuning, tuning_of
from graphnetz.rings.rules import assess
from graphnetz.rings.separability import SeparabilityResult
from graphnetz.rings.statistics import dataset_statistics, ego_graphs
from graphnetz.rings.study import MODES, ModeScore, best_models, compare_runs, runs_of
from graphnetz.rings.tasks import degree_features, perturb_task

DENSE_ARCS = 2_000_000
"""A complete graph with more arcs than this is not among the default modes of a task on one graph."""
DENSE_FEATURES = 64_000_000
"""Nor are node identities with more numbers than this."""
GRID_WORK = 10**10
"""Sum of cubed sizes up to which complementarity is also taken in other metric spaces."""


def evaluate(
    task: Task | str | Any,
    *,
    models: Sequence[str] | Mapping[str, Any] = ("GCN", "GAT", "GIN"),
    tuning: str | Tuning | Mapping[str, Any] = "quick",
    runs: int | None = None,
    modes: Sequence[str] | None = None,
    statistic: str = "ks",
    alpha: float = 0.01,
    within_runs: bool = False,
    backend: str = "local",
    workers: int | None = None,
    out: str | Path | None = None,
    root: str = "data/benchmark",
    task_type: str = "graph_cls",
    verbose: bool = True,
) -> DatasetEvaluation:
    """Evaluate a dataset by the RINGS framework (Coupette et al. 2025).

    Parameters
    ----------
    task
        A Task, the name of one, or graphs (a dataset or list) together with ``task_type``.
    models
        Architectures; per mode the one with the best mean counts.
    tuning
        ``"quick"``, ``"paper"``, a `Tuning`, or a mapping of changes to the quick preset.
    runs
        Runs per mode; a run is a seed of split and initialisation, shared by all modes.
    modes
        The original and the perturbations to train on; default ``o eg cg rg cf rf``. On one graph
        too large for ``cg`` or ``cf`` the default leaves them out and a note says so.
    statistic, alpha, within_runs
        As in `separability`; ``within_runs`` permutes modes within runs only.
    backend, workers, out, root
        As in ``run_benchmark``: with ``out`` the runs are kept and resumed.
    task_type
        What to predict, when ``task`` is graphs.
    verbose
        Show progress.

    Returns
    -------
    DatasetEvaluation
        Separability on every metric, informativeness, diversity, agreement, correlation, verdict.
        With ``out`` the run folder's page shows it.

    Notes
    -----
    The paper treats graph-level tasks. Two extensions are ours: for a task on one graph
    complementarity and diversity are taken over sampled ego-graphs, and where edges are the targets
    only the graph that messages travel along is perturbed, after the split.

    Examples
    --------
    >>> import torch
    >>> from torch_geometric.data import Data
    >>> from graphnetz.rings import evaluate
    >>> def graph(i):  # class 0 is a path, class 1 a ring of three
    ...     end = 3 * (1 - i % 2)
    ...     return Data(x=torch.eye(4), edge_index=torch.tensor([[0, 1, 2], [1, 2, end]]), y=torch.tensor([i % 2]))
    >>> result = evaluate(
    ...     [graph(i) for i in range(20)], models=["GCN"], modes=["o", "eg", "rf"], backend="serial", verbose=False,
    ...     tuning={"epochs": 1, "search": {}, "runs": 2},  # far too few runs: only to be quick here
    ... )
    >>> result.verdict in ("keep", "realign", "deprecate")
    True
    """
    from graphnetz.benchmark import SearchSpace, run_benchmark

    original = _as_task(task, task_type)
    chosen = tuning_of(tuning, runs=runs)
    metrics = metrics_of(original)
    # Validation chooses by the headline metric: AUROC where accuracy and AUROC are both judged.
    prepared = dataclasses.replace(original, metric=original.metric or metrics[-1])
    graphs, whole = _graphs(prepared, root)
    codes, notes = (tuple(modes), ()) if modes else _default_modes(whole)
    if "o" not in codes or len(codes) < 2:
        raise UsageError(f"modes must hold 'o' and at least one perturbation, got {list(codes)}.")
    tasks = [
        perturb_task(prepared, code, vary=chosen.vary, test_share=chosen.test_share, splits=chosen.runs)
        for code in codes
    ]
    # A fresh perturbation per seed does not make a fresh dataset: what a seed varies stays the split.
    tasks = [dataclasses.replace(item, replication=item.replication or "resplit") for item in tasks]
    report = run_benchmark(
        models=models if isinstance(models, Mapping) else list(models),
        tasks=tasks,
        seeds=range(chosen.runs),
        epochs=chosen.epochs,
        search=SearchSpace(**chosen.search) if chosen.search else None,
        # Structural perturbations have no edge attributes, so the original may not profit from its own.
        protocol={"edge_attributes": False, **chosen.protocol},
        backend=backend,
        workers=workers,
        out=out,
        root=root,
        save_predictions=original.task_type in ("graph_cls", "node_cls"),
        verbose=verbose,
    )
    if whole is not None:
        notes = (*notes, f"Complementarity and diversity are taken over {len(graphs)} ego-graphs of two hops.")
    found = judge(
        original.name,
        report.results,
        # Diversity is read off ef and eg, whichever modes were trained.
        complementarity=profile(graphs, perturbations=tuple(dict.fromkeys((*codes, "ef", "eg"))), name=original.name),
        metrics=metrics,
        modes=codes,
        statistic=statistic,
        alpha=alpha,
        within_runs=within_runs,
        notes=(*notes, *(note for note in (chosen.note,) if note)),
    )
    found = dataclasses.replace(found, **_described(graphs, tasks[0], root))
    if out is not None:
        # The page was written when the runs ended; now it also says what they mean.
        section = found.to_section()
        write_section(out, section)
        report.sections = combine(report.sections, [section])
        report.write(out)
    return found


def _described(graphs: list[Data], task: Task, root: str) -> dict[str, Any]:
    """Describe the original graphs: statistics, other metric spaces, and the first run's split of them."""
    from graphnetz.benchmark import get_split

    out: dict[str, Any] = {"statistics": dataset_statistics(graphs)}
    if sum(int(data.num_nodes or 0) ** 3 for data in graphs) <= GRID_WORK:
        out["grid"] = metric_grid(graphs)
    if task.task_type in ("graph_cls", "graph_reg"):
        split = get_split(task, 0, root=root)
        out["parts"] = {part: split.part(part).tolist() for part in ("train", "val", "test")}
    return out


def _default_modes(whole: Data | None) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the modes to train on, and why any of the usual ones is left out; ``whole`` is a task's only graph."""
    n = 0 if whole is None else int(whole.num_nodes or 0)
    reasons = {}
    if n * (n - 1) > DENSE_ARCS:
        reasons["cg"] = f"a complete graph on {n} nodes has {n * (n - 1):,} arcs"
    if n * n > DENSE_FEATURES:
        reasons["cf"] = f"the identities of {n} nodes are {n * n:,} numbers"
    notes = tuple(f"{code} is left out: {reason}. Ask for it with modes=." for code, reason in reasons.items())
    return tuple(mode for mode in MODES if mode not in reasons), notes


def judge(
    name: str,
    results: Sequence[CellResult],
    *,
    complementarity: ComplementarityProfile,
    metrics: Sequence[str],
    modes: Sequence[str] = MODES,
    statistic: str = "ks",
    alpha: float = 0.01,
    within_runs: bool = False,
    notes: tuple[str, ...] = (),
) -> DatasetEvaluation:
    """Turn finished cells (tasks named ``name@mode``) and a complementarity profile into an evaluation."""
    scores = mode_scores(results, metrics)
    separable: dict[str, SeparabilityResult] = {}
    best: dict[str, dict[str, str]] = {}
    for metric in metrics:
        better = METRICS[metric].greater_is_better
        best[metric] = best_models(scores, metric, greater_is_better=better)
        if "o" not in best[metric]:
            raise UsageError(
                f"No run on the original data finished with a {metric!r}. Look at the failures of the run."
            )
        runs = {mode: runs_of(scores, metric, mode, best[metric][mode]) for mode in modes if mode in best[metric]}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RingsWarning)  # the notes are part of the evaluation
            separable[metric] = compare_runs(
                runs, within_runs=within_runs, statistic=statistic, alpha=alpha, greater_is_better=better
            )
    values = complementarity.at(1)
    means = {code: complementarity.mean(code).tolist() for code in complementarity.values if code in modes}
    performance = {
        metric: {
            mode: float(np.mean(list(runs_of(scores, metric, mode, model).values()))) for mode, model in item.items()
        }
        for metric, item in best.items()
    }
    failed = sum(not result.ok for result in results)
    if failed:
        notes = (*notes, f"{failed} of {len(results)} runs failed and were left out.")
    return DatasetEvaluation(
        name=name,
        separability=separable,
        assessment=assess({metric: item.relation for metric, item in separable.items()}),
        diversity=DiversityResult(to_diversity(values["ef"]), to_diversity(values["eg"])),
        complementarity=complementarity,
        best=best,
        scores=tuple(scores),
        correlation={metric: correlate(means, item) for metric, item in performance.items()},
        agreement=_agreement(results),
        notes=(*notes, *dict.fromkeys(note for item in separable.values() for note in item.notes)),
    )


def metrics_of(task: Task) -> tuple[str, ...]:
    """Metrics to judge by: accuracy and AUROC for classification, else the task type's headline."""
    from graphnetz.tasktypes import known_task_type

    declared = tuple(known_task_type(task.task_type).metrics)
    both = tuple(key for key in ("acc", "auc") if key in declared)
    return both or (task.metric or declared[0],)


def mode_scores(results: Sequence[CellResult], metrics: Sequence[str]) -> list[ModeScore]:
    """Read one score per (mode, model, metric, run) off finished cells; failed ones are left out."""
    out = []
    for result in results:
        mode = result.task.rpartition("@")[2]
        for metric in metrics:
            value = float(result.metrics.get(f"test_{metric}", math.nan)) if result.ok else math.nan
            if math.isfinite(value):
                out.append(ModeScore(mode, result.model, metric, result.seed, value))
    return out


def _agreement(results: Sequence[CellResult]) -> AgreementResult | None:
    """Compare the sets of correctly classified test examples; runs of one seed share their test set."""
    correct: dict[str, dict[object, frozenset[int]]] = {}
    for result in results:
        if result.ok and result.predictions is not None:
            name = f"{result.task.rpartition('@')[2]}/{result.model}"
            correct.setdefault(name, {})[result.seed] = correct_examples(result.predictions)
    return agreement(correct) if correct else None


def _as_task(task: Any, task_type: str) -> Task:
    if isinstance(task, Task):
        return task
    if isinstance(task, str):
        return find_task(task)
    return Task(
        getattr(task, "name", "dataset"), task_type, HeldDataset(task if isinstance(task, Data) else list(stream(task)))
    )


def _graphs(task: Task, root: str) -> tuple[list[Data], Data | None]:
    """Load the dataset as the engine does, with features; one graph is cut into ego-graphs and returned as well."""
    from graphnetz.engine.worker import Workbench

    loaded = Workbench({task.name: task}, {}, root).load(task.name, 0)
    graphs = degree_features(list(stream(loaded)))
    return (ego_graphs(graphs[0]), graphs[0]) if len(graphs) == 1 else (graphs, None)
