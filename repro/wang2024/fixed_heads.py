"""Theorem 4.1 in float64: heads for the distances T_1, ..., T_M, with errors that are proved.

Heads are `apart`, H_1, ..., H_M for the memories (budgets.allocate), or `shared`: each head writes
to every memory. E_Attn is the root of the sum of the squares of |phi_k - I{. = T_k}|_1 (`errors`).
The coefficients are fitted on a window, in float64. For these rational numbers the l1 error over
all integers is enclosed in balls (numerics/l1.py): E_Attn holds for sequences of any length.

The best layer for the parity of x_t, x_{t-T_1}, ..., x_{t-T_M} (`best_for_parity`). On M + 1 signs
it is a zigzag of their sum s, with slopes 1 and -1. Let H exponents be given and let E be the l1
distance on N_+ of rho = sum_k I{. = T_k} from the span of the heads.
- One block is enough: it holds sum_s phi(s) x_{t-s}, the readout adds (1 - phi(0)) x_t, and the
  error is at most E, as the zigzag moves no faster than s.
- No network of class (7) with these exponents has an error below min(1, E), if M is even and the
  tokens are all of [-1, 1]. As in essential.py there are pasts z and -z that look alike to it, with
  sum_k z_{T_k} = E; divide z by E should E exceed 1. Then |s| <= 1, where the zigzag is s or -s:
  the outputs wanted are 2 min(1, E) apart.
"""

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import flint
import numpy as np
import torch

from repro.numerics import l1
from repro.numerics.barron import Network, path_norm, sup_error
from repro.numerics.exact import rationals
from repro.numerics.roundoff import unit
from repro.wang2024 import essential, fixed
from repro.wang2024.budgets import allocate, cost
from repro.wang2024.heads import family, roundoff
from repro.wang2024.model import Transformer
from repro.wang2024.moving import WINDOW, usual_exponents
from repro.wang2024.targets import AXES, SPARSE_PARITY, Target, parity

BITS = 256
PROVED = 200  # setting: times at which an error is summed up; beyond them it is bounded


@dataclass(frozen=True)
class FixedHeads:
    """phi_k(s) = sum_h alphas[h, k] e^{p_h phi_type(s)}, and how far each memory is off."""

    rpe: str
    exponents: tuple[Any, ...]  # p_h, (H,)
    alphas: np.ndarray  # (H, M), rational
    errors: tuple[float, ...]  # (M,)

    @property
    def attention_error(self) -> float:
        return math.hypot(*self.errors)

    def transformer(
        self, target: Target, length: int, readout: Network | None = None
    ) -> Transformer:
        return fixed.transformer(
            target, self.rpe, self.exponents, self.alphas, length=length, readout=readout
        )

    def largest_error(
        self,
        target: Target,
        near: int,
        far: int,
        rng: np.random.Generator,
        device: torch.device | str = "cpu",
    ) -> float:
        """In float64: all windows of `near` tokens; of `far` 64, and the worst.

        These continue the 32 worst short windows so that the errors of all memories add up.
        """

        def found(windows: np.ndarray) -> np.ndarray:
            network = self.transformer(target, windows.shape[1]).to(torch.float64, device)
            return fixed.errors(network, target, windows)[..., -1]

        windows = target.windows(near)
        short = found(windows)
        phi = fixed.kernel(self.rpe, self.exponents, self.alphas, far)
        gap = phi.sum(0)  # beyond all distances, where the older tokens are
        # setting: how many are continued
        worst = target.continued(windows[np.argsort(short)[-32:]], gap)
        long = found(np.concatenate([worst, target.draw(64, far, rng)]))
        return float(max(short.max(), long.max()))

    def read_by(
        self, neurons: Network, target: Target, windows: np.ndarray, device: torch.device | str
    ) -> tuple[float, float, float]:
        """With m neurons for f = |y|_2: the largest error on windows; E_FFN + E_Attn; rounding."""
        n, E_Attn = windows.shape[1], self.attention_error
        network = self.transformer(target, n, neurons).to(torch.float64, device)
        found = fixed.errors(network, target, windows)[..., -1].max()
        bound = sup_error(neurons, 1 + E_Attn).upper + E_Attn
        return float(found), bound, self.rounding(target, n, neurons)

    def rounding(self, target: Target, length: int, readout: Network | None = None) -> float:
        """In float64: of the memories (heads.py) times |f|_Lip, and of the sum of m neurons."""
        f = readout or target.readout.network
        assert f is not None
        with flint.ctx.workprec(BITS):
            sums = fixed.normalisers(self.rpe, self.exponents, length)
            total = target.d * float(abs(self.alphas).sum(1) @ sums)
        stored = roundoff(total, length, len(self.exponents))
        read = (len(f.a) + 20) * unit("float64") * 2 * float(path_norm(f))
        return target.readout.lipschitz * stored + read


