"""Mathematics that serves every wing: rates, exact arithmetic, and floors with proof.

rates.py           the exponent of a measured curve, with an interval; plateau.py: a x^-b + c
exact.py           rationals in arrays; logarithms.py: logarithms of rationals, exactly
arrays.py          one forward pass for torch tensors, rationals and balls
roundoff.py        bounds on rounding
l1.py              the best approximation in l1 by exponentials or powers (families.py), enclosed;
                   vertices.py finds the optimum
minimax.py         the best uniform approximation by polynomials, enclosed (taylor.py: from above)
barron.py          averages of ReLU neurons and their networks; faces.py: their largest error
pod.py             singular values of a kernel with proved errors; lowrank.py: with a diagonal
superposition.py   Kolmogorov's superpositions in two variables
polylogarithms.py  Fourier series whose coefficients are powers
"""

from repro.lazy import submodules

__getattr__ = submodules(__name__)
