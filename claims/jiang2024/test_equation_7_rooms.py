"""Equation (7) (jiang2024, Section 4.1): an encoding gives every position a set of its own.

x(t) -> A x(t) + e(t), x(t) in [0, 1]^d, puts the tokens into compact sets I_1, ..., I_tau, which we
call rooms; any two are disjoint. Then no admissible sequence is a rearrangement of another one, and
permutation equivariance excludes no target.

Proof. For A = I and e(t) = 2t (1, ..., 1) token t lies in [2t, 2t + 1]^d, and for A = (I, 0) and
e(t) = (0, t) its last coordinate is t: for every tau and d the rooms are compact and at least 1
apart. Let x and x o p be admissible. Token t of x o p is x(p(t)), which lies in I_p(t) and in I_t.
Rooms are disjoint, so p(t) = t for every t. Equivariance, H(x o p) = H(x) o p for admissible x and
x o p, therefore asks nothing of a map H.                                                       QED

Checked, in rationals, for both encodings: every token tells its t, rooms are at least 1 apart, and
of all rearrangements of an encoded sequence only the identity is admissible. On encoded tokens a
Transformer (5) gives H_t(x) = sum_s M_ts x(s), for any positive M with rows of sum 1; this map is
not equivariant.

Readings: (7) is printed for all i, j, which for i = j would ask for empty sets; i != j is meant.
An encoding that merely differs for every t, as e(t) = t/2, is not enough: e(t) - e(s) must leave
[-1, 1]^d (control).
"""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import strategies as st

from repro.bounds import theorem
from repro.jiang2024 import encodings, selection
from repro.numerics import arrays, exact, logarithms

both = pytest.mark.parametrize("encoding", ["appended", "shifted"])


def position(encoding, token):
    """The t of an encoded token; None outside of all rooms."""
    values = [Fraction(str(a)) for a in token]
    if encoding == "appended":
        t, rest = values[-1], values[:-1]
    else:
        t = values[0] // 2
        rest = [v - 2 * t for v in values]
    return int(t) if t == int(t) and all(0 <= v <= 1 for v in rest) else None


fractions = st.integers(0, 8).map(lambda k: Fraction(k, 8))
sequences = st.integers(1, 2).flatmap(
    lambda d: st.lists(st.lists(fractions, min_size=d, max_size=d), min_size=2, max_size=4)
)


@both
@pytest.mark.exact
def test_every_token_tells_its_position(encoding, claim):
    encode = getattr(encodings, encoding)

    def wrong(x):
        rooms = [position(encoding, token) for token in encode(exact.rationals(x))]
        return sum(room != t for t, room in enumerate(rooms, start=1))

    examples = claim.at_scale(smoke=20, laptop=150, paper=4000)
    claim.for_all("tokens elsewhere", sequences, wrong, equation="(7)", examples=examples)


@both
@pytest.mark.exact
def test_no_rearrangement_is_admissible(encoding, claim):
    """All rearrangements but the identity have a token in another's room."""
    encode = getattr(encodings, encoding)

    def others(x):
        z, found = encode(exact.rationals(x)), 0
        for p in itertools.permutations(range(len(x))):
            rooms = [position(encoding, token) for token in z[list(p)]]
            found += rooms == list(range(1, len(x) + 1))
        return found - 1

    name = "admissible rearrangements besides the identity"
    examples = claim.at_scale(smoke=20, laptop=150, paper=4000)
    claim.for_all(name, sequences, others, equation="(7)", examples=examples)


@both
@pytest.mark.exact
def test_rooms_are_one_apart(encoding, claim):
    """In the largest coordinate; boxes are closest in their corners."""
    encode, tau, d = getattr(encodings, encoding), 4, 2
    corners = exact.rationals(list(itertools.product([0, 1], repeat=d)))
    rooms = np.stack([encode(np.stack([c] * tau)) for c in corners])  # (corners, tau, d')
    nearest = min(
        max(abs(a - b) for a, b in zip(rooms[i, s], rooms[j, t], strict=True))
        for s, t in itertools.combinations(range(tau), 2)
        for i, j in itertools.product(range(len(corners)), repeat=2)
    )
    claim.measured("least distance of two rooms", nearest, equation="(7)").equals(1)


