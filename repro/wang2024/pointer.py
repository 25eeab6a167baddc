"""Proposition 5.2 (formal: B.4; proof: B.2): one attention layer follows a pointer, or does not.

Paper                    Here                       Meaning
y_t = x_{t-g(x_t)}       Pointer                    integer tokens, g by a table
g(x) = x + 1             PRINTED, of `shift` 1      g(-1) = 0 is outside class (10)
-                        SHIFTED, of `shift` 2      g = 1, 2, 3: inside
W_E, b_E                 embedded                   x_t -> (x_t, 1), D = 2
alpha_h, beta_h          moving.Moving              heads that follow B, Lemma E.2
rho_s, c                 columns                    what attention without dot product can add up

(A), lin. Head h has W_Q = beta_h (1, shift), W_K = (0, 1) and p = beta_h, so that
    logit = beta_h (x_t + shift) - beta_h s = -beta_h (s - g(x_t)),
and W_V = alpha_h keeps the first coordinate: the layer gives sum_s psi(s; g(x_t)) x_{t-s}. Its
error is at most sup_B |I{. = B} - psi(.; B)|_1 (Lemma E.2), and this is the supremum: let x_t be
the token with g(x_t) = T and choose the signs of the others. T + 1 heads reach every accuracy.

(A), both types and every g (`any_pointer`); the paper has lin only. log g is not affine in x_t, as
the logit of one head must be. Let v_1, ..., v_r be the tokens, and give each power s^-p_k to r
heads, with logits j x_t log 2 - p_k log s, j = 0, ..., r - 1. The r x r matrix of the numbers
2^(j v_i) is a Vandermonde matrix, so that weights alpha_kj exist with
    sum_j alpha_kj 2^(j v_i) = c_k(v_i)             for any coefficients c_k(v_1), ..., c_k(v_r).
Take those of Lemma E.4 (log) or E.1 (lin) for T = g(v_i): r m heads, and every accuracy from m = T
(log) or T + 1 (lin) on.

(B). Attention without dot product, softmax or not, is c + sum_s rho_s x_{t-s} (Remark 3.2). Let g
differ at two tokens u and v, g(u), g(v) >= 1; let a be the least token and b the largest. Take
x_t = u or v, the tokens at distance (g(u), g(v)) as (b, a) or (a, b), and anything, but the same,
elsewhere. With weights 1/4, -1/4 (for u) and -1/4, 1/4 (for v) the four outputs
h(x_t) + sum_{s >= 1} rho_s x_{t-s} cancel, whatever rho and the function h are, and the four
targets add up to (b - a)/2. So some error is at least (b - a)/2 (`certificate`), and the constant
(a + b)/2 in place of the layer errs by no more. For the tokens -1, 0, 1 these are 1 and 0: token u
forces |1 - rho_g(u)| + |rho_g(v)|, token v forces |rho_g(u)| + |1 - rho_g(v)|, and these add up to
2 or more. The printed 2/3 is not sharp.

With a feed-forward network (`looking_at_all`) the same layer is enough: heads of Theorem 4.1 fetch
x_{t-1}, ..., x_{t-T}, and ReLUs choose. For integers c = x_t - v and |z| <= 1
    relu(z + 1 - 2c) + relu(z + 1 + 2c) - z - 1 - 2|c| - I{c = 0}  =  z I{c = 0},
where I{c = 0} = relu(c + 1) - 2 relu(c) + relu(c - 1). So (B) is about attention alone.

Departures from B.2: W_E = (1, 0), b_E = (0, 1) where both are printed (1, 0), which would give
(x_t + 1, 0); W_Q and W_K are rows, printed as columns, with beta_h in W_Q and 1 in W_K; the RPE
enters as p phi(s) = -p s, printed p s; W_O = I.
"""

import functools
import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import flint
import numpy as np
import torch

from repro.numerics.barron import Network
from repro.numerics.exact import rational, rationals, vector
from repro.numerics.logarithms import Log, ball
from repro.wang2024 import exponentials, fixed, moving, powers
from repro.wang2024.heads import EPS, block, exact
from repro.wang2024.model import Attention, Head, Transformer
from repro.wang2024.moving import Moving
from repro.wang2024.targets import neurons

LONG = 24  # tokens of the worst windows
QUARTER = flint.fmpq(1, 4)


