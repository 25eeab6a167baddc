import pytest

from repro import figures
from repro.wang2024.pictures.scales import decades, power_of_ten


@pytest.mark.parametrize(
    ("value", "text"),
    [(1e-14, "10⁻¹⁴"), (1e-3, "10⁻³"), (1.0, "10⁰"), (10.0, "10¹"), (1e30, "10³⁰"), (0.02, "0.02")],
)
def test_powers_of_ten_are_written_with_their_exponent(value, text):
    assert power_of_ten(value) == text


def test_only_the_axes_named_have_decades():
    figure, (axes,) = figures.panels(1)
    axes.plot([1, 2, 3], [1e-5, 1e-2, 1.0])
    decades(axes, "y", title="named")
    figures.saved(figure)
    ticks = {text.get_text() for text in axes.get_yticklabels()}
    assert {"10⁻⁵", "10⁻²"} <= ticks
    assert (axes.get_xscale(), axes.get_yscale(), axes.get_title()) == ("linear", "log", "named")
    assert not axes.yaxis.get_minorticklocs().size
