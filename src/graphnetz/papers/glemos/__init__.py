"""GLEMOS (Park et al., NeurIPS 2023) and MetaGL (Park et al., ICLR 2023): their collections and published tables."""

from graphnetz.papers.glemos import banks as banks  # registers them
from graphnetz.papers.glemos import collections as collections  # registers them
from graphnetz.papers.glemos.readers import glemos_testbeds, read_glemos, read_metagl
from graphnetz.papers.glemos.tables import published_table

__all__ = ["glemos_testbeds", "published_table", "read_glemos", "read_metagl"]
