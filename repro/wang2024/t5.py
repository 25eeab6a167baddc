"""Section F.1: how T5 counts distance, without a logarithm.

    -r(n) = n for n < B,  B + floor(B log(n/B) / log(D/B)) for B <= n < D,  2B - 1 for n >= D.

The floor is the largest integer k with k log(D/B) <= B log(n/B), that is, with integers only,

    (D/B)^k <= (n/B)^B,    or    D^k B^B <= n^B B^k.

At n = 16, 32 and 64 with B = 8 and D = 128 the quotient of logarithms is an integer exactly, and
rounding decides on which side of the floor a computed one falls: `floating` shows it. The first B
distances n = t - s have a step each, the last step ends at D > B.
"""

from typing import Any


def staircase(n: int, B: int, D: int) -> int:
    """-r(n) of Section F.1, exactly."""
    if n < B:
        return n
    if n >= D:
        return 2 * B - 1
    k = 0
    while D ** (k + 1) * B**B <= n**B * B ** (k + 1):
        k += 1
    return B + k


def floating(n: int, B: int, D: int, dtype: Any, *, difference: bool = False) -> int:
    """The same formula, every operation rounded to `dtype`.

    With `difference`, log n - log B and log D - log B stand for log(n/B) and log(D/B).
    """
    import torch

    if not B <= n < D:
        return staircase(n, B, D)
    distance, first, last = (torch.tensor(float(value)).to(dtype) for value in (n, B, D))
    if difference:
        quotient = (distance.log() - first.log()) / (last.log() - first.log())
    else:
        quotient = (distance / first).log() / (last / first).log()
    return B + int((first * quotient).floor())
