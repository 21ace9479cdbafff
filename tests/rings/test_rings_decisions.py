"""Decisions about structure and features: the faults they were made against, their rules, and how often they err."""

import importlib.util
import json
import math
import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from graphnetz._core.errors import UsageError
from graphnetz.records import CellResult
from graphnetz.rings import Assessment, RingsWarning, Rule, SeparabilityStudy, decide_modes, separability, taxonomy
from graphnetz.rings.complementarity import ComplementarityProfile
from graphnetz.rings.decisions import block_means, one_sided
from graphnetz.rings.judge import judge
from graphnetz.rings.relation import order_groups
from graphnetz.rings.rules import combine

MODES = ("o", "eg", "cg", "rg", "cf", "rf")


def quiet(*args, **kwargs):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RingsWarning)
        return separability(*args, **kwargs)


def evaluation(scores, *, gamma=0.5, validation=None, **options):
    """Judge runs of one model per mode on a dataset of high structural diversity."""
    cells = [
        CellResult(f"{mode}{run}", f"toy@{mode}", "GIN", run, metrics={"test_acc": value, "val_acc": value})
        for mode, values in scores.items()
        for run, value in enumerate(values)
    ]
    values = {code: np.full((5, 1), gamma) for code in ("o", "ef", "eg")}
    profile = ComplementarityProfile(values=values, t=(1.0,), name="toy")
    return judge("toy", cells, complementarity=profile, metrics=("acc",), modes=tuple(scores), **options)


def two_humps(n, low):
    """``low`` of n scores near 0.60, the others near 0.95."""
    return np.r_[np.linspace(0.60, 0.61, low), np.linspace(0.95, 0.96, n - low)]


def test_a_relation_never_orders_two_modes_against_their_own_test():
    """Groups ordered by their means printed ``cf/o > eg`` where eg is separably above o, and called it informative."""
    runs = {"o": two_humps(16, 10), "eg": 0.75 + np.linspace(0, 0.01, 16), "cf": two_humps(16, 6) + 1e-5}
    result = quiet(runs)
    pair = result.pairwise.set_index(["a", "b"]).loc[("o", "eg")]
    assert pair.separable
    assert pair.p_adj <= 0.0096  # as in the run that showed the fault, at a level of 0.01
    assert pair.mean_diff < 0
    assert result.relation != "cf/o > eg"
    assert evaluation(runs).assessment.structure != "informative"


def test_chains_of_groups_do_not_override_a_direct_comparison():
    """o is separable from cf and rf, and a chain over eg and cg made the features uninformative."""
    rng = np.random.default_rng(0)
    levels = {"o": 0.90, "eg": 0.88, "cg": 0.86, "rg": 0.84, "cf": 0.82, "rf": 0.80}
    runs = {mode: level + rng.normal(size=20) * 0.022 for mode, level in levels.items()}
    result = quiet(runs)
    table = result.pairwise.set_index(["a", "b"])
    assert table.loc[("o", "cf")].separable
    assert table.loc[("o", "rf")].separable
    assert result.relation == "cf/cg/eg/o/rf/rg"  # the chain
    assert evaluation(runs).assessment.features == "informative"


def test_two_runs_decide_nothing():
    runs = {
        "o": [0.9, 0.91],
        "eg": [0.9, 0.88],
        "cg": [0.85, 0.9],
        "rg": [0.91, 0.9],
        "cf": [0.9, 0.9],
        "rf": [0.5, 0.6],
    }
    found = evaluation(runs)
    assert found.verdict == "undecided"
    assert (found.assessment.structure, found.assessment.features) == ("undecided", "undecided")
    assert found.needed > 2
    assert math.isnan(found.assessment.score)
    assert "would decide" in found.standing


