"""Hyper-parameter search inside a cell: validation only, the same budget for every model."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from graphnetz._core.errors import UsageError
from graphnetz._core.rng import generator

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

    def __post_init__(self) -> None:
        if self.n_random is not None and self.n_random < 1:
            raise UsageError(f"n_random must be at least 1, got {self.n_random}. Leave it out for the full grid.")

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to search."""
        return not any(getattr(self, axis) for axis in _AXES) and not any(self.model.values())

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
        if self.n_random is None or self.n_random >= len(grid):
            return grid
        chosen = generator("search", self.seed).choice(len(grid), size=self.n_random, replace=False)
        return [grid[i] for i in sorted(chosen.tolist())]

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
        return plain | {
            "n_random": self.n_random,
            "seed": self.seed,
            "model": {k: list(v) for k, v in self.model.items()},
        }
