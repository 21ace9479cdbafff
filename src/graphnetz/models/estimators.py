"""Estimators of scikit-learn in the same table: on features, or on an embedding of the graph."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphnetz._core.errors import UsageError
from graphnetz.models.predictors import FeatureOnly, Scores, design
from graphnetz.models.spec import MODELS, ModelSpec
from graphnetz.tasktypes import Split
from graphnetz.tasktypes.packing import PackedGraphs

_CLASSIFIED = frozenset({"node_cls", "graph_cls", "edge_cls", "link_pred"})
_VALUED = frozenset({"graph_reg", "multi_reg"})


def is_estimator(value: Any) -> bool:
    """Whether a value is an estimator of scikit-learn, or a class of them.

    Examples
    --------
    >>> from sklearn.svm import SVC
    >>> is_estimator(SVC), is_estimator(SVC(C=2.0)), is_estimator("SVC")
    (True, True, False)
    """
    return all(hasattr(value, name) for name in ("fit", "predict", "get_params", "set_params"))


def on_rows(estimator: Any, rows: str = "features") -> ModelSpec:
    """Make a model of an estimator of scikit-learn.

    Parameters
    ----------
    estimator
        A classifier or regressor, or its class, which is then made with its own defaults. It is cloned for every
        cell, and told the cell's seed where it has a ``random_state``.
    rows
        What it is fitted on: ``"features"`` (of nodes; of graphs their mean and size, of pairs the product of both
        ends, of edges both ends), or the name of an embedding such as ``"SpectralEmbedding"``.

    Returns
    -------
    ModelSpec
        For ``run_benchmark(models=...)``; a classifier serves classes and links, a regressor values.

    Examples
    --------
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> spec = on_rows(RandomForestClassifier(n_estimators=10))
    >>> spec.name, sorted(spec.task_types)
    ('RandomForestClassifier', ['edge_cls', 'graph_cls', 'link_pred', 'node_cls'])
    """
    from sklearn.base import clone, is_classifier, is_regressor

    made = estimator() if isinstance(estimator, type) else clone(estimator)
    kinds = (_CLASSIFIED if is_classifier(made) else frozenset()) | (_VALUED if is_regressor(made) else frozenset())
    if not kinds:
        raise UsageError(f"{type(made).__name__} is neither a classifier nor a regressor of scikit-learn.")
    if rows != "features":
        if not hasattr(MODELS[rows].cls, "embed"):
            known = sorted(name for name, spec in MODELS.items() if hasattr(spec.cls, "embed"))
            raise UsageError(f"{rows!r} is no embedding. Known: {', '.join(known)}.")
        kinds &= {"node_cls", "link_pred"}
    return ModelSpec(Estimator, frozenset(kinds), kwargs={"estimator": made, "rows": rows})


class Estimator(FeatureOnly):
    """A clone of an estimator of scikit-learn per label or target; made by `on_rows`."""

    def __init__(self, estimator: Any, rows: str = "features") -> None:
        super().__init__()
        self.estimator = estimator
        self.on = rows

    def _design(self, split: Split, rng: np.random.Generator) -> Scores:
        if self.on == "features":
            return design(split)
        if isinstance(split.data, PackedGraphs):
            raise UsageError(f"{self.on} embeds one graph: vectors of separate graphs have no common axes.")
        from graphnetz.models.heuristics import adjacency_of

        embedding = MODELS[self.on].build("node_cls", split.dims, 0)
        return design(split, np.asarray(embedding.embed(adjacency_of(split), rng)))

    def _estimator(self, split: Split, rng: np.random.Generator) -> Any:
        from sklearn.base import clone

        made = clone(self.estimator)
        seeded = [key for key in made.get_params() if key.rpartition("__")[2] == "random_state"]
        unset = {key: int(rng.integers(2**31)) for key in seeded if made.get_params()[key] is None}
        return made.set_params(**unset)

    def _score(self, rows: np.ndarray, split: Split) -> np.ndarray:
        if not self.classify:
            return np.stack([np.asarray(m.predict(rows), dtype=float) for m in self.models], axis=1)
        self.models = [m if isinstance(m, float | _Decides) else _Decides(m) for m in self.models]
        return super()._score(rows, split)


class _Decides:
    """An estimator seen by its decision values; by the logarithm of its probabilities where it has none."""

    def __init__(self, inner: Any) -> None:
        self.inner, self.classes_ = inner, inner.classes_

    def decision_function(self, rows: np.ndarray) -> np.ndarray:
        if hasattr(self.inner, "decision_function"):
            return np.asarray(self.inner.decision_function(rows))
        if not hasattr(self.inner, "predict_proba"):
            chosen = np.asarray(self.inner.predict(rows))
            hot = (chosen[:, None] == self.classes_[None]).astype(float)
            return np.asarray(hot[:, 1] - 0.5 if len(self.classes_) == 2 else hot)
        log = np.log(np.clip(self.inner.predict_proba(rows), 1e-12, None))
        return np.asarray(log[:, 1] - log[:, 0] if log.shape[1] == 2 else log)
