"""Text from others: made safe to show on one line, or read as a number."""

from __future__ import annotations

import math
import re
import unicodedata

from graphnetz._core.errors import UsageError

# Direction overrides and marks reorder the text around them; invisible characters make two names
# look alike. Right-to-left letters themselves are kept.
_DECEPTIVE = frozenset(
    "\u061c\u200b\u200e\u200f\u2028\u2029\u202a\u202b\u202c\u202d\u202e\u2060\u2066\u2067\u2068\u2069\ufeff"
)


def clean(text: object) -> str:
    """Return ``text`` on one line, without control, direction-changing or invisible characters."""
    out = []
    for char in str(text):
        if char in "\t\r\n\v\f":
            out.append(" ")
        elif char in _DECEPTIVE:
            continue
        elif unicodedata.category(char) in ("Cc", "Cs", "Co", "Cn"):
            out.append("\N{REPLACEMENT CHARACTER}")
        else:
            out.append(char)
    return " ".join("".join(out).split())


_SUFFIXES = {"": 1, "k": 1_000, "m": 1_000_000}


def parse_budget(value: str | int | float) -> int:
    """Read ``"100k"``, ``"0.5M"`` or a number as a parameter count.

    Examples
    --------
    >>> parse_budget("100k"), parse_budget("1.5M"), parse_budget(40_000)
    (100000, 1500000, 40000)
    """
    text = str(value).strip().lower().replace("_", "").replace(",", "")
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([km]?)", text)
    count = float(found[1]) * _SUFFIXES[found[2]] if found else 0.0
    if not found or count < 1 or not math.isclose(count, round(count), rel_tol=1e-12):
        raise UsageError(f"A budget is a number of parameters such as 100000, 100k or 0.5M, got {value!r}.")
    return round(count)
