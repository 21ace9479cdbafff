"""From a graph to a model folder: candidates, a probe that compares them, and a final fit."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch

from graphnetz._core.errors import GraphnetzError, UsageError
from graphnetz._core.rng import training_context
from graphnetz.datasets import find_task
from graphnetz.datasets.custom import Standardised, standardised
from graphnetz.engine.fitting import train_once
from graphnetz.engine.worker import Workbench
from graphnetz.models import MODELS, ModelSpec, spec_from
from graphnetz.models.construct import signature_of
from graphnetz.records import Protocol, RunConfig, Task
from graphnetz.records.config import DEFAULT_MODELS
from graphnetz.records.references import label_of
from graphnetz.selection.probe import Contender, Race, measure, race
from graphnetz.tasktypes import Split, known_task_type
from graphnetz.tasktypes.packing import PackedGraphs
from graphnetz.use.folder import Candidate, Trained, write_model

SERVED = ("node_cls", "graph_cls", "graph_reg", "link_pred", "edge_cls")
"""Task types whose predictions can be written down."""
SHORTLIST = 2
"""Configurations of the shortlist that are probed beside the default models."""


def train_model(
    task: Task | str,
    out: str | Path,
    *,
    model: str = "best",
    seeds: int = 3,
    probe: float | None = None,
    epochs: int | None = None,
    root: str = "data/benchmark",
    workers: int | None = None,
    say: Callable[[str], object] = str,
) -> Trained:
    """Choose a model for a task, train it, and write it to a folder.

    Parameters
    ----------
    task
        A task, or the name of one; `graphnetz.task_from_edges` makes one of your graph.
    out
        The model folder.
    model
        ``"best"`` probes the default networks and the first of the shortlist and takes the best validation; or a
        registered name, ``path.py:Class`` or ``module:Class``.
    seeds
        Splits of the probe.
    probe
        Seconds that the choice may take (`graphnetz.selection.probe.race`); None trains every candidate in full.
    epochs
        Most training epochs; None takes the task's own.
    root
        Where datasets are kept.
    workers
        Cells of the probe at a time.
    say
        Told what is done.

    Returns
    -------
    Trained
        What was chosen, how good it is, and how to use it.

    Examples
    --------
    >>> import tempfile
    >>> from graphnetz.use import train_model
    >>> train_model("karate_club", tempfile.mkdtemp(), model="GCN", seeds=1, epochs=2).model
    'GCN'
    """
    found = find_task(task) if isinstance(task, str) else standardised(task)
    if found.task_type not in SERVED:
        raise UsageError(f"{found.task_type} has no predictions to write down. Known: {', '.join(SERVED)}.")
    if seeds < 1:
        raise UsageError(f"seeds={seeds}: the probe needs at least one split.")
    # The last epoch counts: on few validation examples the best epoch is an early one that was lucky.
    changes: dict[str, Any] = {"selection": "last"} | ({} if epochs is None else {"epochs": epochs})
    RunConfig.read({"seeds": seeds}), Protocol(**changes)  # out of bounds is said before anything is loaded
    bench = Workbench({found.name: found}, {}, root)
    split = bench.split(found.name, 0)
    chosen = _candidates(found, split) if model == "best" else {label_of(model): spec_from(model, code=True)}
    if model != "best" and chosen[label_of(model)].kind != "encoder":
        names = [name for name in DEFAULT_MODELS if MODELS[name].kind == "encoder"]
        raise UsageError(
            f"{model} fits itself and cannot be written down. Choose a network: {', '.join(names)}, or best."
        )
    rules = {
        name: MODELS[name]
        for name in ("Majority", "FeatureOnly", "GradientBoosting")
        if model == "best" and MODELS[name].serves(found.task_type)
    }
    say(
        f"Comparing {len(chosen)} network{'s'[: len(chosen) != 1]}"
        + (f" and {len(rules)} baselines" if rules else "")
        + f" on {seeds} split{'s'[: seeds != 1]} of {found.name}; validation chooses."
    )
    if probe is None:
        held = measure(found, chosen | rules, seeds=range(seeds), protocol=changes, root=root, workers=workers)
    else:
        held = race(found, chosen | rules, budget=probe, seeds=range(seeds), protocol=changes, root=root, say=say)
    return keep_best(found, held, chosen, out, bench=bench)


def keep_best(
    task: Task,
    race: Race,
    candidates: Mapping[str, ModelSpec],
    out: str | Path,
    *,
    bench: Workbench | None = None,
    factor: float = 1.0,
) -> Trained:
    """Train the best network of a race once more on all labelled examples, and write it to a folder.

    Parameters
    ----------
    task
        What the race was about.
    race
        What was measured, best first.
    candidates
        The networks among those measured; nothing else can be written down.
    out
        The model folder.
    bench
        Who has loaded the data already.
    factor
        Number that the task multiplied the features with, which predictions have to do as well.

    Returns
    -------
    Trained
        What was kept, and how good it is.
    """
    bench = bench or Workbench({task.name: task}, {}, "data/benchmark")
    kind, split = known_task_type(task.task_type), bench.split(task.name, 0)
    order = [row for row in race.contenders if row.splits]
    name = next((row.name for row in order if row.name in candidates), None)
    if name is None:
        reason = next((row.error for row in race.contenders if row.error), "the time was too short")
        raise UsageError(f"No network could be trained: {reason}")
    rows = [_candidate(row, saved=row.name in candidates) for row in order]
    rows = [row for row in rows if row.model == name] + [row for row in rows if row.model != name]
    spec = _as_tried(kind, candidates[name], split, name)
    runs = [run for run in race.results if run.model == name and run.ok]
    protocol, whole = runs[0].protocol or Protocol(), _whole(split)
    if whole is not split and protocol.selection == "best_val":  # nothing is held out that could choose the epoch
        usual = int(np.median([run.epochs if run.best_epoch is None else run.best_epoch for run in runs]))
        protocol = protocol.replace(selection="last", patience=None, epochs=max(usual, 1))
    with training_context(0, dtype=protocol.dtype):
        _, fitted = train_once(kind, spec, whole, protocol, 0)
    trained = _facts(task, whole, spec, protocol, name=name, rows=rows, data=bench.dataset(task.name, 0))
    trained = dataclasses.replace(trained, with_test=whole is not split, factor=factor)
    write_model(Path(out), trained, fitted)
    return trained


def _candidate(row: Contender, *, saved: bool) -> Candidate:
    spread = float(np.std(row.test, ddof=1)) if row.splits > 1 else None
    return Candidate(row.name, float(np.mean(row.validation)), row.mean, spread, row.splits, saved)


def _as_tried(kind: Any, spec: ModelSpec, split: Split, name: str) -> ModelSpec:
    from graphnetz.engine.trial import tried

    return spec if spec.declared else tried(kind, {name: (spec, Protocol())}, split)[name][0]


def _candidates(task: Task, split: Split) -> dict[str, ModelSpec]:
    """The default networks that serve the task, and those that the records of other graphs recommend."""
    found = {
        name: MODELS[name]
        for name in DEFAULT_MODELS
        if MODELS[name].kind == "encoder" and MODELS[name].serves(task.task_type)
    }
    if task.task_type in ("node_cls", "link_pred") and not isinstance(split.data, PackedGraphs):
        found |= dict(list(_shortlist(task, split).items())[:SHORTLIST])
    return found


def _shortlist(task: Task, split: Split) -> dict[str, ModelSpec]:
    from graphnetz.graphs.compressed import as_graph
    from graphnetz.selection import recommend
    from graphnetz.selection.building import engine_model

    try:
        graph = as_graph(split.data.edge_index, num_nodes=int(split.data.num_nodes or 0))
        choices = recommend(graph, task.task_type, top=60).choices
    except GraphnetzError:
        return {}  # a graph that no record can be compared with: the default networks are tried alone
    made = {choice.name: engine_model(choice.configuration) for choice in choices}
    usable = {name: spec for name, spec in made.items() if spec.kind == "encoder" and not _transductive(spec)}
    best: dict[type, str] = {}
    for name, spec in usable.items():
        best.setdefault(spec.cls, name)  # the first of each kind: neighbours in the list differ little
    return {name: usable[name] for name in best.values()}


def _transductive(spec: ModelSpec) -> str:
    if "num_nodes" in (signature_of(spec.factory or spec.cls) or {}) and not spec.is_node_level:
        return f"{spec.name} learns a vector for every node of one graph."
    return ""


def _whole(split: Split) -> Split:
    """Let the final fit learn from all examples: nothing is chosen by validation any more.

    Held-out pairs stay out: the graph that messages travel along is made without them; so do nodes that are not part
    of the training graph.
    """
    if not isinstance(split.train, torch.Tensor) or split.train_data is not None:
        return split
    targets, examples = (
        {**held, "train": np.concatenate([held[part] for part in ("train", "val", "test")])}
        for held in (split.targets, split.examples)
    )
    train = torch.cat([split.train, split.val, split.test])
    return dataclasses.replace(
        split, train=train, n_train=len(targets["train"]), targets=targets, examples=examples, cache={}
    )


def _facts(
    task: Task, split: Split, spec: ModelSpec, protocol: Protocol, *, name: str, rows: list[Candidate], data: Any
) -> Trained:
    first = data if hasattr(data, "edge_index") else data[0]
    packed = isinstance(split.data, PackedGraphs)
    x = split.data.node["x"] if packed else split.data.x
    nodes = int(x.size(0))
    arcs = int(split.data.edge_index.size(1))
    rule: Any = "given" if first.x is not None else "identity" if first.get("feature_rule") == "identity" else "degree"
    why = _transductive(spec)
    numbered = split.dims.vocabulary and not packed and int(split.dims.vocabulary[0]) == nodes
    if numbered and rule == "given" and torch.equal(x, torch.arange(nodes)[:, None].to(x)):
        rule = "number"
    if rule == "identity" or numbered:
        why = "its features are the numbers of the nodes."
    largest = int(split.data.node_ptr.diff().max()) if packed else nodes
    registered = next((key for key, item in MODELS.items() if item.cls is spec.cls), name)
    names, changed = task.names, task.transform if isinstance(task.transform, Standardised) else Standardised((), ())
    return Trained(
        model=registered, reference=spec.source.reference if spec.source else "", level=spec.level,
        sha256=spec.source.sha256 if spec.source else "", kwargs=dict(spec.kwargs), task=task.name,
        task_type=task.task_type, kind=split.kind, dims=dataclasses.asdict(split.dims),
        hidden_channels=protocol.hidden_channels, metric=split.metric, candidates=rows,
        classes=list(names.classes) if names else [], features=list(names.features) if names else [], rule=rule,
        scale=largest, inductive=not why, why=why, nodes=nodes, arcs=arcs, trained_on=split.n_train,
        protocol=protocol.as_dict(), seed=0,
        centre=list(changed.centre), spread=list(changed.spread),
        ids=list(map(str, names.nodes)) if names and rule == "number" else [],
    )  # fmt: skip
