"""The architectures of "Benchmarking Graph Neural Networks" (Dwivedi et al., 2023), with their own heads."""

from graphnetz.models.bgnn.gat import GAT
from graphnetz.models.bgnn.gat_edge import GATEdge
from graphnetz.models.bgnn.gatedgcn import GatedGCN
from graphnetz.models.bgnn.gcn import GCN
from graphnetz.models.bgnn.gin import GIN
from graphnetz.models.bgnn.gtp import GatedGCNRecurrent, GINRecurrent
from graphnetz.models.bgnn.mf import MF
from graphnetz.models.bgnn.mlp import MLP
from graphnetz.models.bgnn.monet import MoNet
from graphnetz.models.bgnn.ring import RingGNN
from graphnetz.models.bgnn.sage import GraphSAGE
from graphnetz.models.bgnn.threewl import ThreeWLGNN

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
    "RingGNN",
    "ThreeWLGNN",
]
