"""Each configuration read off the one landmark that tells most of it, by a straight line.

Where landmarks are cheap forms of the contenders, a difference between two of them is seen rather than guessed from
graphs that look alike, and needs no likeness to hold.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from graphnetz.selection.selectors.base import FloatArray, complete


@dataclass(frozen=True, eq=False)
class Lines:
    """A line per configuration: which landmark, and the slope through the means.

    Examples
    --------
    >>> import numpy as np
    >>> from graphnetz.selection.selectors.lines import Lines
    >>> S = np.array([[0.5, 0.7], [0.9, 0.6], [0.7, 0.9]])
    >>> lines = Lines.fitted(S[:, ::-1] - 0.1, S, np.arange(3))
    >>> lines.which.tolist(), lines.predict(S[:1]).round(3).tolist()
    ([1, 0], [[0.6, 0.4]])
    """

    which: npt.NDArray[np.int64]
    slope: FloatArray
    centre: FloatArray
    mean: FloatArray

    @classmethod
    def fitted(cls, P: FloatArray, S: FloatArray, domains: npt.NDArray[np.generic]) -> Lines:
        """Fit by least squares; every domain counts alike, and gaps of ``P`` are filled from rows and columns."""
        full, share = complete(P), shares(domains)
        centre, mean = share @ S, share @ full
        apart = S - centre
        joint = (share[:, None] * apart).T @ (full - mean)
        spread = np.maximum(share @ apart**2, 1e-9)[:, None]
        which = (joint**2 / spread).argmax(axis=0)
        slope = (joint / spread)[which, np.arange(full.shape[1])]
        return cls(which, slope, centre[which], mean)

    def predict(self, S: FloatArray) -> FloatArray:
        """Performances of every configuration on graphs with these landmarks."""
        return np.asarray(self.mean + (S[:, self.which] - self.centre) * self.slope)


def left_out(P: FloatArray, S: FloatArray, domains: npt.NDArray[np.generic]) -> FloatArray:
    """What `Lines` of all other domains predict for the graphs of each domain."""
    out = np.zeros_like(P)
    for domain in np.unique(domains):
        own = domains == domain
        out[own] = Lines.fitted(P[~own], S[~own], domains[~own]).predict(S[own])
    return out


def shares(domains: npt.NDArray[np.generic]) -> FloatArray:
    """What each graph weighs in a mean over domains of the means within them."""
    _, place, count = np.unique(domains, return_inverse=True, return_counts=True)
    return np.asarray(1 / (count[place] * len(count)))
