"""Theorem A.1 (jiang2024, A.2, quoted from Ostrand 1965): Kolmogorov's superpositions.

For compact metric spaces of dimension d there are continuous inner functions psi_qs, the same for
all targets, such that every continuous f on the product of tau of them is
    f(x_1, ..., x_tau) = sum_{q=0}^{2 tau d} g_q(sum_s psi_qs(x_s)).                            (22)

Misprint: the text names the g_q before f, as if one set of outer functions served all targets. Two
constant targets show that it cannot. Ostrand has inner functions first, then f, then outer
functions that depend on f; so has (24).

Checked: tau = 2, d = 1, so 5 terms, with Sprecher's inner function
(repro/numerics/superposition.py). In rationals: it increases, the gaps of its five shifts never
meet, and the squares of ranks 1, 2, 3 have disjoint images. On the 49 pairs of numbers k/6 the
inner sums are all different, so that one outer function has the values of any given f there. In
float64, for three targets: a first step of the iteration leaves at most 4/5 of the largest value
and what f changes on a square, and so do two more steps, of what is left.

Not checked: the limit. It needs images of length 1e-24 at the next rank, which float64 cannot tell
apart. Nothing here uses the theorem: Theorem A.3 follows from finding-representation-n-tau-d.
"""

import functools
import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import strategies as st

from repro import figures
from repro.bounds import exactly, rounding_error, theorem
from repro.numerics import superposition

TARGETS = {
    "sin(3x + 2y²)": (lambda x: np.sin(3 * x[:, 0] + 2 * x[:, 1] ** 2), 3 + 4),
    "xy": (lambda x: x[:, 0] * x[:, 1], 2),
    "|x − y|": (lambda x: abs(x[:, 0] - x[:, 1]), 2),
}  # f, and its Lipschitz constant in the largest coordinate
LEFT = "largest |f − Σ g_q|"
A_1 = "Theorem A.1"
FOUR_FIFTHS = "2/5 |f| + 2/5 sup|f|, and what f changes from the centre of a square"


def points(claim):
    """All pairs of numbers with four digits, or of every fifth of them."""
    stride = claim.at_scale(smoke=5, laptop=1, paper=1)
    numbers = np.arange(0, superposition.TOP + 1, stride)
    return np.stack(np.meshgrid(numbers, numbers), axis=-1).reshape(-1, 2)


def errors(f, steps, at, **changes):
    """Largest and root mean square of what is left, before and after each step; and the g_q."""
    found = superposition.Superposition(f, **changes)
    left = [found.left(at)]
    for rank in steps:
        found.refine(rank)
        left.append(found.left(at))
    sizes = [np.abs(e).max() for e in left], [np.sqrt(np.mean(e**2)) for e in left]
    return sizes, found


@pytest.mark.exact
def test_the_inner_function_increases_and_its_gaps_do_not_meet(claim):
    values = [superposition.psi(superposition.DIGITS, N) for N in range(superposition.CELLS + 1)]
    falls = sum(a >= b for a, b in itertools.pairwise(values))
    claim.measured("places where ψ does not increase", falls, equation=A_1).equals(0)
    claim.measured("ψ at the ends", [values[0], values[-1]], equation=A_1).equals([0, 1])
    # ψ(0.12) = 1/6 + 2/6³, and ψ(0.05) is half way between ψ(0.04) = 4/6³ and ψ(0.1) = 1/6
    two = [superposition.psi(2, 8), superposition.psi(2, 5)]
    by_hand = [Fraction(38, 216), Fraction(20, 216)]
    claim.measured("ψ(0.12) and ψ(0.05)", two, equation=A_1).equals(by_hand)
    for rank in superposition.RANKS:
        first, last = superposition.blocks(rank)
        covered = np.zeros(superposition.CELLS + 1, dtype=bool)
        for low, high in zip(first, last, strict=True):
            covered[low : high + 1] = True
        starts = range(0, superposition.SHIFTS * superposition.SHIFT, superposition.SHIFT)
        moved = [covered[start:][: superposition.TOP + 1] for start in starts]
        least = int(np.sum(moved, axis=0).min())
        found = claim.measured("least number of blocks at a point", least, equation=A_1, rank=rank)
        found.equals(4)


