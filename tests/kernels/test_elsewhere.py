"""Whole trainings on a device that is none: no operation meets two devices, and the numbers are those of the CPU.

The tensors of `fake_device` say that they lie on another device and compute on the CPU. What runs there is the code that
would run on a GPU, data movement included; nothing is said about a GPU's own kernels and rounding.
"""

from __future__ import annotations

import numpy as np
import pytest
import torch
from fake_device import PLACE, Elsewhere, There

from graphnetz import kernels as gk
from graphnetz._core import device as devices
from graphnetz._core.rng import training_context
from graphnetz.engine.fitting import train_once
from graphnetz.models import MODELS
from graphnetz.records import Protocol
from graphnetz.tasktypes import TASK_TYPES
from graphnetz.testing import examples as graphs

# PyG's dense batch of GPS makes a number on the device in a way that no mode of torch sees.
ENCODERS = [name for name, spec in MODELS.items() if spec.kind == "encoder" and name != "GPS"]
PREDICTORS = [name for name, spec in MODELS.items() if spec.kind == "predictor"]


def first_kind(name):
    return next(kind for kind in TASK_TYPES if MODELS[name].serves(kind))


PAIRS = [(name, first_kind(name)) for name in ENCODERS]
PAIRS += [("GCN", kind) for kind in TASK_TYPES if ("GCN", kind) not in PAIRS and MODELS["GCN"].serves(kind)]


@pytest.fixture(autouse=True)
def there(monkeypatch):
    """The device is here, and modules that move there get parameters of their own."""
    monkeypatch.setattr(devices, "_require_present", lambda device: None)
    torch.__future__.set_overwrite_module_params_on_conversion(True)
    yield
    torch.__future__.set_overwrite_module_params_on_conversion(False)


def trained(model, kind, device):
    task, protocol = TASK_TYPES[kind], Protocol(epochs=2, hidden_channels=8, batch_size=8, device=str(device))
    with training_context(0), gk.torch_dropout_stream():
        split = task.split(graphs.EXAMPLES[kind](), 0)
        if device != "cpu":
            split = split.to(device)
        return train_once(task, MODELS[model], split, protocol, 0)


@pytest.mark.parametrize(("model", "kind"), PAIRS)
@pytest.mark.filterwarnings("ignore:Converting a tensor with requires_grad")
def test_a_training_elsewhere_gives_the_numbers_of_the_cpu(model, kind):
    with gk.enabled(False):
        here, _ = trained(model, kind, "cpu")
    with Elsewhere():
        found, module = trained(model, kind, PLACE)
        assert all(isinstance(p, There) for p in module.parameters())
    assert found.metrics == pytest.approx(here.metrics, rel=1e-5, abs=1e-6, nan_ok=True)
    for part, scores in here.scores.items():
        np.testing.assert_allclose(found.scores[part], scores, rtol=1e-4, atol=1e-5)
    assert "in kernels" not in found.layers or found.layers.startswith("0 of")


@pytest.mark.parametrize("name", PREDICTORS)
def test_what_computes_with_numpy_does_so_on_the_cpu(name):
    """A split that was moved for the networks is moved back for rules, embeddings and forests."""
    here, _ = trained(name, first_kind(name), "cpu")
    with Elsewhere():
        found, _ = trained(name, first_kind(name), PLACE)
    assert found.metrics == pytest.approx(here.metrics, rel=0, abs=0, nan_ok=True)


def test_the_record_notices_what_a_gpu_would_refuse():
    with Elsewhere():
        there = torch.ones(3, 2).to(PLACE)
        with pytest.raises(AssertionError, match="two devices"):
            there + torch.ones(3, 2)
        with pytest.raises(TypeError, match="numpy"):
            there.numpy()
        assert type(there.cpu()) is torch.Tensor
        assert torch.zeros(2, device=there.device).device == PLACE
        linear = torch.nn.Linear(2, 3).to(PLACE)
        linear(there).sum().backward()
        assert isinstance(linear.weight.grad, There)


@pytest.mark.parametrize("name", ["gcn", "gat", "sg", "cheb", "pna"])
def test_layers_that_look_at_values_keep_their_tensors(name):
    """Those that the meta device cannot run: the layer's own code, every operation looked at."""
    from kernel_graphs import convs, features, random_edges

    torch.manual_seed(0)
    conv, x, edges = convs(5)[name], features(12, 5, 0, torch.float32), random_edges(12, 40)
    with gk.enabled(False):
        here = conv(x, edges)
    with Elsewhere():
        moved = conv.to(PLACE)
        with gk.accelerate(moved) as report:
            out = moved(x.to(PLACE), edges.to(PLACE))
            out.sum().backward()
        assert report.in_kernels == 0
        assert all(isinstance(p.grad, There) for p in moved.parameters() if p.grad is not None)
        np.testing.assert_allclose(out.detach().cpu().numpy(), here.detach().numpy(), rtol=1e-5, atol=1e-6)
