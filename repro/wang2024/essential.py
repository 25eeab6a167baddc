"""Theorem 6.1 (proof: D.1): heads add up to the kernels, one ReLU layer reads them out.

phi_k(s) = sum_h alphas[h, k] e^{p_h phi_type(s)}, p_h = exponents[h]; x_t in block 0, memory k
in block k of D = (M + 1) d numbers; E_FFN = sup |f - FFN|, and E_Attn is the root of the sum over k
of |rho_k - phi_k|_1^2 on N_+, or as printed the sum, which is no less.

Proof, for both types of RPE.
1. As in step I of fixed.py block k holds sum_s phi_k(s) x_{t-s}. Here s runs from 0 for lin and
   from 1 for log; put phi_k(0) = 0 for log.
2. The residual keeps x_t in block 0. The ReLU layer reads y_k = block_k + r_k x_t with
   r_k = rho_k(0) - phi_k(0), so y_k - (X * rho_k)(t) = sum_{s >= 1} (phi_k - rho_k)(s) x_{t-s}: at
   most |rho_k - phi_k|_1 on N_+, since |x_t| <= 1.
3. |X * rho_k| <= |rho_k|_1, so y stays in the box of half-width max_k |rho_k|_1 + E_Attn. For any
   readout with |FFN - f| <= E_FFN on it the error is at most E_FFN + |f|_Lip E_Attn. (Lemma F.6
   gives one, with a factor sqrt(M d + 1); step 6 one without.)
4. Let phi_k be the sum of H exponentials (lin) or powers (log) that equals rho_k at s = 1, ..., H
   (kernels.py, Enough heads). Its exponents do not depend on k, so the same H heads serve all M
   blocks, and q -> 0 leaves |rho_k - phi_k|_1 <= sum_{s > H} |rho_k(s)| and as little more as one
   likes. That holds for all summable kernels and all H, M >= 1.
5. (A) If |rho_k(s)| <= C e^{-beta s}, then the tail is at most C e^{-beta H} / (e^beta - 1), and
   e^{-beta H} <= (n / (e beta H))^n, as x^n e^-x is largest at x = n. This holds for every n >= 1.
   (B) If |rho_k(s)| <= C s^-beta, then the tail is at most C H^(1-beta) / (beta - 1), by an
   integral, and at most C H^-n / (beta - 1) for every n <= beta - 1, which all admitted n are.
   So E_Attn <= sqrt(M) C(n) H^-n for every H, with C(n) a little above
   C (n / (e beta))^n / (e^beta - 1) in (A), C / (beta - 1) in (B), which fall in beta: at
   beta = n / 99 and (n + 1) / 0.99 they depend on n and C alone. No M^{n+1} is needed.
6. Let |f|_B < F, so that f is the mean of a relu(b.y + c) with |a| (|b|_1 + |c|) <= F (Definition
   F.1, Proposition F.2), and draw m of these for f_m. With signs e_j, symmetrisation and
   contraction (barron.py) leave, over all y that tokens |x_s| <= 1 make by kernels phi_k,
     E sup |f - f_m| <= 4/m E sup |sum_j e_j a_j (b_j.y + c_j)|
                     <= 4/m E [ sum_s |sum_j e_j a_j sum_k phi_k(s) b_jk|_2 + |sum_j e_j a_j c_j| ]
                     <= 4/sqrt(m) (S + 1) F,    S = sum_s max_k |phi_k(s)|,
   as E |sum_j e_j v_j|_2 <= sqrt(m) max_j |v_j|_2 and |sum_k phi_k(s) b_jk|_2 <= max_k |phi_k(s)|
   |b_j|_1. Neither M nor d enters (`readout_bound`); f is taken on all of R^{Md}. The kernels of
   the network equal those of rho at s <= H, and their sums beyond H tend to 0 with q, so S exceeds
   that of rho by as little as one likes, for all H, M and n. If |rho_k(s)| <= C e^{-beta s} and
   beta >= 1/99, then S < 100 C, by a geometric sum; if |rho_k(s)| <= C max(1, s)^-beta and
   beta >= 2/0.99, then S <= C (1 + zeta(2)) < 3 C. So with an absolute constant C, which O hides
   (Section 3), Theorem 6.1 holds as printed.

Departures from D.1:
- D = M d and no residual are printed. Then x_t is lost under log-RPE (s = 0 has no weight), and the
  network is not in class (7). With D = M d and the residual x_t lands in block 1.
- The box is printed with half-width 2, which needs |rho_k|_1 <= 1, and Lemma F.6 on it without a
  factor for its dimension. Step 6 needs neither.
- Printed are heads of their own for each kernel, H_k = H/M, and Lemmas E.3 and E.6. Here that is
  `shared=False`, with integers that differ by at most 1, and H >= M.
- If C may depend on the kernels, so do both terms: for lambda rho they are lambda times as large.

No network of class (7) with these exponents does better, whatever its values, its width and its
readout. For d = 1 all it sees of the past are x_t and the sums of e^{p_h phi_type(s)} x_{t-s} over
s. If z_0 = 0, |z_s| <= 1 and the sums of e^{p_h phi_type(s)} z_s are 0 for all h, it cannot tell
the pasts z, 0 and -z apart. So its error is at least |sum_s rho(s) z_s| for f(y) = y, and half the
length of the vector of these sums for f(y) = |y|_2. The largest sum_s rho(s) z_s is the l1 distance
on N_+ of rho from the span of the heads (linear programming duality, numerics/l1.py).
"""

