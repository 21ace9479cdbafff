"""Trained weights as files: safetensors, read without running anything; archives of the first edition are read too."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from graphnetz._core.errors import DataError, UsageError
from graphnetz._core.paths import write_file
from graphnetz._core.readers import refuse_bomb, regular

SUFFIX = ".safetensors"


def write_weights(path: Path, model: nn.Module) -> Path:
    """Write the parameters and buffers of a model.

    Parameters
    ----------
    path
        The file, whose folder is made.
    model
        Any module; a tensor that two names share is written under both.

    Returns
    -------
    Path
        The file.

    Examples
    --------
    >>> import tempfile
    >>> place = Path(tempfile.mkdtemp()) / "model.safetensors"
    >>> sorted(read_weights(write_weights(place, torch.nn.Linear(2, 1))))
    ['bias', 'weight']
    """
    from safetensors.torch import save

    held = {name: value.detach().cpu().contiguous().clone() for name, value in model.state_dict().items()}
    return write_file(path, save(held))


def read_weights(path: Path) -> dict[str, Tensor]:
    """Read what `write_weights` wrote, or an npz archive of arrays."""
    if not path.is_file():
        raise UsageError(f"There are no weights {str(path)!r}. Run with save_weights=True, or train again.")
    regular(path, give="Give a file of weights.")
    try:
        if path.suffix == SUFFIX:
            from safetensors.torch import load_file

            return dict(load_file(path))
        refuse_bomb(path)
        with np.load(path, allow_pickle=False) as arrays:
            return {name: torch.from_numpy(arrays[name]) for name in arrays.files}
    except (OSError, ValueError, KeyError) as error:
        raise DataError(f"The weights {path.name!r} cannot be read ({error}). Train the model again.") from error
    except Exception as error:  # safetensors has an error class of its own
        raise DataError(f"The weights {path.name!r} are damaged ({error}). Train the model again.") from error


def put_weights(model: nn.Module, weights: dict[str, Tensor], *, name: str) -> Any:
    """Load weights into a model that was built for them, and return it in evaluation mode."""
    refuse_shapes(model, weights, name)
    model.load_state_dict(weights)
    return model.eval()


def refuse_shapes(model: nn.Module, weights: dict[str, Tensor], name: str) -> None:
    """Refuse weights of other names or shapes than the model has."""
    wanted = {key: tuple(value.shape) for key, value in model.state_dict().items()}
    given = {key: tuple(value.shape) for key, value in weights.items()}
    if wanted != given:
        odd = sorted(key for key in wanted.keys() | given.keys() if wanted.get(key) != given.get(key))
        raise DataError(
            f"The weights do not fit {name}: {odd[0]!r} has the shape {given.get(odd[0], 'none')}, and the model "
            f"{wanted.get(odd[0], 'none')}. Its code or settings have changed since."
        )
