"""What RINGS found about datasets of the catalogue, before anybody trains on them again.

The table ships with the package; ``python benchmarks/rings_evidence.py ship`` writes it from the kept runs.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

from graphnetz._core.text import names
from graphnetz.records import DatasetCard, Section, Table, Task
from graphnetz.records.findings import GRAPH, Finding
from graphnetz.records.suite import read_rows

NEED = {
    "informative": "needed",
    "(un)informative": "needed by one metric and not by the other",
    "uninformative": "not needed",
    "undecided": "undecided",
}
"""In plain words what a finding about a mode says."""


@dataclass(frozen=True)
class Fitness:
    """Whether a dataset is fit to judge models, as far as it was shown.

    Parameters
    ----------
    dataset, features, task_type
        Title of the card and columns of its node features: data of one name and other features are other data.
    verdict
        ``keep``, ``realign``, ``deprecate`` or ``undecided``.
    structure, node_features
        ``informative``, ``(un)informative``, ``uninformative`` or ``undecided``.
    runs, models
        How many runs per mode were trained at least, and with which architectures.
    splits
        The splits of the runs in words, such as ``fresh splits`` or ``10 fixed splits``; empty where data have none of
        their own, so that every run draws one.

    Examples
    --------
    >>> from graphnetz.datasets import CARDS
    >>> from graphnetz.datasets.fitness import fitness_of
    >>> fitness_of(CARDS["mutag"]).verdict
    'realign'
    """

    dataset: str
    features: int
    task_type: str
    verdict: str
    structure: str
    node_features: str
    runs: int
    models: str
    splits: str = ""

    @property
    def sentence(self) -> str:
        """The finding in one sentence.

        Examples
        --------
        >>> Fitness("toy", 3, "graph_cls", "deprecate", "uninformative", "informative", 20, "GIN").sentence
        'deprecate: its graph is not needed, its node features are needed (RINGS; GIN, 20 runs per mode)'
        """
        on = f" on {self.splits}" if self.splits else ""
        # Degrees or identities are trained on where data have no features.
        what = "its node features are" if self.features else "what stands in for node features that it lacks is"
        return (
            f"{self.verdict}: its graph is {NEED[self.structure]}, {what} {NEED[self.node_features]} "
            f"(RINGS; {self.models}, {self.runs} runs per mode{on})"
        )


@cache
def _known() -> dict[tuple[str, int, str], Fitness]:
    found = [
        Fitness(
            row["dataset"], int(row["features"]), row["task_type"], row["verdict"], row["structure"],
            row["node_features"], int(row["runs"]), row["models"], row["splits"],
        )
        for row in read_rows(__package__ or "graphnetz.datasets", "fitness.csv")
    ]  # fmt: skip
    return {(item.dataset, item.features, item.task_type): item for item in found}


def fitness_of(card: DatasetCard | None, task_type: str | None = None) -> Fitness | None:
    """Return what is known about a dataset's fitness to judge models.

    Parameters
    ----------
    card
        Its card; None for data without one.
    task_type
        What is predicted; None takes the first that the card serves.

    Returns
    -------
    Fitness or None
        None where nothing was measured on these data: another number of feature columns is other data.

    Examples
    --------
    >>> from graphnetz.datasets import CARDS
    >>> fitness_of(CARDS["enzymes"]) is None  # measured with its 18 attributes, which this card leaves out
    True
    """
    if card is None:
        return None
    return _known().get((card.title, card.features or 0, task_type or next(iter(card.serves))))


def _as_is(task: Task) -> bool:
    """Whether a task holds its card's data, not perturbed or transformed ones."""
    return task.card is not None and task.loader is task.card.loader and not (task.transform or task.after_split)


def fitness_section(tasks: Iterable[Task]) -> Section | None:
    """Return what is known about the datasets of a run, as a section of its page; None where nothing is.

    Parameters
    ----------
    tasks
        Tasks of the run.

    Returns
    -------
    Section or None
        One row per task whose dataset was evaluated.

    Examples
    --------
    >>> from graphnetz.datasets import find_task
    >>> fitness_section([find_task("mutag")]).tables[0].rows[0][:2]
    ('mutag', 'realign')
    """
    known = {task.name: found for task in tasks if _as_is(task) and (found := fitness_of(task.card, task.task_type))}
    if not known:
        return None
    rows = tuple(
        (
            name, item.verdict, NEED[item.structure],
            NEED[item.node_features] + ("" if item.features else " (it has none: degrees or identities stand in)"),
            item.models, item.runs, item.splits,
        )
        for name, item in known.items()
    )  # fmt: skip
    needless = [f"{name} ({item.models})" for name, item in known.items() if item.structure == "uninformative"]
    verdict = f"{', '.join(needless)}: shown not to need the graph." if needless else ""
    words = (
        "From runs made before this one, with original and perturbed data: a mode is needed when models are shown "
        "worse without it. 'graphnetz rings NAME' makes such runs.",
    )
    columns = ("Task", "Verdict", "Graph", "Node features", "Models", "Runs per mode", "Splits")
    return Section(
        "fitness", "Are these datasets fit to judge models?", verdict, words, (Table(columns, rows),),
        level="warning" if needless else "info",
    )  # fmt: skip


def fitness_finding(tasks: Iterable[Task]) -> Finding | None:
    """Return what is known about the datasets of many tasks in one sentence; None where nothing is.

    Parameters
    ----------
    tasks
        Tasks that were run.

    Returns
    -------
    Finding or None
        With one row per task whose dataset was evaluated.

    Examples
    --------
    >>> from graphnetz.datasets import find_task
    >>> print(fitness_finding([find_task("mutag"), find_task("cora")]).text)
    RINGS judged the data of 2 of these 2 tasks: on 0 the graph is shown not to be needed.
    """
    asked = list(tasks)
    known = {task.name: found for task in asked if _as_is(task) and (found := fitness_of(task.card, task.task_type))}
    if not known:
        return None
    rows = tuple(
        (name, item.verdict, NEED[item.structure], NEED[item.node_features], item.models, item.runs)
        for name, item in known.items()
    )
    needless = [name for name, item in known.items() if item.structure == "uninformative"]
    text = f"RINGS judged the data of {len(known)} of these {len(asked)} tasks: on {len(needless)} the graph is shown "
    text += f"not to be needed{f' ({names(needless)})' if needless else ''}."
    columns = ("Task", "Verdict", "Graph", "Node features", "Models", "Runs per mode")
    tally = (("graph not needed", len(needless)), ("needed or not shown", len(known) - len(needless)))
    note = "A mode is needed when models are shown worse without it: runs with original and perturbed data."
    return Finding("fitness", GRAPH, text, Table(columns, rows, note), tally)