import functools
import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import flint
import numpy as np
import torch

from repro.numerics import barron, l1
from repro.numerics.exact import rationals
from repro.numerics.l1 import Best, Exponentials, Kernel, Powers
from repro.numerics.logarithms import Log, ball
from repro.numerics.roundoff import unit
from repro.wang2024 import fixed
from repro.wang2024.fixed import apart, blocks, identity, normalisers, scalar_readout
from repro.wang2024.heads import summed
from repro.wang2024.kernels import cosine, exponential, later, log_cosine, power
from repro.wang2024.model import Array, FeedForward, Layer, Transformer

BITS = 256  # of the weights, before they are rounded
DIRECTIONS = 64  # in which the adversary looks
STEERING = (0.0, 0.01, 0.1, 1.0, 10.0, -0.01, -0.1, -1.0, -10.0)  # settings


def network(
    rpe: str,
    exponents: Sequence[Any],  # (H,)
    alphas: np.ndarray,  # (H, M)
    at_zero: Sequence[Any] | np.ndarray,  # rho_k(0), (M,)
    readout: FeedForward,  # of M d numbers
    *,
    length: int,
    d: int = 1,
) -> Transformer:
    """The Transformer of the proof, in the arithmetic of its arguments, for windows of `length`.

    The normalisers are those of the window, so it is meant for the last of `length` positions.
    """
    with flint.ctx.workprec(BITS):
        r = np.asarray(at_zero, dtype=object) - (alphas.sum(0) if rpe == "lin" else 0)
        reads = blocks(np.concatenate([r[:, None], identity(len(r))], axis=1), d)  # (M d, D)
        feed_forward = FeedForward(readout.a, readout.b @ reads, readout.c)
    return fixed.network(rpe, exponents, alphas, feed_forward, length=length, d=d)


def identity_readout(size: int) -> FeedForward:
    """f(y) = y = relu(y) - relu(-y): shows what the attention has stored."""
    one = identity(size)
    a, b = np.concatenate([one, -one], axis=1), np.concatenate([one, -one])
    return FeedForward(a, b, b[:, 0] * 0)


def box(norms: Sequence[Any], attention_error: Any = 1) -> Any:
    """Half-width of the box on which the readout is needed: E_Attn + max |rho_k|_1."""
    return attention_error + max(norms)


@dataclass(frozen=True)
class Memories:
    """Kernels rho_1, ..., rho_M on N for one type of RPE, and the exponents meant for them."""

    rpe: str
    kernels: tuple[Kernel, ...]
    exponents: Callable[[int], tuple[Any, ...]]  # of H heads
    window: int  # times at which the optimum is sought; the rest is bounded

    def values(self, length: int) -> np.ndarray:
        """rho_k(s) in float64; (M, length)."""
        return np.array([[kernel(s) for s in range(length)] for kernel in self.kernels])

    def norms(self) -> list[float]:
        """Upper bounds of |rho_k|_1."""
        inside = [sum(abs(k.ball(t)) for t in range(100)) + k.beyond(100) for k in self.kernels]
        return [float(flint.arb(norm).upper()) for norm in inside]


def best(rpe: str, kernel: Kernel, exponents: tuple[Any, ...], window: int) -> Best:
    """The heads nearest to the kernel in l1(N_+): s = 0 is the residual's."""
    if rpe == "lin":
        return l1.best(later(kernel), Exponentials(exponents, shift=-1), window=window)
    return l1.best(kernel, Powers(exponents), window=window)


def starting_with(value: Any, kernel: Kernel) -> Kernel:
    """rho(0) = value, and the given kernel from t = 1 on."""
    return Kernel(
        lambda t: kernel.ball(t) if t else ball(value),
        lambda start: kernel.tail(start) if start else abs(ball(value)) + kernel.tail(1),
    )


def _halves(H: int) -> tuple[Fraction, ...]:
    return tuple(Fraction(h + 1, 2) for h in range(H))


