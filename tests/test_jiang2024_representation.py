"""Representations (8) and superpositions, functions on pieces, and the spectra of D.3."""

import flint
import numpy as np
import pytest

from repro.jiang2024 import mixing, pieces, representation
from repro.jiang2024.model import Target
from repro.numerics.exact import rational, rationals
from repro.numerics.logarithms import Log


def first(z):
    """A target that does not depend on t."""
    return np.repeat(z[..., :1, 0], z.shape[-2], axis=-1)


@pytest.mark.parametrize("name", ["SHIFTED", "APPENDED"])
def test_an_encoding_reads_what_it_wrote(name):
    encoding = getattr(representation, name)
    z = rationals(np.random.default_rng(0).integers(0, 8, (3, 4, 2))) / 8
    rooms, places = encoding.read(encoding.encode(z))
    assert (rooms == np.arange(1, 5)).all()
    assert (places == z).all()


def test_weights_by_position():
    w = representation.rank_one(3, 2)
    rho = representation.by_position(w)
    x = representation.SHIFTED.encode(rationals([[0], ["1/2"], ["1/3"]]))
    assert (rho(x, x) == [[Log(w[t, s]) for s in range(3)] for t in range(3)]).all()
    assert (rho(x[::-1], x)[0] == [Log(v) for v in w[2]]).all()
    assert w[1].tolist() == [flint.fmpq(4**s, 4 + 16 + 64) for s in (1, 2, 3)]


def test_separations_by_hand():
    w = rationals([["1/2", "1/2"], ["1/4", "3/4"]])
    values = np.array([[[0.0], [1.0]], [[0.0], [1.0]]])
    points = representation.on_a_grid(values, w)
    assert sorted(points[:, 0]) == [0, 0, 0.25, 0.5, 0.5, 0.75, 1, 1]
    assert representation.separation(np.array([[0.0], [0.25], [1.0]])) == 0.25


def test_F_reads_every_t_and_vanishes_far_away():
    form = representation.Representation(first, representation.doubled_diagonal(2))
    assert form.F(rationals([[0, 0], ["-7", 3]])).tolist() == [0, 0]
    x = representation.SHIFTED.encode(rationals([["1/4"], ["1"]]))
    assert form.target()(x).tolist() == [flint.fmpq(1, 4)] * 2


def test_tokens_of_two_coordinates_and_values_up_to_one():
    """a + b = 1 is allowed: f reaches 1. H_t is the second coordinate of token t."""
    a, b = rational("3/4"), rational("1/4")
    w = representation.doubled_diagonal(2)
    form = representation.Representation(lambda z: z[..., 1], w, d=2, a=a, b=b)
    z = rationals([["1/3", 1], [0, "1/7"]])
    x = representation.SHIFTED.encode(z)
    assert form.n == 4
    assert form.f(x).tolist() == [[a + b / 3, 1, 0, 0], [0, 0, a, a + b / 7]]
    assert form.target()(x).tolist() == [1, rational("1/7")]


def test_a_head_of_size_one_has_the_weights_of_rank_one():
    w, half = representation.rank_one(3, "11/10"), rational("1/2")
    form = representation.Representation(first, w, a=half, b=representation.spread(w, half))
    x = representation.SHIFTED.encode(rationals([["0"], ["1/2"], ["1"]]))
    head = representation.one_dimensional_head(form, "11/10")
    assert head.m_h == 1
    assert (head.target().weights(x) == w).all()


def test_bad_places_are_named():
    told = "needs delta > 0, which b = 1/5 has not; b = 1/10 has delta = 1"
    w, fifth = representation.doubled_diagonal(2), rational("1/5")
    with pytest.raises(ValueError, match=told):
        representation.Representation(first, w, a=fifth, b=fifth)


def test_antipodes_of_a_singular_map():
    """Dependent rows, a zero column: still a point of the boundary and its antipode."""
    for rows in ([[0, 1, 2], [0, 2, 4]], [[1, 1, 0]], [[1, 0, 0], [0, 1, 0]], [[1, 2]]):
        A = rationals(rows)
        z, other = representation.antipodes(A)
        assert (A @ z == A @ other).all()
        assert abs(z - other).max() == 1
        assert all(0 <= v <= 1 for v in z)


def test_the_blocks_of_the_printed_width():
    """f is halved where s = t', and divided by the weights in general."""
    H = representation.Superposition([lambda z: z, lambda z: 1 - z], lambda v: v, Q=1)
    form = representation.Superposed(H, representation.doubled_diagonal(2))
    x = representation.SHIFTED.encode(rationals([["1/3"], ["1/5"]]))
    third, rest = flint.fmpq(1, 3), flint.fmpq(4, 5)
    assert form.f(x).tolist() == [[third / 2, third, flint.fmpq(1, 2)], [rest, rest / 2, 1]]
    u = Target(form.F, form.f, representation.by_position(form.w)).averages(x)
    assert [u[t, t] * 3 for t in range(2)] == [third + rest] * 2


