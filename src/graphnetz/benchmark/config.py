"""The settings of a run: one TOML file, every key also a flag, unknown keys refused."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from graphnetz._core.errors import UsageError, unknown_name

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


class RunConfig(BaseModel):
    """Everything `graphnetz run` can be told. ``None`` means: the default of the task or engine."""

    model_config = ConfigDict(extra="forbid")

    suite: str | None = None
    category: str | None = None
    task: list[str] = Field(default_factory=list)
    task_type: str | None = None
    model: list[str] = Field(default_factory=list)
    seeds: int | list[int] = 10
    epochs: int | None = Field(None, ge=1)
    hidden_channels: int = Field(64, ge=1)
    lr: float | None = Field(None, gt=0)
    weight_decay: float | None = Field(None, ge=0)
    batch_size: int | None = Field(None, ge=1)
    selection: Literal["last", "best_val"] | None = None
    patience: int | None = Field(None, ge=1)
    edge_attributes: bool | None = None
    workers: int | None = Field(None, ge=1)
    backend: str = "local"
    address: str | None = None
    timeout: float | None = Field(None, gt=0)
    memory: float | None = Field(None, gt=0)
    mirror: str | None = None
    root: str = "data/benchmark"
    out: str | None = None
    device: str = "auto"
    save_predictions: bool = False
    save_weights: bool = False

    @field_validator("seeds")
    @classmethod
    def _seeds(cls, value: int | list[int]) -> int | list[int]:
        if (isinstance(value, int) and value < 1) or value == []:
            raise ValueError("at least one seed is needed, for instance --seeds 10")
        return value

    def seed_list(self) -> list[int]:
        """A count N means seeds 0..N-1."""
        return list(range(self.seeds)) if isinstance(self.seeds, int) else self.seeds

    def models(self) -> list[str]:
        """The chosen models, or the default ones."""
        return self.model or list(DEFAULT_MODELS)

    def folder(self) -> Path:
        """The run folder: as told, or named after what is run."""
        name = self.suite or self.category or ("-".join(self.task[:3]) if self.task else "default")
        return Path(self.out) if self.out else Path("runs") / name

    def protocol(self) -> dict[str, Any]:
        """Protocol overrides that were given."""
        keys = ("lr", "weight_decay", "batch_size", "selection", "patience", "edge_attributes")
        return {key: getattr(self, key) for key in keys if getattr(self, key) is not None}


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
        key = ".".join(str(part) for part in first["loc"][:1])
        raise UsageError(f"The configuration key {key!r} is wrong: {first['msg']} (got {first['input']!r}).") from error
