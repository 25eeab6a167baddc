"""Lemma 1: a softmax head that reads the value beside the largest score.

Text             Here      Meaning
s_1, ..., s_n    scores    counted in units of the gap: s_1 >= s_j + 1 for j > 1
v_1, ..., v_n    values    in an interval of length D
b                base      e^(inverse temperature)

The head is h = sum_j p_j v_j with p_j = b^(s_j) / sum_k b^(s_k), and

    |h - v_1| <= D r / (1 + r),   r = (n - 1) / b.                                  (1)

Proof. Divide by b^(s_1): p_1 = 1 / (1 + x) with x = sum_{j>1} b^(s_j - s_1) <= r. So h - v_1, which
is sum_{j>1} p_j (v_j - v_1), is at most (1 - p_1) D = D x / (1 + x), which grows with x. Equality:
all gaps are 1, v_1 lies at one end of the interval and the other values at the other.

Hence the error is at most eps D for

    b = (n - 1)(1 - eps) / eps.                                                     (2)

The functions take fractions, which makes them exact, as well as floats.
"""


def head(scores, values, base):
    top = max(scores)
    weights = [base ** (score - top) for score in scores]  # b^(s_j - s_1): no overflow
    return sum(w * v for w, v in zip(weights, values, strict=True)) / sum(weights)


def error_bound(n, base):
    """Right-hand side of (1) for D = 1."""
    r = (n - 1) / base
    return r / (1 + r)


def base_for(eps, n):
    """(2): the base at which the error is at most eps."""
    return (n - 1) * (1 - eps) / eps