@pytest.mark.exact
def test_the_squares_have_disjoint_images(claim):
    """Rank 1: images begin at i/6 + lam j/6 and have the length b (1 + lam), b = 4 (6^-3 + 6^-7 +
    6^-15). They are nearest from (i, 5) to (i + 1, 0), where 1/6 - 5 lam/6 is left for it."""
    lam, b = (Fraction(6**14 + 6**12 + 6**8 + 1, 6**15), Fraction(4 * (6**12 + 6**8 + 1), 6**15))
    nearest = claim.measured(
        "least distance of images", superposition.least_distance(1), equation=A_1, rank=1
    )
    nearest.equals(Fraction(1, 6) - 5 * lam / 6 - b * (1 + lam))
    for rank in superposition.RANKS:
        apart = superposition.least_distance(rank)
        claim.measured("least distance of images", apart, equation=A_1, rank=rank).at_least(
            exactly(Fraction(1, 10**8), "they do not meet; float64 still tells such images apart")
        )


@pytest.mark.parametrize("rank", [1, 2, 3], ids="rank={}".format)
@pytest.mark.construct
def test_one_step_leaves_at_most_four_fifths(rank, claim):
    at = points(claim)
    for name in claim.at_scale(smoke=list(TARGETS)[:1], laptop=list(TARGETS), paper=list(TARGETS)):
        f, lipschitz = TARGETS[name]
        (largest, _), _ = errors(f, [rank], at)
        # A block is 4/5 of 6^-rank long in y = 5x/6; its centre is half of that away.
        change = lipschitz * 0.4 * 6.0**-rank * 6 / 5
        claim.measured(LEFT, largest[1], equation=A_1, target=name).at_most(
            theorem(0.8 * largest[0] + change, FOUR_FIFTHS)
        )


@pytest.mark.parametrize("rank", [1, 2, 3], ids="rank={}".format)
@pytest.mark.construct
def test_one_step_for_the_constant_1(rank, claim):
    """Every square takes a fifth: five of them leave 0, three alone leave 2/5, and no less is left
    than the one, no more than the other."""
    (_, _), found = errors(lambda x: 1 + 0 * x[:, 0], [rank], at := points(claim))
    left, rounded = found.left(at), rounding_error(1e-15, "five sums of numbers below 1")
    claim.measured("least that is left", left.min(), equation=A_1, rank=rank).within(0, rounded)
    claim.measured("most that is left", left.max(), equation=A_1, rank=rank).within(0.4, rounded)


