"""Travelling salesman and vehicle routing on points in the unit square.

Tours of at most `EXACT_TSP` cities are optimal (Held and Karp, 1962). Larger tours are the best of
several nearest-neighbour starts improved by 2-opt and Or-opt until neither helps: a local optimum,
about 5 % above the optimum on uniform points (Johnson and McGeoch, 1997), not a certified one. Ask
for ``solver="certified"`` to have OR-tools prove optimality (slow; needs the ``tsp`` extra).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from numba import njit
from torch_geometric.data import Data

from graphnetz._core.errors import GraphnetzError, unknown_name
from graphnetz._core.optional import require
from graphnetz._core.rng import generator
from graphnetz.datasets.generators.build import both_ways, graph
from graphnetz.graphs.random_graphs import nearest_pairs
from graphnetz.records import GraphList

EXACT_TSP = 12
_SCALE = 1_000_000


def distances(points: np.ndarray) -> np.ndarray:
    """Return the Euclidean distance matrix."""
    gap = points[:, None, :] - points[None, :, :]
    return np.asarray(np.sqrt((gap**2).sum(axis=-1)))


def tour_length(matrix: np.ndarray, tour: np.ndarray) -> float:
    """Return the length of a closed tour."""
    return float(matrix[tour, np.roll(tour, -1)].sum())


@njit(cache=True)
def held_karp(matrix: np.ndarray) -> np.ndarray:
    """Return an optimal tour by dynamic programming over subsets; time 2^n n^2."""
    n = matrix.shape[0]
    if n <= 3:
        return np.arange(n)
    full = 1 << (n - 1)  # city n-1 is the start; subsets range over the others
    best = np.full((full, n - 1), np.inf)
    back = np.full((full, n - 1), -1, dtype=np.int64)
    for last in range(n - 1):
        best[1 << last, last] = matrix[n - 1, last]
    for subset in range(1, full):
        for last in range(n - 1):
            cost = best[subset, last]
            if cost == np.inf:
                continue
            for city in range(n - 1):
                if subset >> city & 1:
                    continue
                larger = subset | (1 << city)
                reached = cost + matrix[last, city]
                if reached < best[larger, city]:
                    best[larger, city] = reached
                    back[larger, city] = last
    closing = best[full - 1] + matrix[: n - 1, n - 1]
    tour = np.empty(n, dtype=np.int64)
    tour[0] = n - 1
    last, subset = int(np.argmin(closing)), full - 1
    for place in range(1, n):
        tour[place] = last
        subset, last = subset ^ (1 << last), back[subset, last]
    return tour


@njit(cache=True)
def _nearest_neighbour(matrix: np.ndarray, start: int) -> np.ndarray:
    n = matrix.shape[0]
    seen = np.zeros(n, dtype=np.bool_)
    tour = np.empty(n, dtype=np.int64)
    here = start
    for place in range(n):
        tour[place] = here
        seen[here] = True
        nearest, gap = -1, np.inf
        for city in range(n):
            if not seen[city] and matrix[here, city] < gap:
                nearest, gap = city, matrix[here, city]
        here = nearest
    return tour


@njit(cache=True)
def _two_opt_pass(matrix: np.ndarray, tour: np.ndarray) -> bool:
    n, improved = len(tour), False
    for i in range(n - 1):
        for j in range(i + 2, n):
            a, b, c, d = tour[i], tour[i + 1], tour[j], tour[(j + 1) % n]
            if a == d:
                continue
            if matrix[a, c] + matrix[b, d] < matrix[a, b] + matrix[c, d] - 1e-12:
                tour[i + 1 : j + 1] = tour[i + 1 : j + 1][::-1].copy()
                improved = True
    return improved


@njit(cache=True)
def _or_opt_pass(matrix: np.ndarray, tour: np.ndarray) -> bool:
    """Move a run of one to three cities to a better place, either way round; first gain wins."""
    n = len(tour)
    for length in range(1, min(3, n - 2) + 1):
        for start in range(n):
            ring = np.empty(n, dtype=np.int64)
            for place in range(n):
                ring[place] = tour[(start + place) % n]
            first, last, rest = ring[0], ring[length - 1], ring[length:]
            before, after = rest[-1], rest[0]
            saved = matrix[before, first] + matrix[last, after] - matrix[before, after]
            for k in range(len(rest) - 1):
                a, b = rest[k], rest[k + 1]
                straight = matrix[a, first] + matrix[last, b] - matrix[a, b]
                turned = matrix[a, last] + matrix[first, b] - matrix[a, b]
                if min(straight, turned) < saved - 1e-12:
                    moved = ring[:length].copy() if straight <= turned else ring[:length][::-1].copy()
                    tour[: k + 1] = rest[: k + 1]
                    tour[k + 1 : k + 1 + length] = moved
                    tour[k + 1 + length :] = rest[k + 1 :]
                    return True
    return False


@njit(cache=True)
def local_search(matrix: np.ndarray, starts: int) -> np.ndarray:
    """Return the best 2-opt and Or-opt local optimum over ``starts`` nearest-neighbour tours."""
    n = matrix.shape[0]
    best, best_length = np.arange(n), np.inf
    for attempt in range(min(starts, n)):
        tour = _nearest_neighbour(matrix, attempt * n // min(starts, n))
        while n > 4 and (_two_opt_pass(matrix, tour) or _or_opt_pass(matrix, tour)):
            pass
        length = 0.0
        for place in range(n):
            length += matrix[tour[place], tour[(place + 1) % n]]
        if length < best_length:
            best, best_length = tour, length
    return best


def certified_tour(matrix: np.ndarray, *, seconds: float = 60.0) -> np.ndarray:
    """Return a tour that OR-tools CP-SAT proves optimal for distances rounded to 1e-6."""
    model_module = require("ortools.sat.python.cp_model", extra="tsp", purpose="A certified tour")
    model, n = model_module.CpModel(), len(matrix)
    whole = np.rint(matrix * _SCALE).astype(int)
    arcs = {(i, j): model.new_bool_var("") for i in range(n) for j in range(n) if i != j}
    model.add_circuit([(i, j, literal) for (i, j), literal in arcs.items()])
    hint = local_search(matrix, 4)
    chosen = set(zip(hint.tolist(), np.roll(hint, -1).tolist(), strict=True))
    for pair, literal in arcs.items():
        model.add_hint(literal, pair in chosen)
    model.minimize(sum(int(whole[pair]) * literal for pair, literal in arcs.items()))
    solver = model_module.CpSolver()
    solver.parameters.max_time_in_seconds = seconds
    solver.parameters.num_workers = 1
    if solver.solve(model) != model_module.OPTIMAL:
        raise GraphnetzError(f"No proof of optimality for {n} cities within {seconds} s; allow more seconds.")
    after = {i: j for (i, j), literal in arcs.items() if solver.value(literal)}
    tour = [0]
    while len(tour) < n:
        tour.append(after[tour[-1]])
    return np.array(tour)


def _automatic(matrix: np.ndarray) -> np.ndarray:
    return held_karp(matrix) if len(matrix) <= EXACT_TSP else local_search(matrix, 4)


_SOLVERS: Mapping[str, Callable[[np.ndarray], np.ndarray]] = {
    "auto": _automatic,
    "exact": held_karp,
    "heuristic": lambda matrix: local_search(matrix, 4),
    "certified": certified_tour,
}


def tsp(seed: int, *, num_graphs: int = 128, num_nodes: int = 50, k: int = 5, solver: str = "auto") -> GraphList:
    """Return ``num_graphs`` instances: k-nearest-neighbour graphs with tour edges marked.

    Each graph has ``x`` (coordinates), ``edge_attr`` (length), ``edge_label`` (1 when the pair lies on
    the tour, both directions) and ``solution`` (the tour and its length). Tour edges outside the
    neighbour graph stay outside, as in Benchmarking-GNNs (Dwivedi et al., 2023).
    """
    if solver not in _SOLVERS:
        raise unknown_name("solver", solver, _SOLVERS)
    rng = generator("tsp", seed)
    return GraphList(_tsp_instance(rng.random((num_nodes, 2)), k, solver) for _ in range(num_graphs))


def _tsp_instance(points: np.ndarray, k: int, solver: str) -> Data:
    matrix = distances(points)
    tour = _SOLVERS[solver](matrix)
    edges = both_ways(nearest_pairs(points, k))
    return graph(
        edges,
        len(points),
        x=points,
        edge_attr=matrix[edges[0], edges[1]][:, None],
        edge_label=_on_cycle(edges, [tour], len(points)),
        solution={"tour": tour, "length": tour_length(matrix, tour)},
    )


def _on_cycle(edges: np.ndarray, cycles: list[np.ndarray], num_nodes: int) -> np.ndarray:
    used = np.zeros((num_nodes, num_nodes), dtype=np.int64)
    for cycle in cycles:
        used[cycle, np.roll(cycle, -1)] = 1
    return np.asarray(np.maximum(used, used.T)[edges[0], edges[1]])


def vrp(seed: int, *, num_graphs: int = 128, num_nodes: int = 50, k: int = 5, capacity: float = 1.0) -> GraphList:
    """Return capacitated routing instances with the depot at node 0.

    Customers demand 0.1 to 0.5 of ``capacity``. Routes come from the savings rule (Clarke and Wright,
    1964), each then ordered by `tsp`'s solver: a stated heuristic, feasible by construction.
    ``x`` holds the coordinates, the demand and a depot flag; the neighbour graph also joins every
    customer to the depot, and ``edge_label`` marks the edges some route uses.
    """
    rng = generator("vrp", seed)
    return GraphList(_vrp_instance(rng, num_nodes, k, capacity) for _ in range(num_graphs))


def _vrp_instance(rng: np.random.Generator, num_nodes: int, k: int, capacity: float) -> Data:
    points = rng.random((num_nodes, 2))
    demand = rng.uniform(0.1, 0.5, num_nodes) * capacity
    demand[0] = 0.0
    matrix = distances(points)
    routes = [_ordered(matrix, members) for members in savings_routes(matrix, demand, capacity)]
    spokes = np.stack([np.zeros(num_nodes - 1, dtype=np.int64), np.arange(1, num_nodes)], axis=1)
    edges = both_ways(np.unique(np.concatenate([nearest_pairs(points, k), spokes]), axis=0))
    depot = (np.arange(num_nodes) == 0).astype(float)
    return graph(
        edges,
        num_nodes,
        x=np.column_stack([points, demand, depot]),
        edge_attr=matrix[edges[0], edges[1]][:, None],
        edge_label=_on_cycle(edges, routes, num_nodes),
        solution={"routes": routes, "length": sum(tour_length(matrix, route) for route in routes)},
    )


def _ordered(matrix: np.ndarray, members: list[int]) -> np.ndarray:
    """Return depot and members in tour order, the depot first."""
    nodes = np.array([0, *members])
    if len(nodes) <= 3:
        return nodes
    tour = _automatic(np.ascontiguousarray(matrix[np.ix_(nodes, nodes)]))
    return np.asarray(nodes[np.roll(tour, -int(np.flatnonzero(tour == 0)[0]))])


def savings_routes(matrix: np.ndarray, demand: np.ndarray, capacity: float) -> list[list[int]]:
    """Merge single-customer routes in the order of saved distance while the load fits."""
    n = len(matrix)
    routes = {i: [i] for i in range(1, n)}
    home = {i: i for i in range(1, n)}
    rows, cols = np.triu_indices(n, 1)
    keep = rows > 0
    rows, cols = rows[keep], cols[keep]
    gain = matrix[rows, 0] + matrix[0, cols] - matrix[rows, cols]
    for position in np.argsort(-gain, kind="stable"):
        i, j = int(rows[position]), int(cols[position])
        a, b = routes[home[i]], routes[home[j]]
        if a is b or i not in (a[0], a[-1]) or j not in (b[0], b[-1]) or demand[a + b].sum() > capacity + 1e-12:
            continue
        left = a if a[-1] == i else a[::-1]
        right = b if b[0] == j else b[::-1]
        key, gone = home[i], home[j]
        routes[key] = left + right
        del routes[gone]
        for member in right:
            home[member] = key
    return list(routes.values())
