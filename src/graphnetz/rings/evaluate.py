"""Is this dataset fit to judge models? Train on it and its perturbations, measure, and say so."""

from __future__ import annotations

import dataclasses
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np
from torch_geometric.data import Data

from graphnetz._core.errors import UsageError
from graphnetz._core.paths import write_file
from graphnetz.datasets.custom import HeldDataset
from graphnetz.records import Task
from graphnetz.records.seed_rule import SeedRule
from graphnetz.records.task import Replication
from graphnetz.report import BenchmarkReport
from graphnetz.report.page import render_sections
from graphnetz.report.sections import combine, write_section
from graphnetz.rings._batches import stream
from graphnetz.rings.complementarity import profile
from graphnetz.rings.crossed import crossed_results, crossed_tasks
from graphnetz.rings.decisions import ALPHA, Rule
from graphnetz.rings.evaluation import DatasetEvaluation
from graphnetz.rings.figures import metric_grid
from graphnetz.rings.judge import RELATION_ALPHA, judge, metrics_of, mode_scores
from graphnetz.rings.own_data import feature_width, task_from_source
from graphnetz.rings.perturbations import PERTURBATIONS
from graphnetz.rings.presets import Tuning, tuning_of
from graphnetz.rings.separability import STATISTICS
from graphnetz.rings.statistics import dataset_statistics, ego_graphs
from graphnetz.rings.study import MODES, runs_of
from graphnetz.rings.tasks import degree_features, perturb_task

DENSE_ARCS, DENSE_ARCS_OF_MANY = 2_000_000, 50_000_000
"""Complete graphs with more arcs than this are not among the default modes of a task on one graph, or on many."""
DENSE_FEATURES, DENSE_FEATURES_OF_MANY = 64_000_000, 250_000_000
"""Nor are node identities with more numbers than this."""
MAX_RUNS = 100
"""Budget of ``runs="auto"``, the number of runs of the paper."""
FIRST_LOOK = 10
"""Runs before ``runs="auto"`` looks for the first time: fewer can hardly decide anything at the levels of a look."""
SAME_FOR_ALL: Mapping[str, Any] = {"edge_attributes": False, "patience": None}
"""Structural perturbations have no edge attributes, so the original may not profit from its own. The patience of a task
would end training before a preset that measures the last epoch has looked."""
GRID_WORK = 10**10
"""Sum of cubed sizes up to which complementarity is also taken in other metric spaces."""
RANDOM_WORK = 10**11
"""Sum of cubed sizes up to which complementarity is also taken of random perturbations, five draws of each."""


