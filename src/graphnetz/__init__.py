"""graphnetz: honest evaluation of graph learning.

Public names are resolved on first use (PEP 562): importing the package costs nothing.
"""

from __future__ import annotations

from graphnetz._core import moved as _moved
from graphnetz._core.lazy import lazy_names

__version__ = "1.0.0rc1"
_moved.install()

__getattr__, __dir__, _names = lazy_names(
    __name__, __file__, submodules=("benchmark", "datasets", "models", "rings", "selection")
)
__all__ = ["__version__", *_names]
