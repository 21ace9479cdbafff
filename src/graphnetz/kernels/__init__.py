"""Fast message passing on the CPU; names are resolved on first use, so importing it costs nothing."""

from __future__ import annotations

from graphnetz._core.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__, __file__)
