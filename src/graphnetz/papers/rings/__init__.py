"""RINGS (Coupette, Wayland, Simons and Rieck, ICML 2025): what the paper printed, beside ours."""

from graphnetz.papers.rings.tables import (
    JUDGEMENTS,
    compare_judgement,
    compare_paper,
    paper_name,
    published_judgements,
    published_scores,
)

__all__ = [
    "JUDGEMENTS",
    "compare_judgement",
    "compare_paper",
    "paper_name",
    "published_judgements",
    "published_scores",
]
