"""Equal parameter budgets: the width at which a model comes closest to a number of parameters."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import nn

from graphnetz._core.errors import UsageError
from graphnetz._core.text import parse_budget
from graphnetz.models.spec import ModelSpec
from graphnetz.tasktypes import Dims

REFUSE = 0.10
"""Relative distance from the budget beyond which a comparison would not be one at equal budgets."""
WIDEST = 16_384
"""Largest width that is tried."""
NEIGHBOURS = 8
"""Widths around the crossing that are counted one by one; counts need not grow with every step."""

GAP = 32
"""Longest run of widths that a constructor may refuse, for instance because heads must divide them."""


@dataclass(frozen=True)
class BudgetResult:
    """The chosen width, its exact number of parameters, and how far that is from the budget.

    ``relative_error`` is signed: positive above the budget. ``warning`` is empty within the tolerance.
    """

    width: int
    parameters: int
    relative_error: float
    warning: str = ""


def count_parameters(spec: ModelSpec, task_type: str, dims: Dims, width: int) -> int:
    """Count the trainable parameters of a model by building it without memory for them.

    A model that cannot be built that way, because its constructor computes with values, is built for
    real, with the global generator put back as it was.
    """
    if spec.kind == "predictor":
        raise UsageError(f"{spec.name} fits itself and has no width: a parameter budget does not apply to it.")
    try:
        with torch.device("meta"):
            model = spec.build(task_type, dims, width)
    except (NotImplementedError, RuntimeError, TypeError):
        with torch.random.fork_rng(devices=[]):
            model = spec.build(task_type, dims, width)
    return _trainable(model)


def _trainable(model: nn.Module) -> int:
    return sum(p.numel() for p in model.parameters() if p.requires_grad)


def width_for(
    spec: ModelSpec, task_type: str, dims: Dims, budget: int | str, *, tolerance: float = 0.02
) -> BudgetResult:
    """Find the width whose exact parameter count is closest to ``budget``.

    Parameters
    ----------
    spec
        Any model with a width, registered or a user's.
    task_type, dims
        What the model is built for: heads and inputs count too.
    budget
        Number of parameters, or text such as ``"100k"``.
    tolerance
        Relative distance above which the result carries a warning.

    Returns
    -------
    BudgetResult
        Of two widths equally close, the smaller.

    Raises
    ------
    UsageError
        When no width comes within 10 % of the budget; the text gives what can be reached.
    """
    wanted = parse_budget(budget)
    counts = _Counts(spec, task_type, dims)
    crossing = _crossing(counts, wanted)
    # Readouts that halve their width make counts jump near the crossing.
    for width in range(max(1, crossing - NEIGHBOURS), min(WIDEST, crossing + NEIGHBOURS) + 1):
        counts.at(width)
    built = {width: number for width, number in counts.known.items() if number > 0}
    if not built:
        text = f"{spec.name} has no trainable parameters for {task_type} at any width tried."
        raise UsageError(text) from counts.refusal
    best = min(built, key=lambda width: (abs(built[width] - wanted), width))
    error = built[best] / wanted - 1.0
    if abs(error) > REFUSE:
        raise UsageError(_refusal(spec, wanted, built))
    warning = ""
    if abs(error) > tolerance:
        warning = (
            f"{spec.name} has {built[best]:,} parameters at width {best}, {100 * error:+.1f} % of the budget of "
            f"{wanted:,}; no width comes closer."
        )
    return BudgetResult(best, built[best], error, warning)


def budget_notes(parameters: int, budget: int | str | None, *, tolerance: float = 0.02) -> tuple[str, ...]:
    """What a result should say of its budget: nothing within the tolerance, and nothing without parameters."""
    if budget is None or not parameters:
        return ()
    wanted = parse_budget(budget)
    error = parameters / wanted - 1.0
    if abs(error) <= tolerance:
        return ()
    return (f"{parameters:,} parameters, {100 * error:+.1f} % of the budget of {wanted:,}",)


class _Counts:
    """Parameter counts by width; 0 where the constructor refuses one, as for widths its heads do not divide."""

    def __init__(self, spec: ModelSpec, task_type: str, dims: Dims) -> None:
        self.spec, self.task_type, self.dims = spec, task_type, dims
        self.known: dict[int, int] = {}
        self.refusal: Exception | None = None
        if spec.kind == "predictor":
            count_parameters(spec, task_type, dims, 1)  # raises: it has no width

    def at(self, width: int) -> int:
        if width not in self.known:
            try:
                self.known[width] = count_parameters(self.spec, self.task_type, self.dims, width)
            except (ValueError, AssertionError) as error:
                self.known[width], self.refusal = 0, error
        return self.known[width]

    def from_width(self, width: int) -> int:
        """Count at the first width from ``width`` on that can be built, within `GAP`."""
        return next((n for n in map(self.at, range(width, width + GAP)) if n), 0)


def _crossing(counts: _Counts, wanted: int) -> int:
    """Smallest width found by doubling and halving at which the count reaches ``wanted``."""
    high = 1
    while counts.from_width(high) < wanted and high < WIDEST:
        high *= 2
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        if counts.from_width(middle) < wanted:
            low = middle
        else:
            high = middle
    return high


def _refusal(spec: ModelSpec, wanted: int, built: dict[int, int]) -> str:
    below = [(n, w) for w, n in built.items() if n < wanted]
    above = [(n, w) for w, n in built.items() if n > wanted]
    parts = [
        f"{n:,} parameters at width {w}" for n, w in ([max(below)] if below else []) + ([min(above)] if above else [])
    ]
    smallest = min(built.values())
    return (
        f"{spec.name} cannot come within {100 * REFUSE:.0f} % of {wanted:,} parameters. "
        f"Closest: {' and '.join(parts)}; reachable from {smallest:,} on. "
        f"Change the budget, or its depth or heads by model_kwargs."
    )
