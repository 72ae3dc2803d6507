"""Kinds of damage that two stores and a ledger can show, and the seal by which lost evidence shows."""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import StrEnum

from knotwork.domain.export import contribution_values
from knotwork.domain.ids import content_hash
from knotwork.domain.model import Contribution, SourceRef


class DamageKind(StrEnum):
    """What is wrong with a row; `Damage.id` names the thing that the comment says."""

    MISSING_TEXT = "missing_text"  # source: its text is gone, or does not match its hash
    MISSING_CHUNK = "missing_chunk"  # source: its chunks leave some of its text out
    SPAN_MISMATCH = "span_mismatch"  # chunk: its span is not the text that its id names
    WRONG_READERS = "wrong_readers"  # chunk: read by others than its source
    MISSING_ENTITY = "missing_entity"  # chunk: names fewer entities than were stored
    MISSING_FACT = "missing_fact"  # chunk: asserts fewer relationships than were stored
    CHANGED_EVIDENCE = "changed_evidence"  # chunk: says something else than was stored
    DANGLING_PROVENANCE = "dangling_provenance"  # chunk: it has no source
    ORPHAN_TEXT = "orphan_text"  # stored text without an owner, or of a run that is over
    WITHOUT_EVIDENCE = "without_evidence"  # entity or relationship: no chunk says it
    WRONG_WEIGHT = "wrong_weight"  # entity or relationship: counts other chunks than say it
    WRONG_VIEW = "wrong_view"  # entity or relationship: its name, description or what an audience knows of it
    MISSING_RELATIONSHIP = "missing_relationship"  # relationship: asserted, but not between its entities
    FOREIGN_TENANT = "foreign_tenant"  # node, edge or point: its tenant is not that of its key
    MISSING_POINT = "missing_point"  # chunk, entity or relationship: not in the vector store
    EXTRA_POINT = "extra_point"  # point: nothing in the graph that it stands for
    STALE_PAYLOAD = "stale_payload"  # point: says something else than graph and text


@dataclass(frozen=True, slots=True)
class Damage:
    """One thing that is wrong. `of` says what `id` names: source, chunk, entity, relationship, text or node."""

    kind: DamageKind
    of: str
    id: str
    detail: str = ""
    source: SourceRef | None = None


@dataclass(frozen=True, slots=True)
class StoredText:
    """A property of a stored thing, as text: what a search for what should be gone reads."""

    where: str  # such as `Neo4j Chunk document:a.md:...`
    field: str
    text: str


def contribution_seal(contribution: Contribution) -> str:
    """`entities:relationships:hash` of what a chunk says."""
    values = json.dumps(contribution_values(contribution), sort_keys=True)
    return f"{len(contribution.entities)}:{len(contribution.relationships)}:{content_hash(values)[:32]}"
