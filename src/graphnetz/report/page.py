"""One self-contained page: a record of what to show, and a template that shows it."""

from __future__ import annotations

import base64
import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from graphnetz._core.collector import no_collector
from graphnetz._core.errors import UnknownNameError
from graphnetz._core.text import number, p_value
from graphnetz.records import Section, Table
from graphnetz.records.analysis import REACH_TEXT, Comparison, Verdict
from graphnetz.records.section import shown
from graphnetz.records.views import Grid
from graphnetz.report import escape, plots

_TEMPLATES = Path(__file__).with_name("templates")


class Verdicts(tuple[Verdict, ...]):
    """All conclusions of a report; printed one per line, shown as a list in a notebook."""

    __slots__ = ()

    def __str__(self) -> str:
        return "\n".join(f"{verdict.about}: {verdict}" for verdict in self)

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
    """All comparisons of one task, by the deciding test, t and Wilcoxon.

    ``order`` are its models as the matrix shows them, empty for no matrix.
    """

    task: str
    note: str
    pairs: tuple[tuple[Comparison, Comparison, Comparison], ...]
    order: tuple[str, ...] = ()

    def matrix(self) -> list[tuple[str, list[tuple[Comparison, int] | None]]]:
        """Comparison and sign of row minus column for every two models; None where nothing was compared."""
        found = {(pair.a, pair.b): (pair, 1) for pair, _, _ in self.pairs}
        found |= {(pair.b, pair.a): (pair, -1) for pair, _, _ in self.pairs}
        return [(row, [found.get((row, column)) for column in self.order]) for row in self.order]


@dataclass(frozen=True)
class PageData:
    """Everything on the page, in its order. ``provenance`` is the only part that may differ between
    two pages of the same cells.
    """

    title: str
    facts: tuple[tuple[str, str], ...]
    verdicts: tuple[Verdict, ...]
    grid: Grid
    figures: tuple[FigureView, ...] = ()
    pairs: tuple[PairGroup, ...] = ()
    tables: tuple[tuple[str, Table], ...] = ()
    absent: tuple[tuple[str, str, str], ...] = ()
    failures: Table | None = None
    sections: tuple[Section, ...] = ()
    methods: tuple[str, ...] = ()
    provenance: tuple[tuple[str, Table], ...] = ()
    cost: Markup | None = None
    reproduce: str = ""


@no_collector()
def render_page(data: PageData) -> str:
    """Return the page as HTML."""
    return _rendered("report.html", data.sections, page=data, reach_text=REACH_TEXT)


def render_sections(title: str, sections: Sequence[Section]) -> str:
    """Return a page of sections alone, each led by its verdict and first figure."""
    return _rendered("sections.html", sections, title=title)


def _rendered(template: str, sections: Sequence[Section], **values: Any) -> str:
    css, script = _asset("report.css"), _asset("report.js")
    policy = (
        f"default-src 'none'; img-src data:; style-src '{_digest(css)}'; script-src '{_digest(script)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    drawn = [(section, _section_figures(section)) for section in sections]
    # Style sheet and script are ours and hashed in the policy; everything else is escaped.
    ours = {"css": Markup(css), "script": Markup(script)}  # noqa: S704
    return environment().get_template(template).render(sections=drawn, policy=policy, **ours, **values)


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
    env.globals["name"] = _name
    env.tests["finite"] = lambda value: isinstance(value, float | int) and math.isfinite(value)
    return env


@lru_cache(maxsize=4096)
def _name(text: str, width: int = 48) -> Markup:
    """A name apart from the text around it, in full where it is pointed at; a page repeats each a hundred times."""
    plain = escape.clean(text)
    shown_as = escape.shorten(text, width)
    if len(plain) > width:
        return Markup('<bdi title="{}">{}</bdi>').format(plain, shown_as)
    return Markup("<bdi>{}</bdi>").format(shown_as)


def _joined(items: Sequence[str]) -> str:
    return " and ".join(items) if len(items) < 3 else ", ".join(items[:-1]) + " and " + items[-1]