def _waves(beta: Any) -> tuple[Kernel, ...]:
    """(1 + t)^-beta, and t^-beta cos(log t) after rho(0) = 1."""
    return later(power(beta)), starting_with(1, log_cosine(power(beta)))


DAMPED = tuple(cosine(exponential(1), c) for c in (1, 3))  # e^-t cos t and e^-t cos 3t
EXAMPLES = {
    "lin": Memories("lin", DAMPED, _halves, window=100),
    "log": Memories("log", _waves(4), lambda H: tuple(range(2, 2 + H)), window=1000),
    # a tail so heavy that only n = 1 is admitted
    "log, heavy": Memories(
        "log", _waves("5/2"), lambda H: tuple(1 + half for half in _halves(H)), window=1000
    ),
}


@dataclass(frozen=True)
class Construction:
    """The heads of the proof."""

    memories: Memories
    best: tuple[Best, ...]  # of each kernel
    exponents: tuple[Any, ...]  # (H,)
    alphas: np.ndarray  # (H, M)

    @property
    def attention_error(self) -> float:
        """E_Attn, the sum over k of |rho_k - phi_k|_1 on N_+, proved."""
        return sum(best.error for best in self.best)

    def values(self, length: int) -> np.ndarray:
        """rho_k(0) and phi_k(s), s >= 1, in float64; (M, length)."""
        phi = fixed.kernel(self.memories.rpe, self.exponents, self.alphas, length)
        phi[:, :1] = self.memories.values(1)
        return phi

    def transformer(self, readout: FeedForward, length: int, **changes: Any) -> Transformer:
        """The network of the proof, in balls; or with other exponents, alphas or at_zero."""
        with flint.ctx.workprec(BITS):
            at_zero = [kernel.ball(0) for kernel in self.memories.kernels]
        weights = {"exponents": self.exponents, "alphas": self.alphas, "at_zero": at_zero} | changes
        return network(self.memories.rpe, **weights, readout=readout, length=length)

    def weight(self, length: int) -> float:
        """sum_h |v_h|_1, and the present's |r_k|: what rounding errors are proportional to."""
        with flint.ctx.workprec(BITS):
            sums = normalisers(self.memories.rpe, self.exponents, length)
            values = np.abs(self.alphas).sum(1)
            present = np.abs(self.alphas.sum(0)).sum() if self.memories.rpe == "lin" else 0
            return float(values @ sums + present) + sum(self.memories.norms())


