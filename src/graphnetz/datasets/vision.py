"""Vision: images and shapes as graphs."""

from __future__ import annotations

from graphnetz.datasets.catalogue import loaders

globals().update(loaders("vision"))
