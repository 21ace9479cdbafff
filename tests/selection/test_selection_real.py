"""Advice from real graphs: landmarks, the fall-back to the mean, the shortlist, and the shipped bank."""

from dataclasses import replace

import numpy as np
import pytest

from graphnetz.graphs import as_graph
from graphnetz.selection import PerformanceBank, recommend
from graphnetz.selection.landmarks import LANDMARKS, landmarks, part
from graphnetz.selection.real import Known, _surpasses, complementary, disagreement, fit_real, known_graphs
from graphnetz.selection.selectors.landmark import LandmarkSelector
from graphnetz.selection.space import Configuration

WANTED = {"link_pred": (80, 12), "node_cls": (40, 8)}


@pytest.fixture(scope="module")
def bank():
    return PerformanceBank.load()


def blocks(inside, *, features="noise", nodes=300, seed=0):
    """Two classes, the share of edges within them, and features that tell the class or nothing."""
    rng = np.random.default_rng(seed)
    y = np.arange(nodes) % 2
    pairs = []
    while len(pairs) < 5 * nodes:
        a, b = rng.integers(0, nodes, 2)
        if a != b and (y[a] == y[b]) == (rng.random() < inside):
            pairs.append((a, b))
    x = rng.standard_normal((nodes, 5)) + (2 * y[:, None] if features == "class" else 0)
    return as_graph(np.array(pairs), nodes, labels=y, features=x.astype(np.float32), name="blocks")


def marks(graph, task_type="node_cls"):
    return dict(zip(LANDMARKS[task_type], landmarks(graph, task_type), strict=True))


def test_landmarks_tell_homophily_from_features():
    alike, told = marks(blocks(0.95)), marks(blocks(0.5, features="class"))
    assert alike["propagation"] > 0.9 > 0.65 > alike["features"]
    assert told["features"] > 0.9 > 0.65 > told["propagation"]
    assert alike["adjusted_homophily"] == pytest.approx(0.9, abs=0.1)


def test_landmarks_never_see_the_test_labels():
    from graphnetz.selection.splits import stored_split

    graph = blocks(0.9)
    held = stored_split(graph, "node_cls", None, 0)["test"]
    other = np.array(graph.labels)
    other[held] = 1 - other[held]
    changed = as_graph(graph.edges, graph.num_nodes, labels=other, features=graph.features, name="blocks")
    np.testing.assert_array_equal(landmarks(graph, "node_cls", splits=1), landmarks(changed, "node_cls", splits=1))


def test_landmarks_of_links_find_closed_triangles():
    import networkx as nx

    found = marks(as_graph(nx.watts_strogatz_graph(400, 8, 0.02, seed=0)), "link_pred")
    assert found["resource_allocation"] > 0.9
    assert found["degree_product"] < 0.7


