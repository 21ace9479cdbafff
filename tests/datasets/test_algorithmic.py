"""Every answer of the algorithmic tasks against networkx or a count by brute force, on small and on larger graphs."""

import itertools
import math

import networkx as nx
import numpy as np
import pytest
from torch_geometric.utils import to_networkx

from graphnetz import get_split
from graphnetz.datasets import CARDS, SUITES, task_of
from graphnetz.datasets.generators.algorithmic import PROBLEMS, instances, solvers
from graphnetz.engine.identity.code import code_hash

DIRECTED = {"reachability", "topological_level", "strong_arcs", "cycle"}
ALGORITHMIC = [name for name in CARDS if name.startswith("algo_")]


def drawn(name, count=12, larger=3):
    """Some graphs of a problem with their networkx form; edge weights as ``weight``."""
    for data in instances(5, name=name, train=count - 2, val=1, test=1, ood=larger):
        g = to_networkx(
            data, to_undirected=name not in DIRECTED, edge_attrs=["edge_attr"] if "edge_attr" in data else None
        )
        for _, _, row in g.edges(data=True):
            if "edge_attr" in row:
                row["weight"] = float(np.ravel(row["edge_attr"])[0])
        yield data, g


def marked(data, column=0):
    return int(data.x[:, column].argmax())


def labelled(data):
    """Arcs whose answer is yes."""
    return {(a, b) for (a, b), y in zip(data.edge_index.T.tolist(), data.edge_label.tolist(), strict=True) if y}


def arcs_of(edges):
    return {arc for a, b in edges for arc in ((a, b), (b, a))}


def by_node(data, wanted):
    assert data.y.tolist() == [int(wanted(node)) for node in range(data.num_nodes)]


# Answers of nodes


def test_reachability():
    for data, g in drawn("reachability"):
        found = nx.descendants(g, marked(data)) | {marked(data)}
        by_node(data, lambda n, found=found: n in found)


def test_same_component():
    for data, g in drawn("same_component"):
        found = nx.node_connected_component(g, marked(data))
        by_node(data, lambda n, found=found: n in found)


def test_distance():
    for data, g in drawn("distance"):
        found = nx.single_source_shortest_path_length(g, marked(data))
        by_node(data, lambda n, found=found: min(found[n], 5))


def test_core_number():
    for data, g in drawn("core_number"):
        found = nx.core_number(g)
        by_node(data, lambda n, found=found: min(found[n], 4))


def test_articulation():
    for data, g in drawn("articulation"):
        found = set(nx.articulation_points(g))
        by_node(data, lambda n, found=found: n in found)


def test_topological_level():
    for data, g in drawn("topological_level"):
        found = {n: level for level, layer in enumerate(nx.topological_generations(g)) for n in layer}
        by_node(data, lambda n, found=found: min(found[n], 4))


def test_minimum_cut():
    for data, g in drawn("minimum_cut"):
        side, (a, b) = np.flatnonzero(data.y), (marked(data), marked(data, 1))
        assert a in side
        assert b not in side
        assert nx.cut_size(g, set(side)) == nx.edge_connectivity(g, a, b)


def test_centre():
    for data, g in drawn("centre"):
        found = set(nx.center(g))
        by_node(data, lambda n, found=found: n in found)


def test_betweenness():
    for data, g in drawn("betweenness"):
        found = nx.betweenness_centrality(g, normalized=False)
        assert solvers.betweenness(nx.to_numpy_array(g) > 0) == pytest.approx(list(found.values()))
        mean = np.mean(list(found.values()))
        by_node(data, lambda n, found=found, mean=mean: found[n] > mean + 1e-9)


def test_between_marks():
    for data, g in drawn("between_marks"):
        found = set(itertools.chain(*nx.all_shortest_paths(g, marked(data), marked(data, 1))))
        by_node(data, lambda n, found=found: n in found)


def _lightest(nodes, weight, allowed):
    sets = (s for size in range(nodes + 1) for s in itertools.combinations(range(nodes), size) if allowed(set(s)))
    return set(min(sets, key=lambda s: sum(weight[list(s)])))


@pytest.mark.parametrize("name", ["vertex_cover", "dominating_set"])
def test_lightest_sets_by_brute_force(name):
    for data in instances(5, name=name, train=6, val=0, test=0, ood=0, sizes=(6, 9)):
        g, weight = to_networkx(data, to_undirected=True), data.x[:, 0].numpy()
        cover = lambda s, g=g: all(a in s or b in s for a, b in g.edges)  # noqa: E731
        allowed = cover if name == "vertex_cover" else lambda s, g=g: nx.is_dominating_set(g, s)
        assert set(np.flatnonzero(data.y)) == _lightest(data.num_nodes, weight, allowed)


# Answers of edges


def test_bridges():
    for data, g in drawn("bridges"):
        assert labelled(data) == arcs_of(nx.bridges(g))


def test_bfs_parent():
    for data, g in drawn("bfs_parent"):
        source, priority = marked(data), data.x[:, 1].numpy()
        steps = nx.single_source_shortest_path_length(g, source)
        wanted = {
            (max((m for m in g[n] if steps[m] == steps[n] - 1), key=lambda m: priority[m]), n) for n in g if n != source
        }
        assert labelled(data) == wanted


