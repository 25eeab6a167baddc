"""The graph of `uses` of one paper: what is drawn. Where it goes is layout.py's business."""

from dataclasses import dataclass

from repro.report import layout
from repro.report.mathematics import unmarked
from repro.report.words import label, short, verdict_of
from repro.results.types import Result

LONGEST = 17  # characters of a name that fit into a box


@dataclass(frozen=True)
class Box:
    id: str
    name: str  # shortened to the width of the box
    tooltip: str
    verdict: str
    solid: bool
    extra: str  # what stands after the verdict: that it is ours, or of another paper
    left: float
    top: float


@dataclass(frozen=True)
class Arrow:
    path: str
    implied: bool  # by other arrows
    ends: tuple[int, int]  # places of the two boxes in `boxes`


@dataclass(frozen=True)
class Graph:
    """Equal graphs are drawn once: everything in it can be hashed."""

    paper: str
    width: int
    height: int
    box_width: int
    box_height: int
    boxes: tuple[Box, ...]
    arrows: tuple[Arrow, ...]
    alone: tuple[Box, ...]  # statements of the paper that no arrow touches


def of_paper(paper: str, claims: dict[str, Result]) -> Graph:
    """The statements of a paper, what they use (in other papers too), and the rest as a list."""
    own = [claim for claim in claims.values() if claim.paper == paper]
    edges = [
        (used, claim.id) for claim in own for used in dict.fromkeys(claim.uses) if used in claims
    ]
    ends = {end for edge in edges for end in edge}
    ids = tuple(id for id in claims if id in ends)
    placed = layout.layout(ids, tuple(edges))
    place = {id: position for position, id in enumerate(ids)}
    return Graph(
        paper=paper,
        width=round(placed.width),
        height=round(placed.height),
        box_width=round(layout.BOX),
        box_height=round(layout.ROW),
        boxes=tuple(_box(claims[id], paper, placed.corners[id]) for id in ids),
        arrows=tuple(
            Arrow(path, (used, user) in placed.implied, (place[used], place[user]))
            for (used, user), path in placed.curves.items()
        ),
        alone=tuple(_box(claim, paper) for claim in own if claim.id not in ends),
    )


def _box(claim: Result, paper: str, corner: tuple[float, float] = (0, 0)) -> Box:
    ours = claim.kind == "finding"
    name = short(claim)
    return Box(
        id=claim.id,
        name=name if len(name) <= LONGEST else name[: LONGEST - 1].rstrip() + "…",
        tooltip=f"{label(claim)}: {unmarked(claim.title)}",
        verdict=verdict_of(claim),
        solid=claim.solid,
        extra=claim.paper if claim.paper != paper else "ours" if ours else "",
        left=round(corner[0], 1),
        top=round(corner[1], 1),
    )
