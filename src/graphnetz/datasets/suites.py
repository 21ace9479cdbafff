"""Suites: named lists of tasks that are run together."""

from __future__ import annotations

import dataclasses

from graphnetz._core.registry import Registry
from graphnetz.datasets.cards import task_of
from graphnetz.records import Task
from graphnetz.records.suite import Suite


class _Suites(Registry[Suite]):
    """Suites by name; a plain function that returns tasks may be registered as one."""

    def __getitem__(self, name: str) -> Suite:
        found = super().__getitem__(name)
        return found if isinstance(found, Suite) else Suite(name, found)


SUITES = _Suites(
    "suite",
    entry_points="graphnetz.suites",
    accepts=callable,
    homes=("graphnetz.papers.graphnetz.suite", "graphnetz.papers.benchmarking_gnns.suite"),
)
"""Every suite by name: call one for its tasks."""


def default() -> list[Task]:
    """Return the offline suite: every category, every task type, nothing to download."""
    tasks = [task_of(name, kind) for name, kind in DEFAULT]
    # Rare positive edges: F1 at a fixed threshold would be 0 for a model that ranks them well.
    return [dataclasses.replace(task, metric="auc") if task.task_type == "edge_cls" else task for task in tasks]


SUITES.add("default", Suite("default", default))

DEFAULT: tuple[tuple[str, str], ...] = (
    ("graph_properties", "multi_reg"),
    ("breast_cancer_knn", "node_cls"),
    ("sbm_communities", "node_cls"),
    ("les_miserables", "link_pred"),
    ("kinship_rules", "link_pred"),
    ("radio_mesh", "link_pred"),
    ("trader_trust", "edge_cls"),
    ("internet_as_simulated", "edge_cls"),
    ("digits_knn", "node_cls"),
    ("digits_superpixels", "graph_cls"),
    ("ising_energy", "graph_reg"),
    ("p2p_botnet", "node_cls"),
)
