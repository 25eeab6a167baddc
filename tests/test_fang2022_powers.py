"""Theorem 3.5: lifts, what slots hold, the readout, the module, and bad input."""

import doctest
import math

import pytest
import torch

from repro.fang2022 import network, polynomials, powers, ridge
from repro.fang2022.model import Block
from repro.fang2022.polynomials import F_2_STAR, Polynomial
from repro.numerics.exact import rational, rationals, to_float

PARABOLOID = Polynomial(2, {(2, 0): 1, (0, 2): 1})
PLANE = [["3/5", "4/5"], ["-3/5", "4/5"]]


def test_lifts_as_derived():
    B = rational("1/2")
    assert powers.printed(4, B) == [B**2 * 2, B**2 * 2, B**4 * 2, B**6 * 2]
    assert powers.repaired(3, B) == [2 * B, 2 * B**2, 2 * B**3]
    assert powers.least(5, B) == [0, 2 * B**2, B**3, 2 * B**4, B**5]
    assert all(a > b for a, b in zip(powers.roomy(4, B), powers.repaired(4, B), strict=True))


def test_slots_and_readout_by_hand():
    """t = 1/2, -1/2, lifts 0 and 1/8: slot 1 is -t; in block 2 the other token wins with 1/4."""
    t = rationals(["1/2", "-1/2"])
    expected = [["-1/2", "1/2"], ["-1/8", "-1/8"]]
    assert powers.stored(t, [0, rational("1/8")]).tolist() == rationals(expected).tolist()
    # n = 2, q = 3: a token has 7 rows, slots in rows 3 to 5.
    beta = rationals([[1, 2, 3], [4, 5, 6]])
    expected = [[0, 0, 0, -1, 2, -3, 0], [0, 0, 0, -4, 5, -6, 0]]
    assert powers.readout(beta).reshape(2, 7).tolist() == rationals(expected).tolist()


@pytest.mark.parametrize("b", [7, 1, 0])
def test_the_weights_of_a_model_are_counted_over_all_its_parts(b):
    """x_1 x_2 + b with three directions: 5 entries of F, 2 (2n + 8) in blocks, 2 of beta, b."""
    Q = Polynomial(2, {(1, 1): 1, (0, 0): b})
    model = powers.construction(Q, 1, directions=rationals([[0, 1], *PLANE]))
    assert model.nonzeros() == 5 + 28 + 2 + (b != 0)
    assert powers.construction(Q, 1).nonzeros() == model.nonzeros()


def test_the_module_is_the_exact_model_rounded():
    Q = Polynomial(2, {(1, 1): 1, (1, 0): 3, (0, 0): -4})
    model = network.polynomial_transformer(Q, 2)
    exact = powers.construction(Q, 2, lifts=powers.roomy)
    literal = model.transformer()
    assert literal.beta.tolist() == to_float(exact.beta).tolist()
    assert literal.F.tolist() == to_float(exact.F).tolist()
    for ours, block in zip(literal.blocks, exact.blocks, strict=True):
        for name, weight in block.weights().items():
            assert ours.weights()[name].tolist() == to_float(weight).tolist()


def test_the_module_is_ordinary(tmp_path):
    model = network.polynomial_transformer(PARABOLOID, 3)
    assert isinstance(model, torch.nn.Module)
    assert repr(model).startswith("PolynomialTransformer(\n  d=2, n=3, q=2, B=3\n")
    assert set(model.state_dict()) == {"F", "beta", "b"} | {
        f"blocks.{i}.{name}" for i in range(2) for name in Block.__dataclass_fields__
    }
    torch.save(model.state_dict(), tmp_path / "weights.pt")
    other = network.polynomial_transformer(Polynomial(2, {}), 3, q=2)
    other.load_state_dict(torch.load(tmp_path / "weights.pt", weights_only=True))
    x = torch.tensor([[[1.0, 2.0], [0.0, -1.0]]], dtype=torch.float64)
    assert other(x).tolist() == model(x).tolist()
    assert model(x).shape == (1, 2)


@pytest.mark.parametrize("module", [network, polynomials])
def test_examples_in_docstrings_run(module):
    names = {
        "torch": torch,
        "Polynomial": Polynomial,
        "polynomial_transformer": network.polynomial_transformer,
    }
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    assert doctest.testmod(module, extraglobs=names, optionflags=flags).failed == 0


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32], ids=str)
def test_the_ball_has_room_for_the_rounding_of_a_norm_and_no_more(dtype):
    model = network.polynomial_transformer(Polynomial(1, {(1,): 1}), 1, dtype=dtype)
    eps = torch.finfo(dtype).eps
    model(torch.tensor([[1 + 4 * eps]], dtype=dtype))
    with pytest.raises(ValueError, match=r"Theorem 3\.5 holds for"):
        model(torch.tensor([[1 + 5 * eps]], dtype=dtype))


