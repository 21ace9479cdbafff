"""GraphNetz (da Costa and Modenesi): its protocol, its cross-category experiment, its published numbers."""

from __future__ import annotations

from graphnetz.records.config import DEFAULT_MODELS, PROTOCOLS, Preset

PAPER_MODELS = DEFAULT_MODELS[:5]
"""The five architectures of the paper."""

PROTOCOLS.add(
    "paper",
    Preset(
        {
            "optimiser": "adam", "selection": "last", "edge_attributes": False, "hidden_channels": 64,
            "patience": None, "schedule": None, "clip": None, "budget": None,
        },
        PAPER_MODELS,
        plain_metrics=("node_cls", "graph_cls", "graph_reg", "link_pred"),
    ),
)  # fmt: skip
"""Adam with the learning rate and decay of each task type, 64 channels, the epochs of each task, metrics of the last
epoch, accuracy, MAE and ROC-AUC as the paper scores them, and encoders that see node features and edges only."""
