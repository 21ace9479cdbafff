"""Statistics: arrays in, frozen records out."""

from __future__ import annotations

from graphnetz._core.lazy import lazy_names

# Named like their modules: bound here, or importing the module would put it in the function's place.
from graphnetz.stats.hierarchical import hierarchical as hierarchical
from graphnetz.stats.power import power as power

__getattr__, __dir__, __all__ = lazy_names(__name__, __file__)
