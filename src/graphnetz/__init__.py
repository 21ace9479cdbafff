"""graphnetz: honest evaluation of graph learning.

Public names are resolved on first use (PEP 562): importing the package costs nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphnetz._core import moved as _moved
from graphnetz._core.lazy import lazy_names

__version__ = "1.0.0.dev0"
_moved.install()

_HOME = {
    "graphnetz.analysis": ("analyse",),
    "graphnetz.audit": ("audit",),
    "graphnetz.benchmark": (
        "BENCHMARK_TASKS",
        "BenchmarkReport",
        "ModelSpec",
        "Protocol",
        "SearchSpace",
        "Task",
        "evaluate",
        "get_split",
        "iter_benchmark_tasks",
        "load_model",
        "register_model",
        "register_task",
        "run_benchmark",
        "task_from_dataset",
        "unregister_task",
    ),
    "graphnetz.datasets": (
        "CATEGORIES",
        "LOADER_REGISTRY",
        "Netz",
        "list_datasets",
        "task_from_edges",
        "task_from_networkx",
    ),
    "graphnetz.models": ("DGI", "GAT", "GCN", "GIN", "MLP", "DGIWrapper", "GraphSAGE", "GraphTransformer"),
    "graphnetz.plotting": ("plot_benchmark", "plot_grouped_bars", "plot_history", "save_figure", "set_plot_style"),
    "graphnetz.training": (
        "train_dgi",
        "train_graph_classification",
        "train_graph_regression",
        "train_link_prediction",
        "train_node_classification",
        "train_relational_link_prediction",
    ),
}
__getattr__, __dir__, _names = lazy_names(
    __name__, _HOME, submodules=("benchmark", "datasets", "models", "rings", "selection")
)
__all__ = ["__version__", *_names]

if TYPE_CHECKING:
    from graphnetz.analysis import analyse as analyse
    from graphnetz.audit import audit as audit
    from graphnetz.benchmark import BENCHMARK_TASKS as BENCHMARK_TASKS
    from graphnetz.benchmark import BenchmarkReport as BenchmarkReport
    from graphnetz.benchmark import ModelSpec as ModelSpec
    from graphnetz.benchmark import Protocol as Protocol
    from graphnetz.benchmark import SearchSpace as SearchSpace
    from graphnetz.benchmark import Task as Task
    from graphnetz.benchmark import evaluate as evaluate
    from graphnetz.benchmark import get_split as get_split
    from graphnetz.benchmark import iter_benchmark_tasks as iter_benchmark_tasks
    from graphnetz.benchmark import load_model as load_model
    from graphnetz.benchmark import register_model as register_model
    from graphnetz.benchmark import register_task as register_task
    from graphnetz.benchmark import run_benchmark as run_benchmark
    from graphnetz.benchmark import task_from_dataset as task_from_dataset
    from graphnetz.benchmark import unregister_task as unregister_task
    from graphnetz.datasets import CATEGORIES as CATEGORIES
    from graphnetz.datasets import LOADER_REGISTRY as LOADER_REGISTRY
    from graphnetz.datasets import Netz as Netz
    from graphnetz.datasets import list_datasets as list_datasets
    from graphnetz.datasets import task_from_edges as task_from_edges
    from graphnetz.datasets import task_from_networkx as task_from_networkx
    from graphnetz.models import DGI as DGI
    from graphnetz.models import GAT as GAT
    from graphnetz.models import GCN as GCN
    from graphnetz.models import GIN as GIN
    from graphnetz.models import MLP as MLP
    from graphnetz.models import DGIWrapper as DGIWrapper
    from graphnetz.models import GraphSAGE as GraphSAGE
    from graphnetz.models import GraphTransformer as GraphTransformer
    from graphnetz.plotting import plot_benchmark as plot_benchmark
    from graphnetz.plotting import plot_grouped_bars as plot_grouped_bars
    from graphnetz.plotting import plot_history as plot_history
    from graphnetz.plotting import save_figure as save_figure
    from graphnetz.plotting import set_plot_style as set_plot_style
    from graphnetz.training import train_dgi as train_dgi
    from graphnetz.training import train_graph_classification as train_graph_classification
    from graphnetz.training import train_graph_regression as train_graph_regression
    from graphnetz.training import train_link_prediction as train_link_prediction
    from graphnetz.training import train_node_classification as train_node_classification
    from graphnetz.training import train_relational_link_prediction as train_relational_link_prediction
