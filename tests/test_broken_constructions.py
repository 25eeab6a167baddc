"""Change one sign, index or constant of a construction: its claim must go red.

A plugin hands pytest a changed source of one module; nothing on disk is touched.
"""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SABOTAGE = """
import importlib.machinery, sys
NAME, OLD, NEW = {module!r}, {old!r}, {new!r}

class Broken(importlib.machinery.SourceFileLoader):
    def get_code(self, fullname):
        source = self.get_data(self.path).decode()
        if source.count(OLD) != 1:
            sys.exit(f"{{OLD!r}} occurs {{source.count(OLD)}} times in {{NAME}}, not once")
        return compile(source.replace(OLD, NEW), self.path, "exec")

class Finder(importlib.machinery.PathFinder):
    @classmethod
    def find_spec(cls, fullname, path=None, target=None):
        if fullname != NAME:
            return None
        spec = super().find_spec(fullname, path, target)
        spec.loader = Broken(fullname, spec.origin)
        return spec

sys.meta_path.insert(0, Finder)
"""
LEMMA_3_1 = "test_lemma_3_1_multiplication.py"
LEMMA_3_3 = "test_lemma_3_3_ridge_powers.py"
THEOREM_3_5 = "test_theorem_3_5_zero_error.py"
TOWER = "test_finding_exactness_tower.py"
FANG2022 = {  # claim, module of repro/fang2022, from, to
    "nothing": (LEMMA_3_1, "multiplication", "W_Q[0, x] = 1", "W_Q[0, x] = 1"),
    "sign in W_2, first unit": (LEMMA_3_1, "multiplication", "W_2[product, 0] = -2", "W_2[product, 0] = 2"),
    "sign in W_2, second unit": (LEMMA_3_1, "multiplication", "W_2[product, 1] = 2", "W_2[product, 1] = -2"),
    "row in W_V": (LEMMA_3_1, "multiplication", "W_V[product, rows.one]", "W_V[product - 1, rows.one]"),
    "column in W_V": (LEMMA_3_1, "multiplication", "W_V[product, rows.one]", "W_V[product, y]"),
    "sign in W_1": (LEMMA_3_1, "multiplication", "W_1[0, product] = 1", "W_1[0, product] = -1"),
    "key reads x": (LEMMA_3_1, "multiplication", "W_K[0, y] = 1", "W_K[0, x] = 1"),
    "bias lost": (LEMMA_3_1, "multiplication", "b_2[product] = G", "b_2[product] = 0"),
    "lift halved": (LEMMA_3_1, "multiplication", "W_Q[i, i] = G", "W_Q[i, i] = G / 2"),
    "one key lost": (LEMMA_3_1, "multiplication", "W_K[i, i] = 1", "W_K[i, i] = int(i < n)"),
    "one weight too many": (LEMMA_3_1, "multiplication", "W_2, zeros(2), b_2)", "W_2, zeros(2) - 1, b_2)"),
    "sign in the test with l r": (LEMMA_3_3, "ridge", "- s * m[_raised(a, -2)]", "+ s * m[_raised(a, -2)]"),
    "power of the sine": (LEMMA_3_3, "ridge", "/ s ** a[-1]", "/ s ** (a[-1] + 1)"),
    "Bombieri's weights": (LEMMA_3_3, "polynomials", "map(math.factorial, a)), math", "a), math"),
    "sign of beta": (THEOREM_3_5, "powers", "(-1) ** s * beta", "beta"),
    "repaired lift, exponent": (THEOREM_3_5, "powers", "2 * B**i for i", "2 * B ** (i + 1) for i"),
    "least lift, parity": (THEOREM_3_5, "powers", "(i + 1) % 2", "i % 2"),
    "factor one slot too far": (THEOREM_3_5, "powers", "for i in range(1, q))", "for i in range(2, q + 1))"),
    "constant lost": (THEOREM_3_5, "powers", "readout(beta), Q.at_zero()", "readout(beta), 0 * B"),
    "recursion without G": (TOWER, "tower", "(B * A + P + G + R) + E", "(B * A + P + R) + E"),
}  # fmt: skip
EQUAL_T = "test_finding_heads_equal_T_plus_a_few.py"
NECESSARY = "test_finding_heads_necessary_silence.py"
WANG2024 = {  # the same of repro/wang2024
    "T5, a step too early": ("test_table_1_distances.py", "t5", "while D ** (k + 1)", "while D**k"),
    "Interpolant, one node too few": (EQUAL_T, "exponentials", "[i for i in range(self.H) if i != self.T]", "[i for i in range(1, self.H) if i != self.T]"),
    "Interpolant, its tail": (EQUAL_T, "exponentials", "* start) / (1 - self.q**h)", "* start) / (1 + self.q**h)"),
    "test sequence, its place": (NECESSARY, "necessity", "{N - k + i: c", "{N - k + i + 1: c"),
    "test sequence, reversed factor": (NECESSARY, "necessity", "flint.fmpq_poly(p[::-1])", "flint.fmpq_poly(p)"),
    "Barrier of powers, a zero lost": ("test_lemma_E_5_moving_powers.py", "powers", "for t in range(1, B)}", "for t in range(2, B)}"),
    "Jackson, a factor 2": ("test_lemma_F_5_jackson.py", "jackson", "Fraction(2 * sum(", "Fraction(4 * sum("),
    "the shift, one step late": ("test_section_6_2_curse_of_memory.py", "recurrent", "k=-1, dtype=int)", "k=-2, dtype=int)"),
    "the residual not read": ("test_theorem_6_1_decaying_kernels.py", "essential", "(alphas.sum(0) if rpe == \"lin\" else 0)", "alphas.sum(0)"),
    "rounding, half too low": ("test_equation_15_precision.py", "rounding", "k = (x + HALF).floor()\n    return k - 1", "k = x.floor()\n    return k - 1"),
    "normaliser of another window": ("test_theorem_4_1_one_layer_remembers.py", "fixed", "sums = normalisers(rpe, tuple(exponents), length)", "sums = normalisers(rpe, tuple(exponents), length + 1)"),
    "memories exchanged": ("test_theorem_4_1_one_layer_remembers.py", "fixed", "W_V[1:, 0] = v", "W_V[1:, 0] = v[::-1]"),
    "every head reads pointer 1": ("test_theorem_5_1_two_layers_follow_a_pointer.py", "adaptive", "layout.row(layout.pointer(k), beta)", "layout.row(layout.pointer(1), beta)"),
    "trained, the mean over the wrong axis": ("test_theorem_5_1_two_layers_follow_a_pointer.py", "trained_transformer", ".square().mean((1, 2))", ".square().mean((0, 2))"),
    "1/log 2 lost": ("test_remark_B_3_dot_product_and_distance.py", "adaptive", "1 / flint.arb(2).log()", "flint.arb(1)"),
    "Vandermonde transposed": ("test_proposition_5_2_dot_product.py", "pointer", "solve[j, i] * c", "solve[i, j] * c"),
    "exponent of C.2": ("test_section_C_2_depth.py", "depth", "** (2 * n + 2)", "** (2 * n + 1)"),
}  # fmt: skip
JIANG2024 = {  # the same of repro/jiang2024
    "the ridge": ("test_finding_ridge_correction.py", "rate", "(m + tau - HALF)", "(m + tau)"),
    "the diagonal, its sign": ("test_finding_rate_with_diagonal.py", "rate", "rooms(x) * missing", "rooms(x) * -missing"),
    "the last wave's neurons read by the first": ("test_finding_rate_with_networks.py", "networks", "net.W_2 for net in parts", "net.W_2 for net in reversed(parts)"),
    "the second term of the rate": ("test_finding_rate_with_networks.py", "rate", "strict=True)) / 2", "strict=True)) / 8"),
    "the bill of one room for all": ("test_equation_14_all_networks.py", "complexity", "most / (4 * flint.arb(tau).sqrt())", "most / 4"),
    "waves of the wrong parity": ("test_theorem_4_1_jackson_rate.py", "couplings", "C - C_2 if", "C + C_2 if"),
    "the diagonal forgotten": ("test_equation_46_tail.py", "rate", "squares + d.sum() * d.sum()", "squares + 0 * d.sum()"),
    "memory without its 1": ("test_equation_76_memory.py", "memory", "return 1 + decay_time(kernel)", "return decay_time(kernel)"),
    "Rudin and Shapiro": ("test_finding_hankel_floor.py", "hankel", "(s & s >> 1).bit_count()", "(s & s >> 2).bit_count()"),
    "rows for columns": ("test_finding_ordering_floor.py", "ordering", "triangle(rho)[:, list(p)]", "triangle(rho)[list(p), :]"),
    "floor of affine networks": ("test_equation_14_all_networks.py", "affine_networks", "return (N - 1) / (2", "return N / (2"),
    "floor of a pair, its rank": ("test_section_5_1_predictions.py", "output_floor", "S = self.left(m + 1, 1)", "S = self.left(m, 1)"),
    "floor of encoded logits, one half": ("test_finding_rate_with_diagonal.py", "encoded_logit_floor", "return tail(m + 1) / 2\n", "return tail(m + 1)\n"),
    "floor of encoded outputs, the other keys": ("test_theorem_4_1_jackson_rate.py", "output_floor", "flint.arb(self.tau - 1).log()", "flint.arb(1).log()"),
    "joint infimum, its constant": ("test_equation_12_spectrum_of_the_coupling.py", "complexity", "return 4 * flint.arb(2).sqrt()", "return 5 * flint.arb(2).sqrt()"),
    "error of interpolation": ("test_equation_10_singular_values.py", ".numerics.pod", "flint.arb(4 * cells) ** -q", "flint.arb(8 * cells) ** -q"),
    "the gauge upside down": ("test_finding_gauge_freedom.py", "gauge", "target.rho(u, v) + logs", "target.rho(u, v) - logs"),
    "trained RNN, rows exchanged for columns": ("test_table_2_ordering_and_mixing.py", "linear_tasks", "M[:, ORDERS[task.order](task.tau)]", "M[ORDERS[task.order](task.tau)]"),
    "trained RNN, columns of its target for rows": ("test_table_2_ordering_and_mixing.py", "trained_recurrent", "3**0.5 * M.sum(-1)", "3**0.5 * M.sum(-2)"),
    "trained attention, read by columns": ("test_figure_6_selection.py", "recovery", "readout = form.weights(tokens.float()),", "readout = form.weights(tokens.float()).mT,"),
}  # fmt: skip
CHANGES = {**{f"fang2022: {name}": ("fang2022", *what) for name, what in FANG2022.items()},
           **{f"wang2024: {name}": ("wang2024", *what) for name, what in WANG2024.items()},
           **{f"jiang2024: {name}": ("jiang2024", *what) for name, what in JIANG2024.items()}}  # fmt: skip


@pytest.mark.parametrize("change", CHANGES)
def test_the_claim_goes_red_when_this_is_broken(change, tmp_path):
    paper, claim, module, old, new = CHANGES[change]
    name = importlib.util.resolve_name(f".{module}", f"repro.{paper}")
    plugin = SABOTAGE.format(module=name, old=old, new=new)
    (tmp_path / "sabotage.py").write_text(plugin)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", f"claims/{paper}/{claim}", "-q", "-x", "-m", "not control", "--scale", "smoke",
         "-p", "sabotage", "-p", "no:cacheprovider", "--artifacts", str(tmp_path / "artifacts"), "--store", str(tmp_path / "store")],
        cwd=ROOT, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(tmp_path)}, check=False,
    )  # fmt: skip
    broken = not change.endswith("nothing")
    assert done.returncode == int(broken), done.stdout + done.stderr
    if broken:
        assert ": not as recorded: " in done.stdout, done.stdout
