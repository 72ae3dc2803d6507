"""The promises of the Catalogue port, kept by memory and by Neo4j."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from knotwork.adapters.neo4j.embedded import Neo4jAddress
from knotwork.adapters.neo4j.session import Neo4jSession
from knotwork.domain.catalogue import (
    UNKNOWN_FAILURE,
    AcceptedRun,
    ExtractionFailure,
    ExtractionState,
    FailedChunk,
    Run,
    RunKind,
    TenantSettings,
)
from knotwork.domain.filters import parse_filter
from knotwork.domain.ids import content_hash
from knotwork.domain.model import EVERYONE, Heading, PageStart, ParsedText, SourceRef, TenantId
from knotwork.errors import UnknownTenant
from knotwork.ports.catalogue import SourceWrite
from knotwork.ports.keys import ApiKey, Scope
from knotwork.ports.vector_store import View
from knotwork.run_ids import new_run_id
from support.stores import (
    Stores,
    chunk_of,
    doc,
    failed,
    memory_stores,
    neo4j_session,
    neo4j_stores,
    new_tenant,
    put,
    says,
    source_of,
    source_write,
    stored_chunk,
)

ALL = View()
ANA = View(subjects=(EVERYONE, "user:ana"))
NOTHING = {"sources": 0, "chunks": 0, "entities": 0, "relationships": 0}
PARSED = ParsedText(
    "One.\n\nTwo 苹果 😀.",
    "A title",
    (Heading(0, 1, "One"), Heading(6, 2, "Two 😀")),
    (PageStart(0, 1), PageStart(6, 2)),
)


class CatalogueContract:
    """A subclass adds the `stores` fixture and nothing else."""

    @pytest.fixture
    def tenant(self) -> TenantId:
        return new_tenant()

    # Tenants

    async def test_a_tenant_keeps_its_settings_until_they_are_replaced(self, stores: Stores, tenant: TenantId) -> None:
        for settings in (
            TenantSettings(),
            TenantSettings(graph=False, extraction_model="m"),
            TenantSettings(graph=True),
        ):
            await stores.catalogue.put_tenant(tenant, settings)
            assert await stores.catalogue.tenant(tenant) == settings

    async def test_sources_are_due_to_follow_changed_settings_until_they_do(
        self, stores: Stores, tenant: TenantId
    ) -> None:
        async def is_due(settings: TenantSettings) -> bool:
            await stores.catalogue.put_tenant(tenant, settings)
            return tenant in await stores.catalogue.settings_due()

        on, off = TenantSettings(graph=True), TenantSettings(graph=False)
        assert not await is_due(on)
        assert not await is_due(off)  # nothing is there to follow
        await put(stores, tenant, "a.md", ["one"])
        assert not await is_due(off)
        assert await is_due(on)
        assert await is_due(on)
        await stores.catalogue.settings_followed(tenant, off)  # they have changed since
        assert await is_due(on)
        await stores.catalogue.settings_followed(tenant, on)
        assert not await is_due(on)

    async def test_an_unknown_tenant_is_named(self, stores: Stores, tenant: TenantId) -> None:
        await put(stores, tenant, "a.md", ["one"])  # rows do not make a tenant
        with pytest.raises(UnknownTenant, match=tenant):
            await stores.catalogue.tenant(tenant)
        assert tenant not in await stores.catalogue.tenants()

    async def test_tenants_are_sorted(self, stores: Stores, tenant: TenantId) -> None:
        ours = [TenantId(f"{tenant}{end}") for end in ("b", "\uffee", "\U0001f600", "a", "'`")]
        for one in ours:
            await stores.catalogue.put_tenant(one, TenantSettings())
        assert [one for one in await stores.catalogue.tenants() if one.startswith(tenant)] == sorted(ours)

    async def test_a_deleted_tenant_leaves_nothing_and_takes_nothing_of_others(
        self, stores: Stores, tenant: TenantId
    ) -> None:
        other = new_tenant()
        for one in (tenant, other):
            await stores.catalogue.put_tenant(one, TenantSettings())
            (chunk,) = await put(stores, one, "a.md", ["one"])
            await stores.graph.put_evidence(one, [says(chunk, "Ada", "Bob", facts=[("Ada", "knows", "Bob", "")])])
            run = Run(new_run_id(), RunKind.INDEX, doc("a.md"))
            await stores.ledger.accept(one, [AcceptedRun(run, PARSED)])
            await stores.keys.put_key(ApiKey("k", content_hash(one), one, frozenset({Scope.READ})))
        await stores.catalogue.delete_tenant(tenant)
        await stores.catalogue.delete_tenant(tenant)
        assert tenant not in await stores.catalogue.tenants()
        assert await stores.catalogue.counts(tenant) == NOTHING
        assert await stores.catalogue.text(tenant, doc("a.md")) is None
        assert await stores.ledger.runs(tenant) == []
        assert await stores.keys.keys(tenant) == []
        assert await stores.keys.key_by_hash(content_hash(tenant)) is None
        assert await stores.graph.pending_syncs(tenant) == []
        assert await stores.catalogue.counts(other) == {"sources": 1, "chunks": 1, "entities": 2, "relationships": 1}
        assert await stores.catalogue.text(other, doc("a.md")) is not None
        assert len(await stores.ledger.runs(other)) == len(await stores.keys.keys(other)) == 1

    # Sources

    async def test_a_source_is_given_back_as_it_was_put(self, stores: Stores, tenant: TenantId) -> None:
        metadata = {
            "team": "sre",
            "n": 1,
            "x": 1.5,
            "yes": True,
            "tags": ["a", "b"],
            "years": [1, 2],
            "none": [],
            "t`'": "😀",
        }
        source = replace(
            source_of(doc("a.md"), subjects=["user:ana", "group:sre"], metadata=metadata),
            media_type="text/markdown",
            graph=False,
            size_chars=17,
        )
        await stores.catalogue.put_sources(tenant, [SourceWrite(source, PARSED, [stored_chunk(doc("a.md"), "one", 0)])])
        stored = await stores.catalogue.source(tenant, doc("a.md"), view=ALL)
        assert stored == replace(source, chunks=1)
        assert stored is not None
        assert {name: type(value) for name, value in stored.metadata.items()} == {
            name: type(value) for name, value in metadata.items()
        }
        assert await stores.catalogue.source(tenant, doc("b.md"), view=ALL) is None
        assert await stores.catalogue.source(new_tenant(), doc("a.md"), view=ALL) is None

    async def test_a_source_put_again_is_replaced_with_all_its_fields(self, stores: Stores, tenant: TenantId) -> None:
        await put(stores, tenant, "a.md", ["one"], subjects=["user:ana"], metadata={"team": "sre", "old": "x"})
        await put(stores, tenant, "a.md", ["one"], subjects=["user:ben"], metadata={"team": "web"})
        source = await stores.catalogue.source(tenant, doc("a.md"), view=ALL)
        assert source == replace(source_of(doc("a.md"), subjects=["user:ben"], metadata={"team": "web"}), chunks=1)
        for name, value, found in (("old", "x", 0), ("team", "sre", 0), ("team", "web", 1)):
            view = View(filter=parse_filter({name: value}))
            assert len(await stores.catalogue.sources(tenant, view=view)) == found

    async def test_a_view_shows_the_sources_of_its_reader_and_filter(self, stores: Stores, tenant: TenantId) -> None:
        await put(stores, tenant, "a.md", [], subjects=["user:ana", "user:ben"])
        await put(stores, tenant, "b.md", [], subjects=["user:ben"])
        await put(stores, tenant, "c.md", [])
        assert [one.ref.id for one in await stores.catalogue.sources(tenant, view=ANA)] == ["a.md", "c.md"]
        assert await stores.catalogue.source(tenant, doc("b.md"), view=ANA) is None
        assert await stores.catalogue.source(tenant, doc("a.md"), view=ANA) is not None
        filtered = View(ANA.subjects, parse_filter({"source_id": ["b.md", "c.md"]}))
        assert [one.ref.id for one in await stores.catalogue.sources(tenant, view=filtered)] == ["c.md"]
        assert await stores.catalogue.source(tenant, doc("a.md"), view=filtered) is None
        assert await stores.catalogue.sources(tenant, view=View(subjects=())) == []

    async def test_pages_of_sources_are_complete_and_in_order_of_type_and_id(
        self, stores: Stores, tenant: TenantId
    ) -> None:
        ids = ["a", "b", "b/c", "'", "\uffee", "\U0001f600", "é", "z", "\ue000", "A", "😀" * 1024]
        refs = [SourceRef(type_, id_) for type_ in ("page", "document", "苹果") for id_ in ids]
        await stores.catalogue.put_sources(
            tenant, [source_write(ref, ["x"], subjects=["user:ana"] if ref.id == "b" else [EVERYONE]) for ref in refs]
        )
        for view, expected in ((ALL, refs), (View(subjects=(EVERYONE,)), [ref for ref in refs if ref.id != "b"])):
            found: list[SourceRef] = []
            while page := await stores.catalogue.sources(
                tenant, view=view, after=found[-1] if found else None, limit=4
            ):
                assert [one.chunks for one in page] == [1] * len(page)
                found += [one.ref for one in page]
            assert found == sorted(expected)
        assert await stores.catalogue.sources(tenant, view=ALL, limit=0) == []

    # Texts

    async def test_a_text_is_given_back_as_it_was(self, stores: Stores, tenant: TenantId) -> None:
        source = source_of(doc("a.md"))
        for parsed in (PARSED, ParsedText(""), ParsedText("short")):
            await stores.catalogue.put_sources(tenant, [SourceWrite(source, parsed, [])])
            assert await stores.catalogue.text(tenant, doc("a.md")) == parsed
        await stores.catalogue.put_sources(tenant, [SourceWrite(replace(source, title="new"), None, [])])
        assert await stores.catalogue.text(tenant, doc("a.md")) == ParsedText("short")
        assert await stores.catalogue.text(tenant, doc("b.md")) is None
        assert await stores.catalogue.text(new_tenant(), doc("a.md")) is None

    async def test_a_long_text_and_then_a_short_one(self, stores: Stores, tenant: TenantId) -> None:
        long = ParsedText("".join(content_hash(str(number)) for number in range(30_000)))  # hardly to be compressed
        for parsed in (long, PARSED, long):
            await stores.catalogue.put_sources(tenant, [SourceWrite(source_of(doc("a.md")), parsed, [])])
            assert await stores.catalogue.text(tenant, doc("a.md")) == parsed

    # Chunks

    async def test_states_give_the_chunks_in_order(self, stores: Stores, tenant: TenantId) -> None:
        chunk = replace(stored_chunk(doc("a.md"), "two", 1), title="T", headings=("H", "😀"), page=3, preview="two")
        write = SourceWrite(source_of(doc("a.md")), PARSED, [chunk, stored_chunk(doc("a.md"), "one", 0)])
        await stores.catalogue.put_sources(tenant, [write, source_write(doc("b.md"), [])])
        states = await stores.catalogue.states(tenant, [doc("a.md"), doc("b.md"), doc("c.md"), doc("a.md")])
        assert sorted(states) == [doc("a.md"), doc("b.md")]
        assert states[doc("a.md")].chunks == (write.chunks[1], chunk)
        assert states[doc("a.md")].source == replace(write.source, chunks=2)
        assert states[doc("b.md")].chunks == ()
        assert await stores.catalogue.states(tenant, []) == {}

    async def test_known_chunks_move_but_keep_evidence_and_readers(self, stores: Stores, tenant: TenantId) -> None:
        a, _ = await put(stores, tenant, "a.md", ["one", "two"], subjects=["user:ana"])
        await stores.graph.put_evidence(tenant, [says(a, "Ada")])
        moved = replace(stored_chunk(doc("a.md"), "one", 5), title="new", page=None, embedding_key="e2")
        write = SourceWrite(source_of(doc("a.md"), subjects=["user:ben"]), PARSED, [moved])
        await stores.catalogue.put_sources(tenant, [write])
        two, one = (await stores.catalogue.states(tenant, [doc("a.md")]))[doc("a.md")].chunks
        assert two == stored_chunk(doc("a.md"), "two", 1)  # stays until it is removed
        assert one == replace(moved, extraction_key="key-1", extraction_state=ExtractionState.DONE)
        entities = [entity.id for entity in await stores.graph.search_entities(tenant, "", view=ANA)]
        assert (await stores.graph.readers(tenant, entities, []))[0] == {"thing:ada": ("user:ana",)}

    async def test_a_write_that_claims_evidence_makes_none(self, stores: Stores, tenant: TenantId) -> None:
        claimed = replace(
            stored_chunk(doc("a.md"), "one", 0), extraction_key="k", extraction_state=ExtractionState.DONE
        )
        await stores.catalogue.put_sources(tenant, [SourceWrite(source_of(doc("a.md")), PARSED, [claimed])])
        (chunk,) = (await stores.catalogue.states(tenant, [doc("a.md")]))[doc("a.md")].chunks
        assert (chunk.extraction_key, chunk.extraction_state) == (None, ExtractionState.NONE)
        assert await stores.graph.contributions(tenant, ["k"]) == {}

    async def test_writing_the_same_again_changes_nothing(self, stores: Stores, tenant: TenantId) -> None:
        writes = [source_write(doc(f"{name}.md"), ["one", "two", "three"]) for name in "abc"]
        await stores.catalogue.put_sources(tenant, writes)
        refs = [write.source.ref for write in writes]
        before = await stores.catalogue.states(tenant, refs)
        await stores.catalogue.put_sources(tenant, writes[::-1])
        assert await stores.catalogue.states(tenant, refs) == before
        assert await stores.catalogue.counts(tenant) == NOTHING | {"sources": 3, "chunks": 9}
        await stores.catalogue.put_sources(tenant, [])

    async def test_a_deleted_source_is_gone_with_its_text(self, stores: Stores, tenant: TenantId) -> None:
        chunks = await put(stores, tenant, "a.md", ["one"])
        await put(stores, tenant, "b.md", ["one"])
        await stores.graph.remove_chunks(tenant, chunks)
        await stores.catalogue.delete_sources(tenant, [doc("a.md"), doc("unknown.md")])
        assert await stores.catalogue.source(tenant, doc("a.md"), view=ALL) is None
        assert await stores.catalogue.text(tenant, doc("a.md")) is None
        assert await stores.catalogue.text(tenant, doc("b.md")) is not None
        assert await stores.catalogue.counts(tenant) == NOTHING | {"sources": 1, "chunks": 1}

    async def test_an_embedding_is_found_by_its_key_at_the_first_chunk(self, stores: Stores, tenant: TenantId) -> None:
        names = ("\uffee.md", "\U0001f600.md", "😀" * 1024)
        chunks = [(await put(stores, tenant, name, ["same", f"own {name}"]))[0] for name in names]
        key, own = content_hash("same"), content_hash(f"own {names[0]}")
        expected = {key: min(chunks), own: chunk_of(doc(names[0]), f"own {names[0]}")}
        assert await stores.catalogue.chunk_with_embedding(tenant, [key, own, "unknown", key]) == expected
        assert await stores.catalogue.chunk_with_embedding(new_tenant(), [key]) == {}
        assert await stores.catalogue.chunk_with_embedding(tenant, []) == {}

    async def test_tenants_with_equal_ids_are_apart(self, stores: Stores, tenant: TenantId) -> None:
        other = new_tenant()
        await put(stores, tenant, "a.md", ["one"], metadata={"of": "this"})
        await put(stores, other, "a.md", ["one"], metadata={"of": "that"})
        await stores.catalogue.delete_sources(other, [doc("a.md")])
        source = await stores.catalogue.source(tenant, doc("a.md"), view=ALL)
        assert source is not None
        assert source.metadata == {"of": "this"}
        assert await stores.catalogue.text(tenant, doc("a.md")) == ParsedText("one")

    async def test_many_chunks_are_written_in_batches(self, stores: Stores, tenant: TenantId) -> None:
        texts = [f"text {number}" for number in range(5100)]
        chunks = await put(stores, tenant, "a.md", texts)
        state = (await stores.catalogue.states(tenant, [doc("a.md")]))[doc("a.md")]
        assert [chunk.id for chunk in state.chunks] == chunks

    # Failed chunks

    async def test_a_failed_chunk_is_listed_with_its_last_error_until_it_is_read(
        self, stores: Stores, tenant: TenantId
    ) -> None:
        a, b = await put(stores, tenant, "a.md", ["one", "two"])
        first, last = ExtractionFailure("model_failed", "time-out"), ExtractionFailure("model_refused", "' ` 😀")
        await stores.graph.put_evidence(tenant, [replace(failed(b), failure=first), says(a, "Ada")])
        assert await stores.catalogue.failed_chunks(tenant, view=ALL) == [FailedChunk(b, doc("a.md"), 1, 1, first)]
        await stores.graph.put_evidence(tenant, [replace(failed(b), failure=last)])
        assert await stores.catalogue.failed_chunks(tenant, view=ALL) == [FailedChunk(b, doc("a.md"), 1, 2, last)]
        assert (await stores.graph.evidence(tenant, [b]))[b].failure == last
        await stores.graph.put_evidence(tenant, [failed(b, "another-key")])
        assert await stores.catalogue.failed_chunks(tenant, view=ALL) == [
            FailedChunk(b, doc("a.md"), 1, 1, UNKNOWN_FAILURE)
        ]
        await stores.graph.put_evidence(tenant, [says(b, "Bob", key="another-key")])
        assert await stores.catalogue.failed_chunks(tenant, view=ALL) == []
        assert (await stores.graph.evidence(tenant, [b]))[b].failure is None

    async def test_what_is_taken_back_or_removed_is_no_failure_any_more(self, stores: Stores, tenant: TenantId) -> None:
        a, b = await put(stores, tenant, "a.md", ["one", "two"])
        await stores.graph.put_evidence(tenant, [failed(a), failed(b)])
        await stores.graph.remove_evidence(tenant, [a])
        await stores.graph.remove_chunks(tenant, [b])
        assert await stores.catalogue.failed_chunks(tenant, view=ALL) == []
        await stores.graph.put_evidence(tenant, [failed(a)])
        assert [one.attempts for one in await stores.catalogue.failed_chunks(tenant, view=ALL)] == [1]

    async def test_failed_chunks_come_in_pages_by_id_as_a_view_shows_them(
        self, stores: Stores, tenant: TenantId
    ) -> None:
        names = ["\U0001f600.md", "\uffee.md", "b.md", "a.md"]
        for name in names:
            subjects = ["user:ana"] if name == "a.md" else ["group:sre"]
            chunks = await put(stores, tenant, name, ["one", "two"], subjects=subjects)
            await stores.graph.put_evidence(tenant, [failed(chunk) for chunk in chunks])
        found: list[FailedChunk] = []
        while page := await stores.catalogue.failed_chunks(
            tenant, view=ALL, after=found[-1].chunk_id if found else None, limit=3
        ):
            found += page
        assert len(found) == 8
        assert [one.chunk_id for one in found] == sorted(one.chunk_id for one in found)
        assert {one.source.id for one in await stores.catalogue.failed_chunks(tenant, view=ANA)} == {"a.md"}
        assert await stores.catalogue.failed_chunks(new_tenant(), view=ALL) == []


class TestMemoryCatalogue(CatalogueContract):
    @pytest.fixture
    def stores(self) -> Stores:
        return memory_stores()


@pytest.fixture(scope="module")
async def session(neo4j_server: Neo4jAddress) -> AsyncIterator[Neo4jSession]:
    async with neo4j_session(neo4j_server) as session:
        yield session


@pytest.mark.neo4j
class TestNeo4jCatalogue(CatalogueContract):
    @pytest.fixture
    def stores(self, session: Neo4jSession) -> Stores:
        return neo4j_stores(session)

    async def test_a_deleted_tenant_leaves_no_row_in_the_database(
        self, stores: Stores, tenant: TenantId, session: Neo4jSession
    ) -> None:
        await self.test_a_deleted_tenant_leaves_nothing_and_takes_nothing_of_others(stores, tenant)
        driver = session._driver
        rows, _, _ = await driver.execute_query(
            "MATCH (n) WHERE any(p IN keys(n) WHERE toStringOrNull(n[p]) CONTAINS $tenant) RETURN count(n) AS left",
            tenant=tenant,
        )
        assert rows[0]["left"] == 0
