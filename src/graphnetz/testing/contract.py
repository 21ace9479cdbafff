"""What all contract suites share: one sentence per broken promise."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np


def require(holds: Any, sentence: str) -> None:
    """Raise `AssertionError` with ``sentence`` unless ``holds``.

    Examples
    --------
    >>> require(1 < 2, "one is not below two")
    """
    if not holds:
        raise AssertionError(sentence)


def tensors(graphs: Iterable[Any]) -> list[Any]:
    """Every tensor of every graph, in a fixed order."""
    return [value for g in graphs for _, value in sorted(g.to_dict().items()) if hasattr(value, "detach")]


def same(first: list[Any], second: list[Any]) -> bool:
    """Whether two lists of tensors or arrays are equal bit by bit; NaN equals NaN."""
    return len(first) == len(second) and all(
        np.array_equal(a, b, equal_nan=np.issubdtype(np.asarray(a).dtype, np.inexact))
        for a, b in zip(first, second, strict=True)
    )
