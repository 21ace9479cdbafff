"""Published records as banks: fetched on demand, never shipped, with their own meta-features and licence."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from graphnetz._core.errors import UsageError
from graphnetz._core.registry import Registry
from graphnetz.selection.bank import Matrix


@dataclass(frozen=True, eq=False)
class PublishedBank:
    """Records that others published, mapped to configurations of ours.

    Parameters
    ----------
    name, licence, citation
        What it is called, under which terms it stands, and whom to cite.
    feature_set
        Meta-features that its graphs are described by.
    tables
        Performances by task type.
    notes
        What a reader should know, by task type.

    Examples
    --------
    >>> PublishedBank("mine", "MIT", "me", "regular", {}).matrix("node_cls")
    Traceback (most recent call last):
        ...
    graphnetz._core.errors.UsageError: The records of mine have nothing for 'node_cls'. They have: none.
    """

    name: str
    licence: str
    citation: str
    feature_set: str
    tables: Mapping[str, Matrix]
    notes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def matrix(self, task_type: str) -> Matrix:
        """Return the performances of one task type.

        Parameters
        ----------
        task_type
            ``"link_pred"`` or ``"node_cls"``.

        Returns
        -------
        Matrix
            NaN where nothing was published; costs are unknown.
        """
        if task_type not in self.tables:
            known = ", ".join(self.tables) or "none"
            raise UsageError(f"The records of {self.name} have nothing for {task_type!r}. They have: {known}.")
        return self.tables[task_type]


BANKS: Registry[Callable[[str], PublishedBank]] = Registry(
    "published bank", accepts=callable, homes=("graphnetz.papers.glemos",)
)
"""Readers of published records by name: they take the folder where datasets are kept and fetch what is missing."""
