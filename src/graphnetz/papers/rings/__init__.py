"""RINGS (Coupette, Wayland, Simons and Rieck, ICML 2025): what the paper printed, beside ours."""

from __future__ import annotations

from graphnetz._core.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__, __file__)
