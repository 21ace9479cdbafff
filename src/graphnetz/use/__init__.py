"""Models in use: choose one for a graph, train it, keep it in a folder, and predict with it."""

from __future__ import annotations

from graphnetz._core.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__, __file__)
