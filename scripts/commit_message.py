"""Refuse a commit message without a short subject and a body that says why: the commit-msg hook."""

from __future__ import annotations

import sys
from pathlib import Path

LONGEST = 71


def faults(message: str) -> list[str]:
    """Return what is wrong with a commit message; git's own merge and revert messages pass."""
    lines = [line.rstrip() for line in message.splitlines() if not line.startswith("#")]
    while lines and not lines[0]:
        del lines[0]
    subject = lines[0] if lines else ""
    if subject.startswith(("Merge ", "Revert ")):
        return []
    found = []
    if not subject:
        found.append("The message is empty: write a subject, an empty line and why.")
    if len(subject) > LONGEST:
        found.append(f"The subject has {len(subject)} characters, at most {LONGEST} are allowed: say why in the body.")
    if len(lines) > 1 and lines[1]:
        found.append("The second line must be empty: it parts the subject from the body.")
    if subject and not any(lines[2:]):
        found.append("There is no body: say in a sentence or two why the change is made.")
    return found


if __name__ == "__main__":
    said = faults(Path(sys.argv[1]).read_text(encoding="utf-8"))
    print("\n".join(said), file=sys.stderr, end="\n" if said else "")
    raise SystemExit(bool(said))