def mixing(M, room):
    """(5) for H_t(x) = sum_s M_ts x(s) / sum_s M_ts, tokens shifted by twice their position."""
    tau = len(M)
    columns = arrays.each(logarithms.Log, M.T)
    unit = exact.rationals(np.eye(tau, dtype=int))

    def phi(x):
        return unit[[t - 1 for t in room(x)]]

    def psi(x):
        return columns[[s - 1 for s in room(x)]]

    def value(x):
        return x - 2 * exact.rationals(room(x))[:, None]

    sample = encodings.shifted(exact.rationals([[0]]))
    return selection.transformer(phi, psi, value, lambda z: z[..., 0], sample)


@pytest.mark.construct
def test_any_positive_mixing_is_represented(claim):
    def wrong(case):
        seed, tau = case
        rng = np.random.default_rng(seed)
        M = exact.rationals(rng.integers(1, 9, (tau, tau)))
        x = exact.rationals(rng.integers(0, 9, tau)) / 8
        H = mixing(M, lambda x: [position("shifted", token) for token in x])
        out = H(encodings.shifted(x[:, None]))
        stated = [sum(m * v for m, v in zip(row, x, strict=True)) / sum(row) for row in M]
        return sum(a != b for a, b in zip(out, stated, strict=True))

    seeded = st.tuples(st.integers(0, 2**32 - 1), st.integers(2, 5))
    examples = claim.at_scale(smoke=20, laptop=150, paper=4000)
    claim.for_all("wrong outputs", seeded, wrong, equation="(5), (7)", examples=examples)


M_CONTROL = [["1/4", "3/4"], ["1/2", "1/2"]]


def forced_error(x, other):
    """Tokens 1, 2 of x are tokens 2, 1 of the other sequence: H_1(x) = H_2(other) for every model,
    which therefore errs by half of the difference of the two targets somewhere."""
    M = exact.rationals(M_CONTROL)
    first, second = (M @ exact.rationals(v) for v in (x, other))
    return abs(first[0] - second[1]) / 2


def test_control_without_encoding_rearrangements_are_inputs(claim):
    """x = (0, 1) and (1, 0): any equivariant map has H_1(0, 1) = H_2(1, 0); M asks for 3/4, 1/2."""
    M = exact.rationals(M_CONTROL)
    H = mixing(M, lambda x: [1] * len(x))  # one room for all
    worst = max(
        abs(y - stated)
        for x in exact.rationals([[0, 1], [1, 0]])[..., None]
        for y, stated in zip(H(x + 2), M @ x[:, 0], strict=True)
    )
    least = forced_error([0, 1], [1, 0])
    claim.measured("forced error", least, equation="A.1").equals(exact.rational("1/8"))
    claim.measured("error of a model without encoding", worst, equation="A.1").at_least(
        theorem(least, "half of |3/4 − 1/2|, for every equivariant map")
    )


def test_control_rooms_that_overlap_admit_a_rearrangement(claim):
    """e(t) = t/2: (1/2, 1/4) and (3/4, 0) become (1, 5/4) and (5/4, 1)."""
    half = exact.rationals(["1/2", 1])
    x, other = ["1/2", "1/4"], ["3/4", 0]
    z, w = (exact.rationals(v) + half for v in (x, other))
    claim.measured("difference after rearranging", list(z[::-1] - w), equation="(7)").equals([0, 0])
    claim.measured("forced error", forced_error(x, other), equation="A.1").at_least(
        theorem(exact.rational("1/32"), "half of what M asks of the two, for every model")
    )
