"""Measures of concentration on spectra whose answers are known."""

import math
from typing import Any

import pytest
import torch

from repro.jiang2024 import scores

DOUBLE: dict[str, Any] = {"dtype": torch.float64}
FALL = torch.tensor([4.0, 2.0, 1.0], **DOUBLE)


def test_scores_and_their_rounding_by_hand():
    Q, K = torch.ones(1, 5, 4, **DOUBLE), 3 * torch.ones(1, 5, 4, **DOUBLE)
    assert (scores.of(Q, K) == 3 * 4 / 2).all()
    # tau = 2, m_h = 4, norms 3 and 5: (4 + 4 + 2^2) units of 3 5 / 2.
    Q, K = torch.zeros(2, 2, 4, dtype=torch.float64)
    Q[0, 0], K[1, 2], K[1, 3] = 3, 3, -4
    assert scores.rounding(Q, K).item() == 12 * 2.0**-53 * 7.5


def test_a_spread_is_a_deviation_over_a_mean():
    """1 and 3: mean 2, deviation sqrt 2; equal spectra have none."""
    spread = scores.spread(torch.tensor([[1.0], [3.0]], **DOUBLE))
    assert spread.item() == pytest.approx(math.sqrt(2) / 2)
    same = FALL.expand(7, 3)
    assert scores.spread(same).tolist() == [0, 0, 0]
    assert scores.spread(scores.effective_rank(same), inputs=-1).item() == 0


def test_the_share_of_the_variance_that_the_index_explains():
    """All of equal spectra, none where every value of an input is the same, and half where log sigma
    is +-1 by the index and +-1 by the input, independently."""
    assert scores.index_share(FALL.expand(7, 3)).item() == pytest.approx(1, abs=1e-15)
    flat = torch.tensor([1.0, 2.0, 5.0], **DOUBLE)[:, None].expand(3, 4)
    assert scores.index_share(flat).item() == pytest.approx(0, abs=1e-15)
    logs = torch.tensor([[2.0, 0.0], [0.0, -2.0]], **DOUBLE)
    assert scores.index_share(logs.exp()).item() == pytest.approx(0.5)


@pytest.mark.parametrize("r", [1, 3, 8])
def test_the_effective_rank_is_r_for_r_equal_values(r):
    spectrum = torch.cat([torch.full((r,), 0.3, **DOUBLE), torch.zeros(8 - r, **DOUBLE)])
    assert scores.effective_rank(spectrum).item() == pytest.approx(r)


def test_what_the_softmax_does_not_see():
    """A constant in every row changes no softmax, and `seen` not at all."""
    generator = torch.Generator().manual_seed(1)
    one = torch.randn(2, 5, 5, generator=generator, **DOUBLE)
    other = one + 10 * torch.randn(2, 5, 1, generator=generator, **DOUBLE)
    torch.testing.assert_close(scores.seen(other), scores.seen(one))
    torch.testing.assert_close(scores.seen(one).softmax(-1), one.softmax(-1))
    assert (scores.seen(one).norm(dim=(-1, -2)) < one.norm(dim=(-1, -2))).all()


def test_rounding_lies_above_what_follows_the_rank_and_far_below_the_rank():
    """Well-conditioned Q and K of 3 columns: six digits apart at least."""
    generator = torch.Generator().manual_seed(2)
    Q, K = torch.randn(2, 50, 17, 3, generator=generator, **DOUBLE)
    values, allowed = scores.spectra(scores.of(Q, K)), scores.rounding(Q, K)
    assert (values[:, 3] <= allowed).all()
    assert (values[:, 2] >= 1e6 * allowed).all()


def test_heads_of_a_network_know_their_rank():
    """Layers of 2 heads of size 3, 5 inputs of 9 tokens; in the second layer rank 2."""
    generator = torch.Generator().manual_seed(3)
    Qs, Ks = torch.randn(2, 2, 5, 2, 9, 3, generator=generator, **DOUBLE)
    Qs[1, ..., 2] = Qs[1, ..., 1]
    pairs = list(zip(Qs, Ks, strict=True))
    heads = scores.Heads.of(pairs)
    assert heads.spectra.shape == (2, 2, 5, 9)
    assert heads.values.shape == (2, 2, 5, 3)
    assert (heads.ranks == torch.tensor([3, 2])[:, None, None]).all()
    zeros = torch.zeros(2, 1, 3, 2, **DOUBLE)  # two inputs, one head, three tokens
    assert scores.Heads.of([(zeros, zeros)]).ranks.tolist() == [[[0, 0]]]
    Q, K = pairs[0]
    expected = torch.linalg.svdvals(Q[4, 1] @ K[4, 1].T) / 3**0.5
    torch.testing.assert_close(heads.spectra[0, 1, 4], expected)
    matrix = Q[4, 1] @ K[4, 1].T / 3**0.5
    expected = torch.linalg.svdvals(matrix - matrix.mean(1, keepdim=True))
    torch.testing.assert_close(scores.Heads.of(pairs, see=True).spectra[0, 1, 4], expected)