def test_other_spread_is_not_better():
    """``rg > o`` for equal means: KS sees spread as well as place."""
    rng = np.random.default_rng(1)
    wide = rng.normal(size=60)
    runs = {"o": 0.8 + 0.005 * (wide - wide.mean()), "rg": 0.8001 + 0.1 * (wide[::-1] - wide.mean())}
    result = quiet(runs)
    pair = result.comparisons[0]
    assert result.separable == (True,)
    assert pair.differs == "spread"
    assert pair.above == ""
    assert result.relation == "o/rg"
    shifted = quiet({"o": runs["o"], "rg": runs["o"] + 0.05})
    assert shifted.comparisons[0].differs == "place"
    assert shifted.relation == "rg > o"


def test_clustered_runs_are_exchanged_by_whole_blocks_by_default():
    """Runs that share fold and mode rejected a true null in half of all cases; five per cent was asked for."""
    folds = np.repeat(np.arange(10), 10)

    def draw(seed):
        rng = np.random.default_rng([seed, 8])
        return {mode: np.repeat(rng.normal(size=10), 10) + rng.normal(size=100) * 0.5 for mode in "ab"}

    rates = {}
    for exchange in ("runs", None):
        for statistic in ("ks", "signedrank"):
            p = [
                quiet(draw(s), permutations=199, blocks=folds, exchange=exchange, statistic=statistic, seed=s)
                .comparisons[0]
                .p
                for s in range(150)
            ]
            rates[exchange, statistic] = np.mean(np.array(p) <= 0.05)
    assert rates["runs", "ks"] > 0.3
    assert rates["runs", "signedrank"] > 0.3
    assert rates[None, "ks"] <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / 150)
    assert rates[None, "signedrank"] <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / 150)


@given(st.lists(st.sampled_from([(a, b) for a in MODES for b in MODES if a != b]), max_size=15, unique_by=frozenset))
@settings(max_examples=200, deadline=None)
def test_any_set_of_tests_gives_an_order_that_agrees_with_each(above):
    groups = order_groups(MODES, above)
    assert sorted(mode for group in groups for mode in group) == sorted(MODES)
    place = {mode: rank for rank, group in enumerate(groups) for mode in group}
    for a, b in ((a, b) for a in MODES for b in MODES if place[a] < place[b]):
        assert (a, b) in above


@pytest.mark.parametrize("statistic", ["ks", "ranksum", "signedrank", "bootstrap"])
def test_relations_of_random_runs_agree_with_their_tests(statistic):
    for seed in range(25):
        rng = np.random.default_rng([seed, 3])
        runs = {m: rng.normal(rng.choice([0.0, 0.5, 1.0]), rng.choice([0.1, 0.5, 1.0]), size=15) for m in MODES}
        result = quiet(runs, statistic=statistic, permutations=1_500, alpha=0.1)
        place = {mode: rank for rank, group in enumerate(result.groups) for mode in group}
        for pair, apart in zip(result.comparisons, result.separable, strict=True):
            if place[pair.a] != place[pair.b]:
                first = pair.a if place[pair.a] < place[pair.b] else pair.b
                assert apart
                assert pair.above == first


def test_one_sided_p_is_that_of_scipy():
    rng = np.random.default_rng(0)
    values = rng.normal(0.3, 1, size=12)
    assert one_sided(values, 0.0) == pytest.approx(stats.ttest_1samp(values, 0, alternative="greater").pvalue)
    assert one_sided(-values, -1.0) == pytest.approx(stats.ttest_1samp(values, 1.0, alternative="less").pvalue)
    assert one_sided(np.full(5, 0.1), 0.0) == 0.5**5
    assert one_sided(np.full(5, -0.1), 0.0) == 1.0
    assert one_sided(np.array([0.100, 0.101, 0.100]), 0.0) == 0.5**3  # three signs, however small their spread
    assert math.isnan(one_sided(np.array([1.0]), 0.0))


def test_blocks_are_averaged():
    values, labels = np.array([1.0, 3.0, 5.0, np.nan]), np.array([1, 1, 0, 2])
    assert block_means(values, labels).tolist() == [5.0, 2.0]
    assert block_means(np.array([1.0, 2.0]), np.array([1, 0])).tolist() == [2.0, 1.0]


