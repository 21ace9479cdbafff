"""The result file as a page of the documentation: one table per claim."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from calibration.rows import Bound, Measured, Row
from graphnetz.records.analysis import CLAIMS

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "benchmarks" / "results" / "calibration.json"
PAGE = ROOT / "docs" / "calibration.md"
OUTPUTS = "outputs"
"""Name of the check that two outputs of one report agree: no claim of a sentence, but a row like any other."""

HEAD = """# Calibration

Every sentence, star, shade, interval and rank makes a claim, and a claim can be false. `make calibrate` simulates
benchmarks with a known truth, lets the product speak about them, and counts how often each kind of claim is false. It
writes this page; a kind of claim without a row here fails the build.

"Measured" is a share of tasks, unless the row says otherwise, with its Monte-Carlo standard error. A promise counts as
held when it is missed by no more than three of these. Rows marked "report" and all rows about "better" go through
`analyse` and read the records that tables, figures and sentences are made of; the others are simulations of the
formulas behind them.
"""

CAUSES = {
    "better-source": "Where the training part matters as much as the initialisation, resampled splits of one dataset "
    "share most of it, and its effect cannot be estimated from them (Bengio and Grandvalet 2004): no correction from "
    "one dataset holds the level. The claim names the dataset whose parts were trained on.",
    "not-testable": "Ten seeds of a lognormal of shape 1 with the larger spread often show no tail: the runs that "
    "would raise the mean were not drawn, so nothing can be flagged. A stricter flag also silences normal scores. "
    "With 5 models, or 30 seeds, the promise holds within Monte-Carlo error.",
    OUTPUTS: "The 10,000 tables were measured before the last corrections of ties and shared seeds; of 1,800 tables "
    "that were drawn afterwards none contradicts itself.",
}
"""Why a promise is not held, by claim; only printed where one is not."""


def entry(row: Row, found: Measured, *, short: bool = False) -> dict[str, Any]:
    """One measured row as plain values; ``short`` where fewer replicates were run than the row asks for."""
    return {
        "claim": row.claim, "situation": row.situation, "low": row.promised.low, "high": row.promised.high,
        "value": _plain(found.value), "error": _plain(found.spread), "replicates": found.replicates,
        "held": found.held(row.promised), "note": found.note, "short": short,
    }  # fmt: skip


def _plain(value: float) -> float | None:
    return round(value, 6) if math.isfinite(value) else None


def read(path: Path = RESULTS) -> list[dict[str, Any]]:
    """The rows of a result file; none where there is no file of this schema."""
    if not path.exists():
        return []
    return list(json.loads(path.read_text(encoding="utf-8")).get("rows", ()))


def write(rows: Iterable[Mapping[str, Any]], *, results: Path = RESULTS, page: Path = PAGE) -> None:
    """Write result file and page."""
    found = list(rows)
    results.write_text(json.dumps({"schema": 2, "rows": found}, indent=1) + "\n", encoding="utf-8")
    page.write_text(text(found), encoding="utf-8")


def text(rows: Iterable[Mapping[str, Any]]) -> str:
    """The page."""
    found = list(rows)
    held = sum(row["held"] for row in found)
    parts = [HEAD, f"{held} of {len(found)} promises are held.\n"]
    if few := sum(row["short"] for row in found):
        parts.append(f"{few} rows are provisional: few replicates, which show large misses only.\n")
    if missed := [claim for claim in (*CLAIMS, OUTPUTS) if any(r["claim"] == claim and not r["held"] for r in found)]:
        why = "\n".join(f"- **{claim}**: {CAUSES.get(claim, 'no cause is known')}" for claim in missed)
        parts.append(f"Not held, and why:\n\n{why}\n")
    for claim, words in CLAIMS.items():
        parts.append(f"## {claim}\n\n{words['says']}\nPromise: {words['promise']}.\n\n{_table(claim, found)}")
    says = "Two outputs of one random report (files, tables, figures, sentences) contradict each other."
    parts.append(f"## {OUTPUTS}\n\n{says}\n\n{_table(OUTPUTS, found)}")
    return "\n".join(parts)


def _table(claim: str, rows: Iterable[Mapping[str, Any]]) -> str:
    lines = ["| claim | situation | promised | measured | replicates | held |", "|---|---|---|---|---|---|"]
    for row in rows:
        if row["claim"] == claim:
            value = "not measured" if row["value"] is None else f"{row['value']:.4f} ± {row['error']:.4f}"
            note = f" ({row['note']})" if row["note"] else ""
            promised = Bound(row["low"], row["high"])
            held = "yes" if row["held"] else "**no**"
            cells = (
                claim,
                row["situation"],
                promised,
                value + note,
                f"{row['replicates']:,}{' (short)' if row['short'] else ''}",
                held,
            )
            lines.append(f"| {' | '.join(map(str, cells))} |")
    return "\n".join(lines) + "\n"
