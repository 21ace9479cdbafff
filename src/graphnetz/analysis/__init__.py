"""Scores in, conclusions out: the only place where statistics meet a benchmark."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphnetz._core.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "graphnetz.analysis.analysis": ("Analysis", "analyse"),
        "graphnetz.records.analysis": ("AnalysisOptions", "Comparison", "Facts", "Standing", "Verdict"),
    },
)

if TYPE_CHECKING:
    from graphnetz.analysis.analysis import Analysis as Analysis
    from graphnetz.analysis.analysis import analyse as analyse
    from graphnetz.records.analysis import AnalysisOptions as AnalysisOptions
    from graphnetz.records.analysis import Comparison as Comparison
    from graphnetz.records.analysis import Facts as Facts
    from graphnetz.records.analysis import Standing as Standing
    from graphnetz.records.analysis import Verdict as Verdict
