"""Every registered encoder on every task type gives the numbers of the plain PyG layers.

Parametrised over the registries: a new model or task type is covered as soon as it is registered.
"""

from pathlib import Path

import pytest
import torch

import graphnetz.kernels as gk
from graphnetz._core.rng import training_context
from graphnetz.models import MODELS
from graphnetz.tasktypes import TASK_TYPES, evaluate
from graphnetz.testing import examples as graphs

PAIRS = [
    (model, kind)
    for model, spec in MODELS.items()
    if spec.kind != "predictor"
    for kind in TASK_TYPES
    if spec.serves(kind)
]


ATTENTION = [(model, kind) for model, kind in PAIRS if model in ("GAT", "GraphTransformer", "GPS")]


def with_edge_attributes(dataset):
    """The same graphs with two numbers on every edge."""
    graphs_of = dataset if isinstance(dataset, list) else [dataset]
    for number, graph in enumerate(graphs_of):
        source = torch.Generator().manual_seed(number)
        graph.edge_attr = torch.rand(graph.edge_index.size(1), 2, generator=source)
    return dataset


def outcome(model, kind, dtype, *, fast, prepare=lambda dataset: dataset):
    """Loss and gradients of one training batch, and outputs in evaluation, after the same initialisation."""
    task = TASK_TYPES[kind]
    with training_context(0, dtype=dtype), gk.enabled(fast), gk.torch_dropout_stream():
        split = task.split(prepare(graphs.EXAMPLES[kind]()), 0)
        torch.manual_seed(1)
        built = MODELS[model].build(kind, split.dims, 8).to(getattr(torch, dtype))
        with gk.accelerate(built, split.data):
            scores = evaluate(task, built, split)
            built.train()
            torch.manual_seed(2)
            batch = next(iter(task.batches(split, 8)))
            torch.manual_seed(3)
            own = getattr(built, "training_loss", None)
            loss = task.loss(built, split, batch) if own is None else own(batch)
            parameters = [p for p in built.parameters() if p.requires_grad]
            grads = torch.autograd.grad(loss, parameters, allow_unused=True)
    return loss.detach(), grads, scores


def close(a, b, tolerance):
    assert (a is None) == (b is None)
    if a is not None:
        scale = max(1.0, float(b.abs().max())) if b.numel() else 1.0
        torch.testing.assert_close(a / scale, b / scale, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize(("model", "kind"), PAIRS)
@pytest.mark.parametrize(("dtype", "tolerance"), [("float64", 1e-9), ("float32", 2e-4)])
def test_encoder_equals_plain_layers(model, kind, dtype, tolerance):
    assert_equal(*(outcome(model, kind, dtype, fast=flag) for flag in (True, False)), tolerance)


@pytest.mark.parametrize(("model", "kind"), ATTENTION)
@pytest.mark.parametrize(("dtype", "tolerance"), [("float64", 1e-9), ("float32", 2e-4)])
def test_encoder_with_edge_attributes_equals_plain_layers(model, kind, dtype, tolerance):
    found = [outcome(model, kind, dtype, fast=flag, prepare=with_edge_attributes) for flag in (True, False)]
    assert_equal(*found, tolerance)
    bare = outcome(model, kind, dtype, fast=True)
    assert not torch.equal(bare[0], found[0][0])  # the attributes take part


def assert_equal(fast, plain, tolerance):
    close(fast[0], plain[0], tolerance)
    for a, b in zip(fast[1], plain[1], strict=True):
        close(a, b, tolerance)
    for part in ("val", "test"):
        close(fast[2][part], plain[2][part], tolerance)


def test_the_built_in_encoders_are_covered():
    covered = {model for model, _ in PAIRS}
    assert {"GCN", "GAT", "GraphSAGE", "GraphTransformer", "GIN", "GPS", "MLP"} <= covered
    assert {kind for _, kind in PAIRS} == set(TASK_TYPES)


def test_encoders_are_plain_pyg_code():
    """Speed comes through `accelerate`, which built-in and user-written models share."""
    folder = Path(gk.__file__).parents[1] / "models"
    calling = {file.name for file in folder.glob("*.py") if "graphnetz.kernels" in file.read_text("utf-8")}
    assert calling == set()
    assert len(list(folder.glob("*.py"))) > 15
