"""Model selection: meta-features, selectors, testbeds, the performance bank and recommendations."""

from __future__ import annotations

from graphnetz._core.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__, __file__)

# Functions called like their module: resolved now, so that nobody's import leaves the module in their place.
for _name in ("recommend", "statistics63"):
    __getattr__(_name)
