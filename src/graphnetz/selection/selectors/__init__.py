"""Selectors: from performances on known graphs to a ranking of models for a new one."""

from graphnetz.selection.selectors.averages import GlobalPerformance, GlobalRank, RandomSelector
from graphnetz.selection.selectors.base import SELECTORS, Selector
from graphnetz.selection.selectors.factors import ALORS
from graphnetz.selection.selectors.kernel import KernelSelector
from graphnetz.selection.selectors.metagl import MetaGL
from graphnetz.selection.selectors.metaod import MetaOD
from graphnetz.selection.selectors.ncf import NCF
from graphnetz.selection.selectors.neighbours import ISAC, NearestGraph
from graphnetz.selection.selectors.surrogate import SupervisedSurrogate

__all__ = [
    "ALORS",
    "ISAC",
    "NCF",
    "SELECTORS",
    "GlobalPerformance",
    "GlobalRank",
    "KernelSelector",
    "MetaGL",
    "MetaOD",
    "NearestGraph",
    "RandomSelector",
    "Selector",
    "SupervisedSurrogate",
]
