"""Replicate a paper: run what is reachable, put every published cell beside ours, and judge the paper's claims."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from graphnetz._core.download import mirror_has
from graphnetz._core.errors import GraphnetzError, UsageError, unknown_name
from graphnetz._core.registry import Registry
from graphnetz._core.text import shorten
from graphnetz.datasets.suites import SUITES
from graphnetz.records import RunConfig, Task
from graphnetz.records.replication import Certificate, Judged, LeftOut, PaperClaim, ReplicatedCell, Replication
from graphnetz.records.suite import Published, Suite

if TYPE_CHECKING:
    from graphnetz.report import BenchmarkReport

REPLICATIONS: Registry[Replication] = Registry(
    "paper",
    entry_points="graphnetz.replications",
    accepts=Replication,
    named="name",
    homes=(
        "graphnetz.papers.graphnetz.replication",
        "graphnetz.papers.benchmarking_gnns.replication",
        "graphnetz.papers.rings.replication",
        "graphnetz.papers.glemos.replication",
    ),
)
"""Papers that `replicate` knows."""

Tell = Callable[[str], None]
HOURS = 8.0
"""Core-hours that the cells of one (task, model) may take before they are left out and listed."""


def replicate(
    paper: str,
    *,
    table: str | None = None,
    size: str = "small",
    out: str | Path | None = None,
    hours: float | None = HOURS,
    tell: Tell | None = None,
    **settings: Any,
) -> Certificate:
    """Run what is reachable of a paper and return the certificate.

    Parameters
    ----------
    paper
        Name of the paper, one of `REPLICATIONS`.
    table
        One table of the paper; None takes all of them.
    size
        ``"small"``: fewer graphs, seeds or epochs, in minutes. ``"published"``: data and protocol of the paper.
        ``"generated"``, where a paper has it: the protocol of the paper on data of our own.
    out
        Where runs and the certificate are kept; called again, only missing cells are trained. None keeps nothing.
    hours
        Price every (task, model) first and leave out what takes more core-hours: 0 trains nothing and puts together
        what is finished; None prices nothing.
    tell
        Called with one line per step; the progress of each run then goes to standard error. None says nothing.
    **settings
        Settings of `RunConfig` for every run, such as ``workers`` or ``mirror``.

    Returns
    -------
    Certificate
        Cells, claims, and what was not run.

    Examples
    --------
    >>> replicate("grafnetz")
    Traceback (most recent call last):
        ...
    graphnetz._core.errors.UnknownNameError: Unknown paper 'grafnetz'. Did you mean 'graphnetz'? ...
    """
    known = REPLICATIONS[paper]
    if size not in known.sizes:
        raise unknown_name("size", size, known.sizes)
    if table is not None and table not in known.tables:
        raise unknown_name(f"table of {paper}", table, known.tables)
    if hours == 0 and not known.priced:
        raise UsageError(
            f"{paper} is not priced, so there is no dry run of it. Ask for one --table to see what it takes."
        )
    from graphnetz.engine.config import mirrored

    with _folder(out) as folder, mirrored(RunConfig.read({"mirror": settings.get("mirror")})):
        made = known.make(table=table, size=size, out=folder, hours=hours, tell=tell or silent, **settings)
        if out is not None:
            from graphnetz.report.certificate import write

            write(made, folder)
    return made


def silent(_: str) -> None:
    """Say nothing; runs then show no progress either."""


@contextmanager
def _folder(out: str | Path | None) -> Iterator[Path]:
    if out is not None:
        yield Path(out)
        return
    with tempfile.TemporaryDirectory(prefix="graphnetz-replicate-") as place:
        yield Path(place)


@dataclass(frozen=True)
class Part:
    """Some tables of a paper that one suite answers for.

    Parameters
    ----------
    suite
        Its name.
    tables
        The tables, as the published figures and the claims name them.
    settings
        Settings of the run, by size; those under ``""`` hold for every size.
    tasks
        Full names of the tasks to run at a size; None runs all.
    sizes
        Sizes at which it answers; none means every size.
    """

    suite: str
    tables: tuple[str, ...]
    settings: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    tasks: Mapping[str, Sequence[str]] = field(default_factory=dict)
    sizes: tuple[str, ...] = ()

    def asked(self, table: str | None, size: str) -> tuple[str, ...]:
        """Tables that it answers for at a size; "16" asks for "16 (second run)" too."""
        if self.sizes and size not in self.sizes:
            return ()
        return tuple(mine for mine in self.tables if _is_of(mine, table))


def _is_of(mine: str, asked: str | None) -> bool:
    """Whether a table was asked for: by its name, by its number ("16" for "16 (second run)"), or with all others."""
    return asked in (None, mine, mine.partition(" ")[0])


@dataclass(frozen=True)
class FromSuites:
    """The `Replication.make` of a paper whose numbers are those of suites."""

    paper: str
    citation: str
    parts: tuple[Part, ...]
    claims: Callable[[], Sequence[PaperClaim]]
    notes: Mapping[str, str] = field(default_factory=dict)
    rest: Callable[[], Sequence[Published]] = tuple
    """Every published row of the paper; ``more["suite"]`` says what trains those that no part answers for."""

    def __call__(
        self, *, table: str | None, size: str, out: Path, hours: float | None, tell: Tell, **settings: Any
    ) -> Certificate:
        """Run part after part, and put everything together."""
        from graphnetz.analysis.published import MARGIN

        runs: list[tuple[_PartRun, list[PaperClaim], tuple[str, ...], list[_Priced]]] = []
        for part, wanted in ((part, part.asked(table, size)) for part in self.parts):
            if not wanted:
                continue
            suite = SUITES[part.suite]
            claims = [claim for claim in self.claims() if claim.table in wanted and _asks_of(claim, suite)]
            names = {row.task for row in (suite.published() if suite.published else ()) if row.table in wanted}
            names |= {name for claim in claims for name in (claim.task, claim.than)}
            one = _PartRun(part, suite, size, out / part.suite, hours, tell, settings, frozenset(names))
            runs.append((one, claims, wanted, one.priced()))
        ahead = [item for *_, plan in runs for item in plan if item.config is not None]
        if hours is not None:
            plans = [item for *_, plan in runs for item in plan] if hours == 0 else ahead
            total = f"{sum(i.cells for i in plans)} cells, about {sum(i.hours for i in plans):.2g} core-hours"
            tell(f"To train: {total}" if hours else f"Missing: {total}; nothing is trained")
        rest = {(row.table, row.task, row.model): row for row in self.rest() if _is_of(row.table, table)}
        cells: list[ReplicatedCell] = []
        left: list[LeftOut] = []
        judged: list[Judged] = []
        seen: set[tuple[str, str, str]] = set()
        for one, claims, wanted, plan in runs:
            report, needs = one(plan)
            held, missing = _cells(report, one.suite, needs, wanted, size)
            seen |= {(cell.table, one.suite.full_name(cell.task), cell.model) for cell in held}
            cells += held
            left += [
                replace(item, needs=item.needs or f"not part of size {size}")
                for item in missing
                if item.needs or (item.table, item.task, item.model) not in rest
            ]
            judged += _judged(report, one.suite, claims, held)
        seen |= {(item.table, item.task, item.model) for item in left}
        left += [LeftOut(*key, _nothing(row) or _elsewhere(row, size)) for key, row in rest.items() if key not in seen]
        notes = tuple(text for of, text in self.notes.items() if of in ("", size))
        return Certificate(
            self.paper, self.citation, size, tuple(cells), tuple(judged), tuple(left), margin=MARGIN, notes=notes
        )


def _asks_of(claim: PaperClaim, suite: Suite) -> bool:
    """Whether a claim is about a task of a suite: tables on several datasets are one suite each."""
    return not claim.task or claim.task in {task.name for task in suite()}


@dataclass(frozen=True)
class _Priced:
    """What to train of one task (None: nothing), its missing cells and their price, and what left out pairs need.

    Where nothing may be trained, missing are all of them, else those of the pairs that are not left out.
    """

    name: str
    config: RunConfig | None
    needs: Mapping[tuple[str, str], str]
    cells: int = 0
    hours: float = 0.0


@dataclass(frozen=True)
class _PartRun:
    """Train the tasks of one part, each in a run folder of its own."""

    part: Part
    suite: Suite
    size: str
    folder: Path
    hours: float | None
    tell: Tell
    settings: Mapping[str, Any]
    names: frozenset[str]

    def priced(self) -> list[_Priced]:
        """Say of every task what its missing cells cost, and leave out what costs too much."""
        return [self._guarded(self._price, task.name, task) for task in self._tasks()]

    def __call__(self, plan: Sequence[_Priced]) -> tuple[BenchmarkReport | None, dict[tuple[str, str], str]]:
        """Return one report of all tasks, and what pairs that were not run need."""
        from graphnetz.report.compare_runs import merge_reports

        reports: list[BenchmarkReport] = []
        needs: dict[tuple[str, str], str] = {}
        for item in plan:
            needs |= item.needs
            if item.config is not None:
                needs |= self._guarded(self._train, item.name, item, reports).needs
        merged = merge_reports(reports) if len(reports) > 1 else next(iter(reports), None)
        return merged, needs

    def _guarded(self, step: Callable[..., _Priced], name: str, *arguments: Any) -> _Priced:
        """Take a step; what data or settings forbid is said and listed, and the other tasks go on."""
        try:
            return step(*arguments)
        except GraphnetzError as error:
            self.tell(f"{name}: not run: {shorten(str(error), 160)}")
            return _Priced(name, None, {(self.suite.full_name(name), ""): shorten(str(error), 240)})

    def _tasks(self) -> list[Task]:
        tasks = self.suite(self.size if self.suite.sizes else None)
        chosen = self.names & frozenset(self.part.tasks.get(self.size, self.names))
        return [task for task in tasks if self.suite.full_name(task.name) in chosen]

    def _train(self, item: _Priced, reports: list[BenchmarkReport]) -> _Priced:
        from graphnetz.engine.config import resolve
        from graphnetz.engine.run import run

        told = self.tell is not silent and item.cells > 0 and self.hours != 0
        report = run(resolve(item.config), verbose=told)  # type: ignore[arg-type]
        failed = sum(not result.ok for result in report.results)
        self.tell(f"{item.name}: {len(report.results)} cells" + (f", {failed} failed" if failed else ""))
        reports.append(report)
        return _Priced(item.name, None, {})

    def _price(self, task: Task) -> _Priced:
        """Price the missing cells of a task, and leave out the models that take more core-hours than allowed."""
        from graphnetz.engine.cost.estimate import estimate_plan

        config = self._config(task)
        if self.hours is None:
            return _Priced(task.name, config, {}, cells=1)
        every = estimate_plan(config).pairs
        pairs = [pair for pair in every if pair.cells > pair.done]
        hours = {pair.model: (pair.cells - pair.done) * pair.seconds / 3600 for pair in pairs}  # NaN without a price
        most = {pair.model: (pair.cells - pair.done) * pair.most / 3600 for pair in pairs}
        told = ", ".join(model + _hours_in_words(price, most[model]) for model, price in hours.items())
        missing = sum(pair.cells - pair.done for pair in pairs)
        self.tell(f"{task.name}: {missing} cells to train" + (f", core-hours: {told}" if told else ""))
        dear = {m: price for m, price in hours.items() if price > self.hours or (self.hours == 0 and price != price)}
        full = self.suite.full_name(task.name)
        needs = {(full, model): self._words(price, most[model]) for model, price in dear.items()}
        told_of = hours if self.hours == 0 else hours.keys() - dear
        cells = sum(pair.cells - pair.done for pair in pairs if pair.model in told_of)
        price = math.fsum(price for model, price in hours.items() if model in told_of and price == price)
        if dear:
            models = list(dict.fromkeys(pair.model for pair in every if pair.model not in dear))
            kept = RunConfig.read(config.model_dump(exclude_unset=True) | {"model": models}) if models else None
            return _Priced(task.name, kept, needs, cells, price)
        return _Priced(task.name, config, needs, cells, price)

    def _words(self, price: float, most: float) -> str:
        about = "core-hours that no probe measured"
        if price == price:
            about = f"about{_hours_in_words(price, most)} core-hours"
        return f"{about} (more than {self.hours:g})" if self.hours else f"{about} of training"

    def _config(self, task: Task) -> RunConfig:
        figures = self.suite.published() if self.suite.published else ()
        full = self.suite.full_name(task.name)
        models = list(dict.fromkeys(row.model for row in figures if row.task == full and not math.isnan(row.mean)))
        own = {**self.part.settings.get("", {}), **self.part.settings.get(self.size, {})}
        base = {"suite": self.suite.name, "task": [task.name], "out": str(self.folder / task.name)}
        base |= {"size": self.size} if self.suite.sizes else {}
        base |= {"model": models} if models else {}
        return RunConfig.read(base | own | dict(self.settings))


def _hours_in_words(price: float, most: float) -> str:
    """A price, and the most it can become where training ends by itself before all epochs are used."""
    return f" {price:.2g}" + (f" (at most {most:.2g})" if f"{most:.2g}" not in ("nan", f"{price:.2g}") else "")


def _cells(
    report: BenchmarkReport | None, suite: Suite, needs: Mapping[tuple[str, str], str], tables: Sequence[str], size: str
) -> tuple[list[ReplicatedCell], list[LeftOut]]:
    """Cells that were run beside the published ones, and the published ones that were not."""
    from graphnetz.analysis.published import beside

    rows = [] if report is None else [row for row in beside(report, suite) if row.table in tables]
    used = {task.name: task for task in suite(size if suite.sizes else None)}
    cells = []
    for row in rows:
        spread = row.published_sd if math.isnan(row.half_width) else row.half_width
        why = row.why or ("" if row.verdict in _SAID else row.verdict)
        why = "; ".join(filter(None, (why, _fewer(report, used[row.task], row.model))))
        cells.append(ReplicatedCell(
            row.table, row.task, row.model, row.metric, row.published, spread, row.published_runs, row.ours, row.spread,
            row.runs, row.low, row.high, row.margin, "not comparable" if why else row.agreement,
            data_used(used[row.task]), why, row.train, row.published_train,
        ))  # fmt: skip
    held = {(suite.full_name(row.task), row.model) for row in rows}
    left = []
    for figure in suite.published() if suite.published else ():
        if figure.table in tables and (figure.task, figure.model) not in held:
            words = needs.get((figure.task, figure.model)) or needs.get((figure.task, ""))
            words = _nothing(figure) or words or not_asked(suite, figure.task, size)
            left.append(LeftOut(figure.table, figure.task, figure.model, words))
    return cells, left


def _fewer(report: Any, task: Task, model: str) -> str:
    """Say when fewer seeds than published were trained on each fold, which the number of folds does not show."""
    rule = task.cross_validation
    wanted = rule.folds * len(rule.seeds) if rule and rule.seeds else 0
    ran = sum(result.ok for result in report.results if (result.task, result.model) == (task.name, model))
    return f"{ran} of the {wanted} runs on {rule.folds} folds" if rule and ran < wanted else ""


def _nothing(figure: Published) -> str:
    return f"nothing: the paper says {figure.more.get('note') or 'nothing'}" if math.isnan(figure.mean) else ""


def _elsewhere(row: Published, size: str) -> str:
    suite = row.more["suite"]
    needs = not_asked(SUITES[suite], row.task, size)
    return f"graphnetz run --suite {suite}" + (f", {needs}" if needs else "")


def not_asked(suite: Suite, task: str, size: str) -> str:
    """Say what a published cell needs that nobody asked for at a size; empty where its suite has no such task."""
    full = next((item for item in suite() if item.name == task), None)
    if full is None or not suite.sizes or size == suite.sizes[0]:
        return ""
    data = data_used(full)
    words = {"published files": "the published files, by network or mirror", "generator": "data of our generator"}
    return f"size {suite.sizes[0]}: {words.get(data, data)}"


_SAID = ("compatible", "differs", "too wide to say", "one seed has no interval")
"""Verdicts of `beside` that are no reason against comparing."""


def data_used(task: Task) -> str:
    """Say where the data of a task comes from: a generator, a mirror, a package, or the published files.

    Parameters
    ----------
    task
        The task.

    Returns
    -------
    str
        A few words.

    Examples
    --------
    >>> from graphnetz.datasets import task_of
    >>> data_used(task_of("csl"))
    'generator'
    """
    card = task.card
    if card is None:
        return "own loader"
    if card.simulated:
        return "generator"
    if any(mirror_has(name) for name in card.mirror):
        return "mirror"
    return "package" if card.offline else "published files"


def _judged(
    report: BenchmarkReport | None, suite: Suite, claims: Sequence[PaperClaim], cells: Sequence[ReplicatedCell]
) -> list[Judged]:
    from graphnetz.analysis.replication import judge

    if report is None:
        return [Judged(claim, "not run", "none of its cells was run") for claim in claims]
    why = {suite.full_name(cell.task): cell.why_not for cell in cells}
    return judge(report, suite, claims, why_not=why)
