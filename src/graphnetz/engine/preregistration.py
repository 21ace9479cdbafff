"""Pre-registration: what will be analysed, written and hashed before the first cell.

The plan of a run folder is written once. Later sittings with other arguments do not change it; what departs from it
is found out by `graphnetz.analysis.registration` at every reading.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from graphnetz._core.paths import write_file
from graphnetz.analysis.registration import Registered, intact, plan_body, plan_hash
from graphnetz.engine.plan import Plan
from graphnetz.engine.search import SearchSpace
from graphnetz.engine.store import Store
from graphnetz.engine.store.truth import registered as registered
from graphnetz.records.seed_rule import SeedRule

__all__ = ["FILE_NAME", "Registered", "analysis_plan", "count_again", "intact", "plan_hash", "register", "registered"]

FILE_NAME = "plan.json"
_META_PLAN, _META_LATE, _META_AGAIN = "analysis_plan", "plan_came_late", "evaluated_again"


def analysis_plan(
    plan: Plan, *, rule: SeedRule | None, search: SearchSpace | None, method: str = "t"
) -> dict[str, Any]:
    """Return what will be analysed and how, as plain values: nothing that depends on a score or a machine."""
    nested = None if search is None or search.is_empty else search.as_dict()
    return plan_body(
        plan.info, plan.cells, models=plan.models, seeds=plan.seeds, rule=rule, search=nested, method=method,
        absent=[pair for pair in plan.absent if pair[0] in plan.info],
    )  # fmt: skip


def register(store: Store, body: dict[str, Any], folder: Path | None) -> None:
    """Write the plan and its hash, unless this folder has one already."""
    meta = store.read_meta()
    if _META_PLAN not in meta:
        done = sum(count for status, count in store.counts().items() if status not in ("pending", "running"))
        store.write_meta({_META_PLAN: {"hash": plan_hash(body), "plan": body}, _META_LATE: done})
        meta = store.read_meta()
    if folder is not None and not (folder / FILE_NAME).exists():
        kept = meta[_META_PLAN]
        text = json.dumps({"sha256": kept["hash"], **kept["plan"]}, indent=1, ensure_ascii=False)
        write_file(folder / FILE_NAME, text + "\n")


def count_again(store: Store, evaluations: int) -> None:
    """Remember that finished cells were forgotten and evaluated again."""
    if evaluations:
        store.write_meta({_META_AGAIN: int(store.read_meta().get(_META_AGAIN, 0)) + evaluations})
