"""Memory of one training batch: what the parameters, the data and the values kept for the backward pass take."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from graphnetz.tasktypes import Split, TaskType


@dataclass(frozen=True)
class BatchMemory:
    """Bytes of one batch: the graphs themselves, parameters with gradients and Adam's moments, and what is kept."""

    batch: int
    parameters: int
    kept: int

    @property
    def total(self) -> int:
        """All of them."""
        return self.batch + self.parameters + self.kept


def batch_memory(kind: TaskType, model: nn.Module, split: Split, batch_size: int) -> BatchMemory:
    """Measure the first training batch of ``model`` (Dwivedi et al., 2023, Appendix J, for processors).

    Counted is what exists at the end of the forward pass: every storage once. Temporary values inside one operation
    come on top; the random stream is left as it was.
    """
    seen: dict[int, int] = {}
    own = {p.untyped_storage().data_ptr() for p in model.parameters()}

    def keep(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in own:
            seen[storage.data_ptr()] = storage.nbytes()
        return tensor

    with torch.random.fork_rng(devices=[]):
        batch = next(iter(kind.batches(split, batch_size)))
        model.train()
        with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
            kind.loss(model, split, batch)
    given = _storages(batch)
    kept = sum(size for pointer, size in seen.items() if pointer not in given)
    parameters = sum(p.numel() * p.element_size() for p in model.parameters() if p.requires_grad)
    return BatchMemory(sum(given.values()), 4 * parameters, kept)


def _storages(batch: Any) -> dict[int, int]:
    values = batch.to_dict().values() if hasattr(batch, "to_dict") else ()
    tensors = [value for value in values if isinstance(value, Tensor)]
    return {t.untyped_storage().data_ptr(): t.untyped_storage().nbytes() for t in tensors}
