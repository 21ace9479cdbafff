"""Cells sent to a tracker as they finish: asked for by name, without login, offline unless the user said otherwise.

The store stays the record of a run; a tracker that fails is named once and left alone.
"""

from __future__ import annotations

import math
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

from graphnetz._core.errors import UsageError
from graphnetz._core.optional import require
from graphnetz._core.paths import slug
from graphnetz._core.registry import Registry
from graphnetz.records import Cell, CellResult
from graphnetz.records.digests import sha256

Listener = Callable[[Cell, CellResult], None]


class CellLogger(Protocol):
    """What a tracker must do."""

    def cell(self, cell: Cell, result: CellResult) -> None:
        """Take one finished cell."""

    def close(self) -> None:
        """Nothing more will come."""


LOGGERS: Registry[Callable[[str, Path], CellLogger]] = Registry(
    "tracker", entry_points="graphnetz.loggers", accepts=callable
)
"""Name -> function or class that takes what stands after the colon and the run folder, and returns a `CellLogger`."""


@contextmanager
def listening(specs: str | Sequence[str] | None, folder: Path | None) -> Iterator[Listener]:
    """Open the loggers of ``specs`` (``"name"`` or ``"name:where"``), yield what tells them, close them.

    A missing package or an unknown name is an error before anything is trained.
    """
    names = [specs] if isinstance(specs, str) else list(specs or ())
    open_ones = {spec: _open(spec, folder or Path("runs")) for spec in names}

    def each(call: Callable[[CellLogger], None]) -> None:
        for spec, logger in list(open_ones.items()):
            try:
                call(logger)
            except Exception as error:  # hours of training must not end because a tracker does
                del open_ones[spec]
                what = f"{type(error).__name__}: {error}"
                print(f"The logger {spec!r} failed and gets nothing more: {what}. Results are kept.", file=sys.stderr)

    try:
        yield lambda cell, result: each(lambda logger: logger.cell(cell, result))
    finally:
        each(lambda logger: logger.close())


def _open(spec: str, folder: Path) -> CellLogger:
    name, _, where = spec.partition(":")
    if not name:
        raise UsageError(f"A logger is 'name' or 'name:where', got {spec!r}. Known: {', '.join(LOGGERS)}.")
    return LOGGERS[name](where, folder)


def facts(cell: Cell, result: CellResult) -> dict[str, Any]:
    """What a tracker calls parameters or configuration: plain values."""
    protocol = cell.protocol.as_dict().items()
    plain = {key: v if isinstance(v, str | int | float) else str(v) for key, v in protocol if v is not None}
    named = {"task": cell.task, "model": cell.model, "seed": cell.seed, "key": cell.key, "status": result.status}
    return plain | named


def curves(result: CellResult) -> Iterator[tuple[str, int, float]]:
    """(key, epoch, value) of every finite value; evaluations that skip epochs keep their distance."""
    for key, values in result.history.items():
        every = max(1, round(result.epochs / len(values))) if values and result.epochs else 1
        for i, value in enumerate(values):
            if math.isfinite(value):
                yield key, (i + 1) * every, float(value)


def ends(result: CellResult) -> dict[str, float]:
    """Final metrics and costs, the finite ones."""
    costs = {"seconds": result.seconds, "peak_memory": result.peak_memory, "parameters": float(result.parameters)}
    values = {f"final/{key}": float(value) for key, value in result.metrics.items()} | costs
    return {key: value for key, value in values.items() if math.isfinite(value)}


def place(cell: Cell) -> str:
    """Return ``task/model/seed-0`` as harmless path components that two cells never share."""
    parts = []
    for name in (cell.task, cell.model):
        plain = slug(name)
        parts.append(plain if plain == name else f"{plain}-{sha256(name.encode())[:6]}")
    return "/".join([*parts, f"seed-{cell.seed}"])


