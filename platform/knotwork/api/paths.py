"""Paths: how entities are tied to each other, and what depends on one, each hop with its passages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Self

from fastapi import APIRouter, Request
from pydantic import BaseModel, ConfigDict, Field

from knotwork.api.auth import Reading
from knotwork.api.problems import ALWAYS, problem_responses
from knotwork.api.schemas import Body, EntityOut, PassageOut, RelationshipOut
from knotwork.api.state import state_of
from knotwork.domain.filters import parse_filter
from knotwork.domain.graph_views import RelationshipView
from knotwork.domain.model import Passage
from knotwork.domain.normalise import normalise_type
from knotwork.domain.paths import Direction
from knotwork.domain.retrieval import Reader, RetrieveOptions
from knotwork.services.passages import view_of
from knotwork.services.paths import MAX_DEPTH, MAX_ENDS, MAX_HOPS, MAX_PATHS, MAX_REACHED
from knotwork.services.paths_retriever import Way, passages_of, ways_of, ways_to

router = APIRouter(prefix="/v1/graph", tags=["graph"])

PASSAGES = 50  # shown with an answer

Name = Annotated[str, Field(min_length=1, max_length=1000, examples=["concept:retry budget"])]
FilterField = Annotated[dict[str, Any] | None, Field(description="As of a query.")]


class PathsBody(Body):
    model_config = ConfigDict(
        json_schema_extra={"examples": [{"entities": ["checkout service", "payments team"], "hops": 4, "count": 3}]}
    )
    entities: list[Name] = Field(
        min_length=2, max_length=MAX_ENDS, description="Ids or names; paths are looked for between each pair."
    )
    hops: int = Field(3, ge=1, le=MAX_HOPS, description="Relationships of a path, at most.")
    count: int = Field(5, ge=1, le=MAX_PATHS, description="Paths of each pair, at most.")
    direction: Direction = Field(
        Direction.EITHER, description="`out`: every relationship leads from the earlier entity to the later one."
    )
    filter: FilterField = None


class ReachBody(Body):
    model_config = ConfigDict(
        json_schema_extra={"examples": [{"entity": "retry budget", "types": ["depends-on"], "direction": "in"}]}
    )
    entity: Name
    types: list[Name] | None = Field(None, max_length=100, description="Types of relationship that count; null: all.")
    direction: Direction = Field(
        Direction.EITHER, description="`in`: what points at the entity, such as what depends on it; `out`: the inverse."
    )
    depth: int = Field(3, ge=1, le=MAX_DEPTH, description="Steps, at most; 1: directly.")
    limit: int = Field(100, ge=1, le=MAX_REACHED, description="Entities, at most; the nearest first.")
    filter: FilterField = None


class HopOut(RelationshipOut):
    citations: list[int] = Field(description="Numbers of the passages, of those returned, that assert it.")

    @classmethod
    def cited(cls, hop: RelationshipView, passages: Sequence[Passage]) -> Self:
        numbers = [number for number, passage in enumerate(passages, start=1) if passage.id in hop.chunks]
        return cls(**RelationshipOut.of(hop).model_dump(), citations=numbers)


class PathOut(BaseModel):
    score: float = Field(description="1 for a direct relationship; less, the longer and the more commonplace the way.")
    entities: list[EntityOut] = Field(description="In the order of the path; one more than hops.")
    hops: list[HopOut] = Field(description="In the order of the path, each directed as it is stored.")


class PathsAnswer(BaseModel):
    entities: list[EntityOut] = Field(description="What was asked about.")
    paths: list[PathOut] = Field(description="Best first; ties by the ids of their relationships.")
    passages: list[PassageOut] = Field(description="What asserts the hops.")
    complete: bool = Field(description="Whether no bound and no hub can have hidden a path.")
    hubs: list[str] = Field(description="Entities with too many relationships to be walked through.")


class ReachedOut(BaseModel):
    depth: int
    entity: EntityOut
    via: str = Field(description="The entity one step nearer, at the other end of `hop`.")
    hop: HopOut


class ReachAnswer(BaseModel):
    entity: EntityOut
    reached: list[ReachedOut] = Field(description="By depth and id, each entity once.")
    counts: dict[int, int] = Field(description="How many entities each depth has, shown or not.")
    total: int
    passages: list[PassageOut]
    complete: bool = Field(description="Whether no limit and no hub can have hidden an entity of these depths.")
    hubs: list[str]


@router.post("/paths", responses=problem_responses(*ALWAYS, "not_found", "ambiguous_name", "limit_reached"))
async def find_paths(request: Request, identity: Reading, body: PathsBody) -> PathsAnswer:
    """The best paths between entities, with the passages that assert each hop.

    A name that several entities have is answered with 409 and the candidates.
    """
    platform, reader, options = state_of(request).platform, identity.reader, _options(body.filter)
    view = view_of(reader, options)
    ends = [await platform.naming.entity(reader, name, view=view) for name in body.entities]
    found = await platform.paths.between(
        reader, ends, view=view, hops=body.hops, count=body.count, direction=body.direction
    )
    passages = await _passages(request, reader, options, ways_of(found))
    return PathsAnswer(
        entities=[EntityOut.of(one) for one in found.ends],
        paths=[
            PathOut(
                score=path.score,
                entities=[EntityOut.of(one) for one in path.entities],
                hops=[HopOut.cited(hop, passages) for hop in path.hops],
            )
            for path in found.paths
        ],
        passages=[PassageOut.of(passage, number) for number, passage in enumerate(passages, start=1)],
        complete=found.is_complete,
        hubs=list(found.hubs),
    )


@router.post("/reach", responses=problem_responses(*ALWAYS, "not_found", "ambiguous_name", "limit_reached"))
async def find_reach(request: Request, identity: Reading, body: ReachBody) -> ReachAnswer:
    """What an entity is tied to over relationships of some types, directly or not, with depths and counts."""
    platform, reader, options = state_of(request).platform, identity.reader, _options(body.filter)
    view = view_of(reader, options)
    found = await platform.paths.reach(
        reader,
        await platform.naming.entity(reader, body.entity, view=view),
        view=view,
        types=None if body.types is None else [normalise_type(one) or one for one in body.types],
        direction=body.direction,
        depth=body.depth,
        limit=body.limit,
    )
    passages = await _passages(request, reader, options, ways_to(found))
    return ReachAnswer(
        entity=EntityOut.of(found.entity),
        reached=[
            ReachedOut(
                depth=one.depth,
                entity=EntityOut.of(one.entity),
                via=one.via,
                hop=HopOut.cited(one.hop, passages),
            )
            for one in found.reached
        ],
        counts=found.counts,
        total=sum(found.counts.values()),
        passages=[PassageOut.of(passage, number) for number, passage in enumerate(passages, start=1)],
        complete=found.is_complete,
        hubs=list(found.hubs),
    )


def _options(filter_: dict[str, Any] | None) -> RetrieveOptions:
    return RetrieveOptions(top_k=PASSAGES, filter=None if filter_ is None else parse_filter(filter_))


async def _passages(
    request: Request, reader: Reader, options: RetrieveOptions, ways: Sequence[Way]
) -> tuple[Passage, ...]:
    return await passages_of(state_of(request).platform.vectors, reader, options, ways)
