"""Section 2: the single-head self-attention encoder block, literally as printed.

Paper                  Here                        Meaning
Z = [z_1, ..., z_n]    Z      (..., n+q+2, n)      the tokens are the columns
W^Q, W^K               W_Q, W_K    (n+1, n+q+2)    query and key matrix
W^V                    W_V       (n+q+2, n+q+2)    value matrix
alpha_i                alpha[..., i, :]  (n,)      attention vector of token i
m-hat                  one_hot_maximum             keeps the largest value, sets the others to 0
W_1, b_1, W_2, b_2     the same                    ReLU layer with two units

One forward pass serves torch tensors of any type on any device, and numpy arrays of objects
(rationals, balls, polynomials), with any leading batch dimensions.

Readings and departures:
- z'_i = z-hat_i + W_2 sigma(W_1 z-hat_i + b_1) + b_2; Section 2.2 and the proof of Lemma 3.1 print
  z-hat_1 inside sigma, which would give every token the product of the first.
- k_i = W^K z_i, as Section 2.2 has it; the proof of Lemma 3.1 prints W^Q.
- m-hat keeps ONE largest value, the first at a tie, of which Section 2.2 says nothing: "one hot".
- Indices count from 0 here, from 1 in the paper; `Layout` translates.
"""

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, Self

import numpy as np
import torch

from repro.numerics.exact import rational_zeros, same_arithmetic, to_float

Array = Any  # a torch tensor, or a numpy array of objects
Branch = Callable[[Array], Array]  # a nonlinearity, or what it does where that is known


@dataclass(frozen=True)
class Layout:
    """Rows of a token z_i = [t_i, e_i, q slots, 1] in R^(n+q+2)."""

    n: int
    q: int

    @property
    def size(self) -> int:
        return self.n + self.q + 2

    @property
    def one(self) -> int:
        """The last row, where every token has the constant 1."""
        return self.n + self.q + 1

    def slot(self, s: int) -> int:
        """Row of the s-th storage slot, s = 1, ..., q."""
        if not 1 <= s <= self.q:
            raise ValueError(f"there are slots 1 to q={self.q}, not {s}")
        return self.n + s

    def tokens(self, t: Array, *slots: Array) -> Array:
        """Z with t_i in the first row and the given values in the first slots; t: (..., n)."""
        zero = 0 * t
        filled = [*slots, *[zero] * (self.q - len(slots))]
        tensor = isinstance(t, torch.Tensor)
        e = torch.eye(self.n).to(t) if tensor else np.eye(self.n, dtype=int).astype(object)
        rows = [t, *(zero + row for row in e), *filled, zero + 1]  # n + q + 2 of them
        return torch.stack(rows, -2) if tensor else np.stack(rows, -2)

    def readout(self, rows: Any, values: Array) -> Array:
        """beta of Section 2.2 that reads these rows of every token with these weights (n, ...)."""
        beta = rational_zeros(self.n, self.size)
        beta[:, rows] = values
        return beta.ravel()


def product(a: Array, b: Array) -> Array:
    """a b; of objects, what is 0 in a for the whole batch is left out, as most weights are."""
    if isinstance(a, torch.Tensor):
        return a @ b
    some = a.astype(bool).any(axis=tuple(range(a.ndim - 2)))
    zero = 0 * a[..., 0, :1] * b[..., 0, :]
    rows = [
        sum((a[..., i, j, None] * b[..., j, :] for j in np.flatnonzero(row)), start=zero)
        for i, row in enumerate(some)
    ]
    return np.stack(rows, -2)


def one_hot_maximum(alpha: Array) -> Array:
    """m-hat of Section 2.2 for every row alpha_i: the largest entry stays, the others become 0."""
    n = alpha.shape[-1]
    if isinstance(alpha, torch.Tensor):
        kept = alpha.argmax(-1, keepdim=True) == torch.arange(n, device=alpha.device)
        return torch.where(kept, alpha, 0)
    kept = np.argmax(alpha, -1)[..., None] == np.arange(n)
    return np.where(kept, alpha, 0 * alpha)


def keep_own(alpha: Array) -> Array:
    """m-hat where every token is known to win its own row: it needs no order, only symbols."""
    return alpha * np.eye(alpha.shape[-1], dtype=int).astype(object)


def relu(a: Array) -> Array:
    return a.relu() if isinstance(a, torch.Tensor) else np.where(a > 0, a, 0 * a)


def only_unit(active: int) -> Branch:
    """The ReLU layer where unit 1 or 2 is known to be active, and the other is not."""
    return lambda a: a * np.array([[int(active == 1)], [int(active == 2)]])


