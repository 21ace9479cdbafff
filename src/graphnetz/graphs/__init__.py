"""Plain graphs: files and objects read one way, compressed rows, random graphs, structure counts."""

from __future__ import annotations

from graphnetz._core.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__, __file__)
