"""Write the findings over the stored bundles into `docs/findings.md`: ``python scripts/findings_page.py [SITE]``.

SITE is the folder that ``make site`` wrote (default `site-field`); its ``findings.json`` is the record.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "findings.md"
_BLOCK = re.compile(r"(<!-- field: [^>]*-->\n).*?(<!-- /field -->)", re.DOTALL)


def block(findings: list[dict]) -> str:
    """Sentences by question."""
    questions: dict[str, list[str]] = {}
    for found in findings:
        questions.setdefault(found["question"], []).append(found["text"])
    parts = [f"### {question}\n\n" + "\n".join(f"- {text}" for text in texts) for question, texts in questions.items()]
    return "\n\n".join(parts) + "\n"


def written(text: str, findings: list[dict]) -> str:
    """The page with its block made anew."""
    if not _BLOCK.search(text):
        raise SystemExit("docs/findings.md has no place for the findings.")
    return _BLOCK.sub(lambda found: found[1] + block(findings) + found[2], text, count=1)


if __name__ == "__main__":
    site = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "site-field"
    told = json.loads((site / "findings.json").read_text(encoding="utf-8"))
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8"), told), encoding="utf-8")
