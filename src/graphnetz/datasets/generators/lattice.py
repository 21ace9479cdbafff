"""The Ising model on a periodic square lattice."""

from __future__ import annotations

import numpy as np

from graphnetz._core.errors import UsageError
from graphnetz._core.rng import generator
from graphnetz.datasets.generators.build import both_ways, graph
from graphnetz.records import GraphList

CRITICAL = 2.0 / np.log(1.0 + np.sqrt(2.0))
"""Critical temperature of the infinite lattice (Onsager, 1944), in units of J / k_B."""


def lattice_pairs(side: int) -> np.ndarray:
    """Return the undirected pairs of a periodic ``side`` x ``side`` lattice, nodes in row order."""
    site = np.arange(side * side).reshape(side, side)
    right, down = np.roll(site, -1, axis=1), np.roll(site, -1, axis=0)
    pairs = np.concatenate([np.stack([site.ravel(), other.ravel()], axis=1) for other in (right, down)])
    return np.unique(np.sort(pairs, axis=1), axis=0)


def energy_per_site(spins: np.ndarray) -> np.ndarray:
    """Return -sum over neighbour pairs of s_i s_j, per site, for spins [..., side, side]."""
    bonds = spins * (np.roll(spins, -1, axis=-1) + np.roll(spins, -1, axis=-2))
    return np.asarray(-bonds.mean(axis=(-2, -1)))


def metropolis(rng: np.random.Generator, *, num_graphs: int, side: int, temperature: float, sweeps: int) -> np.ndarray:
    """Return spins [graphs, side, side] after ``sweeps`` checkerboard Metropolis sweeps.

    Sites of one colour do not interact, so a whole colour is updated at once in all graphs. Half of
    the chains start ordered, half at random, so that what is left of the start cancels.
    """
    if side < 4 or side % 2:
        raise UsageError(f"The lattice side must be even and at least 4, got {side}: the two colours must alternate.")
    spins = rng.choice(np.array([-1, 1], dtype=np.int8), (num_graphs, side, side))
    spins[::2] = spins[::2, :1, :1]
    colour = np.indices((side, side)).sum(axis=0) % 2
    # the sum over neighbours is one of -4, -2, 0, 2, 4: look the acceptance up
    accept = np.minimum(1.0, np.exp(-2.0 * np.arange(-4, 5) / temperature)).astype(np.float32)
    for _ in range(sweeps):
        for parity in (0, 1):
            field = sum(np.roll(spins, shift, axis=axis) for shift in (-1, 1) for axis in (1, 2))
            flip = rng.random(spins.shape, dtype=np.float32) < accept[spins * field + 4]
            spins = np.where(flip & (colour == parity), -spins, spins)
    return spins


def ising(
    seed: int, *, num_graphs: int = 128, side: int = 10, temperature: float = CRITICAL, sweeps: int = 400
) -> GraphList:
    """Return thermalised lattices: ``x`` the spins, ``y`` the energy per site.

    Sampled by Metropolis at ``temperature`` (in units of J / k_B). ``edge_label`` is 1 where the two
    spins agree.
    """
    rng = generator("ising", seed)
    return _lattices(metropolis(rng, num_graphs=num_graphs, side=side, temperature=temperature, sweeps=sweeps))


def ising_coin_flips(seed: int, *, num_graphs: int = 128, side: int = 10) -> GraphList:
    """Return lattices with independent fair spins: the infinite temperature of the published set."""
    spins = generator("ising-coins", seed).choice(np.array([-1, 1], dtype=np.int8), (num_graphs, side, side))
    return _lattices(spins)


def _lattices(spins: np.ndarray) -> GraphList:
    side = spins.shape[-1]
    edges, energy = both_ways(lattice_pairs(side)), energy_per_site(spins)
    graphs = []
    for number, flat in enumerate(spins.reshape(len(spins), -1)):
        graphs.append(
            graph(
                edges,
                side * side,
                x=flat[:, None].astype(float),
                y=energy[number : number + 1],
                edge_label=(flat[edges[0]] == flat[edges[1]]).astype(np.int64),
            )
        )
    return GraphList(graphs)
