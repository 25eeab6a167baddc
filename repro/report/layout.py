"""Where the nodes of a directed acyclic graph go, and how its edges run: columns, left to right.

The column of a node is the longest path that leads to it. An edge over several columns gets a
waypoint in each column between, shared by all edges from the same node, so that it runs through no
box. An edge that a longer path implies has no say: it is drawn straight across, behind the boxes.
The heights solve a least-squares problem: as near as possible to the neighbours, in the order that
ordering.py found, without overlap.
"""

import math
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from graphlib import TopologicalSorter
from itertools import pairwise
from statistics import fmean

from repro.report.ordering import Neighbours, Node, Order, few_crossings

PAGE = 1136.0  # the width to fill; a graph with many columns is wider
BOX, ROW = 142.0, 40.0  # size of a box
NARROW, WIDE = 34.0, 96.0  # between columns, at least and at most
APART, LANE, RIM = 12.0, 8.0, 4.0  # between boxes, half the height of a waypoint, at the rim
SWEEPS = 48

Edge = tuple[str, str]  # from what is used to what uses it


@dataclass(frozen=True)
class Layout:
    width: float
    height: float
    corners: dict[str, tuple[float, float]]  # left upper corner of each box
    curves: dict[Edge, str]  # the path of each edge, in SVG's language; implied edges first
    implied: frozenset[Edge]


@lru_cache(maxsize=64)
def layout(names: tuple[str, ...], edges: tuple[Edge, ...]) -> Layout:
    """Components one below the other; each name should be the end of an edge."""
    column = _columns(names, edges)
    implied = _implied(edges, column)
    ways = {e: _way(e, column) for e in edges if e not in implied}
    heights: dict[Node, float] = {}
    floor = RIM
    for component in _components(names, edges):
        placed = _placed([way for (used, _), way in ways.items() if used in component], column)
        top = min(y - _half(node, column) for node, y in placed.items())
        heights |= {node: y - top + floor for node, y in placed.items()}
        floor = max(heights[node] + _half(node, column) for node in placed) + 2 * APART
    lefts = _lefts(list(ways.values()), max(column.values(), default=0) + 1)
    direct = {e: [(name, column[name]) for name in e] for e in edges if e in implied}
    return Layout(
        width=lefts[-1] + BOX + RIM,
        height=floor - 2 * APART + RIM,
        corners={n: (lefts[column[n]], heights[n, column[n]] - ROW / 2) for n in names},
        curves={edge: _curve(way, lefts, heights) for edge, way in (direct | ways).items()},
        implied=implied,
    )


def _columns(names: tuple[str, ...], edges: tuple[Edge, ...]) -> dict[str, int]:
    before = {name: [u for u, v in edges if v == name] for name in names}
    column: dict[str, int] = {}
    for name in TopologicalSorter(before).static_order():
        column[name] = max((column[u] + 1 for u in before[name]), default=0)
    return column


def _implied(edges: tuple[Edge, ...], column: dict[str, int]) -> frozenset[Edge]:
    """Edges to what is used anyway, by something else that is used."""
    below: dict[str, set[str]] = {name: set() for name in column}  # all that a name rests on
    found: set[Edge] = set()
    for name in sorted(column, key=column.__getitem__):
        used = [u for u, v in edges if v == name]
        found |= {(u, name) for u in used if any(u in below[other] for other in used)}
        below[name].update(used, *(below[u] for u in used))
    return frozenset(found)


def _components(names: tuple[str, ...], edges: tuple[Edge, ...]) -> list[set[str]]:
    """Largest first, then in the order of the names."""
    component = {name: {name} for name in names}
    for u, v in edges:
        merged = component[u] | component[v]
        component |= dict.fromkeys(merged, merged)
    distinct = {id(members): members for members in component.values()}
    return sorted(distinct.values(), key=len, reverse=True)


def _way(edge: Edge, column: dict[str, int]) -> list[Node]:
    """An edge from box to box, through its waypoints."""
    used, user = edge
    return [*[(used, c) for c in range(column[used], column[user])], (user, column[user])]


