"""One algorithm for every change of evidence: added, removed or moved to another audience.

Inside one transaction: lock the things concerned in key order, change the evidence, keep what each audience knows
(domain/audiences.py), read again only what a removal left open, and write the merged things or remove them.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any, Literal

from knotwork.adapters.neo4j.order import order_id
from knotwork.adapters.neo4j.session import Row, Transaction
from knotwork.domain.audiences import (
    SPARES,
    Account,
    Doubt,
    Known,
    combined,
    from_evidence,
    with_account,
    without_account,
)
from knotwork.domain.ids import entity_label, split_entity_id, split_relationship_id, storage_key
from knotwork.domain.model import Contribution, EntityId, RelationshipId, TenantId
from knotwork.errors import ProvenanceMissing

ThingKind = Literal["entity", "fact"]
Doubts = dict[tuple[str, str], Doubt]  # by id of the thing and audience


@dataclass(slots=True)
class Changes:
    """Evidence added to and removed from things, by public id of the thing."""

    added: defaultdict[str, list[Account]] = field(default_factory=lambda: defaultdict(list))
    removed: defaultdict[str, list[Account]] = field(default_factory=lambda: defaultdict(list))

    @property
    def ids(self) -> list[str]:
        return sorted(self.added.keys() | self.removed.keys())


@dataclass(frozen=True, slots=True)
class Outcome:
    """Ids that evidence no longer supports, and ids whose existence or readers changed (the first included)."""

    pruned: tuple[str, ...]
    readers_changed: tuple[str, ...]


class ThingWriter:
    """Locks, recomputes and writes entities or relationships within one transaction."""

    def __init__(self, tx: Transaction, tenant: TenantId, kind: ThingKind) -> None:
        self._tx = tx
        self._tenant = tenant
        self._kind = kind
        self._key_of: dict[str, str] = {}
        self._id_of: dict[str, str] = {}
        self._before: dict[str, dict[str, Known]] = {}

    async def lock(self, ids: Sequence[str], *, trusted: bool = True) -> None:
        """Make sure the things exist, take their locks in key order, and read what each audience knows.

        Without trust in what is stored, nothing is taken to be known, and only `rebuild` makes sense after it.
        """
        self._key_of = {id_: storage_key(self._tenant, id_) for id_ in ids}
        self._id_of = {key: id_ for id_, key in self._key_of.items()}
        rows = [self._lock_row(id_, key) for id_, key in sorted(self._key_of.items(), key=itemgetter(1))]
        name = "write/lock_entities" if self._kind == "entity" else "write/lock_facts"
        by_key: dict[str, Row] = {}
        while rows:
            found = {row["key"]: row for row in await self._tx.rows_of(name, "rows", rows, tenant=self._tenant)}
            by_key |= found
            rows = [row for row in rows if found[str(row["key"])]["gone"]]  # another transaction removed them first
        self._before = {id_: known_of(by_key[key]) if trusted else {} for id_, key in self._key_of.items()}

    def _lock_row(self, id_: str, key: str) -> dict[str, object]:
        if self._kind == "fact":
            return {"key": key, "id": id_}
        type_, name_key = split_entity_id(EntityId(id_))
        return {"key": key, "id": id_, "type": type_, "name_key": name_key, "label": entity_label(type_)}

    async def settle(self, changes: Changes) -> Outcome:
        """Write what the evidence, as it now stands, makes of the locked things."""
        after, doubts = self._apply(changes)
        for id_, audience, known in await self._read_again(await self._lost_winners(doubts, after)):
            if known is None:
                after[id_].pop(audience, None)
            else:
                after[id_][audience] = known
        return await self._finish(after)

    async def rebuild(self) -> Outcome:
        """Write what all evidence makes of the locked things, whatever was stored of them."""
        after: dict[str, dict[str, Known]] = {id_: {} for id_ in self._key_of}
        name = "read/entity_accounts" if self._kind == "entity" else "read/fact_accounts"
        for row in await self._tx.rows_of(name, "keys", sorted(self._id_of)):
            if known := from_evidence(row["count"], row.get("names", ()), row["descriptions"]):
                after[self._id_of[row["key"]]][row["audience"]] = known
        if self._kind == "fact":
            rows = [{name: row[name] for name in ("key", "from_key", "to_key")} for row in map(self._edge, after)]
            rows.sort(key=itemgetter("key"))
            await self._tx.rows_of("write/detach_relationships", "rows", rows)
        return await self._finish(after)

    async def _finish(self, after: Mapping[str, Mapping[str, Known]]) -> Outcome:
        pruned = sorted(id_ for id_, known in after.items() if not known)
        kept = sorted(id_ for id_, known in after.items() if known)
        await self._write(kept, after)
        await self._delete(pruned)
        changed = sorted(id_ for id_, known in after.items() if known.keys() != self._before[id_].keys() or not known)
        return Outcome(tuple(pruned), tuple(changed))

    def _apply(self, changes: Changes) -> tuple[dict[str, dict[str, Known]], Doubts]:
        after = {id_: dict(known) for id_, known in self._before.items()}
        doubts: Doubts = {}
        for id_, removed in changes.removed.items():
            for said in removed:
                known, doubt = without_account(after[id_][said.audience], said)
                if known is None:
                    del after[id_][said.audience]
                else:
                    after[id_][said.audience] = known
                if doubt:
                    doubts[id_, said.audience] = doubt | doubts.get((id_, said.audience), Doubt())
        for id_, added in changes.added.items():
            for said in added:
                after[id_][said.audience] = with_account(after[id_].get(said.audience), said)
        return after, doubts

    async def _lost_winners(self, doubts: Doubts, after: Mapping[str, Mapping[str, Known]]) -> list[tuple[str, str]]:
        """Where no evidence says any more what has won, of what is in doubt; the evidence is changed already."""
        rows = [
            {
                "key": self._key_of[id_],
                "audience": audience,
                "name": known.name if doubt.name else None,
                "description": known.description if doubt.description else None,
            }
            for (id_, audience), doubt in sorted(doubts.items(), key=itemgetter(0))
            if (known := after[id_].get(audience))
        ]
        name = "read/entity_winners" if self._kind == "entity" else "read/fact_winners"
        found = await self._tx.rows_of(name, "rows", rows)
        return [(self._id_of[row["key"]], row["audience"]) for row in found if not row["kept"]]

    async def _read_again(self, pairs: Iterable[tuple[str, str]]) -> list[tuple[str, str, Known | None]]:
        rows = [{"key": self._key_of[id_], "audience": audience} for id_, audience in pairs]
        name = "read/entity_evidence" if self._kind == "entity" else "read/fact_evidence"
        found: list[tuple[str, str, Known | None]] = []
        for row in await self._tx.rows_of(name, "rows", rows, wanted=SPARES):
            spares = tuple((text, count) for text, count in row["descriptions"])
            known = from_evidence(row["count"], row.get("names", ()), (text for text, _ in spares), spares)
            found.append((self._id_of[row["key"]], row["audience"], known))
        return found

    async def _write(self, ids: Sequence[str], after: Mapping[str, Mapping[str, Known]]) -> None:
        rows = sorted((self._value_row(id_, after[id_]) for id_ in ids), key=lambda row: row["key"])
        if self._kind == "entity":
            await self._tx.rows_of("write/put_entities", "rows", rows)
        else:
            await self._tx.rows_of("write/put_relationships", "rows", rows, tenant=self._tenant)

    def _value_row(self, id_: str, known: Mapping[str, Known]) -> dict[str, Any]:
        audiences = sorted(known)
        total = combined(known.values())
        values: dict[str, object] = {
            "description": total.description,
            "seen_audiences": audiences,
            "seen_counts": [known[audience].count for audience in audiences],
            "seen_descriptions": [known[audience].description for audience in audiences],
            "seen_spares": _spares_row([known[audience] for audience in audiences]),
        }
        if self._kind == "entity":
            values |= {"name": total.name, "mentions": total.count}
            values["seen_names"] = [known[audience].name for audience in audiences]
            return {"key": self._key_of[id_], "values": values}
        values["weight"] = total.count
        return {**self._edge(id_), "values": values}

    def _edge(self, id_: str) -> dict[str, Any]:
        from_id, type_, to_id = split_relationship_id(RelationshipId(id_))
        return {
            "key": self._key_of[id_],
            "id": id_,
            "order_id": order_id(id_),
            "type": type_,
            "from_key": storage_key(self._tenant, from_id),
            "to_key": storage_key(self._tenant, to_id),
        }

    async def _delete(self, ids: Sequence[str]) -> None:
        keys = sorted(self._key_of[id_] for id_ in ids)
        name = "write/delete_entities" if self._kind == "entity" else "write/delete_facts"
        await self._tx.rows_of(name, "keys", keys)


class EvidenceChange:
    """A change of the evidence of some chunks, all within one transaction: gather, then `settle` once."""

    def __init__(self, tx: Transaction, tenant: TenantId) -> None:
        self._tx = tx
        self._tenant = tenant
        self._entities, self._facts = Changes(), Changes()
        self._removed_from: Sequence[str] = ()
        self._move: dict[str, object] | None = None
        self._mention_rows: list[dict[str, object]] = []
        self._assertion_rows: list[dict[str, object]] = []

    async def remove(self, chunk_keys: Sequence[str]) -> None:
        """Take back all that these chunks say; keys sorted."""
        self._removed_from = chunk_keys
        await self._gather(chunk_keys, moved_to=None)

    async def move(self, chunk_keys: Sequence[str], audience: str, subjects: Sequence[str]) -> None:
        """From now on this audience reads these chunks; keys sorted."""
        self._move = {"tenant": self._tenant, "audience": audience, "subjects": subjects, "keys": chunk_keys}
        await self._gather(chunk_keys, moved_to=audience)

    async def _gather(self, chunk_keys: Sequence[str], *, moved_to: str | None) -> None:
        for row in await self._tx.rows_of("read/mentions_of_chunks", "keys", chunk_keys):
            self._entities.removed[row["id"]].append(Account(row["audience"], row["description"], row["name"]))
            if moved_to is not None:
                self._entities.added[row["id"]].append(Account(moved_to, row["description"], row["name"]))
        for row in await self._tx.rows_of("read/assertions_of_chunks", "keys", chunk_keys):
            self._facts.removed[row["id"]].append(Account(row["audience"], row["description"]))
            if moved_to is not None:
                self._facts.added[row["id"]].append(Account(moved_to, row["description"]))

    def add(self, chunk_key: str, audience: str, contribution: Contribution) -> None:
        """One chunk, without evidence so far, says this."""
        for entity in contribution.entities:
            self._entities.added[entity.id].append(Account(audience, entity.description, entity.name))
            self._mention_rows.append(
                {
                    "key": storage_key(self._tenant, entity.id),
                    "chunk_key": chunk_key,
                    "name": entity.name,
                    "surface_forms": list(entity.surface_forms),
                    "description": entity.description,
                    "description_chars": len(entity.description),
                }
            )
        for relationship in contribution.relationships:
            self._facts.added[relationship.id].append(Account(audience, relationship.description))
            self._assertion_rows.append(
                {
                    "key": storage_key(self._tenant, relationship.id),
                    "chunk_key": chunk_key,
                    "description": relationship.description,
                    "description_chars": len(relationship.description),
                }
            )

    async def settle(self) -> tuple[Outcome, Outcome]:
        """Write it all; what became of the entities, and of the relationships.

        Entities are locked, and made, first; relationships are settled before entities are removed, as they hang on
        them.
        """
        entities, facts = ThingWriter(self._tx, self._tenant, "entity"), ThingWriter(self._tx, self._tenant, "fact")
        await entities.lock(self._entities.ids)
        await facts.lock(self._facts.ids)
        await self._tx.rows_of("write/remove_assertions", "keys", self._removed_from)
        await self._tx.rows_of("write/remove_mentions", "keys", self._removed_from)
        if self._move:
            await self._tx.rows("write/set_audience", **self._move)
        await self._put_rows("write/put_mentions", self._mention_rows)
        await self._put_rows("write/put_assertions", self._assertion_rows)
        fact_outcome = await facts.settle(self._facts)
        return await entities.settle(self._entities), fact_outcome

    async def _put_rows(self, name: str, rows: list[dict[str, object]]) -> None:
        rows.sort(key=lambda row: (str(row["key"]), str(row["chunk_key"])))
        written = sum(row["written"] for row in await self._tx.rows_of(name, "rows", rows))
        if written != len(rows):  # a MATCH without a hit drops its row in silence
            raise ProvenanceMissing(found=written, expected=len(rows))  # rolls the transaction back


def known_of(row: Row) -> dict[str, Known]:
    """What each audience knows, from the parallel lists of a stored thing; empty for a new one."""
    audiences = row["audiences"] or ()
    names = row.get("names") or [""] * len(audiences)
    spares = row.get("spares") or ["[]"] * len(audiences)
    return {
        audience: Known(count, name, description, tuple((text, said) for text, said in json.loads(kept)))
        for audience, count, name, description, kept in zip(
            audiences, row["counts"] or (), names, row["descriptions"] or (), spares, strict=True
        )
    }


def _spares_row(known: Sequence[Known]) -> list[str] | None:
    """As stored, one JSON text an audience; None, which removes the property, where none has any."""
    return [json.dumps(one.spares, ensure_ascii=False) for one in known] if any(one.spares for one in known) else None
