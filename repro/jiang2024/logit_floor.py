"""What no coupling of rank m can do to the logits of tokens in [0, 1].

m is the rank of rho^, sigma_i are the singular values of rho, S_m and T_m the sums of sigma_i and
of sigma_i^2 beyond m (couplings.py), and delta = rho - rho^ is the error of a logit.
"""

from typing import Any

import flint

from repro.jiang2024.couplings import infinite_tails


def least_cost(S_m: Any, T_m: Any, m: int, c: Any) -> Any:
    """The minimum of c (T_m + sum a_i^2) + (S_m - sum a_i)^2 over a_1, ..., a_m.

    It is taken at a_i = S_m / (m + c). With c = tau - 1/2 it is the cost of the ridge correction
    (rate.py, 3), with c = tau - 1 the floor below.
    """
    return c * (T_m + S_m**2 / (m + c))


def row_floor(S_m: Any, T_m: Any, m: int, tau: int) -> Any:
    """No coupling of rank m has a smaller E sum_s delta_ts^2.

    Let rho have the same orthonormal functions on both sides and sigma_i >= 0, and let tokens be
    independent, with the law for which these functions are orthonormal. Then every rho^ of rank at
    most m has
        E sum_s delta_ts^2 >= (tau - 1) (T_m + S_m^2 / (m + tau - 1)).
    Proof. Let |.|_2 be the norm of functions of (u, v) in L2. The pairs s != t give
    (tau - 1) |delta|_2^2, and E delta_tt^2 >= (E delta_tt)^2, the square of a trace. Let
    b_1, ..., b_m be the singular values of rho^ and a_i = b_i - sigma_i. By von Neumann's
    inequality <rho, rho^> <= sum sigma_i b_i, so |delta|_2^2 >= T_m + sum a_i^2. The trace of rho^
    is at most sum b_i, so that of delta is at least S_m - sum a_i. If this is not negative, the sum
    is at least (tau - 1) (T_m + sum a_i^2) + (S_m - sum a_i)^2, whose minimum is the floor. If it
    is negative, sum a_i^2 >= S_m^2 / m, which gives even more.                              QED

    So the ridge correction costs at most 1 + 1/(2 tau - 2) times the least possible, for all m and
    all sigma. With different functions on the two sides, (tau - 1) T_m is a floor by Eckart and
    Young (call this with S_m = 0), and plain truncation of sines against cosines, which costs
    (tau - 1/2) T_m, is as near to it.
    """
    return least_cost(S_m, T_m, m, tau - 1)


def row_costs(alpha: Any, m: int, tau: int) -> dict[str, flint.arb]:
    """E sum_s delta_ts^2 of rate.py, 2 and 3, for sigma_i = i^-alpha, all i, and its floors."""
    (S, T), c = infinite_tails(alpha, m), tau - flint.fmpq(1, 2)
    return {
        "sin, plain": c * T + S**2,
        "sin, ridge": least_cost(S, T, m, c),
        "sin, floor": row_floor(S, T, m, tau),
        "cos, plain": c * T,
        "cos, floor": row_floor(0, T, m, tau),
    }
