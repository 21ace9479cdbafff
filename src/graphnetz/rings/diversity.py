"""Mode diversity: does a mode, seen alone, have geometric structure worth learning from?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from graphnetz.rings.complementarity import Norm, Setup, _all
from graphnetz.rings.rules import MEAN_EDGES, STD_EDGES, symbol
from graphnetz.rings.spaces import Array


@dataclass(frozen=True)
class DiversityResult:
    """Structural and feature diversity of every graph, with their summary over the dataset.

    ``mean``, ``std`` and ``symbols`` are mappings with the keys ``structural`` and ``features``.
    """

    structural: Array = field(repr=False)
    features: Array = field(repr=False)

    @property
    def mean(self) -> dict[str, float]:
        """Mean over graphs by mode."""
        return {name: float(np.mean(values)) for name, values in self._modes()}

    @property
    def std(self) -> dict[str, float]:
        """Sample standard deviation over graphs by mode; NaN for a single graph."""
        return {
            name: float(np.std(values, ddof=1)) if len(values) > 1 else float("nan") for name, values in self._modes()
        }

    @property
    def symbols(self) -> dict[str, tuple[str, str]]:
        """Symbols of mean and standard deviation by mode, binned as the paper's text says.

        The paper's Table 2 prints ``++`` for some means between 0.6 and 0.8; its own rule gives ``+``.
        """
        mean, std = self.mean, self.std
        return {name: (symbol(mean[name], MEAN_EDGES), symbol(std[name], STD_EDGES)) for name in mean}

    def _modes(self) -> Sequence[tuple[str, Array]]:
        return (("structural", self.structural), ("features", self.features))


def to_diversity(gamma: Array) -> Array:
    """Map the complementarity with an empty mode to 1 - |1 - 2 gamma|."""
    return 1 - np.abs(1 - 2 * gamma)


def diversity(
    graphs: Any,
    *,
    structure: str = "diffusion",
    features: str = "euclidean",
    t: float = 1,
    norm: Norm = "L11",
) -> DiversityResult:
    """Compute the mode diversity of every graph.

    Structural diversity comes from the complementarity under empty features, feature diversity
    from that under the empty graph (Coupette et al. 2025, Definition 2.14).
    """
    values = _all(graphs, ("ef", "eg"), Setup.of(structure, features, norm, [t], None), seeds=(0,))
    return DiversityResult(to_diversity(values["ef"][:, 0]), to_diversity(values["eg"][:, 0]))
