"""Social: citations, pages, friendships and communities."""

from __future__ import annotations

from graphnetz.datasets.catalogue import loaders

globals().update(loaders("social"))
