"""Datasets: cards, loaders, generators, suites, and the ways to bring your own data."""

from __future__ import annotations

from graphnetz._core.lazy import lazy_names
from graphnetz.datasets.cards import CATEGORIES

__getattr__, __dir__, __all__ = lazy_names(__name__, __file__, submodules=tuple(CATEGORIES))

for _category in sorted(CATEGORIES):
    __getattr__(_category)  # files the cards of its datasets
