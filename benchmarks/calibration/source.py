"""Simulated predictions with a known truth: what is said about new examples, and where spread comes from.

Two models hit an example where a normal latent value is positive. It adds up from the difficulty of the example, what
the model makes of it, the initialisation, what the training part taught, and noise; so the true accuracy is known.
"""

from __future__ import annotations

import math

import numpy as np
from scipy import special

from graphnetz.analysis.reach import source_evidence
from graphnetz.records import Contributions, ScoreTable
from graphnetz.stats._common import Floats
from graphnetz.stats.components import crossed_components, half_width
from graphnetz.stats.example_tests import delong_test, example_test

DIFFICULTY, OWN, BASE = 1.5, 0.5, 0.8
PAIR = ("A", "B")


def source_rates(
    replication: str = "init", *, seeds: int = 10, n: int = 200, ratio: float = 0.5, init: float = 0.1,
    pool_effect: float = 0.0, shift: float = 0.0, replicates: int = 500, seed: int = 0,
) -> dict[str, float]:  # fmt: skip
    """Rate of p < 0.05 and coverage of the 95 % interval at the source reach; a rejection is false for ``shift`` 0.

    ``pool_effect`` is the deviation of what a training part adds to a model. Above ratio 0.5 the claim is given the
    pool, so the mean effect of the pool is taken out.
    """
    rng = np.random.default_rng([seed, seeds, n, int(10 * ratio)])
    folds = {"fold": seeds}.get(replication, 0)
    rejected = covered = assessed = 0
    for _ in range(replicates):
        values, splits, truth = _draw(
            rng, replication, seeds=seeds, n=n, ratio=ratio, init=init, pool_effect=pool_effect, shift=shift
        )
        table, found = _records(replication, values, splits, ratio=ratio, folds=folds)
        evidence = source_evidence(table, 0, [PAIR], found)[PAIR]
        if math.isnan(evidence.p):
            continue
        half = half_width(evidence.error, evidence.df) if evidence.error > 0 else 0.0
        assessed += 1
        rejected += evidence.p < 0.05
        covered += abs(evidence.estimate - truth) <= half + 1e-12
    return {"rejected": rejected / replicates, "covered": covered / assessed, "assessed": assessed / replicates}


def _draw(
    rng: np.random.Generator, replication: str, *, seeds: int, n: int, ratio: float, init: float, pool_effect: float,
    shift: float,
) -> tuple[Floats, tuple[int, ...], float]:  # fmt: skip
    """Hits ``[model, seed, example]`` (NaN: not tested), split of each seed, and the true difference."""
    fixed = replication == "init"
    train = 0 if fixed else max(1, round(n / ratio))
    size = n if fixed else n * seeds if replication == "fold" else n + train
    spread = math.sqrt(DIFFICULTY**2 + OWN**2 + init**2 + 1)
    tested = _tested(rng, replication, seeds, n, size)
    taught = np.zeros((2, seeds, 1))
    if pool_effect and not fixed:
        influence = rng.normal(size=(2, size))
        if ratio > 0.5:
            influence -= influence.mean(axis=1, keepdims=True)
        learnt = ~tested
        count = learnt.sum(axis=1)
        taught[..., 0] = pool_effect * (influence @ learnt.T) / np.sqrt(count)
        left = 1 - count.mean() / size if ratio > 0.5 else 1.0
        spread = math.sqrt(spread**2 + pool_effect**2 * left)
    means = np.array([BASE + shift, BASE])[:, None, None]
    own = rng.normal(0, DIFFICULTY, size) + rng.normal(0, OWN, (2, 1, size))
    latent = means + own + taught + rng.normal(0, init, (2, seeds, 1)) + rng.normal(size=(2, seeds, size))
    truth = float(special.ndtr((BASE + shift) / spread) - special.ndtr(BASE / spread))
    splits = (0,) * seeds if fixed else tuple(range(seeds))
    return np.where(tested, (latent > 0).astype(float), np.nan), splits, truth


def _tested(rng: np.random.Generator, replication: str, seeds: int, n: int, size: int) -> np.ndarray:
    if replication == "fold":
        return np.repeat(np.eye(seeds, dtype=bool), n, axis=1)
    return np.argsort(rng.random((seeds, size)), axis=1) < n


def _records(
    replication: str, values: Floats, splits: tuple[int, ...], *, ratio: float, folds: int
) -> tuple[ScoreTable, Contributions]:
    seeds = tuple(range(values.shape[1]))
    scores = np.nanmean(values, axis=2)[None]
    table = ScoreTable(
        ("task",), PAIR, seeds, scores, (True,), ("test_acc",), (replication,), (ratio,), ("task",), splits=(folds,)
    )
    hits = dict(zip(PAIR, values, strict=True))
    return table, Contributions("task", "test_acc", seeds, splits, np.arange(values.shape[2]), hits)


