"""One stacked bar: where the spread of a difference comes from."""

from __future__ import annotations

import math

from markupsafe import Markup
from markupsafe import escape as html

from graphnetz._core.text import clean, shorten
from graphnetz.records import Components
from graphnetz.records.examples import PARTS
from graphnetz.report.charts.rows import percent


def components_bar(found: Components) -> Markup | None:
    """Draw one bar, cut into the shares of seed, split, example and rest; None without any.

    The shares stand below it in words, so that the parts are told apart without colour too.
    """
    if not math.isfinite(found.example_share):
        return None
    at, parts, words = 0.0, [], []
    for part, share in found.shares.items():
        if share > 0:
            colour, tip = f"c{PARTS.index(part)}", f"{part} {100 * share:.0f} %"
            parts.append(
                f'<rect class="m share {colour}" x="{percent(at)}" width="{percent(share)}" height="10">'
                f"<title>{html(tip)}</title></rect>"
            )
            words.append(f'<span class="key {colour}">{html(tip)}</span>')
            at += share
    pair = f"{shorten(found.a, 24)} − {shorten(found.b, 24)}"
    full = html(clean(f"Shares of the variance of {found.a} − {found.b} for new examples"))
    return Markup(  # noqa: S704 (texts were escaped one by one)
        f'<div class="spread"><p>Spread of <bdi>{html(pair)}</bdi>: {", ".join(words)}</p>'
        f'<svg class="strip" height="10" role="img" aria-label="{full}">{"".join(parts)}</svg></div>'
    )