def shapes(heads: int, size: int) -> list[tuple[int, ...]]:
    """Of W_Q, ..., b_2 in Section 2.2, heads = n+1, size = n+q+2."""
    return [(heads, size), (heads, size), (size, size), (2, size), (size, 2), (2,), (size,)]


@dataclass(frozen=True)
class Block:
    """One transformer encoder block: its seven weights and its forward pass."""

    W_Q: Array  # (n+1, n+q+2)
    W_K: Array  # (n+1, n+q+2)
    W_V: Array  # (n+q+2, n+q+2)
    W_1: Array  # (2, n+q+2)
    W_2: Array  # (n+q+2, 2)
    b_1: Array  # (2,)
    b_2: Array  # (n+q+2,)

    def __call__(
        self, Z: Array, attend: Branch = one_hot_maximum, activate: Branch = relu
    ) -> Array:
        """B(A(Z)). Another `attend` or `activate` is a control, or a known branch of these."""
        same_arithmetic(Z, self.W_V)
        return self.fully_connected(self.attention(Z, attend), activate)

    def attention(self, Z: Array, attend: Branch = one_hot_maximum) -> Array:
        """A(Z) = [z-hat_1, ..., z-hat_n], z-hat_i = z_i + W^V Z m-hat(alpha_i)."""
        return Z + product(product(self.W_V, Z), attend(self.scores(Z)).mT)

    def scores(self, Z: Array) -> Array:
        """alpha[..., i, j] = <q_i, k_j>; (..., n, n)."""
        Q, K = product(self.W_Q, Z), product(self.W_K, Z)  # (..., n+1, n)
        return product(Q.mT, K)

    def fully_connected(self, Z_hat: Array, activate: Branch = relu) -> Array:
        """B(Z-hat) = [z'_1, ..., z'_n]."""
        hidden = activate(product(self.W_1, Z_hat) + self.b_1[:, None])  # (..., 2, n)
        return Z_hat + product(self.W_2, hidden) + self.b_2[:, None]

    def weights(self) -> dict[str, Array]:
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def nonzeros(self) -> int:
        """Entries that are not 0, over all seven weights."""
        return sum(int((weight != 0).sum()) for weight in self.weights().values())

    def to(self, dtype: torch.dtype, device: torch.device | str = "cpu") -> Self:
        """The same block in floating point; every weight is rounded once."""
        return type(self)(*(rounded(weight, dtype, device) for weight in self.weights().values()))


@dataclass(frozen=True)
class Transformer:
    """C^l(x) = beta . concat(T^l(x)) + b, with T^l = B^l A^l ... B^1 A^1 F(x)."""

    F: Array  # (n, d), rows xi_i
    blocks: tuple[Block, ...]
    beta: Array  # (n (n+q+2),)
    b: Any

    @property
    def layout(self) -> Layout:
        n = len(self.F)
        return Layout(n, len(self.beta) // n - n - 2)

    def __call__(self, x: Array, **branch: Branch) -> Array:  # (..., d) -> (...)
        same_arithmetic(x, self.F)
        Z = self.layout.tokens(x @ self.F.mT)  # F(x) = [z_1, ..., z_n], t_i = <xi_i, x>
        for block in self.blocks:
            Z = block(Z, **branch)
        return self.read(Z)

    def read(self, Z: Array) -> Array:
        columns = Z.mT  # concat: z_1 above z_2 above ...
        return columns.reshape(*columns.shape[:-2], len(self.beta)) @ self.beta + self.b

    def nonzeros(self) -> int:
        """Entries that are not 0, over F, all blocks, beta and b."""
        ends = sum(int((weight != 0).sum()) for weight in (self.F, self.beta))
        return ends + sum(block.nonzeros() for block in self.blocks) + int(bool(self.b != 0))

    def to(self, dtype: torch.dtype, device: torch.device | str = "cpu") -> Self:
        """The same model in floating point; every weight is rounded once."""
        F, beta, b = (rounded(weight, dtype, device) for weight in (self.F, self.beta, self.b))
        return type(self)(F, tuple(block.to(dtype, device) for block in self.blocks), beta, b)


def rounded(exact: Array, dtype: torch.dtype, device: torch.device | str = "cpu") -> torch.Tensor:
    """An array of exact numbers as a tensor; the entries must be convertible to float."""
    return torch.from_numpy(to_float(exact, to_odd=dtype != torch.float64)).to(device, dtype)