def shifted(gaps, n=30, spread=0.02, seed=0):
    rng = np.random.default_rng(seed)
    runs = {"o": 0.8 + rng.normal(size=n) * spread}
    for mode, gap in gaps.items():
        noise = rng.normal(size=n) * spread
        runs[mode] = runs["o"] - gap - (noise - noise.mean())
    return runs


def outcomes(runs, metric="acc", **options):
    return {part: found.outcome for part, found in decide_modes(runs, metric, rule=Rule(**options)).items()}


def test_rules_of_the_specification():
    clear = {"eg": 0.1, "cg": 0.1, "rg": 0.1, "cf": 0.1, "rf": 0.1}
    assert outcomes(shifted(clear)) == {"structure": "informative", "features": "informative"}
    equal = outcomes(shifted(clear | {"cg": 0.0}))  # equivalent to one of three
    assert equal == {"structure": "uninformative", "features": "informative"}
    worse = outcomes(shifted(clear | {"rf": -0.1}))  # worse than one of two
    assert worse == {"structure": "informative", "features": "uninformative"}
    between = outcomes(shifted(clear | {"eg": 0.012}, spread=0.06))  # neither shown
    assert between["structure"] == "undecided"
    small = outcomes(shifted(clear | {"eg": 0.012}, spread=0.002))  # better, and by less than the margin
    assert small["structure"] == "uninformative"
    assert outcomes(shifted(clear | {"eg": 0.012}, spread=0.002), margin=0.005)["structure"] == "informative"
    assert outcomes(shifted({"cf": 0.1})) == {"structure": "undecided", "features": "informative"}


def test_errors_count_downwards_and_need_a_margin():
    runs = {mode: 1 - values for mode, values in shifted({"eg": 0.1, "rf": 0.0}).items()}
    assert Rule().margin_of("mae") == 0
    assert outcomes(runs, "mae") == {"structure": "informative", "features": "undecided"}
    assert outcomes(runs, "mae", margin=0.02)["features"] == "uninformative"


def test_without_a_margin_the_original_is_called_worse():
    """It was printed as "less than 0 better"."""
    runs = {"o": [0.51, 0.52, 0.5] * 4, "eg": [0.3, 0.33, 0.31] * 4}
    assert "the original is worse than eg (-0." in decide_modes(runs, "mae", rule=Rule())["structure"].sentence
    backwards = {"o": runs["eg"], "eg": runs["o"]}
    assert "the original is not even 0.02 better than eg (-0." in decide_modes(backwards, "acc")["structure"].sentence


def test_runs_of_one_split_are_one_unit():
    runs = shifted({"eg": 0.02}, n=40)
    alone = decide_modes(runs, "acc", rule=Rule(margin=0.0))["structure"]
    shared = decide_modes(runs, "acc", rule=Rule(margin=0.0, splits=5))["structure"]
    named = decide_modes(runs, "acc", rule=Rule(margin=0.0), blocks=[i % 5 for i in range(40)])["structure"]
    assert alone.against[0].units == 40
    assert shared.against == named.against
    assert shared.against[0].units == 5
    assert alone.outcome == "informative"
    assert shared.outcome == "undecided"  # five signs are no proof at half of alpha
    assert "folds or splits" in shared.sentence


def test_one_split_decides_nothing():
    """Forty starts on the one published split were forty witnesses; five folds were too few."""
    runs = shifted({"eg": 0.3, "cg": 0.3, "rg": 0.3, "rf": 0.3}, n=40)
    found = evaluation(runs, rule=Rule(splits=1))
    assert (found.assessment.structure, found.assessment.features) == ("undecided", "undecided")
    assert found.verdict == "undecided"
    decision = found.decisions["acc"]["structure"]
    assert decision.against[0].units == 1
    assert decision.needed is None
    assert "40 runs share one split, which decides nothing about eg (+0.3" in decision.sentence
    assert found.relations["acc"].count(">") == 0  # nor does the description order anything by one unit
    assert "no number of runs is known" in found.standing
    assert (found.facts["splits"], found.facts["looks"]) == (1, [])


