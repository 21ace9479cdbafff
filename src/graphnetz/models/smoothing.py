"""Labels and errors that travel along edges: label propagation, and correct and smooth."""

from __future__ import annotations

import itertools

import numpy as np
import scipy.sparse as sp

from graphnetz.metrics import METRICS
from graphnetz.models.heuristics import adjacency_of
from graphnetz.models.predictors import FeatureOnly, Majority, Scores, _x
from graphnetz.models.spec import register_model
from graphnetz.tasktypes import Split
from graphnetz.tasktypes.packing import PackedGraphs


def _walk(adjacency: sp.csr_matrix) -> sp.csr_matrix:
    """The adjacency divided by the roots of both degrees."""
    scale = sp.diags(1.0 / np.sqrt(np.maximum(np.asarray(adjacency.sum(axis=1)).ravel(), 1.0)))
    out: sp.csr_matrix = (scale @ adjacency @ scale).tocsr()
    return out


def spread(walk: sp.csr_matrix, start: np.ndarray, alpha: float, iterations: int) -> np.ndarray:
    """Repeat: a share ``alpha`` of the neighbours, the rest of the start."""
    out = start
    for _ in range(iterations):
        out = alpha * (walk @ out) + (1 - alpha) * start
    return np.asarray(out)


def _labels(split: Split) -> np.ndarray:
    """Training labels as one row per node of the graph, zero elsewhere; labels of a multi-label task lie at +-0.5."""
    out = np.zeros((split.data.num_nodes, split.dims.out_channels))
    train, target = split.train.numpy(), split.targets["train"]
    if split.kind == "multi":
        out[train] = target - 0.5
    else:
        out[train, target] = 1.0
    return out


@register_model(task_types={"node_cls"})
class LabelPropagation:
    """Spread training labels over edges (Zhou et al., 2004); features are not looked at.

    Parameters
    ----------
    alpha
        Share of its neighbours in a node's new value; the rest is its own label.
    iterations
        Number of steps.

    Examples
    --------
    >>> import networkx as nx
    >>> import numpy as np
    >>> from graphnetz import get_split, task_from_networkx
    >>> from graphnetz.models import LabelPropagation
    >>> split = get_split(task_from_networkx("karate", nx.karate_club_graph(), label="club"))
    >>> model = LabelPropagation()
    >>> model.fit(split, np.random.default_rng(0))
    >>> model.score(split)["test"].shape
    (8, 2)
    """

    def __init__(self, alpha: float = 0.9, iterations: int = 50) -> None:
        self.alpha, self.iterations = alpha, iterations

    def fit(self, split: Split, rng: np.random.Generator) -> None:
        """Propagate on one graph; several graphs share no edges, so the majority is all that is left."""
        self.row: np.ndarray | None = None
        if isinstance(split.data, PackedGraphs):
            baseline = Majority()
            baseline.fit(split, rng)
            self.row = baseline.row
            return
        adjacency, seed = adjacency_of(split), _labels(split)
        self.spread = spread(_walk(adjacency), seed, self.alpha, self.iterations)

    def score(self, split: Split) -> Scores:
        """Read the propagated labels."""
        if self.row is not None:
            return {part: np.tile(self.row, (len(split.targets[part]), 1)) for part in split.targets}
        return {part: self.spread[split.part(part).numpy()] for part in split.targets}


@register_model(task_types={"node_cls"})
class CorrectAndSmooth:
    """A simple rule corrected by its own errors along edges, then smoothed (Huang et al., 2021).

    Errors on training nodes are spread over the graph and subtracted, then training labels and corrected
    probabilities are spread. The rule is linear on features, or the shares of the classes (label propagation is
    among the candidates, then); rule, reach and correction are chosen on the validation nodes.

    Parameters
    ----------
    alphas
        Shares of its neighbours in a node's new value that are tried.
    iterations
        Steps of each spreading.

    Examples
    --------
    >>> import networkx as nx
    >>> import numpy as np
    >>> from graphnetz import get_split, task_from_networkx
    >>> from graphnetz.models import CorrectAndSmooth
    >>> split = get_split(task_from_networkx("karate", nx.karate_club_graph(), label="club"))
    >>> model = CorrectAndSmooth()
    >>> model.fit(split, np.random.default_rng(0))
    >>> model.score(split)["test"].shape
    (8, 2)
    """

    def __init__(self, alphas: tuple[float, ...] = (0.8, 0.95, 0.5), iterations: int = 30) -> None:
        self.alphas, self.iterations = alphas, iterations

    def fit(self, split: Split, rng: np.random.Generator) -> None:
        """Try every rule, correction and reach, and keep the best on the validation nodes."""
        base = FeatureOnly()
        base.fit(split, rng)
        if isinstance(split.data, PackedGraphs):  # no edge leads from a training label to another graph
            self.scores = base.score(split)
            return
        walk, metric = _walk(adjacency_of(split)), METRICS[split.metric]
        sign, best = (1.0 if metric.greater_is_better else -1.0), -np.inf
        for prior in (_probabilities(split, base._score(_x(split.data), split)), _shares(split)):
            for correct, smooth in itertools.product((0.0, *self.alphas), self.alphas):
                found = self._smoothed(split, walk, prior, correct, smooth)
                value = sign * metric.compute(split.targets["val"], found["val"])
                if value > best:
                    best, self.scores = value, found

    def _smoothed(self, split: Split, walk: sp.csr_matrix, prior: np.ndarray, correct: float, smooth: float) -> Scores:
        train, labels = split.train.numpy(), _labels(split)
        start = prior.copy()
        if correct:
            error = np.zeros_like(prior)
            error[train] = labels[train] - prior[train]
            moved = spread(walk, error, correct, self.iterations)
            # The authors' autoscale: a spread error shrinks, so it is given the mean size of the known ones.
            size = np.abs(moved).sum(axis=1, keepdims=True)
            mean = np.abs(error[train]).sum(axis=1).mean()
            start += np.divide(mean * moved, size, out=np.zeros_like(moved), where=size > 1e-12)
        start[train] = labels[train]
        out = spread(walk, start, smooth, self.iterations)
        return {part: out[split.part(part).numpy()] for part in split.targets}

    def score(self, split: Split) -> Scores:
        """Return the smoothed values of the best candidate."""
        return self.scores


def _probabilities(split: Split, value: np.ndarray) -> np.ndarray:
    """Decision values as probabilities; those of labels less a half, as in `_labels`."""
    if split.kind == "multi":
        return np.asarray(1.0 / (1.0 + np.exp(-value)) - 0.5)
    rows = np.exp(value - value.max(axis=1, keepdims=True))
    return np.asarray(rows / rows.sum(axis=1, keepdims=True))


def _shares(split: Split) -> np.ndarray:
    labels = _labels(split)
    return np.tile(labels[split.train.numpy()].mean(axis=0), (len(labels), 1))
