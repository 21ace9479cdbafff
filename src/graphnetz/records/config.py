"""The settings of a run, each declared once: TOML keys, command-line options and keywords derive from here."""

from __future__ import annotations

import dataclasses
import functools
import inspect
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, Literal, get_type_hints

from pydantic import BeforeValidator, ConfigDict, Field, ValidationError, create_model, model_validator

from graphnetz._core.errors import UsageError, unknown_name
from graphnetz._core.paths import slug
from graphnetz._core.registry import Registry
from graphnetz._core.text import MASK, masked, parse_budget, shorten
from graphnetz.records.protocol import LIMITS, Protocol
from graphnetz.records.references import is_reference
from graphnetz.records.search_setting import Search
from graphnetz.records.seed_rule import MODES
from graphnetz.records.task import Replication

DEFAULT_MODELS = (
    "GCN", "GAT", "GraphSAGE", "GraphTransformer", "GIN", "MLP", "Majority", "DegreeProduct", "FeatureOnly",
    "GradientBoosting", "CorrectAndSmooth",
)  # fmt: skip
"""Five architectures, and what each of them must beat."""

DEFAULT_SEEDS = 10
MOST_SEEDS = 100_000
"""Seeds of one run: more cells than any machine trains, and a table of them still fits into memory."""
LARGEST_SEED = 2**63 - 1
"""What a store can hold."""


@dataclass(frozen=True)
class Preset:
    """A named protocol: its settings, and the models that are run under it when none is named.

    ``plain_metrics`` are the task types that it scores by their own first metric instead of the official one of each
    dataset.
    """

    settings: Mapping[str, Any] = field(default_factory=dict)
    models: tuple[str, ...] = DEFAULT_MODELS
    plain_metrics: tuple[str, ...] = ()


PROTOCOLS: Registry[Preset] = Registry(
    "protocol", entry_points="graphnetz.protocols", accepts=Preset, homes=("graphnetz.papers.graphnetz",)
)
"""What ``protocol="name"`` stands for; single settings win over it."""

PROTOCOLS.add("default", Preset())


def _numbers(value: Any) -> Any:
    """Read ``"10,10"`` as a list; what is a list already stays one."""
    if not isinstance(value, str):
        return list(value)
    try:
        return [int(part) for part in value.split(",")]
    except ValueError:
        raise ValueError("it takes whole numbers such as 10,10") from None


def _whole(value: Any) -> int:
    """Read a whole number; a fraction and a truth value are none."""
    if isinstance(value, bool) or (isinstance(value, float) and not value.is_integer()):
        raise TypeError(value)
    return int(value)


def _seeds(value: Any) -> Any:
    """Read a count, a list, ``"auto"`` or ``"anytime"``; refuse what would not be paired runs."""
    if isinstance(value, str) and value in MODES:
        return value
    value = value.tolist() if hasattr(value, "tolist") else value  # numpy's numbers and arrays
    counted = isinstance(value, int | str) and "," not in str(value)
    try:
        if counted and not isinstance(value, bool) and int(value) > MOST_SEEDS:
            raise UsageError(f"at most {MOST_SEEDS:,} seeds are run")
        listed = value.split(",") if isinstance(value, str) else [value] if counted else value
        chosen = [_whole(part) for part in islice(listed, MOST_SEEDS + 1) if str(part).strip()]
    except UsageError as error:
        raise ValueError(str(error)) from None
    except (TypeError, ValueError):
        raise ValueError('it takes a count, a list such as 0,1,5, "auto" or "anytime"') from None
    if not chosen or (counted and chosen[0] < 1):
        raise ValueError("seeds is empty. Give at least one seed, for instance range(10)")
    if len(chosen) > MOST_SEEDS:
        raise ValueError(f"at most {MOST_SEEDS:,} seeds are run")
    if max(chosen) > LARGEST_SEED:
        raise ValueError(f"a seed is at most {LARGEST_SEED}")
    if len(set(chosen)) != len(chosen):
        raise ValueError(f"Duplicate seeds in {chosen}. A repeated seed is not a new run")
    if min(chosen) < 0:
        raise ValueError("Seeds must not be negative")
    return chosen[0] if counted else chosen


def _known_protocol(value: str) -> str:
    if value not in PROTOCOLS:
        raise ValueError(f"known are {', '.join(PROTOCOLS)}")
    return value


def parse_shard(text: str) -> tuple[int, int]:
    """Return which part of how many is meant.

    Examples
    --------
    >>> parse_shard("3/20")
    (3, 20)
    """
    place, _, parts = str(text).partition("/")
    if not (place.isdecimal() and parts.isdecimal() and 1 <= int(place) <= int(parts) <= MOST_SEEDS):
        raise ValueError("it takes a part of a number of parts, counted from 1, such as 3/20")
    return int(place), int(parts)


