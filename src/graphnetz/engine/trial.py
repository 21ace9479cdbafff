"""Which task types a model serves that does not say so: the first batch of each task tells."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch

from graphnetz._core.errors import GraphnetzError
from graphnetz._core.rng import training_context
from graphnetz.engine.executors import Limits, LocalExecutor, results_of
from graphnetz.engine.executors.outcome import said_by
from graphnetz.engine.fitting import build_model
from graphnetz.engine.guard import Guard, private
from graphnetz.models import ModelSpec
from graphnetz.models.construct import signature_of
from graphnetz.records import Cell, CellResult, Protocol
from graphnetz.tasktypes import Split, TaskType, shown
from graphnetz.tasktypes.sampled import sampled


def tried(
    kind: TaskType, models: Mapping[str, tuple[ModelSpec, Protocol]], split: Split
) -> dict[str, tuple[ModelSpec, str]]:
    """Build models for a task and show each the first batch, with its loss and gradient.

    Each is tried in a process of its own: what its code does to libraries, to the environment or to the process itself
    must not reach the driver, from which all workers are forked. One that ends its process is left for the run to
    report.

    Parameters
    ----------
    kind, split
        The task.
    models
        Models whose task types nobody declared, by what the report calls them, and how each would be trained.

    Returns
    -------
    dict
        By name: the model, with ``level="node"`` where its rows are nodes and the task wants graphs or edges; and why
        it cannot do the task, empty where it can.
    """
    cells = [Cell(name, kind.name, name, 0, protocol.replace(device="cpu")) for name, (_, protocol) in models.items()]
    trial = Trial(kind, split, {name: spec for name, (spec, _) in models.items()})
    found = results_of(LocalExecutor(workers=1), cells, trial, limits=Limits(seconds=600.0)) if cells else {}
    answers = {name: (spec, "") for name, (spec, _) in models.items()}
    for name, result in found.items():
        if result.ok:
            spec = models[name][0]
            answers[name] = (replace(spec, level="node") if result.metrics["by_node"] else spec, "".join(result.notes))
    return answers


@dataclass(frozen=True)
class Trial:
    """Calling it with a cell shows its model the first batch; nothing is trained."""

    kind: TaskType
    split: Split
    specs: Mapping[str, ModelSpec]

    def foreign(self, _: Cell) -> bool:
        """Say that every cell runs code of somebody else."""
        return True

    def __call__(self, cell: Cell) -> CellResult:
        """Return a result that says whether rows are nodes, and as its note why the model cannot do the task."""
        spec = self.specs[cell.model]
        guard = Guard([spec.cls])  # for where no process can be made
        try:
            reason, by_node = _tried(self.kind, spec, self.split, cell.protocol, cell.model), False
            other_rows = self.split.unit in ("graph", "edge") or self.split.dims.out_graph is not None
            if reason and not spec.is_node_level and other_rows:
                as_node = replace(spec, level="node")
                again = _tried(self.kind, as_node, self.split, cell.protocol, cell.model)
                by_node = not again
                if width := _MULTIPLIED.search(again):  # its rows are nodes, and only their width is wrong
                    words = (
                        f"its rows are nodes of {width[1]} values, and a head for them was told {width[2]}. {_WIDTH}"
                    )
                    reason = f"{cell.model} cannot do {self.kind.label} ({self.kind.name}): {words}{_place(spec)}"
        finally:
            guard.restore()
        notes = (reason,) if reason and not by_node else ()
        metrics = {"by_node": float(by_node)}
        return CellResult(cell.key, cell.task, cell.model, cell.seed, metric="by_node", metrics=metrics, notes=notes)


def _tried(kind: TaskType, spec: ModelSpec, split: Split, protocol: Protocol, name: str) -> str:
    own = shown(private(split), kind.answers)
    with training_context(0, dtype=protocol.dtype):
        try:
            model = build_model(kind, spec, own, protocol)
            if callable(getattr(model, "fit", None)):
                return ""  # trains itself; what it does is its own affair
            batch = next(iter(sampled(kind, protocol, model, own).batches(own, protocol.batch_size)))
            if reason := _rows(model, own, batch):
                return f"{name} cannot do {kind.label} ({kind.name}): it returned {reason}{_place(spec)}"
            kind = sampled(kind, protocol, model, own)
            loss = kind.loss(model, own, batch)
            if loss.requires_grad:
                loss.backward()  # type: ignore[no-untyped-call]
        except GraphnetzError as error:  # ours, about what came: the place is that of their code that sent it
            return f"{name} cannot do {kind.label} ({kind.name}): {error}{_place(spec)}"
        except Exception as error:  # a user's code may raise anything; which line is theirs to know
            return f"{name} cannot do {kind.label} ({kind.name}): {_said(spec, error)}{_advice(spec, error, name, own)}"
    return ""


_WIDTH = "Take the width of the output from out_channels."
_MULTIPLIED = re.compile(r"mat1 and mat2 shapes cannot be multiplied \(\d+x(\d+) and (\d+)x\d+\)")


def _said(spec: ModelSpec, error: Exception) -> str:
    """What was raised, and where in their code, or where their ``forward`` begins if it was raised in ours."""
    said = said_by(error)
    return said if " (at " in said else f"{said}{_place(spec)}"


def _advice(spec: ModelSpec, error: Exception, name: str, split: Split) -> str:
    """What to do where the constructor, or what ``forward`` reads, explains what was raised."""
    if isinstance(error, TypeError) and "required" in str(error):
        return f'. Give what is required in Python: model_kwargs={{"{name}": {{...}}}}.'
    told = signature_of(spec.factory or spec.cls)
    if told is not None and not told:
        return ". Its constructor is told no widths: take in_channels, hidden_channels and out_channels."
    width = _MULTIPLIED.search(str(error))
    if width and int(width[1]) == split.dims.in_channels != int(width[2]):
        return f". This data has {width[1]} features per node: take the width of the input from in_channels."
    code = getattr(getattr(spec.cls, "forward", None), "__code__", None)
    if code is not None and "y" in code.co_names and not spec.is_ours:
        return ". It reads y: labels are hidden from models, -1 or missing, but for those of training."
    return ""


def _place(spec: ModelSpec) -> str:
    """Where the ``forward`` of a model that is not ours begins."""
    code = getattr(getattr(spec.cls, "forward", None), "__code__", None)
    return "" if code is None or spec.is_ours else f" (at {Path(code.co_filename).name}:{code.co_firstlineno})"


def _rows(model: Any, split: Split, batch: Any) -> str:
    """Compare the rows that came with those that the task wants."""
    wanted = {"graph": "num_graphs", "edge": "num_edges", "node": "num_nodes"}.get(split.unit)
    if wanted is None or not hasattr(batch, "num_nodes"):
        return ""
    with torch.no_grad():
        out = model(batch)
    if split.dims.out_graph is not None:
        pair = isinstance(out, tuple) and [isinstance(part, torch.Tensor) for part in out] == [True, True]
        return "" if pair else f"{_called(out)}. Return two tensors, one row per node and one row per graph."
    count = int(getattr(batch, wanted, 1) or 1)
    one = "value" if split.dims.out_channels == 1 else f"row of {split.dims.out_channels} values"
    if not isinstance(out, torch.Tensor):
        return f"{_called(out)}, not a tensor. Return one {one} per {split.unit} and nothing beside."
    if out.dim() == 0 or out.size(0) != count:
        got = "one number" if out.dim() == 0 else f"{out.size(0)} row{'s' * (out.size(0) != 1)}"
        return f"{got} for a batch of {count} {split.unit}s. Return one {one} per {split.unit}."
    if out.dim() > 1 and out.size(1) != split.dims.out_channels:
        return f"{out.size(1)} values per {split.unit}, and the task has {split.dims.out_channels}. {_WIDTH}"
    return ""


def _called(out: Any) -> str:
    """What came, in words."""
    if isinstance(out, tuple | list):
        return f"a {type(out).__name__} of {len(out)}"
    return "nothing" if out is None else "one tensor" if isinstance(out, torch.Tensor) else f"a {type(out).__name__}"
