"""Counts of Weisfeiler-Leman colours under a linear model: what refinement alone tells about a graph."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from graphnetz.graphs.colours import colour_counts, start_colours, unit_rows
from graphnetz.models.predictors import FeatureOnly, Scores, design
from graphnetz.models.spec import register_model
from graphnetz.tasktypes import Split


@register_model(task_types={"graph_cls", "graph_reg"})
class WeisfeilerLeman(FeatureOnly):
    """Linear model on how often each colour stands in a graph (the subtree kernel of Shervashidze et al., 2011).

    Nodes begin with the colour of their row of features; where rows hardly ever repeat, all begin alike and the mean
    features of a graph stand beside its counts. Square roots of counts are taken and rows have length one. Attributes
    of edges are not looked at. Without features and with one iteration it is a histogram of degrees.

    Parameters
    ----------
    iterations
        Refinements; colours at the beginning count as well.
    features
        Whether nodes begin with the colour of their features.
    strength
        Inverse of the penalty on coefficients: smaller means simpler models.

    Examples
    --------
    >>> import networkx as nx
    >>> import numpy as np
    >>> from graphnetz import get_split, task_from_networkx
    >>> from graphnetz.models import WeisfeilerLeman
    >>> graphs = [nx.cycle_graph(n) for n in range(4, 14)] + [nx.star_graph(n) for n in range(3, 13)]
    >>> for place, graph in enumerate(graphs):
    ...     graph.graph["label"] = int(place >= 10)
    >>> split = get_split(task_from_networkx("shapes", graphs))
    >>> model = WeisfeilerLeman(iterations=1)
    >>> model.fit(split, np.random.default_rng(0))
    >>> bool((model.score(split)["test"].argmax(axis=1) == split.targets["test"]).all())
    True
    """

    inductive = True
    """Colours that training graphs do not have get no weight."""

    def __init__(self, iterations: int = 3, features: bool = True, strength: float = 10.0) -> None:
        super().__init__(strength)
        self.iterations, self.features = iterations, features

    def _design(self, split: Split, rng: np.random.Generator) -> Scores:
        del rng
        data = split.data
        nodes, arcs = data.node_ptr.numpy(), data.edge_index.numpy()
        sizes = np.diff(nodes)
        owner = np.repeat(np.arange(len(sizes)), sizes)
        shifted = arcs + np.repeat(nodes[:-1], np.diff(data.edge_ptr.numpy()))
        colours, used = start_colours(data.node["x"].numpy() if self.features else None, len(owner))
        counts = colour_counts(colours, shifted, owner, len(sizes), self.iterations)
        rows = unit_rows(counts)
        if self.features and not used:
            means = design(split)
            centre, spread = means["train"].mean(axis=0), means["train"].std(axis=0)
            beside = {part: (held - centre) / np.where(spread > 0, spread, 1.0) for part, held in means.items()}
        else:
            beside = {part: np.zeros((len(split.part(part)), 0)) for part in split.targets}
        return {
            part: sp.hstack([rows[split.part(part).numpy()], beside[part] / 10], format="csr") for part in split.targets
        }

    def _estimator(self, split: Split, rng: np.random.Generator) -> Any:
        # Rows of length one need no scaling, which would make sparse rows dense.
        from sklearn.linear_model import LogisticRegression, Ridge

        del split, rng
        return LogisticRegression(C=self.strength, max_iter=300) if self.classify else Ridge(alpha=1 / self.strength)
