"""Biology: molecules, proteins, tissues, brains and contacts."""

from __future__ import annotations

from graphnetz.datasets.catalogue import loaders

globals().update(loaders("biology"))
