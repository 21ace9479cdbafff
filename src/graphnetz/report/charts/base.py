"""What every chart is made of: a canvas that escapes, an axis, marks with a title each."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import pairwise

from markupsafe import Markup
from markupsafe import escape as html

from graphnetz.report import escape
from graphnetz.report.colours import MARKERS, look_of

_SHAPES = {
    "circle": "M{x} {y}m-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0z",
    "square": "M{x} {y}m-3.6-3.6h7.2v7.2h-7.2z",
    "diamond": "M{x} {y}m0-5l5 5-5 5-5-5z",
    "up": "M{x} {y}m0-4.8l4.6 8.4h-9.2z",
    "down": "M{x} {y}m0 4.8l4.6-8.4h-9.2z",
    "plus": "M{x} {y}m-1.5-4.5h3v3h3v3h-3v3h-3v-3h-3v-3h3z",
    "left": "M{x} {y}m-4.8 0l8.4-4.6v9.2z",
    "right": "M{x} {y}m4.8 0l-8.4-4.6v9.2z",
}
"""Outlines of `graphnetz.report.colours.MARKERS` around a point."""


def look(index: int) -> tuple[str, str]:
    """Return the style class and the marker of model ``index``: never colour alone."""
    colour, marker = look_of(index)
    return f"c{colour}", f'<path d="{_SHAPES[MARKERS[marker]]}"/>'


def symbol(index: int) -> str:
    """Name of the marker of model ``index`` in `symbols`."""
    return f"m{look_of(index)[1]}"


def symbols() -> Markup:
    """Every marker once, for charts that point to it."""
    shapes = "".join(f'<path id="m{i}" d="{_SHAPES[name].format(x=0, y=0)}"/>' for i, name in enumerate(MARKERS))
    return Markup(f'<svg class="defs" width="0" height="0" aria-hidden="true"><defs>{shapes}</defs></svg>')  # noqa: S704


def icon(index: int) -> Markup:
    """The marker of model ``index`` beside its name."""
    colour, _ = look(index)
    use = f'<use href="#{symbol(index)}" x="6" y="6"/>'
    return Markup(f'<svg class="icon {colour}" width="12" height="12" aria-hidden="true">{use}</svg>')  # noqa: S704


def px(value: float) -> str:
    """A coordinate with one digit: enough for a screen, and the same text everywhere."""
    return f"{value:.1f}".removesuffix(".0")


def thinned(points: Sequence[tuple[float, float]], within: float = 0.15) -> list[tuple[float, float]]:
    """Leave out points within a fraction of a pixel of the line through the others (Douglas and Peucker, 1973).

    The points go from left to right, or back.

    Examples
    --------
    >>> thinned([(0, 0), (1, 0.1), (2, 0), (3, 5)])
    [(0, 0), (2, 0), (3, 5)]
    """
    keep, spans = {0, len(points) - 1}, [(0, len(points) - 1)]
    while spans:
        first, last = spans.pop()
        (x0, y0), (x1, y1) = points[first], points[last]
        dx, dy = x1 - x0, y1 - y0
        length = math.hypot(dx, dy) or 1.0
        off = [abs(dx * (y - y0) - dy * (x - x0)) / length for x, y in points[first + 1 : last]]
        if off and (most := max(off)) > within:
            middle = first + 1 + off.index(most)
            keep.add(middle)
            spans += [(first, middle), (middle, last)]
    return [points[i] for i in sorted(keep)]


def trail(points: Sequence[tuple[float, float]]) -> str:
    """Return a path through ``points`` in steps of tenths of a pixel: a third shorter than one of places.

    Examples
    --------
    >>> trail([(50, 10), (53.5, 9), (57, 9.25)])
    'M50 10l3.5-1 3.5.2'
    """
    at = [(round(10 * x), round(10 * y)) for x, y in points]
    steps = [_tenths(b - a) for one, two in pairwise(at) for a, b in zip(one, two, strict=True)]
    start = " ".join(map(_tenths, at[0]))
    return f"M{start}l" + "".join(
        step if i == 0 or step.startswith("-") or (step.startswith(".") and "." in steps[i - 1]) else f" {step}"
        for i, step in enumerate(steps)
    )


def _tenths(value: int) -> str:
    text = px(value / 10)
    return text.replace("0.", ".", 1) if text.lstrip("-").startswith("0.") else text


class Canvas:
    """Collects SVG elements; every text is escaped on its way in."""

    def __init__(self, width: float, height: float, *, label: str) -> None:
        self.width, self.height, self.label = width, height, label
        self._parts: list[str] = []

    def line(self, x1: float, y1: float, x2: float, y2: float, style: str = "axis") -> None:
        """Draw a straight line."""
        self._parts.append(f'<path class="{style}" d="M{px(x1)} {px(y1)}L{px(x2)} {px(y2)}"/>')

    def rect(self, x: float, y: float, width: float, height: float, style: str) -> None:
        """Draw a filled rectangle."""
        self._parts.append(f'<rect class="{style}" x="{px(x)}" y="{px(y)}" width="{px(width)}" height="{px(height)}"/>')

    def path(self, d: str, style: str) -> None:
        """Draw a path whose data was made from numbers."""
        self._parts.append(f'<path class="{style}" d="{d}"/>')

    def text(self, x: float, y: float, words: str, *, anchor: str = "start", style: str = "", width: int = 60) -> None:
        """Write one line; a cut text keeps its full form as a title."""
        full, short = escape.clean(words), escape.shorten(words, width)
        title = f"<title>{html(full)}</title>" if short != full else ""
        kind = f' class="{style}"' if style else ""
        self._parts.append(f'<text{kind} x="{px(x)}" y="{px(y)}" text-anchor="{anchor}">{html(short)}{title}</text>')

    def mark(self, index: int, x: float, y: float, tip: str) -> None:
        """Draw the marker of model ``index`` with its words; `symbols` must stand on the same page."""
        kind = f"m c{look_of(index)[0]} s{index}"
        use = f'<use href="#{symbol(index)}" x="{px(x)}" y="{px(y)}"/>'
        self._parts.append(f'<g class="{kind}"><title>{html(escape.clean(tip))}</title>{use}</g>')

    def svg(self) -> Markup:
        """Return the drawing; it scales with the page and says what it shows."""
        head = (
            f'<svg class="chart" viewBox="0 0 {px(self.width)} {px(self.height)}" width="{px(self.width)}" '
            f'height="{px(self.height)}" role="img" tabindex="0" aria-label="{html(escape.clean(self.label))}">'
        )
        return Markup(head + "".join(self._parts) + "</svg>")  # noqa: S704 (texts were escaped one by one)


class Scale:
    """Maps values to pixels, linearly or by logarithm."""

    def __init__(self, low: float, high: float, start: float, end: float, *, log: bool = False) -> None:
        self.log = log
        if not high > low:
            pad = abs(low) * 0.05 or 0.5
            low, high = (low / 1.5, high * 1.5) if log else (low - pad, high + pad)
        self.low, self.high, self.start, self.end = low, high, start, end

    def __call__(self, value: float) -> float:
        """Return the pixel of ``value``."""
        low, high, at = self.low, self.high, value
        if self.log:
            low, high, at = math.log10(low), math.log10(high), math.log10(at)
        return self.start + (at - low) / (high - low) * (self.end - self.start)

    def ticks(self, most: int = 6) -> list[float]:
        """Round values inside the range."""
        if self.log:
            return _log_ticks(self.low, self.high)
        raw = (self.high - self.low) / max(1, most - 1)
        power = 10.0 ** math.floor(math.log10(raw))
        step = next(s * power for s in (1, 2, 2.5, 5, 10) if s * power >= raw * (1 - 1e-9))
        first = math.ceil(self.low / step - 1e-9)
        count = math.floor(self.high / step + 1e-9) - first + 1
        return [(first + i) * step for i in range(max(0, count))]


def _log_ticks(low: float, high: float) -> list[float]:
    every = [
        m * 10.0**p for p in range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1) for m in (1, 2, 5)
    ]
    inside = [tick for tick in every if low <= tick <= high]
    tens = [tick for tick in inside if f"{tick:e}".startswith("1.0")]
    return tens if len(tens) >= 3 else inside[:6]


def tick_text(value: float) -> str:
    """A tick label without noise digits."""
    return f"{value:.6g}"


def padded(values: Iterable[float], share: float = 0.04) -> tuple[float, float]:
    """Range of the finite values with some room on both sides."""
    finite = [v for v in values if math.isfinite(v)]
    if not finite:
        return 0.0, 1.0
    low, high = min(finite), max(finite)
    room = (high - low) * share
    return low - room, high + room


def legend(models: Sequence[str], shown: Iterable[int]) -> Markup:
    """Names with their markers; the page's script turns them into switches."""
    items = []
    for i in shown:
        colour, shape = look(i)
        full, short = escape.clean(models[i]), escape.shorten(models[i], 28)
        title = f' title="{html(full)}"' if short != full else ""
        items.append(
            f'<li data-m="{i}"{title}><svg width="14" height="14" viewBox="0 0 14 14" aria-hidden="true">'
            f'<g class="{colour}">{shape.format(x=7, y=7)}</g></svg><bdi>{html(short)}</bdi></li>'
        )
    return Markup(f'<ul class="legend">{"".join(items)}</ul>')  # noqa: S704