def _known_shard(value: Any) -> str:
    place, parts = parse_shard(value)
    return f"{place}/{parts}"


Text = Annotated[str, BeforeValidator(str)]
Names = Annotated[list[str], BeforeValidator(lambda value: [value] if isinstance(value, str) else list(value))]
Numbers = Annotated[list[int], BeforeValidator(_numbers)]
Seeds = Annotated[int | list[int] | Literal["auto", "anytime"], BeforeValidator(_seeds)]
Count = Annotated[int, BeforeValidator(parse_budget)]


def _setting(group: str, default: Any, text: str, **limits: float) -> Any:
    fresh: dict[str, Any] = {"default_factory": list} if default == [] else {"default": default}
    return Field(**fresh, description=text, json_schema_extra={"group": group}, **limits)  # type: ignore[call-overload]


GROUPS = (
    "What is run", "Your own graph", "Seeds", "Statistics", "Training", "Cells and machines", "Places", "What is kept"
)  # fmt: skip
"""What a setting is part of, in the order of help texts and of the reference."""

_run, _own, _seed, _stat, _train, _cells, _place, _keep = (functools.partial(_setting, group) for group in GROUPS)

_SPELT: Mapping[str, Any] = {"fanouts": Numbers, "budget": Count, "schedule": Mapping[str, float]}
"""Fields of `Protocol` that a file or a command line writes otherwise than Python."""


def _training() -> Iterator[tuple[str, Any]]:
    hints = get_type_hints(Protocol)
    for item in dataclasses.fields(Protocol):
        kind = _SPELT.get(item.name, hints[item.name])
        yield item.name, (kind | None, _train(None, item.metadata["text"], **item.metadata["limits"]))


_Training: Any = create_model("_Training", **dict(_training()))


