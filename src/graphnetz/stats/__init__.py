"""Statistics: arrays in, frozen records out."""

from graphnetz.stats.bayes import BayesResult, bayes_signed_rank
from graphnetz.stats.boundaries import SPENDING, nominal_levels
from graphnetz.stats.corrections import CORRECTIONS, adjust
from graphnetz.stats.equivalence import TostResult, tost
from graphnetz.stats.futility import look_schedule, predictive_power
from graphnetz.stats.hierarchical import HierarchicalResult, hierarchical
from graphnetz.stats.intervals import (
    INTERVALS,
    Interval,
    binomial_error,
    cluster_interval,
    corrected_interval,
    interval,
)
from graphnetz.stats.paired import PAIRED_TESTS, PairedTest, TestOutcome, paired_test
from graphnetz.stats.power import (
    PowerResult,
    minimum_detectable_effect,
    power,
    power_analysis,
    sd_interval,
    seeds_needed,
)
from graphnetz.stats.published import PublishedComparison, welch_interval
from graphnetz.stats.ranks import (
    FriedmanResult,
    NemenyiResult,
    RankStability,
    WilcoxonHolmResult,
    friedman,
    friedman_chi2,
    nemenyi,
    rank_rows,
    rank_stability,
    wilcoxon_holm,
)
from graphnetz.stats.sequential import SequentialComparison, SequentialResult, decide, repeated_interval

__all__ = [
    "CORRECTIONS",
    "INTERVALS",
    "PAIRED_TESTS",
    "SPENDING",
    "BayesResult",
    "FriedmanResult",
    "HierarchicalResult",
    "Interval",
    "NemenyiResult",
    "PairedTest",
    "PowerResult",
    "PublishedComparison",
    "RankStability",
    "SequentialComparison",
    "SequentialResult",
    "TestOutcome",
    "TostResult",
    "WilcoxonHolmResult",
    "adjust",
    "bayes_signed_rank",
    "binomial_error",
    "cluster_interval",
    "corrected_interval",
    "decide",
    "friedman",
    "friedman_chi2",
    "hierarchical",
    "interval",
    "look_schedule",
    "minimum_detectable_effect",
    "nemenyi",
    "nominal_levels",
    "paired_test",
    "power",
    "power_analysis",
    "predictive_power",
    "rank_rows",
    "rank_stability",
    "repeated_interval",
    "sd_interval",
    "seeds_needed",
    "tost",
    "welch_interval",
    "wilcoxon_holm",
]
