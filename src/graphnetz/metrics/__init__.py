"""Metrics: declared once with their direction, computed over a whole split in plain NumPy.

History keys carry the split in front: ``test_acc``, ``val_auc``; `lookup` finds the declaration.
"""

from graphnetz.metrics.classes import accuracy, balanced_accuracy, binary_f1, macro_f1, micro_f1
from graphnetz.metrics.declared import METRICS, SPLITS, Array, Metric, bounds_of, label_of, lookup, metric
from graphnetz.metrics.ranking import average_precision, positive_score, rank_ap, rank_auc, roc_auc
from graphnetz.metrics.ranks import hits_at, mean_of_inverse, mean_reciprocal_rank, ranked_within, ranks_among
from graphnetz.metrics.regression import (
    log_mean_square_error,
    loss,
    mean_absolute_error,
    mean_square_error,
    r_squared,
    root_mean_square_error,
)

__all__ = [
    "METRICS",
    "SPLITS",
    "Array",
    "Metric",
    "accuracy",
    "average_precision",
    "balanced_accuracy",
    "binary_f1",
    "bounds_of",
    "hits_at",
    "label_of",
    "log_mean_square_error",
    "lookup",
    "loss",
    "macro_f1",
    "mean_absolute_error",
    "mean_of_inverse",
    "mean_reciprocal_rank",
    "mean_square_error",
    "metric",
    "micro_f1",
    "positive_score",
    "r_squared",
    "rank_ap",
    "rank_auc",
    "ranked_within",
    "ranks_among",
    "roc_auc",
    "root_mean_square_error",
]
