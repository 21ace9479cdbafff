"""Pre-registration: what will be analysed, written and hashed before the first cell, and held against what was.

The plan of a run folder is written once. Later sittings with other arguments do not change it; they are
listed as deviations, and so is a plan that came after the first result.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from graphnetz._core.errors import StoreError
from graphnetz._core.paths import write_file
from graphnetz._core.text import counted
from graphnetz.engine.plan import Plan
from graphnetz.engine.search import SearchSpace
from graphnetz.engine.store import Store
from graphnetz.engine.store.codec import plain
from graphnetz.records import Section, Table, recorded_protocols
from graphnetz.records.analysis import TEST_WORDS
from graphnetz.records.seed_rule import SeedRule
from graphnetz.records.task_info import REPLICATION_WORDS

FILE_NAME = "plan.json"
SCHEMA = "graphnetz.plan"
SECTION = "preregistration"
ALPHA = 0.05

_META_PLAN, _META_LATE, _META_AGAIN = "analysis_plan", "plan_came_late", "evaluated_again"


def analysis_plan(
    plan: Plan, *, rule: SeedRule | None, search: SearchSpace | None, method: str = "t"
) -> dict[str, Any]:
    """Return what will be analysed and how, as plain values: nothing that depends on a score or a machine."""
    recorded = recorded_protocols(plan.cells)
    own = recorded.get("model_protocols", {})
    tasks = {
        name: {
            "metric": info.metric,
            "greater_is_better": info.greater_is_better,
            "a_seed_varies": info.replication,
            "test": TEST_WORDS["t"] if method == "t" else method,
            "reach": REPLICATION_WORDS[info.replication]["reach"],
            "protocol": plain(recorded.get("protocols", {}).get(name)),
        }
        | ({"model_protocol": plain(own[name])} if name in own else {})
        | ({"splits": info.splits} if info.splits else {})
        for name, info in plan.info.items()
    }
    family = {"alpha": ALPHA, "correction": "Holm", "family": "the comparisons of one task"}
    stop = "all seeds are run, then read once" if rule is None else rule.as_dict() | {"looks": list(rule.looks)}
    nested = None if search is None or search.is_empty else search.as_dict()
    return {
        "schema": SCHEMA,
        "schema_version": 1,
        "tasks": tasks,
        "models": list(plan.models),
        "seeds": list(plan.seeds),
        "comparisons": family
        if rule is None
        else family
        | {
            "alpha": rule.alpha,
            "correction": "group-sequential Holm" if rule.mode == "auto" else "Holm on anytime-valid p",
        },
        "margin": None if rule is None else rule.margin,
        "stopping_rule": stop,
        "search": nested,
    }


def plan_hash(body: Mapping[str, Any]) -> str:
    """Return the SHA-256 of a plan's canonical text."""
    return hashlib.sha256(json.dumps(plain(dict(body)), sort_keys=True, ensure_ascii=False).encode()).hexdigest()


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


def deviations(planned: Mapping[str, Any], read: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """List what was read otherwise than planned: (what, planned, read)."""
    out: list[tuple[str, str, str]] = []
    for key, one in (("models", "model"), ("seeds", "seed"), ("tasks", "task")):
        before, now = list(planned[key]), list(read[key])
        added, dropped = [x for x in now if x not in before], [x for x in before if x not in now]
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


def _changes(before: Any, now: Any) -> list[tuple[str, str]]:
    old, new = before or {}, now or {}
    keys = [key for key in {**old, **new} if old.get(key) != new.get(key)]
    return [(f"{key}: {old.get(key)}", f"{key}: {new.get(key)}") for key in sorted(keys)]


def _names(items: Sequence[Any]) -> str:
    shown = ", ".join(str(item) for item in items[:20])
    return shown + (f" and {len(items) - 20} more" if len(items) > 20 else "")


def _flat(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True)


def registration_section(store: Store, body: Mapping[str, Any], plan: Plan, folder: Path | None) -> Section:
    """Planned against read, and every evaluation on a test split that the report does not show."""
    meta = store.read_meta()
    kept = meta[_META_PLAN]
    found = deviations(kept["plan"], plain(dict(body)))
    late = int(meta.get(_META_LATE, 0))
    if late:
        found.insert(0, ("the plan was written late", "before the first cell", f"after {late} finished cells"))
    if folder is not None and not _intact(folder / FILE_NAME, kept["hash"]):
        found.insert(0, (f"{FILE_NAME} was changed", kept["hash"][:16], "another text"))
    families, extra = _families(plan), _unshown(store, plan, int(meta.get(_META_AGAIN, 0)))
    short = kept["hash"][:16]
    verdict = (
        f"The analysis that is read here is the one that was planned (plan {short})."
        if not found
        else f"The analysis departs from its plan ({short}) in {len(found)} point{'' if len(found) == 1 else 's'}."
    )
    tables = [Table(("Deviation", "Planned", "Read"), tuple(found), "What was read otherwise than planned.")]
    return Section(
        SECTION,
        "Planned and read",
        verdict,
        (_family_words(families, body), _evaluation_words(plan, extra, body)),
        tuple(tables) if found else (),
        level="warning" if found or sum(extra.values()) else "info",
        extra={"hash": kept["hash"], "deviations": [list(row) for row in found], "unshown_evaluations": extra},
    )


def _intact(path: Path, expected: str) -> bool:
    try:
        body = json.loads(path.read_text(encoding="utf-8"))
        return bool(body.pop("sha256") == expected == plan_hash(body))
    except (FileNotFoundError, ValueError, KeyError, AttributeError, TypeError):
        return False
    except OSError as error:  # it says nothing about what the file holds
        raise StoreError(f"Cannot read {str(path)!r}: {error.strerror}. Nothing was lost: resume the run.") from error


def _families(plan: Plan) -> list[int]:
    """Comparisons of each task."""
    models: dict[str, set[str]] = {}
    for cell in plan.cells:
        models.setdefault(cell.task, set()).add(cell.model)
    return [len(names) * (len(names) - 1) // 2 for names in models.values()]


def _family_words(families: Sequence[int], body: Mapping[str, Any]) -> str:
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


def _unshown(store: Store, plan: Plan, again: int) -> dict[str, int]:
    """Evaluations on test splits that this folder holds beside the cells of the report."""
    finished = sum(count for status, count in store.counts().items() if status not in ("pending", "running"))
    shown = len(plan.cells) - len(store.missing([cell.key for cell in plan.cells]))
    return {"other_cells": finished - shown, "evaluated_again": again}


def _evaluation_words(plan: Plan, extra: Mapping[str, int], body: Mapping[str, Any]) -> str:
    text = f"Test splits were evaluated once for each of the {len(plan.cells)} cells shown"
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
