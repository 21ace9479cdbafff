"""Small doors for scripts: a split, a metric, a trained model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from graphnetz._core.errors import UsageError
from graphnetz._core.rng import training_context
from graphnetz.datasets import find_task
from graphnetz.engine.worker import Workbench, build_model, chosen_candidate, with_candidate
from graphnetz.metrics import METRICS
from graphnetz.models import spec_from
from graphnetz.records import Cell, Task
from graphnetz.report import BenchmarkReport
from graphnetz.tasktypes import Split, known_task_type


def get_split(task: Task | str, seed: int = 0, *, root: str = "data/benchmark") -> Split:
    """Return exactly the split that a cell of ``(task, seed)`` trains on.

    Parameters
    ----------
    task
        A task, or the name of one.
    seed
        Which of the splits.
    root
        Where datasets are kept.

    Returns
    -------
    Split
        Data, the examples of train, validation and test, true values and sizes.

    Examples
    --------
    >>> import networkx as nx
    >>> from graphnetz import get_split, task_from_networkx
    >>> split = get_split(task_from_networkx("karate", nx.karate_club_graph(), label="club"), seed=3)
    >>> split.n_train, split.n_test, split.metric
    (20, 8, 'acc')
    """
    found = find_task(task) if isinstance(task, str) else task
    return Workbench({found.name: found}, {}, root).split(found.name, seed)


def evaluate(y_true: Any, y_pred: Any, task: Task | str) -> dict[str, float]:
    """Metrics of given predictions as the task would report them, without the split prefix.

    Parameters
    ----------
    y_true
        True values, one per example (or a row per example for several labels or targets).
    y_pred
        Scores, one row per example: a column per class, or one value for binary and real targets.
    task
        A task, or the name of one.

    Returns
    -------
    dict of float
        Metric key -> value, the headline metric first.

    Examples
    --------
    >>> import networkx as nx
    >>> from graphnetz import evaluate, task_from_networkx
    >>> task = task_from_networkx("karate", nx.karate_club_graph(), label="club")
    >>> evaluate([0, 1, 1], [[2.0, 1.0], [0.0, 1.0], [1.0, 0.0]], task)["macro_f1"]
    0.6666666666666666
    """
    found = find_task(task) if isinstance(task, str) else task
    kind = known_task_type(found.task_type)
    target, score = np.asarray(y_true), np.asarray(y_pred, dtype=float)
    if len(target) != len(score):
        raise UsageError(f"y_true has {len(target)} rows and y_pred {len(score)}. Give one prediction per target.")
    # The headline first, and once.
    keys = tuple(dict.fromkeys((found.metric or kind.metrics[0], *kind.metrics)))
    return {key: METRICS[key].compute(target, score) for key in keys}


def load_model(
    report: BenchmarkReport,
    task: Task | str,
    model: str,
    seed: int,
    *,
    folder: str | Path,
    spec: Any = None,
    root: str = "data/benchmark",
) -> Any:
    """Rebuild a trained model from the weights that ``save_weights=True`` kept in a run folder.

    Parameters
    ----------
    report
        The report of the run, as `run_benchmark` returned it.
    task, model, seed
        Which cell. A task that only a script knows is given itself instead of its name.
    folder
        The run folder.
    spec
        The model, when it is not registered under its name or was given arguments: anything that
        ``models=`` takes.
    root
        Where datasets are kept.

    Returns
    -------
    torch.nn.Module
        In evaluation mode, of the width, budget and searched settings that this cell was trained with.

    Examples
    --------
    >>> import tempfile
    >>> from graphnetz import run_benchmark
    >>> place = tempfile.TemporaryDirectory()
    >>> run = {"models": ["GCN"], "tasks": ["karate_club"], "seeds": [0], "epochs": 1, "backend": "serial"}
    >>> report = run_benchmark(**run, hidden_channels=4, verbose=False, out=place.name, save_weights=True)
    >>> sum(p.numel() for p in load_model(report, "karate_club", "GCN", 0, folder=place.name).parameters())
    150
    >>> place.cleanup()
    """
    import torch

    name = task if isinstance(task, str) else task.name
    result = next((r for r in report.results if (r.task, r.model, r.seed) == (name, model, seed)), None)
    if result is None:
        raise UsageError(f"The report has no cell ({name!r}, {model!r}, seed {seed}). Look at report.results.")
    path = Path(folder) / "weights" / f"{result.key}.npz"
    if not path.exists() or result.protocol is None:
        raise UsageError(f"No weights were kept for this cell in {str(folder)!r}. Run with save_weights=True.")
    found = find_task(task) if isinstance(task, str) else task
    chosen, protocol = with_candidate(chosen_candidate(result), spec_from(spec or model), result.protocol)
    with training_context(seed, dtype=protocol.dtype), np.load(path, allow_pickle=False) as arrays:
        split = Workbench({name: found}, {}, root).seen_by(Cell("", name, model, seed, protocol))
        built = build_model(known_task_type(found.task_type), chosen, split, protocol)
        built.load_state_dict({name: torch.from_numpy(arrays[name]) for name in arrays.files})
    return built.eval()
