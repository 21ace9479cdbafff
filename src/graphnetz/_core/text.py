"""Text from others, made safe to show on one line."""

from __future__ import annotations

import unicodedata

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
