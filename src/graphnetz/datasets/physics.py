"""Physics: lattices and molecules with physical targets."""

from __future__ import annotations

from graphnetz.datasets.catalogue import loaders

globals().update(loaders("physics"))
