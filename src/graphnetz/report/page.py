"""One self-contained page: a record of what to show, and a template that shows it."""

from __future__ import annotations

import base64
import hashlib
import io
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from graphnetz._core.collector import no_collector
from graphnetz._core.errors import UnknownNameError
from graphnetz._core.grouping import grouped
from graphnetz._core.text import number, p_value
from graphnetz.records import Section, Table
from graphnetz.records.analysis import REACH_TEXT, Comparison, Verdict
from graphnetz.records.board import Board
from graphnetz.records.headline import Headline
from graphnetz.records.section import shown
from graphnetz.records.views import Grid, TaskRow
from graphnetz.report import charts, colours, escape, plots
from graphnetz.report.files import Group

_TEMPLATES = Path(__file__).with_name("templates")


class Verdicts(tuple[Verdict, ...]):
    """All conclusions of a report; printed task by task, shown as a list in a notebook."""

    __slots__ = ()

    def __str__(self) -> str:
        groups = grouped(self, lambda verdict: verdict.about)
        return "\n".join("\n".join([f"{about}:", *(f"  - {line}" for line in mine)]) for about, mine in groups.items())

    def _repr_html_(self) -> str:
        return render_fragment(None, self)


@dataclass(frozen=True)
class FigureView:
    """A figure with the words that stand in for it when it cannot be seen."""

    name: str
    title: str
    caption: str
    uri: str = ""
    chart: Markup | None = None


@dataclass(frozen=True)
class PairGroup:
    """Comparisons of one task, by the deciding test, t and Wilcoxon.

    ``order`` are its models as the matrix shows them, empty for no matrix; ``models`` are all of the report, by whose
    places the filter knows them.
    """

    task: str
    note: str
    pairs: tuple[tuple[Comparison, Comparison, Comparison], ...]
    models: tuple[str, ...]
    order: tuple[str, ...] = ()

    @property
    def unasked(self) -> str:
        """Why no pair was tested at the further reach, where that is one sentence for all; empty otherwise."""
        further = [pair.claims[1].evidence if len(pair.claims) > 1 else None for pair, _, _ in self.pairs]
        said = {f"{one.about}: {one.reason}" if one and one.reason else "" for one in further}
        return said.pop() if len(said) == 1 else ""

    def matrix(self) -> list[tuple[str, list[tuple[Comparison, int] | None]]]:
        """Comparison and sign of row minus column for every two models; None where nothing was compared."""
        found = {(pair.a, pair.b): (pair, 1) for pair, _, _ in self.pairs}
        found |= {(pair.b, pair.a): (pair, -1) for pair, _, _ in self.pairs}
        return [(row, [found.get((row, column)) for column in self.order]) for row in self.order]


@dataclass(frozen=True)
class TaskCard:
    """One task: a line, every run, and what unfolds. ``index`` is its place in the report."""

    index: int
    row: TaskRow
    line: Verdict
    verdicts: tuple[Verdict, ...] = ()
    forest: Markup | None = None
    spread: Markup | None = None
    curves: Markup | None = None
    pairs: PairGroup | None = None


@dataclass(frozen=True)
class PageData:
    """Everything on the page, in its order. ``provenance``, ``cost``, ``reproduce`` and ``files`` are the only parts
    that may differ between two pages of the same cells.

    ``order`` are the columns of the heat table, best mean rank first; ``verdicts`` those about no single task;
    ``pages[task]`` is where a task has a page of its own, ``boards`` are rows of models, ``home`` the page
    that leads here.
    """

    title: str
    facts: tuple[tuple[str, str], ...]
    grid: Grid
    verdicts: tuple[Verdict, ...] = ()
    headline: Headline | None = None
    places: FigureView | None = None
    order: tuple[int, ...] = ()
    cards: tuple[TaskCard, ...] = ()
    pages: Mapping[str, str] = field(default_factory=dict)
    boards: tuple[Board, ...] = ()
    figures: tuple[FigureView, ...] = ()
    tables: tuple[tuple[str, Table], ...] = ()
    absent: tuple[tuple[str, str, str], ...] = ()
    failures: Table | None = None
    sections: tuple[Section, ...] = ()
    methods: tuple[str, ...] = ()
    provenance: tuple[tuple[str, Table], ...] = ()
    cost: Markup | None = None
    reproduce: str = ""
    files: tuple[Group, ...] = ()
    home: str = ""


@no_collector()
def render_page(data: PageData, *, live: Mapping[str, Any] | None = None) -> str:
    """Return the page as HTML; ``live`` is the state of a run that a server of this machine shows."""
    return page_bytes(data, live=live).decode()


@no_collector()
def page_bytes(data: PageData, *, live: Mapping[str, Any] | None = None) -> bytes:
    """Return the page as UTF-8, encoded piece by piece: as text, a page of 100,000 cells takes twice its own bytes."""
    buffer = io.BytesIO()
    for part in _parts("report.html", data.sections, page=data, reach_text=REACH_TEXT, live=live):
        buffer.write(part.encode())
    return buffer.getvalue()