def frame(charts: Iterable[Markup], *, label: str, head: Markup | None = None, style: str = "") -> Markup:
    """Charts in a box that scrolls when the screen is narrower than they are."""
    inner = "".join(charts)
    region = f'<div class="scroll {style}" role="region" tabindex="0" aria-label="{html(escape.clean(label))}">'
    return Markup(f'<div class="charts">{head or ""}{region}{inner}</div></div>')  # noqa: S704


class Panel(Canvas):
    """One small multiple: a title, a grid with its ticks, and words under the axis."""

    def __init__(
        self, title: str, x: tuple[float, float], y: tuple[float, float], *, label: str, foot: str, log: bool = False
    ) -> None:
        super().__init__(340.0, 220.0, label=label)
        left, right, base = 50.0, self.width - 11, self.height - 34
        self.across, self.up = Scale(*x, left, right, log=log), Scale(*y, base, 26.0)
        self.text(left, 15, title, style="head", width=36)
        for tick in self.up.ticks(5):
            self.line(left, self.up(tick), right, self.up(tick), "grid")
            self.text(left - 6, self.up(tick) + 4, tick_text(tick), anchor="end", style="tick")
        for tick in self.across.ticks(5):
            self.text(self.across(tick), base + 15, tick_text(tick), anchor="middle", style="tick")
        self.line(left, base, right, base)
        self.text((left + self.width) / 2, self.height - 4, foot, anchor="middle", style="tick", width=48)
