"""One epoch of the real training loop on whatever a loader returns."""

from __future__ import annotations

import numpy as np
import torch

from graphnetz.models import GCN
from graphnetz.records import Protocol
from graphnetz.tasktypes import TASK_TYPES, fit


def train_one_epoch(dataset, kind, *, batch_size=8):
    """Split, train with the loop that benchmarks use, measure; losses and outputs must be finite."""
    torch.manual_seed(0)
    task_type = TASK_TYPES[kind]
    split = task_type.split(dataset, 0)
    model = task_type.adapt(lambda i, h, o: GCN(i, h, o), split.dims, 8)
    before = [parameter.detach().clone() for parameter in model.parameters()]
    outcome = fit(task_type, model, split, Protocol(epochs=1, lr=1e-2, batch_size=batch_size))
    assert outcome.epochs == 1
    assert np.isfinite(outcome.history["train_loss"]).all()
    assert any(not torch.equal(a, b) for a, b in zip(before, model.parameters(), strict=True))
    for part in ("val", "test"):
        assert len(outcome.scores[part]) == len(split.targets[part]) > 0
        assert np.isfinite(outcome.scores[part]).all()
        assert {f"{part}_{key}" for key in task_type.keys(split)} <= set(outcome.metrics)
    return split
