"""What a cell on a graph folder needs in memory, found before it is trained by a rehearsal of it.

The cell itself is run with a few batches an epoch and a few blocks of every layer, and its memory is measured as that
of cells is. What a rehearsal cannot do in little time is counted: passes over the whole graph.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import torch
from torch_geometric.nn import SGConv

from graphnetz.engine.executors import memory
from graphnetz.engine.fitting import train_once
from graphnetz.kernels.folders import propagation_bytes, scratch
from graphnetz.models import ModelSpec
from graphnetz.records import Protocol
from graphnetz.tasktypes import Split, TaskType
from graphnetz.tasktypes.streamed import FolderData

BATCHES = 4
"""Of an epoch in a rehearsal: one in use, one in the making, and two more for the difference between batches."""


class Rehearsed(FolderData):
    """A folder of whose layers some blocks are computed, and whose propagated features are zeros."""

    some = True

    def propagated(self, hops: int) -> Any:
        """Rows of the right shape, which nobody has to compute."""
        del hops
        return scratch(self.folder, (self.labelled.size, self.folder.num_features))


def rehearse(kind: TaskType, spec: ModelSpec, split: Split, protocol: Protocol, seed: int, *, before: float) -> float:
    """Run a cell on a graph folder in small; who calls it measures the memory.

    Parameters
    ----------
    kind, spec, split, protocol, seed
        Of the cell.
    before
        Resident bytes of this process when it had done nothing yet.

    Returns
    -------
    float
        Bytes above ``before`` that passes over the whole graph will take: finding the neighbourhoods of the tested
        nodes, and the propagation of an SGC.
    """
    size = min(protocol.batch_nodes or len(split.train), len(split.train))
    chosen = torch.linspace(0, len(split.train) - 1, min(BATCHES * size, len(split.train))).long()
    few = dataclasses.replace(
        split,
        data=Rehearsed(split.data.folder),
        train=split.train[chosen],
        targets={**split.targets, "train": split.targets["train"][chosen.numpy()]},
        cache={},
    )
    epochs = min(protocol.epochs, 2)  # the outputs of one epoch are kept while those of the next are computed
    fitted, model = train_once(kind, spec, few, protocol.replace(epochs=epochs, eval_every=1, patience=None), seed)
    near: float = memory.resident() - before + 8.0 * few.data.num_nodes  # while the outputs are held
    del fitted
    held = memory.resident() - before  # what libraries made of their own on the way is there by then, too
    sampler, labelled = few.data.sampler, few.data.labelled
    hops = {module.K for module in model.modules() if isinstance(module, SGConv)}
    return float(max([near, *(held + propagation_bytes(sampler, k, labelled) for k in hops)]))
