"""Where datasets come from: readers of public raw files, each through the safe download layer."""

from graphnetz.datasets.sources.base import GraphDataset, RawFile
from graphnetz.datasets.sources.netz import Netz

__all__ = ["GraphDataset", "Netz", "RawFile"]
