"""Definition B.5: for some w the logit p (phi(s) - phi(w . x_t)) is infinite."""

from math import inf, log


def phi_lin(z):  # (4)
    return -z if z >= 0 else -inf


def phi_log(z):  # (4)
    return -log(z) if z >= 1 else -inf


p, s = 2, 3
for name, phi, w_x in (("lin", phi_lin, -1), ("log", phi_log, 0)):
    logit = p * (phi(s) - phi(w_x))
    print(f"{name}: w . x_t = {w_x}, so phi(w . x_t) = {phi(w_x)} and the logit is {logit}")
    assert logit == inf
