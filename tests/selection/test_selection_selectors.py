"""Every selector keeps the same contract; scores equal their definitions; real data where present."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import ndcg_score, roc_auc_score

from graphnetz._core.errors import UsageError
from graphnetz.papers.glemos import glemos_testbeds, read_glemos, read_metagl
from graphnetz.selection.scoring import METRICS, selection_scores
from graphnetz.selection.selectors import SELECTORS
from graphnetz.selection.selectors.metaod import _gradient
from graphnetz.selection.testbeds import (
    Testbed,
    cross_task,
    evaluate,
    fully_observed,
    mask_rows,
    out_of_domain,
    small_to_large,
    sparse,
)
from graphnetz.testing import check_selector

DATA = Path(__file__).resolve().parents[2].parent / "shared" / "data"
NAMES = ("random", "gb_perf", "gb_rank", "isac", "as", "s2", "alors", "ncf", "metaod", "metagl", "kernel")


def world(n=40, m=9, f=6, seed=0):
    """Graphs whose best model depends on the first meta-feature."""
    rng = np.random.default_rng(seed)
    M = rng.random((n, f)) * 10
    ideal = np.linspace(0, 10, m)
    P = 0.9 - 0.05 * np.abs(M[:, :1] - ideal) + 0.01 * rng.standard_normal((n, m))
    return P, M, np.repeat(np.arange(4), n // 4)


SHORT = {"s2": {"epochs": 20}, "ncf": {"epochs": 10}, "metaod": {"epochs": 5}, "metagl": {"epochs": 6}}


def test_the_documented_names_are_registered():
    assert set(NAMES) <= set(SELECTORS)


@pytest.mark.parametrize("name", list(SELECTORS))
def test_contract_of_every_selector(name):
    check_selector(name, **SHORT.get(name, {}))


@pytest.mark.parametrize("name", ["as", "kernel", "alors"])
@pytest.mark.filterwarnings("ignore")
def test_selectors_with_meta_features_beat_the_global_best(name):
    P, M, domains = world(n=80)
    bed = fully_observed(P, M, domains)
    assert evaluate(name, bed).mean["auc"] > evaluate("gb_perf", bed).mean["auc"] + 0.1


def test_seeds_change_the_random_selector():
    P, M, _ = world()
    a, b = (SELECTORS["random"](seed=s).fit(P, M).predict(M[:3]) for s in (0, 1))
    assert (a != b).all()


def test_metaod_gradient_equals_finite_differences():
    rng = np.random.default_rng(0)
    scores, gain = rng.standard_normal((2, 6)), rng.random((2, 6)) * 5
    seen = rng.random((2, 6)) < 0.8

    def loss(s):
        total = 0.0
        for r in range(2):
            for i in np.flatnonzero(seen[r]):
                others = [j for j in np.flatnonzero(seen[r]) if j != i]
                phi = 1.5 + (1 / (1 + np.exp(s[r, i] - s[r, others]))).sum()
                total -= gain[r, i] / np.log(phi)
        return total

    slope = np.zeros_like(scores)
    _gradient(scores, np.where(seen, gain, 0.0), seen, slope)
    for r, i in np.ndindex(2, 6):
        step = np.zeros_like(scores)
        step[r, i] = 1e-6
        assert slope[r, i] == pytest.approx((loss(scores + step) - loss(scores - step)) / 2e-6, abs=1e-5)


def test_kernel_left_out_predictions_equal_refitting():
    from graphnetz.selection.selectors.kernel import _distances

    P, M, _ = world(n=30)
    selector = SELECTORS["kernel"](trees=0).fit(P, M)
    key, width, ridge = "unit", 0.7, 0.1
    fast = selector._left_out(key, width, ridge)
    kernel = np.exp(-_distances(selector._meta, selector._meta) / (width * selector._unit))
    centred = selector._targets[key] - selector._means[key]
    for i in range(30):
        rest = np.arange(30) != i
        weights = np.linalg.solve(kernel[np.ix_(rest, rest)] + ridge * np.eye(29), centred[rest])
        np.testing.assert_allclose(fast[i], selector._means[key] + kernel[i, rest] @ weights, atol=1e-8)


@given(st.integers(2, 12), st.integers(0, 10**6))
@settings(max_examples=60, deadline=None)
def test_scores_equal_their_definitions(m, seed):
    rng = np.random.default_rng(seed)
    truth, guess = rng.permutation(m)[None] / m + 0.1, rng.integers(0, 4, (1, m)).astype(float)
    got = selection_scores(truth, guess)
    positive = truth[0] == truth.max()
    assert got.auc[0] == pytest.approx(roc_auc_score(positive, guess[0]))
    assert got.ndcg1[0] == pytest.approx(ndcg_score(truth, guess, k=1))
    rank = (guess[0] >= guess[0][positive]).sum()
    assert got.mrr[0] == pytest.approx(1 / rank)
    assert got.hit5[0] == (rank <= 5)
    assert got.regret[0] == pytest.approx(truth.max() * (1 - got.ndcg1[0]))


def test_scores_count_observed_entries_only():
    got = selection_scores([[0.5, np.nan, 0.4]], [[1.0, 9.0, 0.0]])
    assert (got.auc[0], got.mrr[0], got.ndcg1[0]) == (1, 1, 1)
    with pytest.raises(UsageError, match="score every model"):
        selection_scores([[0.5, 0.4]], [[1.0, np.nan]])
    assert np.isnan(selection_scores([[0.5, np.nan]], [[1.0, 0.0]]).auc[0])


def test_testbeds_hide_what_they_should():
    P, M, domains = world()
    levels = [mask_rows(P, level, seed=1) for level in (0.1, 0.5, 0.9)]
    hidden = [np.isnan(item) for item in levels]
    assert (hidden[0] <= hidden[1]).all()
    assert (hidden[1] <= hidden[2]).all()
    assert [h.sum(axis=1).tolist() for h in hidden] == [[1] * 40, [4] * 40, [8] * 40]
    bed = sparse(P, M, domains, level=0.5)
    assert np.isfinite(bed.truth).all()
    for fold in out_of_domain(P, M, domains, folds=4).folds:
        assert not set(domains[fold.train]) & set(domains[fold.test])
    assert len(out_of_domain(P, M, domains, folds=None).folds) == 4
    nodes = np.linspace(10, 20_000, 40)
    fold = small_to_large(P, M, nodes).folds[0]
    assert nodes[fold.train].max() < 10_000 <= nodes[fold.test].min()
    with pytest.raises(UsageError, match="both sides"):
        small_to_large(P, M, nodes, threshold=10)
    names = [f"m{i}" for i in range(9)]
    crossed = cross_task((P, M, names), (P[:10, ::-1], M[:10], names[::-1]))
    np.testing.assert_array_equal(crossed.truth, P[:10])


def test_selectors_never_see_the_test_rows():
    P, M, domains = world()
    bed = fully_observed(P, M, domains)
    poisoned = P.copy()
    poisoned[bed.folds[0].test] = np.random.default_rng(0).random((len(bed.folds[0].test), 9))
    other = Testbed("poisoned", poisoned, M, bed.truth, bed.folds[:1])
    clean = Testbed("clean", P, M, bed.truth, bed.folds[:1])
    np.testing.assert_array_equal(evaluate("kernel", clean).scores.auc, evaluate("kernel", other).scores.auc)


def test_results_carry_standard_errors_and_seconds():
    result = evaluate("as", fully_observed(*world()))
    auc = result.scores.auc
    assert len(auc) == 40
    assert result.standard_error["auc"] == pytest.approx(auc.std(ddof=1) / np.sqrt(40))
    assert set(METRICS) <= set(result.row())
    assert len(result.train_seconds) == 5


def test_importing_selection_does_not_import_torch():
    code = "import sys, graphnetz.selection as s; s.SELECTORS['kernel']; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.data
@pytest.mark.skipif(not (DATA / "MetaGL").is_dir(), reason="MetaGL data not present")
def test_metagl_file_and_reference_figures():
    data = read_metagl(DATA / "MetaGL" / "MetaGL_data.npz")
    assert data.P.shape == (301, 423)
    assert data.M.shape == (301, 318)
    assert len(set(data.models)) == 423
    bed = fully_observed(data.P, data.M, data.domains)
    # Figures of the reference code on the same splits (Park et al., 2023, rerun).
    for name, auc, mrr in (
        ("gb_perf", 0.877, 0.165),
        ("gb_rank", 0.866, 0.106),
        ("isac", 0.890, 0.195),
        ("as", 0.905, 0.221),
    ):
        got = evaluate(name, bed).mean
        assert got["auc"] == pytest.approx(auc, abs=0.006)
        assert got["mrr"] == pytest.approx(mrr, abs=0.025)
    assert abs(evaluate("random", bed).mean["auc"] - 0.5) < 0.05


REFERENCE = {"alors": 0.897, "s2": 0.842, "ncf": 0.877, "metagl": 0.942}
"""AUC of the reference code on the same splits, weights fresh per fold (Park et al., 2023, rerun)."""


@pytest.mark.data
@pytest.mark.golden
@pytest.mark.filterwarnings("ignore")
@pytest.mark.skipif(not (DATA / "MetaGL").is_dir(), reason="MetaGL data not present")
@pytest.mark.parametrize("name", [*REFERENCE, "metaod"])
def test_learned_selectors_reach_the_reference_figures(name):
    data = read_metagl(DATA / "MetaGL" / "MetaGL_data.npz")
    result = evaluate(name, fully_observed(data.P, data.M, data.domains))
    wanted = REFERENCE[name] - 0.02 if name in REFERENCE else 0.5
    assert round(result.mean["auc"], 3) >= round(wanted, 3)  # to the digits of the figures; metagl is at the edge
    assert max(result.train_seconds) < 36  # what the quickest of them, NCF, takes the reference code for a fold


@pytest.mark.data
@pytest.mark.golden
@pytest.mark.skipif(not (DATA / "MetaGL").is_dir(), reason="MetaGL data not present")
def test_our_selector_beats_metagl_on_its_own_data():
    data = read_metagl(DATA / "MetaGL" / "MetaGL_data.npz")
    ours = evaluate("kernel", fully_observed(data.P, data.M, data.domains))
    assert ours.mean["auc"] >= 0.942
    assert ours.mean["ndcg1"] >= 0.966


@pytest.mark.data
@pytest.mark.skipif(not (DATA / "GLEMOS").is_dir(), reason="GLEMOS data not present")
@pytest.mark.parametrize(("task", "shape", "domains"), [("link-pred", (457, 306), 37), ("node-class", (128, 327), 25)])
def test_glemos_testbeds_run(task, shape, domains):
    tar = DATA / "GLEMOS" / "testbeds.tar.xz"
    data = read_glemos(tar, DATA / "GLEMOS" / "metafeats.npz", task=task)
    assert data.P.shape == shape
    assert len(set(data.models)) == shape[1]
    assert len(np.unique(data.domains)) == domains
    beds = glemos_testbeds(data, tar, task=task)
    assert len(beds) == 9
    assert sum(name.startswith("sparse") for name in beds) == 5
    for bed in beds.values():
        assert bed.note == "not comparable: 10 % masked"
        assert evaluate("gb_perf", bed).mean["auc"] > 0.5


@pytest.mark.data
@pytest.mark.skipif(not (DATA / "GLEMOS").is_dir(), reason="GLEMOS data not present")
def test_published_regular_features_of_karate_club():
    import networkx as nx

    from graphnetz.selection.metafeatures import feature_names, meta_features

    with np.load(DATA / "GLEMOS" / "metafeats.npz") as stored:
        wanted = stored["m_regular"][list(stored["graphs"]).index("KarateClub")]
    got = meta_features(nx.karate_club_graph(), "regular_published")
    loose = np.array([name.startswith("pagerank") for name in feature_names("regular")])
    np.testing.assert_allclose(got[~loose], wanted[~loose], rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(got[loose], wanted[loose], rtol=1e-3, atol=1e-5)  # theirs stops early


def test_fast_transformer_layer_equals_hgtconv():
    """Outputs and gradients of PyTorch Geometric's layer, with several relations and unequal sizes."""
    torch = pytest.importorskip("torch")
    from torch_geometric.nn import HGTConv

    from graphnetz.selection.selectors.transformer import HeteroLayer

    torch.manual_seed(0)
    relations = [("a", "x", "a"), ("b", "y", "a"), ("a", "z", "b"), ("b", "w", "a")]
    metadata = (["a", "b"], relations)
    ours, theirs = HeteroLayer(8, 8, metadata, heads=2), HGTConv(8, 8, metadata, heads=2)
    with torch.no_grad():
        for value in theirs.p_rel.values():
            value.copy_(torch.rand_like(value) + 0.5)
    ours.load_state_dict(theirs.state_dict())
    sizes = {"a": 7, "b": 12}
    edges = {r: torch.stack([torch.randint(sizes[r[0]], (25,)), torch.randint(sizes[r[2]], (25,))]) for r in relations}
    x = {kind: torch.randn(size, 8) for kind, size in sizes.items()}
    for _ in range(2):  # the second pass uses the sorted arcs
        got, wanted = ours(x, edges), theirs(x, edges)
        for kind in sizes:
            torch.testing.assert_close(got[kind], wanted[kind], rtol=1e-4, atol=1e-5)
    for out, layer in ((got, ours), (wanted, theirs)):
        sum((value * value).sum() for value in out.values()).backward()
        assert layer.p_rel["a__x__a"].grad is not None
    other = dict(theirs.named_parameters())
    for name, parameter in ours.named_parameters():
        torch.testing.assert_close(parameter.grad, other[name].grad, rtol=1e-3, atol=1e-4)
