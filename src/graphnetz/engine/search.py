"""Hyper-parameter search inside a cell: validation only, the same budget for every model."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from graphnetz._core.errors import UsageError, unknown_name
from graphnetz._core.rng import generator
from graphnetz.models import ModelSpec
from graphnetz.models.spaces import space_of

_AXES = ("lr", "weight_decay", "hidden_channels", "batch_size")


@dataclass(frozen=True)
class SearchSpace:
    """Values to try for protocol keys and, under ``model``, for constructor arguments.

    Every model gets the same candidates (those arguments it does not take are left out for it), so
    no model is tuned harder than another. An empty space means no search.

    Parameters
    ----------
    lr, weight_decay, hidden_channels, batch_size
        Values of each protocol key; empty keeps the protocol's own.
    n_random
        Draw that many candidates without replacement instead of the full grid (Bergstra and Bengio,
        2012); None takes the full grid.
    seed
        Seed of that draw.
    model
        Constructor argument -> values.
    default
        Whether the first candidate is the model with its own settings. Its test value is kept beside the chosen one's,
        so that a report has both; it takes no part in the choice.
    own
        Spaces of single models by name, each with the same number of candidates where it has that many.

    Examples
    --------
    >>> from graphnetz import SearchSpace
    >>> len(SearchSpace(lr=(1e-2, 1e-3), hidden_channels=(32, 64)))
    4
    """

    lr: Sequence[float] = ()
    weight_decay: Sequence[float] = ()
    hidden_channels: Sequence[int] = ()
    n_random: int | None = None
    seed: int = 0
    model: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    batch_size: Sequence[int] = ()
    default: bool = False
    own: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        spaces = {name: SearchSpace(**item) if isinstance(item, Mapping) else item for name, item in self.own.items()}
        object.__setattr__(self, "own", spaces)
        if self.n_random is not None and self.n_random < 1:
            raise UsageError(f"n_random must be at least 1, got {self.n_random}. Leave it out for the full grid.")

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to search."""
        mine = any(getattr(self, axis) for axis in _AXES) or any(self.model.values())
        return not mine and all(space.is_empty for space in self.own.values())

    def of(self, model: str, spec: ModelSpec) -> SearchSpace:
        """Return what is searched for one model.

        Parameters
        ----------
        model, spec
            Its name in the run, and what it is.

        Returns
        -------
        SearchSpace
            Its own space where it has one, without arguments that it does not take; a predictor has no width and no
            rate of learning.

        Examples
        --------
        >>> from graphnetz import SearchSpace
        >>> from graphnetz.models import MODELS
        >>> own = SearchSpace(default=True, model={"dropout": (0.5,), "heads": (2,)})
        >>> SearchSpace(lr=(1e-2,), own={"GCN": own}).of("GCN", MODELS["GCN"]).candidates()
        [{}, {'model.dropout': 0.5}]
        """
        found: SearchSpace = self.own.get(model, replace(self, own={}))
        if not found.default:
            return found
        kept = {name: values for name, values in found.model.items() if spec.accepts(name)}
        axes = dict.fromkeys(_AXES, ()) if spec.kind == "predictor" else {}
        return replace(found, model=kept, **axes)  # type: ignore[arg-type]

    def candidates(self) -> list[dict[str, Any]]:
        """Enumerate configurations, always at least one.

        Returns
        -------
        list of dict
            One mapping per candidate; model arguments carry the prefix ``model.``.

        Examples
        --------
        >>> from graphnetz import SearchSpace
        >>> SearchSpace(lr=(1e-2,), model={"dropout": (0.0, 0.5)}).candidates()
        [{'lr': 0.01, 'model.dropout': 0.0}, {'lr': 0.01, 'model.dropout': 0.5}]
        """
        axes = {axis: list(getattr(self, axis)) for axis in _AXES if getattr(self, axis)}
        axes |= {f"model.{name}": list(values) for name, values in self.model.items() if values}
        grid = [dict(zip(axes, values, strict=True)) for values in itertools.product(*axes.values())]
        first: list[dict[str, Any]] = [{}] if self.default else []
        if self.default and not axes:
            return first
        wanted = None if self.n_random is None else self.n_random - len(first)
        if wanted is None or wanted >= len(grid):
            return first + grid
        chosen = generator("search", self.seed).choice(len(grid), size=wanted, replace=False)
        return first + [grid[i] for i in sorted(chosen.tolist())]

    def __len__(self) -> int:
        return len(self.candidates())

    def as_dict(self) -> dict[str, Any]:
        """Return plain values, for the cell key and the run folder.

        Returns
        -------
        dict
            Field -> list or number.

        Examples
        --------
        >>> from graphnetz import SearchSpace
        >>> SearchSpace(lr=(1e-2, 1e-3)).as_dict()["lr"]
        [0.01, 0.001]
        """
        # An axis that came later is named only where it is used: the keys of earlier runs stay what they were.
        plain = {axis: list(getattr(self, axis)) for axis in _AXES if axis != "batch_size" or self.batch_size}
        later: dict[str, Any] = {"default": True} if self.default else {}
        if self.own:
            later |= {"own": {name: space.as_dict() for name, space in self.own.items()}}
        return (
            plain
            | {
                "n_random": self.n_random,
                "seed": self.seed,
                "model": {k: list(v) for k, v in self.model.items()},
            }
            | later
        )


