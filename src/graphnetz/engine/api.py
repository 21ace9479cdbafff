"""Small doors for scripts: a split, a metric, a trained model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from graphnetz._core.errors import UsageError
from graphnetz._core.rng import training_context
from graphnetz._core.text import shorten
from graphnetz.datasets import find_task
from graphnetz.engine.fitting import build_model, with_candidate
from graphnetz.engine.store import Store
from graphnetz.engine.trial import tried
from graphnetz.engine.weights import SUFFIX, put_weights, read_weights
from graphnetz.engine.worker import Workbench
from graphnetz.metrics import METRICS
from graphnetz.models import spec_from
from graphnetz.records import Cell, CellResult, Task
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
    report: BenchmarkReport | str | Path,
    task: Task | str,
    model: str,
    seed: int,
    *,
    folder: str | Path | None = None,
    spec: Any = None,
    root: str = "data/benchmark",
) -> Any:
    """Rebuild a trained model from the weights that ``save_weights=True`` kept in a run folder.

    Parameters
    ----------
    report
        The run folder, or the report of the run with ``folder``.
    task, model, seed
        Which cell. A task that only a script knows is given itself instead of its name.
    folder
        The run folder, where ``report`` is a report.
    spec
        The model, when it is not registered under its name or was given arguments: anything that
        ``models=`` takes, ``path.py:Class`` included. Nothing that the folder names is imported.
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
    >>> sum(p.numel() for p in load_model(place.name, "karate_club", "GCN", 0).parameters())
    150
    >>> place.cleanup()
    """
    if not isinstance(report, BenchmarkReport):
        folder, report = report, BenchmarkReport.from_json(Path(report) / "results.json")
    elif folder is None:
        raise UsageError("load_model needs the run folder: load_model(folder, task, model, seed).")
    name = task if isinstance(task, str) else task.name
    result = next((r for r in report.results if (r.task, r.model, r.seed) == (name, model, seed)), None)
    if result is None:
        raise UsageError(f"The report has no cell ({name!r}, {model!r}, seed {seed}). Look at report.results.")
    key, result = _stored(Path(folder), result)
    kept = [Path(folder) / "weights" / f"{key}{suffix}" for suffix in (SUFFIX, ".npz")]
    path = next((file for file in kept if file.exists()), None)
    if path is None or result.protocol is None:
        raise UsageError(f"No weights were kept for this cell in {str(folder)!r}. Run with save_weights=True.")
    found = find_task(task) if isinstance(task, str) else task
    brought = report.config.get("brought")
    if spec is None and isinstance(brought, dict) and model in brought:  # ours of that name would be another one
        said = shorten(str(brought[model]), 120)
        raise UsageError(f"{model} was brought as {said}. Name it again: spec={said.partition(' (sha256')[0]!r}.")
    chosen, protocol = with_candidate(result.chosen, spec_from(spec or model, code=spec is not None), result.protocol)
    with training_context(seed, dtype=protocol.dtype):
        split = Workbench({name: found}, {}, root).seen_by(Cell("", name, model, seed, protocol))
        kind = known_task_type(found.task_type)
        if not chosen.declared and chosen.kind == "encoder":
            chosen, _ = tried(kind, {model: (chosen, protocol)}, split)[model]
        return put_weights(build_model(kind, chosen, split, protocol), read_weights(path), name=model)


def _stored(folder: Path, result: CellResult) -> tuple[str, CellResult]:
    """The key and the full record of a cell; results.json alone names no keys."""
    if result.key and result.protocol is not None and (folder / "weights" / f"{result.key}{SUFFIX}").exists():
        return result.key, result
    if (folder / "store.sqlite").is_file():
        with Store.open(folder, readonly=True) as store:
            for other in store.results(histories=False):
                if (other.task, other.model, other.seed) == (result.task, result.model, result.seed):
                    return other.key, other
    return result.key, result
