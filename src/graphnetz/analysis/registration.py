"""Planned and read: the plan of a run held against the cells that are there, anew at every reading."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from graphnetz._core.plain import jsonable
from graphnetz._core.text import counted
from graphnetz.records import Cell, CellResult, Section, Table, recorded_protocols
from graphnetz.records.analysis import TEST_WORDS
from graphnetz.records.digests import sha256
from graphnetz.records.seed_rule import SeedRule
from graphnetz.records.task_info import REPLICATION_WORDS, TaskInfo

SECTION = "preregistration"
TITLE = "Planned and read"
SCHEMA = "graphnetz.plan"
ALPHA = 0.05


@dataclass(frozen=True)
class Registered:
    """A plan as it was written, and what only its store knows.

    Parameters
    ----------
    plan, hash
        What was to be analysed, and the SHA-256 that was taken of it.
    late
        Cells that were finished before the plan was written.
    other_cells, evaluated_again
        Evaluations on test splits that a report does not show.
    changed
        Whether the file ``plan.json`` holds another text.
    """

    plan: Mapping[str, Any]
    hash: str
    late: int = 0
    other_cells: int = 0
    evaluated_again: int = 0
    changed: bool = False


def plan_hash(body: Mapping[str, Any]) -> str:
    """Return the SHA-256 of a plan's canonical text.

    Examples
    --------
    >>> plan_hash({"seeds": [0, 1], "models": ["GCN"]}) == plan_hash({"models": ["GCN"], "seeds": [0, 1]})
    True
    """
    return sha256(json.dumps(jsonable(dict(body)), sort_keys=True, ensure_ascii=False).encode())


def intact(text: str, expected: str) -> bool:
    """Whether the text of a ``plan.json`` is the one that was hashed."""
    try:
        body = json.loads(text)
        return bool(body.pop("sha256") == expected == plan_hash(body))
    except (ValueError, KeyError, AttributeError, TypeError, RecursionError):
        return False


def plan_body(
    tasks: Mapping[str, TaskInfo], cells: Iterable[Cell | CellResult], *, models: Sequence[str], seeds: Sequence[int],
    rule: SeedRule | None, search: Mapping[str, Any] | None, method: str = "t",
    absent: Iterable[tuple[str, str]] = (),
) -> dict[str, Any]:  # fmt: skip
    """Return what is analysed and how, as plain values: nothing that depends on a score or a machine.

    Parameters
    ----------
    tasks
        Facts of every task.
    cells
        Planned or finished cells, of which the protocols are taken.
    models, seeds
        Their names and numbers.
    rule, search, method
        When to stop, what is searched inside cells, and the paired test.
    absent
        (task, model) pairs that are never trained.
    """
    cells = list(cells)
    recorded = recorded_protocols(cells)
    own = recorded.get("model_protocols", {})
    taken: dict[str, dict[int, None]] = {}
    for cell in cells:
        taken.setdefault(cell.task, {})[cell.seed] = None
    # Folds give tasks seeds of their own. Where seeds stop by a rule, the plan holds the budget of all.
    in_folds = {name: list(found) for name, found in taken.items() if rule is None and set(found) != set(seeds)}
    without: dict[str, list[str]] = {}
    for task, model in sorted(absent):
        without.setdefault(task, []).append(model)
    body = {
        name: {
            "metric": info.metric,
            "greater_is_better": info.greater_is_better,
            "a_seed_varies": info.replication,
            "test": TEST_WORDS["t"] if method == "t" else method,
            "reach": REPLICATION_WORDS[info.replication]["reach"],
            "protocol": recorded.get("protocols", {}).get(name),
        }
        | ({"model_protocol": own[name]} if name in own else {})
        | ({"splits": info.splits} if info.splits else {})
        | ({"without": without[name]} if name in without else {})
        | ({"seeds": in_folds[name]} if name in in_folds else {})
        for name, info in tasks.items()
    }
    family: dict[str, Any] = {"alpha": ALPHA, "correction": "Holm", "family": "the comparisons of one task"}
    stop: Any = "all seeds are run, then read once"
    if rule is not None:
        words = "group-sequential Holm" if rule.mode == "auto" else "Holm on anytime-valid p"
        family |= {"alpha": rule.alpha, "correction": words}
        stop = rule.as_dict() | {"looks": list(rule.looks)}
    return dict(jsonable({
        "schema": SCHEMA, "schema_version": 1, "tasks": body, "models": list(models), "seeds": list(seeds),
        "comparisons": family, "margin": None if rule is None else rule.margin, "stopping_rule": stop,
        "search": search,
    }))  # fmt: skip


def deviations(planned: Mapping[str, Any], read: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """List what was read otherwise than planned: (what, planned, read)."""
    out: list[tuple[str, str, str]] = []
    for key, one in (("models", "model"), ("seeds", "seed"), ("tasks", "task")):
        before, now = list(planned[key]), list(read[key])
        added, dropped = [x for x in now if x not in before], [x for x in before if x not in now]
        if key == "models":  # one that serves none of the tasks was never to be run
            dropped = [name for name in dropped if not (_nowhere(planned, name) or _nowhere(read, name))]
        if key == "seeds" and isinstance(planned["stopping_rule"], Mapping):
            dropped = []  # a rule that stops early leaves later seeds out; holes are looked for cell by cell
        if added:
            out.append((f"{one}s added later", "", _names(added)))
        if dropped:
            out.append((f"{one}s dropped", _names(dropped), ""))
    for name, now in read["tasks"].items():
        before = planned["tasks"].get(name, now)
        for field in ("metric", "greater_is_better", "a_seed_varies", "test"):
            if before[field] != now[field]:
                out.append((f"{field.replace('_', ' ')} of {name} changed", str(before[field]), str(now[field])))
        for field in ("protocol", "model_protocol"):
            words = f"{field.replace('_', ' ')} of {name} changed"
            out += [(words, *pair) for pair in _changes(before.get(field), now.get(field))]
    for key in ("comparisons", "margin", "stopping_rule", "search"):
        if planned[key] != read[key]:
            out.append((f"{key.replace('_', ' ')} changed", _flat(planned[key]), _flat(read[key])))
    return out


def missing_cells(
    planned: Mapping[str, Any], there: Iterable[tuple[str, str, int]], absent: Iterable[tuple[str, str]] = ()
) -> list[tuple[str, str, int]]:
    """List the planned cells of the tasks, models and seeds that are there which are not there themselves.

    Where seeds stop by a rule, those before the last one of a model on a task must be there.

    Examples
    --------
    >>> planned = {"tasks": {"cora": {}}, "models": ["GCN", "MLP"], "seeds": [0, 1], "stopping_rule": "all"}
    >>> missing_cells(planned, [("cora", "GCN", 0), ("cora", "GCN", 1), ("cora", "MLP", 0)])
    [('cora', 'MLP', 1)]
    """
    held, never = set(there), set(absent)
    models, seeds = {model for _, model, _ in held}, {seed for _, _, seed in held}
    early = isinstance(planned["stopping_rule"], Mapping)
    out = []
    for task in dict.fromkeys(task for task, _, _ in held):
        facts = planned["tasks"].get(task)
        for model in planned["models"] if facts is not None else ():
            if model not in models or (task, model) in never or model in facts.get("without", ()):
                continue
            wanted = [seed for seed in facts.get("seeds", planned["seeds"]) if seed in seeds]
            if early:
                last = max((i for i, seed in enumerate(wanted) if (task, model, seed) in held), default=-1)
                wanted = wanted[: last + 1]
            out += [(task, model, seed) for seed in wanted if (task, model, seed) not in held]
    return out


def registration_section(
    registered: Registered, body: Mapping[str, Any], there: Iterable[tuple[str, str, int]], *,
    pending: Iterable[tuple[str, str, int]] = (), absent: Iterable[tuple[str, str]] = (),
) -> Section:  # fmt: skip
    """Planned against read, and every evaluation on a test split that the report does not show.

    Parameters
    ----------
    registered
        The plan.
    body
        What is read, as `plan_body` says it.
    there
        (task, model, seed) of the cells that are shown.
    pending
        Those that are still to be trained.
    absent
        (task, model) pairs that are never trained.
    """
    held = list(there)
    found = deviations(registered.plan, body)
    if gone := missing_cells(registered.plan, [*held, *pending], absent):
        found.append((f"{counted(len(gone), 'planned cell')} not there", _names([_cell(cell) for cell in gone]), ""))
    if registered.late:
        found.insert(
            0, ("the plan was written late", "before the first cell", f"after {registered.late} finished cells")
        )
    if registered.changed or plan_hash(registered.plan) != registered.hash:
        found.insert(0, ("plan.json was changed", registered.hash[:16], "another text"))
    extra = {"other_cells": registered.other_cells, "evaluated_again": registered.evaluated_again}
    short = registered.hash[:16]
    verdict = (
        f"The analysis that is read here is the one that was planned (plan {short})."
        if not found
        else f"The analysis departs from its plan ({short}) in {len(found)} point{'' if len(found) == 1 else 's'}."
    )
    table = Table(("Deviation", "Planned", "Read"), tuple(found), "What was read otherwise than planned.")
    return Section(
        SECTION,
        TITLE,
        verdict,
        (family_words(_families(held), body), _evaluation_words(len(held), extra, body)),
        (table,) if found else (),
        level="warning" if found or sum(extra.values()) else "info",
        extra={
            "hash": registered.hash, "deviations": [list(row) for row in found], "unshown_evaluations": extra,
            "plan": dict(registered.plan), "late": registered.late,
        },
    )  # fmt: skip


def registered_in(section: Section) -> Registered | None:
    """Return the plan that a section of a report carries; None where it carries none."""
    extra = section.extra
    plan, unshown = extra.get("plan"), extra.get("unshown_evaluations")
    if not isinstance(plan, Mapping) or not isinstance(unshown, Mapping) or not isinstance(extra.get("hash"), str):
        return None
    return Registered(
        plan, extra["hash"], int(extra.get("late", 0)), int(unshown.get("other_cells", 0)),
        int(unshown.get("evaluated_again", 0)),
    )  # fmt: skip


def without_plan(hashes: Sequence[str]) -> Section:
    """The section of cells that no plan is at hand for: merged from several, or from before plans travelled along."""
    short = ", ".join(sorted({name[:16] for name in hashes}))
    many = len(set(hashes)) > 1
    words = (
        f"These cells were planned in {len(set(hashes))} plans ({short})" if many else f"The plan ({short}) is not here"
    )
    verdict = f"{words}, so that what is read cannot be held against {'one' if many else 'it'}."
    return Section(SECTION, TITLE, verdict, level="warning", extra={"hashes": sorted(set(hashes))})


def _nowhere(planned: Mapping[str, Any], model: str) -> bool:
    tasks = planned["tasks"].values()
    return bool(tasks) and all(model in task.get("without", ()) for task in tasks)


def _cell(place: tuple[str, str, int]) -> str:
    return f"{place[0]} / {place[1]} / seed {place[2]}"


def _changes(before: Any, now: Any) -> list[tuple[str, str]]:
    old, new = before or {}, now or {}
    keys = [key for key in {**old, **new} if old.get(key) != new.get(key)]
    return [(f"{key}: {old.get(key)}", f"{key}: {new.get(key)}") for key in sorted(keys)]


def _names(items: Sequence[Any]) -> str:
    shown = ", ".join(str(item) for item in items[:20])
    return shown + (f" and {len(items) - 20} more" if len(items) > 20 else "")


def _flat(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True)


def _families(there: Iterable[tuple[str, str, int]]) -> list[int]:
    """Comparisons of each task."""
    models: dict[str, set[str]] = {}
    for task, model, _ in there:
        models.setdefault(task, set()).add(model)
    return [len(names) * (len(names) - 1) // 2 for names in models.values()] or [0]


def family_words(families: Sequence[int], body: Mapping[str, Any]) -> str:
    """Say over how many comparisons the correction goes, and what is left of chance."""
    total, level = sum(families), body["comparisons"]["alpha"]
    span = f"{min(families)}" if len(set(families)) == 1 else f"{min(families)} to {max(families)}"
    count = f"{len(families)} famil{'y' if len(families) == 1 else 'ies'}"
    anywhere = 100 * (1 - (1 - level) ** len(families))
    size = f"{span} comparison{'s' if max(families) > 1 else ''}"
    return (
        f"Family: {body['comparisons']['correction']} at {level:g} over the {size} of each task. The page shows "
        f"{counted(total, 'comparison')} in {count}; if all models were equal, up to {anywhere:.0f} % of such pages "
        'would show at least one false difference. Use pairwise(family="report") for one family of all.'
    )


def _evaluation_words(shown: int, extra: Mapping[str, int], body: Mapping[str, Any]) -> str:
    text = f"Test splits were evaluated once for each of the {shown} cells shown"
    if not sum(extra.values()):
        text += ", and not otherwise in this run folder."
    else:
        text += f", and {sum(extra.values())} times more in this run folder:"
        text += f" {extra['other_cells']} finished cells that the report does not show (other models, seeds, tasks or"
        text += f" settings), {extra['evaluated_again']} cells evaluated again."
    nested = "declared in the plan" if body["search"] else "not used"
    return (
        f"{text} Epochs are chosen by validation or taken last, never by test values. Nested search of "
        f"hyper-parameters: {nested}."
    )
