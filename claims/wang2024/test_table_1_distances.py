"""Table 1 (wang2024, Appendix F.1): the T5 encoding for the distances 0 to 30.

Minus the bias is the distance up to 7, then 8 up to 11, 9 up to 15, 10 up to 22 and 11 up to 30.

Checked: all 31 entries, by the formula of Section F.1 in integers with B = 8 and D = 128 (neither
is printed). Of all 1 <= B <= 30 and B < D < 400, exactly B = 8 with D = 119, ..., 128 give the
table: it determines B and not D. float64 and float32 compute every entry right.
Controls: D = 118 and D = 129 miss an entry. In bfloat16 and float16 some distances, where B times
the quotient of the logarithms is near an integer, fall on the wrong side of the floor.

Not checked: what a trained T5 adds to its logits at these distances. The entries are indices of
buckets (Section F.1's claim).
"""

import pytest

from repro.bounds import exactly
from repro.wang2024 import t5
from repro.wang2024.pictures import sums as pictures

PRINTED = [*range(8), *[8] * 4, *[9] * 4, *[10] * 7, *[11] * 8]  # Table 1, distances 0, ..., 30
B, D = 8, 128  # ours; T5's own for both directions: 32 buckets, half of them for the past


def wrong(B, D):
    return sum(t5.staircase(n, B, D) != value for n, value in enumerate(PRINTED))


@pytest.mark.exact
def test_all_31_entries_are_right(claim):
    ours = [t5.staircase(n, B, D) for n in range(len(PRINTED))]
    for n, (paper, value) in enumerate(zip(PRINTED, ours, strict=True)):
        claim.cell(f"t − s = {n}", "−r(t − s)", paper=paper, ours=value)
    claim.measured("entries of the table", len(PRINTED), equation="Table 1").equals(31)
    claim.measured("entries that differ", wrong(B, D), equation="Table 1", B=B, D=D).equals(0)


@pytest.mark.exact
def test_the_table_determines_B_and_not_D(claim):
    fits = [(B, D) for B in range(1, 31) for D in range(B + 1, 400) if wrong(B, D) == 0]
    claim.record("pairs (B, D) tried", sum(399 - B for B in range(1, 31)))
    expected = [(8, D) for D in range(119, 129)]
    claim.measured("pairs that fit", fits, equation="Table 1").equals(expected)
    Ds, distances = [118, *range(119, 129), 129], list(range(160))
    stairs = {D: [t5.staircase(n, 8, D) for n in distances] for D in Ds}
    apart = [n for n in distances if len({stairs[D][n] for D in range(119, 129)}) > 1]
    # 8 log(31/8) / log(D/8) = 4.014 for D = 119 and 3.908 for D = 128
    claim.measured("first distance at which the ten differ", apart[0], equation="Table 1").equals(
        31
    )
    last = {stairs[D][n] for D in Ds for n in range(129, 160)}
    claim.measured("values beyond D", last, equation="2B − 1").equals({15})
    claim.figure(
        pictures.staircases(stairs, PRINTED),
        "staircase",
        caption="Table 1 fits B = 8 and each of ten values of D; they part after the table ends.",
    )


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("difference", [False, True], ids=["quotient", "difference"])
@pytest.mark.construct
def test_double_and_single_precision_compute_every_distance_right(dtype, difference, claim):
    found = mistakes(dtype, difference)
    claim.measured("wrong distances below 400", found, equation="Section F.1").equals([])


def mistakes(dtype, difference):
    import torch

    kind = getattr(torch, dtype)
    computed = [t5.floating(n, B, D, kind, difference=difference) for n in range(400)]
    return [n for n, value in enumerate(computed) if value != t5.staircase(n, B, D)]


@pytest.mark.parametrize(("broken", "entry"), [(118, 22), (129, 16)], ids=["D=118", "D=129"])
def test_control_one_less_or_more_for_D_misses_an_entry(broken, entry, claim):
    """Neighbours of the ten that fit; at `entry` the staircase is on another step."""
    one = exactly(1, "integers")
    claim.measured("entries that differ", wrong(B, broken), equation="Table 1").at_least(one)
    off = abs(t5.staircase(entry, B, broken) - PRINTED[entry])
    claim.measured("difference at this entry", off, equation="Table 1").at_least(one)


LOW = {
    "bfloat16": ("bfloat16", False),
    "bfloat16-difference": ("bfloat16", True),
    "float16": ("float16", True),
}


@pytest.mark.parametrize(("dtype", "difference"), LOW.values(), ids=LOW)
def test_control_low_precision_falls_on_the_wrong_side_of_the_floor(dtype, difference, claim):
    """Which distances go wrong depends on the logarithm of the library, here torch on a CPU."""
    found, one = mistakes(dtype, difference), exactly(1, "integers beside the computed floor")
    claim.record("wrong distances", str(found))
    claim.measured("number of wrong distances", len(found), equation="Section F.1").at_least(one)
    if (dtype, difference) == ("bfloat16", True):
        inside = sum(n < len(PRINTED) for n in found)
        claim.measured("wrong entries of the table", inside, equation="Table 1").at_least(one)
