"""The architectures of "Benchmarking Graph Neural Networks" (Dwivedi et al., 2023), with their own heads."""

from graphnetz.papers.benchmarking_gnns.models.gat import GAT
from graphnetz.papers.benchmarking_gnns.models.gat_edge import GATEdge
from graphnetz.papers.benchmarking_gnns.models.gatedgcn import GatedGCN
from graphnetz.papers.benchmarking_gnns.models.gcn import GCN
from graphnetz.papers.benchmarking_gnns.models.gin import GIN
from graphnetz.papers.benchmarking_gnns.models.gtp import GatedGCNRecurrent, GINRecurrent
from graphnetz.papers.benchmarking_gnns.models.mf import MF
from graphnetz.papers.benchmarking_gnns.models.mlp import MLP
from graphnetz.papers.benchmarking_gnns.models.monet import MoNet
from graphnetz.papers.benchmarking_gnns.models.nearest import NearestNeighbours
from graphnetz.papers.benchmarking_gnns.models.ring import RingGNN
from graphnetz.papers.benchmarking_gnns.models.sage import GraphSAGE
from graphnetz.papers.benchmarking_gnns.models.threewl import ThreeWLGNN

__all__ = [
    "GAT",
    "GCN",
    "GIN",
    "MF",
    "MLP",
    "GATEdge",
    "GINRecurrent",
    "GatedGCN",
    "GatedGCNRecurrent",
    "GraphSAGE",
    "MoNet",
    "NearestNeighbours",
    "RingGNN",
    "ThreeWLGNN",
]
