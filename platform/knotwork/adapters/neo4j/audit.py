"""GraphAudit over Neo4j 5.26 or later: what does not agree within the graph's own rows."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Literal

from knotwork.adapters.neo4j.catalogue import source_key
from knotwork.adapters.neo4j.evidence import known_of
from knotwork.adapters.neo4j.graph_store import contributions_of
from knotwork.adapters.neo4j.mending import Mending
from knotwork.adapters.neo4j.session import Neo4jSession, Row
from knotwork.adapters.neo4j.texts import unpack_text
from knotwork.adapters.neo4j.views import source_parameters
from knotwork.domain.audiences import Known, combined, from_evidence
from knotwork.domain.damage import Damage, DamageKind, StoredText, contribution_seal
from knotwork.domain.ids import audience_id, key_range, key_tenant, split_chunk_id, split_relationship_id, storage_key
from knotwork.domain.model import Contribution, TenantId
from knotwork.errors import PlatformError
from knotwork.ports.vector_store import View

PAGE = 500
MISPLACED = 10_000  # of one tenant reported at once; repair and verify again for more
LABELS = (
    "Tenant",
    "ApiKey",
    "IndexRun",
    "Source",
    "SourceText",
    "Chunk",
    "Entity",
    "Fact",
    "Audience",
    "VectorSync",
    "SkillGraph",
    "SkillVersion",
    "Skill",
    "Usage",
)

NOTHING = contribution_seal(Contribution())

ThingKind = Literal["entity", "relationship"]


class Neo4jAudit:
    """GraphAudit over Neo4j. Whoever opened the driver closes it."""

    def __init__(self, session: Neo4jSession) -> None:
        self._session = session

    async def damages(self, tenant: TenantId) -> AsyncIterator[Damage]:
        for find in (self._misplaced, self._orphan_texts, self._chunks, self._entities, self._facts, self._edges):
            async for damage in find(tenant):
                yield damage

    async def _misplaced(self, tenant: TenantId) -> AsyncIterator[Damage]:
        after, until = key_range(tenant)
        for row in await self._session.rows(
            "read/audit_tenants", tenant=tenant, after=after, until=until, limit=MISPLACED
        ):
            detail = f"marked as of another tenant than that of its key, {key_tenant(row['key'])}"
            yield Damage(DamageKind.FOREIGN_TENANT, row["label"], row["key"], detail)

    async def _orphan_texts(self, tenant: TenantId) -> AsyncIterator[Damage]:
        async for page in self._pages("read/audit_texts", tenant):
            for row in page:
                if not row["owned"]:
                    yield Damage(DamageKind.ORPHAN_TEXT, "text", row["key"])

    async def _chunks(self, tenant: TenantId) -> AsyncIterator[Damage]:
        async for page in self._pages("read/audit_chunks", tenant):
            said = await self._session.read(lambda tx, page=page: contributions_of(tx, [row["key"] for row in page]))
            for row in page:
                ref = split_chunk_id(row["id"])[0]
                source = next((one for one in row["sources"] if one["key"] == source_key(tenant, ref)), None)
                if source is None:
                    exists = await self._session.rows(
                        "read/source", key=source_key(tenant, ref), **source_parameters(View())
                    )
                    yield Damage(
                        DamageKind.DANGLING_PROVENANCE,
                        "chunk",
                        row["id"],
                        "its source does not hold it" if exists else "its source is gone",
                        ref if exists else None,
                    )
                for damage in _chunk_damages(tenant, row, source, contribution_seal(said[row["key"]])):
                    yield damage

    async def _entities(self, tenant: TenantId) -> AsyncIterator[Damage]:
        async for page in self._pages("read/audit_entities", tenant):
            async for damage in self._thing_damages("entity", page):
                yield damage

    async def _facts(self, tenant: TenantId) -> AsyncIterator[Damage]:
        async for page in self._pages("read/audit_facts", tenant):
            for row in page:
                if damage := _edge_damage(tenant, row):
                    yield damage
            async for damage in self._thing_damages("relationship", [row for row in page if row["edge_id"]]):
                yield damage

    async def _edges(self, tenant: TenantId) -> AsyncIterator[Damage]:
        async for page in self._pages("read/audit_relationships", tenant):
            for row in page:
                if not row["asserted"]:
                    yield Damage(DamageKind.WITHOUT_EVIDENCE, "relationship", row["id"], "no fact stands for it")

    async def mend(self, tenant: TenantId, damages: Sequence[Damage]) -> None:
        await Mending(self._session, tenant).mend(damages)

    async def texts(self, tenant: TenantId) -> AsyncIterator[StoredText]:
        for label in LABELS:
            async for page in self._label_pages(label, tenant):
                for row in page:
                    properties: Row = row["properties"]
                    where = f"Neo4j {label} {properties.get('id') or properties['key']}"
                    for found in _texts_of(where, properties, row["edges"]):
                        yield found
                    if label in {"Source", "IndexRun"} and (text := await self._text(properties["key"])):
                        yield StoredText(where, "text", text)

    async def _text(self, owner: str) -> str | None:
        """The stored text of a source or run with its title and headings; None when there is none to be read."""
        try:
            parsed = unpack_text(await self._session.rows("read/text", owner=owner))
        except PlatformError as error:
            if error.retryable:
                raise
            return None
        if parsed is None:
            return None
        return "\n".join([parsed.title, *(heading.text for heading in parsed.headings), parsed.text])

    async def _thing_damages(self, kind: ThingKind, page: Sequence[Row]) -> AsyncIterator[Damage]:
        """Things whose merged values are not those of their evidence."""
        name = "read/entity_accounts" if kind == "entity" else "read/fact_accounts"
        expected: defaultdict[str, dict[str, Known]] = defaultdict(dict)
        for row in await self._session.rows(name, keys=[row["key"] for row in page]):
            if known := from_evidence(row["count"], row.get("names", ()), row["descriptions"]):
                expected[row["key"]][row["audience"]] = known
        for row in page:
            if damage := _thing_damage(kind, row, expected[row["key"]]):
                yield damage

    async def _pages(self, name: str, tenant: TenantId) -> AsyncIterator[list[Row]]:
        after, until = key_range(tenant)
        while page := await self._session.rows(name, after=after, until=until, limit=PAGE):
            if own := [row for row in page if key_tenant(row["key"]) == tenant]:
                yield own
            after = max(row["key"] for row in page)

    async def _label_pages(self, label: str, tenant: TenantId) -> AsyncIterator[list[Row]]:
        after, until = key_range(tenant)
        while page := await self._session.rows(
            "read/rows", after={**dict.fromkeys(LABELS, until), label: after}, until=until, limit=PAGE
        ):
            if own := [row for row in page if key_tenant(row["properties"]["key"]) == tenant]:
                yield own
            after = max(row["properties"]["key"] for row in page)


def _chunk_damages(tenant: TenantId, row: Row, source: Row | None, seal: str) -> Iterator[Damage]:
    ref = split_chunk_id(row["id"])[0]
    if source is not None:
        readers = storage_key(tenant, audience_id(source["subjects"]))
        if row["audience"] != readers or not row["known_audience"]:
            yield Damage(DamageKind.WRONG_READERS, "chunk", row["id"], "read by others than its source", ref)
    stored = NOTHING if row["extraction_key"] is None else row["seal"] or "unsealed"
    if stored != seal:
        yield Damage(_evidence_damage(stored, seal), "chunk", row["id"], f"stored as {stored}, found {seal}", ref)


def _evidence_damage(stored: str, found: str) -> DamageKind:
    """Which part of the evidence is less than was stored, by the counts of its seals."""
    before, after = stored.split(":"), found.split(":")
    if len(before) == len(after):
        if int(after[0]) < int(before[0]):
            return DamageKind.MISSING_ENTITY
        if int(after[1]) < int(before[1]):
            return DamageKind.MISSING_FACT
    return DamageKind.CHANGED_EVIDENCE


def _thing_damage(kind: ThingKind, row: Row, expected: Mapping[str, Known]) -> Damage | None:
    if not expected:
        return Damage(DamageKind.WITHOUT_EVIDENCE, kind, row["id"], "no chunk says it")
    total = combined(expected.values())
    if row["total"] != total.count:
        return Damage(DamageKind.WRONG_WEIGHT, kind, row["id"], f"counts {row['total']}, evidence says {total.count}")
    if row["description"] != total.description or (kind == "entity" and row["name"] != total.name):
        return Damage(DamageKind.WRONG_VIEW, kind, row["id"], "its name or description is not that of its evidence")
    try:
        known = known_of(row)
    except ValueError:  # lists of unequal length
        known = None
    if known != expected:
        return Damage(DamageKind.WRONG_VIEW, kind, row["id"], "what its audiences know is not what evidence says")
    return None


def _edge_damage(tenant: TenantId, row: Row) -> Damage | None:
    if row["edge_id"] is None:
        return Damage(DamageKind.MISSING_RELATIONSHIP, "relationship", row["id"], "no edge stands for it")
    from_id, type_, to_id = split_relationship_id(row["id"])
    ends = (storage_key(tenant, from_id), storage_key(tenant, to_id))
    if (row["from_key"], row["to_key"]) != ends or row["edge_id"] != row["id"] or row["type"] != type_:
        return Damage(DamageKind.WRONG_VIEW, "relationship", row["id"], "its edge says another fact")
    if row["edge_tenant"] != tenant:
        return Damage(DamageKind.FOREIGN_TENANT, "relationship", row["id"], f"its edge is of {row['edge_tenant']!r}")
    return None


def _texts_of(where: str, properties: Row, edges: Iterable[Row]) -> Iterator[StoredText]:
    named = chain(
        properties.items(),
        ((f"{edge['type']} {name}", value) for edge in edges for name, value in edge["properties"].items()),
    )
    for name, value in named:
        for text in _strings(value):
            yield StoredText(where, name, text)


def _strings(value: object) -> Iterator[str]:
    if isinstance(value, list):
        for one in value:  # pyright: ignore[reportUnknownVariableType] - of a property
            yield from _strings(one)
    elif isinstance(value, str):
        yield value
        yield from _strings_in_json(value)
    elif isinstance(value, int | float):
        yield str(value)


def _strings_in_json(text: str) -> Iterator[str]:
    """Strings that a property keeps as JSON, in which quotes and line ends are escaped."""
    if text[:1] not in {"{", "["}:
        return
    try:
        values = [json.loads(text)]
    except ValueError:
        return
    while values:
        value = values.pop()
        if isinstance(value, dict):
            values += [*value, *value.values()]  # pyright: ignore[reportUnknownArgumentType] - JSON
        elif isinstance(value, list):
            values += value
        elif isinstance(value, str):
            yield value