@functools.cache
def construction(example: str, H: int, shared: bool) -> Construction:
    """Heads `shared` by all kernels, or H_k of their own for each, as printed."""
    memories = EXAMPLES[example]
    M = len(memories.kernels)
    counts = [H] * M if shared else [H // M + (k < H % M) for k in range(M)]
    exponents, window = map(memories.exponents, counts), memories.window
    pairs = zip(memories.kernels, exponents, strict=True)
    found = tuple(best(memories.rpe, kernel, p, window) for kernel, p in pairs)
    columns, families = zip(*((b.coefficients, b.family.exponents) for b in found), strict=True)
    if shared:
        return Construction(memories, found, families[0], np.array(columns, dtype=object).T)
    return Construction(memories, found, sum(families, ()), apart(columns))


def convolutions(rho: Array, X: Array) -> Array:
    """(X * rho_k)(t) at the last token of X (..., n, d) for kernels rho (M, S); (..., M, d)."""
    n = min(rho.shape[1], X.shape[-2])
    return rho[:, :n] @ X[..., ::-1, :][..., :n, :]


def adversary(
    rho: np.ndarray, found: np.ndarray, read: Callable[[np.ndarray], np.ndarray]
) -> Array:
    """A past of +-1, (n, 1), the last token last, that makes |read(X * found) - |X * rho|_2| large.

    For a small error e = found - rho the best past, if y = X * rho has the direction theta, is the
    sign of theta.e; adding a multiple of rho steers y. The best is improved one token at a time.
    """

    def gap(by_found: np.ndarray, by_rho: np.ndarray) -> np.ndarray:
        return np.abs(read(by_found) - np.linalg.norm(by_rho, axis=-1))

    angles = np.pi * np.arange(2 * DIRECTIONS) / DIRECTIONS
    theta = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    steered = [theta @ (found - rho + steer * rho) for steer in STEERING]
    pasts = np.where(np.concatenate(steered) >= 0, 1.0, -1.0)  # (many, n), by distance
    past = pasts[gap(pasts @ found.T, pasts @ rho.T).argmax()]
    while True:
        by_found, by_rho = found @ past, rho @ past
        # (n,): what it would be with one token changed
        changed = gap(by_found - 2 * (found * past).T, by_rho - 2 * (rho * past).T)
        if not changed.max() > gap(by_found, by_rho):
            return past[::-1, None].copy()
        past[changed.argmax()] *= -1


# --- what these networks do: measured, not judged -------------------------------------------------

norm = functools.partial(np.linalg.norm, axis=-1)


def largest_errors(
    heads: Construction,
    n: int,
    neurons: barron.Network,
    read: Callable[[np.ndarray], np.ndarray],
    rng: np.random.Generator,
    device: torch.device | str,
) -> tuple[float, float]:
    """|TF - |X * rho|_2| at the last token in float64: for random signs, and the worst found.

    The adversary takes `read` for the readout of the m neurons.
    """
    rho = heads.memories.values(n)
    random = rng.choice([-1.0, 1.0], (8, n, 1))
    X = np.concatenate([random, [adversary(rho, heads.values(n), read)]])
    network = heads.transformer(scalar_readout(neurons), n).to(torch.float64, device)
    outputs = network(torch.tensor(X, device=device))[:, -1, 0].cpu().numpy()
    errors = np.abs(outputs - norm(convolutions(rho, X)[..., 0]))
    return float(errors[:-1].max()), float(errors[-1])


def readout_bound(together: Any, norm: Any, m: int) -> float:
    """Step 6: 4 (S + 1) |f|_B / sqrt(m), if `together` is S = sum_s max_k |phi_k(s)|."""
    return 4 * (float(together) + 1) * float(norm) / math.sqrt(m)


def mean_supremum(inner: np.ndarray, values: np.ndarray) -> Any:
    """E sup |sum_j e_j b_j.y| of step 6, exactly, for rational b (m, M), phi_k(s) (M, length)."""
    at = inner @ values  # (m, length): what neuron j sees at s, as d = 1
    signs = np.array(list(itertools.product((1, -1), repeat=len(inner))))
    return abs(signs @ at).sum(1).sum() / len(signs)


def readout_error(heads: Construction, neurons: barron.Network) -> float:
    """E_FFN, proved, on the box that the memories stay in; and rounding in a sum of m neurons."""
    half = box(heads.memories.norms(), heads.attention_error)
    rounding = (len(neurons.a) + 20) * unit("float64") * half * float(barron.path_norm(neurons))
    return barron.sup_error(neurons, half).upper + rounding


def trained_error(phi: np.ndarray, example: str) -> float:
    """The worst error that is found for kernels phi (M, n) with the exact readout."""
    rho = EXAMPLES[example].values(phi.shape[1])
    X = adversary(rho, phi, norm)
    by_phi, by_rho = (convolutions(kernels, X)[:, 0] for kernels in (phi, rho))
    return float(abs(norm(by_phi) - norm(by_rho)))


def kernels(heads: Construction, n: int, **changes: Any) -> np.ndarray:
    """phi_k(s) of the construction as unit impulses show it, for f(y) = y, in float64; (M, n)."""
    whole = heads.transformer(identity_readout(len(heads.best)), n, **changes).to(torch.float64)
    impulses = torch.eye(n, dtype=torch.float64)[:, :, None]
    return whole(impulses)[:, -1, :].numpy()[::-1].T


def gaps(heads: Construction, n: int, **changes: Any) -> np.ndarray:
    """|rho_k(s) - phi_k(s)|; for f(y) = y sums over s are errors at the worst input; (M, n)."""
    return np.abs(kernels(heads, n, **changes) - heads.memories.values(n))


def without_present(heads: Construction, n: int, at_zero: Sequence[Any]) -> float:
    """Error at x = (1, 0, 0, ...), the present being read as if rho(0) were `at_zero`."""
    found = kernels(heads, n, at_zero=at_zero)[:, 0]
    return float(abs(norm(heads.memories.values(1)[:, 0]) - norm(found)))


def exactly(
    rpe: str,
    exponents: Sequence[Any],
    alphas: Any,
    at_zero: Sequence[Any],
    X: Sequence[Any],
    *,
    residual: bool = True,
) -> np.ndarray:
    """The memories at the last token of X, as f(y) = y reads them, or the attention alone."""
    readout, tokens = identity_readout(len(at_zero)), rationals(X)[:, None]
    weights = exponents, rationals(alphas), rationals(at_zero).tolist()
    whole = network(rpe, *weights, readout, length=len(X))
    if residual:
        return whole(tokens)[-1]
    return whole.layers[0].attention(tokens * whole.W_E[:, 0])[-1, 1:]


def with_token_in_block_1(X: Sequence[Any]) -> Any:
    """D = M d as printed, but with the residual: the output for rho(s) = 2^-s and f(y) = y."""
    slopes = (Log(2),)
    attention = summed("lin", slopes, normalisers("lin", slopes, len(X)))  # alpha = 1
    layer, one = Layer(attention, identity_readout(1)), rationals([[1]])
    return Transformer(one, one[0] * 0, (layer,))(rationals(X)[:, None])[-1, 0]
