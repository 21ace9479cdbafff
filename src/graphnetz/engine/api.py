"""Small doors for scripts: a split, a metric, a trained model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from graphnetz._core.errors import UsageError
from graphnetz.datasets import find_task
from graphnetz.engine.worker import Workbench
from graphnetz.metrics import METRICS
from graphnetz.models import spec_from
from graphnetz.records import Task
from graphnetz.report import BenchmarkReport
from graphnetz.tasktypes import Split, known_task_type


def get_split(task: Task | str, seed: int = 0, *, root: str = "data/benchmark") -> Split:
    """Return exactly the split that a cell of ``(task, seed)`` trains on."""
    found = find_task(task) if isinstance(task, str) else task
    return Workbench({found.name: found}, {}, root).split(found.name, seed)


def evaluate(y_true: Any, y_pred: Any, task: Task | str) -> dict[str, float]:
    """Metrics of given predictions as the task would report them, without the split prefix."""
    found = find_task(task) if isinstance(task, str) else task
    kind = known_task_type(found.task_type)
    target, score = np.asarray(y_true), np.asarray(y_pred, dtype=float)
    if len(target) != len(score):
        raise UsageError(f"y_true has {len(target)} rows and y_pred {len(score)}. Give one prediction per target.")
    keys = tuple(dict.fromkeys((found.metric or kind.metrics[0], *kind.metrics)))
    return {key: METRICS[key].compute(target, score) for key in keys}


def load_model(
    report: BenchmarkReport,
    task: str,
    model: str,
    seed: int,
    *,
    folder: str | Path,
    spec: Any = None,
    root: str = "data/benchmark",
) -> Any:
    """Rebuild a trained model from the weights that ``save_weights=True`` kept in a run folder."""
    import torch

    result = next((r for r in report.results if (r.task, r.model, r.seed) == (task, model, seed)), None)
    if result is None:
        raise UsageError(f"The report has no cell ({task!r}, {model!r}, seed {seed}). Look at report.results.")
    path = Path(folder) / "weights" / f"{result.key}.npz"
    if not path.exists():
        raise UsageError(f"No weights were kept for this cell in {str(folder)!r}. Run with save_weights=True.")
    found = find_task(task)
    split = get_split(found, seed, root=root)
    built = spec_from(spec or model).build(
        found.task_type, split.dims, report.config["protocols"][task]["hidden_channels"]
    )
    with np.load(path, allow_pickle=False) as arrays:
        built.load_state_dict({name: torch.from_numpy(arrays[name]) for name in arrays.files})
    return built.eval()
