"""The graph of `uses` of one paper: what is drawn. Where it goes is layout.py's business."""

from dataclasses import dataclass
from typing import Any

from repro.report import layout
from repro.report.mathematics import unmarked
from repro.report.words import label, verdict_of

LONGEST = 16  # characters of a name that fit into a box


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
    used: str
    user: str
    path: str
    ends: tuple[int, int]  # places of the two boxes in `boxes`


@dataclass(frozen=True)
class Graph:
    width: float
    height: float
    box_width: float
    box_height: float
    boxes: list[Box]
    arrows: list[Arrow]
    alone: list[dict[str, Any]]  # claims of the paper that no arrow touches


def of_paper(paper: str, claims: dict[str, dict[str, Any]]) -> Graph:
    """The statements of a paper, what they use (in other papers too), and the rest as a list."""
    own = [claim for claim in claims.values() if claim["paper"] == paper]
    edges = [
        (used, claim["id"])
        for claim in own
        for used in dict.fromkeys(claim.get("uses", ()))
        if used in claims
    ]
    ends = {end for edge in edges for end in edge}
    ids = tuple(id for id in claims if id in ends)
    placed = layout.layout(ids, tuple(edges))
    place = {id: position for position, id in enumerate(ids)}
    return Graph(
        width=placed.width,
        height=placed.height,
        box_width=layout.BOX,
        box_height=layout.ROW,
        boxes=[_box(claims[id], paper, placed.corners[id]) for id in ids],
        arrows=[
            Arrow(used, user, path, (place[used], place[user]))
            for (used, user), path in placed.curves.items()
        ],
        alone=[claim for claim in own if claim["id"] not in ends],
    )


def _box(claim: dict[str, Any], paper: str, corner: tuple[float, float]) -> Box:
    ours = claim["kind"] == "finding"
    name = label(claim).removeprefix("Finding ") if ours else label(claim)
    return Box(
        id=claim["id"],
        name=name if len(name) <= LONGEST else name[: LONGEST - 1].rstrip() + "…",
        tooltip=f"{label(claim)}: {unmarked(claim.get('title', ''))}",
        verdict=verdict_of(claim),
        solid=bool(claim.get("solid")),
        extra=claim["paper"] if claim["paper"] != paper else "finding" if ours else "",
        left=corner[0],
        top=corner[1],
    )