def test_spanning_tree():
    for data, g in drawn("spanning_tree"):
        assert labelled(data) == arcs_of(nx.minimum_spanning_edges(g, data=False))


def test_shortest_path_tree():
    for data, g in drawn("shortest_path_tree"):
        paths = nx.single_source_dijkstra_path(g, marked(data))
        assert labelled(data) == {tuple(path[-2:]) for path in paths.values() if len(path) > 1}


def test_shortest_path():
    for data, g in drawn("shortest_path"):
        ends = marked(data), marked(data, 1)
        assert ends[0] != ends[1]
        path = nx.dijkstra_path(g, *ends)
        assert labelled(data) == arcs_of(itertools.pairwise(path))


def test_strong_arcs():
    for data, g in drawn("strong_arcs"):
        parts = {n: i for i, part in enumerate(nx.strongly_connected_components(g)) for n in part}
        assert labelled(data) == {(a, b) for a, b in g.edges if parts[a] == parts[b]}


def test_heaviest_matching():
    for data, g in drawn("heaviest_matching"):
        assert labelled(data) == arcs_of(nx.max_weight_matching(g))


# Answers of graphs


@pytest.mark.parametrize(
    ("name", "witness"),
    [
        ("cycle", lambda g: not nx.is_directed_acyclic_graph(g)),
        ("bipartite", nx.is_bipartite),
        ("connected", nx.is_connected),
        ("eulerian", nx.is_eulerian),
        ("perfect_matching", lambda g: nx.is_perfect_matching(g, nx.max_weight_matching(g, maxcardinality=True))),
        ("clique_number", lambda g: max(map(len, nx.find_cliques(g))) - 2),
    ],
)
def test_graph_answers(name, witness):
    answers = set()
    for data, g in drawn(name, count=16):
        assert int(data.y) == int(witness(g))
        answers.add(int(data.y))
    assert len(answers) > 1


def test_chromatic_number_by_brute_force():
    for data in instances(5, name="chromatic_number", train=8, val=0, test=0, ood=0, sizes=(8, 9)):
        pairs, fewest = data.edge_index.T.tolist(), int(data.y) + 2

        def fits(count, n=data.num_nodes, pairs=pairs):
            return any(all(c[a] != c[b] for a, b in pairs) for c in itertools.product(range(count), repeat=n))

        assert fits(fewest)
        assert not fits(fewest - 1)


def _pagerank(data, g):
    return data.num_nodes * nx.pagerank(g, tol=1e-12)[marked(data)]


@pytest.mark.parametrize(
    ("name", "witness"),
    [
        ("triangles", lambda data, g: sum(nx.triangles(g).values()) / 3 / data.num_nodes),
        ("maximum_flow", lambda data, g: nx.edge_connectivity(g, marked(data), marked(data, 1))),
        ("pagerank", _pagerank),
        ("clustering", lambda data, g: nx.clustering(g, marked(data))),
        ("spanning_trees", lambda data, g: math.log(nx.number_of_spanning_trees(g)) / data.num_nodes),
        ("effective_resistance", lambda data, g: nx.resistance_distance(g, marked(data), marked(data, 1))),
        ("diameter", lambda _, g: nx.diameter(g)),
    ],
)
def test_graph_numbers(name, witness):
    for data, g in drawn(name):
        assert float(data.y) == pytest.approx(witness(data, g), rel=1e-5)


# Cards


def test_every_problem_is_a_card_of_the_suite():
    assert {name.removeprefix("algo_") for name in ALGORITHMIC} == set(PROBLEMS)
    assert [task.name for task in SUITES["algorithmic"]()] == ALGORITHMIC
    assert len(ALGORITHMIC) >= 20


@pytest.mark.parametrize("name", ALGORITHMIC)
def test_the_further_part_holds_larger_graphs_of_known_classes(name):
    loaded = CARDS[name].loader(None, seed=3, train=40, val=12, test=12, ood=8)
    sizes = np.array([graph.num_nodes for graph in loaded])
    parts = loaded.splits
    assert sizes[parts["ood"]].min() >= 2 * sizes[parts["train"]].max() - 2
    assert sizes[parts["test"]].max() <= sizes[parts["train"]].max() + 2
    key = "edge_label" if "edge_label" in loaded[0] else "y"
    if not loaded[0][key].is_floating_point():
        known = {int(v) for i in parts["train"] for v in loaded[i][key]}
        assert known == set(range(CARDS[name].classes))


def test_the_code_of_a_problem_is_part_of_its_key(monkeypatch):
    loader = task_of("algo_bridges").loader
    before = code_hash(loader)
    assert before == code_hash(task_of("algo_bridges").loader)
    assert before != code_hash(task_of("algo_distance").loader)
    monkeypatch.setattr(solvers, "bridges", lambda adjacency, pairs: pairs[:, 0] == 0)
    assert before != code_hash(loader)


def test_models_see_no_answer_of_the_further_part():
    from graphnetz.tasktypes import shown

    split = get_split("algo_distance")
    seen = shown(split)
    assert set(split.others) == {"ood"}
    assert len(split.targets["ood"]) == len(split.examples["ood"])
    assert (seen.targets["ood"] == -1).all()
    assert (seen.labels[split.examples["ood"]] == -1).all()
