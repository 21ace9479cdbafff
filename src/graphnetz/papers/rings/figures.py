"""The figures of the RINGS paper by their numbers; 1 and 2 are made here, of one example graph.

The others are made from evaluations, by `graphnetz.rings.figures`: any dataset has them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch
from torch_geometric.data import Data

from graphnetz.records import Figure
from graphnetz.rings import figures as of_evaluations
from graphnetz.rings.complementarity import complementarity
from graphnetz.rings.perturbations import PERTURBATIONS, perturb
from graphnetz.rings.spaces import FEATURES, STRUCTURES, Array, flatten_noise, unit_diameter

GRAPH_MODES = ("o", "eg", "cg", "rg", "sg")
FEATURE_MODES = ("o", "ef", "cf", "rf", "sf")


def ring_of_cliques(cliques: int = 3, size: int = 4, seed: int = 0) -> Data:
    """Return the example graph of the paper: cliques joined to a ring, features that are normal draws.

    Parameters
    ----------
    cliques, size
        How many, of how many nodes each.
    seed
        Of the features, one column per node.

    Returns
    -------
    Data
        Undirected.

    Examples
    --------
    >>> ring_of_cliques().num_nodes, ring_of_cliques().num_edges
    (12, 42)
    """
    inside = [(c * size + i, c * size + j) for c in range(cliques) for i in range(size) for j in range(i)]
    between = [(c * size + size - 1, (c + 1) % cliques * size) for c in range(cliques)]
    pairs = torch.tensor(inside + between).T
    n = cliques * size
    x = torch.from_numpy(np.random.default_rng(seed).standard_normal((n, n)))
    return Data(x=x, edge_index=torch.cat([pairs, pairs.flip(0)], dim=1), num_nodes=n)


def perturbation_figures(data: Data | None = None) -> Mapping[str, Figure]:
    """Figure 1: adjacency matrices and feature matrices of the original and the perturbed states.

    Parameters
    ----------
    data
        A graph with features; None takes `ring_of_cliques`.

    Returns
    -------
    mapping
        By code of the perturbation, the original twice as ``o`` (graph) and ``o features``.

    Examples
    --------
    >>> sorted(perturbation_figures())[:3]
    ['cf', 'cg', 'ef']
    """
    graph = ring_of_cliques() if data is None else data
    out = {code: _heat(_adjacency(perturb(graph, code)), f"{code} {PERTURBATIONS[code].title}") for code in GRAPH_MODES}
    for code in FEATURE_MODES:
        x = perturb(graph, code).x.double().numpy()
        out["o features" if code == "o" else code] = _heat(x, f"{code} {PERTURBATIONS[code].title}", nodes="column")
    return out


def space_figures(data: Data | None = None, *, t: int = 1) -> Mapping[str, Figure]:
    """Figure 2: distances by structure, by features original and perturbed, and how far the two differ.

    Parameters
    ----------
    data
        A connected graph with features; None takes `ring_of_cliques`.
    t
        Steps of the diffusion.

    Returns
    -------
    mapping
        ``structure``, then for each code ``features CODE`` and ``difference CODE``, whose caption states the
        complementarity: the mean of the entries off the diagonal.

    Examples
    --------
    >>> list(space_figures())[:3]
    ['structure', 'features o', 'difference o']
    """
    graph = ring_of_cliques() if data is None else data
    structure = unit_diameter(next(iter(STRUCTURES["diffusion"].function(_adjacency(graph)[None], [t]))))[0]
    out = {"structure": _heat(structure, "distances by structure")}
    for code in ("o", "ef", "cf", "rf"):
        changed = perturb(graph, code)
        x = changed.x.double().numpy()[None]
        features = unit_diameter(flatten_noise(FEATURES["euclidean"](x)))[0]
        gamma = float(complementarity([changed], t=t)[0])
        out[f"features {code}"] = _heat(features, f"distances by features, {PERTURBATIONS[code].title}")
        out[f"difference {code}"] = _heat(abs(structure - features), f"difference, complementarity {gamma:.3f}")
    return out


def _adjacency(data: Data) -> Array:
    out = np.zeros((int(data.num_nodes or 0),) * 2)
    out[tuple(data.edge_index.numpy())] = 1.0
    return out


def _heat(values: Array, caption: str, *, nodes: str = "node") -> Figure:
    rows, columns = ([str(i) for i in range(size)] for size in values.shape)
    body = {"rows": rows, "columns": columns, "values": values.tolist(), "label": "", "xlabel": nodes}
    return Figure("heatmap", body, caption)


FIGURES: dict[int, Callable[..., Any]] = {
    1: perturbation_figures,
    2: space_figures,
    3: of_evaluations.performance_bars,
    4: of_evaluations.profile_bars,
    5: of_evaluations.performance_cloud,  # on AUROC
    6: of_evaluations.density_curves,
    7: of_evaluations.metric_grid,
    8: of_evaluations.agreement_grid,
    9: of_evaluations.profile_bars,  # as 4, on OGB datasets
    10: of_evaluations.performance_cloud,  # as 5, on accuracy
}
"""What makes each figure of the paper."""