@LOGGERS.register("tensorboard")
class TensorBoardLogger(CellLogger):
    """One run per cell below the folder ``where`` (default: ``tensorboard`` in the run folder)."""

    def __init__(self, where: str, folder: Path) -> None:
        require("tensorboard", extra="tensorboard", purpose="--log tensorboard")
        self._writer = import_module("torch.utils.tensorboard").SummaryWriter
        self.folder = Path(where) if where else folder / "tensorboard"

    def cell(self, cell: Cell, result: CellResult) -> None:
        """Write the curves, the final values and the settings of one cell."""
        with self._writer(log_dir=str(self.folder / place(cell))) as writer:
            for key, epoch, value in curves(result):
                writer.add_scalar(key, value, global_step=epoch)
            for key, value in ends(result).items():
                writer.add_scalar(key, value, global_step=result.epochs)
            lines = [f"    {key}: {value}" for key, value in facts(cell, result).items()]  # indented: shown as it is
            writer.add_text("cell", "\n".join([*lines, *([f"    error: {result.error}"] if result.error else [])]))


@LOGGERS.register("mlflow")
class MlflowLogger(CellLogger):
    """One MLflow run per cell in the experiment ``graphnetz`` of the tracking address ``where``.

    Without an address the user's ``MLFLOW_TRACKING_URI`` counts, else a database in the run folder.
    """

    def __init__(self, where: str, folder: Path) -> None:
        os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
        mlflow = require("mlflow", extra="mlflow", purpose="--log mlflow")
        address = where or os.environ.get("MLFLOW_TRACKING_URI", "")
        if not address:
            folder.mkdir(parents=True, exist_ok=True)
            address = f"sqlite:///{(folder / 'mlflow.db').resolve()}"
        self._entities = import_module("mlflow.entities")
        self.client = mlflow.MlflowClient(tracking_uri=address)
        found = self.client.get_experiment_by_name("graphnetz")
        self.experiment = found.experiment_id if found else self.client.create_experiment("graphnetz")

    def cell(self, cell: Cell, result: CellResult) -> None:
        """Log one cell as a run of its own."""
        name = f"{cell.task} / {cell.model} / seed {cell.seed}"
        run = self.client.create_run(self.experiment, run_name=name).info.run_id
        now = int(time.time() * 1000)
        metric, param = self._entities.Metric, self._entities.Param
        values = [metric(key, value, now, epoch) for key, epoch, value in curves(result)]
        values += [metric(key, value, now, result.epochs) for key, value in ends(result).items()]
        params = [param(key, str(value)[:500]) for key, value in facts(cell, result).items()]
        self.client.log_batch(run, params=params)
        for start in range(0, len(values), 1000):  # what one batch may hold
            self.client.log_batch(run, metrics=values[start : start + 1000])
        self.client.set_terminated(run, status="FINISHED" if result.ok else "FAILED")


@LOGGERS.register("wandb")
class WandbLogger(CellLogger):
    """One Weights & Biases run per cell in the project ``where`` (default ``graphnetz``).

    Offline, into the run folder, unless the user set ``WANDB_MODE``: nothing is sent and no account is needed.
    """

    def __init__(self, where: str, folder: Path) -> None:
        os.environ.setdefault("WANDB_ERROR_REPORTING", "false")
        self.wandb = require("wandb", extra="wandb", purpose="--log wandb")
        self.project, self.folder = where or "graphnetz", folder

    def cell(self, cell: Cell, result: CellResult) -> None:
        """Log one cell as a run of its own."""
        self.folder.mkdir(parents=True, exist_ok=True)
        run = self.wandb.init(
            project=self.project,
            group=cell.task,
            job_type=cell.model,
            name=f"{cell.task} / {cell.model} / seed {cell.seed}",
            config=facts(cell, result),
            mode=os.environ.get("WANDB_MODE", "offline"),
            dir=str(self.folder),
            reinit=True,
        )
        by_epoch: dict[int, dict[str, float]] = {}
        for key, epoch, value in curves(result):
            by_epoch.setdefault(epoch, {})[key] = value
        for epoch in sorted(by_epoch):
            run.log(by_epoch[epoch], step=epoch)
        run.summary.update(ends(result))
        run.finish(exit_code=0 if result.ok else 1)
