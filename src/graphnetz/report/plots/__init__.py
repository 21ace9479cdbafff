"""Figures: records in, ``(figure, axes)`` out. One file per figure, imported when one is drawn."""

from __future__ import annotations

from graphnetz._core.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__, __file__)
