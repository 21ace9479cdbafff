"""Computing: the internet and other networks of machines."""

from __future__ import annotations

from graphnetz.datasets.catalogue import loaders

globals().update(loaders("computing"))