class RunConfig(_Training):  # type: ignore[misc]
    """Everything a run can be told. ``None`` means: the default of the suite, task or engine.

    The fields of `Protocol` are settings too. A new setting is one line here (or there); its key in a
    configuration file, its option of ``graphnetz run`` and its keyword of `run_benchmark` follow.

    Examples
    --------
    >>> RunConfig.read({"task": "cora", "seeds": 3, "lr": 0.001}).seed_list()
    [0, 1, 2]
    >>> RunConfig.read({"timeout": 0})
    Traceback (most recent call last):
        ...
    graphnetz._core.errors.UsageError: The setting 'timeout' is wrong: timeout must be above 0 (got 0).
    """

    model_config = ConfigDict(extra="forbid")

    suite: str | None = _run(None, "A named suite of tasks (see 'graphnetz list suites').")
    size: str | None = _run(None, "Size of the suite's data, where it has several, such as 'small'.")
    category: str | None = _run(None, "All curated tasks of a category.")
    task: Names = _run([], "A task by name; repeat for several.")
    task_type: str | None = _run(None, "Keep only tasks of this type; with a graph of your own: what to predict.")
    model: Names = _run([], "A model by name, path.py:Class or module:Class; repeat for several.")
    search: Search | None = _train(
        None, "Tune inside every cell by validation: 'default' for the models' own spaces, a TOML file, or a table."
    )
    trials: int | None = _train(None, "With search: candidates per model, default settings included.", ge=2, le=1000)
    graph: Text | None = _own(
        None,
        "Edges: CSV (source, target; with a column graph, many graphs), Parquet, GraphML, npz, or a folder.",
    )
    labels: Text | None = _own(None, "Classes of its nodes: CSV with the columns node (or graph) and label.")
    label_column: Text | None = _own(None, "Column of the labels file to predict, where there are several.")
    features: Text | None = _own(None, "Numbers of its nodes: CSV with the column node and one column per feature.")
    seeds: Seeds | None = _seed(None, "How many seeds (10: seeds 0 to 9), a list such as 0,1,5, auto or anytime.")
    seed: int | None = _seed(None, "One seed, instead of several.", ge=0, le=LARGEST_SEED)
    precision: float | None = _seed(
        None, "With seeds auto or anytime: the largest difference that does not matter.", gt=0
    )
    max_seeds: int | None = _seed(
        None, "With seeds auto or anytime: the most per model and task, 30 unless told otherwise.", ge=5, le=MOST_SEEDS
    )
    metric: str | None = _stat(
        None, "Headline metric, one of the task type's, instead of the official one of each dataset."
    )
    negatives: Literal["random", "hard"] | None = _stat(
        None, "Negatives of link tasks: 'random' pairs, or 'hard' ones of each true edge, ranked by MRR."
    )
    pairwise_method: str | None = _stat(None, "Paired test of the report: t or wilcoxon (see 'graphnetz list tests').")
    replication: Replication | None = _stat(None, "What a seed varies, for loaders with a seed that do not declare it.")
    protocol: Annotated[str, BeforeValidator(_known_protocol)] = _train(
        "default", "Named protocol: 'default', or 'paper' for that of GraphNetz."
    )
    device: Text = _train("auto", Protocol.__dataclass_fields__["device"].metadata["text"])
    workers: int | None = _cells(None, "Cells at a time; default: one per core.", ge=1)
    backend: str = _cells("local", "Executor: local, serial or ray.")
    address: str | None = _cells(None, "Address of a Ray cluster.")
    gpus: float | None = _cells(None, "Graphics processors per cell on Ray, 0.25 for a share.", ge=0)
    shard: Annotated[str, BeforeValidator(_known_shard)] | None = _cells(
        None, "Train only one part of the cells, such as 3/20; 'graphnetz merge' puts the parts together."
    )
    timeout: float | None = _cells(None, "Seconds a cell may take.", gt=0)
    memory: float | None = _cells(None, "Megabytes a cell may use.", gt=0)
    mirror: Text | None = _place(None, "Folder or URL asked for datasets before the network.")
    root: Text = _place("data/benchmark", "Where datasets are kept.")
    out: Text | None = _place(None, "Run folder; an existing one is resumed.")
    save_predictions: bool = _keep(True, "Keep what every model predicted for every test example.")
    save_weights: bool = _keep(False, "Keep trained weights.")
    log: Names = _keep([], "Also log cells to tensorboard[:DIR], mlflow[:ADDRESS] or wandb[:PROJECT].")

    @classmethod
    def read(cls, values: Mapping[str, Any]) -> RunConfig:
        """Validate settings; what is wrong is one sentence that names the key.

        Parameters
        ----------
        values
            Settings by key, as a file or a command line writes them; None counts as not given.

        Returns
        -------
        RunConfig
            With every value in its own type.

        Examples
        --------
        >>> RunConfig.read({"task": "cora", "fanouts": "10,5"}).fanouts
        [10, 5]
        """
        given = {key: value for key, value in values.items() if value is not None}
        for key in given:
            if key not in cls.model_fields:
                raise unknown_name("configuration key", key, cls.model_fields)
        try:
            found: RunConfig = cls(**given)
        except ValidationError as error:
            raise _sentence(error.errors()[0]) from None
        return found

    @model_validator(mode="after")
    def _together(self) -> RunConfig:
        """Refuse settings that contradict each other, and files that nothing would read."""
        stray = [name for name in ("labels", "features") if getattr(self, name) is not None]
        if stray and self.graph is None:
            raise UsageError(f"--{stray[0]} describes the nodes of a graph: give --graph with an edge list as well.")
        others = [name for name in ("suite", "category", "task") if getattr(self, name)]
        if self.graph is not None and others:
            raise UsageError(f"--graph and --{others[0]} exclude each other. Give one of them.")
        if self.category is not None and len(others) > 1:
            raise UsageError(f"--{others[0]} and --{others[1]} exclude each other. Give one of them.")
        if self.seed is not None and self.seeds is not None:
            raise UsageError("--seed and --seeds exclude each other. Give one of them.")
        for name in ("mirror", "address"):
            if MASK in (getattr(self, name) or ""):
                raise UsageError(f"The login of {name} was not kept (it reads {MASK}). Give --{name} with it again.")
        if self.budget is not None and self.asks_for_width:
            raise UsageError("--budget and --hidden-channels exclude each other: a budget chooses the width.")
        return self

    @property
    def asks_for_width(self) -> bool:
        """Whether a width other than the usual one is wanted; first-edition folders write the usual one down."""
        return self.hidden_channels not in (None, Protocol.hidden_channels)

    def seed_list(self) -> list[int] | str | None:
        """Return the seeds that are asked for.

        Returns
        -------
        list of int, str or None
            A count N means 0 to N-1, ``"auto"`` and ``"anytime"`` stay themselves; None leaves the seeds to the suite.

        Examples
        --------
        >>> RunConfig(seeds=3).seed_list(), RunConfig(seed=3).seed_list(), RunConfig(seeds="1,5").seed_list()
        ([0, 1, 2], [3], [1, 5])
        """
        if self.seed is not None:
            return [self.seed]
        return list(range(self.seeds)) if isinstance(self.seeds, int) else self.seeds

    def kept(self) -> dict[str, Any]:
        """Return the settings as a run folder keeps them: without the logins and tokens of addresses.

        Returns
        -------
        dict
            Values by key.

        Examples
        --------
        >>> RunConfig(mirror="https://me:secret@host/data").kept()["mirror"]
        'https://***@host/data'
        """
        return {key: _without_secrets(value) for key, value in self.model_dump().items()}

    def to_repeat(self) -> list[str]:
        """Return the options that ``graphnetz resume`` must be told again, as a command line writes them.

        Returns
        -------
        list of str
            Options and values.

        Examples
        --------
        >>> RunConfig(root="elsewhere").to_repeat()
        ['--root', 'elsewhere']
        """
        kept, out = self.kept(), []
        for key in TO_REPEAT:
            if kept[key] != RunConfig.model_fields[key].get_default(call_default_factory=True):
                for value in kept[key] if isinstance(kept[key], list) else [kept[key]]:
                    out += [f"--{key}", str(value)]
        return out + [part for name in self.model if is_reference(name) for part in ("--model", name)]

    def models(self) -> list[str]:
        """Return the chosen models, or those of the named protocol.

        Returns
        -------
        list of str
            Names.

        Examples
        --------
        >>> RunConfig(model="GCN").models()
        ['GCN']
        """
        return self.model or list(PROTOCOLS[self.protocol].models)

    def folder(self) -> Path:
        """Return the run folder: as told, or named after what is run.

        Returns
        -------
        Path
            It need not exist.

        Examples
        --------
        >>> RunConfig(task=["cora", "citeseer"]).folder().as_posix()
        'runs/cora-citeseer'
        """
        named = self.suite or self.category or (slug(Path(self.graph).stem) if self.graph else None)
        name = named or ("-".join(self.task[:3]) if self.task else "default")
        name += f"-part-{self.shard.replace('/', '-of-')}" if self.shard else ""
        return Path(self.out) if self.out else Path("runs") / name

    def overrides(self) -> dict[str, Any]:
        """Return protocol settings: those of the named protocol, then those that were given.

        Returns
        -------
        dict
            Settings of `Protocol` that differ from its defaults.

        Examples
        --------
        >>> RunConfig(lr=0.001).overrides()
        {'lr': 0.001}
        """
        names = [name for name in _Training.model_fields if name != "device"]
        given = {name: getattr(self, name) for name in names if getattr(self, name) is not None}
        return {**PROTOCOLS[self.protocol].settings, **given}


