"""What a paper says, and what came of it here: claims, cells beside published ones, and the certificate of both."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from importlib import resources
from typing import Any

from graphnetz._core.errors import UsageError, unknown_name

OUTCOMES = ("shown", "not shown", "contradicted", "not run")
"""What can come of a claim; whether the data allows a comparison with the paper is said apart."""


@dataclass(frozen=True)
class PaperClaim:
    """One sentence of a paper that a run can show, leave open or contradict.

    Four forms: ``better`` over ``worse`` on ``task``; ``model`` on ``task`` over the same model on ``than`` (a task);
    ``model`` on ``task`` at ``level`` give or take ``within``; ``ranks = "equal"``: the Friedman test over at least
    ``tasks`` tasks of the run does not reject equal ranks.

    Attributes
    ----------
    says, table
        The claim in few words, and where the paper makes it.
    task, better, worse, model, than, level, within, ranks, tasks
        See above; empty or NaN where the form has no use for them.

    Examples
    --------
    >>> PaperClaim("GCN over MLP on Cora", "3", "cora", better="GCN", worse="MLP").form
    'pair'
    """

    says: str
    table: str = ""
    task: str = ""
    better: str = ""
    worse: str = ""
    model: str = ""
    than: str = ""
    level: float = math.nan
    within: float = math.nan
    ranks: str = ""
    tasks: int = 0

    @property
    def form(self) -> str:
        """``pair``, ``tasks``, ``level`` or ``ranks``."""
        if self.ranks:
            return "ranks"
        if self.better and self.worse:
            return "pair"
        if self.than:
            return "tasks"
        if math.isfinite(self.level) and self.within > 0:
            return "level"
        raise UsageError(
            f"The claim {self.says!r} has none of the four forms: give better and worse, model and than, model, level "
            "and within, or ranks."
        )


def read_claims(package: str, name: str = "claims.toml") -> tuple[PaperClaim, ...]:
    """Read the claims of a paper from the file that ships with ``package``.

    Parameters
    ----------
    package
        Dotted name of the package that holds the file.
    name
        A TOML file with one table ``[[claim]]`` each.

    Returns
    -------
    tuple of PaperClaim
        In the order of the file; each has one of the forms.

    Examples
    --------
    >>> claims = read_claims("graphnetz.papers.graphnetz")
    >>> claims[0].table
    '2'
    """
    raw = tomllib.loads((resources.files(package) / name).read_text(encoding="utf-8"))["claim"]
    claims = tuple(PaperClaim(**entry) for entry in raw)
    for claim in claims:
        _ = claim.form
    return claims


@dataclass(frozen=True)
class Judged:
    """A claim, what came of it, and on what that rests.

    Attributes
    ----------
    claim
        The claim.
    outcome
        One of `OUTCOMES`.
    basis
        Figures, or why nothing was run.
    why_not
        Why our data or protocol is not the paper's; empty where it is.
    """

    claim: PaperClaim
    outcome: str
    basis: str
    why_not: str = ""

    @property
    def comparable(self) -> bool:
        """Whether the data and the protocol are the paper's."""
        return not self.why_not

    def __str__(self) -> str:
        words = f"{self.claim.says}: {self.outcome}"
        if self.outcome != "not run" and self.why_not:
            words += f", not comparable with the paper ({self.why_not})"
        return f"{words}; {self.basis}" if self.basis else words


@dataclass(frozen=True)
class ReplicatedCell:
    """A published cell beside ours.

    Attributes
    ----------
    table, task, model, metric
        Which cell; names are ours.
    published, published_spread, published_runs
        What the paper prints: mean, standard deviation or half of an interval, runs.
    ours, spread, runs
        Mean, standard deviation and number of our runs (folds, where there are folds).
    low, high
        95 % Welch interval of the difference.
    margin, agreement
        Largest difference that does not matter, and ``equivalent``, ``differs``, ``open`` or ``not comparable``.
    data, why_not
        What our run was trained on, and why that is not the paper's data or protocol.
    train, published_train
        Means on the training examples; NaN where one of them is not known.
    """

    table: str
    task: str
    model: str
    metric: str
    published: float
    published_spread: float
    published_runs: int
    ours: float
    spread: float
    runs: int
    low: float
    high: float
    margin: float
    agreement: str
    data: str
    why_not: str = ""
    train: float = math.nan
    published_train: float = math.nan


@dataclass(frozen=True)
class LeftOut:
    """A published cell that was not run, and what it would need."""

    table: str
    task: str
    model: str
    needs: str


