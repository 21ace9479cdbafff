"""No run waits without a word: what it waits for is said, and a runner that no longer stirs is not waited for."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence

from graphnetz._core.text import clean
from graphnetz.engine.progress import clock
from graphnetz.engine.store.owners import is_stopped, process_of, process_words, stopped_words

FIRST_WORD = 2.0
"""Seconds of waiting before the first sentence."""

NEXT_WORD = 60.0
"""Seconds between later ones."""

STALE_LEASES = 10
"""A runner that did not extend its leases for so many of them is taken for dead, whatever its leases say."""

Held = tuple[str, str, int, str, float]
"""Task, model, seed, owner and end of the lease, as `Store.running` returns them."""


def say(sentence: str) -> None:
    """Print to standard error, also in a quiet run: somebody has to do something."""
    print(sentence, file=sys.stderr, flush=True)


class Patience:
    """Waits for cells of other runners, and tells by this process's own clock who no longer stirs.

    A lease ends by the wall clock, which jumps and which differs between machines: one from the future would be
    waited for until then. A living runner extends its leases four times in each, so leases that stand still for
    many of them belong to nobody.
    """

    def __init__(self, lease_seconds: float, tell: Callable[[str], None] = say) -> None:
        self.patience, self.tell = STALE_LEASES * lease_seconds, tell
        self._seen: dict[str, tuple[float, float]] = {}
        self._due: float | None = None

    def look(self, held: Sequence[Held]) -> list[str]:
        """Say what is waited for, and return the owners that are not to be waited for any longer."""
        now = time.monotonic()
        leases = {owner: lease for _, _, _, owner, lease in held}
        self._seen = {
            owner: seen if (seen := self._seen.get(owner)) and seen[0] == lease else (lease, now)
            for owner, lease in leases.items()
        }
        gone = [owner for owner, (_, since) in self._seen.items() if now - since >= self.patience]
        if gone:
            self.tell(f"Took over the cells of {_names(gone)}: not a sign of it for {clock(self.patience)}.")
        elif held:
            self._due = now + FIRST_WORD if self._due is None else self._due
            if now >= self._due:
                self._due = now + NEXT_WORD
                self.tell(_waits_for(held, self.patience))
        return gone

    def over(self) -> None:
        """Forget that it waited: there is work again."""
        self._due = None


def _waits_for(held: Sequence[Held], patience: float) -> str:
    task, model, seed, _, lease = held[0]
    count = "1 cell" if len(held) == 1 else f"{len(held)} cells"
    left = lease - time.time()
    ends = f"its lease ends in {clock(max(left, 0.0))}"
    if left > patience:  # no runner asks for so much: its clock is ahead of ours, or somebody edited the store
        ends = f"its lease lies further ahead than any runner asks for, so it is taken over after {clock(patience)}"
        ends += " without a sign of it"
    who = _names(dict.fromkeys(row[3] for row in held))
    return (
        f"Waiting for {count} in work elsewhere ({clean(task)} / {clean(model)} / seed {seed}): held by {who}; {ends}."
    )


def _names(owners: Iterable[str]) -> str:
    words = []
    for owner in owners:
        pid = process_of(owner)
        if pid is None:
            words.append("a runner on another machine, or from before a restart")
        else:
            words.append(process_words(pid))
    return " and ".join(dict.fromkeys(words))


class StoppedProcesses:
    """Looks at the processes of a run now and then, and says once of each that it is stopped."""

    def __init__(self, tell: Callable[[str], None] = say) -> None:
        self.tell = tell
        self._told: set[int] = set()
        self._due = time.monotonic() + FIRST_WORD

    def look(self, processes: Mapping[int, str]) -> None:
        """Look at processes by number, with what each of them does."""
        now = time.monotonic()
        if now < self._due:
            return
        self._due = now + FIRST_WORD
        stopped = {pid for pid in processes if is_stopped(pid)}
        for pid in sorted(stopped - self._told):
            self.tell(f"Waiting for process {pid} ({clean(processes[pid])}), {stopped_words(pid)}.")
        self._told = stopped