@dataclass(frozen=True)
class Pointer:
    """y_t = x_{t-g(x_t)} for integer tokens; `g` has a distance for each of them."""

    g: Mapping[int, int]

    @property
    def tokens(self) -> list[int]:
        return sorted(self.g)

    @property
    def T(self) -> int:
        return max(self.g.values())

    def __call__(self, x: np.ndarray) -> np.ndarray:
        """y at the last position of windows (..., n)."""
        back = np.vectorize(self.g.__getitem__, otypes=[int])(x[..., -1])
        return np.take_along_axis(x, -1 - back[..., None], axis=-1)[..., 0]

    def windows(self, n: int) -> np.ndarray:
        """Every window of n tokens there is: (count^n, n)."""
        return np.array(list(itertools.product(self.tokens, repeat=n)))


def shifted(by: int) -> Pointer:
    """g(x) = x + by on the tokens -1, 0, 1."""
    return Pointer({x: x + by for x in (-1, 0, 1)})


PRINTED, SHIFTED = shifted(1), shifted(2)


def embedded(x: Any) -> Any:
    """Tokens (..., n) -> (x_t, 1), (..., n, 2)."""
    if isinstance(x, torch.Tensor):
        return torch.stack([x, torch.ones_like(x)], dim=-1)
    exact = rationals(x)
    return np.stack([exact, 0 * exact + 1], axis=-1)


def attention(moving: Moving, shift: int, *, dot_product: bool = True) -> Attention:
    """Tokens (x_t, 1) -> sum_s psi(s; x_t + shift) x_{t-s}; lin, in the arithmetic of the heads."""
    heads = []
    for alpha, beta in zip(moving.alphas, moving.exponents, strict=True):
        pair = {"W_Q": vector([beta, shift * beta])[None], "W_K": rationals([[0, 1]])}
        W_V = block(exact(alpha), 2, 1, 0, 0)
        heads.append(Head(W_V, beta, **(pair if dot_product else {})))
    return Attention(tuple(heads), rationals(np.eye(2, dtype=int)), "lin", normalised=False)


def any_pointer(
    pointer: Pointer, rpe: str, exponents: Sequence[Any], coefficients: Mapping[int, Sequence[Any]]
) -> Attention:
    """Tokens (x_t, 1) -> sum_s sum_k c_k(x_t) e^{p_k phi(s)} x_{t-s}; `coefficients`[v] are c(v).

    Heads k = 1, ..., m for j = 0, then for j = 1, and so on.
    """
    tokens = pointer.tokens
    table = flint.fmpq_mat([[flint.fmpq(2) ** (j * v) for j in range(len(tokens))] for v in tokens])
    solve = table.inv()
    heads = []
    for j in range(len(tokens)):
        pair = {"W_Q": vector([Log(2**j), rational(0)])[None], "W_K": rationals([[0, 1]])}
        for k, p in enumerate(exponents):
            wanted = [rational(coefficients[v][k]) for v in tokens]
            alpha = sum((solve[j, i] * c for i, c in enumerate(wanted)), flint.fmpq(0))
            heads.append(Head(block(alpha, 2, 1, 0, 0), p, **pair))
    return Attention(tuple(heads), rationals(np.eye(2, dtype=int)), rpe, normalised=False)


def errors(layer: Attention, pointer: Pointer, x: np.ndarray) -> np.ndarray:
    """|output - y| at the last position of each window, in the arithmetic of the layer."""
    torches = isinstance(layer.W_O, torch.Tensor)
    tokens = torch.as_tensor(x, dtype=layer.W_O.dtype, device=layer.W_O.device) if torches else x
    outputs = layer(embedded(tokens), queries=1)[..., 0, 0]
    return abs((outputs.cpu().numpy() if torches else outputs) - pointer(x))


def adversary(difference: np.ndarray, present: int) -> np.ndarray:
    """The window, ending in `present`, at which a kernel that is off by `difference` errs most.

    `difference` has one number for each distance 0, ..., n - 1.
    """
    lead = -1 if difference[0] * present < 0 else 1
    signs = np.where(difference < 0, -lead, lead)
    signs[0] = present
    return signs[::-1]


@functools.cache
def float_errors(H: int, device: torch.device | str) -> tuple[float, float]:
    """lin, PRINTED, in float64: on all windows of 8 tokens; at the worst of 24 for each g(x)."""
    heads = moving.fitted("lin", 2, H)
    layer = attention(heads, 1).to(torch.float64, device)
    differences = [(heads.kernel(B, LONG) - np.eye(LONG)[B], x) for x, B in PRINTED.g.items()]
    worst = np.array([adversary(*one) for one in differences])
    short, long = (errors(layer, PRINTED, x).max() for x in (PRINTED.windows(8), worst))
    return float(short), float(long)


