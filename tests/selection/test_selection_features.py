"""Meta-features against networkx, scipy and brute force."""

from itertools import combinations

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
import scipy.stats as ss
from hypothesis import given, settings
from hypothesis import strategies as st

from graphnetz._core.errors import DataError, UnknownNameError
from graphnetz.graphs import as_graph, edge_orbits
from graphnetz.graphs.counts import pagerank_stopped
from graphnetz.selection.metafeatures import EXTRACTORS, extractor, feature_names, meta_features
from graphnetz.selection.statistics63 import STATISTICS, statistics63


def brute_force_orbits(graph):
    """Roles of every edge in every induced connected subgraph of 3 and 4 nodes."""
    edges = sorted(tuple(sorted(e)) for e in graph.edges())
    number = {e: i for i, e in enumerate(edges)}
    counts = np.zeros((len(edges), 12), dtype=int)
    for size in (3, 4):
        for nodes in combinations(graph.nodes(), size):
            sub = graph.subgraph(nodes)
            if nx.is_connected(sub):
                for e in sub.edges():
                    counts[number[tuple(sorted(e))], role(sub, e)] += 1
    return np.array(edges), counts


def role(sub, e):
    d = sorted(sub.degree(v) for v in e)
    shape = (len(sub), sub.number_of_edges(), max(dict(sub.degree()).values()))
    fixed = {(3, 2, 2): 0, (3, 3, 2): 1, (4, 3, 3): 4, (4, 4, 2): 5, (4, 6, 3): 11}
    if shape in fixed:
        return fixed[shape]
    if shape == (4, 3, 2):
        return 2 if d == [1, 2] else 3
    if shape == (4, 4, 3):
        return {(1, 3): 6, (2, 2): 7, (2, 3): 8}[tuple(d)]
    return 9 if d == [2, 3] else 10


def edge_index(graph):
    return np.array(list(graph.edges())).T


@given(st.integers(4, 11), st.floats(0.2, 0.95), st.integers(0, 10**6))
@settings(max_examples=60, deadline=None)
def test_orbits_equal_brute_force(n, p, seed):
    graph = nx.gnp_random_graph(n, p, seed=seed)
    if not graph.number_of_edges():
        return
    edges, counts = edge_orbits(edge_index(graph), n)
    wanted_edges, wanted = brute_force_orbits(graph)
    np.testing.assert_array_equal(edges, wanted_edges)
    np.testing.assert_array_equal(counts, wanted)


def test_orbits_of_known_graphs():
    counts = edge_orbits(edge_index(nx.complete_graph(7)))[1]
    assert (counts[:, 11] == 10).all()  # C(5, 2)
    assert (counts[:, 1] == 5).all()
    assert counts[:, [0, 2, 3, 4, 5, 6, 7, 8, 9, 10]].sum() == 0
    petersen = edge_orbits(edge_index(nx.petersen_graph()))[1]
    assert (petersen[:, 0] == 4).all()
    assert petersen[:, [1, 5, 11]].sum() == 0
    star = edge_orbits(edge_index(nx.star_graph(5)))[1]
    assert (star[:, 4] == 6).all()  # C(4, 2)


