"""Infrastructure: power, road, air, transit and radio networks."""

from __future__ import annotations

from graphnetz.datasets.catalogue import loaders

globals().update(loaders("infrastructure"))
