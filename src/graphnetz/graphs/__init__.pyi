from graphnetz.graphs.arrays import GraphArrays as GraphArrays
from graphnetz.graphs.compressed import Graph as Graph
from graphnetz.graphs.compressed import as_graph as as_graph
from graphnetz.graphs.compressed import edge_orbits as edge_orbits
from graphnetz.graphs.converting import convert as convert
from graphnetz.graphs.counts import ORBITS as ORBITS
from graphnetz.graphs.files import read_graph as read_graph
from graphnetz.graphs.folder import GraphFolder as GraphFolder