def render_task(
    title: str, card: TaskCard, tables: Sequence[tuple[str, Table]] = (), *, home: str = "index.html"
) -> str:
    """Return a page of one task alone, which leads back to the page ``home``."""
    return _rendered("task.html", (), title=title, card=card, tables=tables, home=home)


def render_template(template: str, **values: Any) -> str:
    """Return a page by the name of its template, with our style sheet and script."""
    return _rendered(template, (), **values)


def render_sections(title: str, sections: Sequence[Section]) -> str:
    """Return a page of sections alone, each led by its verdict and first figure."""
    return _rendered("sections.html", sections, title=title)


def _rendered(template: str, sections: Sequence[Section], **values: Any) -> str:
    return "".join(_parts(template, sections, **values))


def _parts(
    template: str, sections: Sequence[Section], *, live: Mapping[str, Any] | None = None, **values: Any
) -> Iterator[str]:
    drawn = [(section, _section_figures(section)) for section in sections]
    css, script = _assets(live is not None)
    # Style sheet and script are ours and hashed in the policy; everything else is escaped.
    ours = {"css": Markup(css), "script": Markup(script), "policy": policy(live=live is not None)}  # noqa: S704
    return environment().get_template(template).generate(sections=drawn, live=live, **ours, **values)


def policy(*, live: bool = False) -> str:
    """Return what a page may load: its own style and script; a live one may also ask the server it comes from."""
    css, script = _assets(live)
    ask = "connect-src 'self'; " if live else ""
    return (
        f"default-src 'none'; img-src data:; {ask}style-src '{_digest(css)}'; script-src '{_digest(script)}'; "
        "base-uri 'none'; form-action 'none'"
    )


def _assets(live: bool) -> tuple[str, str]:
    return colours.css() + _asset("report.css"), _asset("report.js") + (_asset("live.js") if live else "")


def _asset(name: str) -> str:
    return (_TEMPLATES / name).read_text(encoding="utf-8")


def _digest(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def render_fragment(grid: Grid | None, verdicts: Sequence[Verdict]) -> str:
    """Return verdicts and summary table for a notebook cell, either of them alone when the other is empty."""
    return environment().get_template("fragment.html").render(grid=grid, verdicts=verdicts)


def render_text(template: str, **values: Any) -> str:
    """Return a text whose template marks what is filled in by ``<< >>``: LaTeX needs the braces itself."""
    plain = environment().overlay(autoescape=False, variable_start_string="<<", variable_end_string=">>")
    return plain.get_template(template).render(values).rstrip("\n") + "\n"


def _section_figures(section: Section) -> list[FigureView]:
    from graphnetz.report.style import figure_bytes  # matplotlib, which a page without figures does without

    views = []
    for i, figure in enumerate(section.figures):
        name = f"{section.name}-{i}"
        try:
            data = base64.b64encode(figure_bytes(plots.draw_figure(figure.kind, figure.data)[0], "svg")).decode()
            views.append(FigureView(name, "", figure.caption, f"data:image/svg+xml;base64,{data}"))
        except UnknownNameError as error:
            views.append(FigureView(name, "", f"{figure.caption} (not drawn: {error})", ""))
        except Exception as error:  # data of others: one bad figure must not cost the page
            why = f"its data does not suit a figure of kind {figure.kind!r}: {type(error).__name__}"
            views.append(FigureView(name, "", f"{figure.caption} (not drawn: {why})", ""))
    return views


@cache
def environment() -> Environment:
    """Return the template environment: everything is escaped, an unknown name is an error."""
    env = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    env.filters.update(clean=escape.clean, short=escape.shorten, num=number, p=p_value, value=shown)
    env.filters.update(joined=_joined, latex=escape.latex)
    env.filters.update(heat=colours.heat_step, icon=charts.icon, lost=charts.lost)
    env.globals.update(name=_name, symbols=charts.symbols)
    env.tests["finite"] = lambda value: isinstance(value, float | int) and math.isfinite(value)
    return env


@lru_cache(maxsize=4096)
def _name(text: str, width: int = 48) -> Markup:
    """A name apart from the text around it, in full where it is pointed at; a page repeats each a hundred times.

    It may break where `escape.html_parts` says.
    """
    plain = escape.clean(text)
    shown_as = escape.html_parts(text, width)
    if len(plain) > width:
        return Markup('<bdi title="{}">{}</bdi>').format(plain, shown_as)
    return Markup("<bdi>{}</bdi>").format(shown_as)


def _joined(items: Sequence[str]) -> str:
    return " and ".join(items) if len(items) < 3 else ", ".join(items[:-1]) + " and " + items[-1]
