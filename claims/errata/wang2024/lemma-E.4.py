"""Lemma E.4: (T+1)^(n (1+alpha)) <= 2^n T^(n (1+alpha)) fails at T = 1; alpha = 1/100."""

n = 1
for T in (1, 2, 3):  # both sides to the power 100
    left, right = (T + 1) ** (101 * n), 2 ** (100 * n) * T ** (101 * n)
    print(f"T = {T}: the step is", "true" if left <= right else "false")
    assert (left <= right) == (T >= 2)

# With 2^(n (1+alpha)) it is true for every T >= 1, since T + 1 <= 2T.
