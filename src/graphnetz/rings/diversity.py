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

    The properties ``mean``, ``std`` and ``symbols`` are mappings with the keys ``structural`` and
    ``features``.

    Attributes
    ----------
    structural, features
        One value per graph, between 0 and 1.

    Examples
    --------
    >>> import numpy as np
    >>> from graphnetz.rings import DiversityResult
    >>> DiversityResult(np.array([0.7, 0.9]), np.array([0.1, 0.1])).symbols
    {'structural': ('++', 'o'), 'features': ('--', '--')}
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

    Parameters
    ----------
    graphs
        One ``Data``, a list, a dataset or a generator.
    structure, features, t, norm
        As in `complementarity`.

    Returns
    -------
    DiversityResult
        Two values per graph.

    Examples
    --------
    >>> import torch
    >>> from torch_geometric.data import Data
    >>> from graphnetz.rings import diversity
    >>> path = Data(x=torch.eye(4), edge_index=torch.tensor([[0, 1, 1, 2, 2, 3], [1, 0, 2, 1, 3, 2]]))
    >>> {mode: round(value, 3) for mode, value in diversity([path]).mean.items()}
    {'structural': 0.351, 'features': 0.0}
    """
    values = _all(graphs, ("ef", "eg"), Setup.of(structure, features, norm, [t], None), seeds=(0,))
    return DiversityResult(to_diversity(values["ef"][:, 0]), to_diversity(values["eg"][:, 0]))
