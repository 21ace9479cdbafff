"""Plans, executors, the store, and `run_benchmark`.

Names are resolved on first use: reading a store must not import torch.
"""

from __future__ import annotations

from graphnetz._core.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__, __file__)