def _blocks(nodes=2000, groups=20, inside=12, across=2):
    """Edges of a graph with communities: most edges stay in one."""
    rng = np.random.default_rng(0)
    one = rng.integers(0, nodes, nodes * (inside + across) // 2)
    other = rng.integers(0, nodes // groups, len(one)) * groups + one % groups
    far = rng.random(len(one)) < across / (inside + across)
    other[far] = rng.integers(0, nodes, far.sum())
    return as_graph(np.stack([one, other]), nodes, directed=False)


def test_a_part_has_the_edges_among_its_nodes_and_no_more_than_asked():
    graph = _blocks()
    some = part(graph, 2000)
    assert 2000 <= some.num_edges <= 2000 + 40  # the last node brings its edges
    pieces = as_graph(np.stack([np.arange(0, 900, 3), np.arange(1, 901, 3)]), 1200, directed=False)
    assert part(pieces, 50).num_edges == 50  # three hundred components of one edge


def test_landmarks_of_a_large_graph_stay_near_those_of_the_whole():
    graph, names = _blocks(), LANDMARKS["link_pred"]
    whole, seen = landmarks(graph, "link_pred", splits=1), landmarks(graph, "link_pred", splits=1, most_edges=4000)
    assert np.isfinite(seen).all()
    assert not np.array_equal(whole, seen)
    for name in ("log_nodes", "log_edges", "log_degree", "clustering"):
        assert seen[names.index(name)] == pytest.approx(whole[names.index(name)], abs=0.02)
    assert np.abs(whole - seen)[: names.index("common_neighbours")].max() < 0.15


def test_far_from_everything_known_the_mean_decides():
    """One model suits low values, the other high ones; a third is good everywhere and best on average."""
    rng = np.random.default_rng(0)
    M = np.concatenate([rng.uniform(0, 0.2, (30, 2)), rng.uniform(0.8, 1, (30, 2))])
    low = np.arange(60) < 30
    P = np.column_stack([np.where(low, 0.9, 0.6), np.where(low, 0.6, 0.9), np.full(60, 0.85)])
    selector = LandmarkSelector().fit(P + rng.normal(0, 0.002, P.shape), M, np.arange(60) % 10)
    assert selector.predict([[0.1, 0.1], [0.9, 0.9]]).argmax(axis=1).tolist() == [0, 1]
    assert selector.gaps([[0.5, 0.5]]).min() > 5 * selector.gaps([[0.1, 0.1]]).min()


def test_shortlist_takes_models_that_fail_apart():
    """The second best by mean fails whenever the first does; the third best does not."""
    errors = np.array([[-0.2, -0.2, 0.1], [0.1, 0.1, -0.1]])
    order = complementary(np.array([0.8, 0.79, 0.75]), errors, np.array([0.5, 0.5]), top=2)
    assert order.tolist() == [0, 2, 1]


def test_views_disagree_where_one_sees_the_first_choice_below_another():
    """Two views of two graphs: of the first graph they name the same model, of the second not."""
    each = np.array([[[0.9, 0.5], [0.9, 0.5]], [[0.8, 0.7], [0.4, 0.7]]])
    np.testing.assert_allclose(disagreement(each, np.array([0, 0])), [0.0, 0.15])


@pytest.mark.parametrize("task_type", WANTED)
def test_likeness_and_lines_decide_half_each_and_warnings_are_rare(bank, task_type):
    known = known_graphs(bank, task_type)
    fitted = fit_real(known)
    found = [fitted.advise(marks) for marks in known.M]
    each = np.array([fitted.views.predict(marks[None])[:, 0] for marks in known.M])
    half = [(one[:-1].mean(axis=0) + one[-1]) / 2 for one in each]  # likeness to known graphs, and lines
    assert [int(one.order[0]) for one in found] == np.argmax(half, axis=1).tolist()
    assert np.mean([one.unfamiliar for one in found]) < 1 / 3


def test_a_graph_far_from_all_known_ones_is_warned_of(bank):
    """Far off all views fall back to the same mean: their agreement is no reason to be sure."""
    known = known_graphs(bank, "node_cls")
    fitted = fit_real(known)
    found = fitted.advise(known.M[0] + 8 * known.M.std(axis=0))
    assert found.unfamiliar
    assert found.regret >= fitted.doubt.mean


@pytest.mark.parametrize("task_type", WANTED)
def test_shipped_bank_knows_real_graphs(bank, task_type):
    known = known_graphs(bank, task_type)
    graphs, domains = WANTED[task_type]
    assert len(known.graphs) >= graphs
    assert len(np.unique(known.domains)) >= domains
    for name in known.graphs:
        entry = bank.graphs[name]
        assert all((entry.origin, entry.licence, entry.domain))
        assert f"{task_type} 0" in entry.splits


@pytest.mark.parametrize("task_type", WANTED)
def test_intervals_cover_left_out_domains(bank, task_type):
    known = known_graphs(bank, task_type)
    inside, cells = 0, 0
    for domain in np.unique(known.domains)[::4]:
        out = known.domains == domain
        fitted = fit_real(known.take(~out))
        for i in np.flatnonzero(out):
            found, seen = fitted.advise(known.M[i]), np.isfinite(known.P[i])
            inside += ((known.P[i] >= found.low) & (known.P[i] <= found.high))[seen].sum()
            cells += seen.sum()
    assert inside / cells > 0.75


def test_a_graph_smaller_than_all_known_ones_is_told_so():
    import networkx as nx

    small = recommend(nx.karate_club_graph(), "link_pred").notes
    assert any("78 edges" in note and "scatters more" in note for note in small)
    assert not recommend(nx.gnm_random_graph(400, 2000, seed=0), "link_pred").notes


def test_labels_change_the_advice():
    """Where classes follow edges, smoothing methods come first; where features alone tell, they do not."""
    alike = recommend(blocks(0.97), "node_cls", top=3)
    told = recommend(blocks(0.5, features="class"), "node_cls", top=3)
    assert [c.name for c in alike.choices] != [c.name for c in told.choices]


def test_bank_keeps_what_is_known_of_a_real_graph(tmp_path):
    bank = PerformanceBank()
    bank.add_graph("g", blocks(0.9), domain="d", origin="o", real=True, task_types=("node_cls",))
    bank.save(tmp_path / "bank.npz")
    again = PerformanceBank.load(tmp_path / "bank.npz").graphs["g"]
    assert again.real
    np.testing.assert_allclose(again.landmarks["node_cls"], bank.graphs["g"].landmarks["node_cls"], rtol=1e-6)


def test_the_best_on_average_comes_first_where_advice_has_not_surely_beaten_it(bank):
    """A mean gain within one standard error of nothing, over domains, is no reason to leave the best on average."""
    names = tuple(Configuration(name) for name in ("MLP", "SGC"))
    gain = np.array([0.1, -0.08, 0.02, -0.03, 0.0, 0.01])
    P = np.column_stack([0.7 + gain, np.full(6, 0.7)])
    known = Known(tuple("abcdef"), np.array(list("abcdef")), names, P, np.zeros((6, 1)), "node_cls")
    first, usual = np.zeros(6, dtype=np.int64), np.ones(6, dtype=np.int64)
    assert not _surpasses(known, first, usual)
    assert _surpasses(known, usual, usual)  # the same choices: nothing to leave
    assert _surpasses(replace(known, P=np.column_stack([0.72 + gain / 10, P[:, 1]])), first, usual)
    fitted = fit_real(known_graphs(bank, "node_cls"))
    assert not fitted.average_first
    behind = replace(fitted, average_first=True)
    assert {int(behind.advise(marks).order[0]) for marks in fitted.known.M} == {int(fitted.average_order[0])}
