"""Suites: named lists of tasks that are run together."""

from __future__ import annotations

from collections.abc import Callable

from graphnetz._core.registry import Registry
from graphnetz.datasets.cards import task_of
from graphnetz.records import Task

SUITES: Registry[Callable[[], list[Task]]] = Registry("suite", entry_points="graphnetz.suites")
"""Every suite by name: a function without arguments that returns its tasks."""


@SUITES.register("default")
def default() -> list[Task]:
    """Return the offline suite: every category, every task type, nothing to download."""
    return [task_of(name, kind) for name, kind in DEFAULT]


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
