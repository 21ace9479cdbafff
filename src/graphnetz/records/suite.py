"""What is run together: a suite, and what others have published about it."""

from __future__ import annotations

import csv
import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import resources
from typing import Any

from graphnetz._core.errors import UsageError, unknown_name
from graphnetz.records.section import Table
from graphnetz.records.task import Task


@dataclass(frozen=True)
class Published:
    """One figure of a published table.

    Attributes
    ----------
    table
        Where it stands, such as "Table 2".
    task, model, metric
        Their names here, at the published size.
    mean, n
        The printed mean, and over how many runs; 0 where the paper does not say.
    sd, half_width
        Standard deviation over the runs (of the population, as most papers print), and half of a 95 % interval of
        the mean: papers print one of the two, the other is NaN.
    same_data
        False where our task is another sample or generator than the published one.
    more
        Columns that only this table has, as text.

    Examples
    --------
    >>> Published("Table 2", "cora", "GCN", "test_acc", 0.811, sd=0.004, n=10).mean
    0.811
    """

    table: str
    task: str
    model: str
    metric: str
    mean: float
    sd: float = math.nan
    half_width: float = math.nan
    n: int = 0
    same_data: bool = True
    more: Mapping[str, str] = field(default_factory=dict)


_COLUMNS = ("table", "task", "model", "metric", "mean", "sd", "half_width", "n", "same_data")


def read_published(package: str, name: str = "published.csv") -> tuple[Published, ...]:
    """Read a published table that ships as CSV with ``package``.

    Parameters
    ----------
    package
        Dotted name of the package that holds the file.
    name
        A file with the columns table, task, model, metric and mean; sd, half_width, n and same_data (no for
        other data) where the paper has them; others are kept as text.

    Returns
    -------
    tuple of Published
        One per row, in the order of the file.

    Examples
    --------
    >>> rows = read_published("graphnetz.papers.graphnetz")
    >>> [row.mean for row in rows if (row.task, row.model) == ("cora", "GCN")]
    [0.811]
    """
    return tuple(
        Published(
            row.get("table", ""), row["task"], row["model"], row.get("metric", ""), _number(row["mean"]),
            sd=_number(row.get("sd")), half_width=_number(row.get("half_width")), n=int(row.get("n") or 0),
            same_data=row.get("same_data") != "no",
            more={key: value for key, value in row.items() if key not in _COLUMNS},
        )
        for row in read_rows(package, name)
    )  # fmt: skip


def read_rows(package: str, name: str) -> list[dict[str, str]]:
    """Read a CSV file that ships with ``package``, as text."""
    text = (resources.files(package) / name).read_text(encoding="utf-8")
    return list(csv.DictReader(text.splitlines()))


def _number(text: str | None) -> float:
    return float(text) if text else math.nan


@dataclass(frozen=True)
class Suite:
    """Tasks that are run together, and how: models, seeds, protocol, sizes, and a published table.

    Whatever the caller of a run asks for wins over what is written here.

    Parameters
    ----------
    name
        Name in the registry of suites.
    make
        Returns the tasks; takes the size as its first argument where there are ``sizes``.
    models
        Returns models by name; called when a run begins, because models need torch. None: the usual ones.
    seeds
        Seeds, or seeds by size. None: the usual ones.
    protocol, model_protocol
        Protocol settings of all models, and of single ones by name.
    sizes
        Names of the sizes that ``make`` knows, the default first. A task of another size than the first
        ends in its name: ``csl_small`` stands beside the published row of ``csl``.
    published
        Returns the published figures that `graphnetz.analysis.published.beside` puts beside ours.
    citation
        Where they stand.
    reductions
        What other sizes than the first leave out of a task, in words, by its name at the first size.

    Examples
    --------
    >>> suite = Suite("mine", lambda: [Task("t", "node_cls", print)])
    >>> [task.name for task in suite()]
    ['t']
    >>> suite("small")
    Traceback (most recent call last):
        ...
    graphnetz._core.errors.UsageError: The suite 'mine' has one size. Leave --size out.
    """

    name: str
    make: Callable[..., list[Task]]
    models: Callable[[], Mapping[str, Any]] | None = None
    seeds: Mapping[str, Sequence[int]] | Sequence[int] | None = None
    protocol: Mapping[str, Any] = field(default_factory=dict)
    model_protocol: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    sizes: tuple[str, ...] = ()
    published: Callable[[], Sequence[Published]] | None = None
    citation: str = ""
    reductions: Mapping[str, str] = field(default_factory=dict)

    @property
    def title(self) -> str:
        """What it is, in one line: that of the function that makes its tasks."""
        return (inspect.getdoc(self.make) or "").partition("\n")[0]

    def _repr_html_(self) -> str:
        """Return its tasks for a notebook cell."""
        rows = tuple((task.name, task.task_type, task.category, task.epochs) for task in self())
        seeds = self.seeds_at(None)
        words = [f"{self.name}: {self.title.removeprefix('Return ')}", f"{len(seeds)} seeds." if seeds else ""]
        words += [f"Sizes: {', '.join(self.sizes)}." if self.sizes else "", self.citation]
        return Table(("Task", "Type", "Category", "Epochs"), rows, " ".join(filter(None, words)))._repr_html_()

    def __call__(self, size: str | None = None) -> list[Task]:
        """Return the tasks at a size, the first one unless told otherwise."""
        if not self.sizes:
            if size not in (None, "published"):  # which configurations of the first edition hold for every suite
                raise UsageError(f"The suite {self.name!r} has one size. Leave --size out.")
            return self.make()
        return self.make(self._size(size))

    def seeds_at(self, size: str | None) -> list[int] | None:
        """Return the seeds at a size.

        Parameters
        ----------
        size
            One of ``sizes``; None is the first.

        Returns
        -------
        list of int or None
            None where the suite leaves them open.

        Examples
        --------
        >>> suite = Suite("mine", print, seeds={"published": range(4), "small": [0]}, sizes=("published", "small"))
        >>> suite.seeds_at(None), suite.seeds_at("small")
        ([0, 1, 2, 3], [0])
        """
        found = self.seeds[self._size(size)] if isinstance(self.seeds, Mapping) else self.seeds
        return None if found is None else list(found)

    def full_name(self, task: str) -> str:
        """Return the name of the same task at the published size.

        Parameters
        ----------
        task
            A task of this suite at any size.

        Returns
        -------
        str
            Its name without the size.

        Examples
        --------
        >>> Suite("mine", print, sizes=("published", "small")).full_name("csl_small")
        'csl'
        """
        for size in self.sizes[1:]:
            task = task.removesuffix(f"_{size}")
        return task

    def epochs_needed(self, task: str, model: str) -> int:
        """Return the epochs after which published runs had ended (column ``epochs`` of the table); 0: it does not say.

        Parameters
        ----------
        task, model
            A cell of this suite, at any size.

        Returns
        -------
        int
            The most, where several rows are of that task and model.

        Examples
        --------
        >>> row = Published("10", "csl", "GIN", "acc", 0.99, more={"epochs": "65"})
        >>> suite = Suite("mine", print, sizes=("published", "small"), published=lambda: [row])
        >>> suite.epochs_needed("csl_small", "GIN")
        65
        """
        rows = self.published() if self.published else ()
        mine = [row.more.get("epochs") for row in rows if (row.task, row.model) == (self.full_name(task), model)]
        return max((int(epochs) for epochs in mine if epochs), default=0)

    def _size(self, size: str | None) -> str:
        if size is not None and size not in self.sizes:
            raise unknown_name("size", size, self.sizes)
        return size or self.sizes[0]
