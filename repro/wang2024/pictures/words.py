"""What curves show, in words and numbers: alternative texts of figures."""

import statistics
from collections.abc import Iterable, Mapping

Points = Iterable[tuple[float, float]]


def curve(points: Points, of: str = "H") -> str:
    """Both ends of a curve; of several numbers at one place their median and range."""
    x, y = zip(*points, strict=True)
    if len(x) > 1 and len(set(x)) == 1:
        return f"{statistics.median(y):.2g} ({min(y):.2g} to {max(y):.2g}) at {of} = {x[0]}"
    return ", ".join(f"{y[i]:.1e} at {of} = {x[i]}" for i in ([0, -1] if len(x) > 1 else [0]))


def curves(named: Mapping[str, Points], of: str = "H") -> str:
    return "; ".join(f"{name}: {curve(points, of)}" for name, points in named.items())


def panels(named: Mapping[str, Mapping[str, Points]], of: str = "H") -> str:
    """Of a figure with several panels, each with its curves."""
    return "; ".join(
        f"{panel}, {curves({name: points}, of)}"
        for panel, drawn in named.items()
        for name, points in drawn.items()
    )
