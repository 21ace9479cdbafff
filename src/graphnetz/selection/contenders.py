"""Landmarks of links that are the contenders themselves, in small: what usually wins is measured, not guessed.

Boosted trees on pairs, spectral and GraRep vectors and trained smoothing, as the engine would train them but for fewer
rounds, on the training part of a split; scored on its validation part. Nothing here imports torch.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

FloatArray = npt.NDArray[np.float64]
Pairs = npt.NDArray[np.int64]

CONTENDERS = (
    *("boosted_pairs", "spectral_16", "spectral_64", "one_step_16", "two_steps_32", "trained_smooth_2"),
    "trained_smooth_5",
)
_WIDEST, _WIDTH, _SMALL = 64, 32, 150
"""Features looked at, or so many components of more; the width of trained vectors; nodes up to which matrices are
dense."""

_ROUNDS, _RATE = 20, 0.25
_EPOCHS, _EVERY, _PATIENCE, _STEP = 100, 5, 30, 0.01


def contenders(
    adjacency: Any, features: Any, train: Pairs, asked: Pairs, truth: npt.NDArray[np.bool_], rng: np.random.Generator
) -> FloatArray:
    """Return the ROC-AUC of each of `CONTENDERS` on the pairs ``asked``, of which ``truth`` are edges.

    Parameters
    ----------
    adjacency
        Symmetric sparse matrix of ones with the training edges alone.
    features
        One row per node, dense or sparse, or None.
    train, asked
        Edges to learn from, and pairs to score, two columns each.
    truth
        Which of the asked pairs are edges.
    rng
        Draws non-edges, starts and weights.

    Examples
    --------
    >>> import networkx as nx
    >>> import numpy as np
    >>> from graphnetz.selection.contenders import CONTENDERS, contenders
    >>> graph = nx.connected_caveman_graph(20, 6)
    >>> edges = np.array(graph.edges())
    >>> strangers = np.column_stack([np.arange(60), np.arange(60) + 60])
    >>> asked, truth = np.vstack([edges[:60], strangers]), np.arange(120) < 60
    >>> matrix = nx.to_scipy_sparse_array(graph, format="csr", dtype=float)
    >>> found = contenders(matrix, None, edges, asked, truth, np.random.default_rng(0))
    >>> len(found) == len(CONTENDERS), bool(found.min() > 0.9)
    (True, True)
    """
    x = narrow(features, rng)
    strangers = non_edges(adjacency, len(train), rng)  # among all nodes, as the pairs that are asked for
    if x is None:
        adjacency, train, strangers, asked = _compact(adjacency, train, strangers, asked)
    smooth = _smoothing(adjacency)
    scores = [_boosted(adjacency, x, train, strangers, asked)]
    scores += [products(spectral(adjacency, size, rng), asked) for size in (16, 64)]
    one = steps(adjacency, 16, 1, rng)
    scores += [products(one, asked), products(steps(adjacency, 32, 2, rng), asked)]
    found = [auc(value, truth) for value in scores]
    return np.array(found + [_trained(smooth, hops, x, train, strangers, asked, truth, rng) for hops in (2, 5)])


def _compact(adjacency: Any, *pairs: Pairs) -> tuple[Any, ...]:
    """One node for all that have no edge: without features nothing tells them apart, and there may be millions."""
    bare = np.asarray(adjacency.sum(axis=1)).ravel() == 0
    kept = np.sort(np.concatenate([np.flatnonzero(~bare), np.flatnonzero(bare)[:1]]))
    place = np.full(len(bare), np.searchsorted(kept, np.argmax(bare)))
    place[kept] = np.arange(len(kept))
    return adjacency[kept][:, kept], *(place[one] for one in pairs)


def auc(scores: FloatArray, truth: npt.NDArray[np.bool_]) -> float:
    """Area under the ROC curve; a half where only one kind was asked for."""
    from scipy.stats import rankdata

    rank, positive = rankdata(scores), int(truth.sum())
    if not 0 < positive < len(truth):
        return 0.5
    return float((rank[truth].sum() - positive * (positive + 1) / 2) / (positive * (len(truth) - positive)))


def products(x: FloatArray, pairs: Pairs) -> FloatArray:
    """Dot products of both ends."""
    return np.asarray((x[pairs[:, 0]] * x[pairs[:, 1]]).sum(axis=1))


def narrow(features: Any, rng: np.random.Generator) -> FloatArray | None:
    """Features as long as a learned vector on average, as the engine has them; of many the leading components."""
    if features is None:
        return None
    if features.shape[1] > _WIDEST:
        left, size = _factors(sp.csr_matrix(features, dtype=np.float64), _WIDEST, rng)
        x = np.asarray(left * size)
    else:
        x = np.asarray(features.todense() if hasattr(features, "todense") else features, dtype=np.float64)
    length = float(np.sqrt((x * x).sum(axis=1).mean()))
    return np.asarray(x * (np.sqrt(_WIDTH) / length if length > 0 else 1.0))


def _factors(matrix: Any, size: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    """Leading left singular vectors and values, randomised."""
    from sklearn.utils.extmath import randomized_svd

    left, strength, _ = randomized_svd(matrix, size, n_iter=3, random_state=int(rng.integers(2**31)))
    return np.asarray(left), np.asarray(strength)


def non_edges(adjacency: Any, count: int, rng: np.random.Generator) -> Pairs:
    """Random pairs of different nodes without a training edge; fewer where there are hardly any."""
    drawn = rng.integers(0, adjacency.shape[0], (2 * count + 8, 2))
    drawn = drawn[drawn[:, 0] != drawn[:, 1]]
    return np.asarray(drawn[np.asarray(adjacency[drawn[:, 0], drawn[:, 1]]).ravel() == 0][:count])


def spectral(adjacency: Any, size: int, rng: np.random.Generator) -> FloatArray:
    """Leading eigenvectors of the normalised adjacency over the root of the degree, without the first."""
    from scipy.sparse.linalg import ArpackError, eigsh

    nodes = adjacency.shape[0]
    root = np.sqrt(np.maximum(np.asarray(adjacency.sum(axis=1)).ravel(), 1.0))
    matrix = sp.diags(1 / root) @ adjacency @ sp.diags(1 / root)
    if nodes <= _SMALL:
        vectors = np.linalg.eigh(matrix.toarray())[1][:, ::-1][:, : size + 1]
    else:
        try:
            start = rng.uniform(-1.0, 1.0, nodes)
            vectors = eigsh(matrix, k=size + 1, which="LA", v0=start, tol=1e-2, maxiter=20 * nodes)[1][:, ::-1]
        except ArpackError:  # eigenvalues that coincide, as on paths
            vectors = _factors(matrix + sp.identity(nodes, format="csr"), size + 1, rng)[0]
    return np.asarray(vectors[:, 1:] / root[:, None])


def steps(adjacency: Any, size: int, count: int, rng: np.random.Generator) -> FloatArray:
    """Factors of positive log transition probabilities of 1 to ``count`` steps (GraRep: Cao et al., 2015)."""
    from scipy.sparse.linalg import ArpackError, svds

    nodes = adjacency.shape[0]
    step = sp.diags(1 / np.maximum(np.asarray(adjacency.sum(axis=1)).ravel(), 1.0)) @ adjacency
    reached, out = step, []
    for turn in range(count):
        table = (reached @ step if turn else step).tocoo()
        reached = table.tocsr()
        arrivals = np.asarray(reached.sum(axis=0)).ravel()
        value = np.log(table.data / arrivals[table.col]) + np.log(nodes)
        keep = value > 0
        positive = sp.csr_matrix((value[keep], (table.row[keep], table.col[keep])), shape=(nodes, nodes))
        if nodes <= _SMALL:
            left, strength, _ = np.linalg.svd(positive.toarray())
            out.append(left[:, :size] * np.sqrt(strength[:size]))
        elif positive.nnz:
            try:
                left, strength, _ = svds(positive, k=size, v0=rng.uniform(-1.0, 1.0, nodes), tol=1e-2)
            except ArpackError:
                left, strength = _factors(positive, size, rng)
            out.append(left * np.sqrt(strength))
    return np.concatenate([np.zeros((nodes, 1)), *out], axis=1)


def _boosted(adjacency: Any, x: FloatArray | None, train: Pairs, strangers: Pairs, asked: Pairs) -> FloatArray:
    """Boosted trees on pairs described as if they had no edge (`graphnetz.models.GradientBoosting`)."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    rows = np.vstack([_rows(train, adjacency, x, known=True), _rows(strangers, adjacency, x, known=False)])
    if not len(strangers) or not len(train):
        return np.zeros(len(asked))
    trees = HistGradientBoostingClassifier(
        max_iter=_ROUNDS, learning_rate=_RATE, max_leaf_nodes=15, early_stopping=False, random_state=0,
        min_samples_leaf=int(np.clip(len(rows) // 25, 2, 20)),
    )  # fmt: skip
    trees.fit(rows, np.arange(len(rows)) < len(train))
    return np.asarray(trees.decision_function(_rows(asked, adjacency, x, known=False)))


def _rows(pairs: Pairs, adjacency: Any, x: FloatArray | None, *, known: bool) -> FloatArray:
    a, b = pairs.T
    degree = np.asarray(adjacency.sum(axis=1)).ravel()
    own = degree[pairs] - known
    sizes = np.log1p(own)
    shared = adjacency[a].multiply(adjacency[b]).tocsr()
    weights = 1 / np.log(np.maximum(degree, 2.0))
    columns = [np.sort(sizes, axis=1), sizes.sum(axis=1), np.asarray(shared.sum(axis=1)).ravel(), shared @ weights]
    if x is not None:
        total = adjacency @ x
        one, other = (
            np.hstack([x[i], (total[i] - known * x[j]) / np.maximum(own[:, [side]], 1.0)])
            for side, (i, j) in enumerate(((a, b), (b, a)))
        )
        columns += [one * other, np.abs(one - other)]
    return np.column_stack(columns)


def _smoothing(adjacency: Any) -> Any:
    held = adjacency + sp.identity(adjacency.shape[0], format="csr")
    scale = sp.diags(1 / np.sqrt(np.asarray(held.sum(axis=1)).ravel()))
    return (scale @ held @ scale).astype(np.float32)


def _trained(
    smooth: Any, hops: int, x: FloatArray | None, train: Pairs, strangers: Pairs, asked: Pairs, truth: Any,
    rng: np.random.Generator,
) -> float:  # fmt: skip
    """Best AUC in training of dot products of smoothed features, or of learned vectors where there are none (SGC)."""
    nodes, joins = smooth.shape[0], np.diff(smooth.indptr) > 1
    if x is None:  # what stands for all nodes without an edge has a vector that tells nothing
        strangers = strangers[joins[strangers].all(axis=1)]
    pairs = np.concatenate([train, strangers])
    target = (np.arange(len(pairs)) < len(train)).astype(np.float32)
    order = np.argsort(np.concatenate([pairs[:, 0], pairs[:, 1]]), kind="stable")
    ends = np.concatenate([pairs[:, 1], pairs[:, 0]])[order]
    place = np.concatenate([[0], np.cumsum(np.bincount(pairs.ravel(), minlength=nodes))])

    def spread(z: Any) -> Any:
        for _ in range(hops):
            z = smooth @ z
        return z

    wide = _WIDTH if x is None else x.shape[1]
    bound = 1 / np.sqrt(wide)
    weight, bias = rng.uniform(-bound, bound, (wide, _WIDTH)), rng.uniform(-bound, bound, _WIDTH)
    learned = [weight.astype(np.float32), bias.astype(np.float32)]
    if x is None:
        learned.append((rng.standard_normal((nodes, wide)) * joins[:, None]).astype(np.float32))
    held = None if x is None else spread(x.astype(np.float32))
    moments = [(np.zeros_like(value), np.zeros_like(value)) for value in learned]
    best = since = 0.0
    for epoch in range(_EPOCHS + 1):
        h = spread(learned[2]) if held is None else held
        z = h @ learned[0] + learned[1]
        if epoch % _EVERY == 0:
            found = auc(products(z, asked), truth)
            best, since = (found, 0) if found > best else (best, since + _EVERY)
            if since >= _PATIENCE:
                break
        score = products(z, pairs)
        slope = (1 / (1 + np.exp(-np.clip(score, -30, 30))) - target) / len(pairs)
        joined = sp.csr_matrix((np.concatenate([slope, slope])[order], ends, place), shape=(nodes, nodes))
        back = joined @ z
        slopes = [h.T @ back, back.sum(axis=0)] + ([] if held is not None else [spread(back @ learned[0].T)])
        for value, slope_, (mean, square) in zip(learned, slopes, moments, strict=True):
            mean += 0.1 * (slope_ - mean)
            square += 0.001 * (slope_**2 - square)
            corrected = mean / (1 - 0.9 ** (epoch + 1))
            value -= _STEP * corrected / (np.sqrt(square / (1 - 0.999 ** (epoch + 1))) + 1e-8)
    return best
