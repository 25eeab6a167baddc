"""What claims search over, by hypothesis; each strategy serves more than one claim."""

from fractions import Fraction
from typing import Any

from hypothesis import strategies as st

from repro.fang2022.polynomials import Polynomial, exponents_up_to
from repro.numerics.exact import rational, rationals


@st.composite
def factors(draw: Any) -> Any:
    """n, q, M > 0, any t, and x, y with |x_i|, |y_i| <= M, the ends of the interval included."""
    n, q = draw(st.integers(1, 6)), draw(st.integers(3, 7))
    M = draw(st.fractions(Fraction(1, 100), 100, max_denominator=100))
    factor = st.sampled_from([-M, M, 0 * M]) | st.fractions(-M, M, max_denominator=1000)
    number = st.fractions(-(10**6), 10**6, max_denominator=9)
    values = [draw(st.lists(s, min_size=n, max_size=n)) for s in (number, factor, factor)]
    return n, q, rational(M), *map(rationals, values)


@st.composite
def polynomials(draw: Any, largest: dict[int, int]) -> Any:
    """q and a polynomial of degree at most q, sparse or dense; for d variables q <= largest[d]."""
    d = draw(st.sampled_from(sorted(largest)))
    q = draw(st.integers(1, largest[d]))
    number = st.fractions(-100, 100, max_denominator=30)
    terms = exponents_up_to(d, q)
    chosen = draw(st.dictionaries(st.sampled_from(terms), number, max_size=len(terms)))
    return q, Polynomial(d, chosen)
