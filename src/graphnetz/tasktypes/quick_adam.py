"""Adam with little ado: torch's fused update without what surrounds it, which small models spend most time in."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

_Lists = tuple[list[Tensor], list[Tensor], list[Tensor], list[Tensor]]


class QuickAdam(torch.optim.Adam):
    """`torch.optim.Adam` or, with ``decoupled``, `torch.optim.AdamW`: same update, same state, same numbers.

    The first step is torch's own and makes the state; later ones call the fused update on it at once. A
    parameter that has no gradient, or lost or gained one, and a closure send the step back to torch.
    """

    def __init__(self, parameters: Any, *, lr: float, weight_decay: float, decoupled: bool = False) -> None:
        super().__init__(parameters, lr=lr, weight_decay=weight_decay, fused=True, decoupled_weight_decay=decoupled)
        self._update = torch._fused_adamw_ if decoupled else torch._fused_adam_
        self._lists: list[_Lists] = []
        self.step = self._step  # type: ignore[method-assign]  # torch wraps a class's own in hooks

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget the gradients."""
        if not set_to_none:
            super().zero_grad(set_to_none=False)
            return
        for group in self.param_groups:
            for parameter in group["params"]:
                parameter.grad = None

    @torch.no_grad()
    def _step(self, closure: Callable[[], Any] | None = None) -> Any:
        gradients = [[p.grad for p in group["params"]] for group in self.param_groups]
        if closure is not None or any(g is None for row in gradients for g in row):
            self._lists = []
            return torch.optim.Adam.step(self, closure)
        if not self._lists:
            torch.optim.Adam.step(self)
            self._lists = [self._state_of(group["params"]) for group in self.param_groups]
            return None
        for group, (parameters, first, second, steps), row in zip(
            self.param_groups, self._lists, gradients, strict=True
        ):
            torch._foreach_add_(steps, 1)
            self._update(
                parameters, row, first, second, [], steps,
                lr=group["lr"], beta1=group["betas"][0], beta2=group["betas"][1],
                weight_decay=group["weight_decay"], eps=group["eps"], amsgrad=False, maximize=False,
            )  # fmt: skip
        return None

    def _state_of(self, parameters: list[Tensor]) -> _Lists:
        state = [self.state[p] for p in parameters]
        columns = ([s[key] for s in state] for key in ("exp_avg", "exp_avg_sq", "step"))
        return parameters, *columns  # type: ignore[return-value]
