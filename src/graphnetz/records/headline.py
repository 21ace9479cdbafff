"""A report in three sentences."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from graphnetz.records.analysis import Verdict


@dataclass(frozen=True)
class Headline:
    """A report in three sentences, and a task in one line.

    Attributes
    ----------
    leads, reaches, distrust
        Who leads, how far that reaches, and what to distrust.
    lines
        One line per task, in the order of the tasks.

    Examples
    --------
    >>> from graphnetz.report import example_report
    >>> example_report().analysis.headline.lines["cora"].text
    'GCN is best by mean, not shown ahead of GAT.'
    """

    leads: Verdict
    reaches: Verdict
    distrust: Verdict
    lines: Mapping[str, Verdict] = field(default_factory=dict)

    @property
    def sentences(self) -> tuple[Verdict, Verdict, Verdict]:
        """The three, in the order in which they are read."""
        return self.leads, self.reaches, self.distrust
