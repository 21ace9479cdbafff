"""The configuration space of GLEMOS (Park et al., 2023, Table 3) as data.

A configuration is a method and its hyper-parameters. Settings that cannot change the model (the width
of a one-layer network, the concatenation of a single head) are written out of it, so that no two
configurations are the same model under two names.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib import resources
from itertools import product
from typing import Any

from graphnetz._core.errors import unknown_name

TASK_TYPES = ("link_pred", "node_cls")
BEYOND = {"CorrectAndSmooth": ("node_cls",), "DegreeProduct": ("link_pred",)}
"""Methods beyond the published table that do not serve every task."""

BANK_TASKS = (*TASK_TYPES, "graph_cls")
"""What the bank has records for; the published space is about one graph."""

OF_GRAPHS = frozenset({
    "GCN", "GraphSAGE", "GAT", "GIN", "EGC", "SGC", "ChebNet", "PNA", "GraphTransformer", "GPS", "MLP", "FeatureOnly",
    "GradientBoosting", "WeisfeilerLeman",
})  # fmt: skip
"""Methods that classify graphs."""

Params = dict[str, Any]


@dataclass(frozen=True)
class Configuration:
    """One candidate: a method with its settings. Equal configurations are the same model.

    Parameters
    ----------
    method
        Name of the method, such as ``"GCN"``.
    settings
        Pairs (key, value) in the order of the published table.

    Examples
    --------
    >>> from graphnetz.selection import Configuration
    >>> Configuration("GCN", (("act", "relu"), ("num_layers", 2))).name
    'GCN-act=relu-num_layers=2'
    """

    method: str
    settings: tuple[tuple[str, Any], ...] = ()

    @property
    def params(self) -> Params:
        """The settings as a dictionary."""
        return dict(self.settings)

    @cached_property
    def name(self) -> str:
        """A stable, readable name: ``GCN-act=relu-num_layers=2``."""
        return "-".join([self.method, *(f"{key}={_text(value)}" for key, value in self.settings)])

    def serves(self, task_type: str) -> bool:
        """Whether the method can be used for a task type.

        Parameters
        ----------
        task_type
            Name of the task type.

        Returns
        -------
        bool
            True also for methods that neither the published table nor `BEYOND` lists.

        Examples
        --------
        >>> from graphnetz.selection import Configuration
        >>> Configuration("Jaccard").serves("node_cls")
        False
        """
        if task_type == "graph_cls":
            return self.method in OF_GRAPHS or self.method not in {*METHODS, *BEYOND}
        if self.method == "WeisfeilerLeman":
            return False
        listed = METHODS[self.method].task_types if self.method in METHODS else BEYOND.get(self.method)
        return listed is None or task_type in listed

    def to_json(self) -> dict[str, Any]:
        """Return plain values.

        Returns
        -------
        dict
            With the keys method and settings.

        Examples
        --------
        >>> from graphnetz.selection import Configuration
        >>> Configuration("GCN", (("num_layers", 2),)).to_json()
        {'method': 'GCN', 'settings': [['num_layers', 2]]}
        """
        return {"method": self.method, "settings": [[key, value] for key, value in self.settings]}

    @classmethod
    def from_json(cls, raw: Mapping[str, Any]) -> Configuration:
        """Rebuild from `to_json`.

        Parameters
        ----------
        raw
            What `to_json` returned.

        Returns
        -------
        Configuration
            Equal to the original.

        Examples
        --------
        >>> from graphnetz.selection import Configuration
        >>> Configuration.from_json({"method": "GCN", "settings": [["num_layers", 2]]}).name
        'GCN-num_layers=2'
        """
        return cls(str(raw["method"]), tuple((str(key), _frozen(value)) for key, value in raw["settings"]))


def _text(value: Any) -> str:
    if isinstance(value, tuple):
        return f"[{', '.join(map(_text, value))}]"
    return str(value).lower() if isinstance(value, bool) else str(value)


def _frozen(value: Any) -> Any:
    """A list of a JSON file as a tuple: a configuration is a key."""
    return tuple(value) if isinstance(value, list) else value


@dataclass(frozen=True)
class Method:
    """A row of the table: what is varied, what the published set leaves out, what has no effect.

    Parameters
    ----------
    name, citation
        Name of the method and whom to cite.
    task_types
        Task types it serves.
    grid
        Settings and their choices.
    unlisted
        Settings that together are not part of the published set.
    idle
        ``when`` these settings hold, those ``settings`` have no effect.
    """

    name: str
    task_types: Sequence[str]
    grid: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    unlisted: Params = field(default_factory=dict)
    idle: Sequence[Mapping[str, Any]] = ()
    citation: str = ""

    def listed(self) -> tuple[Configuration, ...]:
        """Configurations as published, repetitions included."""
        rows = (dict(zip(self.grid, values, strict=True)) for values in product(*self.grid.values()))
        kept = (row for row in rows if not (self.unlisted and _holds(self.unlisted, row)))
        return tuple(Configuration(self.name, tuple(row.items())) for row in kept)

    def distinct(self) -> tuple[Configuration, ...]:
        """Configurations without settings that have no effect, each once."""
        return tuple(dict.fromkeys(map(self.without_idle, self.listed())))

    def without_idle(self, item: Configuration) -> Configuration:
        """Return a listed configuration without the settings that have no effect in it."""
        idle = {key for rule in self.idle if _holds(rule["when"], item.params) for key in rule["settings"]}
        return Configuration(self.name, tuple((k, v) for k, v in item.settings if k not in idle))


def _holds(condition: Params, params: Params) -> bool:
    return condition.items() <= params.items()


def _methods() -> dict[str, Method]:
    text = (resources.files("graphnetz.selection") / "space.toml").read_text(encoding="utf-8")
    return {name: Method(name, **row) for name, row in tomllib.loads(text).items()}


METHODS = _methods()
"""The methods of Table 3 by name, in its order."""


def configuration_space(
    task_type: str | None = None, *, methods: tuple[str, ...] | None = None
) -> tuple[Configuration, ...]:
    """Distinct configurations of the published space.

    Parameters
    ----------
    task_type
        ``"link_pred"`` or ``"node_cls"``; None takes both.
    methods
        Names of methods; None takes all.

    Returns
    -------
    tuple of Configuration
        Settings without effect are left out, so that each configuration comes once.

    Examples
    --------
    >>> from graphnetz.selection import configuration_space
    >>> len(configuration_space("link_pred", methods=("GCN",))) > 1
    True
    """
    if task_type is not None and task_type not in TASK_TYPES:
        raise unknown_name("task type of the configuration space", task_type, TASK_TYPES)
    for name in methods or ():
        if name not in METHODS:
            raise unknown_name("method", name, METHODS)
    chosen = [METHODS[name] for name in methods] if methods else list(METHODS.values())
    return tuple(
        item for method in chosen if task_type is None or task_type in method.task_types for item in method.distinct()
    )


def core_space(task_type: str) -> tuple[Configuration, ...]:
    """A spread of at most three configurations per method: what a small bank measures first."""
    out: list[Configuration] = []
    for name in METHODS:
        items = [item for item in configuration_space(methods=(name,)) if item.serves(task_type)]
        if items:
            picks = sorted({0, len(items) // 2, len(items) - 1})
            out.extend(items[position] for position in picks)
    return tuple(out)