def test_one_block_has_no_bootstrap_interval():
    runs = shifted({"eg": 0.3}, n=25)
    one = quiet(runs, statistic="bootstrap", blocks=[0] * 25)
    assert one.separable == (False,)
    assert one.comparisons[0].low == -math.inf
    assert "1 blocks of runs are too narrow" in one.notes[-1]
    assert quiet(runs, statistic="bootstrap", blocks=list(range(25))).separable == (True,)


def test_failed_runs_are_left_out_in_pairs():
    runs = shifted({"eg": 0.1}, n=12)
    runs["o"][3] = math.nan
    runs["eg"][4] = math.nan
    found = decide_modes(runs, "acc")["structure"].against[0]
    assert found.units == 10
    with pytest.raises(UsageError, match="same runs"):
        decide_modes({"o": [0.1, 0.2], "eg": [0.1]}, "acc")
    with pytest.raises(UsageError, match="original 'o'"):
        decide_modes({"eg": [0.1]}, "acc")


def test_rules_refuse_nonsense():
    with pytest.raises(UsageError, match="alpha"):
        Rule(alpha=1.5)
    with pytest.raises(UsageError, match="margin"):
        Rule(margin=-0.1)
    with pytest.raises(UsageError, match="looks"):
        Rule(looks=(10, 5))


def test_what_was_shown_at_a_look_stays():
    runs = shifted({"eg": 0.1, "cg": 0.1, "rg": 0.1}, n=40)
    for values in runs.values():
        values[20:] = 0.5  # later runs show nothing more
    assert outcomes(runs, looks=(10, 20, 40))["structure"] == "informative"
    first = {mode: values[:10] for mode, values in runs.items()}
    assert outcomes(first, looks=(10, 20, 40))["structure"] == "informative"
    early = {mode: values[:9] for mode, values in runs.items()}
    assert outcomes(early, looks=(10, 20, 40))["structure"] == "undecided"  # nobody has looked yet


def test_metrics_are_joined():
    assert combine(["informative", "informative"]) == ("informative", ("informative",))
    assert combine(["informative", "uninformative"])[0] == "(un)informative"
    assert combine(["uninformative", "undecided"]) == ("undecided", ("(un)informative", "uninformative"))
    half = Assessment("undecided", "informative", {"structure": ("informative", "(un)informative")})
    assert half.scores == (3.5, 5.0)
    assert half.symbol == "?"
    assert half.high is True  # whatever the open one becomes


def test_a_verdict_is_given_where_nothing_open_can_change_it():
    open_ = Assessment("undecided", "undecided")
    assert taxonomy(open_.high, "++") == (
        "undecided",
        "high structural diversity, but the runs do not decide performance separability",
    )
    assert taxonomy(open_.high, "-")[0] == "deprecate"
    assert taxonomy(Assessment("informative", "undecided").high, "o")[0] == "keep"
    assert taxonomy(Assessment("uninformative", "undecided").high, "o")[0] == "realign"
    assert taxonomy("?", "+")[0] == "undecided"
    assert taxonomy("+", "?")[0] == "undecided"


def test_models_are_chosen_on_validation_never_on_test():
    study = SeparabilityStudy(modes=("o", "eg"))
    rng = np.random.default_rng(0)
    for run in range(12):
        for mode in study.modes:
            for model, test, validation in (("lucky", 0.9, 0.5), ("sound", 0.7, 0.8)):
                value = test + rng.normal() * 0.01
                study.record(mode, value, metric="acc", run=run, model=model, validation=validation)
    assert study.best_models("acc") == {"o": "sound", "eg": "sound"}
    blind = SeparabilityStudy(modes=("o", "eg"))
    blind.record("o", 0.9, metric="acc", run=0, model="a")
    blind.record("o", 0.8, metric="acc", run=0, model="b")
    with pytest.raises(UsageError, match="validation"):
        blind.best_models("acc")


