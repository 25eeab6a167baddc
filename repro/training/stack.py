"""Several models of one shape, trained in one loop: one product of stacked matrices for all.

The members keep parameters of their own, and can be taken out and used like any other model. Only
the forward pass sees them stacked.
"""

import copy
from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import Tensor, nn


class Stack(nn.Module):
    def __init__(self, models: Sequence[nn.Module]) -> None:
        super().__init__()
        if any(list(model.buffers()) for model in models):
            raise ValueError("a stack cannot hold models with buffers: they would not be updated")
        for number, model in enumerate(models):  # a bare number could be the name of a layer
            self.add_module(f"member {number}", model)
        self._one = [copy.deepcopy(models[0]).to("meta")]  # in a list: not a member, not saved

    @property
    def models(self) -> list[nn.Module]:
        return list(self.children())

    def forward(self, *inputs: Tensor, shared: bool = False) -> Tensor:
        """Outputs of all members, (members, ...); inputs are stacked alike unless all share one."""

        def one(weights: dict[str, Tensor], *inputs: Tensor) -> Any:
            return torch.func.functional_call(self._one[0], weights, inputs)

        axes = (0, *(None if shared else 0 for _ in inputs))
        return torch.func.vmap(one, in_dims=axes)(self.weights(), *inputs)

    def weights(self) -> dict[str, Tensor]:
        """The parameters of all members, each name stacked: (members, ...)."""
        return {
            name: torch.stack([model.get_parameter(name) for model in self.models])
            for name, _ in self._one[0].named_parameters()
        }


def members(model: nn.Module) -> Iterator[nn.Module]:
    """The models of a stack, or the model itself."""
    yield from model.models if isinstance(model, Stack) else (model,)
