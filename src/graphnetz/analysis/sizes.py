"""Parameter counts of a report, and whether its comparisons are between models of equal size."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from graphnetz._core.text import shorten
from graphnetz.records import CellResult
from graphnetz.records.analysis import Verdict

CLOSE = 0.02
"""Relative distance from a budget within which nothing is said."""


def parameter_counts(results: Sequence[CellResult]) -> dict[tuple[str, str], int]:
    """Largest number of trainable parameters of every (task, model) that has any."""
    counts: dict[tuple[str, str], int] = {}
    for result in results:
        if result.ok and result.parameters:
            key = (result.task, result.model)
            counts[key] = max(counts.get(key, 0), result.parameters)
    return counts


def size_verdicts(counts: Mapping[tuple[str, str], int], budgets: Mapping[str, Mapping[str, Any]]) -> list[Verdict]:
    """Warnings about comparisons that asked for equal budgets and are not at equal size.

    ``budgets[task][model]`` is the number of parameters asked for, None for a model that kept its width. Tasks
    without any budget are left alone: nobody claimed that their models are of one size.
    """
    out = []
    for task, models in budgets.items():
        asked = sorted({int(value) for value in models.values() if value is not None})
        free = [model for model, value in models.items() if value is None]
        if len(asked) > 1 or (asked and free):
            sizes = ", ".join(f"{shorten(m)} {counts[task, m]:,}" for m in models if (task, m) in counts)
            out.append(Verdict("warning", task, f"Unequal parameter budgets are compared here: {sizes}."))
            continue
        far = [
            f"{shorten(model)} {counts[task, model]:,} ({100 * error:+.1f} %)"
            for model, value in models.items()
            if value and (task, model) in counts and abs(error := counts[task, model] / int(value) - 1) > CLOSE
        ]
        if far:
            text = f"Parameters more than {100 * CLOSE:.0f} % from the budget of {asked[0]:,}: {', '.join(far)}."
            out.append(Verdict("warning", task, text))
    return out