TO_REPEAT = ("mirror", "root", "backend", "address", "gpus", "log")
"""Settings of a run folder that ``graphnetz resume`` does not obey: a stranger's folder must not decide which servers
are asked, where files are written and who hears of the results."""


def _without_secrets(value: Any) -> Any:
    if isinstance(value, str):
        return masked(value)
    return [_without_secrets(item) for item in value] if isinstance(value, list) else value


def describe(item: Any) -> str:
    """Return what a setting means and which values it takes, for help texts and the reference.

    Examples
    --------
    >>> describe(RunConfig.model_fields["timeout"])
    'Seconds a cell may take (above 0).'
    """
    limits = [f"{words} {bound:g}" for part in item.metadata for kind, (words, _) in LIMITS.items()
              if (bound := getattr(part, kind, None)) is not None]  # fmt: skip
    text = str(item.description).rstrip(".")
    return f"{text} ({', '.join(limits)})." if limits else f"{text}."


def parameters(keys: Iterable[str]) -> str:
    """Return rows of a docstring about settings, so that ``help`` and the reference need no second list.

    Examples
    --------
    >>> print(parameters(["timeout", "address"]))
    timeout
        Seconds a cell may take (above 0).
    address
        Address of a Ray cluster.
    <BLANKLINE>
    """
    return "".join(f"{key}\n    {describe(RunConfig.model_fields[key])}\n" for key in keys)


RunConfig.__doc__ = inspect.cleandoc(RunConfig.__doc__ or "").replace(
    "Examples\n", f"Parameters\n----------\n{parameters(RunConfig.model_fields)}\nExamples\n", 1
)

_LIMIT_OF = {"greater_than_equal": "ge", "greater_than": "gt", "less_than_equal": "le"}


def _sentence(error: Any) -> UsageError:
    """Say what is wrong with one setting, in the same words at every door."""
    cause = error.get("ctx", {}).get("error")
    if isinstance(cause, UsageError) and not error["loc"]:
        return cause  # a sentence of ours about two settings at once
    key = str(error["loc"][0]) if error["loc"] else ""
    limit = _LIMIT_OF.get(error["type"])
    if limit is not None:
        words = f"{key} must be {LIMITS[limit][0]} {error['ctx'][limit]:g}"
    elif error["type"] == "literal_error":
        words = f"{key} must be {error['ctx']['expected']}"
    else:
        words = str(cause or error["msg"]).rstrip(".")
    return UsageError(f"The setting {key!r} is wrong: {shorten(words, 200)} (got {shorten(repr(error['input']), 60)}).")
