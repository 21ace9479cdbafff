"""Encoders, baselines and the registry of models."""

from graphnetz.models.boosting import GradientBoosting
from graphnetz.models.chebnet import ChebNet
from graphnetz.models.dgi import DGI, DGIWrapper
from graphnetz.models.egc import EGC
from graphnetz.models.embeddings import GraRep, SpectralEmbedding
from graphnetz.models.gat import GAT
from graphnetz.models.gcn import GCN
from graphnetz.models.gin import GIN
from graphnetz.models.gps import GPS
from graphnetz.models.heuristics import AdamicAdar, DegreeProduct, Jaccard, ResourceAllocation
from graphnetz.models.infomax import InfomaxEncoder
from graphnetz.models.mlp import MLP
from graphnetz.models.node2vec import Node2Vec
from graphnetz.models.pna import PNA
from graphnetz.models.predictors import FeatureOnly, Majority
from graphnetz.models.sage import GraphSAGE
from graphnetz.models.seal import SEAL
from graphnetz.models.sgc import SGC
from graphnetz.models.smoothing import CorrectAndSmooth, LabelPropagation
from graphnetz.models.spec import ALL, MODELS, ModelSpec, _multi_task_factory, named_specs, register_model, spec_from
from graphnetz.models.stack import StackedGAT, StackedGCN, StackedGIN, StackedSAGE
from graphnetz.models.transformer import GraphTransformer
from graphnetz.models.weisfeiler_leman import WeisfeilerLeman

__all__ = [
    "ALL",
    "DGI",
    "EGC",
    "GAT",
    "GCN",
    "GIN",
    "GPS",
    "MLP",
    "MODELS",
    "PNA",
    "SEAL",
    "SGC",
    "AdamicAdar",
    "ChebNet",
    "CorrectAndSmooth",
    "DGIWrapper",
    "DegreeProduct",
    "FeatureOnly",
    "GraRep",
    "GradientBoosting",
    "GraphSAGE",
    "GraphTransformer",
    "InfomaxEncoder",
    "Jaccard",
    "LabelPropagation",
    "Majority",
    "ModelSpec",
    "Node2Vec",
    "ResourceAllocation",
    "SpectralEmbedding",
    "StackedGAT",
    "StackedGCN",
    "StackedGIN",
    "StackedSAGE",
    "WeisfeilerLeman",
    "_multi_task_factory",
    "named_specs",
    "register_model",
    "spec_from",
]
