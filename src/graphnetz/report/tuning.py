"""The section about tuning: default and tuned means, chosen settings, what a budget buys, which claims survive."""

from __future__ import annotations

from graphnetz._core.text import counted, number
from graphnetz.records import Section, Table
from graphnetz.records.tuning import Tuned, Tuning

SECTION = "tuning"


def tuning_section(found: Tuning | None) -> Section | None:
    """Return the section of a run whose cells were tuned; None where nothing was searched.

    Parameters
    ----------
    found
        ``report.analysis.tuning``.

    Examples
    --------
    >>> from graphnetz.records.tuning import Tuned, Tuning
    >>> row = Tuned("cora", "GCN", 2, 2, 0.80, 0.82, (("lr", (("0.01", 2),)),), (0.78, 0.80))
    >>> tuning_section(Tuning((row,))).tables[0].rows
    (('cora', 'GCN', 2, '0.800', '0.820', '+0.020'),)
    """
    if found is None:
        return None
    budgets = sorted({1, 2, 4, 8, 16, 32, 64} & set(range(1, max(row.trials for row in found.rows) + 1)))
    tables = [
        Table(
            ("task", "model", "trials", "default", "tuned", "difference"), tuple(map(_both, found.rows)),
            "Mean test metric with default settings and with those that validation chose, over the same cells.",
        ),
        Table(
            ("task", "model", "setting", "chosen in so many cells"),
            tuple((row.task, row.model, name, _spread(held)) for row in found.rows for name, held in row.chosen),
            "Which values were chosen, and how often: a setting whose choice varies from seed to seed hardly matters.",
        ),
        Table(
            ("task", "model", *(counted(budget, "trial") for budget in budgets)),
            tuple((row.task, row.model, *(_at(row, budget) for budget in budgets)) for row in found.rows),
            "Expected best validation against the number of trials (Dodge et al., 2019), mean over cells.",
        ),
    ]  # fmt: skip
    if found.survival:
        rows = tuple((item.task, f"{item.better} over {item.worse}", item.verdict) for item in found.survival)
        tables.append(Table(("task", "difference", "shown with"), rows, "Which differences survive tuning."))
    return Section(
        SECTION, "Tuning", _verdict(found), ("Settings were chosen inside every cell by validation alone.",),
        tuple(tables), level="warning" if any(item.verdict != "both" for item in found.survival) else "info",
    )  # fmt: skip


def _verdict(found: Tuning) -> str:
    trials = sorted({row.trials for row in found.rows})
    budget = f"{trials[0]}" if len(trials) == 1 else f"{trials[0]} to {trials[-1]}"
    words = f"Every cell of {counted(len({row.model for row in found.rows}), 'model')} tried {budget} settings."
    if not found.survival:
        return words
    held = sum(item.verdict == "both" for item in found.survival)
    total = len(found.survival)
    verb = "is" if held == 1 else "are"
    return f"{words} {held} of {counted(total, 'difference')} {verb} shown before and after tuning."


def _both(row: Tuned) -> tuple[object, ...]:
    known = row.default == row.default
    return (
        row.task, row.model, row.trials, number(row.default) if known else "not kept", number(row.tuned),
        number(row.gain, signed=True) if known else "",
    )  # fmt: skip


def _spread(held: tuple[tuple[str, int], ...]) -> str:
    return ", ".join(f"{value}: {count}" for value, count in held)


def _at(row: Tuned, budget: int) -> str:
    return number(row.expected[budget - 1]) if budget <= len(row.expected) else ""
