"""What evidence must be before a graph store takes it."""

from __future__ import annotations

from collections.abc import Sequence

from knotwork.domain.catalogue import Evidence
from knotwork.domain.model import ChunkId
from knotwork.errors import InvalidInput


def checked_evidence(evidence: Sequence[Evidence]) -> list[Evidence]:
    """The evidence, one of each chunk; of several of one chunk the last counts.

    Raises:
        InvalidInput: a contribution has other provenance than its chunk, names a thing twice, or is not closed: an
            end of a relationship is none of its entities. `sanitise_extraction` yields none of these.
    """
    last: dict[ChunkId, Evidence] = {one.chunk_id: one for one in evidence}
    for one in last.values():
        _check(one)
    return list(last.values())


def _check(evidence: Evidence) -> None:
    entities, relationships = evidence.contribution.entities, evidence.contribution.relationships
    entity_ids = {entity.id for entity in entities}
    relationship_ids = {relationship.id for relationship in relationships}
    if len(entity_ids) < len(entities) or len(relationship_ids) < len(relationships):
        raise InvalidInput(f"evidence of chunk {evidence.chunk_id!r} names a thing twice; sanitise it first")
    if any(thing.provenance != (evidence.chunk_id,) for thing in (*entities, *relationships)):
        raise InvalidInput(f"evidence of chunk {evidence.chunk_id!r} has other provenance; a chunk speaks for itself")
    if any(end not in entity_ids for one in relationships for end in (one.from_id, one.to_id)):
        raise InvalidInput(f"evidence of chunk {evidence.chunk_id!r} relates an entity that it does not name")
