"""A folder with one trained model: weights (safetensors), facts (JSON) and a card in words. Nothing in it is run."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

import torch
from pydantic import Field, TypeAdapter, ValidationError

from graphnetz._core.errors import DataError, GraphnetzError, UsageError
from graphnetz._core.paths import refuse_links, write_file
from graphnetz._core.plain import jsonable
from graphnetz._core.readers import read_json
from graphnetz._core.text import number, shorten
from graphnetz.engine.weights import put_weights, read_weights, refuse_shapes, write_weights
from graphnetz.metrics import METRICS
from graphnetz.models import MODELS, ModelSpec, spec_from
from graphnetz.records.references import is_reference, label_of, refuse_inside
from graphnetz.tasktypes import Dims, known_task_type

FACTS, WEIGHTS, CARD = "model.json", "model.safetensors", "README.md"
SCHEMA, VERSION = "graphnetz.model", 1
MAX_BYTES = 32 << 20
Width = Annotated[int, Field(ge=1)]
Count = Annotated[int, Field(ge=0)]


@dataclass(frozen=True)
class Candidate:
    """One model of the probe: mean validation and test metric over its seeds, and the spread of the latter."""

    model: str
    validation: float | None
    test: float | None
    spread: float | None
    seeds: int
    saved: bool = True


@dataclass(frozen=True)
class Trained:
    """What a model folder says about its model.

    Parameters
    ----------
    model, reference, sha256
        Registered name, or how its code was named and the hash of that file.
    kwargs, level, hidden_channels
        How it is built.
    task, task_type, kind, dims
        What it was trained for.
    metric, candidates
        Headline metric, and every model of the probe; the first is the one that is kept.
    classes, features
        Names of classes and of feature columns, where they are known.
    rule, scale
        Where features came from: ``given``, made of the ``degree`` (divided by the logarithm of ``scale``),
        ``identity``, or the ``number`` of the node, for which the model learned a vector.
    inductive, why
        Whether it can be used on other nodes or graphs than it was trained on, and if not, why.
    nodes, arcs, trained_on
        Size of the data, and examples of the final fit.
    protocol, seed
        How it was trained.
    factor
        Features are multiplied with it before the model sees them.
    centre, spread
        What is taken from every column of features, and what the rest is divided by, before the model sees them.
    ids
        Names of the nodes, where the model knows them by their number.
    with_test
        Whether the final fit learned from all examples, those of the test set too.
    weights
        SHA-256 of the file of weights; empty in folders from before it was kept.
    """

    model: str
    task: str
    task_type: str
    dims: dict[str, Any]
    hidden_channels: Width
    metric: str
    reference: str = ""
    sha256: str = ""
    kwargs: dict[str, Any] = field(default_factory=dict)
    level: Literal["", "node"] = ""
    kind: str = ""
    candidates: list[Candidate] = field(default_factory=list)
    classes: list[str] = field(default_factory=list)
    features: list[str] = field(default_factory=list)
    rule: Literal["given", "degree", "identity", "number"] = "given"
    scale: Count = 0
    inductive: bool = True
    why: str = ""
    nodes: Count = 0
    arcs: Count = 0
    trained_on: Count = 0
    protocol: dict[str, Any] = field(default_factory=dict)
    seed: int = 0
    with_test: bool = True
    weights: str = ""
    ids: list[str] = field(default_factory=list)
    factor: float = 1.0
    centre: list[float] = field(default_factory=list)
    spread: list[float] = field(default_factory=list)

    @property
    def label(self) -> str:
        """The model's name in words."""
        return label_of(self.reference) if self.reference else self.model

    def command(self, folder: str) -> str:
        """Return the command that predicts with it, with the options that it cannot do without."""
        options = ["--graph new.csv" if self.inductive else "--graph SAME_GRAPH.csv"]
        options += ["--features new_numbers.csv"] if self.rule == "given" else []
        options += [f"--model {self.reference}"] if self.reference else []
        return " ".join(["graphnetz predict", folder, *options, "--out predictions.csv"])

    def to_dims(self) -> Dims:
        """Return the widths that the model was built for."""
        known = {item.name for item in dataclasses.fields(Dims)}
        values = {key: value for key, value in self.dims.items() if key in known and value is not None}
        return _DIMS.validate_json(json.dumps(values), strict=True)


