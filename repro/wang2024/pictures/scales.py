"""Logarithmic axes for numbers that range over decades."""

import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def decades(axes: "Axes", of: str = "y", **others: Any) -> None:
    """Make the axes "y", "x" or both, "xy", logarithmic, with ticks at powers of ten only.

    Ticks between them, and exponents set as formulas, take half of the time of a figure.
    """
    axes.set(**{f"{one}scale": "log" for one in of}, **others)
    axes.minorticks_off()
    for axis in (getattr(axes, f"{one}axis") for one in of):
        axis.set_major_formatter(power_of_ten)


def power_of_ten(value: float, _: int | None = None) -> str:
    """10⁻³ for 0.001; other numbers as they are."""
    exponent = round(math.log10(value))
    exact = math.isclose(value, 10.0**exponent)
    return f"10{str(exponent).translate(SUPERSCRIPTS)}" if exact else f"{value:g}"