@functools.cache
def _column(rpe: str, T: int, H: int) -> tuple[np.ndarray, float]:
    """Coefficients for one memory, as rationals, and their proved error."""
    exponents = usual_exponents(rpe, H)
    found, _ = fixed.fitted(rpe, T, exponents, length=WINDOW)
    alphas = rationals(found.tolist())
    with flint.ctx.workprec(BITS):
        error = l1.l1_error(l1.indicator(T), family(rpe, exponents), list(alphas), window=PROVED)
    return alphas, float(error.upper())


def shared(rpe: str, distances: Sequence[int], H: int) -> FixedHeads:
    columns = [_column(rpe, T, H) for T in distances]
    alphas = np.stack([alphas for alphas, _ in columns], axis=1)
    return FixedHeads(rpe, usual_exponents(rpe, H), alphas, tuple(e for _, e in columns))


def apart(rpe: str, distances: Sequence[int], H: int) -> FixedHeads:
    """As A.1 has it, with the shares for n = 1 made integers."""
    shares = allocate(H, [float(cost(rpe, T)) for T in distances], 1)
    columns = [_column(rpe, T, own) for T, own in zip(distances, shares, strict=True)]
    exponents = sum((usual_exponents(rpe, own) for own in shares), ())
    alphas = rationals(fixed.apart([alphas.tolist() for alphas, _ in columns]))
    return FixedHeads(rpe, exponents, alphas, tuple(e for _, e in columns))


PARITIES = {1: (SPARSE_PARITY, 10), 2: (AXES, 6)}  # by d; all windows of so many tokens are tried


def for_parity(rpe: str, kind: str, H: int) -> FixedHeads:
    """H heads in all, `kind` being "shared" or "apart"."""
    return (shared if kind == "shared" else apart)(rpe, SPARSE_PARITY.distances, H)


@functools.cache
def parity_error(
    rpe: str, kind: str, H: int, d: int, seed: int, device: torch.device | str
) -> float:
    target, near = PARITIES[d]
    rng = np.random.default_rng(seed)
    return for_parity(rpe, kind, H).largest_error(target, near, 60, rng, device)


def parity_curves(
    rpe: str, Hs: Sequence[int], seed: int, device: torch.device | str
) -> dict[str, list[tuple[int, float]]]:
    """Errors with heads shared and apart, |f|_Lip E_Attn, and what no layer can beat, against H."""
    lipschitz, distances = SPARSE_PARITY.readout.lipschitz, tuple(SPARSE_PARITY.distances)
    found = {
        "shared": lambda H: parity_error(rpe, "shared", H, 1, seed, device),
        "apart": lambda H: parity_error(rpe, "apart", H, 1, seed, device),
        "bound": lambda H: lipschitz * for_parity(rpe, "shared", H).attention_error,
        "best": lambda H: min(1.0, best_for_parity(rpe, distances, H).floor),
    }
    return {name: [(H, value(H)) for H in Hs] for name, value in found.items()}


@functools.cache
def best_for_parity(rpe: str, distances: tuple[int, ...], H: int) -> l1.Best:
    """E, proved from both sides, with its coefficients."""
    rho = l1.Kernel(
        lambda t: flint.arb(int(t in distances)),
        lambda start: flint.arb(sum(start <= T for T in distances)),
    )
    return essential.best(rpe, rho, usual_exponents(rpe, H), WINDOW)


def best_parity_error(best: l1.Best, target: Target, windows: np.ndarray) -> tuple[float, float]:
    """The largest error of the layer that attains E, on windows, and what rounding may add to it.

    One block for the sum s, which the readout completes by x_t; in float64.
    """
    rpe = "lin" if isinstance(best.family, l1.Exponentials) else "log"
    n, exponents, of_all = windows.shape[1], best.family.exponents, parity(target.M + 1).network
    assert of_all is not None
    zigzag = fixed.scalar_readout(of_all._replace(b=of_all.b[:, :1]))
    alphas = np.array(best.coefficients, dtype=object)[:, None]
    network = essential.network(rpe, exponents, alphas, [1], zigzag, length=n).to(torch.float64)
    weight = sum(float(head.W_V.abs().sum()) for head in network.layers[0].attention.heads)
    rounding = 2 * roundoff(2 * weight + 100, n, len(exponents))  # x_t gets as much
    return float(fixed.errors(network, target, windows)[..., -1].max()), rounding
