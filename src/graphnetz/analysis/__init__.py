"""Scores in, conclusions out: the only place where statistics meet a benchmark."""

from __future__ import annotations

from graphnetz._core.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__, __file__)