def share_bias(
    *, splits: int, per_split: int, n: int, pool: int, components: tuple[float, float, float, float],
    replicates: int = 500, seed: int = 0,
) -> dict[str, tuple[float, float]]:  # fmt: skip
    """True and mean estimated share of every component (seed, split, example, rest) in the variance of the mean.

    With one seed per split, seed and split are one component; with ``pool`` equal to ``splits * n``, splits are folds.
    """
    rng = np.random.default_rng([seed, splits, per_split, n])
    of_seed, of_split, of_example, of_rest = components
    rows = splits * per_split
    number = np.repeat(np.arange(splits), per_split)
    found = []
    truth: dict[str, list[float]] = {}
    for _ in range(replicates):
        if pool == splits * n:
            tested = np.repeat(np.eye(splits, dtype=bool), n, axis=1)
        else:
            tested = np.argsort(rng.random((splits, pool)), axis=1) < n
        y = rng.normal(0, math.sqrt(of_split), splits)[number][:, None] + rng.normal(0, math.sqrt(of_seed), (rows, 1))
        y = y + rng.normal(0, math.sqrt(of_example), pool) + rng.normal(0, math.sqrt(of_rest), (rows, pool))
        found.append(crossed_components(np.where(tested[number], y, np.nan), number.tolist()))
        weights = (tested / n).sum(axis=0) / splits
        parts = {
            "seed": of_seed / rows, "split": of_split / splits * (splits > 1),
            "example": of_example * float((weights**2).sum()), "rest": of_rest / (rows * n),
        }  # fmt: skip
        if per_split == 1:
            parts["seed"], parts["split"] = parts["seed"] + parts["split"], 0.0
            if pool == splits * n and splits > 1:
                parts["example"], parts["rest"] = parts["example"] + parts["rest"], 0.0
        for part, value in parts.items():
            truth.setdefault(part, []).append(value / sum(parts.values()))
    return {
        part: (float(np.mean(values)), float(np.mean([getattr(each, f"{part}_share") for each in found])))
        for part, values in truth.items()
    }


def graph_rates(
    kind: str = "blocks", *, use: bool = True, seeds: int = 5, replicates: int = 500, seed: int = 0
) -> float:
    """False rejections where losses hang together along edges (``blocks``) or at the ends of pairs (``dyadic``)."""
    rng = np.random.default_rng([seed, seeds])
    groups, each, nodes = 100, 8, 60
    blocks = np.repeat(np.arange(groups), each)
    ends = np.array([(i, j) for i in range(nodes) for j in range(i)])
    ends = ends[rng.permutation(len(ends))[: groups * each]]
    rejected = 0
    for _ in range(replicates):
        own = np.zeros((2, groups * each))
        if kind == "blocks":
            # Nodes of a community are joined in a ring, and one node in eight has an edge to the next community.
            noise = rng.normal(size=(2, groups, each))
            smooth = noise + np.roll(noise, 1, axis=2) + np.roll(noise, -1, axis=2)
            smooth[..., 0] += noise[:, np.roll(np.arange(groups), 1), 0]
            own = 0.6 * smooth.reshape(2, -1)
        else:
            at = rng.normal(0, 0.7, (2, nodes))
            own = at[:, ends[:, 0]] + at[:, ends[:, 1]]
        latent = 0.8 + own[:, None] + rng.normal(0, 1, groups * each) + rng.normal(0, 0.1, (2, seeds, 1))
        hits = (latent + rng.normal(size=(2, seeds, groups * each)) > 0).astype(float)
        extra = {"blocks": blocks} if kind == "blocks" else {"ends": ends}
        rejected += crossed_components(hits[0] - hits[1], [0] * seeds, **(extra if use else {})).p < 0.05
    return rejected / replicates


def example_test_rates(kind: str, *, n: int = 100, replicates: int = 500, seed: int = 0) -> float:
    """False rejections at 5 % of a test of two trained models on ``n`` examples."""
    rng = np.random.default_rng([seed, n])
    rejected = 0
    for _ in range(replicates):
        shared = rng.normal(size=n)
        latent = shared + rng.normal(size=(2, n))
        if kind == "delong":
            target = np.arange(n) % 2
            p = delong_test(target, latent[0] + target, latent[1] + target).p
        elif kind == "mcnemar":
            p = example_test(latent[0] > 0, latent[1] > 0, "mcnemar").p
        else:
            p = example_test(np.exp(latent[0]), np.exp(latent[1]), kind, seed=1).p
        rejected += p < 0.05
    return rejected / replicates