@dataclass(frozen=True)
class Certificate:
    """What came of a paper's numbers and claims here.

    Attributes
    ----------
    paper, citation, size
        Which paper, and at which size it was run.
    cells, claims, left
        Cells beside ours, claims with their outcome, and what was not run.
    margin
        The margins in words.
    notes
        Remarks of the run.

    Examples
    --------
    >>> Certificate("graphnetz", "da Costa and Modenesi", "small").counts()["cells"]
    {'equivalent': 0, 'differs': 0, 'open': 0, 'not comparable': 0, 'not run': 0}
    """

    paper: str
    citation: str
    size: str
    cells: tuple[ReplicatedCell, ...] = ()
    claims: tuple[Judged, ...] = ()
    left: tuple[LeftOut, ...] = ()
    margin: str = ""
    notes: tuple[str, ...] = ()

    def counts(self) -> dict[str, dict[str, int]]:
        """Count cells by agreement and claims by outcome, those on other data apart.

        Returns
        -------
        dict
            ``cells``, ``claims`` (on the paper's data) and ``claims on other data``, each outcome -> number.

        Examples
        --------
        >>> Certificate("graphnetz", "da Costa and Modenesi", "small").counts()["claims"]["shown"]
        0
        """
        kinds = ("equivalent", "differs", "open", "not comparable")
        cells = {kind: sum(cell.agreement == kind for cell in self.cells) for kind in kinds}
        cells["not run"] = len(self.left)

        def claims(comparable: bool, outcomes: Sequence[str]) -> dict[str, int]:
            held = [j for j in self.claims if j.comparable is comparable or j.outcome == "not run"]
            return {outcome: sum(item.outcome == outcome for item in held) for outcome in outcomes}

        return {"cells": cells, "claims": claims(True, OUTCOMES), "claims on other data": claims(False, OUTCOMES[:3])}

    def verdict_of(self, says: str) -> str:
        """Return what came of one claim.

        Parameters
        ----------
        says
            The claim's words.

        Returns
        -------
        str
            One of `OUTCOMES`.

        Examples
        --------
        >>> claim = PaperClaim("GCN over MLP on Cora", task="cora", better="GCN", worse="MLP")
        >>> made = Certificate("mine", "me", "small", claims=(Judged(claim, "shown", "by 0.1"),))
        >>> made.verdict_of("GCN over MLP on Cora")
        'shown'
        """
        found = {item.claim.says: item.outcome for item in self.claims}
        if says not in found:
            raise unknown_name(f"claim of {self.paper}", says, found)
        return found[says]

    def to_json(self) -> dict[str, Any]:
        """Return plain values; NaN becomes None.

        Returns
        -------
        dict
            Ready for ``json.dumps``.

        Examples
        --------
        >>> Certificate("graphnetz", "da Costa and Modenesi", "small").to_json()["size"]
        'small'
        """
        body: dict[str, Any] = _plain(asdict(self))
        for item, made in zip(body["claims"], self.claims, strict=True):
            item["comparable"] = made.comparable
        return body | {"counts": self.counts()}


def certificate_from_json(raw: Mapping[str, Any]) -> Certificate:
    """Return the certificate that `Certificate.to_json` wrote.

    Parameters
    ----------
    raw
        Plain values.

    Returns
    -------
    Certificate
        With NaN where JSON has null.

    Examples
    --------
    >>> made = Certificate("graphnetz", "da Costa and Modenesi", "small")
    >>> certificate_from_json(made.to_json()) == made
    True
    """

    def read(kind: Any, values: Mapping[str, Any]) -> Any:
        known = {item.name: item.type for item in fields(kind)}
        return kind(
            **{k: math.nan if v is None and known[k] == "float" else v for k, v in values.items() if k in known}
        )

    return Certificate(
        raw["paper"], raw["citation"], raw["size"],
        tuple(read(ReplicatedCell, cell) for cell in raw["cells"]),
        tuple(read(Judged, item | {"claim": read(PaperClaim, item["claim"])}) for item in raw["claims"]),
        tuple(read(LeftOut, item) for item in raw["left"]), raw["margin"], tuple(raw["notes"]),
    )  # fmt: skip


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


@dataclass(frozen=True)
class Replication:
    """A paper that can be replicated: one mechanism for all of them.

    Parameters
    ----------
    name, title, citation
        Name on the command line, what is replicated, and whom to cite.
    make
        ``make(table=, size=, out=, hours=, **settings) -> Certificate``: runs what is reachable and compares it.
    tables
        Tables that can be asked for, each with what it says.
    sizes
        Sizes that can be asked for, the smallest first.
    priced
        Whether ``make`` prices what it trains, so that ``hours=0`` trains nothing.

    Examples
    --------
    >>> mine = Replication("mine", "Mine", "Me, 2026", lambda **_: Certificate("mine", "Me, 2026", "small"))
    >>> mine.make(table=None, size="small", out=None).paper
    'mine'
    """

    name: str
    title: str
    citation: str
    make: Callable[..., Certificate]
    tables: Mapping[str, str] = field(default_factory=dict)
    sizes: tuple[str, ...] = ("small", "published")
    priced: bool = True
