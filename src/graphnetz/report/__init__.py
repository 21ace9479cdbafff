"""`BenchmarkReport` and what writes it; names are resolved on first use."""

from __future__ import annotations

from graphnetz._core.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__, __file__)