@functools.cache
def log_errors(m: int, device: torch.device | str) -> tuple[float, float, float]:
    """3m log heads for SHIFTED in float64, all windows of 7: the error, the l1 error, the rounding.

    In units of u A, for H heads: a logit j x log 2 - p log s is off by 3 log 4 + 6 p log s, and
    the mean of p log s over s^-p is at most 2.3: 18. exp, coefficient and product add 6, the sums
    n + H. The l1 error, a float as well, has sums of n and H terms: 2 (n + H) + 60 with all.
    """
    exponents = moving.usual_exponents("log", m)
    fits = {v: fixed.fitted("log", B, exponents, length=LONG) for v, B in SHIFTED.g.items()}
    coefficients = {v: alphas.tolist() for v, (alphas, _) in fits.items()}
    layer = any_pointer(SHIFTED, "log", exponents, coefficients).to(torch.float64, device)
    zeta = sum(1 / s ** float(exponents[0]) for s in range(1, LONG))
    A = sum(abs(float(head.W_V[0, 0])) * 4 * zeta for head in layer.heads)  # 2^(j x) <= 4
    found = errors(layer, SHIFTED, SHIFTED.windows(7)).max()
    H = len(layer.heads)
    return float(found), max(error for _, error in fits.values()), (2 * LONG + 2 * H + 60) * EPS * A


def interpolating(
    pointer: Pointer, rpe: str, m: int, step: int
) -> tuple[Attention, list[Any], flint.arb]:
    """`any_pointer` with the interpolants of Lemma E.4 (log) or E.1 (lin), m powers for each token.

    The layer, in rationals; the interpolants; and the largest of their l1 errors.
    """
    if rpe == "log":
        phis = [powers.fixed(B, m, first=step, step=step) for B in pointer.g.values()]
        exponents = [rational(p) for p in phis[0].exponents]
        coefficients, left = [phi.coefficients for phi in phis], [phi.error() for phi in phis]
    else:
        q = Fraction(1, 2**step)
        phis = [exponentials.Interpolant(B, m, q) for B in pointer.g.values()]
        exponents = phis[0].exponents
        coefficients, left = [phi.alphas for phi in phis], [ball(phi.error) for phi in phis]
    layer = any_pointer(pointer, rpe, exponents, dict(zip(pointer.g, coefficients, strict=True)))
    return layer, phis, functools.reduce(flint.arb.max, left)


def written_down(H: int, n: int, device: torch.device | str) -> float:
    """The mean square error of the lin layer for SHIFTED with H heads, over all windows of n."""
    layer = attention(moving.fitted("lin", 3, H), 2).to(torch.float64, device)
    return float((errors(layer, SHIFTED, SHIFTED.windows(n)) ** 2).mean())


PRESENT: dict[str, Callable[[Pointer, np.ndarray], list[np.ndarray]]] = {
    "unseen": lambda pointer, x: [np.ones_like(x)],  # log-RPE: no s = 0
    "affine": lambda pointer, x: [np.ones_like(x), x],
    "any function": lambda pointer, x: [(x == v).astype(int) for v in pointer.tokens],
}


def columns(pointer: Pointer, x: np.ndarray, present: str) -> np.ndarray:
    """x_{t-1}, x_{t-2}, ... and what may be added of the present token, at windows x (N, n)."""
    past = [x[:, -1 - s] for s in range(1, x.shape[1])]
    return np.stack([*past, *PRESENT[present](pointer, x[:, -1])], axis=1)


