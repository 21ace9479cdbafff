"""What models gave for single test examples: the finest record of a benchmark."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Contributions:
    """What each test example of one task contributes to the score of each model and seed.

    Parameters
    ----------
    task, metric
        Which task, and its headline key, such as ``test_acc``.
    seeds
        Seeds of the rows below.
    splits
        Number of the split that each seed was tested on; equal numbers mean the same test examples.
    examples
        Ids of the columns below: every example that was a test example of some seed.
    values
        ``values[model]`` is an array ``[seed, example]``, NaN where that example was not tested by that seed or the
        cell failed. The mean of a row is the score of that cell: 0/1 losses and errors average to it as they are,
        rank metrics such as AUC through pseudo-values (score of the seed + influence of the example).
    kind
        ``"loss"`` where contributions are exact, ``"pseudo"`` where they are pseudo-values.
    unit
        What an example is, in words: ``"node"``, ``"graph"``, ``"pair"``.
    one_graph
        Whether all examples belong to one graph, so that they depend on each other.
    ends
        For pairs ``[example, 2]``: the two nodes of each, else None.
    blocks
        Community of every example in its graph, or its graph where there are many; None where not known.
    total
        Examples that a seed was tested on, where only a sample of them was kept; 0 otherwise.
    reason
        Why there are no contributions; empty otherwise.

    Examples
    --------
    >>> right = np.array([[1.0, 0.0], [1.0, 1.0]])
    >>> found = Contributions("cora", "test_acc", (0, 1), (0, 0), np.array([7, 9]), {"GCN": right})
    >>> found.values["GCN"].mean(axis=1).tolist()
    [0.5, 1.0]
    """

    task: str
    metric: str
    seeds: tuple[int, ...]
    splits: tuple[int, ...]
    examples: npt.NDArray[np.int64]
    values: Mapping[str, Floats] = field(default_factory=dict)
    kind: str = "loss"
    unit: str = "example"
    one_graph: bool = False
    ends: npt.NDArray[np.int64] | None = None
    blocks: npt.NDArray[np.int64] | None = None
    reason: str = ""
    total: int = 0


PARTS = ("seed", "split", "split and seed", "example", "rest")
"""What the spread of a difference may come from, in the order in which it is shown."""


@dataclass(frozen=True)
class Components:
    """Where the spread of a difference between two models comes from, as variances of one (seed, example) value.

    Attributes
    ----------
    task, a, b
        The comparison.
    seed, split, example, rest
        Variances by method of moments, at least 0; ``split`` is NaN where every split has one seed, because the two
        cannot be told apart then and ``seed`` holds both.
    seed_share, split_share, example_share, rest_share
        Shares of the variance of the mean difference that each one brings with this many seeds, splits and examples.
    n_seeds, n_splits, n_examples
        How many there are.
    n_tested, pool
        Test examples of one seed, and how many examples the splits draw them from, as their overlap tells (infinite
        where no two share one).
    reason
        Why there are none; empty otherwise.

    Examples
    --------
    >>> Components("cora", "GCN", "MLP", seed=1e-5, example=0.1, n_seeds=10, n_examples=1000).n_examples
    1000
    """

    task: str
    a: str
    b: str
    seed: float = math.nan
    split: float = math.nan
    example: float = math.nan
    rest: float = math.nan
    seed_share: float = math.nan
    split_share: float = math.nan
    example_share: float = math.nan
    rest_share: float = math.nan
    n_seeds: int = 0
    n_splits: int = 0
    n_examples: int = 0
    n_tested: float = math.nan
    pool: float = math.nan
    reason: str = ""

    @property
    def merged(self) -> bool:
        """Whether every split has one seed, so that ``seed`` holds both."""
        return math.isnan(self.split) and self.n_splits > 1

    @property
    def shares(self) -> dict[str, float]:
        """Shares by part of `PARTS`; only parts that could be told apart.

        Examples
        --------
        >>> Components("a", "b", "c", seed_share=0.7, example_share=0.2, rest_share=0.1, n_splits=10).shares
        {'split and seed': 0.7, 'example': 0.2, 'rest': 0.1}
        """
        first = {"split and seed": self.seed_share}
        if not self.merged:
            first = {"seed": self.seed_share, "split": self.split_share}
        found = {**first, "example": self.example_share, "rest": self.rest_share}
        return {part: share for part, share in found.items() if math.isfinite(share)}
