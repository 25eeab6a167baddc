"""Exact arithmetic with python-flint, in numpy arrays of objects: zero error that is zero."""

import math
from collections.abc import Sequence
from fractions import Fraction
from numbers import Rational
from typing import Any

import flint
import numpy as np


def same_arithmetic(x: Any, weight: Any, floats: str = "model.to(torch.float64)") -> None:
    """TypeError unless a model with this weight takes x; `floats` is what takes floats instead."""
    theirs, numpy = f"weights in {weight.dtype}", isinstance(x, np.ndarray)
    if not isinstance(weight, np.ndarray):
        fits = not numpy and getattr(x, "dtype", None) == weight.dtype
        do = f"call it on a tensor, x.to({weight.dtype})"
    elif weight.dtype.kind == "f":
        fits, do = numpy, "call it on a numpy array"
    else:
        fits, theirs = numpy and x.dtype.kind != "f", "exact weights"
        do = f"take {floats}, or call it on rationals(x)"
    if not fits:
        given = f"{type(x).__name__} of {getattr(x, 'dtype', 'numbers')}"
        raise TypeError(f"the model has {theirs} and was called on a {given}: {do}")


def rational(value: Any) -> flint.fmpq:
    """An exact rational from an integer, a Fraction, a float (its exact value) or 'p/q'."""
    kind = type(value)
    if kind is flint.fmpq:
        return value
    if kind is int or kind is flint.fmpz:
        return flint.fmpq(value)
    if kind is float:
        return flint.fmpq(*value.as_integer_ratio())
    if hasattr(value, "item") and type(plain := value.item()) is not kind:  # numpy and torch
        return rational(plain)
    if kind is str or isinstance(value, Rational):
        value = Fraction(value)
    if not hasattr(value, "as_integer_ratio"):
        raise TypeError(f"{value!r} is no rational: give an integer, a Fraction, a float or 'p/q'")
    numerator, denominator = value.as_integer_ratio()
    return flint.fmpq(int(numerator), int(denominator))


def rationals(values: Any) -> np.ndarray:
    """An array of exact rationals, of the shape of `values`."""
    array = np.asarray(values, dtype=object)
    return vector([rational(value) for value in array.ravel().tolist()]).reshape(array.shape)


def rational_zeros(*shape: int) -> np.ndarray:
    """The rational 0 at every place."""
    return np.full(shape, flint.fmpq(0), dtype=object)


def vector(values: Sequence[Any]) -> np.ndarray:
    """A one-dimensional array of these objects (numpy would take a polynomial for a list)."""
    return np.fromiter(values, dtype=object, count=len(values))


def symbols(*names: str) -> list[flint.fmpq_mpoly]:
    """Generators of the ring of polynomials with rational coefficients."""
    return list(flint.fmpq_mpoly_ctx.get(names, "degrevlex").gens())


def to_float(values: Any, *, to_odd: bool = False) -> np.ndarray:
    """Exact numbers rounded to float64, each once.

    With `to_odd`, what is not a float64 goes to the neighbour whose last bit is odd. Rounded again,
    to a type with at most 51 bits, it is then as if rounded once (Boldo and Melquiond 2008).
    """
    array = np.asarray(values, dtype=object)
    others = array.astype(bool)  # most weights are 0, and are soon done
    rounded = np.zeros(array.shape)
    rounded[others] = [(_odd if to_odd else _nearest)(v) for v in array[others].tolist()]
    return rounded


def _nearest(value: Any) -> float:
    if type(value) is flint.fmpq:  # int / int in Python is correctly rounded
        return int(value.p) / int(value.q)
    return float(value)


def _odd(value: Any) -> float:
    nearest, value = _nearest(value), rational(value)
    if rational(nearest) == value or int(math.frexp(nearest)[0] * 2**53) % 2:
        return nearest
    return math.nextafter(nearest, math.inf if value > rational(nearest) else -math.inf)


def annihilator(columns: np.ndarray) -> np.ndarray:
    """The w with sum_i w_i columns[i] = 0, exactly, for n + 1 rows of n rational functions."""
    rows, n = columns.shape
    integers, _ = flint.fmpq_mat(n, rows, rationals(columns.T).ravel().tolist()).numer_denom()
    kernel, nullity = integers.nullspace()
    if rows != n + 1 or nullity != 1:
        raise ValueError(f"one w for {rows} points and {n} functions, there are {nullity}")
    return vector([kernel[i, 0] for i in range(rows)])
