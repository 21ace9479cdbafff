"""Where the spread of a difference comes from: seeds, splits, examples; as records, table and words."""

from __future__ import annotations

import math
from collections.abc import Sequence

from graphnetz.analysis.reach import Pair, crossed_pairs, why_none
from graphnetz.records import Components, Contributions, ScoreTable, Table
from graphnetz.records.analysis import Verdict

PARTS = ("seed", "split", "example", "rest")


def components_of(
    table: ScoreTable, t: int, pairs: Sequence[Pair], examples: Contributions | None
) -> dict[Pair, Components]:
    """Return where the spread of each difference comes from.

    Parameters
    ----------
    table, t
        Scores, and the number of the task.
    pairs
        Comparisons (a, b).
    examples
        What single examples contribute; None where predictions were not kept.

    Returns
    -------
    dict
        One `Components` per pair, with a reason where there are none.

    Examples
    --------
    >>> import numpy as np
    >>> table = ScoreTable(
    ...     ("cora",), ("GCN", "MLP"), (0,), np.ones((1, 2, 1)), (True,), ("test_acc",), ("init",), (np.nan,), ("cora",)
    ... )
    >>> components_of(table, 0, [("GCN", "MLP")], None)["GCN", "MLP"].reason
    'predictions were not kept'
    """
    task, crossed = table.tasks[t], crossed_pairs(table, t, pairs, examples)
    out = {}
    for a, b in pairs:
        found = crossed.get((a, b))
        if found is None:
            out[a, b] = Components(task, a, b, reason=why_none(examples, (a, b)))
            continue
        shares = {f"{part}_share": getattr(found, f"{part}_share") for part in PARTS}
        out[a, b] = Components(
            task, a, b, found.seed, found.split, found.example, found.rest, **shares, n_seeds=found.n_seeds,
            n_splits=found.n_splits, n_examples=found.n_examples, n_tested=found.n_tested, pool=found.pool,
            reason=found.reason,
        )  # fmt: skip
    return out


def components_table(found: Sequence[Components]) -> Table:
    """Return shares of the variance of each difference as a table.

    Parameters
    ----------
    found
        What `components_of` returned.

    Returns
    -------
    Table
        One row per comparison.

    Examples
    --------
    >>> components_table([Components("cora", "GCN", "MLP", reason="predictions were not kept")]).rows[0][-1]
    'predictions were not kept'
    """
    head = ("task", "a", "b", "seed", "split", "example", "rest", "seeds", "splits", "examples", "note")
    rows = tuple(
        (
            c.task, c.a, c.b, *(_percent(getattr(c, f"{part}_share")) for part in PARTS), c.n_seeds, c.n_splits,
            c.n_examples, c.reason or _merged(c),
        )
        for c in found
    )  # fmt: skip
    return Table(head, rows, "Shares of the variance of the mean difference for new examples (method of moments).")


def _percent(share: float) -> str:
    return "n/a" if math.isnan(share) else f"{100 * share:.0f} %"


def _merged(c: Components) -> str:
    notes = []
    if c.merged:
        notes.append("every split has one seed, so seed holds both")
    if math.isnan(c.split) and c.n_splits == 1:
        notes.append("one split: what another training part would change is not in it")
    if math.isnan(c.rest) and math.isfinite(c.example):
        notes.append("no example was tested twice, so example holds the rest")
    return "; ".join(notes)


def components_words(c: Components) -> Verdict | None:
    """Say where the spread of one difference comes from.

    Parameters
    ----------
    c
        Components of one comparison.

    Returns
    -------
    Verdict or None
        A basis line of level ``info`` that claims ``components``; None where there are no components.

    Examples
    --------
    >>> found = Components(
    ...     "cora", "GCN", "MLP", 1e-5, math.nan, 0.1, 0.1, 0.1, 0.0, 0.8, 0.1, n_seeds=10, n_splits=1, n_examples=1000
    ... )
    >>> components_words(found).text
    'The spread of GCN - MLP comes to 10 % from seeds, 80 % from examples and 10 % from the rest.'
    """
    if c.reason or not math.isfinite(c.example_share):
        return None
    words = {"seed": "seeds", "split": "splits", "example": "examples", "rest": "the rest"}
    if c.merged:
        words["seed"] = "splits with their initialisation"
    parts = [f"{_percent(getattr(c, f'{k}_share'))} from {w}" for k, w in words.items() if math.isfinite(getattr(c, k))]
    text = f"The spread of {c.a} - {c.b} comes to {', '.join(parts[:-1])} and {parts[-1]}."
    sizes = f"{c.n_seeds} seeds, {c.n_splits} split{'s' if c.n_splits != 1 else ''}, {c.n_examples} examples"
    return Verdict("info", c.task, text, "; ".join(filter(None, [sizes, _merged(c)])), ("components",))
