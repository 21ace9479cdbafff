"""Devices by name: what is asked for is what is used, or it is refused."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from graphnetz._core.errors import UsageError

if TYPE_CHECKING:
    import torch


def resolve_device(device: Any, *, here: bool = True) -> str:
    """Return the name of a device that exists, ``auto`` resolved.

    Parameters
    ----------
    device
        ``"auto"``, None, ``"cpu"``, ``"cuda:0"``, ``"mps"`` or a ``torch.device``.
    here
        Whether the device must be one of this machine; of another one only the name is checked.

    Returns
    -------
    str
        As torch spells it; ``"cpu"`` without a number.

    Examples
    --------
    >>> from graphnetz._core.device import resolve_device
    >>> resolve_device("cpu")
    'cpu'
    """
    import torch

    if device is None or device == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    try:
        found = torch.device(device)
    except (RuntimeError, TypeError) as error:
        raise UsageError(f"Unknown device {device!r}. Use 'auto', 'cpu', 'cuda' or 'cuda:0'.") from error
    if found.type == "cpu":
        return "cpu"
    if found.type not in ("cuda", "mps"):
        raise UsageError(f"Models cannot be trained on the device {device!r}. Use 'auto', 'cpu', 'cuda' or 'cuda:0'.")
    if here:
        _require_present(found)
    return str(found)


def _require_present(device: torch.device) -> None:
    import torch

    count = torch.cuda.device_count() if device.type == "cuda" else int(torch.backends.mps.is_available())
    if (device.index or 0) >= count:
        there = (
            f"{device.type}:0 to {device.type}:{count - 1}" if count else f"no {device.type} device that torch can use"
        )
        raise UsageError(f"The device '{device}' is not here: this machine has {there}. Use 'cpu' or 'auto'.")


def require_device(name: str) -> torch.device:
    """Return the device of this name, or say that this machine lacks it."""
    import torch

    return torch.device(resolve_device(name))
