"""Pre-registration: what will be analysed, written and hashed before the first cell.

The plan of a run folder is written once. Later sittings with other arguments do not change it; what departs from it
is found out by `graphnetz.analysis.registration` at every reading.
"""

from __future__ import annotations

from typing import Any

from graphnetz.analysis.registration import Registered, intact, plan_body, plan_hash
from graphnetz.engine.plan import Plan
from graphnetz.engine.search import SearchSpace
from graphnetz.engine.store import Store
from graphnetz.engine.store.keep import FILE_NAME as FILE_NAME
from graphnetz.engine.store.keep import register as register
from graphnetz.engine.store.truth import registered as registered
from graphnetz.records.seed_rule import SeedRule

__all__ = ["FILE_NAME", "Registered", "analysis_plan", "count_again", "intact", "plan_hash", "register", "registered"]

_META_AGAIN = "evaluated_again"


def analysis_plan(
    plan: Plan, *, rule: SeedRule | None, search: SearchSpace | None, method: str = "t"
) -> dict[str, Any]:
    """Return what will be analysed and how, as plain values: nothing that depends on a score or a machine."""
    nested = None if search is None or search.is_empty else search.as_dict()
    return plan_body(
        plan.info, plan.cells, models=plan.models, seeds=plan.seeds, rule=rule, search=nested, method=method,
        absent=[pair for pair in plan.absent if pair[0] in plan.info],
    )  # fmt: skip


def count_again(store: Store, evaluations: int) -> None:
    """Remember that finished cells were forgotten and evaluated again."""
    if evaluations:
        store.write_meta({_META_AGAIN: int(store.read_meta().get(_META_AGAIN, 0)) + evaluations})
