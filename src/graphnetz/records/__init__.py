"""The vocabulary: small frozen records that every layer shares. No torch, pandas or matplotlib.

Names are resolved on first use: `RunConfig` needs pydantic, which those who only read scores need not wait for.
"""

from __future__ import annotations

from graphnetz._core.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__, __file__)
