"""Randomness: global seeding and the settings of the one training context live here, nowhere else."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

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

    with ExitStack() as caller:
        caller.callback(torch.set_num_threads, torch.get_num_threads())
        caller.callback(torch.set_default_dtype, torch.get_default_dtype())
        caller.callback(
            torch.use_deterministic_algorithms,
            torch.are_deterministic_algorithms_enabled(),
            warn_only=torch.is_deterministic_algorithms_warn_only_enabled(),
        )
        caller.callback(torch.set_rng_state, torch.get_rng_state())
        caller.callback(np.random.set_state, np.random.get_state())
        caller.callback(random.setstate, random.getstate())
        # The thread count comes first: a forked child that makes any other torch call before it hangs
        # when its parent has run torch with more threads.
        torch.set_num_threads(threads)
        torch.set_default_dtype(getattr(torch, dtype))
        torch.use_deterministic_algorithms(True, warn_only=True)
        caller.enter_context(torch.enable_grad())
        seed_everything(seed)
        yield
