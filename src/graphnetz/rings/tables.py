"""The tables of an evaluation, as plain records for the page."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from graphnetz._core.registry import Registry
from graphnetz.metrics import label_of
from graphnetz.records import Table
from graphnetz.rings.statistics import by_split

if TYPE_CHECKING:
    import pandas as pd

    from graphnetz.rings.evaluation import DatasetEvaluation

COMPARISONS: Registry[Callable[[DatasetEvaluation], Sequence[Table]]] = Registry(
    "comparison", homes=("graphnetz.papers.rings",)
)
"""What others have published about a dataset, as tables beside ours; nothing where it is not in their paper."""


def evaluation_tables(evaluation: DatasetEvaluation) -> tuple[Table, ...]:
    """Return decisions, scores, pairs of modes, diversity, statistics of the data, and what the paper printed."""
    found = (
        decision_table(evaluation),
        score_table(evaluation),
        pair_table(evaluation),
        diversity_table(evaluation),
        statistics_table(evaluation),
        split_table(evaluation),
        *(table for compare in COMPARISONS.values() for table in compare(evaluation)),
    )
    return tuple(table for table in found if table is not None)


def score_table(evaluation: DatasetEvaluation) -> Table:
    """Test scores by metric, model and mode."""
    rows = []
    frame = evaluation.to_frame().sort_values("metric", kind="stable")
    for metric, model, mode, mean, std, count in frame.itertuples(index=False, name=None):
        best = "best" if evaluation.best[metric].get(mode) == model else ""
        rows.append((label_of(metric), model, mode, plain(mean), plain(std), int(count), best))
    caption = "Test scores by mode; the model of each mode that is best on validation enters the comparison."
    return Table(("metric", "model", "mode", "mean", "std", "runs", ""), tuple(rows), caption)


def decision_table(evaluation: DatasetEvaluation) -> Table | None:
    """The original against each perturbation: what decides."""
    rows = tuple(
        (
            label_of(metric), part, item.mode, plain(item.difference), plain(item.low), plain(item.high), item.units,
            "yes" if item.better else "no", "yes" if item.within else "no",
        )
        for metric, both in evaluation.decisions.items()
        for part, found in both.items()
        for item in found.against
    )  # fmt: skip
    caption = "Advantage of the original over each perturbation, paired by run: these tests decide."
    columns = ("metric", "about", "mode", "difference", "low", "high", "units", "better", "below the margin")
    return Table(columns, rows, caption) if rows else None


def pair_table(evaluation: DatasetEvaluation) -> Table:
    """The test of every pair of modes."""
    rows = tuple(
        (label_of(metric), c.a, c.b, plain(c.statistic), plain(c.p), plain(p_adj), "yes" if apart else "no", c.differs)
        for metric, item in evaluation.separability.items()
        for c, p_adj, apart in zip(item.comparisons, item.p_adj, item.separable, strict=True)
    )
    first = next(iter(evaluation.separability.values()))
    how = f"{first.statistic}, alpha {first.alpha:g}, correction {first.correction}"
    caption = f"All pairs of modes, as a description: {how}."
    return Table(("metric", "a", "b", "statistic", "p", "adjusted p", "separable", "differs in"), rows, caption)


def diversity_table(evaluation: DatasetEvaluation) -> Table:
    """Diversity of both modes with its symbols."""
    found = evaluation.diversity
    rows = tuple(
        (name, plain(found.mean[name]), plain(found.std[name]), *found.symbols[name])
        for name in ("structural", "features")
    )
    return Table(("mode", "mean", "std", "level", "spread"), rows, "Mode diversity over the graphs, from -- to ++.")


def statistics_table(evaluation: DatasetEvaluation) -> Table | None:
    """Size, degree, density and complementarity of the original graphs (the columns of the paper's Table 3)."""
    found = evaluation.statistics
    if found is None:
        return None
    rows = tuple((name, plain(found.mean[name]), plain(found.std[name])) for name in found.columns)
    return Table(("", "mean", "std"), rows, f"The {found.graphs} graphs; edges are counted in both directions.")


def split_table(evaluation: DatasetEvaluation) -> Table | None:
    """Complementarity of the original graphs by part of the first run's split."""
    if not evaluation.parts:
        return None
    frame = by_split(evaluation.complementarity.at(1)["o"], evaluation.parts)
    rows = tuple(
        (str(part), int(row["graphs"]), plain(row["mean"]), plain(row["std"]), plain(row["low"]), plain(row["high"]))
        for part, row in frame.iterrows()
    )
    columns = ("part", "graphs", "mean", "std", "2.5 %", "97.5 %")
    return Table(columns, rows, "Mode complementarity at t = 1 by part of the first run's split.")


def as_table(frame: pd.DataFrame, caption: str) -> Table:
    """Return a frame as a table of the page."""
    rows = tuple(
        tuple(plain(value) if isinstance(value, float) else value for value in row)
        for row in frame.itertuples(index=False, name=None)
    )
    return Table(tuple(str(name).replace("_", " ") for name in frame.columns), rows, caption)


def plain(value: Any) -> float | None:
    """Return a JSON number; undefined is null."""
    return float(value) if np.isfinite(value) else None
