"""Every table of the paper as a suite: the rows of ``published.csv`` are what is run.

A row names dataset, model, budget, layers, width and settings, so a suite trains networks of the published size and not
of the closest one to a budget. A table on several datasets is one suite per dataset, because depths differ.
"""

from __future__ import annotations

import dataclasses
import functools
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from graphnetz.datasets.suites import SUITES
from graphnetz.papers.benchmarking_gnns import tasks
from graphnetz.papers.benchmarking_gnns.suite import CITATION, rows
from graphnetz.records import Task
from graphnetz.records.suite import Published, Suite

if TYPE_CHECKING:
    from graphnetz.models import ModelSpec

_SMALLEST = ("100k", "40k", "27k", "60.5M", "")
"""Budgets whose rows keep the plain name of their model; others have it in the label."""

_ENDING = re.compile(f"({'|'.join(tasks.ENCODINGS)})$")
_OPTIONS: Mapping[str, Mapping[str, Any]] = {
    "csl": {"pe_mode": "replace"},
    "cycles": {"pe_mode": "replace", "readout": "sum"},
    "wikics": {"dropout": 0.35, "embed": True, "num_bond_types": 1},
    "ogbl_collab": {"edge_ones": 2},
    "enzymes": {"edge_ones": 18},
    "dd": {"edge_ones": 89},
    "proteins_full": {"edge_ones": 29},
    "zinc": {"num_bond_types": 4},
    "aqsol": {"num_bond_types": 5},
}
"""Constructor arguments on a dataset, for the models that take them."""


def dataset_of(task: str) -> tuple[str, dict[str, Any]]:
    """Return the study dataset behind a published task, and the options of `graphnetz.papers...study_task`.

    Parameters
    ----------
    task
        Name in the published tables, such as ``"cycles_200_pe"``.

    Returns
    -------
    tuple
        Name of the dataset, and options: encodings, training graphs of CYCLES.

    Examples
    --------
    >>> dataset_of("cycles_200_pe"), dataset_of("enzymes_attributes")
    (('cycles', {'pe': '_pe', 'train': 200}), ('enzymes', {}))
    """
    options: dict[str, Any] = {}
    if found := _ENDING.search(task):
        options["pe"], task = found[1], task[: found.start()]
    if found := re.fullmatch(r"cycles_(\d+)", task):
        options["train"], task = int(found[1]), "cycles"
    return {label: name for name, (_, label, _) in tasks.FOLDED.items()}.get(task, task), options


def label_of(row: Published) -> str:
    """Return the name of a row's model in its suite: with the budget beyond the smallest, and with eight layers."""
    budget, layers = row.more["budget"], row.more["layers"]
    return (
        row.model
        + ("" if budget in _SMALLEST else f"-{budget}")
        + ("-L8" if layers == "8" and budget == "500k" else "")
    )


def arguments_of(row: Published) -> dict[str, Any]:
    """Return the constructor arguments of a row, those that its model does not take included."""
    name, _ = dataset_of(row.task)
    out: dict[str, Any] = dict(_OPTIONS.get(name, {}))
    if row.more["layers"] not in ("", "0"):
        out["num_layers"] = int(row.more["layers"])
    if row.model.startswith("bgnn.GAT"):
        out["heads"] = 8 if name != "ogbl_collab" else 4 if row.table == "5" else 3
    if row.more["layers"] == "8" and row.more["budget"] == "500k":
        out["residual"] = True  # in the deeper forms of RingGNN and 3WL-GNN only
    if not re.search(r"-E(-|$)", row.model) and name in ("zinc", "aqsol"):
        out.pop("num_bond_types")
    return out


def settings_of(row: Published) -> dict[str, Any]:
    """Return the protocol of a row: width, rate, batch and schedule as published."""
    width = row.more["width"]
    return ({"hidden_channels": int(width)} if width else {}) | tasks.training_of(row)


def _make(size: tasks.Size = "published", *, found: Sequence[Published]) -> list[Task]:
    out = []
    for task in dict.fromkeys(row.task for row in found):
        name, options = dataset_of(task)
        made = tasks.study_task(name, size=size, **options)
        if made is not None:
            own = {label_of(row): settings_of(row) for row in found if row.task == task}
            epochs = 500 if name in ("tsp", "ogbl_collab") and size != "small" else made.epochs
            out.append(dataclasses.replace(made, model_protocol=own, epochs=epochs))
    return out


def _models(found: Sequence[Published]) -> dict[str, ModelSpec]:
    from graphnetz.models import MODELS  # torch, which listing suites must not import

    out: dict[str, ModelSpec] = {}
    for row in found:
        if row.mean == row.mean:  # rows that diverged or ran out of memory are kept in the file and not run
            spec = MODELS[row.model]
            wanted = {key: value for key, value in arguments_of(row).items() if spec.accepts(key)}
            out.setdefault(label_of(row), spec.with_kwargs(wanted))
    return out


def _named(found: Sequence[Published]) -> tuple[Published, ...]:
    return tuple(dataclasses.replace(row, model=label_of(row)) for row in found)


def _add(table: str, found: Sequence[Published], about: str) -> None:
    make = functools.partial(_make, found=tuple(found))
    make.__doc__ = f"Return Table {table} of Benchmarking GNNs ({about}): networks and settings as published."
    SUITES.add(
        f"bgnn-table-{table}",
        Suite(
            f"bgnn-table-{table}", make, functools.partial(_models, found), tasks.SEEDS, sizes=tasks.SIZES,
            published=functools.partial(_named, found), citation=f"mean ± population s.d., {CITATION}",
            reductions=tasks.REDUCED,
        ),
    )  # fmt: skip


def groups() -> dict[str, tuple[str, list[Published]]]:
    """Return the rows of each suite by its name, with what it is about: a table, or a table on one dataset."""
    found: dict[str, dict[str, list[Published]]] = {}
    for row in rows():
        found.setdefault(row.table.partition(" ")[0], {}).setdefault(dataset_of(row.task)[0], []).append(row)
    out = {}
    for table, datasets in found.items():
        if table == "16" or len(datasets) == 1:
            out[table] = (", ".join(datasets), [row for mine in datasets.values() for row in mine])
        else:
            out |= {f"{table}-{name.replace('_', '-')}": (name, mine) for name, mine in datasets.items()}
    return out


def every_row() -> list[Published]:
    """Return every row of Tables 3 to 16 under the name of its model in its suite, with the suite that trains it."""
    return [
        dataclasses.replace(row, model=label_of(row), more={**row.more, "suite": f"bgnn-table-{table}"})
        for table, (_, found) in groups().items()
        for row in found
    ]


for _table, (_about, _rows) in groups().items():
    _add(_table, _rows, _about)
