"""The graph: entities by name, one entity, and what is tied to it."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request

from knotwork.api.addresses import NAME
from knotwork.api.auth import Reading
from knotwork.api.paging import After, Limit, cursor, read_cursor
from knotwork.api.problems import ALWAYS, problem_responses
from knotwork.api.schemas import EntityAnswer, EntityOut, EntityPage, MentionOut, NeighbourhoodAnswer, RelationshipOut
from knotwork.api.state import state_of
from knotwork.domain.model import EntityId
from knotwork.domain.normalise import clean_text

router = APIRouter(prefix="/v1/graph", tags=["graph"])


@router.get("/entities", responses=problem_responses(*ALWAYS))
async def search_entities(
    request: Request,
    identity: Reading,
    name: Annotated[
        str, Query(description="How the name begins, in any spelling; empty lists all.", examples=["retry"])
    ] = "",
    after: After = None,
    limit: Limit = 100,
) -> EntityPage:
    """The entities whose name begins like this, by name and id."""
    start = EntityId(read_cursor(after, 1)[0]) if after else None
    found = await state_of(request).platform.exploration.search(identity.reader, name, after=start, limit=limit)
    return EntityPage(
        items=[EntityOut.of(entity) for entity in found],
        next=cursor(found[-1].id) if len(found) == limit else None,
    )


@router.get(f"/entities/{{entity_id:{NAME}}}", responses=problem_responses(*ALWAYS, "not_found"))
async def get_entity(request: Request, identity: Reading, entity_id: str) -> EntityAnswer:
    """One entity with the chunks that name it and its relationships."""
    found = await state_of(request).platform.exploration.entity(identity.reader, EntityId(clean_text(entity_id)))
    return EntityAnswer(
        entity=EntityOut.of(found.entity),
        surface_forms=sorted({form for mention in found.mentions for form in mention.surface_forms}),
        mentions=[MentionOut.of(mention) for mention in found.mentions],
        relationships=[RelationshipOut.of(one) for one in found.relationships],
    )


@router.get("/neighbourhood", responses=problem_responses(*ALWAYS, "not_found"))
async def get_neighbourhood(
    request: Request,
    identity: Reading,
    entity: Annotated[str, Query(description="An entity's id.", examples=["concept:retry budget"])],
    limit: Annotated[int, Query(ge=1, le=500, description="Relationships, at most; the heaviest first.")] = 50,
) -> NeighbourhoodAnswer:
    """An entity's relationships and the entities at their other ends."""
    found = await state_of(request).platform.exploration.neighbourhood(
        identity.reader, EntityId(clean_text(entity)), limit=limit
    )
    return NeighbourhoodAnswer(
        entity=EntityOut.of(found.entity),
        relationships=[RelationshipOut.of(one) for one in found.relationships],
        entities=[EntityOut.of(one) for one in found.entities],
    )
