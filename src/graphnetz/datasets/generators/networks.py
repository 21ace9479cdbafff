"""Single networks: internet, streets, trust, botnets, points joined to their nearest."""

from __future__ import annotations

import numpy as np
from torch_geometric.data import Data

from graphnetz._core.rng import generator
from graphnetz.datasets.generators.build import both_ways, graph, nearest_pairs, pairs_of
from graphnetz.datasets.generators.sbm import block_adjacency

AS_TYPES = ("T", "M", "CP", "C")


def internet_as(seed: int, *, num_nodes: int = 1000) -> Data:
    """Return an internet-like graph of autonomous systems (Elmokashfi, Kvalbein and Dovrolis, 2010).

    Made by ``networkx.random_internet_as_graph``. ``y`` is the role (tier-1, mid-level, content
    provider, customer); ``edge_label`` is 1 on peering links, 0 on customer-provider links. There
    are no features: nothing but structure.
    """
    import networkx as nx

    built = nx.random_internet_as_graph(num_nodes, seed=int(generator("internet", seed).integers(2**31)))
    ends = np.array([(u, v) for u, v in built.edges()], dtype=np.int64)
    peer = np.array([kind == "peer" for _, _, kind in built.edges(data="type")], dtype=np.int64)
    role = np.array([AS_TYPES.index(built.nodes[node]["type"]) for node in range(num_nodes)])
    return graph(both_ways(ends), num_nodes, y=role, edge_label=np.tile(peer, 2))


def geometric(seed: int, *, num_nodes: int = 1000, degree: float = 8.0) -> Data:
    """Return a random geometric graph in the unit square (Gilbert, 1961), positions kept as ``pos``.

    Two nodes are joined when closer than the radius that gives the expected ``degree`` (away from the
    border). No feature is given to models: each node is known by its number.
    """
    from scipy.spatial import cKDTree

    rng = generator("geometric", seed)
    points = rng.random((num_nodes, 2))
    radius = np.sqrt(degree / (np.pi * (num_nodes - 1)))
    pairs = np.sort(cKDTree(points).query_pairs(radius, output_type="ndarray"), axis=1)
    pairs = pairs[np.lexsort((pairs[:, 1], pairs[:, 0]))]
    data = graph(both_ways(pairs), num_nodes, pos=points)
    data.feature_rule = "identity"
    return data


def signed_trust(
    seed: int,
    *,
    num_nodes: int = 1000,
    factions: int = 2,
    degree: float = 8.0,
    homophily: float = 0.7,
    signal: float = 1.5,
    features: int = 8,
    flip: float = 0.02,
) -> Data:
    """Return a balanced signed network: trust inside a faction, distrust across (Harary, 1953).

    A block model with ``homophily`` of its edges inside factions; ``edge_label`` is 1 on distrust,
    flipped with probability ``flip``. Every node has Gaussian features whose mean points weakly to its
    faction, so that an edge's sign is read better from the neighbourhoods than from its ends.
    """
    rng = generator("signed-trust", seed)
    side = rng.permutation(np.arange(num_nodes) % factions)
    inside = degree * homophily / (num_nodes / factions)
    between = degree * (1.0 - homophily) / (num_nodes * (factions - 1) / factions)
    pairs = pairs_of(block_adjacency(rng, side, inside, between))
    sign = (side[pairs[:, 0]] != side[pairs[:, 1]]) ^ (rng.random(len(pairs)) < flip)
    means = rng.standard_normal((factions, features))
    means *= signal / np.linalg.norm(means, axis=1, keepdims=True)
    x = means[side] + rng.standard_normal((num_nodes, features))
    return graph(
        both_ways(pairs), num_nodes, x=x, edge_label=np.tile(sign.astype(np.int64), 2), solution={"faction": side}
    )


def botnet(
    seed: int,
    *,
    num_nodes: int = 1200,
    bots: int = 400,
    attach: int = 2,
    overlay: int = 4,
    signal: float = 1.0,
    features: int = 8,
) -> Data:
    """Return background traffic with a planted peer-to-peer botnet; ``y`` is 1 on bots.

    After Zhou et al. (2020). The background is a preferential-attachment graph (``attach`` links per
    new node), in which bots take part like everyone else; among themselves they keep a random regular
    overlay of degree ``overlay``. The other nodes keep as many extra contacts of the same kind, so that
    degrees have the same distribution in both classes and only the neighbourhood tells. ``x`` is
    Gaussian traffic whose mean lies ``signal`` apart between bots and others.
    """
    import networkx as nx

    rng = generator("botnet", seed)
    base = nx.barabasi_albert_graph(num_nodes, attach, seed=int(rng.integers(2**31)))
    order = rng.permutation(num_nodes)
    bot = order[:bots]
    pairs = [np.array(base.edges())]
    for members in (bot, order[bots:]):
        ring = nx.random_regular_graph(overlay, len(members), seed=int(rng.integers(2**31)))
        pairs.append(members[np.array(ring.edges())])
    joined = np.unique(np.sort(np.concatenate(pairs), axis=1), axis=0)
    y = np.zeros(num_nodes, dtype=np.int64)
    y[bot] = 1
    shift = rng.standard_normal(features)
    x = rng.standard_normal((num_nodes, features)) + np.outer(y, signal * shift / np.linalg.norm(shift))
    return graph(both_ways(joined), num_nodes, x=x, y=y)


def nearest_neighbour_graph(x: np.ndarray, y: np.ndarray, *, k: int) -> Data:
    """Return rows of a table joined to their ``k`` nearest (Euclid on standardised columns)."""
    spread = x.std(axis=0)
    scaled = (x - x.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    return graph(both_ways(nearest_pairs(scaled, k)), len(x), x=scaled, y=np.asarray(y))