_DIMS = TypeAdapter(Dims)


def write_model(folder: Path, trained: Trained, model: Any) -> Path:
    """Write weights, facts and card to a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    refuse_links(folder)
    digest = _digest(write_weights(folder / WEIGHTS, model))
    facts = dataclasses.asdict(dataclasses.replace(trained, weights=digest))
    body = {"schema": SCHEMA, "schema_version": VERSION} | jsonable(facts)
    write_file(folder / FACTS, json.dumps(body, indent=1, ensure_ascii=False, allow_nan=False) + "\n")
    write_file(folder / CARD, card(trained))
    return folder


def read_facts(folder: str | Path) -> Trained:
    """Read what a model folder says; what does not follow the schema is refused."""
    folder = Path(folder)
    if not (folder / FACTS).is_file():
        raise UsageError(f"{str(folder)!r} holds no {FACTS}. Give a folder that 'graphnetz train' wrote.")
    refuse_links(folder)
    raw = read_json(folder / FACTS, most=MAX_BYTES, give="Train the model again.")
    if not isinstance(raw, dict) or (raw.pop("schema", None), raw.pop("schema_version", None)) != (SCHEMA, VERSION):
        raise DataError(f"{FACTS} of {str(folder)!r} does not have schema {SCHEMA!r} version {VERSION}. Train again.")
    place = ""
    try:
        found: Trained = TypeAdapter(Trained).validate_json(json.dumps(raw), strict=True)
        place = "dims."
        widths = found.to_dims()
    except ValidationError as error:
        first = error.errors()[0]
        place += ".".join(map(str, first["loc"]))
        raise DataError(f"{FACTS} of {str(folder)!r} is not what was written: {place}: {first['msg']}.") from error
    if min(widths.in_channels, widths.out_channels) < 1:
        raise DataError(f"{FACTS} of {str(folder)!r} is not what was written: dims: widths are at least 1.")
    if len(set(found.classes)) < len(found.classes):
        raise DataError(f"{FACTS} of {str(folder)!r} is not what was written: classes: one name stands twice.")
    return found


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def open_model(folder: str | Path, *, model: str | None = None) -> tuple[Trained, Any]:
    """Rebuild the model of a folder.

    Parameters
    ----------
    folder
        What ``graphnetz train`` wrote.
    model
        The model's code, ``path.py:Class``, where it is not a registered one: code is run only if you name it.

    Returns
    -------
    trained, model
        The facts, and the module in evaluation mode.

    Examples
    --------
    >>> import tempfile
    >>> from graphnetz.use import open_model, train_model
    >>> place = tempfile.mkdtemp()
    >>> _ = train_model("karate_club", place, model="GCN", seeds=1, epochs=2)
    >>> open_model(place)[0].task_type
    'node_cls'
    """
    trained = read_facts(folder)
    spec = _spec(trained, Path(folder), model)
    weights = read_weights(Path(folder) / WEIGHTS)
    if trained.weights and _digest(Path(folder) / WEIGHTS) != trained.weights:
        raise DataError(f"{WEIGHTS} of {str(folder)!r} is not the file that {FACTS} was written for. Train again.")
    kind = known_task_type(trained.task_type).name
    try:
        if not trained.reference:  # shapes without memory: the folder may ask for any width
            with torch.device("meta"):
                refuse_shapes(spec.build(kind, trained.to_dims(), trained.hidden_channels), weights, trained.label)
        built = spec.build(kind, trained.to_dims(), trained.hidden_channels)
    except GraphnetzError:
        raise
    except Exception as error:  # whatever a constructor raises that is given what it was not made for
        words = shorten(" ".join(str(error).split()), 120)
        raise DataError(
            f"{FACTS} of {str(folder)!r} describes a {trained.label} that cannot be built ({type(error).__name__}: "
            f"{words}). Train the model again."
        ) from error
    return trained, put_weights(built, weights, name=trained.label)


def _spec(trained: Trained, folder: Path, model: str | None) -> ModelSpec:
    if trained.reference:
        if model is None:
            raise UsageError(
                f"{str(folder)!r} holds a model of somebody's own code ({trained.reference}), which is only run if you "
                f"name it: --model {trained.reference}"
            )
        refuse_inside(model, folder)
        spec = spec_from(model, code=True)
        if spec.source is not None and spec.source.sha256 != trained.sha256:
            raise UsageError(
                f"{model} is not the file that the model was trained with (sha256 {spec.source.sha256[:16]}, not "
                f"{trained.sha256[:16]}). Restore it, or train again."
            )
    elif is_reference(model or ""):
        raise UsageError(f"The model of {str(folder)!r} is {trained.model!r}, a registered one: leave out --model.")
    else:
        spec = MODELS[trained.model]
    if spec.kind != "encoder":
        raise DataError(f"{trained.model!r} is no module of torch: it has no weights to load.")
    return dataclasses.replace(spec.with_kwargs(trained.kwargs), level=trained.level)


def card(trained: Trained) -> str:
    """Return the model card in Markdown: what it is, how good it is, what it may be used for."""
    best = trained.candidates[0] if trained.candidates else None
    label = METRICS[trained.metric].label
    label = label[:1].upper() + label[1:]
    lines = [f"# {trained.label} for {trained.task}", ""]
    kind = known_task_type(trained.task_type)
    lines += [f"A model for {kind.label} ({trained.task_type}), trained by graphnetz.", "", "## How good is it?", ""]
    if best is not None and best.test is not None:
        spread = "" if best.spread is None else f" (standard deviation {number(best.spread)})"
        again = (
            f" The kept model was then trained once more on all {trained.trained_on:,} labelled examples, so that none "
            "is left to test it on."
            if trained.with_test
            else ""
        )
        count = f"{best.seeds} split{'s'[: best.seeds != 1]}"
        words = f"{label} on test examples that training did not see: **{number(best.test)}**{spread}, mean of {count}."
        lines += [words + again, ""]
    lines += ["| model | validation | test | kept |", "|---|---|---|---|"]
    lines += [
        f"| {item.model} | {_said(item.validation)} | {_said(item.test)} | "
        f"{'yes' if item is best else 'no' if item.saved else 'cannot be'} |"
        for item in trained.candidates
    ]
    lines += ["", "The model was chosen by validation; test values took no part in the choice.", "", "## Use", ""]
    lines += ["```sh", trained.command("."), "```", ""]
    if trained.inductive:
        lines += ["It can be used on nodes and graphs that it has not seen, if they have the same features."]
    else:
        lines += [f"It can be used on the graph it was trained on only: {trained.why}"]
    if trained.classes:
        lines += ["", f"Classes: {_listed(trained.classes)}."]
    if trained.features:
        lines += ["", f"Features: {_listed(trained.features)}."]
    if trained.centre:
        lines += [
            "",
            "Every column of numbers is standardised first (`centre` and `spread` of `model.json`); `predict` does it.",
        ]
    if trained.task_type == "link_pred":
        lines += [
            "",
            "Probabilities are those of a training set with as many links as pairs without one. Real graphs have far "
            "more pairs without: use them to rank pairs, not as frequencies.",
        ]
    facts = f"{trained.nodes:,} nodes, {trained.arcs:,} arcs; seed {trained.seed}; settings in `{FACTS}`."
    lines += ["", "## Training", "", facts, f"Weights: `{WEIGHTS}`, read without running code.", ""]
    return "\n".join(lines)


def _listed(names: list[str]) -> str:
    """Names apart from each other, also those that hold a comma; the first fifty."""
    more = f" and {len(names) - 50} more" if len(names) > 50 else ""
    return ", ".join(f"`{name}`" for name in names[:50]) + more


def _said(value: float | None) -> str:
    return "not defined" if value is None or math.isnan(value) else number(value)
