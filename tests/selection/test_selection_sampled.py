"""Orbits of some edges: each is the exact row, and what is estimated lies within its stated error."""

from __future__ import annotations

import json

import networkx as nx
import numpy as np
import pytest

from graphnetz._core.errors import UnknownNameError
from graphnetz.cli.app import run_app
from graphnetz.graphs import as_graph
from graphnetz.graphs.counts import ORBITS
from graphnetz.graphs.some_counts import components, kept_rows, nodes_around
from graphnetz.selection import feature_names, meta_features, recommend, sampled
from graphnetz.selection.sampled import described, estimated63, sampled_features
from graphnetz.selection.selectors import SELECTORS
from graphnetz.selection.statistics63 import STATISTICS, statistics63

GRAPHS = {
    "random": lambda: nx.gnm_random_graph(2000, 9000, seed=1),
    "hubs": lambda: nx.barabasi_albert_graph(2500, 4, seed=2),
    "triangles and hubs": lambda: nx.powerlaw_cluster_graph(2500, 4, 0.7, seed=3),
    "cliques": lambda: nx.relaxed_caveman_graph(250, 8, 0.2, seed=4),
}


@pytest.mark.parametrize("name", GRAPHS)
def test_sampled_edges_are_counted_exactly(name):
    graph = as_graph(GRAPHS[name]())
    rng = np.random.default_rng(0)
    for size in (1, 60, 700):
        places = np.sort(rng.choice(graph.num_edges, size, replace=False))
        np.testing.assert_array_equal(graph.some_orbits(places), graph.orbits[places])


def test_edges_of_a_star_and_of_a_clique_are_counted_exactly():
    for made in (nx.star_graph(40), nx.complete_graph(9), nx.complete_bipartite_graph(3, 7), nx.path_graph(2)):
        graph = as_graph(made)
        every = np.arange(graph.num_edges)
        np.testing.assert_array_equal(graph.some_orbits(every), graph.orbits)


def _gaps(graph, names, edges, draws, monkeypatch):
    """Distances of estimates from the exact values in stated errors, over samples of their own."""
    want = meta_features(graph, names)
    gaps = []
    for draw in range(draws):
        monkeypatch.setattr(sampled, "generator", lambda *_, draw=draw: np.random.default_rng(draw))
        found = sampled_features(graph, names, edges=edges)
        values, errors = (np.array(part) for part in zip(*found.values(), strict=True))
        np.testing.assert_array_equal(values[errors == 0], want[errors == 0])
        gaps.append(np.where(errors > 0, (values - want) / np.where(errors > 0, errors, 1.0), np.nan))
    return dict(zip(feature_names(names), np.array(gaps).T, strict=True))


@pytest.mark.parametrize("name", GRAPHS)
def test_means_and_shares_lie_within_their_stated_errors(name, monkeypatch):
    """Of intervals of two standard errors about 95 % hold the exact value, and the estimates lean to neither side."""
    graph = as_graph(GRAPHS[name]())
    gaps = _gaps(graph, "compact", 2000, 40, monkeypatch)
    asked = [f"orbit_{orbit}_mean" for orbit in ORBITS[2:]] + [f"fraction_{kind}" for kind in ("path4", "claw", "paw")]
    held = np.array([gaps[key] for key in asked])
    held = held[np.isfinite(held).all(axis=1)]  # a random graph of this density has hardly a diamond or a clique
    assert len(held) >= 9
    assert (np.abs(held) < 2.1).mean() > 0.9
    assert (np.abs(held) < 4).mean() > 0.99
    assert np.abs(held.mean(axis=1)).max() < 0.8  # of forty draws: five standard errors of the mean


def test_what_costs_little_is_exact_and_extremes_have_no_error(monkeypatch):
    graph = as_graph(GRAPHS["triangles and hubs"]())
    found = sampled_features(graph, "extended+graphlets", edges=1000)
    want = dict(zip(feature_names("extended+graphlets"), meta_features(graph, "extended+graphlets"), strict=True))
    for name in ("triangles", "clustering", "core_max", "orbit_path3_max", "orbit_triangle_gini", "pagerank_mean"):
        assert found[name] == (want[name], 0.0), name
    for name in ("orbit_claw_max", "clique4_edge_max", "orbit_cycle4_min"):
        assert np.isnan(found[name][1]), name
    assert found["orbit_claw_max"][0] <= want["orbit_claw_max"]
    assert np.isnan(found["classes"]).all()


def test_a_sample_of_everything_is_everything():
    graph = as_graph(GRAPHS["random"]())
    found = sampled_features(graph, "graphlets", edges=graph.num_edges)
    np.testing.assert_array_equal([value for value, _ in found.values()], meta_features(graph, "graphlets"))
    assert {error for _, error in found.values()} == {0.0}


@pytest.mark.parametrize("statistic", ["mean", "entropy", "entropy_normalised", "gini", "std", "mode_count",
                                       "cv", "harmonic_mean"])  # fmt: skip
