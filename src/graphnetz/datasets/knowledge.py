"""Knowledge: entities joined by typed relations."""

from __future__ import annotations

from graphnetz.datasets.catalogue import loaders

globals().update(loaders("knowledge"))