def bound_of_a_step(before, step, rank, at):
    """2/5 |r(x)| + 3/5 of what r changes from the centre of a square to x + 2/5 sup |r|.

    r is left before the step. x is in a square for three shifts or more: each takes a fifth of r at
    the centre. The two others add at most a fifth of the largest r at a centre.
    """
    size, change, r = superposition.BASE ** (superposition.DIGITS - rank), 0.0, before.left(at)
    for q in range(superposition.SHIFTS):
        moved = at + q * superposition.SHIFT
        inside = (moved % size <= superposition.blocks(rank)[1][0]).all(-1)
        middle = superposition.blocks(rank)[1][0] // 2 - q * superposition.SHIFT
        centre = np.clip(moved[inside] // size * size + middle, 0, superposition.TOP)
        change = max(change, np.abs(r[inside] - before.left(centre)).max())
    heights = max(np.abs(heights).max() for _, heights in step)
    return 0.4 * np.abs(r).max() + 0.6 * change + 2 * heights


@pytest.mark.construct
def test_every_step_leaves_what_the_proof_allows(claim):
    """For what is left, too, and not only for f: step 4 of the proof."""
    at, found = points(claim), {}
    for name, (f, _) in TARGETS.items():
        found[name] = errors(f, superposition.RANKS, at)
        (largest, mean), built = found[name]
        claim.record("largest", [float(e) for e in largest], target=name)
        claim.record("root mean square", [float(e) for e in mean], target=name)
        for k, rank in enumerate(superposition.RANKS):
            before = superposition.Superposition(f, outer=built.outer[:k])
            allowed = bound_of_a_step(before, built.outer[k], rank, at)
            left = claim.measured(LEFT, largest[k + 1], equation="(22)", target=name, rank=rank)
            left.at_most(theorem(allowed, "repro/numerics/superposition.py, 3, at these points"))
    name, ((_, _), outer) = next(iter(found.items()))
    y = np.linspace(0, 1 + float(superposition.LAMBDA), 6001)
    figure, (left, right) = figures.panels(2, width=4.6, height=4.2)
    x = np.arange(superposition.CELLS + 1) / superposition.CELLS
    figures.draw(left, "construction", x, superposition.table(), "", marker="", linewidth=1.2)
    left.set(xlabel="$y$", ylabel="$\\psi(y)$, for all $f$", title="inner function")
    figures.draw(right, "construction", y, outer.value(0, y), "", marker="", linewidth=0.4)
    right.set(xlabel="$\\psi(y_1) + \\lambda \\psi(y_2)$", ylabel="$g_0$")
    right.set_title(f"an outer function, for {name}")
    claim.figure(
        figure,
        "superposition",
        caption="Kolmogorov's theorem as far as float64 goes: one inner function for all targets, "
        "outer functions from three steps of the iteration.",
        alt="Left: the inner function, a staircase with steep steps at every scale. Right: an "
        "outer function, as rough as noise.",
    )


PAIRS = list(itertools.product(range(7), repeat=2))
fractions = st.fractions(min_value=-3, max_value=3, max_denominator=9)
values = st.lists(fractions, min_size=len(PAIRS), max_size=len(PAIRS))


@functools.cache
def inner_sums():
    """psi(x_1) + lam psi(x_2) at all pairs of sixths."""
    psi, lam = superposition.psi, superposition.LAMBDA
    return [psi(1, a) + lam * psi(1, b) for a, b in PAIRS]


def outer(f):
    """g_0 for this f."""
    return dict(zip(inner_sums(), f, strict=True))


def missed(f, g):
    """How many values of f the outer function g misses."""
    return sum(g[y] != value for y, value in zip(inner_sums(), f, strict=True))


@pytest.mark.exact
def test_every_target_has_its_own_outer_function(claim):
    different = len(set(inner_sums()))
    claim.measured("different inner sums", different, equation="(22)").equals(49)
    name, examples = "values missed, of 49", claim.at_scale(smoke=10, laptop=30, paper=300)
    claim.for_all(name, values, lambda f: missed(f, outer(f)), equation="(22)", examples=examples)


def test_control_the_outer_function_of_another_target_misses(claim):
    """f_1 = x_1 and f_2 = x_2, in sixths: they agree at seven pairs only."""
    first, second = ([Fraction(pair[k], 6) for pair in PAIRS] for k in (0, 1))
    name = "values of f_2 missed by the g of f_1"
    claim.measured(name, missed(second, outer(first)), equation="(22)").at_least(
        exactly(42, "49 pairs, 7 of them on the diagonal")
    )


def test_control_without_shifts_the_gaps_stay(claim):
    """a = 0: all five blocks have the same gaps. To the base 6, y_1 = 1075/1296 is 0.4551, in no
    block [d, d + 0.0..0444] of rank 1 or 2, and y_2 = 1025/1296 is 0.4425, in none of rank 3. So
    (y_1, y_2) is in no square, its image beside all of theirs: all g_q are 0, all of xy is left."""
    at = np.array([[1075, 1025]])
    (largest, _), _ = errors(TARGETS["xy"][0], superposition.RANKS, at, shift=0)
    claim.measured(LEFT, largest[-1], equation=A_1, target="xy").at_least(
        theorem(1075 * 1025 / 1080**2 - 1e-15, "f itself, at x = 1075/1080 and 1025/1080; rounding")
    )


def test_control_equal_weights_confuse_the_variables(claim):
    """lam = 1: the images of (i, j) and (j, i) coincide, so that f(x, y) = x is off by 1/2."""
    overlap = -superposition.least_distance(1, Fraction(1))
    claim.measured("overlap of images", overlap, equation=A_1).at_least(
        exactly(Fraction(1, 30), "in rationals")
    )
    sums = [superposition.psi(1, a) + 1 * superposition.psi(1, b) for a, b in ((0, 6), (6, 0))]
    claim.measured("ψ(0) + ψ(1)", sums[0], equation=A_1).equals(sums[1])
    found = superposition.Superposition(lambda x: x[:, 0], lam=Fraction(1))
    for rank in superposition.RANKS[:2]:
        found.refine(rank)
    error = abs(found.left(np.array([[0, superposition.TOP], [superposition.TOP, 0]]))).max()
    claim.measured(LEFT, error, equation=A_1).at_least(
        theorem(0.5 - 1e-12, "all g_q have one value where f = x is 0 and 1; 1e-12 for rounding")
    )