def test_orbit_totals_of_a_larger_graph():
    graph = nx.powerlaw_cluster_graph(300, 5, 0.6, seed=3)
    counts = edge_orbits(edge_index(graph))[1]
    assert counts[:, 1].sum() == sum(nx.triangles(graph).values())
    cliques = sum(1 for c in nx.enumerate_all_cliques(graph) if len(c) == 4)
    assert counts[:, 11].sum() == 6 * cliques
    wedges = sum(d * (d - 1) // 2 for _, d in graph.degree())
    assert counts[:, 0].sum() == 2 * (wedges - counts[:, 1].sum())


def test_orbits_ignore_direction_duplicates_and_loops():
    base = edge_orbits(np.array([[0, 1, 2], [1, 2, 0]]), 3)
    noisy = edge_orbits(np.array([[1, 0, 1, 2, 0, 1], [0, 1, 2, 0, 0, 2]]), 3)
    np.testing.assert_array_equal(base[0], noisy[0])
    np.testing.assert_array_equal(base[1], noisy[1])


def definition63(values):
    """The sixty-three statistics written out one by one with scipy."""
    x = np.sort(np.asarray(values, dtype=float))
    n, mu, sd, var = len(x), x.mean(), x.std(), x.var()
    q1, q3 = x[n // 2 - n // 4], x[min(n // 2 + n // 4, n - 1)]
    shifted = (x - x.min() if x.min() < 0 else x) + 1e-7
    gini = sum((2 * i - n - 1) * v for i, v in enumerate(shifted, 1)) / (n * shifted.sum())
    iqr = q3 - q1
    entropy = ss.entropy(x)
    out = [mu, np.median(x), x.min(), x.max(), var, sd, entropy, entropy / np.log2(n), gini, sd / mu]
    out += [ss.median_abs_deviation(x), np.abs(x - mu).mean(), (q3 - q1) / (q3 + q1)]
    out += [mu**2 / var, var / mu**2, var / mu, ss.skew(x), ss.kurtosis(x), ss.kurtosis(x, fisher=False)]
    out += [ss.kurtosis(x, bias=False), ss.kurtosis(x, fisher=False, bias=False), ss.gmean(x), ss.hmean(x + 1e-10)]

    def outside(low, high):
        below, above = (x < low).sum(), (x > high).sum()
        return [below + above, below, above]

    for k in (1.5, 3):
        counts = outside(q1 - k * iqr, q3 + k * iqr)
        out += [c / n for c in counts] + counts
    out += [q1 - 3 * iqr, q3 + 3 * iqr, iqr, q1, q3, q1 - 1.5 * iqr, q3 + 1.5 * iqr]
    for k in (1, 2, 3):
        counts = outside(mu - k * sd, mu + k * sd)
        out += counts + [c / n for c in counts]
    mode = ss.mode(x)
    out += [mode.mode, mode.count, mode.count / n]
    return np.nan_to_num(np.array(out, dtype=float), nan=0.0, posinf=0.0, neginf=0.0)


@given(st.lists(st.integers(0, 30), min_size=5, max_size=80))
@settings(max_examples=80, deadline=None)
@pytest.mark.filterwarnings("ignore")
def test_statistics_equal_their_definitions(values):
    if len(set(values)) < 2:
        return
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(statistics63(values), definition63(values), rtol=1e-9, atol=1e-9)


def test_statistics_of_degenerate_input_are_finite():
    for values in ([], [0.0], [3.0], [0, 0, 0], [2, 2, 2, 2, 2]):
        assert statistics63(values).shape == (63,)
        assert np.isfinite(statistics63(values)).all()
    assert len(STATISTICS) == len(set(STATISTICS)) == 63


def networkx_regular(graph):
    simple = nx.Graph(graph)
    simple.remove_edges_from(list(nx.selfloop_edges(simple)))
    nodes = list(graph.nodes())
    n = len(nodes)
    matrix = nx.to_scipy_sparse_array(graph, nodelist=nodes, weight=None)
    degree = np.diff(sp.csr_array(matrix).indptr)
    rank = nx.pagerank(simple, alpha=0.7, tol=1e-15, max_iter=1000, weight=None)
    cores, triangles = nx.core_number(simple), nx.triangles(simple)
    distributions = [
        degree,
        [cores[v] for v in nodes],
        np.round(np.array([rank[v] for v in nodes]) * n, 11) / n,
        degree * (degree - 1) // 2,
        [triangles[v] for v in nodes],
    ]
    density = matrix.nnz / (n * (n - 1))
    head = [density, density, nx.degree_assortativity_coefficient(simple)]
    return np.concatenate([head, *(definition63(values) for values in distributions)])


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", range(4))
def test_regular_features_equal_networkx_and_scipy(seed):
    graph = [
        nx.karate_club_graph(),
        nx.powerlaw_cluster_graph(120, 3, 0.5, seed=1),
        nx.gnp_random_graph(80, 0.03, seed=2),  # with isolated nodes
        nx.watts_strogatz_graph(90, 4, 0.2, seed=3),
    ][seed]
    if seed == 1:
        graph.add_edges_from([(0, 0), (5, 5)])
    with np.errstate(all="ignore"):
        wanted = networkx_regular(graph)
    np.testing.assert_allclose(meta_features(graph, "regular"), wanted, rtol=1e-9, atol=1e-9)


def test_sizes_and_names_of_the_sets():
    sizes = {"regular": 318, "graphlets": 756, "compact": 58, "reg+graphlets": 1074}
    graph = nx.karate_club_graph()
    for name, size in sizes.items():
        names = feature_names(name)
        assert len(names) == len(set(names)) == size
        assert meta_features(graph, name).shape == (size,)
    assert len(feature_names("extended")) == meta_features(graph, "extended").size


def test_compact_features_of_karate_club():
    graph = nx.karate_club_graph()
    values = dict(zip(feature_names("compact"), meta_features(graph, "compact"), strict=True))
    assert values["nodes"] == 34
    assert values["edges"] == 78
    assert values["triangles"] == 45
    assert values["clustering"] == pytest.approx(nx.transitivity(graph))
    assert values["clique4"] == sum(1 for c in nx.enumerate_all_cliques(graph) if len(c) == 4)
    assert values["core_max"] == 4
    assert sum(v for k, v in values.items() if k.startswith("fraction_")) == pytest.approx(1)


def test_directed_input_keeps_its_density():
    directed = nx.gnp_random_graph(30, 0.1, seed=0, directed=True)
    values = meta_features(directed, "density")
    assert values[0] == pytest.approx(nx.density(directed))
    assert values[1] == pytest.approx(nx.density(nx.Graph(directed)))


def test_label_features_equal_pyg():
    torch = pytest.importorskip("torch")
    from torch_geometric.data import Data
    from torch_geometric.utils import homophily, to_undirected

    graph = nx.gnp_random_graph(60, 0.1, seed=4)
    index = to_undirected(torch.tensor(edge_index(graph)))
    y = torch.arange(60) % 3
    x = torch.nn.functional.one_hot(y, 5).float()
    data = Data(x=x, edge_index=index, y=y)
    got = dict(zip(feature_names("labels"), meta_features(data, "labels"), strict=True))
    assert got["classes"] == 3
    assert got["homophily_edge"] == pytest.approx(float(homophily(index, y, method="edge")))
    has_edges = torch.bincount(index[0], minlength=60) > 0
    node = float(homophily(index, y, method="node")) * 60 / int(has_edges.sum())
    assert got["homophily_node"] == pytest.approx(node, rel=1e-5)
    assert got["homophily_insensitive"] == pytest.approx(
        float(homophily(index, y, method="edge_insensitive")), abs=1e-6
    )
    assert got["feature_label_information_max"] == pytest.approx(ss.entropy([1 / 3, 2 / 3]), abs=1e-9)
    assert got["feature_label_separation"] == pytest.approx(1.0)
    bare = meta_features(graph, "labels")
    assert bare[0] == 0
    assert np.isnan(bare[1:]).all()


def test_adjusted_homophily_is_zero_for_random_and_one_for_pure_labels():
    graph = nx.disjoint_union(nx.complete_graph(6), nx.complete_graph(9))
    y = [0] * 6 + [1] * 9
    names = feature_names("labels")
    got = dict(zip(names, EXTRACTORS["labels"](as_graph(graph, labels=y)), strict=True))
    assert got["homophily_adjusted"] == pytest.approx(1)
    assert got["label_informativeness"] == pytest.approx(1)


def test_a_user_adds_an_extractor():
    @extractor("my_degree", names=("my_max",))
    def largest(graph):
        return [graph.simple_degree.max()]

    try:
        assert feature_names("compact+my_degree")[-1] == "my_max"
        assert meta_features(nx.star_graph(4), "compact+my_degree")[-1] == 4
    finally:
        EXTRACTORS.remove("my_degree")
    with pytest.raises(UnknownNameError, match="regular"):
        meta_features(nx.star_graph(4), "regulr")


def test_all_kinds_of_input_agree(tmp_path):
    torch = pytest.importorskip("torch")
    from torch_geometric.utils import from_networkx

    graph = nx.karate_club_graph()
    path = tmp_path / "karate.csv"
    path.write_text("source,target,weight\n" + "".join(f"{a},{b},1.0\n" for a, b in graph.edges()))
    plain = tmp_path / "karate.txt"
    plain.write_text("% comment\n" + "".join(f"{a} {b}\n" for a, b in graph.edges()))
    named = tmp_path / "named.csv"
    named.write_text("source;target\n" + "".join(f"n{a};n{b}\n" for a, b in graph.edges()))
    bare = nx.Graph(list(graph.edges()))
    wanted = meta_features(graph, "compact")
    data = from_networkx(bare)
    for source in (path, str(plain), named, data, nx.to_scipy_sparse_array(graph), data.edge_index):
        np.testing.assert_allclose(meta_features(source, "compact"), wanted)
    assert isinstance(data.edge_index, torch.Tensor)


def test_bad_objects_say_what_is_wrong(tmp_path):
    with pytest.raises(DataError, match="no edges"):
        as_graph(nx.empty_graph(3))
    with pytest.raises(DataError, match="negative node id -1"):
        as_graph(np.array([[0, -1], [1, 2]]))
    with pytest.raises(DataError, match="square"):
        as_graph(sp.csr_array(np.ones((2, 3))))
    with pytest.raises(DataError, match="Give an edge list"):
        as_graph(np.zeros(5))
    with pytest.raises(DataError, match="does not exist"):
        as_graph(tmp_path / "absent.csv")
    with pytest.raises(DataError, match="node id 9, out of range"):
        as_graph(np.array([[0, 9], [1, 2]]), 5)


@pytest.mark.parametrize(
    ("name", "theirs"),
    [("karate", "KarateClub"), ("cora", "ca-cora"), ("minesweeper", "HeterophilousGraph-Minesweeper")],
)
def test_published_regular_features_are_those_of_the_reference(shared_data, name, theirs):
    """All 318, the PageRank that networkx stops early included; 276 to 318 before."""
    with np.load(shared_data / "GLEMOS" / "metafeats.npz", allow_pickle=False) as held:
        wanted = held["m_regular"][held["graphs"].tolist().index(theirs)]
    if name == "karate":
        graph = as_graph(nx.karate_club_graph())
    elif name == "minesweeper":
        file = shared_data / "HeterophilousGraphDataset" / "minesweeper" / "raw" / "minesweeper.npz"
        with np.load(file, allow_pickle=False) as held:
            graph = as_graph(held["edges"], directed=False)
    else:
        from graphnetz._core.unpickle import loads

        listed = loads((shared_data / "Planetoid" / "Cora" / "raw" / "ind.cora.graph").read_bytes(), name="cora")
        graph = as_graph(np.array([(a, b) for a, ends in listed.items() for b in ends]), 2708, directed=False)
    got = meta_features(graph, "regular_published")
    np.testing.assert_allclose(got, wanted, rtol=1e-9, atol=1e-12)


def test_the_stopped_pagerank_is_that_of_networkx():
    graph = nx.gnm_random_graph(300, 500, seed=3)
    wanted = list(nx.pagerank(graph, alpha=0.7).values())
    one = as_graph(graph)
    np.testing.assert_allclose(pagerank_stopped(one.indptr, one.indices, damping=0.7), wanted, rtol=1e-13)
