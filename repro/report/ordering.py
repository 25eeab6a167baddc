"""The order of the nodes within columns that makes few edges cross.

Barycentre sweeps (each column sorted by the mean place of its neighbours) from several starts, each
followed by exchanges of adjacent nodes as long as one helps; the best order met is kept. The starts
are drawn with fixed seeds: the same graph is always drawn the same.
"""

import random
from itertools import pairwise
from statistics import fmean

Node = tuple[str, int]  # a name and a column
Neighbours = dict[Node, list[Node]]
Order = list[list[Node]]  # the nodes of each column, from above

STARTS, SWEEPS = 4, 12


def few_crossings(columns: Order, left: Neighbours, right: Neighbours) -> Order:
    """`left` and `right` are the neighbours of a node in the columns before and after its own."""
    best, fewest = columns, crossings(columns, left)
    for start in range(STARTS):
        order = _shuffled(columns, start) if start else columns
        for sweep in range(SWEEPS):
            order = _swept(order, left) if sweep % 2 == 0 else _swept(order[::-1], right)[::-1]
            order = _exchanged(order, left, right)
            crossed = crossings(order, left)
            if crossed < fewest:
                best, fewest = order, crossed
    return best


def crossings(order: Order, left: Neighbours) -> int:
    """Pairs of edges between two columns whose ends are in opposite order."""
    total = 0
    for before, nodes in pairwise(order):
        place = {node: i for i, node in enumerate(before)}
        ends = [end for node in nodes for end in sorted(place[a] for a in left.get(node, []))]
        total += sum(ends[i] > end for j, end in enumerate(ends) for i in range(j))
    return total


def _shuffled(columns: Order, seed: int) -> Order:
    generator = random.Random(seed)
    return [generator.sample(nodes, len(nodes)) for nodes in columns]


def _swept(order: Order, towards: Neighbours) -> Order:
    """Each column sorted by the mean place of its neighbours in the column before it."""
    done: Order = []
    place: dict[Node, float] = {}
    for nodes in order:
        wish = {n: i / len(nodes) for i, n in enumerate(nodes)}
        wish |= {n: fmean(place[m] for m in towards[n]) for n in nodes if n in towards}
        done.append(sorted(nodes, key=wish.__getitem__))
        place |= {n: i / len(nodes) for i, n in enumerate(done[-1])}
    return done


def _exchanged(order: Order, left: Neighbours, right: Neighbours) -> Order:
    """Adjacent nodes exchanged as long as that removes a crossing."""
    order = [list(nodes) for nodes in order]
    place = {n: i for nodes in order for i, n in enumerate(nodes)}
    better = True
    while better:
        better = False
        for nodes in order:
            for i in range(len(nodes) - 1):
                a, b = nodes[i], nodes[i + 1]
                gains = (_gain(side.get(a, []), side.get(b, []), place) for side in (left, right))
                if sum(gains) > 0:
                    nodes[i], nodes[i + 1] = b, a
                    place[a], place[b] = i + 1, i
                    better = True
    return order


def _gain(of_upper: list[Node], of_lower: list[Node], place: dict[Node, int]) -> int:
    """How many crossings fewer there are when the two nodes change places."""
    pairs = [(place[a], place[b]) for a in of_upper for b in of_lower]
    return sum((a > b) - (a < b) for a, b in pairs)
