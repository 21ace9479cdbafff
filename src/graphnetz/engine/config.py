"""The settings of a run: one TOML file, every key also a flag, unknown keys refused."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from graphnetz._core.errors import UsageError, unknown_name
from graphnetz._core.paths import slug

DEFAULT_MODELS = (
    "GCN",
    "GAT",
    "GraphSAGE",
    "GraphTransformer",
    "GIN",
    "MLP",
    "Majority",
    "DegreeProduct",
    "FeatureOnly",
)
"""The five architectures of the paper, and what each of them must beat."""

PAPER_MODELS = DEFAULT_MODELS[:5]

PROTOCOLS: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        "default": {},
        "paper": {
            "optimiser": "adam", "selection": "last", "edge_attributes": False, "hidden_channels": 64,
            "patience": None, "schedule": None, "clip": None, "budget": None,
        },
    }
)  # fmt: skip
"""What ``--protocol`` stands for; single flags win over it. ``paper`` is that of da Costa and Modenesi
(GraphNetz): Adam with the learning rate and decay of each task type, 64 channels, the epochs of each
task, metrics of the last epoch, and encoders that see node features and edges only."""


class RunConfig(BaseModel):
    """Everything `graphnetz run` can be told. ``None`` means: the default of the task or engine."""

    model_config = ConfigDict(extra="forbid")

    suite: str | None = None
    size: Literal["published", "small"] = "published"
    category: str | None = None
    task: list[str] = Field(default_factory=list)
    task_type: str | None = None
    graph: str | None = None
    labels: str | None = None
    features: str | None = None
    model: list[str] = Field(default_factory=list)
    seeds: int | list[int] | Literal["auto"] = 10
    precision: float | None = Field(None, gt=0)
    max_seeds: int | None = Field(None, ge=5)
    protocol: str = "default"
    epochs: int | None = Field(None, ge=1)
    hidden_channels: int = Field(64, ge=1)
    budget: int | str | None = None
    lr: float | None = Field(None, gt=0)
    weight_decay: float | None = Field(None, ge=0)
    batch_size: int | None = Field(None, ge=1)
    batch_nodes: int | None = Field(None, ge=1)
    fanouts: list[int] | None = None
    selection: Literal["last", "best_val"] | None = None
    patience: int | None = Field(None, ge=1)
    edge_attributes: bool | None = None
    workers: int | None = Field(None, ge=1)
    backend: str = "local"
    address: str | None = None
    gpus: float | None = Field(None, ge=0)
    timeout: float | None = Field(None, gt=0)
    memory: float | None = Field(None, gt=0)
    mirror: str | None = None
    root: str = "data/benchmark"
    out: str | None = None
    device: str = "auto"
    save_predictions: bool = False
    save_weights: bool = False
    log: list[str] = Field(default_factory=list)

    @field_validator("seeds")
    @classmethod
    def _seeds(cls, value: int | list[int] | str) -> int | list[int] | str:
        if (isinstance(value, int) and value < 1) or value == []:
            raise ValueError("at least one seed is needed, for instance --seeds 10")
        return value

    @field_validator("budget")
    @classmethod
    def _budget(cls, value: int | str | None) -> int | None:
        if value is None:
            return None
        from graphnetz.models.budget import parse_budget  # torch, which reading a configuration need not import

        return parse_budget(value)

    @field_validator("protocol")
    @classmethod
    def _protocol(cls, value: str) -> str:
        if value not in PROTOCOLS:
            raise ValueError(f"known are {', '.join(PROTOCOLS)}")
        return value

    @model_validator(mode="after")
    def _one_graph(self) -> RunConfig:
        """Refuse files that nothing would read, and a graph of one's own next to catalogued tasks."""
        stray = [name for name in ("labels", "features") if getattr(self, name) is not None]
        if stray and self.graph is None:
            raise UsageError(f"--{stray[0]} describes the nodes of a graph: give --graph with an edge list as well.")
        others = [name for name in ("suite", "category", "task") if getattr(self, name)]
        if self.graph is not None and others:
            raise UsageError(f"--graph and --{others[0]} exclude each other. Give one of them.")
        return self

    def seed_list(self) -> list[int] | str:
        """A count N means seeds 0..N-1; ``"auto"`` stays as it is."""
        return list(range(self.seeds)) if isinstance(self.seeds, int) else self.seeds

    def models(self) -> list[str]:
        """The chosen models, or the default ones of the protocol."""
        return self.model or list(PAPER_MODELS if self.protocol == "paper" else DEFAULT_MODELS)

    def folder(self) -> Path:
        """The run folder: as told, or named after what is run."""
        named = self.suite or self.category or (slug(Path(self.graph).stem) if self.graph else None)
        name = named or ("-".join(self.task[:3]) if self.task else "default")
        return Path(self.out) if self.out else Path("runs") / name

    def overrides(self) -> dict[str, Any]:
        """Protocol settings: those of the named protocol, then the flags that were given."""
        keys = (
            "lr", "weight_decay", "batch_size", "batch_nodes", "fanouts", "selection", "patience", "edge_attributes",
        )  # fmt: skip
        given = {key: getattr(self, key) for key in keys if getattr(self, key) is not None}
        if self.budget is not None:
            if self.hidden_channels != RunConfig.model_fields["hidden_channels"].default:
                raise UsageError("--budget and --hidden-channels exclude each other: a budget chooses the width.")
            given["budget"] = self.budget
        if "hidden_channels" in self.model_fields_set:
            given["hidden_channels"] = self.hidden_channels
        return {**PROTOCOLS[self.protocol], **given}


def load_config(path: str | Path | None, flags: dict[str, Any]) -> RunConfig:
    """Read a TOML file, let flags win, and validate; the error names the key."""
    values: dict[str, Any] = {}
    if path is not None:
        try:
            values = tomllib.loads(Path(path).read_text(encoding="utf-8"))
        except OSError as error:
            raise UsageError(f"Cannot read the configuration {str(path)!r}: {error.strerror}.") from error
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise UsageError(f"{str(path)!r} is not valid TOML: {error}.") from error
    values |= {key: value for key, value in flags.items() if value is not None and value != []}
    for key in values:
        if key not in RunConfig.model_fields:
            raise unknown_name("configuration key", key, RunConfig.model_fields)
    try:
        return RunConfig(**values)
    except ValidationError as error:
        first = error.errors()[0]
        if isinstance(cause := first.get("ctx", {}).get("error"), UsageError):
            raise cause from None  # a sentence of ours about two keys at once
        key = ".".join(str(part) for part in first["loc"][:1])
        raise UsageError(f"The configuration key {key!r} is wrong: {first['msg']} (got {first['input']!r}).") from error