def test_a_study_knows_blocks():
    study = SeparabilityStudy(modes=("o", "eg"))
    rng = np.random.default_rng(0)
    for fold in range(6):
        for seed in range(4):
            for mode, level in (("o", 0.9), ("eg", 0.7)):
                run = f"{fold}/{seed}"
                study.record(mode, level + rng.normal() * 0.01, metric="acc", run=run, block=fold)
    found = study.decide("acc")["structure"]
    assert found.against[0].units == 6
    assert found.outcome == "informative"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RingsWarning)
        assert study.evaluate("acc").comparisons[0].p == pytest.approx(2 / 2**6, abs=0.01)
    with pytest.raises(UsageError, match="in block"):
        study.record("o", 0.9, metric="auc", run="0/0", block=5)


BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"


@pytest.fixture(scope="module")
def simulation():
    spec = importlib.util.spec_from_file_location("rings_decisions", BENCHMARKS / "rings_decisions.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("clustered", [False, True])
@pytest.mark.parametrize("n", [3, 10, 40])
def test_false_claims_stay_below_alpha(simulation, n, clustered):
    """The short form of ``benchmarks/rings_decisions.py``: the easiest ways to each false claim."""
    for kind in simulation.KINDS:
        options = {"kind": kind, "clustered": clustered}
        informative = simulation.outcomes(150, n, simulation.ONE_EQUAL, **options)["informative"]
        uninformative = simulation.outcomes(150, n, simulation.AT_MARGIN, **options)["uninformative"]
        assert max(informative, uninformative) <= simulation.bound(150), (kind, informative, uninformative)


def test_more_runs_leave_less_undecided(simulation):
    shares = [
        simulation.outcomes(60, n, simulation.CLEAR, kind="normal", clustered=False)["undecided"] for n in (3, 10, 40)
    ]
    assert shares[0] == 1
    assert shares[0] >= shares[1] >= shares[2]
    assert shares[2] == 0


def test_rounds_keep_alpha_and_save_runs(simulation):
    assert simulation.in_rounds(100, simulation.ONE_EQUAL, kind="normal")["informative"] <= simulation.bound(100)
    assert simulation.in_rounds(100, simulation.AT_MARGIN, kind="normal")["uninformative"] <= simulation.bound(100)
    clear = simulation.in_rounds(30, simulation.CLEAR, kind="normal")
    assert clear["informative"] == 1
    assert clear["runs"] < 30


def test_the_stated_number_of_runs_decides(simulation):
    found = simulation.after_adding(60, 10, simulation.EQUAL, kind="normal")
    assert found["undecided"] > 5
    assert found["decided"] > 0.6


def test_the_long_form_is_kept_and_held(simulation):
    kept = json.loads(simulation.RESULT.read_text(encoding="utf-8"))
    assert kept["replicates"] >= 1000
    assert {row["runs"] for row in kept["false"]} == set(simulation.RUNS)
    assert simulation.missed(kept) == []
    assert simulation.tables(kept) in simulation.PAGE.read_text(encoding="utf-8")


def test_kept_evaluations_follow_from_their_scores():
    """What is stored under ``benchmarks/results/rings`` is what the rules make of the stored scores."""
    files = sorted((BENCHMARKS / "results" / "rings").glob("*.json"))
    assert files
    for path in files:
        kept = json.loads(path.read_text(encoding="utf-8"))
        facts = kept["facts"]
        for metric, best in facts["best"].items():
            tests = kept["scores"][metric]["test"]
            runs = {mode: [math.nan if v is None else v for v in tests[mode][model]] for mode, model in best.items()}
            rule = Rule(splits=facts.get("splits", 0), looks=tuple(facts.get("looks", ())))
            found = decide_modes(runs, metric, rule=rule)
            stored = {item["part"]: item["outcome"] for item in facts["decisions"] if item["metric"] == metric}
            assert {part: item.outcome for part, item in found.items()} == stored
