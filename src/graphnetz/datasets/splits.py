"""Splits of labelled examples that are pure functions of their arguments."""

from __future__ import annotations

import numpy as np

from graphnetz._core.rng import generator


def stratified_masks(
    codes: np.ndarray,
    *,
    splits: int = 10,
    train: float = 0.6,
    val: float = 0.2,
    per_class: int | None = None,
    entropy: int = 0,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return train, validation and test masks [nodes, splits], stratified by class.

    ``per_class`` replaces both shares by a fixed number of training nodes and the same number of
    validation nodes of each class; the rest is tested. Codes below zero are unlabelled and stay out
    of every mask. ``entropy`` draws another set of splits.
    """
    masks = np.zeros((3, len(codes), splits), dtype=bool)
    for column in range(splits):
        rng = generator("masks", entropy, column)
        for value in np.unique(codes[codes >= 0]):
            members = rng.permutation(np.flatnonzero(codes == value))
            first = per_class if per_class is not None else max(1, round(train * len(members)))
            second = first + (per_class if per_class is not None else round(val * len(members)))
            for mask, chosen in zip(masks, np.split(members, [first, second]), strict=True):
                mask[chosen, column] = True
    return masks[0], masks[1], masks[2]


def stratified_split(codes: np.ndarray) -> dict[str, np.ndarray]:
    """Return the nodes of one stratified 60/20/20 split of those with a class.

    Examples
    --------
    >>> {part: len(nodes) for part, nodes in stratified_split(np.arange(100) % 4 - 1).items()}
    {'train': 45, 'val': 15, 'test': 15}
    """
    masks = stratified_masks(codes, splits=1)
    return {part: np.flatnonzero(mask) for part, mask in zip(("train", "val", "test"), masks, strict=True)}


def consecutive_split(train: int, val: int, test: int) -> dict[str, np.ndarray]:
    """Return the split of a list whose graphs are ordered train, validation, test."""
    bounds = np.split(np.arange(train + val + test), [train, train + val])
    return dict(zip(("train", "val", "test"), bounds, strict=True))