TRIALS = 8
"""Candidates per model of ``search="default"``, the default settings among them."""


def read_space(
    given: str | Mapping[str, Any] | None, specs: Mapping[str, ModelSpec], *, trials: int | None = None
) -> SearchSpace | None:
    """Make a search space of a setting: ``"default"``, or a plain table.

    Parameters
    ----------
    given
        ``"default"`` takes the space that each model declares. A table has lists of values for settings of training
        (``lr``, ``weight_decay``, ``hidden_channels``, ``batch_size``) and for arguments of models; a table under the
        name of a model is for that one alone.
    specs
        The models of the run.
    trials
        Candidates per model, the same for all; None takes `TRIALS` of declared spaces and all of a table.

    Returns
    -------
    SearchSpace or None
        One space per model, each with the default settings as its first candidate.

    Examples
    --------
    >>> from graphnetz.models import MODELS
    >>> models = {"GCN": MODELS["GCN"], "MLP": MODELS["MLP"]}
    >>> space = read_space({"lr": [0.01, 0.001], "GCN": {"dropout": [0.2]}}, models)
    >>> {name: len(found) for name, found in space.own.items()}
    {'GCN': 3, 'MLP': 3}
    """
    if given is None:
        return None
    if isinstance(given, str):
        tables = {name: space_of(spec) for name, spec in specs.items()}
        return SearchSpace(own={name: _space(table, trials or TRIALS) for name, table in tables.items()})
    for name in given:
        if isinstance(given[name], Mapping) and name not in specs:
            raise unknown_name("model of the search", name, specs)
    common = {key: values for key, values in given.items() if not isinstance(values, Mapping)}
    tables = {name: common | dict(given.get(name, {})) for name in specs}
    known = {key for table in tables.values() for key in table} - {*_AXES, "trials", "seed"}
    for key in known:
        if not any(spec.accepts(key) for spec in specs.values()):
            raise UsageError(
                f"The setting 'search' is wrong: {key!r} is neither a setting of training ({', '.join(_AXES)}) nor an "
                f"argument of {', '.join(specs)}."
            )
    return SearchSpace(own={name: _space(table, trials) for name, table in tables.items()})


def _space(table: Mapping[str, Any], trials: int | None) -> SearchSpace:
    values = {key: item for key, item in table.items() if key not in ("trials", "seed")}
    for key, item in values.items():
        if not isinstance(item, list | tuple) or not item:
            raise UsageError(f"The setting 'search' is wrong: {key} needs a list of values, got {item!r}.")
    axes: dict[str, Any] = {key: tuple(values.pop(key)) for key in _AXES if key in values}
    count = table.get("trials", trials)
    return SearchSpace(
        **axes, n_random=count, seed=int(table.get("seed", 0)), default=True,
        model={key: tuple(item) for key, item in values.items()},
    )  # fmt: skip
