"""Seeds in rounds: train what the open comparisons need, look, and go on until nothing is open."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from graphnetz._core.errors import UsageError
from graphnetz.analysis.sequential import decide_report, decision_section
from graphnetz.engine.plan import Plan
from graphnetz.engine.store import Store
from graphnetz.records import Cell
from graphnetz.records.seed_rule import ANYTIME_FIRST, FIRST_LOOK, MODES, SeedRule


def seed_rule(seeds: object, precision: float | None, max_seeds: int | None) -> SeedRule | None:
    """Return the rule that ``seeds="auto"`` or ``"anytime"`` asks for, None for fixed seeds; refuse stray settings."""
    if not isinstance(seeds, str) or seeds not in MODES:
        stray = [name for name, value in (("precision", precision), ("max_seeds", max_seeds)) if value is not None]
        if stray:
            raise UsageError(f'{stray[0]} belongs to seeds="auto". Pass seeds="auto" as well, or leave it out.')
        return None
    if precision is None and seeds == "auto":
        raise UsageError(
            'seeds="auto" needs precision: the largest difference between two models that does not matter, '
            "for instance precision=0.01."
        )
    margin = None if precision is None else float(precision)
    first = ANYTIME_FIRST if seeds == "anytime" else FIRST_LOOK
    return SeedRule(margin, max_seeds=30 if max_seeds is None else int(max_seeds), mode=seeds, first_look=first)


def run_rounds(store: Store, plan: Plan, rule: SeedRule, train: Callable[[Plan], None]) -> Plan:
    """Train rounds of ``plan``, which holds the whole budget, and return the part that was asked for.

    Each round is decided by the results of the rounds before it and by nothing else: a run that was
    killed goes on in the round it had reached, and the same cells are trained however often that happens.
    """
    groups: dict[tuple[str, str], list[Cell]] = {}
    for cell in plan.cells:
        groups.setdefault((cell.task, cell.model), []).append(cell)
    wanted = {pair: rule.looks_of(plan.info[pair[0]].splits)[0] for pair in groups}
    while True:
        part = _part(plan, groups, wanted)
        train(part)
        results = list(store.results([cell.key for cell in part.cells], histories=False))
        decisions = decide_report(results, part.info, part.models, rule)
        more = {
            (task, model): found.next_look
            for task, found in decisions.items()
            if found.next_look is not None
            for model in found.open_models
        }
        if not any(look > wanted[pair] for pair, look in more.items()):
            store.write_section(decision_section(decisions, plan.info, rule))
            return part
        wanted |= {pair: max(look, wanted[pair]) for pair, look in more.items()}


def _part(plan: Plan, groups: Mapping[tuple[str, str], list[Cell]], wanted: Mapping[tuple[str, str], int]) -> Plan:
    cells = tuple(cell for pair, group in groups.items() for cell in group[: wanted[pair]])
    most = max(wanted.values())
    return replace(plan, cells=cells, seeds=plan.seeds[:most])
