"""Scores of simulated benchmarks whose truth is known, one function per situation."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from graphnetz._core.registry import Registry
from graphnetz.stats._common import Floats

Shape = tuple[int, int, int]
"""Replicates, models, seeds."""


@dataclass(frozen=True, eq=False)
class World:
    """Scores ``[replicate, model, seed]`` (NaN: the run failed) and the means ``truth[replicate, model]`` behind them.

    Claims are about these means: over what a seed varies, over runs that both models finish, without collapse where the
    report says so. ``all_runs`` holds the means with collapsed runs, where these differ,
    ``examples[replicate, model, seed, example]`` what single test examples contribute, NaN where not tested.
    """

    scores: Floats
    truth: Floats
    replication: str = "init"
    ratio: float = math.nan
    splits: int = 0
    n_test: int = 0
    all_runs: Floats | None = None
    examples: Floats | None = None


Make = Callable[[np.random.Generator, Shape], World]

WORLDS: Registry[Make] = Registry("world")
"""Situations in which all models are equally good, by name."""

CENTRE, SPREAD, COMMON = 0.7, 0.01, 0.01
RATIOS = (0.1, 1.0, 10.0, 50.0)
SPLITS = 10_000


def equal(scores: Floats, **facts: object) -> World:
    """A world in which all models have the same mean."""
    return World(scores, np.zeros(scores.shape[:2]), **facts)  # type: ignore[arg-type]


def lifted(world: World, effects: Floats) -> World:
    """The same world with ``effects[model]`` or ``effects[replicate, model]`` added to scores and truth."""
    there = np.broadcast_to(effects, world.truth.shape)
    moved = None if world.all_runs is None else world.all_runs + there
    return replace(world, scores=world.scores + there[:, :, None], truth=world.truth + there, all_runs=moved)


def paired(rng: np.random.Generator, noise: Floats) -> Floats:
    """Noise of mean 0 as scores: all models share what a seed brings, as paired runs do."""
    replicates, _, seeds = noise.shape
    return CENTRE + COMMON * rng.normal(size=(replicates, 1, seeds)) + SPREAD * noise


@WORLDS.register("normal")
def normal(rng: np.random.Generator, shape: Shape) -> World:
    return equal(paired(rng, rng.normal(size=shape)))


@WORLDS.register("t3")
def heavy_tails(rng: np.random.Generator, shape: Shape) -> World:
    return equal(paired(rng, rng.standard_t(3, size=shape)))


@WORLDS.register("heteroscedastic 1:10")
def unequal_spread(rng: np.random.Generator, shape: Shape) -> World:
    spread = np.geomspace(0.2, 2.0, shape[1])[:, None]
    return equal(paired(rng, spread * rng.normal(size=shape)))


@WORLDS.register("accuracies on 50 test items")
def few_items(rng: np.random.Generator, shape: Shape) -> World:
    """Every test item is right with a probability that depends on the seed."""
    rate = CENTRE + 0.03 * rng.normal(size=(shape[0], 1, shape[2]))
    return equal(rng.binomial(50, rate, size=shape) / 50, n_test=50)


@WORLDS.register("1 seed in 20 missing at random")
def missing(rng: np.random.Generator, shape: Shape) -> World:
    scores = paired(rng, rng.normal(size=shape))
    return equal(np.where(rng.random(shape) < 0.05, np.nan, scores))


@WORLDS.register("missing on hard seeds")
def missing_hard(rng: np.random.Generator, shape: Shape) -> World:
    """Seeds differ by more than models do, and the first model fails on the hardest quarter of them."""
    hardness = rng.normal(size=(shape[0], shape[2]))
    scores = CENTRE - 0.1 * hardness[:, None] + SPREAD * rng.normal(size=shape)
    hardest = np.sort(hardness, axis=1)[:, [-max(1, shape[2] // 4)]]
    scores[:, 0][hardness >= hardest] = np.nan
    return equal(scores)


def crasher(rng: np.random.Generator, shape: Shape) -> World:
    """Fault A: the first model is 0.02 worse on every seed that it finishes, and fails on the hard ones."""
    return lifted(missing_hard(rng, shape), np.array([-0.02, *[0.0] * (shape[1] - 1)]))


def _lognormal(sigma: float) -> Make:
    """One model has a long lower tail; its mean is that of the others."""

    def make(rng: np.random.Generator, shape: Shape) -> World:
        noise = rng.normal(size=shape)
        tail = rng.lognormal(0.0, sigma, (shape[0], shape[2]))
        mean, variance = math.exp(sigma**2 / 2), (math.exp(sigma**2) - 1) * math.exp(sigma**2)
        noise[:, 0] = (mean - tail) / math.sqrt(variance)
        # Little is shared and the others are steady, so that the difference has the skew of the one model.
        return equal(CENTRE + SPREAD * np.where(np.arange(shape[1])[:, None] == 0, noise, 0.3 * noise))

    return make


WORLDS.add("one lognormal model, shape 0.5", _lognormal(0.5))
WORLDS.add("one lognormal model, shape 1", _lognormal(1.0))


@WORLDS.register("one model collapses in 1 of 20 runs")
def collapses(rng: np.random.Generator, shape: Shape) -> World:
    """The first model falls to chance in some runs; in the others it is as good as the rest."""
    scores = paired(rng, rng.normal(size=shape))
    down = rng.random((shape[0], shape[2])) < 0.05
    scores[:, 0][down] = 0.5
    world = equal(scores)
    return replace(world, all_runs=np.where(np.arange(shape[1]) == 0, -0.05 * (CENTRE - 0.5), world.truth))


def two_valued(rng: np.random.Generator, shape: Shape) -> World:
    """Differences of two values only: they agree on all seeds by chance, which looks like a constant difference."""
    side = rng.choice([-0.01, 0.01], size=shape)
    side[:, 0] = 0.0
    # What a seed brings to all models keeps the scores themselves from looking deterministic.
    return equal(CENTRE + COMMON * rng.normal(size=(shape[0], 1, shape[2])) + side)


def constant(rng: np.random.Generator, shape: Shape, gap: float = 0.3) -> World:
    """The first model is better by the same amount on every seed, which itself varies (fault E: 0.80 to 0.50)."""
    scores = np.broadcast_to(0.5 + 0.05 * rng.normal(size=(shape[0], 1, shape[2])), shape).copy()
    world = World(scores, np.zeros(shape[:2]))
    return lifted(world, np.array([gap, *[0.0] * (shape[1] - 1)]))


def deterministic(rng: np.random.Generator, shape: Shape) -> World:
    """Models that give one value whatever the seed; half of the replicates hold the same value for all."""
    means = rng.choice([0.6, 0.7, 0.8], size=shape[:2])
    means[::2] = means[::2, :1]
    return World(np.repeat(means[:, :, None], shape[2], axis=2), means)


# Splits of one dataset: what a learner of one feature scores, given the dataset


@dataclass(frozen=True, eq=False)
class Dataset:
    """Two classes and one informative feature per model; equally good in the population, not in this sample."""

    labels: Floats
    features: Floats

    @classmethod
    def draw(cls, rng: np.random.Generator, n: int, models: int) -> Dataset:
        labels = rng.permutation(np.arange(n) % 2).astype(np.float64)
        return cls(labels, labels + rng.normal(size=(models, n)))

    def right(self, train: Floats, jitter: Floats) -> Floats:
        """Whether nearest-centroid is right: ``[model, split, example]`` for masks ``train[split, example]``.

        ``jitter[model, split]`` moves the threshold, as an initialisation would.
        """
        ones, zeros = train * self.labels, train * (1 - self.labels)
        # A class without a training example keeps the population's centre: 0 or 1.
        high = (ones @ self.features.T + 1e-9) / (ones.sum(axis=1)[:, None] + 1e-9)
        low = (zeros @ self.features.T) / (zeros.sum(axis=1)[:, None] + 1e-9)
        threshold = ((high + low) / 2).T + jitter
        sign = np.where(high >= low, 1.0, -1.0).T[:, :, None]
        guess = sign * (self.features[:, None, :] - threshold[:, :, None]) > 0
        found: Floats = (guess == (self.labels > 0)).astype(np.float64)
        return found


def masks(rng: np.random.Generator, splits: int, n: int, n_train: int) -> Floats:
    """Random training parts, ``[split, example]`` of 0 and 1."""
    few = min(n_train, n - n_train)
    chosen = np.argpartition(rng.random((splits, n), dtype=np.float32), few, axis=1)[:, :few]
    out = np.zeros((splits, n))
    np.put_along_axis(out, chosen, 1.0, axis=1)
    return out if few == n_train else 1.0 - out


def split_scores(rng: np.random.Generator, data: Dataset, train: Floats, jitter: Floats) -> Floats:
    """Accuracy on what is not trained on, ``[model, split]``."""
    test = 1.0 - train
    scores: Floats = (data.right(train, jitter) * test).sum(axis=2) / test.sum(axis=1)
    return scores


INIT = 0.2
"""Spread of the threshold over initialisations, in deviations of a feature within its class."""
PER_DATASET = 10
"""Replicates that share one dataset: the size of a claim about a dataset is measured given the dataset."""


def resplit(ratio: float, *, splits: int = SPLITS) -> Make:
    """Random splits of one dataset, every model centred at its own mean over ``splits`` of them."""

    def make(rng: np.random.Generator, shape: Shape) -> World:
        replicates, models, seeds = shape
        n_train = max(4, round(110 / (1 + ratio)))
        n = n_train + max(1, round(ratio * n_train))
        out, clean = [], []
        for _ in range(math.ceil(replicates / PER_DATASET)):
            data = Dataset.draw(rng, n, models)
            jitter = INIT * rng.normal(size=(models, splits))
            scores = split_scores(rng, data, masks(rng, splits, n, n_train), jitter)
            # A few examples may teach the wrong direction: such a run has collapsed, and a claim that is said to be
            # about the others is judged by their means, which need not be equal.
            fine, shift = scores >= 0.5, CENTRE - scores.mean(axis=1, keepdims=True)
            scores += shift
            clean.append((scores * fine).sum(axis=1) / np.maximum(fine.sum(axis=1), 1) - CENTRE)
            first = scores[:, : PER_DATASET * seeds].reshape(models, PER_DATASET, seeds)
            out.append(first.transpose(1, 0, 2))
        facts = {"replication": "resplit", "ratio": ratio, "n_test": n - n_train}
        truth = np.repeat(clean, PER_DATASET, axis=0)[:replicates]
        return World(np.concatenate(out)[:replicates], truth, **facts, all_runs=np.zeros((replicates, models)))

    return make


def folds(*, shared: bool, k: int = 5, splits: int = 2_000) -> Make:
    """One fixed partition into ``k`` folds that the seeds take in turn, centred as `resplit`.

    ``shared`` lets one initialisation serve all folds of a round, so that fold means move together.
    """

    def make(rng: np.random.Generator, shape: Shape) -> World:
        replicates, models, seeds = shape
        rounds, n = seeds // k, 100
        out = np.empty((replicates, models, seeds))
        for row in out:
            data = Dataset.draw(rng, n, models)
            jitter = INIT * rng.normal(size=(models, splits))
            centre = split_scores(rng, data, masks(rng, splits, n, n - n // k), jitter).mean(axis=1)
            part = 1.0 - (rng.permutation(n) % k == np.arange(k)[:, None])
            noise = INIT * rng.normal(size=(models, rounds, 1 if shared else k))
            each = np.broadcast_to(noise, (models, rounds, k)).reshape(models, seeds)
            row[:] = split_scores(rng, data, np.tile(part, (rounds, 1)), each) - centre[:, None] + CENTRE
        return equal(out, replication="fold", ratio=1 / (k - 1), splits=k, n_test=n // k)

    return make


def fold_effects(rng: np.random.Generator, shape: Shape, k: int = 5) -> World:
    """Folds whose differences are independent: the least favourable case of a covariance that is at most zero."""
    replicates, models, seeds = shape
    fold = rng.normal(0, SPREAD, (replicates, models, 1, k))
    scores = CENTRE + fold + 0.3 * SPREAD * rng.normal(size=(replicates, models, seeds // k, k))
    return equal(scores.reshape(shape), replication="fold", splits=k)


def new_examples(ratio: float, *, examples: int = 200) -> Make:
    """Accuracies whose test examples are a sample: equal for new examples, not for these.

    Each model finds its own examples hard, and a run has its own quality. A ratio of NaN is one fixed split, of which
    all examples are tested by every seed; otherwise each seed tests its own part, ``ratio`` of what it trains on.
    """

    def make(rng: np.random.Generator, shape: Shape) -> World:
        replicates, models, seeds = shape
        fixed = math.isnan(ratio)
        easy = 1 + rng.normal(size=(replicates, 1, 1, examples)) + rng.normal(size=(replicates, models, 1, examples))
        chance = 1 / (1 + np.exp(-(easy + 0.2 * rng.normal(size=(replicates, models, seeds, 1)))))
        right = (rng.random(chance.shape) < chance).astype(np.float64)
        if not fixed:
            tested = masks(rng, replicates * seeds, examples, round(examples * ratio / (1 + ratio)))
            right = np.where(tested.reshape(replicates, 1, seeds, examples) > 0, right, np.nan)
        facts = {"replication": "init" if fixed else "resplit", "ratio": ratio, "examples": right}
        return equal(np.nanmean(right, axis=3), n_test=int(np.isfinite(right[0, 0, 0]).sum()), **facts)

    return make
