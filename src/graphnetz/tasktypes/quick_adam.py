"""Adam without per-parameter overhead: torch's fused update alone; what surrounds it costs small models more."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

_Lists = tuple[list[Tensor], list[Tensor], list[Tensor], Tensor]


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
            self._hand_back()
            return torch.optim.Adam.step(self, closure)
        if not self._lists:
            torch.optim.Adam.step(self)
            if self._in_step():
                self._lists = [self._state_of(group["params"]) for group in self.param_groups]
            return None
        for group, (parameters, first, second, count), row in zip(
            self.param_groups, self._lists, gradients, strict=True
        ):
            count += 1
            self._update(
                parameters, row, first, second, [], [count] * len(parameters),
                lr=group["lr"], beta1=group["betas"][0], beta2=group["betas"][1],
                weight_decay=group["weight_decay"], eps=group["eps"], amsgrad=False, maximize=False,
            )  # fmt: skip
        return None

    def _in_step(self) -> bool:
        """Whether all parameters of a group were updated equally often, so that one count serves all."""
        return all(len({float(self.state[p]["step"]) for p in group["params"]}) == 1 for group in self.param_groups)

    def _state_of(self, parameters: list[Tensor]) -> _Lists:
        state = [self.state[p] for p in parameters]
        return parameters, [s["exp_avg"] for s in state], [s["exp_avg_sq"] for s in state], state[0]["step"].clone()

    def _hand_back(self) -> None:
        """Give torch its own state, in which every parameter counts for itself."""
        for parameters, _, _, count in self._lists:
            for parameter in parameters:
                self.state[parameter]["step"] = count.clone()
        self._lists = []

    def state_dict(self) -> dict[str, Any]:
        """State as torch keeps it."""
        self._hand_back()
        return super().state_dict()
