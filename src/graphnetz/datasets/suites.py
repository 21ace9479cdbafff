"""Suites: named lists of tasks that are run together."""

from __future__ import annotations

import dataclasses

from graphnetz._core.registry import Registry
from graphnetz.datasets.cards import CARDS, task_of
from graphnetz.datasets.catalogue import UNTIL_FLAT
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
    homes=(
        "graphnetz.papers.graphnetz.suite",
        "graphnetz.papers.benchmarking_gnns.suite",
        "graphnetz.papers.benchmarking_gnns.tables",
        "graphnetz.papers.rings.suite",
    ),
)
"""Every suite by name: call one for its tasks."""


def default() -> list[Task]:
    """Return real tasks of every category and type, chosen by the rule on the catalogue page."""
    return [_until_flat(task_of(name, kind)) for name, kind in DEFAULT]


def quick() -> list[Task]:
    """Return the cheapest tasks of the default suite: a first look in less than a minute."""
    return [task for task in default() if task.name in QUICK]


def first_default() -> list[Task]:
    """Return the default suite of the first editions: nothing to download, mostly simulated, and leaks among it."""
    tasks = [task_of(name, kind) for name, kind in FIRST_DEFAULT]
    # Rare positive edges: F1 at a fixed threshold would be 0 for a model that ranks them well.
    ranked = ("edge_cls", "link_pred")
    return [dataclasses.replace(task, metric="auc") if task.task_type in ranked else task for task in tasks]


def algorithmic() -> list[Task]:
    """Return problems with exact answers, learnt on small graphs and asked on larger ones too."""
    return [task_of(card) for card in CARDS.values() if card.name.startswith("algo_") and card.simulated]


def _until_flat(task: Task) -> Task:
    """Give a generator's task the stopping rule that tasks on carried data have."""
    if task.card is None or not task.card.simulated:
        return task
    return dataclasses.replace(task, epochs=200, protocol={**UNTIL_FLAT, "lr": 0.01, "batch_size": 64})


# Sized for two cores and five minutes; --hidden-channels, --seeds and --protocol paper ask for more.
SMALL = {"hidden_channels": 32}
SUITES.add("default", Suite("default", default, seeds=range(5), protocol=SMALL))
SUITES.add("quick", Suite("quick", quick, seeds=range(3), protocol=SMALL))
SUITES.add("algorithmic", Suite("algorithmic", algorithmic, seeds=range(5), protocol=SMALL))
SUITES.add("first-default", Suite("first-default", first_default))

DEFAULT: tuple[tuple[str, str], ...] = (
    ("knot_volume", "graph_reg"),
    ("graph_properties", "multi_reg"),
    ("ecoli_enzymes", "node_cls"),
    ("email_departments", "node_cls"),
    ("college_messages", "link_pred"),
    ("graph_classes", "node_cls"),
    ("french_grid", "edge_cls"),
    ("fx_months", "graph_reg"),
    ("logic_gates", "node_cls"),
    ("mnist_5k_superpixels", "graph_cls"),
    ("nuclide_half_life", "node_cls"),
    ("attack_tactics", "node_cls"),
)

QUICK = ("college_messages", "graph_classes", "logic_gates")

FIRST_DEFAULT: tuple[tuple[str, str], ...] = (
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
