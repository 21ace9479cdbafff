"""Infrastructure: power, road, air, transit and radio networks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from graphnetz.datasets.cards import dataset
from graphnetz.datasets.sources.facts import AIRPORTS, GENERATED, NETZ, network, size

if TYPE_CHECKING:
    from torch_geometric.data import Data

    from graphnetz.datasets.sources.base import GraphDataset
    from graphnetz.datasets.sources.facts import Mirror, Root


@dataset(
    "infrastructure",
    serves={"link_pred": 20},
    title="Radio mesh: a random geometric network",
    **GENERATED,
    citation="Gilbert, Random plane networks, 1961.",
    nodes=1000,
    notes=("Masts within reach of each other are linked; positions are not shown to models.",),
)
def radio_mesh(_root: object = None, *, seed: int = 0, **size: Any) -> Data:
    """Return a random geometric graph; see `graphnetz.datasets.generators.networks.geometric`."""
    from graphnetz.datasets.generators.networks import geometric

    return geometric(seed, **size)


@dataset(
    "infrastructure",
    serves={"link_pred": 80},
    curated=("link_pred",),
    title="Western US power grid",
    mirror=("networks/power.csv",),
    **network(4941, 6594),
    **NETZ,
)
def power_grid(root: Root = "data/power_grid", *, mirror: Mirror = None) -> GraphDataset:
    """Return the power grid of the western United States (Watts and Strogatz, 1998)."""
    from graphnetz.datasets.sources.netz import Netz

    return Netz(root, "power", "power", mirror=mirror)


@dataset(
    "infrastructure",
    serves={"link_pred": 80},
    curated=("link_pred",),
    title="International E-roads",
    mirror=("networks/euroroad.csv",),
    **network(1174, 1417),
    **NETZ,
)
def euroroad(root: Root = "data/euroroad", *, mirror: Mirror = None) -> GraphDataset:
    """Return cities joined by E-roads (Subelj and Bajec, 2011)."""
    from graphnetz.datasets.sources.netz import Netz

    return Netz(root, "euroroad", "euroroad", mirror=mirror)


@dataset("infrastructure", serves={"link_pred": 40}, title="Roads of Washington, DC", **NETZ)
def us_roads(root: Root = "data/us_roads", *, mirror: Mirror = None) -> GraphDataset:
    """Return the road network of Washington, DC."""
    from graphnetz.datasets.sources.netz import Netz

    return Netz(root, "us_roads", "DC", mirror=mirror)


@dataset(
    "infrastructure",
    serves={"link_pred": 80},
    title="European airlines",
    mirror=("networks/eu_airlines.csv",),
    **network(450, 2953),
    **NETZ,
)
def eu_airlines(root: Root = "data/eu_airlines", *, mirror: Mirror = None) -> GraphDataset:
    """Return airports joined by 37 airlines (Cardillo et al., 2013); layers are merged."""
    from graphnetz.datasets.sources.netz import Netz

    return Netz(root, "eu_airlines", "eu_airlines", mirror=mirror)


@dataset(
    "infrastructure",
    serves={"link_pred": 80},
    title="London public transport",
    mirror=("networks/london_transport.csv",),
    **network(369, 430),
    **NETZ,
)
def london_transport(root: Root = "data/london_transport", *, mirror: Mirror = None) -> GraphDataset:
    """Return stations joined by tube, overground and DLR (De Domenico et al., 2014); layers are merged."""
    from graphnetz.datasets.sources.netz import Netz

    return Netz(root, "london_transport", "london_transport", mirror=mirror)


@dataset("infrastructure", serves={"link_pred": 80}, title="Streets of Brasilia", **NETZ)
def urban_streets(root: Root = "data/urban_streets", *, mirror: Mirror = None) -> GraphDataset:
    """Return a square mile of streets (Crucitti et al., 2006)."""
    from graphnetz.datasets.sources.netz import Netz

    return Netz(root, "urban_streets", "brasilia", mirror=mirror)


@dataset(
    "infrastructure",
    serves={"node_cls": 100},
    title="Air traffic, USA",
    mirror=("Airports/usa/raw",),
    **size(1, 1190, 13599, 1190, None),
    **AIRPORTS,
)
def airports_usa(root: Root = "data/airports_usa", *, mirror: Mirror = None) -> GraphDataset:
    """Return airports; the class is the quartile of activity."""
    from graphnetz.datasets.sources.node_sets import airports

    return airports(root, "usa", mirror=mirror)


@dataset(
    "infrastructure",
    serves={"node_cls": 100},
    title="Air traffic, Brazil",
    mirror=("Airports/brazil/raw",),
    **size(1, 131, 1074, 131, None),
    **AIRPORTS,
)
def airports_brazil(root: Root = "data/airports_brazil", *, mirror: Mirror = None) -> GraphDataset:
    """Return airports; the class is the quartile of activity."""
    from graphnetz.datasets.sources.node_sets import airports

    return airports(root, "brazil", mirror=mirror)


@dataset(
    "infrastructure",
    serves={"node_cls": 100},
    title="Air traffic, Europe",
    mirror=("Airports/europe/raw",),
    **size(1, 399, 5995, 399, None),
    **AIRPORTS,
)
def airports_europe(root: Root = "data/airports_europe", *, mirror: Mirror = None) -> GraphDataset:
    """Return airports; the class is the quartile of activity."""
    from graphnetz.datasets.sources.node_sets import airports

    return airports(root, "europe", mirror=mirror)
