"""Tables 5 to 15 of GLEMOS (Park et al., 2023); standard errors of 5 to 8 are from 16 to 19."""

from __future__ import annotations

import functools

from graphnetz.records.suite import Published, read_published
from graphnetz.selection.study import PUBLISHED


@functools.cache
def published_table() -> tuple[Published, ...]:
    """Return every published figure; testbed, features, sparsity and standard_error are further columns."""
    return read_published("graphnetz.papers.glemos")


@PUBLISHED.register("glemos")
def published_value(testbed: str, task: str, features: str, metric: str, selector: str) -> float:
    """Look one published figure up; NaN where the paper has none.

    Examples
    --------
    >>> published_value("fully observed", "link_pred", "regular", "auc", "metagl")
    0.875
    """
    kind, _, level = testbed.partition(" ") if testbed.startswith("sparse") else (testbed, "", "")
    kind = "cross task" if " to " in task else kind
    wanted = (task, selector, metric, kind, features, level.rstrip("%"))
    return _index().get(wanted, float("nan"))


@functools.cache
def _index() -> dict[tuple[str, ...], float]:
    return {
        (row.task, row.model, row.metric, row.more["testbed"], row.more["features"], row.more["sparsity"]): row.mean
        for row in reversed(published_table())
    }
