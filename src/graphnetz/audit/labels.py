"""Labels: given away by a feature, missing from a part, or too uneven for the metric."""

from __future__ import annotations

import numpy as np
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from graphnetz.audit.checks import Found, Inspected, check
from graphnetz.tasktypes.overlap import percent

GIVEN_AWAY = 0.99
ONE_SIDED = 0.80
FEW = 20
_COLUMNS, _ROWS = 64, 5000


@check("label_in_feature")
def label_in_feature(seen: Inspected) -> Found:
    """One single feature from which the target follows."""
    if seen.is_multi or seen.targets["train"].ndim != 1 or not seen.has_features:
        return
    x, y = seen.rows["train"][:_ROWS], seen.targets["train"][:_ROWS]
    if seen.is_class and np.unique(y).size < 2:
        return
    best, where = 0.0, -1
    for column in likely_columns(x, y, seen.is_class, most=_COLUMNS):
        found = _one_column(seen, x[:, column], y, int(column))
        if found > best:
            best, where = found, int(column)
    if best >= GIVEN_AWAY:
        what = "the accuracy" if seen.is_class else "the explained variance"
        yield "leak", f"Feature {where} alone gives the target: {what} of one small tree on it is {best:.3f}.", best


def likely_columns(x: np.ndarray, y: np.ndarray, is_class: bool, *, most: int) -> np.ndarray:
    """Columns with the largest share of variance explained by the target, largest first."""
    centred = x - x.mean(axis=0)
    spread = (centred**2).sum(axis=0)
    if is_class:
        explained = np.zeros(x.shape[1])
        for value in np.unique(y):
            chosen = centred[y == value]
            explained += len(chosen) * chosen.mean(axis=0) ** 2
    else:
        explained = (centred * (y - y.mean())[:, None]).sum(axis=0) ** 2 / max(
            float(((y - y.mean()) ** 2).sum()), 1e-300
        )
    share = np.where(spread > 0, explained / np.maximum(spread, 1e-300), 0.0)
    order = np.argsort(-share, kind="stable")
    return np.asarray(order[spread[order] > 0][:most])


def _one_column(seen: Inspected, x: np.ndarray, y: np.ndarray, column: int) -> float:
    """Quality on the test part of a small tree on one column: balanced accuracy, or explained variance."""
    test, truth = seen.rows["test"][:, [column]], seen.targets["test"]
    if seen.is_class:
        tree = DecisionTreeClassifier(max_leaf_nodes=2 * np.unique(y).size, class_weight="balanced", random_state=0)
        guess = tree.fit(x[:, None], y).predict(test)
        return float(np.mean([(guess[truth == value] == value).mean() for value in np.unique(truth)]))
    if not np.var(truth) > 0:
        return 0.0
    line = np.polynomial.Polynomial.fit(x, y, 1) if np.ptp(x) > 0 else None
    guesses = [DecisionTreeRegressor(max_leaf_nodes=64, random_state=0).fit(x[:, None], y).predict(test)]
    if line is not None:
        guesses.append(line(test[:, 0]))
    return max(float(1 - np.mean((truth - guess) ** 2) / np.var(truth)) for guess in guesses)


@check("degenerate_split")
def degenerate_split(seen: Inspected) -> Found:
    """Parts that are too small, hold one class only, or ask for classes nobody was shown."""
    for part, words in (("test", "test"), ("val", "validation")):
        target = seen.targets[part]
        if len(target) < FEW:
            step = f"{1 / max(len(target), 1):.2g}"
            text = f"The {words} part has {len(target)} examples: its metric moves in steps of {step}."
            yield "warning", text, len(target)
        if seen.is_class and np.unique(target).size == 1:
            yield "warning", f"The {words} part holds one class only.", 1.0
        if not seen.is_class and not seen.is_multi and np.ptp(target) == 0:
            yield "warning", f"All {words} targets are equal.", 0.0
    if seen.is_class:
        shown = np.unique(seen.targets["train"])
        strange = float((~np.isin(seen.targets["test"], shown)).mean())
        if strange > 0:
            yield "warning", f"{percent(strange)} of the test examples have a class that training never shows.", strange


@check("uneven_classes")
def uneven_classes(seen: Inspected) -> Found:
    """Plain accuracy where one class is nearly everything."""
    if not seen.is_class or seen.split.metric != "acc":
        return
    share = seen.nothing
    if share >= ONE_SIDED:
        text = (
            f"Always answering the commonest class has accuracy {share:.3f}: report balanced accuracy or AUC instead."
        )
        yield "warning", text, share
