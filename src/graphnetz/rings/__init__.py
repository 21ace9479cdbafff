"""RINGS: is this dataset fit to judge models? (Coupette, Wayland, Simons and Rieck, ICML 2025)."""

from __future__ import annotations

from graphnetz._core.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__, __file__)

# Functions called like their module: resolved now, so that nobody's import leaves the module in their place.
for _name in ("agreement", "complementarity", "diversity", "evaluate", "separability"):
    __getattr__(_name)
