"""A comparison that cannot fail is refused: pytest.approx lets 1e-12 pass by default."""

import numpy as np
import pytest


@pytest.mark.parametrize("tiny", [1e-14, [2e-15, 0.0], np.array([1e-20]), 9e-11])
def test_a_number_that_only_the_default_tolerance_would_judge_is_refused(tiny):
    with pytest.raises(ValueError, match="say abs=0"):
        pytest.approx(tiny, rel=1e-3)
    assert tiny == pytest.approx(tiny, rel=1e-3, abs=0)


@pytest.mark.parametrize("fine", [0.0, 1.0, [1.0, 1e-20], {"a": 1e-14}, np.zeros(2)])
def test_others_are_compared_as_ever(fine):
    assert fine == pytest.approx(fine)
