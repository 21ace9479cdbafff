"""Problems with exact answers on small random graphs, and the same problems on larger ones."""

from graphnetz.datasets.generators.algorithmic import on_edges, on_graphs, on_nodes
from graphnetz.datasets.generators.algorithmic.instances import PROBLEMS, instances

__all__ = ["PROBLEMS", "instances", "on_edges", "on_graphs", "on_nodes"]
