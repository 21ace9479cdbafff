"""Combinatorial optimisation: instances with solutions, and graphs that test what models can see.

Link prediction uses held-out edges of the first instance, as published; edge classification asks for
the solution. Every benchmark seed draws fresh instances.
"""

from __future__ import annotations

from graphnetz.datasets.catalogue import loaders

globals().update(loaders("combinatorial"))
