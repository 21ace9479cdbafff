"""Statistics: arrays in, frozen records out."""

from __future__ import annotations

from graphnetz._core.lazy import lazy_names

# Named like their modules: bound here, or importing the module would put it in the function's place.
from graphnetz.stats.bradley_terry import bradley_terry as bradley_terry
from graphnetz.stats.hierarchical import hierarchical as hierarchical
from graphnetz.stats.power import power as power
from graphnetz.stats.rank_bands import rank_bands as rank_bands
from graphnetz.stats.rank_sets import rank_sets as rank_sets
from graphnetz.stats.simultaneous import simultaneous as simultaneous

__getattr__, __dir__, __all__ = lazy_names(__name__, __file__)
