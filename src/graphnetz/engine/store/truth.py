"""The store is the truth: what it says about the cells of a ``results.json`` that lies beside it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

from graphnetz.analysis.registration import Registered
from graphnetz.engine.store.database import Store
from graphnetz.records import CellResult

Place = tuple[str, str, int]


def disagreement(folder: Path, digests: Mapping[Place, str], root: str, results: Sequence[CellResult]) -> str:
    """Say why cells of a report are not those of the store of their folder; nothing where they are.

    Parameters
    ----------
    folder
        A run folder.
    digests, root
        Digests of the cells of the report, and the one of the run; nothing for a report without any.
    results
        Its cells, which are compared by value where there are no digests.
    """
    with Store.open(folder, readonly=True) as store:
        kept = store.cell_digests() if store.sealed else {}
        roots = store.roots() if store.sealed else []
        values: dict[Place, list[CellResult]] = {}
        if not store.sealed or not root or any("" in found for found in kept.values()):
            for cell in store.results(histories=False):
                values.setdefault((cell.task, cell.model, cell.seed), []).append(cell)
    for result in results:
        place = (result.task, result.model, result.seed)
        words = f"{result.task} / {result.model} / seed {result.seed}"
        there = kept.get(place) or ({""} if place in values else None)
        if there is None:
            return f"it holds no cell {words}"
        if digests.get(place) in there:
            continue
        if (digests and "" not in there) or not any(_same(result, cell) for cell in values.get(place, ())):
            return f"its cell {words} is another one"
    if root and roots and root not in roots:
        return f"cells are missing or were added: the {len(results)} that it shows are not those of the last report"
    return ""


def registered(store: Store, shown: int) -> Registered | None:
    """Return the plan of a store, with what was evaluated beside the ``shown`` cells; None where there is none."""
    meta = store.read_meta()
    kept = meta.get("analysis_plan")
    if not kept:
        return None
    finished = sum(count for status, count in store.counts().items() if status not in ("pending", "running"))
    return Registered(
        kept["plan"], kept["hash"], late=int(meta.get("plan_came_late", 0)), other_cells=finished - shown,
        evaluated_again=int(meta.get("evaluated_again", 0)),
    )  # fmt: skip


def _same(one: CellResult, other: CellResult) -> bool:
    if one.status != other.status or one.metrics.keys() != other.metrics.keys():
        return False
    return all(value == other.metrics[key] or (_none(value) and _none(other.metrics[key]))
               for key, value in one.metrics.items())  # fmt: skip


def _none(value: float) -> bool:
    """Files say nothing of numbers that are not finite."""
    return not math.isfinite(value)
