"""Single networks: internet, streets, trust, botnets."""

from __future__ import annotations

import numpy as np
from torch_geometric.data import Data

from graphnetz._core.rng import generator
from graphnetz.datasets.generators.build import both_ways, graph, pairs_of, with_masks
from graphnetz.graphs.random_graphs import (
    block_adjacency,
    block_rates,
    class_features,
    from_networkx,
    simple_pairs,
)

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
    return with_masks(graph(both_ways(ends), num_nodes, y=role, edge_label=np.tile(peer, 2)), entropy=seed)


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
    rates = block_rates(num_nodes, factions, degree=degree, homophily=homophily)
    pairs = pairs_of(block_adjacency(rng, side, *rates))
    sign = (side[pairs[:, 0]] != side[pairs[:, 1]]) ^ (rng.random(len(pairs)) < flip)
    x = class_features(rng, side, classes=factions, signal=signal, width=features)
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
    rng = generator("botnet", seed)
    pairs = [from_networkx("barabasi_albert_graph", rng, num_nodes, attach)]
    order = rng.permutation(num_nodes)
    bot = order[:bots]
    for members in (bot, order[bots:]):
        pairs.append(members[from_networkx("random_regular_graph", rng, overlay, len(members))])
    joined = simple_pairs(np.concatenate(pairs))
    y = np.zeros(num_nodes, dtype=np.int64)
    y[bot] = 1
    shift = rng.standard_normal(features)
    x = rng.standard_normal((num_nodes, features)) + np.outer(y, signal * shift / np.linalg.norm(shift))
    return with_masks(graph(both_ways(joined), num_nodes, x=x, y=y), entropy=seed)
