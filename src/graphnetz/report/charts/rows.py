"""Charts of one row per model: names and numbers are HTML, only the strip between them is drawn.

Positions are shares of the strip's width, so that a phone gets narrower strips and no smaller letters, and a row that
the reader's filter hides leaves no gap. Screen readers find a table.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from markupsafe import Markup
from markupsafe import escape as html

from graphnetz.records.views import CellView, DotRow, RankSetView, TaskRow, number, swarm
from graphnetz.report import escape
from graphnetz.report.charts.base import Scale, icon, look, padded, symbol, tick_text

HEIGHT, MIDDLE = 22.0, 11.0
MARK_SIGNS = {"best": ("★", "best mean over shared seeds"), "tied": ("≈", "not shown behind the best")}
MOST_PLACES = 12
"""Rows of the first screen; the others follow where they are asked for."""


def percent(value: float) -> str:
    """A position in the strip."""
    return f"{100 * value:.2f}".rstrip("0").rstrip(".") + "%"


class Strip:
    """The drawing of one row."""

    def __init__(self, index: int) -> None:
        self.index, self.parts = index, [""]

    def line(self, low: float, high: float, style: str, y: float = MIDDLE) -> None:
        """Draw a horizontal line."""
        self.parts.append(f'<line class="{style}" x1="{percent(low)}" x2="{percent(high)}" y1="{y:g}" y2="{y:g}"/>')

    def tick(self, x: float, style: str) -> None:
        """Draw a short vertical line."""
        at = percent(x)
        self.parts.append(f'<line class="{style}" x1="{at}" x2="{at}" y1="3" y2="19"/>')

    def dot(self, x: float, y: float, tip: str, style: str = "m d") -> None:
        """Draw one run."""
        words = html(escape.clean(tip))
        self.parts.append(
            f'<circle class="{style}" cx="{percent(x)}" cy="{y:g}" r="2.6"><title>{words}</title></circle>'
        )

    def mark(self, x: float, tip: str, *, shape: str = "", style: str = "") -> None:
        """Draw the marker of the model, or another shape."""
        words, kind = html(escape.clean(tip)), f"m {style}".strip()
        use = f'<use href="#{shape or symbol(self.index)}" x="{percent(x)}" y="{MIDDLE:g}"/>'
        self.parts.append(f'<g class="{kind}"><title>{words}</title>{use}</g>')

    def svg(self, grid: str) -> str:
        """Return the strip over the lines of its axis."""
        use = f'<use href="#{grid}"/>' if grid else ""
        return f'<svg class="strip" height="{HEIGHT:g}" aria-hidden="true">{use}{"".join(self.parts)}</svg>'


def row(index: int, name: str, strip: Strip, words: str, *, grid: str, width: int = 26) -> str:
    """One row of a chart; ``words`` are HTML."""
    colour, _ = look(index)
    full, short = escape.clean(name), escape.shorten(name, width)
    title = f' title="{html(full)}"' if short != full else ""
    head = f'<th scope="row"{title}>{icon(index)}<bdi>{escape.html_parts(name, width)}</bdi></th>'
    return f'<tr class="{colour}" data-m="{index}">{head}<td>{strip.svg(grid)}</td><td class="n">{words}</td></tr>'


def chart(
    rows: Iterable[str], *, label: str, head: tuple[str, str, str], scale: Scale, grid: str, foot: str = "",
    ticks: Sequence[float] | None = None,
) -> Markup:  # fmt: skip
    """Rows above their axis; ``grid`` names the lines that all strips share."""
    at = [tick for tick in (scale.ticks(6) if ticks is None else ticks) if -1e-9 <= scale(tick) <= 1 + 1e-9]
    lines = "".join(f'<line class="gl" x1="{x}" x2="{x}" y2="{HEIGHT:g}"/>' for x in (percent(scale(t)) for t in at))
    ends = (at[:1] + at[-1:]) if at else []
    texts = "".join(
        f'<text class="tick{"" if t in ends else " mid"}" x="{percent(scale(t))}" y="12">{tick_text(t)}</text>'
        for t in at
    )
    kinds = ("", "", ' class="n"')
    columns = "".join(f'<th scope="col"{kind}>{html(word)}</th>' for kind, word in zip(kinds, head, strict=True))
    note = html(foot)
    # A header that only screen readers need: the axis says the same to the eye.
    return Markup(  # noqa: S704 (texts were escaped one by one)
        f'<div class="chart rows" role="region" tabindex="0" aria-label="{html(escape.clean(label))}">'
        f'<svg class="defs" width="0" height="0" aria-hidden="true"><defs><g id="{grid}">{lines}</g></defs></svg>'
        f'<table><thead class="unseen"><tr>{columns}</tr></thead><tbody>{"".join(rows)}</tbody>'
        f'<tfoot aria-hidden="true"><tr><td></td><td><svg class="strip" height="16">{texts}</svg></td>'
        f'<td class="n tick">{note}</td></tr></tfoot></table></div>'
    )


def forest_rows(task: TaskRow, models: Sequence[str], dots: Sequence[DotRow], *, number_of: int) -> Markup | None:
    """Draw one task: a row per model, best mean first, with every run, the mean and its interval; None without any.

    ``number_of`` tells the axes of the page apart.
    """
    runs = {found.model: found for found in dots}
    sign = -1 if task.greater_is_better else 1
    there = [i for i, cell in enumerate(task.cells) if cell.present or _aside(runs.get(models[i]))]
    if not there:
        return None
    order = sorted(there, key=lambda i: (not task.cells[i].present, sign * task.cells[i].mean, i))
    scale = Scale(*_range(task, [runs[models[i]] for i in there if models[i] in runs]), 0.0, 1.0)
    rows = [
        row(i, models[i], _runs(i, models[i], task.cells[i], runs.get(models[i]), scale), _words(task.cells[i]),
            grid=f"g{number_of}")
        for i in order
    ]  # fmt: skip
    better = "higher" if task.greater_is_better else "lower"
    label = f"{task.task}: {task.metric} of every run, mean and interval by model, best first; {better} is better"
    head = ("Model", "Runs", f"{task.metric}, mean and half-width")
    return chart(rows, label=label, head=head, scale=scale, grid=f"g{number_of}", foot=f"{better} is better")


def _range(task: TaskRow, runs: Sequence[DotRow]) -> tuple[float, float]:
    """Runs that did not collapse, means and intervals; the bounds of the metric end the axis."""
    values = [v for found in runs for _, v in found.kept] + [v for c in task.cells for v in (c.mean, c.low, c.high)]
    low, high = padded(values, 0.05)
    least, most = task.bounds
    return max(low, least), min(high, most)


def _aside(runs: DotRow | None) -> bool:
    return runs is not None and bool(runs.values or runs.failed)


def _runs(index: int, model: str, cell: CellView, runs: DotRow | None, scale: Scale) -> Strip:
    strip = Strip(index)
    kept = runs.kept if runs else ()
    across = [scale(value) for _, value in kept]
    # Strips are some 200 to 400 pixels wide: dots nearer than their own size step aside.
    for x, step, (seed, value) in zip(across, swarm(across, 0.016, 2), kept, strict=True):
        strip.dot(x, MIDDLE + 3.2 * step, f"{model} · seed {seed} · {number(value, digits=4)}")
    for seed, value in zip(runs.seeds, runs.values, strict=True) if runs else ():
        if runs and seed in runs.collapsed:  # it would squeeze all others into one spot: it stands at the edge
            edge, words = min(1.0, max(0.0, scale(value))), f"{number(value, digits=4)} · collapsed, off the axis"
            strip.dot(edge, MIDDLE, f"{model} · seed {seed} · {words}", style="m d hollow")
    if cell.present:
        tip = f"{model} · mean {number(cell.mean, digits=4)}"
        if math.isfinite(cell.half):
            ends = [min(1.0, max(0.0, scale(end))) for end in (cell.low, cell.high)]
            strip.line(ends[0], ends[1], "bar")
            tip += f" [{number(cell.low)}, {number(cell.high)}]"
        strip.mark(min(1.0, max(0.0, scale(cell.mean))), f"{tip} · {cell.n} seeds", style="mean")
    return strip


def _words(cell: CellView) -> str:
    """Mean, half-width and mark in letters; runs that gave nothing are counted."""
    if not cell.present:
        return f'<span class="na">n/a</span>{lost(cell)}'
    half = f' <span class="half">± {number(cell.half)}</span>' if math.isfinite(cell.half) else ""
    sign, title = MARK_SIGNS.get(cell.mark, ("", ""))
    mark = f'<span class="mark" title="{title}">{sign}</span>' if sign else '<span class="mark"></span>'
    return f"{number(cell.mean)}{half}{lost(cell)}{mark}"


def lost(cell: CellView) -> Markup:
    """A badge that counts the runs that gave no score."""
    if not cell.lost:
        return Markup("")
    runs = f"{cell.lost} of {cell.planned} runs failed"
    return Markup(' <span class="lost" title="{}">✕{}</span>').format(runs, cell.lost)


def places_rows(view: RankSetView, models: Sequence[str]) -> Markup | None:
    """Draw the places that each model may have, best mean rank first; ``models`` gives everyone its usual look."""
    if len(view.models) < 2 or view.n_tasks < 2:
        return None  # one task says nothing about others
    look_at = {model: i for i, model in enumerate(models)}
    k = len(view.models)
    scale = Scale(1 - 0.03 * (k - 1), k + 0.03 * (k - 1), 0.0, 1.0)
    step = max(1, round(k / 8))
    # Both ends are named; a number beside one of them would touch it.
    ticks = [1.0, *(float(t) for t in range(step, k, step) if t - 1 >= step and k - t >= step), float(k)]
    rows = [_place(view, i, look_at.get(model, i), scale) for i, model in enumerate(view.models)]
    words = "; ".join(f"{model} {view.text(i)}" for i, model in enumerate(view.models[:MOST_PLACES]))
    parts = [
        chart(part, label=f"{what}: {words}.", head=("Model", "Place", "Places"), scale=scale, grid=f"places{i}",
              ticks=ticks, foot=f"of {k}")
        for i, (what, part) in enumerate((("Places, best mean rank first", rows[:MOST_PLACES]),
                                          ("Places of the others", rows[MOST_PLACES:])))
        if part
    ]  # fmt: skip
    if len(parts) == 1:
        return parts[0]
    more = Markup('<details class="more"><summary>{} more models</summary>{}</details>')
    return parts[0] + more.format(k - MOST_PLACES, parts[1])


def _place(view: RankSetView, i: int, index: int, scale: Scale) -> str:
    strip = Strip(index)
    strip.line(scale(view.low[i]), scale(view.high[i]), "set")
    model, gone = view.models[i], view.missing[i]
    omitted = f", {gone} of {view.n_tasks} tasks omitted and ranked worst" if gone else ""
    tip = f"{model}: place {view.text(i)} of {len(view.models)}, mean rank {view.mean_ranks[i]:.2f}{omitted}"
    strip.mark(scale(view.mean_ranks[i]), tip)
    return row(index, model, strip, view.text(i), grid=f"places{int(i >= MOST_PLACES)}")
