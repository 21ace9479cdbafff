"""Table 12 of the RINGS paper: seeds of weights, splits and perturbations, all of them crossed.

Every pair of a split and a draw is a task, trained once per seed of the weights. Then the cells of a mode are runs
of one task again, numbered so that runs of one split are a block and fixed modes share their runs with drawn ones.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from torch_geometric.data import Data

from graphnetz._core.errors import UsageError
from graphnetz.records import CellResult, Task
from graphnetz.records.graphs import GraphList
from graphnetz.rings.perturbations import PERTURBATIONS
from graphnetz.rings.splits import share_splits
from graphnetz.rings.tasks import PerturbedLoader, perturb_task

Crossed = Mapping[str, Sequence[int]]
"""Seeds by what they vary: initialisation, split, perturbation."""


@dataclasses.dataclass(frozen=True)
class OneSplitLoader(PerturbedLoader):
    """A perturbed loader with one split for all runs."""

    split: int = 0

    def convert(self, dataset: Any, seed: int) -> Any:
        """Perturb a loaded dataset and split it."""
        if isinstance(dataset, Data) or getattr(dataset, "splits", None) is not None or self.test_share is None:
            raise UsageError(
                "Seeds of splits can be crossed only where there are many graphs without a split of their own. "
                "Take another tuning."
            )
        graphs = list(super().convert(dataset, seed))
        split = share_splits(graphs, test=self.test_share, count=self.split + 1)[-1]
        return GraphList(graphs, splits=[split], replication="init")


def crossed_tasks(task: Task, code: str, seeds: Crossed, *, test_share: float | None) -> list[Task]:
    """Return one task per pair of a split and a draw of the perturbation; fixed modes have one draw.

    Parameters
    ----------
    task
        The original task.
    code
        The mode.
    seeds
        Seeds by what they vary; those of the initialisation are the seeds of the run.
    test_share
        Share of the graphs to test on.

    Returns
    -------
    list of Task
        Named ``name+split+draw@code``, by position.

    Examples
    --------
    >>> task = Task("toy", "graph_cls", list)
    >>> seeds = {"initialisation": (42, 7), "split": (67, 23), "perturbation": (34, 12)}
    >>> [item.name for item in crossed_tasks(task, "eg", seeds, test_share=0.2)]
    ['toy+0+0@eg', 'toy+1+0@eg']
    """
    draws = seeds["perturbation"] if PERTURBATIONS[code].random else seeds["perturbation"][:1]
    made = [perturb_task(task, code, seed=draw, test_share=test_share) for draw in draws]
    return [
        dataclasses.replace(item, name=f"{task.name}+{s}+{d}@{code}", loader=_split(item.loader, split))
        for d, item in enumerate(made)
        for s, split in enumerate(seeds["split"])
    ]


def _split(loader: Any, split: int) -> OneSplitLoader:
    if type(loader) is not PerturbedLoader:
        raise UsageError("Seeds of splits cannot be crossed where a task splits or draws by itself.")
    fields = {item.name: getattr(loader, item.name) for item in dataclasses.fields(loader)}
    return OneSplitLoader(**fields, split=split)


def crossed_results(results: Sequence[CellResult], seeds: Crossed) -> list[CellResult]:
    """Return the cells as runs of one task per mode: number (draw, initialisation, split), the split running fastest.

    Parameters
    ----------
    results
        Cells of `crossed_tasks`.
    seeds
        The seeds they were made with.

    Returns
    -------
    list of CellResult
        With tasks ``name@code``.

    Examples
    --------
    >>> cell = CellResult("key", "toy+1+0@rg", "GIN", 7, metrics={"test_acc": 0.5})
    >>> seeds = {"initialisation": (42, 7), "split": (67, 23), "perturbation": (34, 12)}
    >>> [(cell.task, cell.seed) for cell in crossed_results([cell], seeds)]
    [('toy@rg', 3)]
    """
    weights = {seed: i for i, seed in enumerate(seeds["initialisation"])}
    out = []
    for result in results:
        front, _, code = result.task.rpartition("@")
        name, split, draw = front.rsplit("+", 2)
        number = (int(draw) * len(weights) + weights[result.seed]) * len(seeds["split"]) + int(split)
        out.append(dataclasses.replace(result, task=f"{name}@{code}", seed=number))
    return out
