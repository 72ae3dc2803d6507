"""From a model's answer to a contribution: the border at which nothing that a model says is trusted.

An answer arrives as parsed JSON; its adapter has repaired the syntax. Its form is that of the `Extractor` port. The
names that models often give to the same things are read too:

| read as | names |
|---|---|
| entities | `entities`, `nodes` |
| relationships | `relationships`, `relations`, `edges` |
| a relationship's ends | `from` or `source`, `to` or `target` |

So are a list where an object belongs (of entities, of relationships, of whole answers) and an object where a list does.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import cast

from knotwork.domain.ids import join_entity_id, relationship_id
from knotwork.domain.merge import merge_contributions
from knotwork.domain.model import ChunkId, Contribution, Entity, EntityId, Relationship
from knotwork.domain.normalise import clean_text, normalise_name, normalise_type

DEFAULT_ENTITY_TYPE = "concept"
DEFAULT_RELATIONSHIP_TYPE = "related-to"
MAX_DESCRIPTION_CHARS = 480
MAX_SPELLING_CHARS = 1024  # a name of 256 letters, each with marks; what is longer is no name but a passage

_ENTITIES = ("entities", "nodes")
_RELATIONSHIPS = ("relationships", "relations", "edges")
_FROM = ("from", "source")
_TO = ("to", "target")

_Record = Mapping[object, object]


def sanitise_extraction(chunk_id: ChunkId, raw: object) -> Contribution:
    """What a raw extraction says, as a contribution whose only provenance is the chunk. Total: any value gives one.

    A value that is not a string is no text. An entity needs a name that normalises to something; without a type it is
    a `concept`. Mentions of one entity are merged as in `merge_contributions`; all spellings are its surface forms. A
    relationship's end is the entity of that normalised name, whatever its type, of several the one of smallest id; a
    relationship is dropped when an end is no entity of this extraction, or both are one. Without a type it is
    `related-to`. What has a type too long is dropped. Descriptions are cut to MAX_DESCRIPTION_CHARS.

    Takes time linear in the size of `raw`, but for sorting.

    Returns:
        Entities and relationships, sorted by id, in no way dependent on the order of `raw`; a string gives none.
    """
    raw_entities: list[_Record] = []
    raw_relationships: list[_Record] = []
    for record in _records(raw):
        if any(key in record for key in _ENTITIES + _RELATIONSHIPS):
            raw_entities += (found for key in _ENTITIES for found in _records(record.get(key)))
            raw_relationships += (found for key in _RELATIONSHIPS for found in _records(record.get(key)))
        elif _text(record, *_FROM) and _text(record, *_TO):
            raw_relationships.append(record)
        else:
            raw_entities.append(record)

    entities = [entity for record in raw_entities if (entity := _entity(chunk_id, record))]
    ends: dict[str, EntityId] = {}  # by normalised name
    for entity in entities:
        name = entity.id.removeprefix(f"{entity.type}:")
        ends[name] = min(entity.id, ends.get(name, entity.id))
    relationships = map(partial(_relationship, chunk_id, ends), raw_relationships)
    return merge_contributions([Contribution(tuple(entities), tuple(filter(None, relationships)))])


def _records(value: object) -> Iterator[_Record]:
    """The objects in a list, or the one that stands where a list belongs."""
    items = cast("Sequence[object]", value) if isinstance(value, list | tuple) else (value,)
    return (cast("_Record", item) for item in items if isinstance(item, dict))


def _entity(chunk_id: ChunkId, record: _Record) -> Entity | None:
    spelling = " ".join(_text(record, "name").split())
    name = normalise_name(spelling) if len(spelling) <= MAX_SPELLING_CHARS else ""
    type_ = _type(record, DEFAULT_ENTITY_TYPE)
    if not name or type_ is None:
        return None
    return Entity(
        id=join_entity_id(type_, name),
        type=type_,
        name=spelling,
        description=_description(record),
        surface_forms=(spelling,),
        provenance=(chunk_id,),
    )


def _relationship(chunk_id: ChunkId, ends: Mapping[str, EntityId], record: _Record) -> Relationship | None:
    from_id = ends.get(normalise_name(_text(record, *_FROM)))
    to_id = ends.get(normalise_name(_text(record, *_TO)))
    type_ = _type(record, DEFAULT_RELATIONSHIP_TYPE)
    if from_id is None or to_id is None or from_id == to_id or type_ is None:
        return None
    return Relationship(
        id=relationship_id(from_id, type_, to_id),
        from_id=from_id,
        to_id=to_id,
        type=type_,
        description=_description(record),
        provenance=(chunk_id,),
    )


def _text(record: _Record, *keys: str) -> str:
    """The text under the first of the keys that holds some; "" when none does."""
    values = (record.get(key) for key in keys)
    return next((clean_text(value) for value in values if isinstance(value, str) and value), "")


def _type(record: _Record, default: str) -> str | None:
    value = record.get("type")
    return normalise_type(value) if isinstance(value, str) else default


def _description(record: _Record) -> str:
    text = _text(record, "description").strip()
    return text if len(text) <= MAX_DESCRIPTION_CHARS else text[: MAX_DESCRIPTION_CHARS - 1].rstrip() + "…"
