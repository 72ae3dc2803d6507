"""Repair: what verify finds is mended from the stored texts and the evidence, until a verify finds nothing."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace

import structlog

from knotwork.domain.catalogue import RunState, SourceChange
from knotwork.domain.damage import Damage, DamageKind
from knotwork.domain.inputs import embedding_text, text_hash
from knotwork.domain.model import ChunkId, EntityId, ParsedText, RelationshipId, SourceRef, TenantId
from knotwork.errors import InvalidInput, NotFound
from knotwork.ports.audit import GraphAudit
from knotwork.ports.catalogue import Catalogue, SourceWrite
from knotwork.ports.models import Embedder
from knotwork.ports.vector_store import Collection, VectorStore, View
from knotwork.services.export import Tell, tell_nobody
from knotwork.services.intake import Intake
from knotwork.services.points import chunk_point
from knotwork.services.vector_sync import VectorSync
from knotwork.services.verify import Verifier, VerifyReport, chunk_from, stored_text

log = structlog.get_logger()

ROUND = 5_000  # damages mended in one round: bounds memory
MOST_ROUNDS = 100  # a mended store needs two or three; a badly damaged one takes ROUND damages each
POINTS = 500
IN_VECTORS = frozenset({DamageKind.MISSING_POINT, DamageKind.EXTRA_POINT, DamageKind.STALE_PAYLOAD})
# Its source is read again: the run cuts the stored text, and does what is missing.
IN_SOURCE = frozenset(
    {
        DamageKind.MISSING_CHUNK,
        DamageKind.SPAN_MISMATCH,
        DamageKind.MISSING_ENTITY,
        DamageKind.MISSING_FACT,
        DamageKind.CHANGED_EVIDENCE,
        DamageKind.DANGLING_PROVENANCE,
        DamageKind.STALE_PAYLOAD,
    }
)


@dataclass(frozen=True, slots=True)
class RepairReport:
    """Damages found on the way, sources read again, and what is left; `left` clean: both stores agree."""

    found: int
    sources: int
    rounds: int
    left: VerifyReport


class Repairer:
    """Mends one tenant's stores; nobody but a source read again asks a model, and that only for what was lost."""

    def __init__(
        self,
        *,
        catalogue: Catalogue,
        audit: GraphAudit,
        vectors: VectorStore,
        embedder: Embedder,
        sync: VectorSync,
        intake: Intake,
        verifier: Verifier,
    ) -> None:
        self._catalogue, self._audit, self._vectors = catalogue, audit, vectors
        self._embedder, self._sync, self._intake, self._verifier = embedder, sync, intake, verifier

    async def repair(self, tenant: TenantId, tell: Tell = tell_nobody) -> RepairReport:
        """Mend until nothing is found, or what is found cannot be mended: a text that is lost for good.

        Runs of the tenant wait while a round looks and mends.

        Raises:
            UnknownTenant: there is no such tenant.
            InvalidInput: its jobs are paused, so that no source would be read again.
        """
        if self._intake.is_paused(tenant):
            raise InvalidInput("the tenant's jobs are paused; resume them first (`knotwork jobs resume`)")
        found, rounds = 0, 0
        reread: set[SourceRef] = set()
        before: list[Damage] = []
        while rounds < MOST_ROUNDS:
            tell(f"looking, round {rounds + 1}", found, 0)
            damages = await self._find(tenant)
            if not damages or damages == before:
                break
            rounds += 1
            found += len(set(damages) - set(before))
            again = rounds > 1
            tell(f"mending, round {rounds}", 0, len(damages))
            async with self._intake.hold(tenant):
                await self._audit.mend(tenant, [_lost(one) if again else one for one in damages])
                await self._restore_texts(tenant, [one for one in damages if one.kind is DamageKind.MISSING_TEXT])
                await self._remove_points(tenant, damages)
            reread |= await self._read_again(tenant, damages)
            async with self._intake.hold(tenant):
                await self._write_points(tenant, [one for one in damages if one.kind in IN_VECTORS])
                await self._sync.follow(tenant)
            before = damages
            log.info("repaired", tenant=tenant, round=rounds, damages=len(damages))
        return RepairReport(found, len(reread), rounds, await self._verifier.verify(tenant, tell))

    async def _find(self, tenant: TenantId) -> list[Damage]:
        damages: list[Damage] = []
        async with aclosing(self._verifier.damages(tenant)) as found:
            async for damage in found:
                damages.append(damage)
                if len(damages) == ROUND:
                    break
        return damages

    async def _read_again(self, tenant: TenantId, damages: Iterable[Damage]) -> set[SourceRef]:
        """Carry out a run that changes nothing for each source concerned; it does what is missing."""
        refs = {damage.source for damage in damages if damage.source is not None and damage.kind in IN_SOURCE}
        runs: list[str] = []
        for ref in sorted(refs):
            try:
                runs.append((await self._intake.update(tenant, ref, SourceChange())).id)
            except NotFound:
                log.warning("repair_source_gone", source=ref.id)
        for run_id in runs:
            run = await self._intake.wait(tenant, run_id)
            if run.state is RunState.FAILED:
                log.warning("repair_run_failed", source=run.ref.id, code=run.error_code, reason=run.error)
        return refs

    async def _remove_points(self, tenant: TenantId, damages: Iterable[Damage]) -> None:
        extra = [damage for damage in damages if damage.kind is DamageKind.EXTRA_POINT and damage.of == "chunk"]
        if extra:
            await self._vectors.delete(tenant, Collection.CHUNKS, [damage.id for damage in extra])
        if any(damage.kind is DamageKind.FOREIGN_TENANT and damage.of == "point" for damage in damages):
            for collection in Collection:
                await self._vectors.strays(tenant, collection, remove=True)

    async def _write_points(self, tenant: TenantId, damages: Sequence[Damage]) -> None:
        """Write points as graph and text say they should be."""
        by_source: defaultdict[SourceRef, list[str]] = defaultdict(list)
        for damage in damages:
            if damage.of == "chunk" and damage.source is not None:
                by_source[damage.source].append(damage.id)
        for ref, ids in sorted(by_source.items()):
            await self._write_chunk_points(tenant, ref, ids)
        await self._sync.align(
            tenant,
            sorted({EntityId(damage.id) for damage in damages if damage.of == "entity"}),
            sorted({RelationshipId(damage.id) for damage in damages if damage.of == "relationship"}),
        )

    async def _write_chunk_points(self, tenant: TenantId, ref: SourceRef, ids: Sequence[str]) -> None:
        state = (await self._catalogue.states(tenant, [ref])).get(ref)
        parsed = await stored_text(self._catalogue, tenant, ref)
        if state is None or parsed is None:
            return
        wanted = set(ids)
        places = [at for at, chunk in enumerate(state.chunks) if chunk.id in wanted]
        for start in range(0, len(places), POINTS):
            chunks = [chunk_from(state, at, parsed) for at in places[start : start + POINTS]]
            keys = {chunk.id: state.chunks[at].embedding_key for at, chunk in zip(places[start:], chunks, strict=False)}
            stored = await self._vectors.fetch(
                tenant, Collection.CHUNKS, [chunk.id for chunk in chunks], view=View(), with_vectors=True
            )
            vectors = {
                point.id: point.vector
                for point in stored
                if point.vector is not None and point.payload.get("embedding_key") == keys[ChunkId(point.id)]
            }
            due = [chunk for chunk in chunks if chunk.id not in vectors]
            if due:
                made = await self._embedder.embed([embedding_text(chunk) for chunk in due])
                vectors |= dict(zip((chunk.id for chunk in due), made.vectors, strict=True))
            points = [chunk_point(state.source, chunk, self._embedder.id, vectors[chunk.id]) for chunk in chunks]
            await self._vectors.upsert(tenant, Collection.CHUNKS, points)
        await self._vectors.flush()

    async def _restore_texts(self, tenant: TenantId, damages: Iterable[Damage]) -> None:
        """Put texts together again from the chunks' points, where the hash proves that nothing is missing."""
        for damage in damages:
            if damage.source is None:
                continue
            state = (await self._catalogue.states(tenant, [damage.source])).get(damage.source)
            if state is None:
                continue
            points = await self._vectors.fetch(
                tenant, Collection.CHUNKS, [chunk.id for chunk in state.chunks], view=View()
            )
            spans = {int(str(point.payload["start"])): str(point.payload["text"]) for point in points}
            parsed = pieced_together(state.source.title, spans, state.source.size_chars)
            if text_hash(parsed) == state.source.content_hash:
                await self._catalogue.put_sources(tenant, [SourceWrite(state.source, parsed, state.chunks)])
            else:
                log.warning("text_lost", source=damage.source.id, reason="put the source again")


def pieced_together(title: str, spans: dict[int, str], size_chars: int) -> ParsedText:
    """A text from the spans that chunks hold, by their starts; what lies between paragraphs is line ends."""
    text = ["\n"] * size_chars
    for start, span in spans.items():
        text[start : start + len(span)] = span
    return ParsedText("".join(text), title)


def _lost(damage: Damage) -> Damage:
    """A chunk that its source did not take back when it was read again is nobody's."""
    return replace(damage, source=None) if damage.kind is DamageKind.DANGLING_PROVENANCE else damage