def _placed(ways: list[list[Node]], column: dict[str, int]) -> dict[Node, float]:
    """The height of every box and waypoint of one component."""
    left: Neighbours = {}
    right: Neighbours = {}
    for a, b in dict.fromkeys(step for way in ways for step in pairwise(way)):
        left.setdefault(b, []).append(a)
        right.setdefault(a, []).append(b)
    nodes = list(dict.fromkeys(node for way in ways for node in way))
    columns = [[n for n in nodes if n[1] == c] for c in range(1 + max(c for _, c in nodes))]
    return _heights(few_crossings(columns, left, right), left, right, column)


def _heights(
    order: Order, left: Neighbours, right: Neighbours, column: dict[str, int]
) -> dict[Node, float]:
    """Sweeps to and fro; each moves a column towards the neighbours on both of its sides."""
    stiff = {n: 1 if column[n[0]] == n[1] else 4 for nodes in order for n in nodes}
    around = {n: left.get(n, []) + right.get(n, []) for n in stiff}
    y = {n: place * (ROW + APART) for nodes in order for place, n in enumerate(nodes)}
    for sweep in range(SWEEPS):
        for nodes in order if sweep % 2 == 0 else reversed(order):
            wishes = [
                fmean((y[m] for m in around[n]), [stiff[n] * stiff[m] for m in around[n]])
                for n in nodes
            ]
            halves = [_half(n, column) for n in nodes]
            y |= zip(nodes, _spread(wishes, halves, [stiff[n] for n in nodes]), strict=True)
    return y


def _spread(wishes: list[float], halves: list[float], weights: list[int]) -> list[float]:
    """The heights nearest to the wishes (least squares) at which neighbours do not overlap.

    With the room that the boxes above need subtracted, the heights must not decrease: isotonic
    regression, solved by pooling adjacent violators.
    """
    room = [0.0]
    for upper, lower in pairwise(halves):
        room.append(room[-1] + upper + lower + APART)
    pools: list[tuple[float, float, int]] = []  # mean, weight, members
    for wish, above, weight in zip(wishes, room, weights, strict=True):
        mean, mass, members = wish - above, float(weight), 1
        while pools and pools[-1][0] > mean:
            other, other_mass, others = pools.pop()
            mean = (mean * mass + other * other_mass) / (mass + other_mass)
            mass, members = mass + other_mass, members + others
        pools.append((mean, mass, members))
    levels = [mean for mean, _, members in pools for _ in range(members)]
    return [level + above for level, above in zip(levels, room, strict=True)]


def _half(node: Node, column: dict[str, int]) -> float:
    return ROW / 2 if column[node[0]] == node[1] else LANE


def _lefts(ways: list[list[Node]], columns: int) -> list[float]:
    """Where the columns begin: the more steps cross a gap, the wider it is."""
    steps = Counter(a[1] for a, _ in {step for way in ways for step in pairwise(way)})
    crowds = [math.sqrt(steps[c]) for c in range(columns - 1)]
    spare = max(0, PAGE - 2 * RIM - columns * BOX - (columns - 1) * NARROW)
    gaps = [NARROW + min(spare * crowd / sum(crowds), WIDE - NARROW) for crowd in crowds]
    return [RIM + sum(gaps[:c]) + c * BOX for c in range(columns)]


def _curve(way: list[Node], lefts: list[float], heights: dict[Node, float]) -> str:
    """From the right side of a box to the left side of another, level at every node."""
    path = [f"M{lefts[way[0][1]] + BOX:.0f} {heights[way[0]]:.0f}"]
    for a, b in pairwise(way):
        x, to, y, end = lefts[a[1]] + BOX, lefts[b[1]], heights[a], heights[b]
        middle = (x + to) / 2
        path.append(f"C{middle:.0f} {y:.0f} {middle:.0f} {end:.0f} {to:.0f} {end:.0f}")
        if b != way[-1]:
            path.append(f"H{to + BOX:.0f}")
    return " ".join(path)
