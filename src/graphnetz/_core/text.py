"""Text from others, made safe to show on one line or read as a number; numbers and names as in a sentence."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Sequence

from graphnetz._core.errors import UsageError

# Direction overrides and marks reorder the text around them; invisible characters make two names
# look alike. Right-to-left letters themselves are kept.
_DECEPTIVE = frozenset(
    "\u061c\u200b\u200e\u200f\u2028\u2029\u202a\u202b\u202c\u202d\u202e\u2060\u2066\u2067\u2068\u2069\ufeff"
)


def clean(text: object) -> str:
    """Return ``text`` on one line, without control, direction-changing or invisible characters."""
    plain = str(text)
    if plain.isprintable():  # nothing to take out: nearly every name, and there are as many as cells
        return " ".join(plain.split())
    out = []
    for char in plain:
        if char in "\t\r\n\v\f":
            out.append(" ")
        elif char in _DECEPTIVE:
            continue
        elif unicodedata.category(char) in ("Cc", "Cs", "Co", "Cn"):
            out.append("\N{REPLACEMENT CHARACTER}")
        else:
            out.append(char)
    return " ".join("".join(out).split())


_NOT_SHOWN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff" + "".join(sorted(_DECEPTIVE)) + "]")
MASK = "***@"
"""What stands in the place of a login."""
_LOGIN = re.compile(r"(?<=://)[^/\s'\"]+@")
_TOKEN = re.compile(r"(?i)([?&][a-z_-]*(?:token|key|secret|password|passwd|signature|credential)[a-z_-]*=)[^&\s'\")]+")


def printable(text: object) -> str:
    r"""Return ``text`` as a terminal may show it: without escapes and other control characters, without passwords.

    Lines and blanks stay as they are; see `clean` for one line.

    Examples
    --------
    >>> printable("a\x1b[31mb\n  c"), printable("https://me:pw@host/x")
    ('a�[31mb\n  c', 'https://***@host/x')
    """
    return masked(_NOT_SHOWN.sub("\N{REPLACEMENT CHARACTER}", str(text)))


def masked(text: str) -> str:
    """Return ``text`` without the logins and tokens of the addresses in it.

    Examples
    --------
    >>> masked("http://user:pw@127.0.0.1:1/data?token=abc&x=1")
    'http://***@127.0.0.1:1/data?token=***&x=1'
    """
    return _TOKEN.sub(r"\1***", _LOGIN.sub(MASK, text))


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


ELLIPSIS = "\N{HORIZONTAL ELLIPSIS}"


def shorten(text: object, width: int = 40) -> str:
    """Return `clean` text of at most ``width`` characters; the middle is left out, both ends stay.

    Examples
    --------
    >>> shorten("a" * 30 + "b" * 30, 11)
    'aaaaa…bbbbb'
    """
    plain = clean(text)
    if len(plain) <= width:
        return plain
    head = width // 2
    tail = width - head - 1
    return plain[:head] + ELLIPSIS + plain[len(plain) - tail :]


def names(items: Sequence[str], *, most: int = 6) -> str:
    """Join names as in a sentence: ``a, b and c``; long lists end in a count."""
    short = [shorten(item, 40) for item in items]
    if len(short) > most:
        return ", ".join(short[: most - 1]) + f" and {len(short) - most + 1} others"
    return " and ".join(short) if len(short) < 3 else ", ".join(short[:-1]) + " and " + short[-1]


def counted(n: int, noun: str) -> str:
    """Return a number with its noun.

    Examples
    --------
    >>> counted(1, "fold"), counted(10, "random split")
    ('1 fold', '10 random splits')
    """
    return f"{n:,} {noun}{'' if n == 1 else 's'}"


def seeds_word(n: int) -> str:
    """``1 seed``, ``10 seeds``."""
    return counted(n, "seed")


def number(value: float, *, digits: int = 3, signed: bool = False) -> str:
    """Return ``value`` for a table: fixed digits in the usual range, scientific outside it."""
    if not math.isfinite(value):
        return "n/a" if math.isnan(value) else ("inf" if value > 0 else "-inf")
    sign = "+" if signed and value != 0 else ""  # zero has none, and a negative zero is zero
    size, value = abs(value), value + 0.0
    if size >= 10.0 ** (digits + 2):
        return f"{value:{sign}.{digits - 1}e}"
    if 0 < size < 0.5 * 10.0**-digits:
        return f"{value:{sign}.1e}"
    return f"{value:{sign}.{digits}f}"


def p_value(p: float) -> str:
    """Return a p-value with three significant digits."""
    return "n/a" if math.isnan(p) else f"{p:.3g}"