def certificate(pointer: Pointer, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Four windows (4, n), and weights that annihilate h(x_t) + sum_{s >= 1} rho_s x_{t-s}."""
    g, pairs = pointer.g, itertools.combinations(pointer.tokens, 2)
    u, v = next((u, v) for u, v in pairs if 0 < g[u] != g[v] > 0)
    low, *_, high = pointer.tokens
    x = np.full((4, n), low)
    for row, (present, pair) in enumerate(itertools.product((u, v), ((high, low), (low, high)))):
        x[row, [-1 - g[u], -1 - g[v], -1]] = *pair, present
    return x, vector([QUARTER, -QUARTER, -QUARTER, QUARTER])


FreeLayer = tuple[str, bool, Sequence[tuple[int, Any, Any]], Sequence[Any]]


def free_error(pointer: Pointer, case: FreeLayer) -> Any:
    """The largest error of a layer without dot product on the four windows of `certificate`; exact.

    The case: lin or log; softmax or not; (p, u, v) for each head, p + 1 being e^p for lin, with
    values u x_1 + v x_2; and W_E, b_E, two numbers each, which embed the token.
    """
    rpe, normalised, parts, embedding = case
    x, _ = certificate(pointer, 6)
    w, b = rationals(embedding[:2]), rationals(embedding[2:])
    slopes = [Log(p + 1) if rpe == "lin" else p for p, _, _ in parts]
    values = [rationals([[u, v], [0, 0]]) for _, u, v in parts]
    heads = [Head(W_V, p) for W_V, p in zip(values, slopes, strict=True)]
    layer = Attention(heads, rationals([[1, 0], [0, 1]]), rpe, normalised)
    outputs = layer(rationals(x)[..., None] * w + b, queries=1)[:, 0, 0]
    return max(abs(outputs - rationals(pointer(x))))


def lower_bound(weights: np.ndarray, table: np.ndarray, values: np.ndarray) -> flint.fmpq:
    """sum w y / sum |w|: no sum of the columns is nearer to the values than this; exact."""
    left = rationals(table.T) @ weights
    if any(left):
        raise ValueError(f"weights of a certificate annihilate every column, got {left}")
    total: Any = abs(weights @ rationals(values))
    return total / sum(map(abs, weights), flint.fmpq(0))


def least_mean_square(pointer: Pointer, n: int, present: str) -> flint.fmpq:
    """The least mean square error of a sum of the columns, over all windows of n tokens; exact."""
    x = pointer.windows(n)
    table, y = columns(pointer, x, present), pointer(x)
    gram = flint.fmpq_mat(flint.fmpz_mat((table.T @ table).tolist()))
    moments = flint.fmpq_mat(flint.fmpz_mat((table.T @ y)[:, None].tolist()))
    explained = (moments.transpose() * gram.solve(moments))[0, 0]
    return (int(y @ y) - explained) / len(x)


def chooser(pointer: Pointer) -> Network:
    """f(x_t, z_1, ..., z_T) = z_{g(x_t)} at the tokens x_t and |z| <= 1."""
    rows = []
    for v, distance in pointer.g.items():

        def direction(of_x: int, of_z: int, at: int = distance) -> list[int]:
            return [of_x, *(of_z * (k == at) for k in range(1, pointer.T + 1))]

        rows += [
            (1, direction(-2, 1), 1 + 2 * v),  # relu(z + 1 - 2c)
            (1, direction(2, 1), 1 - 2 * v),  # relu(z + 1 + 2c)
            (-1, direction(0, 1), 2),  # -z - 2
            (1, direction(0, 0), 1),
            (-2, direction(-1, 0), v),  # -2 relu(-c)
            (-1, direction(1, 0), 1 - v),  # -I{c = 0}, and -2 relu(c)
            (-1, direction(1, 0), -1 - v),
        ]
    return neurons(*rows)


def looking_at_all(n: int) -> tuple[Transformer, Any, Any]:
    """SHIFTED by one layer of Theorem 4.1, which fetches x_{t-1}, x_{t-2}, x_{t-3}; lin, exact.

    The network; its largest error on all windows of n tokens; and the sum of the l1 errors.
    """
    found = [exponentials.Interpolant(B, 4, "1/256") for B in (1, 2, 3)]
    alphas = np.array([phi.alphas for phi in found], dtype=object).T
    reads = fixed.scalar_readout(chooser(SHIFTED))
    network = fixed.network("lin", found[0].exponents, alphas, reads, length=n)
    x = SHIFTED.windows(n)
    error = max(abs(network(rationals(x)[..., None])[:, -1, 0] - SHIFTED(x)))
    return network, error, sum(phi.error for phi in found)


def printed_embedding_error(level: Any) -> Any:
    """W_E = b_E = (1, 0) as printed, for the layer of (A): the largest error on four windows."""
    one = rationals([1, 0])
    layer, (x, _) = attention(moving.interpolated("lin", 2, level), 1), certificate(PRINTED, 6)
    outputs = layer(rationals(x)[..., None] * one + one, queries=1)[:, 0, 0]
    return max(abs(outputs - PRINTED(x)))
