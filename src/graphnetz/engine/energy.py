"""Energy of a run: read from the processor where it tells it, and said to be unknown where it does not.

Processors count the energy of a whole package, whatever runs there, so cells get their share by seconds. On shared
machines that is an upper bound, and the provenance says so.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from graphnetz._core.threads import Repeated

if TYPE_CHECKING:
    from graphnetz.engine.store import Store

POWERCAP = Path("/sys/class/powercap")
EVERY = 30.0
"""Seconds between two readings: counters begin again at zero after some hundred kilojoules."""
META, UNKNOWN = "energy_joules", "unknown"


class Meter:
    """Joules of the processor packages while it is open; None where they cannot be read.

    Parameters
    ----------
    folder
        Where the kernel shows the counters.

    Examples
    --------
    >>> with Meter(Path("/nowhere")) as meter:
    ...     pass
    >>> meter.joules is None
    True
    """

    def __init__(self, folder: Path = POWERCAP) -> None:
        self._counters = {path: reading for path in _packages(folder) if (reading := _read(path)) is not None}
        self._spent = 0.0
        self._thread = Repeated(self.look, EVERY)

    @property
    def joules(self) -> float | None:
        """What was spent so far."""
        return self._spent / 1e6 if self._counters else None

    def __enter__(self) -> Meter:
        if self._counters:
            self._thread.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._counters:
            self._thread.__exit__(kind, error, trace)
            self.look()

    def look(self) -> None:
        """Read the counters and add what they grew by; one that began again has passed its end."""
        for path, before in self._counters.items():
            now = _read(path)
            if now is None:
                continue
            grown = now - before
            if grown < 0:
                grown += (_read(path.with_name("max_energy_range_uj")) or 0) + 1
            self._spent += max(grown, 0)
            self._counters[path] = now


@contextmanager
def counted(store: Store, *, elsewhere: bool = False, folder: Path = POWERCAP) -> Iterator[None]:
    """Add what is spent meanwhile to what earlier sittings of this store took.

    A sitting that was killed, ran on other machines, or cannot be measured makes the whole unknown: a sum that leaves
    cells out would flatter them.
    """
    before = store.read_meta().get(META, 0.0)
    with Meter(folder) as meter:
        known = isinstance(before, int | float) and meter.joules is not None and not elsewhere
        if before != UNKNOWN:
            store.write_meta({META: UNKNOWN})
        yield
    if known:
        store.write_meta({META: float(before) + float(meter.joules or 0.0)})


def spent(store: Store) -> float | None:
    """Return the joules of all sittings of a store; None where one of them could not be measured."""
    found = store.read_meta().get(META)
    return float(found) if isinstance(found, int | float) else None


def _packages(folder: Path) -> list[Path]:
    """Counters of whole packages; those of their parts, cores and memory, are counted in them."""
    if not folder.is_dir():
        return []
    return [zone / "energy_uj" for zone in sorted(folder.glob("*rapl*:*")) if zone.name.count(":") == 1]


def _read(path: Path) -> int | None:
    try:
        return int(path.read_text(encoding="ascii"))
    except (OSError, ValueError):  # most kernels let only the administrator read it
        return None
