"""Polynomials Q in P_q(R^d) with rational coefficients, and the two targets of Section 5."""

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import flint
import numpy as np
import torch

from repro.numerics.exact import rational

Exponents = tuple[int, ...]


@dataclass(frozen=True)
class Polynomial:
    """Q(x) = sum over a of coefficients[a] x_1^a_1 ... x_d^a_d; the coefficients are kept exactly.

    >>> Q = Polynomial(2, {(2, 0): 1, (0, 2): 1})  # x_1^2 + x_2^2
    >>> Q(torch.tensor([3.0, 4.0]))
    tensor(25.)
    """

    d: int
    coefficients: Mapping[Exponents, Any]

    def __post_init__(self) -> None:
        if self.d < 1:
            raise ValueError(f"Lemma 3.3 needs d >= 1 variables, got d={self.d}")
        for a in self.coefficients:
            if len(a) != self.d or any(type(e) is not int or e < 0 for e in a):
                raise ValueError(f"an exponent is {self.d} integers >= 0 here, got {a}")
        exact = {a: rational(c) for a, c in self.coefficients.items()}
        object.__setattr__(self, "coefficients", {a: c for a, c in exact.items() if c != 0})

    @property
    def degree(self) -> int:
        """The largest degree of a term; 0 for constants, the constant 0 included."""
        return max((sum(a) for a in self.coefficients), default=0)

    def part(self, *degrees: int) -> "Polynomial":
        """The terms of these degrees."""
        return Polynomial(self.d, {a: c for a, c in self.coefficients.items() if sum(a) in degrees})

    def at_zero(self) -> flint.fmpq:
        return self.coefficients.get((0,) * self.d, flint.fmpq(0))

    def __call__(self, x: Any) -> Any:  # (..., d) -> (...), tensors or arrays of exact numbers
        if x.shape[-1] != self.d:
            raise ValueError(f"Q has d={self.d} variables, x has {x.shape[-1]}")
        floating = isinstance(x, torch.Tensor)
        total = 0 * x[..., 0]
        for a, c in self.coefficients.items():
            factor = int(c.p) / int(c.q) if floating else c
            total = total + math.prod((x[..., i] ** e for i, e in enumerate(a) if e), start=factor)
        return total


def exponents(d: int, s: int) -> Iterator[Exponents]:
    """All a in N^d with |a| = s: the monomials of P_s^h(R^d), n_s of them."""
    for factors in itertools.combinations_with_replacement(range(d), s):
        yield tuple(map(factors.count, range(d)))


def exponents_up_to(d: int, q: int) -> list[Exponents]:
    """All a in N^d with |a| <= q: the monomials of P_q(R^d)."""
    return [a for s in range(q + 1) for a in exponents(d, s)]


def random_polynomial(d: int, q: int, rng: np.random.Generator) -> Polynomial:
    """Every coefficient up to degree q is one of -9, ..., -1, 1, ..., 9: none is 0."""
    terms = exponents_up_to(d, q)
    values = rng.integers(1, 10, len(terms)) * rng.choice([-1, 1], len(terms))
    return Polynomial(d, dict(zip(terms, values.tolist(), strict=True)))


def dimension(d: int, s: int) -> int:
    """n_s = C(d-1+s, s), the dimension of P_s^h(R^d)."""
    return math.comb(d - 1 + s, s)


def bombieri(a: Exponents) -> flint.fmpq:
    """<x^a, x^a> = a! / s!, s = |a|, in the inner product with <p, (xi . x)^s> = p(xi)."""
    return flint.fmpq(math.prod(map(math.factorial, a)), math.factorial(sum(a)))


def monomials(x: np.ndarray, s: int) -> np.ndarray:
    """All monomials of degree s at the rows of x: (n, d) -> (n_s, n), in the order of exponents."""
    powers = [0 * x.T + 1]  # s + 1 arrays (d, n)
    for _ in range(s):
        powers.append(powers[-1] * x.T)
    return products(powers, exponents(x.shape[1], s))


def products(factors: Sequence[np.ndarray], terms: Iterable[Exponents]) -> np.ndarray:
    """For each a the product over i of factors[a_i][i], (n,); factors[0] is 1; (terms, n)."""
    parts = ([factors[e][i] for i, e in enumerate(a) if e] for a in terms)
    return np.stack([math.prod(some, start=factors[0][0]) for some in parts])


def _sparse(d: int, *terms: tuple[int, dict[int, int]]) -> Polynomial:
    """Terms (coefficient, {variable: power}), the variables counted from 1 as in the paper."""
    of = {tuple(powers.get(i, 0) for i in range(1, d + 1)): c for c, powers in terms}
    return Polynomial(d, of)


F_1_STAR = _sparse(2, (1, {1: 2}), (1, {2: 2}))  # Section 5: x_1^2 + x_2^2, d = q = 2
F_2_STAR = _sparse(  # Section 5: d = 10, q = 5
    10,
    *((1, {1: 5}), (3, {2: 4}), (2, {3: 3}), (5, {3: 1, 4: 1})),
    *((3, {5: 2}), (2, {6: 1, 7: 1, 8: 1}), (2, {9: 1})),
)
