"""Contracts of perturbations and selectors."""

from __future__ import annotations

import pickle
import warnings
from typing import Any

import numpy as np
import torch
from torch_geometric.data import Batch, Data

from graphnetz._core.errors import UsageError
from graphnetz.rings import PERTURBATIONS, perturb, perturb_dataset
from graphnetz.selection import SELECTORS
from graphnetz.testing.contract import require, same, tensors


def _graph(n: int = 20, seed: int = 0) -> Data:
    rng = np.random.default_rng(seed)
    a, b = np.nonzero(np.triu(rng.random((n, n)) < 0.4, 1))
    edges = torch.tensor(np.stack([np.concatenate([a, b]), np.concatenate([b, a])]))
    x = torch.tensor(rng.normal(size=(n, 3)), dtype=torch.float)
    return Data(x=x, edge_index=edges, y=torch.tensor([1]), edge_attr=torch.ones(edges.size(1), 2))


def check_perturbation(code: str, **options: Any) -> None:
    """Hold a perturbation to its contract.

    The graph that comes in stays as it is, nodes and target are kept, only the declared mode changes,
    the outcome depends on seed and index alone (and on both when it is declared random), it agrees with
    itself as a transform, and it can be pickled and batched.

    Parameters
    ----------
    code
        Key of `graphnetz.rings.PERTURBATIONS`.
    **options
        Options of the perturbation.

    Examples
    --------
    >>> check_perturbation("sf")
    """
    cls, who, data = PERTURBATIONS[code], f"The perturbation {code!r}", _graph()
    require(cls.code == code, f"{who} carries the code {cls.code!r}.")
    before = [value.clone() for value in tensors([data])]
    out = perturb(data, code, seed=1, index=2, **options)
    require(same(before, tensors([data])), f"{who} changes the graph it is given; write to a copy.")
    require(out.num_nodes == data.num_nodes, f"{who} changes the number of nodes.")
    require(torch.equal(out.y, data.y), f"{who} changes the target.")
    for mode, key in (("graph", "edge_index"), ("features", "x")):
        stays, declared = torch.equal(out[key], data[key]), cls.mode not in (mode, "both")
        does = "stays" if stays else "changes"
        require(stays == declared, f"{who} declares the mode {cls.mode!r}, but {key} {does}.")
    has = "edge_attr" in out
    require(has == (cls.mode in ("none", "features")), f"{who} leaves edge attributes of edges that are gone.")
    perturb(_graph(12, 4), code, seed=9, index=9, **options)
    torch.manual_seed(0)
    again = perturb(data, code, seed=1, index=2, **options)
    require(same(tensors([out]), tensors([again])), f"{who} depends on more than seed and index; draw from rng.")
    for seed, index in ((2, 2), (1, 3)):
        other = perturb(data, code, seed=seed, index=index, **options)
        moved = not same(tensors([out]), tensors([other]))
        require(moved == cls.random, f"{who} is declared random={cls.random}, but another seed says otherwise.")
    transform = pickle.loads(pickle.dumps(cls(seed=7, **options)))  # noqa: S301  (our own bytes)
    require(transform == cls(seed=7, **options), f"{who} is another after pickling.")
    data.graph_index = 4
    expected = perturb(data, code, seed=7, index=4, **options)
    require(same(tensors([transform(data)]), tensors([expected])), f"{who} differs as a transform.")
    graphs = perturb_dataset([_graph(8, seed) for seed in range(3)], code, **options)
    require(Batch.from_data_list(graphs).num_graphs == 3, f"{who} gives graphs that cannot be batched.")


def _world(n: int = 40, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Graphs whose best model depends on the first meta-feature, with gaps."""
    rng = np.random.default_rng(seed)
    M = rng.random((n, 6)) * 10
    P = 0.9 - 0.05 * np.abs(M[:, :1] - np.linspace(0, 10, 9)) + 0.01 * rng.standard_normal((n, 9))
    P[rng.random(P.shape) < 0.2] = np.nan
    P[3], P[:, 4] = np.nan, np.nan  # a graph without records, and a model nobody tried
    return P, M, np.repeat(np.arange(4), n // 4)


def check_selector(name: str, **options: Any) -> None:
    """Hold a selector to its contract.

    Missing scores are allowed, every model gets a finite score for every new graph, the same input gives
    the same scores, a second fit forgets the first, neighbours in a batch do not matter, the arrays stay
    as they are, and wrong shapes are refused.

    Parameters
    ----------
    name
        Key of `graphnetz.selection.SELECTORS`.
    **options
        Arguments of the selector, such as fewer epochs.

    Examples
    --------
    >>> check_selector("gb_perf")
    """
    who = f"The selector {name!r}"
    P, M, domains = _world()
    before, new = (P.copy(), M.copy()), _world(seed=5)[1][:7]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        first = SELECTORS[name](**options)
        require(first.fit(P, M, domains) is first, f"{who} does not return itself from fit.")
        scores = first.predict(new)
        require(scores.shape == (7, 9), f"{who} scores 7 graphs and 9 models in the shape {scores.shape}.")
        require(np.isfinite(scores).all(), f"{who} leaves models without a finite score.")
        require(same([P, M], list(before)), f"{who} changes the arrays it is given.")
        again = SELECTORS[name](**options).fit(P, M, domains).predict(new)
        require(same([again], [scores]), f"{who} gives other scores for the same input; use self.seed.")
        first.fit(P[::-1].copy() ** 2, M, domains)
        require(same([first.fit(P, M, domains).predict(new)], [scores]), f"{who} remembers an earlier fit.")
        alone = np.concatenate([first.predict(row) for row in new])
        near = np.allclose(alone, scores, rtol=1e-4, atol=1e-5)
        require(near, f"{who} scores a graph by its neighbours in the batch.")
    _refuses(f"{who} takes meta-features of another width", lambda: first.predict(new[:, :3]))
    _refuses(f"{who} predicts before it is fitted", lambda: SELECTORS[name](**options).predict(new))
    _refuses(f"{who} fits without a score", lambda: SELECTORS[name](**options).fit(np.full((5, 3), np.nan), M[:5]))


def _refuses(sentence: str, call: Any) -> None:
    try:
        call()
    except UsageError:
        return
    raise AssertionError(f"{sentence}; raise UsageError, or leave fit and predict to the base class.")
