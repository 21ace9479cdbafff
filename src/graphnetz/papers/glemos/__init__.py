"""GLEMOS (Park et al., NeurIPS 2023) and MetaGL (Park et al., ICLR 2023): their collections and published tables."""

from graphnetz.papers.glemos.collections import glemos_beds, metagl_beds
from graphnetz.papers.glemos.readers import Collection, glemos_testbeds, read_glemos, read_metagl
from graphnetz.papers.glemos.tables import published_table, published_value

__all__ = [
    "Collection",
    "glemos_beds",
    "glemos_testbeds",
    "metagl_beds",
    "published_table",
    "published_value",
    "read_glemos",
    "read_metagl",
]
