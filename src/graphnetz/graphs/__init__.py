"""Plain graphs: files and objects read one way, compressed rows, random graphs, structure counts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphnetz._core.lazy import lazy_names

_HOME = {
    "graphnetz.graphs.compressed": ("Graph", "as_graph", "edge_orbits"),
    "graphnetz.graphs.counts": ("ORBITS",),
    "graphnetz.graphs.arrays": ("GraphArrays",),
    "graphnetz.graphs.files": ("read_graph",),
}
__getattr__, __dir__, __all__ = lazy_names(__name__, _HOME)

if TYPE_CHECKING:
    from graphnetz.graphs.arrays import GraphArrays as GraphArrays
    from graphnetz.graphs.compressed import Graph as Graph
    from graphnetz.graphs.compressed import as_graph as as_graph
    from graphnetz.graphs.compressed import edge_orbits as edge_orbits
    from graphnetz.graphs.counts import ORBITS as ORBITS
    from graphnetz.graphs.files import read_graph as read_graph
