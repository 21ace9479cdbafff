"""Hashes that the user pins: a JSON file of names and sha256, named by ``GRAPHNETZ_PINS``."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

from graphnetz._core.errors import UsageError

VARIABLE = "GRAPHNETZ_PINS"
_SHA256 = re.compile(r"[0-9a-fA-F]{64}")


def user_pin(name: str) -> str | None:
    """Return the sha256 that the user pinned for the file ``name``, or None."""
    where = os.environ.get(VARIABLE)
    if not where:
        return None
    try:
        pins = json.loads(Path(where).read_text(encoding="utf-8"))
        found = pins.get(name)
    except (OSError, ValueError, AttributeError) as error:
        raise UsageError(
            f"{VARIABLE} names {where!r}, which is not a JSON file of names and sha256 ({error})."
        ) from error
    if found is not None and not _SHA256.fullmatch(str(found)):
        raise UsageError(f"The pin of {name!r} in {where!r} is not a sha256 of 64 hexadecimal digits.")
    return None if found is None else str(found).lower()
