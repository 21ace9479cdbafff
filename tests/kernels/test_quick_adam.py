"""The lean optimiser takes torch's steps, bit by bit."""

import pytest
import torch

from graphnetz.tasktypes.loop import OPTIMISERS
from graphnetz.tasktypes.quick_adam import QuickAdam


def parameters():
    generator = torch.Generator().manual_seed(0)
    return [torch.nn.Parameter(torch.randn(shape, generator=generator)) for shape in ((5, 3), (3,), (7, 2))]


def walk(optimiser, values, *, skip=()):
    for step in range(12):
        optimiser.zero_grad()
        generator = torch.Generator().manual_seed(step)
        used = [p for i, p in enumerate(values) if (step, i) not in skip]
        sum((p * torch.randn(p.shape, generator=generator)).sum() + p.square().sum() for p in used).backward()
        if step == 6:
            optimiser.param_groups[0]["lr"] *= 0.5
        optimiser.step()
    return [p.detach().clone() for p in values]


@pytest.mark.parametrize(("name", "cls"), [("adam", torch.optim.Adam), ("adamw", torch.optim.AdamW)])
@pytest.mark.parametrize("skip", [(), {(0, 1)}, {(4, 0), (5, 0)}])
def test_steps_equal_torch(name, cls, skip):
    mine, theirs = parameters(), parameters()
    quick = OPTIMISERS[name](mine, lr=0.01, weight_decay=0.1)
    assert type(quick) is QuickAdam
    plain = cls(theirs, lr=0.01, weight_decay=0.1, fused=True)
    for a, b in zip(walk(quick, mine, skip=skip), walk(plain, theirs, skip=skip), strict=True):
        assert torch.equal(a, b)


def test_closure_and_schedule_work_as_in_torch():
    values = parameters()
    quick = QuickAdam(values, lr=0.1, weight_decay=0.0)
    schedule = torch.optim.lr_scheduler.ReduceLROnPlateau(quick, factor=0.5, patience=0)

    def closure():
        quick.zero_grad()
        loss = sum(p.square().sum() for p in values)
        loss.backward()
        return loss

    with torch.enable_grad():
        first = float(quick.step(closure).detach())
        second = float(quick.step(closure).detach())
    assert second < first
    for loss in (1.0, 2.0):
        schedule.step(loss)
    assert quick.param_groups[0]["lr"] == 0.05


def test_mixed_types_stay_with_torch():
    mixed = [torch.nn.Parameter(torch.ones(2)), torch.nn.Parameter(torch.ones(2, dtype=torch.float64))]
    assert type(OPTIMISERS["adam"](mixed, lr=0.1, weight_decay=0.0)) is torch.optim.Adam
