"""Many contributions into one: the rules by which evidence becomes merged entities and relationships.

Each rule is a minimum, a maximum or a union, so that neither order, grouping nor repeats of the evidence show.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import TypeVar

from knotwork.domain.model import Contribution, Entity, EntityId, Relationship, RelationshipId

_Text = TypeVar("_Text", bound=str)


def description_order(text: str) -> tuple[int, str]:
    """Sorts descriptions, the best first: the longest, in code points; of several, the first in code point order."""
    return -len(text), text


def best_description(descriptions: Iterable[str]) -> str:
    """The first by `description_order`. "" when there is none."""
    return min(descriptions, key=description_order, default="")


def better_description(a: str, b: str) -> str:
    """The better of two by the rule of `best_description`."""
    return best_description((a, b))


def canonical_name(names: Iterable[str]) -> str:
    """The name that comes first in code point order, of at least one."""
    return min(names)


def merge_entities(evidence: Sequence[Entity]) -> Entity:
    """One entity of at least one that share an id; surface forms and provenance are sorted sets."""
    return Entity(
        id=evidence[0].id,
        type=evidence[0].type,
        name=canonical_name(entity.name for entity in evidence),
        description=best_description(entity.description for entity in evidence),
        surface_forms=_sorted_set(entity.surface_forms for entity in evidence),
        provenance=_sorted_set(entity.provenance for entity in evidence),
    )


def merge_relationships(evidence: Sequence[Relationship]) -> Relationship:
    """One relationship of at least one that share an id; its weight counts chunks, not how often they were read."""
    return Relationship(
        id=evidence[0].id,
        from_id=evidence[0].from_id,
        to_id=evidence[0].to_id,
        type=evidence[0].type,
        description=best_description(relationship.description for relationship in evidence),
        provenance=_sorted_set(relationship.provenance for relationship in evidence),
    )


def merge_contributions(parts: Iterable[Contribution]) -> Contribution:
    """One contribution of many, entities and relationships sorted by id.

    Associative, commutative and idempotent over closed parts, in which each relationship's ends are entities of the
    same part; `sanitise_extraction` gives only such. Of other parts, a relationship survives when the merged whole
    holds both its ends.
    """
    entities: defaultdict[EntityId, list[Entity]] = defaultdict(list)
    relationships: defaultdict[RelationshipId, list[Relationship]] = defaultdict(list)
    for part in parts:
        for entity in part.entities:
            entities[entity.id].append(entity)
        for relationship in part.relationships:
            relationships[relationship.id].append(relationship)
    return Contribution(
        entities=tuple(merge_entities(entities[id_]) for id_ in sorted(entities)),
        relationships=tuple(
            merge_relationships(evidence)
            for evidence in (relationships[id_] for id_ in sorted(relationships))
            if evidence[0].from_id in entities and evidence[0].to_id in entities
        ),
    )


def _sorted_set(values: Iterable[Iterable[_Text]]) -> tuple[_Text, ...]:
    return tuple(sorted(set(chain.from_iterable(values))))
