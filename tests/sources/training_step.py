"""One epoch of training on whatever a loader returns."""

from __future__ import annotations

import numpy as np
import torch

from graphnetz.models import GCN
from graphnetz.tasktypes import TASK_TYPES


def train_one_epoch(dataset, kind, *, batch_size=8):
    """Split, train once over all batches, score the test part; everything must be finite."""
    torch.manual_seed(0)
    task_type = TASK_TYPES[kind]
    split = task_type.split(dataset, 0)
    model = task_type.adapt(lambda i, h, o: GCN(i, h, o), split.dims, 8)
    optimiser = torch.optim.Adam(model.parameters(), lr=1e-2)
    losses = []
    for batch in task_type.batches(split, batch_size):
        optimiser.zero_grad()
        loss = task_type.loss(model, split, batch)
        loss.backward()
        optimiser.step()
        losses.append(float(loss.detach()))
    assert losses
    assert np.isfinite(losses).all()
    model.eval()
    with torch.no_grad():
        scores = task_type.scores(model, split, ("test",))["test"]
    assert len(scores) == len(split.targets["test"]) > 0
    assert torch.isfinite(scores).all()
    return split
