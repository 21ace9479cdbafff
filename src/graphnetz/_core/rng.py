"""Randomness: global seeding and the settings of the one training context live here, nowhere else."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np


def generator(*entropy: int | str) -> np.random.Generator:
    """Return a generator that is a pure function of ``entropy``.

    Strings take part through their bytes, so that ``generator("cora", 3)`` does not depend on
    Python's hash randomisation.
    """
    words = [item.encode() if isinstance(item, str) else [int(item) & 0xFFFFFFFFFFFFFFFF] for item in entropy]
    return np.random.default_rng(list(itertools.chain(*words)))


def seed_everything(seed: int) -> None:
    """Reseed Python, NumPy and Torch (CPU and, when initialised, CUDA)."""
    import torch

    random.seed(seed)
    np.random.seed(seed % 2**32)
    torch.manual_seed(seed)
    if torch.cuda.is_available():
        torch.cuda.manual_seed_all(seed)


@contextmanager
def training_context(seed: int, *, threads: int = 1, dtype: str = "float32") -> Iterator[None]:
    """Set threads, dtype, deterministic flags and seeds for one cell; restore the caller's after it.

    Every executor trains inside this context, so a cell's numbers do not depend on how many
    workers run, or where.
    """
    import torch

    saved: dict[str, Any] = {
        "threads": torch.get_num_threads(),
        "dtype": torch.get_default_dtype(),
        "deterministic": torch.are_deterministic_algorithms_enabled(),
        "warn_only": torch.is_deterministic_algorithms_warn_only_enabled(),
        "torch": torch.get_rng_state(),
        "numpy": np.random.get_state(),
        "python": random.getstate(),
        "grad": torch.is_grad_enabled(),
    }
    # The thread count comes first: a forked child that makes any other torch call before it hangs
    # when its parent has run torch with more threads.
    torch.set_num_threads(threads)
    torch.set_default_dtype(getattr(torch, dtype))
    torch.use_deterministic_algorithms(True, warn_only=True)
    torch.set_grad_enabled(True)
    seed_everything(seed)
    try:
        yield
    finally:
        torch.set_num_threads(saved["threads"])
        torch.set_default_dtype(saved["dtype"])
        torch.use_deterministic_algorithms(saved["deterministic"], warn_only=saved["warn_only"])
        torch.set_grad_enabled(saved["grad"])
        torch.set_rng_state(saved["torch"])
        np.random.set_state(saved["numpy"])
        random.setstate(saved["python"])
