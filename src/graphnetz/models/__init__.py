"""Encoders, baselines and the registry of models."""

from graphnetz.models import bgnn
from graphnetz.models.dgi import DGI, DGIWrapper
from graphnetz.models.gat import GAT
from graphnetz.models.gcn import GCN
from graphnetz.models.gin import GIN
from graphnetz.models.gps import GPS
from graphnetz.models.mlp import MLP
from graphnetz.models.predictors import DegreeProduct, FeatureOnly, Jaccard, LabelPropagation, Majority
from graphnetz.models.sage import GraphSAGE
from graphnetz.models.spec import ALL, MODELS, ModelSpec, _multi_task_factory, named_specs, register_model, spec_from
from graphnetz.models.transformer import GraphTransformer

__all__ = [
    "ALL",
    "DGI",
    "GAT",
    "GCN",
    "GIN",
    "GPS",
    "MLP",
    "MODELS",
    "DGIWrapper",
    "DegreeProduct",
    "FeatureOnly",
    "GraphSAGE",
    "GraphTransformer",
    "Jaccard",
    "LabelPropagation",
    "Majority",
    "ModelSpec",
    "_multi_task_factory",
    "bgnn",
    "named_specs",
    "register_model",
    "spec_from",
]