def test_a_module_of_no_points_has_no_values():
    model = network.polynomial_transformer(Polynomial(2, {(1, 0): 1}), "1/2")
    assert model(torch.zeros(0, 2, dtype=torch.float64)).shape == (0,)
    with pytest.raises(ValueError, match="takes x of shape"):
        model(torch.zeros(3, dtype=torch.float64))


BAD = {
    "no variables": (lambda: Polynomial(0, {}), "Lemma 3.3 needs d >= 1 variables, got d=0"),
    "short exponent": (lambda: Polynomial(2, {(1,): 1}), r"an exponent is 2 integers >= 0 here, got \(1,\)"),
    "negative exponent": (lambda: Polynomial(1, {(-1,): 1}), "an exponent is 1 integers >= 0"),
    "x too long": (lambda: PARABOLOID(rationals([1, 2, 3])), "Q has d=2 variables, x has 3"),
    "degree too high": (lambda: ridge.coefficients(PARABOLOID, 1), "Lemma 3.3 with q=1 needs a Q of degree <= 1, got 2"),
    "degree not positive": (lambda: powers.construction(PARABOLOID, 1, q=0), "Theorem 3.5 needs B > 0 and q >= 1, got B=1, q=0"),
    "bound not positive": (lambda: powers.construction(PARABOLOID, 0), "Theorem 3.5 needs B > 0 and q >= 1, got B=0"),
    "bound negative": (lambda: network.polynomial_transformer(PARABOLOID, -1), "Theorem 3.5 needs B > 0"),
    "Q above q": (lambda: network.polynomial_transformer(F_2_STAR, 1, q=4), "Lemma 3.3 with q=4 needs a Q of degree <= 4, got 5"),
    "not unit vectors": (
        lambda: powers.construction(PARABOLOID, 1, directions=rationals([[1, 0], [0, 1], [1, 1]])),
        r"Lemma 3.3 needs \|\|xi_k\|\| = 1, got \|\|xi_3\|\|\^2 = 2",
    ),
    "outside the ball": (
        lambda: network.polynomial_transformer(PARABOLOID, 2)(torch.tensor([[0.0, 1.0], [0.0, 2.5]], dtype=torch.float64)),
        r"Theorem 3.5 holds for \|\|x\|\| <= B = 2, got \|\|x\|\| = 2.5; build the model with B >= 2.5",
    ),
    "x not a number": (
        lambda: network.polynomial_transformer(PARABOLOID, 2)(torch.tensor([[0.0, math.nan]], dtype=torch.float64)),
        "Theorem 3.5 holds for",
    ),
    "bfloat16 cannot": (
        lambda: network.polynomial_transformer(PARABOLOID, 2, dtype=torch.bfloat16),
        "bfloat16 does not carry Theorem 3.5 at B=2, q=2",
    ),
    "float32 overflows": (
        lambda: network.polynomial_transformer(PARABOLOID, 1e30, dtype=torch.float32),
        r"float32 does not carry Theorem 3.5 at B=1e\+30, q=2: B\^q leaves its range; it needs 1.1e-19 <= B <= 7.2e\+18",
    ),
    "float32 underflows": (
        lambda: network.polynomial_transformer(Polynomial(1, {(5,): 1}), 1e-10, dtype=torch.float32),
        "float32 does not carry Theorem 3.5 at B=1e-10, q=5: B\\^q leaves its range",
    ),
    "coefficients overflow": (
        lambda: network.polynomial_transformer(Polynomial(1, {(1,): 10**60, (2,): 1}), 1, dtype=torch.float32),
        "a coefficient of Lemma 3.3 is too large for torch.float32",
    ),
    "bound not a number": (lambda: powers.construction(PARABOLOID, math.nan), "needs a finite B > 0, got B=nan"),
    "bound infinite": (lambda: powers.construction(PARABOLOID, math.inf), "needs a finite B > 0, got B=inf"),
    "degree not whole": (lambda: powers.construction(PARABOLOID, 1, q=2.5), "needs B > 0 and q >= 1, got B=1, q=2.5"),  # pyright: ignore
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_refused_with_the_statement_and_the_number(case):
    act, message = BAD[case]
    with pytest.raises(ValueError, match=message):
        act()
