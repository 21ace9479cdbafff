"""The configuration space of GLEMOS (Park et al., 2023, Table 3) as data.

A configuration is a method and its hyper-parameters. Settings that cannot change the model (the width
of a one-layer network, the concatenation of a single head) are written out of it, so that no two
configurations are the same model under two names.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any

from graphnetz._core.errors import unknown_name

BOTH = frozenset({"node_cls", "link_pred"})
NODES = frozenset({"node_cls"})
LINKS = frozenset({"link_pred"})

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

    @property
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
            True also for methods that the table does not list.

        Examples
        --------
        >>> from graphnetz.selection import Configuration
        >>> Configuration("Jaccard").serves("node_cls")
        False
        """
        return self.method not in METHODS or task_type in METHODS[self.method].task_types

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
        return cls(str(raw["method"]), tuple((str(key), value) for key, value in raw["settings"]))


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


@dataclass(frozen=True)
class Method:
    """A row of the table: what is varied, what the published set leaves out, what has no effect."""

    name: str
    task_types: frozenset[str]
    grid: tuple[tuple[str, tuple[Any, ...]], ...] = ()
    published: Callable[[Params], bool] = lambda _: True
    idle: Callable[[Params], tuple[str, ...]] = lambda _: ()
    citation: str = ""

    def listed(self) -> tuple[Configuration, ...]:
        """Configurations as published, repetitions included."""
        keys = [key for key, _ in self.grid]
        rows = (dict(zip(keys, values, strict=True)) for values in product(*(choices for _, choices in self.grid)))
        return tuple(Configuration(self.name, tuple(row.items())) for row in rows if self.published(row))

    def distinct(self) -> tuple[Configuration, ...]:
        """Configurations without settings that have no effect, each once."""
        out: dict[Configuration, None] = {}
        for item in self.listed():
            idle = self.idle(item.params)
            out[Configuration(self.name, tuple((k, v) for k, v in item.settings if k not in idle))] = None
        return tuple(out)


def _narrow_single(params: Params) -> bool:
    """Whether the published set lists it: a one-layer network has no hidden width to vary."""
    return not (params["num_layers"] == 1 and params.get("hidden_channels") == 64)


def _single(*keys: str) -> Callable[[Params], tuple[str, ...]]:
    def idle(params: Params) -> tuple[str, ...]:
        return keys if params["num_layers"] == 1 else ()

    return idle


def _sage_idle(params: Params) -> tuple[str, ...]:
    return ("act", "hidden_channels") if params["num_layers"] == 1 and params["jk"] == "none" else ()


def _gat_idle(params: Params) -> tuple[str, ...]:
    idle = ("hidden_channels",) if params["num_layers"] == 1 else ()
    return (*idle, "concat") if params["heads"] == 1 else idle


def _cheb_idle(params: Params) -> tuple[str, ...]:
    idle = ("hidden_channels",) if params["num_layers"] == 1 else ()
    return (*idle, "normalization") if params["K"] == 1 else idle


_WIDTH = ("hidden_channels", (16, 64))
_FLAG = (True, False)

METHODS: dict[str, Method] = {
    item.name: item
    for item in (
        Method(
            "GCN",
            BOTH,
            (("act", ("relu", "tanh", "elu")), ("dropout", (0.0, 0.5)), _WIDTH, ("num_layers", (1, 2, 3))),
            _narrow_single,
            _single("act", "dropout", "hidden_channels"),
            "Kipf and Welling, 2017",
        ),
        Method(
            "GraphSAGE",
            BOTH,
            (
                *(("act", ("relu", "tanh")), ("aggr", ("mean", "max")), _WIDTH),
                *(("jk", ("none", "last")), ("num_layers", (1, 2))),
            ),
            _narrow_single,
            _sage_idle,
            "Hamilton et al., 2017",
        ),
        Method(
            "GAT",
            BOTH,
            (("concat", _FLAG), ("dropout", (0.0, 0.5)), ("heads", (1, 4)), _WIDTH, ("num_layers", (1, 2, 3))),
            _narrow_single,
            _gat_idle,
            "Velickovic et al., 2018",
        ),
        Method(
            "GIN",
            BOTH,
            (("eps", (0.0,)), _WIDTH, ("num_layers", (1, 2, 3)), ("train_eps", _FLAG)),
            _narrow_single,
            citation="Xu et al., 2019",
        ),
        Method(
            "EGC",
            BOTH,
            (
                ("aggregators", ("sum", "mean", "symnorm", "min", "max", "var", "std")),
                *(_WIDTH, ("num_bases", (4, 8)), ("num_layers", (2,))),
            ),
            citation="Tailor et al., 2022",
        ),
        Method("SGC", BOTH, (("bias", _FLAG), ("K", (1, 2, 3, 4, 5))), citation="Wu et al., 2019"),
        Method(
            "ChebNet",
            BOTH,
            (("K", (1, 2, 3)), _WIDTH, ("normalization", ("none", "sym", "rw")), ("num_layers", (1, 2))),
            _narrow_single,
            _cheb_idle,
            "Defferrard et al., 2016",
        ),
        Method(
            "PNA",
            BOTH,
            (
                *(("aggregators", ("sum", "mean", "max", "var")), ("hidden_channels", (16,)), ("num_layers", (1, 2))),
                *(("scalers", ("identity", "amplification", "attenuation", "linear")), ("towers", (1,))),
            ),
            citation="Corso et al., 2020",
        ),
        Method(
            "SpectralEmbedding",
            BOTH,
            (("num_components", (16, 64)), ("tolerance", (0.1, 0.01, 0.001, 0.0001))),
            citation="Luo et al., 2003",
        ),
        Method("GraRep", BOTH, (("num_components", (16, 32, 64)), ("power", (1, 2))), citation="Cao et al., 2015"),
        Method(
            "DGI",
            BOTH,
            (("act", ("prelu", "relu", "tanh")), _WIDTH, ("summary", ("mean", "max", "min", "var"))),
            citation="Velickovic et al., 2019",
        ),
        Method(
            "Node2Vec",
            BOTH,
            (("context_size", (5, 10)), _WIDTH, ("p", (1, 2, 4)), ("q", (1, 2, 4)), ("walk_length", (10, 20))),
            citation="Grover and Leskovec, 2016",
        ),
        Method(
            "LabelPropagation",
            NODES,
            (("alpha", (0.99, 0.9, 0.8, 0.7)), ("num_layers", (1, 2, 3, 4))),
            citation="Zhu and Ghahramani, 2002",
        ),
        Method("Jaccard", LINKS, citation="Liben-Nowell and Kleinberg, 2007"),
        Method("ResourceAllocation", LINKS, citation="Zhou et al., 2009"),
        Method("AdamicAdar", LINKS, citation="Liben-Nowell and Kleinberg, 2007"),
        Method(
            "SEAL",
            LINKS,
            (
                *(("conv", ("GCN", "SAGE", "GAT")), ("hidden_channels", (16, 64, 128)), ("k", (0.6, 0.1))),
                *(("mlp_hidden_channels", (32, 128)), ("num_hops", (1,))),
            ),
            citation="Zhang and Chen, 2018",
        ),
    )
}
"""The methods of Table 3 by name, in its order."""


def published_space() -> tuple[Configuration, ...]:
    """The 366 configurations as the paper counts them."""
    return tuple(item for method in METHODS.values() for item in method.listed())


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
    if task_type is not None and task_type not in BOTH:
        raise unknown_name("task type of the configuration space", task_type, BOTH)
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