def test_a_superposition_in_the_printed_width_by_hand():
    """psi = (z, z^2) and (1 - z, z/2), so that z = 1/3, 1/5 make v = 17/15, 19/90."""
    inner = [lambda z: np.concatenate([z, z * z], -1), lambda z: np.concatenate([1 - z, z / 2], -1)]
    H = representation.Superposition(
        inner, lambda v: np.stack([v[..., 0] + 2 * v[..., 1], v[..., 0] * v[..., 1]], -1), Q=2
    )
    form = representation.Superposed(H, rationals([["1/2", "1/2"], ["1/3", "2/3"]]))
    assert form.n == 5
    z = rationals([["1/3"], ["1/5"]])
    expected = [rational("14/9"), rational("323/1350")]
    assert H(z).tolist() == form.target()(representation.SHIFTED.encode(z)).tolist() == expected


def test_the_printed_width_tells_t_by_its_last_coordinate():
    """Codes 3/4 and 5/6, 1/12 apart: half of both in the middle, nothing far away."""
    H = representation.Superposition(
        [lambda z: z] * 2, lambda v: np.concatenate([v, 3 + 0 * v], -1), Q=1
    )
    form = representation.Superposed(H, rationals([["1/2", "1/2"], ["1/3", "2/3"]]))
    assert form.codes.tolist() == rationals(["3/4", "5/6"]).tolist()
    assert form.apart == rational("1/12")
    places = rationals(["3/4", "19/24", "5/6", "21/24", "17/24", 0, 2])
    u = np.stack([rationals([1] * 7), rationals([5] * 7), places], -1)
    assert form.F(u).tolist() == [2, 1 + rational("3/2"), 3, rational("3/2"), 1, 0, 0]
    with pytest.raises(ValueError, match="the last coordinate must tell t"):
        representation.Superposed(H, rationals([["1/2", "1/2"], ["1/2", "1/2"]]))


def test_codes_of_three_rows_by_hand():
    """17/21, 19/21 and 209/219, of which the last two are the nearest; a first 0 is a number."""
    H = representation.Superposition([lambda z: z] * 3, lambda v: v * rationals([1, 2, 3]), Q=1)
    form = representation.Superposed(H, representation.rank_one(3, 2))
    assert form.codes.tolist() == rationals(["17/21", "19/21", "209/219"]).tolist()
    assert form.apart == rational("209/219") - rational("19/21")
    assert form.F(rationals([[0, 1, 1, "17/21"]])).tolist() == [0]


def pairs(*ends):
    return [(rational(a), rational(b)) for a, b in ends]


def test_pieces_of_a_line():
    line = pieces.Pieces(pairs((0, 1), (2, 3)), pairs((0, 1), (2, 3)))
    assert line.hoelder() == 1
    assert line.hoelder(2) == 3
    assert line.reach() == 3
    assert line.mcshane(rational("1/2")) == rational("1/2")
    assert line.mcshane(rational("3/2")) == rational("3/2")
    assert line.permuted([1, 0]).values[0] == (2, 3)
    far = pieces.staircase([1, -1])
    assert far.hoelder() == 2
    assert far.mcshane(rational("7/2")) == 0
    assert far.mcshane(rational(-100)) == 1


def test_pieces_that_do_not_begin_at_0():
    """Gaps 2 and 5, from 1 to 12; on the second piece x + 1."""
    some = pieces.Pieces(pairs((1, 2), (4, 6), (11, 12)), pairs((3, 3), (5, 7), (0, 0)))
    assert some.reach() == rational("11/2")
    assert [some.mcshane(rational(x)) for x in ("4", "9/2", "6")] == [5, rational("11/2"), 7]
    point = pieces.Pieces(pairs((0, 0), (1, 2)), pairs((3, 3), (4, 4)))
    assert point.mcshane(rational(0)) == 3
    alone = pieces.Pieces(pairs((2, 2)), pairs((5, 5)))
    assert alone.mcshane(rational(2)) == 5


def test_the_extension_of_tietze_by_hand():
    """0 on [2, 3], 1 on [4, 5], scaled to 1 and 2: min(x - 3, 2 (4 - x)) / min(x - 3, 4 - x)."""
    two = pieces.staircase([0, 1])
    places = ["5/2", "13/4", "7/2", "18/5", "11/3", "39/10", "4"]
    expected = ["0", "0", "0", "1/2", "1", "1", "1"]
    assert [two.tietze(rational(x)) for x in places] == [rational(v) for v in expected]
    assert pieces.staircase([7, 7]).tietze(rational("7/2")) == 7
    assert two.tietze(flint.fmpq(3)) == 0
    assert pieces.staircase([2, 5]).tietze(rational("18/5")) == 2 + 3 * flint.fmpq(1, 2)
    assert pieces.staircase([2, 5]).tietze(rational("39/10")) == 5  # min(9/10, 2/10) / (1/10) = 2


def test_singular_values_of_a_coupling_by_position():
    """Against numpy, with rooms of different lengths on both sides."""
    R = np.array([[1, 2], [3, -1], [0, 2]])
    rows, columns = [1, 2, 3], [4, 5]
    scaled = np.sqrt(rows)[:, None] * R * np.sqrt(columns)
    ours = mixing.singular_values(
        R.tolist(), *([flint.fmpq(v) for v in N] for N in (rows, columns))
    )
    assert np.allclose([float(v) for v in ours], np.linalg.svd(scaled)[1], rtol=1e-14, atol=0)