def test_statistics_of_a_sample_speak_of_the_whole(statistic):
    """Counts and entropies grow with the number of values: the sample's own would be far off."""
    rng, place = np.random.default_rng(5), STATISTICS.index(statistic)
    whole = rng.poisson(6, 200_000) + 1
    want = statistics63(whole)[place]
    gaps = []
    for _ in range(40):
        found, error = estimated63(rng.choice(whole, 5000, replace=False), whole.size, rng)
        gaps.append((found[place] - want) / error[place])
    assert np.mean(np.abs(gaps) < 2.1) > 0.8
    assert np.max(np.abs(gaps)) < 6


def test_where_all_parts_of_a_sample_agree_no_error_is_stated():
    rng = np.random.default_rng(6)
    found, error = estimated63(np.repeat([3, 3, 3, 4], 500), 10**6, rng)
    assert found[STATISTICS.index("median")] == 3
    assert np.isnan(error[STATISTICS.index("median")])
    assert error[STATISTICS.index("mean")] > 0


def test_a_recommendation_from_sampled_orbits_says_so(monkeypatch):
    monkeypatch.setattr(sampled, "EDGES", 3000)
    graph = as_graph(GRAPHS["triangles and hubs"]())
    chosen = SELECTORS["kernel"](trees=0)
    exact, quick = (recommend(graph, "link_pred", selector=chosen, orbits=how) for how in ("exact", "sampled"))
    said = [note for note in quick.notes if "Orbits were counted on 3,000 of" in note]
    assert len(said) == 1
    assert "standard errors of up to" in said[0]
    assert not any("Orbits" in note for note in exact.notes)
    by_name = {choice.name: choice.score for choice in exact.choices}
    for choice in quick.choices:
        if choice.name in by_name:
            assert choice.score == pytest.approx(by_name[choice.name], abs=0.02)
    usual = recommend(graph, "link_pred", orbits="sampled")  # landmarks decide: no orbit is looked at
    assert not any("Orbits" in note for note in usual.notes)


def test_small_graphs_are_counted_whole():
    graph = as_graph(nx.karate_club_graph())
    values, notes = described(graph, "compact", "sampled")
    np.testing.assert_array_equal(values, meta_features(graph, "compact"))
    assert notes == ()
    with pytest.raises(UnknownNameError, match="exact"):
        described(graph, "compact", "sample")


def test_the_command_states_errors(tmp_path, capsys):
    file = tmp_path / "g.csv"
    rng = np.random.default_rng(0)
    np.savetxt(file, rng.integers(0, 6000, (30_000, 2)), fmt="%d", delimiter=",")
    assert run_app(["select", "features", str(file), "--set", "compact", "--orbits", "sampled"]) == 0
    lines = dict(line.split("\t", 1) for line in capsys.readouterr().out.splitlines())
    assert "± " in lines["orbit_claw_mean"]
    assert lines["triangles"].endswith("± 0.0")
    assert lines["orbit_claw_max"].endswith("of the sample")
    assert run_app(["select", "features", str(file), "--set", "compact", "--orbits", "sampled", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["orbit_claw_max"]["error"] is None
    assert run_app(["select", "features", str(file), "--orbits", "some"]) == 2
    assert "exact" in capsys.readouterr().err


def test_components_and_nodes_around_are_those_of_scipy():
    from scipy.sparse import csr_matrix
    from scipy.sparse.csgraph import breadth_first_order, connected_components

    graph = as_graph(nx.gnm_random_graph(400, 330, seed=6))
    matrix = csr_matrix((np.ones(len(graph.indices)), graph.indices, graph.indptr))
    number, label = connected_components(matrix, directed=False)
    mine = components(graph.indptr, graph.indices)
    assert mine[0] == number
    np.testing.assert_array_equal(mine[1], label)
    for start in (0, 7, 100):
        order = breadth_first_order(matrix, start, directed=False, return_predecessors=False)
        np.testing.assert_array_equal(nodes_around(graph.indptr, graph.indices, start, 10**9), order)
        some = nodes_around(graph.indptr, graph.indices, start, 5)
        np.testing.assert_array_equal(some, order[: len(some)])
        inside = matrix[some][:, some].sum() / 2
        assert inside >= 5 or len(some) == len(order)
        assert len(some) < 2 or matrix[some[:-1]][:, some[:-1]].sum() / 2 < 5


def test_rows_of_some_edges_are_those_of_a_graph_of_them():
    from graphnetz.graphs.counts import edge_numbers

    graph = as_graph(nx.gnm_random_graph(300, 900, seed=7))
    places = np.random.default_rng(0).choice(graph.num_edges, 500, replace=False)
    ptr, idx = kept_rows(graph.indptr, graph.indices, edge_numbers(graph.indptr, graph.indices), places)
    alone = as_graph(graph.edges[places], graph.num_nodes, directed=False)
    np.testing.assert_array_equal(ptr, alone.indptr)
    np.testing.assert_array_equal(idx, alone.indices)