def evaluate(
    task: Task | str | Any,
    *,
    models: Sequence[str] | Mapping[str, Any] | None = None,
    tuning: str | Tuning | Mapping[str, Any] = "quick",
    runs: int | Literal["auto"] | None = None,
    max_runs: int = MAX_RUNS,
    modes: Sequence[str] | None = None,
    statistic: str = "ks",
    alpha: float | None = None,
    margin: float | None = None,
    within_runs: bool = False,
    resplit: bool = False,
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
        A Task, the name of one, a file or folder of your own (see `task_from_source`), or graphs (a dataset or list)
        together with ``task_type``.
    models
        Architectures, None takes those of the tuning; per mode the one with the best mean on validation counts.
    tuning
        ``"quick"``, ``"paper"``, ``"crossed"`` (the seeds of the paper's Table 12), a `Tuning`, or a mapping of
        changes to the quick preset.
    runs, max_runs
        Runs per mode; a run is a seed of split and initialisation, shared by all modes. ``"auto"`` adds runs in
        rounds, at most ``max_runs``, and stops when structure and features are decided.
    modes
        The original and the perturbations to train on; default ``o eg cg rg cf rf``. On one graph
        too large for ``cg`` or ``cf`` the default leaves them out and a note says so.
    alpha, margin
        Level of the decisions about structure and features, and the largest advantage of the original that does not
        matter (see `Rule`). None takes 0.05 for decisions, the paper's 0.01 for the relation, and two per cent of the
        metric's range.
    statistic, within_runs
        How the relation between modes is described, as in `separability`; nothing is decided by it.
    resplit
        Draw a fresh split of nodes or graphs for every run also where the dataset has splits of its own. Runs on one
        fixed split are one block, which decides nothing.
    backend, workers, out, root
        As in ``run_benchmark``: with ``out`` the runs are kept and resumed.
    task_type
        What to predict, when ``task`` is graphs.
    verbose
        Show progress.

    Returns
    -------
    DatasetEvaluation
        Decisions on every metric, separability, diversity, agreement, correlation, verdict. With ``out`` the run
        folder's page shows it, and ``rings.html`` shows it alone.

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
    >>> result.verdict
    'undecided'
    """
    original = _as_task(task, task_type)
    STATISTICS[statistic]  # a misspelt one is refused before anything is trained
    rule = Rule(alpha=ALPHA if alpha is None else alpha, margin=margin)
    adaptive = runs == "auto"
    chosen = tuning_of(tuning, runs=max_runs if runs == "auto" else runs)
    metrics = metrics_of(original)
    # Validation chooses by the headline metric: AUROC where accuracy and AUROC are both judged.
    prepared = dataclasses.replace(original, metric=original.metric or metrics[-1])
    graphs, whole, splits = dataset_graphs(prepared, root)
    codes, notes = (tuple(modes), ()) if modes else default_modes(graphs if whole is None else [whole])
    if "o" not in codes or len(codes) < 2:
        raise UsageError(f"modes must hold 'o' and at least one perturbation, got {list(codes)}.")
    tasks = _tasks(prepared, codes, chosen, resplit)
    # A fresh perturbation per seed does not make a fresh dataset: what a seed varies stays the same as without.
    varies = replication_of(tasks[0], root)
    tasks = [dataclasses.replace(item, replication=item.replication or varies) for item in tasks]
    splits = len(chosen.crossed.get("split", ())) or shared_splits(varies, 0 if resplit else splits)
    if splits == 1:
        notes = (*notes, _one_split(original, resplit=resplit, adaptive=adaptive))
        if verbose:  # before hours are spent, not only after them
            print(notes[-1], file=sys.stderr, flush=True)
    rule = dataclasses.replace(rule, splits=splits, looks=run_looks(chosen.runs, splits) if adaptive else ())
    if whole is not None:
        notes = (*notes, f"Complementarity and diversity are taken over {len(graphs)} ego-graphs of two hops.")
    measured, unmeasured = measured_codes(graphs, codes)
    notes = (*notes, *unmeasured)
    judged = partial(
        judge,
        original.name,
        complementarity=profile(graphs, perturbations=measured, name=original.name),
        metrics=metrics,
        modes=codes,
        statistic=statistic,
        alpha=RELATION_ALPHA if alpha is None else alpha,
        within_runs=within_runs,
        rule=rule,
        notes=(*notes, *(note for note in (chosen.note,) if note)),
    )
    settings = {
        "models": models if isinstance(models, Mapping) else list(models or _models(chosen, original)),
        "tasks": tasks, "epochs": chosen.epochs,
        "protocol": {**SAME_FOR_ALL, **chosen.protocol},
        "save_predictions": original.task_type in ("graph_cls", "node_cls"),
        "backend": backend, "workers": workers, "root": root, "verbose": verbose,
    }  # fmt: skip
    with _folder(out, needed=adaptive) as folder:
        report, found = _train(settings, chosen, rule, judged, out=folder)
    found = dataclasses.replace(
        found, untrained=_untrained(settings, chosen, found), **_described(graphs, tasks[0], root)
    )
    if out is not None:
        # The page was written when the runs ended; now it also says what they mean.
        section = found.to_section()
        write_section(out, section)
        report.sections = combine(combine([section], report.sections), [section])  # it leads the others
        report.write(out)
        write_file(Path(out) / "rings.html", render_sections(section.title, [section]))
    return found


def _models(chosen: Tuning, task: Task) -> tuple[str, ...]:
    graphs = task.task_type in ("graph_cls", "graph_reg")
    return chosen.graph_models if graphs and chosen.graph_models else chosen.models


def _tasks(original: Task, codes: Sequence[str], chosen: Tuning, resplit: bool) -> list[Task]:
    """Return what is trained on, the original first."""
    if chosen.crossed:
        share = chosen.test_share
        return [task for code in codes for task in crossed_tasks(original, code, chosen.crossed, test_share=share)]
    return [
        perturb_task(
            original, code, vary=chosen.vary, test_share=chosen.test_share, splits=chosen.runs, resplit=resplit
        )
        for code in codes
    ]


def shared_splits(varies: Replication, splits: int) -> int:
    """How many splits runs take in turn: those the data carry, one where a seed varies initial weights only, or 0.

    Examples
    --------
    >>> shared_splits("init", 0), shared_splits("resplit", 10), shared_splits("resplit", 0)
    (1, 10, 0)
    """
    return 1 if varies == "init" else splits


def _one_split(task: Task, *, resplit: bool, adaptive: bool) -> str:
    """Say what runs on one fixed split cannot do; refuse to add them until something is decided."""
    known = f"{task.name} has one split of its own: runs vary initial weights only, and one split decides nothing"
    if resplit:
        raise UsageError(f"{known}. Fresh splits are drawn of nodes and graphs, and not of what {task.task_type} asks.")
    can = "" if task.task_type in ("link_pred", "edge_cls") else "; resplit=True (--resplit) draws a fresh one per run"
    if adaptive:
        raise UsageError(f"{known}, however many there are{can or '; give a number of runs to describe it'}.")
    return f"{known}{can}."


def run_looks(most: int, splits: int = 0) -> tuple[int, ...]:
    """Numbers of runs at which ``runs="auto"`` looks: half as many more each time, or whole rounds over fixed splits.

    Examples
    --------
    >>> run_looks(100)
    (10, 15, 22, 33, 49, 73, 100)
    >>> run_looks(40, splits=10)
    (10, 20, 40)
    """
    if most < FIRST_LOOK:
        raise UsageError(f"max_runs={most} is below the first look at {FIRST_LOOK} runs; give more, or a fixed number.")
    if 0 < splits < most:
        return SeedRule(1.0, max_seeds=most, first_look=min(FIRST_LOOK, splits)).looks_of(splits)
    looks = [FIRST_LOOK]
    while (following := looks[-1] * 3 // 2) < most:
        looks.append(following)
    return (*looks, most) if looks[-1] < most else tuple(looks)


def _train(
    settings: Mapping[str, Any], chosen: Tuning, rule: Rule, judged: Callable[..., DatasetEvaluation], *, out: Any
) -> tuple[BenchmarkReport, DatasetEvaluation]:
    """Train all runs, or rounds of them until structure and features are decided."""
    from graphnetz.benchmark import SearchSpace, run_benchmark

    for look in rule.looks or (chosen.runs,):
        search = SearchSpace(**chosen.search) if chosen.search else None
        seeds = chosen.crossed.get("initialisation") or range(look)
        report = run_benchmark(**settings, seeds=seeds, search=search, out=out)
        found = judged(crossed_results(report.results, chosen.crossed) if chosen.crossed else report.results)
        if rule.looks and settings["verbose"]:
            print(f"After {look} runs: {found.standing}.", file=sys.stderr, flush=True)
        if found.decided:
            break
    return report, found


def _untrained(settings: Mapping[str, Any], chosen: Tuning, found: DatasetEvaluation) -> dict[str, float]:
    """Mean score of the best models on the original data before they have learned anything, by metric.

    One epoch with steps too small to change a weight: batch norms have then seen the data, as in every evaluation.
    """
    from graphnetz.benchmark import run_benchmark

    names = sorted({best["o"] for best in found.best.values()})
    given = settings["models"]
    models = {name: given[name] for name in names} if isinstance(given, Mapping) else names
    asleep = {**settings["protocol"], "lr": 1e-30, "weight_decay": 0.0, "selection": "last"}
    untouched = {"tasks": settings["tasks"][:1], "models": models, "protocol": asleep, "epochs": 1, "verbose": False}
    report = run_benchmark(**{**settings, **untouched}, seeds=range(min(chosen.runs, FIRST_LOOK)))
    scores = mode_scores(report.results, list(found.best))
    return {
        metric: float(np.mean(list(runs.values())))
        for metric, best in found.best.items()
        if (runs := runs_of(scores, metric, "o", best["o"]))
    }


@contextmanager
def _folder(out: str | Path | None, *, needed: bool) -> Iterator[str | Path | None]:
    """Rounds keep what is trained, in a folder that goes away where the caller named none."""
    if out is not None or not needed:
        yield out
        return
    with tempfile.TemporaryDirectory(prefix="graphnetz-rings-") as folder:
        yield folder


def replication_of(task: Task, root: str) -> Replication:
    """What a seed varies in the unperturbed task."""
    from graphnetz.benchmark import get_split

    if task.seeded:
        return task.replication or "resplit"
    return get_split(task, 0, root=root).replication


def _described(graphs: list[Data], task: Task, root: str) -> dict[str, Any]:
    """Describe the original graphs: statistics, other metric spaces, and the first run's split of them."""
    from graphnetz.benchmark import get_split

    out: dict[str, Any] = {"statistics": dataset_statistics(graphs), "width": feature_width(graphs)}
    if sum(int(data.num_nodes or 0) ** 3 for data in graphs) <= GRID_WORK:
        out["grid"] = metric_grid(graphs)
    if task.task_type in ("graph_cls", "graph_reg"):
        split = get_split(task, 0, root=root)
        out["parts"] = {part: split.part(part).tolist() for part in ("train", "val", "test")}
    return out


def default_modes(graphs: Sequence[Data]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the modes to train on, and why any of the usual ones is left out."""
    sizes = [int(data.num_nodes or 0) for data in graphs]
    arcs, numbers = sum(n * (n - 1) for n in sizes), sum(sizes) * max(sizes)
    one = len(sizes) == 1
    whose = f"{sizes[0]} nodes" if one else f"{len(sizes)} graphs, the largest of {max(sizes)} nodes,"
    reasons = {}
    if arcs > (DENSE_ARCS if one else DENSE_ARCS_OF_MANY):
        reasons["cg"] = f"complete graphs on {whose} have {arcs:,} arcs"
    if numbers > (DENSE_FEATURES if one else DENSE_FEATURES_OF_MANY):
        reasons["cf"] = f"node identities of {whose} are {numbers:,} numbers"
    notes = tuple(f"{code} is left out: {reason}. Ask for it with modes=." for code, reason in reasons.items())
    return tuple(mode for mode in MODES if mode not in reasons), notes


def measured_codes(graphs: Sequence[Data], codes: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the perturbations whose complementarity is taken, and why random ones are left out of it."""
    wanted = tuple(dict.fromkeys((*codes, "ef", "eg")))  # diversity is read off ef and eg, whichever modes were trained
    work = sum(int(data.num_nodes or 0) ** 3 for data in graphs)
    drawn = [code for code in wanted if PERTURBATIONS[code].random]
    if work <= RANDOM_WORK or not drawn:
        return wanted, ()
    note = f"Complementarity of {' and '.join(drawn)} is left out: graphs this large would take hours."
    return tuple(code for code in wanted if code not in drawn), (note,)


def _as_task(task: Any, task_type: str) -> Task:
    if isinstance(task, Task):
        return task
    if isinstance(task, str | Path):
        return task_from_source(task)
    return Task(
        getattr(task, "name", "dataset"), task_type, HeldDataset(task if isinstance(task, Data) else list(stream(task)))
    )


def dataset_graphs(task: Task, root: str) -> tuple[list[Data], Data | None, int]:
    """Load a dataset as the engine does, with features, for complementarity and diversity.

    Returns the graphs, which for a task on one graph are ego-graphs of it, then that one graph, and how many fixed
    splits the runs take in turn.
    """
    from graphnetz.engine.plan import fixed_splits
    from graphnetz.engine.worker import Workbench

    loaded = Workbench({task.name: task}, {}, root).load(task.name, 0)
    graphs = degree_features(list(stream(loaded)))
    splits = fixed_splits(loaded)
    return (ego_graphs(graphs[0]), graphs[0], splits) if len(graphs) == 1 else (graphs, None, splits)
