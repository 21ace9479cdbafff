"""Run the checks on a task and say what they found."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch
from torch_geometric.data import Data

from graphnetz._core.rng import generator
from graphnetz.audit.checks import CHECKS, PARTS, Finding, Inspected
from graphnetz.datasets import find_task
from graphnetz.engine.api import get_split
from graphnetz.records import Section, Table, Task
from graphnetz.tasktypes import Split
from graphnetz.tasktypes.overlap import refuse_overlap
from graphnetz.tasktypes.ranked import among_all
from graphnetz.tasktypes.streamed import FolderData

SECTION = "audit"
MOST = 100_000
"""Nodes of each part of a graph on disk that checks see; of a larger part they see a sample."""


def audit(
    task: Task | str, *, seed: int = 0, root: str = "data/benchmark", checks: Sequence[str] | None = None
) -> list[Finding]:
    """Look for leaks and other reasons not to believe numbers measured on a task.

    Parameters
    ----------
    task
        A task, or the name of one.
    seed
        Whose split is inspected.
    root
        Where datasets are kept.
    checks
        Names of `CHECKS`; None runs all.

    Returns
    -------
    list of Finding
        Leaks first. An empty list says that these checks found nothing, not that there is nothing.

    Examples
    --------
    >>> import networkx as nx
    >>> from graphnetz import audit, task_from_networkx
    >>> task = task_from_networkx("karate", nx.karate_club_graph(), label="club")
    >>> [finding.level for finding in audit(task)]
    ['warning', 'warning']
    """
    found = find_task(task) if isinstance(task, str) else task
    split = get_split(found, seed, root=root)
    if isinstance(split.data, FolderData):
        return audit_folder(found, split, checks=checks)
    if among_all(split):  # checks score pairs of a true and a false triple
        split.metric = "auc"
    return inspect_task(Inspected(found, split), checks=checks)


def audit_folder(task: Task, split: Split, *, checks: Sequence[str] | None = None) -> list[Finding]:
    """Run checks on the labelled nodes of a graph on disk: on all of them, or on a sample that findings name.

    Parameters
    ----------
    task, split
        A graph folder as a task, and its split.
    checks
        Names of `CHECKS`; None runs all.

    Returns
    -------
    list of Finding
        Leaks first. Where a part was sampled, findings tell the size of the sample and how far a share may be off.
    """
    refuse_overlap(split)  # of all nodes, also where checks see some
    chosen = {}
    for part in PARTS:
        nodes, rng = split.part(part).numpy(), generator("audit", part)
        count = min(len(nodes), MOST)
        chosen[part] = np.sort(rng.choice(len(nodes), count, replace=False))
    nodes = {part: split.part(part).numpy()[rows] for part, rows in chosen.items()}
    held = np.unique(np.concatenate(list(nodes.values())))
    data = Data(x=split.data.gathered(held), num_nodes=held.size)
    data.degrees = torch.from_numpy(split.data.sampler.degrees(held))[:, None].repeat(1, 2)
    places = {part: torch.from_numpy(np.searchsorted(held, ids)) for part, ids in nodes.items()}
    small = replace(
        split, data=data, train=places["train"], val=places["val"], test=places["test"], cache={},
        examples={part: place.numpy() for part, place in places.items()},
        targets={part: split.targets[part][rows] for part, rows in chosen.items()},
    )  # fmt: skip
    found = inspect_task(Inspected(task, small), checks=checks)
    if all(len(nodes[part]) == len(split.part(part)) for part in PARTS):
        return found
    sizes = ", ".join(f"{len(nodes[part]):,} of {len(split.part(part)):,} {part}" for part in PARTS)
    off = 1.96 * 0.5 / len(nodes["test"]) ** 0.5
    words = (
        f" (Seen: {sizes} nodes; a share of test nodes may be off by {off:.3f}, and twins are missed with the rest.)"
    )
    return [replace(item, message=item.message + words) for item in found]


def inspect_task(seen: Inspected, *, checks: Sequence[str] | None = None) -> list[Finding]:
    """Run checks on a split that is at hand.

    Parameters
    ----------
    seen
        The task with its split.
    checks
        Names of `CHECKS`; None runs all.

    Returns
    -------
    list of Finding
        Leaks first.

    Examples
    --------
    >>> import networkx as nx
    >>> from graphnetz import get_split, task_from_networkx
    >>> from graphnetz.audit import CHECKS, Inspected, inspect_task
    >>> task = task_from_networkx("karate", nx.karate_club_graph(), label="club")
    >>> inspect_task(Inspected(task, get_split(task)), checks=list(CHECKS)[:1])
    []
    """
    findings: list[Finding] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a regression that did not converge is still a baseline
        for name in CHECKS if checks is None else checks:
            findings += CHECKS[name](seen)
    return sorted(findings, key=lambda item: (item.level != "leak", item.check))


def audit_section(findings: Sequence[Finding], tasks: Sequence[str]) -> Section:
    """Turn findings into the section that a report shows.

    Parameters
    ----------
    findings
        What `audit` returned, for all tasks together.
    tasks
        Names of the tasks that were looked at.

    Returns
    -------
    Section
        A verdict in words and a table of findings.

    Examples
    --------
    >>> from graphnetz.audit import audit_section
    >>> audit_section([], ["karate"]).verdict
    'No check found anything on 1 task.'
    """
    leaks = sum(item.level == "leak" for item in findings)
    verdict = (
        f"No check found anything on {len(tasks)} task{'' if len(tasks) == 1 else 's'}."
        if not findings
        else f"{leaks} leak{'' if leaks == 1 else 's'} and {len(findings) - leaks} warnings on {len(tasks)} "
        f"task{'' if len(tasks) == 1 else 's'}: read them before the numbers."
    )
    rows = tuple((item.task, item.level, item.check, item.message, item.value) for item in findings)
    words = (
        f"Checks: {', '.join(CHECKS)}. They look at one split of each task ({', '.join(tasks)}) before training; "
        "finding nothing is no proof that there is nothing.",
    )
    columns = ("Task", "Level", "Check", "Finding", "Measured")
    tables = (Table(columns, rows),) if rows else ()
    return Section(
        SECTION, "Leaks and sanity of the tasks", verdict, words, tables, level="warning" if leaks else "info"
    )
