"""From what models predicted to what each test example contributes to their scores."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from graphnetz._core.errors import IntegrityError, StoreError
from graphnetz.metrics import positive_score
from graphnetz.records import CellResult, Contributions, Predictions
from graphnetz.records.digests import predictions_digest
from graphnetz.records.kept import Kept, read_examples, shared_hash
from graphnetz.records.task_info import TaskInfo
from graphnetz.stats.contributions import ap_influence, auc_influence, r2_influence, ratio_influence

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]

FEW = 20
"""Examples of either class below which influences on a score of classes say too little."""

SOME_SEEDS = "predictions of some seeds only were kept"

MAX_VALUES = 50_000_000
"""Values of one table (models x seeds x examples): 400 MB."""


class NotAssessedError(Exception):
    """Why there are no contributions."""


Reader = Callable[[str], list[Kept]]
"""What looks up the predictions of a task."""


def example_reader(
    results: Sequence[CellResult], tasks: Mapping[str, TaskInfo], folder: str | Path | Reader | None = None
) -> Callable[[str], Contributions | None]:
    """Return what looks up the contributions of a task when they are asked for, and keeps them.

    Parameters
    ----------
    results
        Finished cells, with or without predictions.
    tasks
        Declared facts per task.
    folder
        Run folder whose ``examples/`` holds the predictions that the cells do not, or what looks them up.

    Returns
    -------
    callable
        ``(task) -> Contributions``, or None where nothing was kept. A file that cannot be read is a reason in the
        record where no cell says what it predicted, and an `IntegrityError` otherwise.

    Examples
    --------
    >>> kept = Predictions(np.array([7, 9]), np.array([0, 1]), np.array([0, 0], dtype=np.uint8))
    >>> cell = CellResult("", "cora", "GCN", 3, metric="test_acc", metrics={"test_acc": 0.5}, predictions=kept)
    >>> example_reader([cell], {"cora": TaskInfo("test_acc")})("cora").values["GCN"].tolist()
    [[1.0, 0.0]]
    """
    by_task: dict[str, list[CellResult]] = {}
    for result in results:
        if result.ok:
            by_task.setdefault(result.task, []).append(result)

    @functools.cache
    def find(task: str) -> Contributions | None:
        cells = by_task.get(task, [])
        if task not in tasks or not cells:
            return None
        kept = [Kept(c.model, c.seed, c.predictions) for c in cells if c.predictions is not None]
        try:
            kept = _completed(kept, cells, task, folder)
        except StoreError as error:
            if isinstance(error, IntegrityError) or any(cell.predicted for cell in cells):
                raise IntegrityError(f"{error} Restore it from a copy, or remove the folder 'examples'.") from None
            return Contributions(task, tasks[task].metric, (), (), np.empty(0, np.int64), reason=str(error))
        scores = {(cell.model, cell.seed): cell.metrics.get(tasks[task].metric, math.nan) for cell in cells}
        kept = [cell for cell in kept if math.isfinite(scores.get((cell.model, cell.seed), math.nan))]
        whole = _of_all_seeds(kept, scores)
        if kept and not whole:
            return Contributions(task, tasks[task].metric, (), (), np.empty(0, np.int64), reason=SOME_SEEDS)
        return contributions(task, tasks[task], whole, scores) if whole else None

    return find


def _completed(
    kept: list[Kept], cells: Sequence[CellResult], task: str, place: str | Path | Reader | None
) -> list[Kept]:
    """Add what lies elsewhere: in a folder where the cells hold nothing, in those of several runs what they lack."""
    if kept and (place is None or isinstance(place, str | Path)):
        return kept
    there = {(one.model, one.seed) for one in kept}
    return kept + _as_digested(
        [one for one in looked_up(task, place) if (one.model, one.seed) not in there], cells, task
    )


def looked_up(task: str, place: str | Path | Reader | None) -> list[Kept]:
    """Return what was predicted for a task and lies in a run folder, or in what looks it up in several.

    Examples
    --------
    >>> looked_up("cora", None)
    []
    """
    if place is None:
        return []
    return read_examples(place, task) if isinstance(place, str | Path) else place(task)


def _of_all_seeds(kept: list[Kept], scores: Mapping[tuple[str, int], float]) -> list[Kept]:
    """Leave out models of which only some seeds kept predictions: a claim is about the runs whose mean is shown."""
    there = {(cell.model, cell.seed) for cell in kept}
    partly = {model for (model, seed), score in scores.items() if math.isfinite(score) and (model, seed) not in there}
    return [cell for cell in kept if cell.model not in partly]


def _as_digested(kept: list[Kept], cells: Sequence[CellResult], task: str) -> list[Kept]:
    """Refuse predictions that are not those of their cells."""
    known = {(cell.model, cell.seed): cell.predicted for cell in cells if cell.predicted}
    hashes: dict[int, str] = {}
    for model, seed, predictions in kept:
        shared = id(predictions.example)
        tested = hashes.get(shared) or hashes.setdefault(shared, shared_hash(predictions))
        wanted = known.get((model, seed))
        if wanted is not None and predictions_digest(predictions, tested) != wanted:
            raise IntegrityError(f"The predictions of {task} / {model} / seed {seed} do not match their digest.")
    return kept


def contributions(
    task: str, info: TaskInfo, kept: Sequence[Kept], scores: Mapping[tuple[str, int], float]
) -> Contributions:
    """Compute what each test example contributes to the scores of one task.

    Parameters
    ----------
    task, info
        The task, and what is declared about it.
    kept
        What its cells predicted.
    scores
        Headline score by (model, seed); pseudo-values are centred at it.

    Returns
    -------
    Contributions
        With a reason where the metric has no contributions of single examples, or too few examples of a class.

    Examples
    --------
    >>> kept = [Kept("GCN", 0, Predictions(np.array([7, 9]), np.array([1.0, 2.0]), np.array([1.5, 2.0])))]
    >>> contributions("zinc", TaskInfo("test_mae"), kept, {("GCN", 0): 0.25}).values["GCN"].tolist()
    [[0.5, 0.0]]
    """
    found = Contributions(task, info.metric, (), (), np.empty(0, np.int64))
    try:
        parts = [(cell, *_of_cell(info.metric, cell.predictions, scores[cell.model, cell.seed])) for cell in kept]
        wrong = {part[0].model for part in parts if not _adds_up(part, scores)}
        parts = [part for part in parts if part[0].model not in wrong]
        if not parts:
            raise NotAssessedError("the kept predictions do not give the scores")
        return _table(found, parts, fresh=info.replication == "regenerate")
    except NotAssessedError as why:
        return replace(found, reason=str(why))


def _adds_up(part: tuple[Kept, Predictions, Floats, bool], scores: Mapping[tuple[str, int], float]) -> bool:
    """Whether losses average to the score; those of one class do not where a tie scores what guessing would."""
    cell, tested, values, exact = part
    score = scores[cell.model, cell.seed]
    return not exact or not tested.complete or abs(float(values.mean()) - score) <= 1e-5 * max(1.0, abs(score))


def _table(
    found: Contributions, parts: Sequence[tuple[Kept, Predictions, Floats, bool]], *, fresh: bool
) -> Contributions:
    """Put the values of all cells side by side: one column per example, one row per seed."""
    seeds = tuple(sorted({cell.seed for cell, *_ in parts}))
    models = tuple(dict.fromkeys(cell.model for cell, *_ in parts))
    splits: dict[tuple[str, int], int] = {}
    shared: list[Predictions] = []
    numbers: dict[int, int] = {}
    hashes: dict[int, str] = {}
    for cell, tested, *_ in sorted(parts, key=lambda part: part[0].seed):
        name = hashes.get(id(tested.example)) or hashes.setdefault(id(tested.example), shared_hash(tested))
        # Where every seed has data of its own, equal numbers do not mean equal examples.
        key = (name, cell.seed if fresh else 0)
        if key not in splits:
            splits[key] = len(splits)
            shared.append(tested)
        if numbers.setdefault(cell.seed, splits[key]) != splits[key]:
            raise NotAssessedError(f"the models of seed {cell.seed} were tested on different examples")
    columns, ids = _columns(shared, fresh=fresh)
    if len(models) * len(seeds) * len(ids) > MAX_VALUES:
        size = f"{len(models)} models, {len(seeds)} seeds and {len(ids)} examples"
        raise NotAssessedError(f"a table of {size} is too large")
    values = {model: np.full((len(seeds), len(ids)), np.nan) for model in models}
    for cell, _, value, _ in parts:
        values[cell.model][seeds.index(cell.seed), columns[numbers[cell.seed]]] = value
    first = shared[0]
    return replace(
        found, seeds=seeds, splits=tuple(numbers[seed] for seed in seeds), examples=ids, values=values,
        kind="loss" if all(exact for *_, exact in parts) else "pseudo", unit=first.unit, one_graph=first.one_graph,
        ends=_side_by_side([part.ends for part in shared], columns, len(ids), fresh=fresh),
        blocks=_side_by_side([part.blocks for part in shared], columns, len(ids), fresh=fresh),
        total=0 if all(part.complete for part in shared) else max(part.total for part in shared),
    )  # fmt: skip


def _columns(shared: Sequence[Predictions], *, fresh: bool) -> tuple[list[Array], Array]:
    """Column of every example of every split, and the id of every column."""
    ids = [_distinct(np.asarray(part.example, dtype=np.int64)) for part in shared]
    if fresh:
        width = max(int(part.max(initial=0)) for part in ids) + 1
        ids = [part + number * width for number, part in enumerate(ids)]
    every = np.unique(np.concatenate(ids))
    return [np.searchsorted(every, part) for part in ids], every


def _distinct(ids: Array) -> Array:
    """Give examples that occur twice in a test set, such as sampled negatives, numbers of their own."""
    unique, inverse, counts = np.unique(ids, return_inverse=True, return_counts=True)
    if len(unique) == len(ids):
        return ids
    order = np.argsort(inverse, kind="stable")
    turn = np.empty(len(ids), dtype=np.int64)
    turn[order] = np.arange(len(ids)) - np.repeat(np.cumsum(counts) - counts, counts)
    return ids + turn * (int(unique[-1]) + 1)


def _side_by_side(parts: Sequence[Array | None], columns: Sequence[Array], width: int, *, fresh: bool) -> Array | None:
    """One table of ends or blocks for all splits; nodes and graphs of data that a seed made anew keep apart."""
    known = [part for part in parts if part is not None]
    if len(known) < len(parts):
        return None
    apart = max(int(part.max(initial=0)) for part in known) + 1 if fresh else 0
    found = np.zeros((width, *known[0].shape[1:]), dtype=np.int64)
    for number, (place, part) in enumerate(zip(columns, known, strict=True)):
        found[place] = part + number * apart
    return found


# One cell: its values, and whether they are exact losses


def _of_cell(metric: str, kept: Predictions, score: float) -> tuple[Predictions, Floats, bool]:
    """Return the examples that count, their values, and whether these are losses as they are."""
    key = metric.partition("_")[2] if metric.startswith(("train_", "val_", "test_")) else metric
    if kept.node_columns:
        return _of_graphs(key, kept, score)
    if kept.ranked:
        return kept, _of_ranks(key, np.asarray(kept.score, dtype=float)), True
    if key == "mrr" or key.startswith("hits@"):
        return _of_positives(key, kept)
    if key in EXACT and not (key in ("acc", "micro_f1") and kept.multilabel):
        return kept, EXACT[key](kept), True
    if key not in INFLUENCE:
        raise NotAssessedError(f"the metric {key!r} has no contributions of single examples")
    influence = INFLUENCE[key](kept)
    return kept, score + influence - influence.mean(), False


def _errors(kept: Predictions) -> Floats:
    score = np.asarray(kept.score, dtype=float).reshape(len(kept.example), -1)
    return np.asarray(np.asarray(kept.target, dtype=float).reshape(score.shape) - score)


def _right(kept: Predictions) -> Floats:
    return np.asarray(kept.classes == kept.target.reshape(-1), dtype=float)


EXACT: Mapping[str, Callable[[Predictions], Floats]] = {
    "acc": _right,
    "micro_f1": _right,
    "mae": lambda kept: np.abs(_errors(kept)).mean(axis=1),
    "mse": lambda kept: np.square(_errors(kept)).mean(axis=1),
}
"""Metrics that are means of losses of examples."""


def _enough(truth: Array, what: str) -> None:
    fewer = int(min(truth.sum(), (~truth).sum()))
    if fewer < FEW:
        raise NotAssessedError(f"{what} has {fewer} test examples on one side, fewer than {FEW}")


def _decisions(kept: Predictions) -> list[tuple[str, Array, Array, Array]]:
    """For every class, or for every label: its name, known entries, truth and guess."""
    if kept.multilabel:
        known, truth, guess = np.isfinite(kept.target), kept.target > 0.5, kept.score > 0
        return [(f"label {c}", k, truth[:, c], guess[:, c]) for c, k in enumerate(known.T) if k.any()]
    truth, guess = kept.target.reshape(-1), kept.classes
    every = np.ones(len(truth), dtype=bool)
    return [(f"class {c}", every, truth == c, guess == c) for c in np.union1d(truth, guess)]


def _mean_f1(kept: Predictions) -> Floats:
    """Mean over classes or labels of their F1."""
    parts = []
    for name, known, truth, guess in _decisions(kept):
        _enough(truth[known], name)
        parts.append(ratio_influence(2.0 * (truth & guess & known), ((truth & known) * 1.0 + (guess & known))))
    return np.asarray(np.mean(parts, axis=0))


def _mean_recall(kept: Predictions) -> Floats:
    """Mean recall over the classes that occur; with several labels the mean over labels of both their classes."""
    parts = []
    for name, known, truth, guess in _decisions(kept):
        if kept.multilabel:
            _enough(truth[known], name)
            parts += [ratio_influence(1.0 * (side & (guess == truth) & known), 1.0 * (side & known))
                      for side in (truth, ~truth)]  # fmt: skip
        elif truth.any():
            _enough(truth, name)
            parts.append(ratio_influence(1.0 * (truth & guess), 1.0 * truth))
    return np.asarray(np.mean(parts, axis=0))


def _one_f1(kept: Predictions) -> Floats:
    """F1 of class 1, or of all decisions at once where there are several labels."""
    if kept.multilabel:
        known, truth, guess = np.isfinite(kept.target), kept.target > 0.5, kept.score > 0
    else:
        truth, guess = (kept.target.reshape(-1, 1) == 1), (kept.classes.reshape(-1, 1) == 1)
        known = np.ones_like(truth)
    _enough(truth[known], "class 1")
    both = (truth & guess & known).sum(axis=1)
    return ratio_influence(2.0 * both, ((truth & known).sum(axis=1) + (guess & known).sum(axis=1)) * 1.0)


def _label_accuracy(kept: Predictions) -> Floats:
    known = np.isfinite(kept.target)
    right = ((kept.score > 0) == (kept.target > 0.5)) & known
    return ratio_influence(right.sum(axis=1) * 1.0, known.sum(axis=1) * 1.0)


def _ranking(compute: Callable[[Array, Array], Floats], kept: Predictions) -> Floats:
    """Mean over labels, or over classes against the rest, of the influence on a ranking."""
    score = np.asarray(kept.score, dtype=float)
    count = len(kept.example)
    if kept.multilabel:
        columns = [(f"label {c}", np.isfinite(kept.target[:, c]), kept.target[:, c] > 0.5, score[:, c])
                   for c in range(score.shape[1])]  # fmt: skip
    elif score.ndim == 2 and score.shape[1] > 2:
        truth, every = kept.target.reshape(-1), np.ones(count, dtype=bool)
        columns = [(f"class {c}", every, truth == c, score[:, c]) for c in range(score.shape[1])]
    else:
        columns = [("class 1", np.ones(count, dtype=bool), kept.target.reshape(-1) > 0.5, positive_score(score))]
    parts = []
    for name, known, truth, value in columns:
        if truth[known].any() and not truth[known].all():
            _enough(truth[known], name)
            influence = np.zeros(count)
            # A label that is not known for everyone has fewer examples, each of which then weighs more.
            influence[known] = compute(truth[known], value[known]) * (count / known.sum())
            parts.append(influence)
    if not parts:
        raise NotAssessedError("only one class was tested")
    return np.asarray(np.mean(parts, axis=0))


def _root(kept: Predictions) -> Floats:
    """Of a mean square its root: the influence is divided by twice the root."""
    squares = EXACT["mse"](kept)
    mean = float(squares.mean())
    return (squares - mean) / (2 * math.sqrt(mean)) if mean else np.zeros(len(squares))


def _logarithm(kept: Predictions) -> Floats:
    squares = EXACT["mse"](kept)
    return np.asarray((squares - squares.mean()) / (squares.mean() * math.log(10)))


def _r2(kept: Predictions) -> Floats:
    wrong = _errors(kept)
    target = np.asarray(kept.target, dtype=float).reshape(wrong.shape)
    return r2_influence(target, target - wrong)


INFLUENCE: Mapping[str, Callable[[Predictions], Floats]] = {
    "acc": _label_accuracy,
    "balanced_acc": _mean_recall,
    "macro_f1": _mean_f1,
    "micro_f1": _one_f1,
    "f1": _one_f1,
    "auc": functools.partial(_ranking, auc_influence),
    "ap": functools.partial(_ranking, ap_influence),
    "rmse": _root,
    "log_mse": _logarithm,
    "r2": _r2,
}
"""Metrics whose contributions are pseudo-values: the score of the cell + the influence of the example."""


def _of_ranks(key: str, rank: Floats) -> Floats:
    """Hit or reciprocal rank of every true edge among candidates of its own."""
    if key == "mrr":
        return 1.0 / rank
    if not key.startswith("hits@"):
        raise NotAssessedError(f"only ranks of the true edges were kept, which do not give {key}")
    return (rank <= int(key.partition("@")[2])).astype(float)


def _of_positives(key: str, kept: Predictions) -> tuple[Predictions, Floats, bool]:
    """Hits and reciprocal ranks belong to the positives; the negatives are what they are ranked against."""
    if not kept.complete:
        raise NotAssessedError(f"{key} ranks against all negatives, and only a sample of them was kept")
    value = positive_score(np.asarray(kept.score))
    truth = kept.target.reshape(-1) > 0.5
    above, below = value[truth], np.sort(value[~truth])
    if key == "mrr":
        worse = np.searchsorted(below, above, "left") + np.searchsorted(below, above, "right")
        found = 1.0 / (1.0 + below.size - worse / 2.0)
    else:
        place = int(key.partition("@")[2])
        found = (above > below[-place]).astype(float) if below.size >= place else np.ones(above.size)
    large = {name: getattr(kept, name) for name in ("example", "target", "ends", "blocks")}
    chosen = {name: array[truth] for name, array in large.items() if array is not None}
    return replace(kept, **chosen, score=kept.score[truth], total=0), found, True


def _of_graphs(key: str, kept: Predictions, score: float) -> tuple[Predictions, Floats, bool]:
    """Targets of nodes beside those of their graphs: the example is the graph, and every column counts the same."""
    if key not in ("mae", "mse", "rmse"):
        raise NotAssessedError(f"the metric {key!r} has no contributions of single graphs")
    if not kept.complete or kept.blocks is None:
        raise NotAssessedError("only a sample of the nodes was kept")
    graphs, first, member, sizes = np.unique(kept.blocks, return_index=True, return_inverse=True, return_counts=True)
    wrong = np.abs(_errors(kept)) if key == "mae" else np.square(_errors(kept))
    influence = np.zeros(len(graphs))
    for c, column in enumerate(wrong.T):
        of_nodes = c < kept.node_columns
        part = np.bincount(member, weights=column) if of_nodes else column[first]
        whole = sizes if of_nodes else np.ones(len(graphs))
        # A root changes by half as much, relative to itself, as what it is taken of.
        scale = 2 * math.sqrt(part.sum() / whole.sum()) or 1.0 if key == "rmse" else 1.0
        influence += ratio_influence(part, whole) / scale / wrong.shape[1]
    shared = replace(kept, example=graphs, target=np.zeros(len(graphs)), blocks=None, unit="graph", total=0)
    return shared, score + influence - influence.mean(), False
