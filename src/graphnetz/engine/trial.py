"""Which task types a model serves that does not say so: the first batch of each task tells."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from graphnetz._core.errors import GraphnetzError
from graphnetz._core.rng import training_context
from graphnetz.engine.executors.outcome import said_by
from graphnetz.engine.fitting import build_model
from graphnetz.engine.guard import Guard, private
from graphnetz.models import ModelSpec
from graphnetz.models.construct import signature_of
from graphnetz.records import Protocol
from graphnetz.tasktypes import Split, TaskType, shown
from graphnetz.tasktypes.sampled import sampled


def tried(kind: TaskType, spec: ModelSpec, split: Split, *, protocol: Protocol, name: str) -> tuple[ModelSpec, str]:
    """Build a model for a task and show it the first batch, with its loss and gradient.

    Parameters
    ----------
    kind, split
        The task.
    spec
        A model whose task types nobody declared.
    protocol
        How it would be trained.
    name
        What the report calls it.

    Returns
    -------
    spec, reason
        The model, with ``level="node"`` where its rows are nodes and the task wants graphs or edges; and why it cannot
        do the task, empty where it can.
    """
    guard = Guard([spec.cls])
    try:
        reason = _tried(kind, spec, split, protocol, name)
        other_rows = split.unit in ("graph", "edge") or split.dims.out_graph is not None
        if not reason or spec.is_node_level or not other_rows:
            return spec, reason
        as_node = replace(spec, level="node")
        again = _tried(kind, as_node, split, protocol, name)
        if not again:
            return as_node, ""
        if width := _MULTIPLIED.search(again):  # its rows are nodes, and only their width is wrong
            words = f"its rows are nodes of {width[1]} values, and a head for them was told {width[2]}. {_WIDTH}"
            reason = f"{name} cannot do {kind.label} ({kind.name}): {words}{_place(spec)}"
        return spec, reason
    finally:
        guard.restore()


def _tried(kind: TaskType, spec: ModelSpec, split: Split, protocol: Protocol, name: str) -> str:
    own = shown(private(split), kind.answers)
    with training_context(0, dtype=protocol.dtype):
        try:
            model = build_model(kind, spec, own, protocol.replace(device="cpu"))
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
