"""What claims draw at random: strategies of hypothesis, and models; each serves several claims."""

import functools
from fractions import Fraction
from typing import Any

import numpy as np
from hypothesis import strategies as st

from repro.fang2022 import powers
from repro.fang2022.model import Block, Transformer, shapes
from repro.fang2022.polynomials import Polynomial, dimension, exponents_up_to, random_polynomial
from repro.fang2022.ridge import directions, random_rational
from repro.numerics.exact import rational, rationals


def _quotients(largest: int, denominators: int, below_one: bool = False) -> Any:
    """Pairs of integers (p, q) as p/q, or as p/(q + |p|), which is any rational in (-1, 1)."""
    pairs = st.tuples(st.integers(-largest, largest), st.integers(1, denominators))
    return pairs.map(lambda pair: Fraction(pair[0], pair[1] + below_one * abs(pair[0])))


bounds = st.tuples(st.integers(1, 100), st.integers(1, 100)).map(lambda pair: Fraction(*pair))
# setting: which values are tried often; beside them every share is drawn
often = st.sampled_from([-1, 1, 0, Fraction(1, 2), Fraction(-1, 2)])
shares = often | _quotients(1000, 1000, below_one=True)
numbers = _quotients(10**6, 9)
coefficients = _quotients(100, 30)


@st.composite
def factors(draw: Any) -> Any:
    """n, q, M > 0, any t, and x, y with |x_i|, |y_i| <= M, the ends of the interval included."""
    n, q = draw(st.integers(1, 6)), draw(st.integers(3, 7))
    M = rational(draw(bounds))
    t, x, y = (rationals([draw(s) for _ in range(n)]) for s in (numbers, shares, shares))
    return n, q, M, t, x * M, y * M


@st.composite
def polynomials(draw: Any, largest: dict[int, int]) -> Any:
    """q and a polynomial of degree at most q, sparse or dense; for d variables q <= largest[d]."""
    d = draw(st.sampled_from(sorted(largest)))
    q = draw(st.integers(1, largest[d]))
    terms = exponents_up_to(d, q)
    some = st.dictionaries(st.sampled_from(terms), coefficients, max_size=len(terms))
    return q, Polynomial(d, draw(some))


@st.composite
def points_of_the_ball(draw: Any) -> Any:
    """q, a polynomial, B, and x in the ball: |share| B along directions, some on the surface."""
    q, Q = draw(polynomials({1: 7, 2: 5, 3: 3}))
    B, along = draw(bounds), st.integers(0, dimension(Q.d, q) - 1)
    points = draw(st.lists(st.tuples(along, shares), min_size=1, max_size=4))
    rows = directions(Q.d, q)[[k for k, _ in points]]
    return q, Q, B, rows * rationals([[share] for _, share in points]) * rational(B)


def random_block(rng: np.random.Generator, n: int, q: int, rank_one: bool = False) -> Block:
    """The printed shapes of Section 2.2, integer weights from -2 to 2: many scores tie."""
    size, draw = n + q + 2, functools.partial(_integers, rng)
    weights = [
        draw(size, 1) * draw(1, size) if rank_one and shape == (size, size) else draw(*shape)
        for shape in shapes(n + 1, size)
    ]
    return Block(*weights)


def random_model(rng: np.random.Generator, d: int, n: int, q: int, blocks: int) -> Transformer:
    """Random blocks, and integers from -2 to 2 for F, beta and b."""
    built = tuple(random_block(rng, n, q) for _ in range(blocks))
    F, beta = _integers(rng, n, d), _integers(rng, n * (n + q + 2))
    return Transformer(F, built, beta, _integers(rng, 1)[0])


def generic_model(rng: np.random.Generator, d: int, q: int, B: Any) -> Transformer:
    """Theorem 3.5's model with no free entry 0: a dense Q, directions without zero coordinates."""
    n, Q = dimension(d, q), random_polynomial(d, q, rng)
    used = sum(dimension(d, s) for s in range(1, q + 1))  # beta_{k,s} that Lemma 3.3 needs
    while True:
        xi = random_rational(d, n, rng) if d > 1 else rationals([[1]])
        try:
            model = powers.construction(Q, B, q=q, directions=xi)
        except ValueError:  # not independent: draw again
            continue
        if (xi != 0).all() and int((powers.slots_of(model) != 0).sum()) == used:
            return model


def _integers(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return rationals(rng.integers(-2, 3, shape).tolist())
