"""Selectors: from performances on known graphs to a ranking of models for a new one."""

from __future__ import annotations

from graphnetz._core.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__, __file__)

# A selector is registered when its module is imported: in this order, in which listings show them.
for _name in ("RandomSelector", "ALORS", "KernelSelector", "MetaGL", "MetaOD", "NCF", "ISAC", "SupervisedSurrogate"):
    __getattr__(_name)
