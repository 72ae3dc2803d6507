"""The promises of the GraphStore port, kept by memory and by Neo4j."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence

import pytest

from knotwork.adapters.neo4j.embedded import Neo4jAddress
from knotwork.adapters.neo4j.session import Neo4jSession
from knotwork.domain.catalogue import Evidence, ExtractionState, GraphChange
from knotwork.domain.filters import parse_filter
from knotwork.domain.ids import chunk_id
from knotwork.domain.merge import merge_contributions
from knotwork.domain.model import (
    EVERYONE,
    ChunkId,
    Contribution,
    Entity,
    EntityId,
    Relationship,
    RelationshipId,
    SourceRef,
    TenantId,
)
from knotwork.errors import InvalidInput, ProvenanceMissing
from knotwork.ports.vector_store import View
from support.stores import (
    Stores,
    chunk_of,
    doc,
    exported,
    failed,
    memory_stores,
    neo4j_session,
    neo4j_stores,
    new_tenant,
    put,
    says,
    source_write,
)

ALL = View()
ANA, BEN = View(subjects=(EVERYONE, "user:ana")), View(subjects=(EVERYONE, "user:ben"))
ADA, BOB, CAT = EntityId("thing:ada"), EntityId("thing:bob"), EntityId("thing:cat")
KNOWS = RelationshipId("thing:ada|knows|thing:bob")
ADA_KNOWS_BOB = ("Ada", "knows", "Bob", "")
HALFWIDTH, GRIN = "\uffee", "\U0001f600"  # code points order them so, UTF-16 units the other way round
HOSTILE = [
    "'",
    '"',
    "`",
    "\\",
    "a`b})-[:X]->(",
    "' OR 1=1 //",
    "$tenant",
    "n:*~^[]{}&&||!?",
    "{key}",
    "苹果",
    "Ünïcödé",
    "𠀀",
    "﨎",
]


def filtered(**fields: object) -> View:
    return View(filter=parse_filter(fields))


async def names(stores: Stores, tenant: TenantId, view: View = ALL) -> dict[EntityId, str]:
    return {entity.id: entity.name for entity in await stores.graph.search_entities(tenant, "", view=view, limit=1000)}


class GraphStoreContract:
    """A subclass adds the `stores` fixture and nothing else."""

    @pytest.fixture
    def tenant(self) -> TenantId:
        return new_tenant()

    # Writing and merging

    async def test_the_export_is_the_merge_of_the_evidence_present(self, stores: Stores, tenant: TenantId) -> None:
        a, b, c = await put(stores, tenant, "a.md", ["one", "two", "three"])
        evidence = [
            says(a, ("Ada", "bb"), "Bob", facts=[ADA_KNOWS_BOB]),
            says(b, ("ADA", "aa"), ("Bob", "x"), facts=[("Ada", "knows", "Bob", "well"), ("Bob", "owns", "Ada", "")]),
            says(c, ("ada", "z"), "Cat"),
        ]
        await stores.graph.put_evidence(tenant, evidence)
        graph = await exported(stores.graph, tenant)
        assert graph == merge_contributions(one.contribution for one in evidence)
        ada = graph.entities[0]
        assert (ada.id, ada.name, ada.description) == (ADA, "ADA", "aa")
        assert [one.weight for one in graph.relationships] == [2, 1]

    async def test_a_repeated_call_changes_nothing(self, stores: Stores, tenant: TenantId) -> None:
        (a,) = await put(stores, tenant, "a.md", ["one"])
        evidence = [says(a, "Ada", "Bob", facts=[ADA_KNOWS_BOB])]
        assert await stores.graph.put_evidence(tenant, evidence) == GraphChange(entities=2, relationships=1)
        graph, syncs = await exported(stores.graph, tenant), await stores.graph.pending_syncs(tenant)
        assert await stores.graph.put_evidence(tenant, evidence) == GraphChange()
        assert await exported(stores.graph, tenant) == graph
        assert await stores.graph.pending_syncs(tenant) == syncs

    async def test_nothing_given_changes_nothing(self, stores: Stores, tenant: TenantId) -> None:
        assert await stores.graph.put_evidence(tenant, []) == GraphChange()
        assert await stores.graph.remove_evidence(tenant, []) == GraphChange()
        assert await stores.graph.remove_chunks(tenant, [ChunkId("unknown")]) == GraphChange()
        await stores.graph.move_chunks(tenant, [ChunkId("unknown")], ["user:ana"])
        await stores.graph.synced(tenant, ["unknown"])
        assert await exported(stores.graph, tenant) == Contribution()
        assert await stores.graph.pending_syncs(tenant) == []

    async def test_evidence_under_another_key_takes_the_place_of_the_old(
        self, stores: Stores, tenant: TenantId
    ) -> None:
        a, b = await put(stores, tenant, "a.md", ["one", "two"])
        await stores.graph.put_evidence(tenant, [says(a, "Ada", "Bob", facts=[ADA_KNOWS_BOB]), says(b, "ada")])
        change = await stores.graph.put_evidence(tenant, [says(a, "Cat", key="key-2")])
        assert change == GraphChange(entities=1, pruned=2)  # Bob and what Ada knew of him
        assert await names(stores, tenant) == {ADA: "ada", CAT: "Cat"}

    async def test_failed_evidence_is_replaced_under_its_key_and_final_evidence_is_not(
        self, stores: Stores, tenant: TenantId
    ) -> None:
        (a,) = await put(stores, tenant, "a.md", ["one"])
        await stores.graph.put_evidence(tenant, [failed(a)])
        assert await names(stores, tenant) == {}
        await stores.graph.put_evidence(tenant, [failed(a)])
        await stores.graph.put_evidence(tenant, [says(a, "Ada")])
        for late in (says(a, "Bob"), failed(a), says(a)):
            await stores.graph.put_evidence(tenant, [late])
            assert await names(stores, tenant) == {ADA: "Ada"}
        states = await stores.catalogue.states(tenant, [doc("a.md")])
        (chunk,) = states[doc("a.md")].chunks
        assert (chunk.extraction_key, chunk.extraction_state) == ("key-1", ExtractionState.DONE)

    async def test_an_empty_answer_is_final(self, stores: Stores, tenant: TenantId) -> None:
        (a,) = await put(stores, tenant, "a.md", ["one"])
        await stores.graph.put_evidence(tenant, [says(a)])
        await stores.graph.put_evidence(tenant, [says(a, "Ada")])
        assert await names(stores, tenant) == {}

    async def test_a_mention_of_an_unknown_chunk_writes_nothing(self, stores: Stores, tenant: TenantId) -> None:
        (a,) = await put(stores, tenant, "a.md", ["one"])
        with pytest.raises(ProvenanceMissing) as caught:
            await stores.graph.put_evidence(tenant, [says(a, "Ada"), says(ChunkId("gone"), "Bob")])
        assert (caught.value.found, caught.value.expected) == (1, 2)
        assert await names(stores, tenant) == {}
        assert await stores.graph.pending_syncs(tenant) == []
        (chunk,) = (await stores.catalogue.states(tenant, [doc("a.md")]))[doc("a.md")].chunks
        assert chunk.extraction_key is None

    async def test_a_chunk_of_another_tenant_is_unknown(self, stores: Stores, tenant: TenantId) -> None:
        (a,) = await put(stores, tenant, "a.md", ["one"])
        with pytest.raises(ProvenanceMissing):
            await stores.graph.put_evidence(new_tenant(), [says(a, "Ada")])

    async def test_of_several_pieces_of_evidence_of_a_chunk_the_last_counts(
        self, stores: Stores, tenant: TenantId
    ) -> None:
        (a,) = await put(stores, tenant, "a.md", ["one"])
        await stores.graph.put_evidence(tenant, [says(a, "Ada"), says(a, "Bob")])
        (bob,) = (await exported(stores.graph, tenant)).entities
        assert (bob.id, bob.provenance) == (BOB, (a,))
        await stores.graph.remove_evidence(tenant, [a, a])
        assert await exported(stores.graph, tenant) == Contribution()

    @pytest.mark.parametrize("fault", ["provenance", "twice", "open"])
    async def test_evidence_that_no_sanitised_answer_gives_is_refused(
        self, stores: Stores, tenant: TenantId, fault: str
    ) -> None:
        (a,) = await put(stores, tenant, "a.md", ["one"])
        ada = Entity(ADA, "thing", "Ada", "", ("Ada",), (a,))
        contribution = {
            "provenance": Contribution((Entity(ADA, "thing", "Ada", "", ("Ada",), (a, ChunkId("other"))),)),
            "twice": Contribution((ada, ada)),
            "open": Contribution((ada,), (Relationship(KNOWS, ADA, BOB, "knows", "", (a,)),)),
        }[fault]
        with pytest.raises(InvalidInput):
            await stores.graph.put_evidence(tenant, [Evidence(a, "key-1", ExtractionState.DONE, contribution)])
        assert await names(stores, tenant) == {}

    async def test_more_chunks_than_one_transaction_holds_are_all_written_and_all_removed(
        self, stores: Stores, tenant: TenantId
    ) -> None:
        chunks = await put(stores, tenant, "a.md", [f"text {number}" for number in range(1001)])
        change = await stores.graph.put_evidence(tenant, [says(chunk, "Ada") for chunk in chunks])
        assert change == GraphChange(entities=1)
        (ada,) = await stores.graph.entities(tenant, [ADA], view=ALL)
        assert ada.mentions == 1001
        (entity,) = (await exported(stores.graph, tenant)).entities
        assert entity.provenance == tuple(sorted(chunks))
        assert await stores.graph.remove_chunks(tenant, chunks) == GraphChange(pruned=1)
        assert await exported(stores.graph, tenant) == Contribution()

    async def test_code_point_order_decides_ties_of_names_and_descriptions(
        self, stores: Stores, tenant: TenantId
    ) -> None:
        a, b, c = await put(stores, tenant, "a.md", ["one", "two", "three"])
        # The entity is the same: neither sign is part of a normalised name.
        evidence = [says(a, (f"{GRIN} Ada", f"{GRIN}x")), says(b, ("\ue000 Ada", "\ue000x")), says(c, ("Zz", "y"))]
        await stores.graph.put_evidence(tenant, evidence)
        (ada, _) = await stores.graph.entities(tenant, [ADA, EntityId("thing:zz")], view=ALL)
        assert (ada.name, ada.description) == ("\ue000 Ada", "\ue000x")
        await stores.graph.remove_evidence(tenant, [b])
        (ada,) = await stores.graph.entities(tenant, [ADA], view=ALL)
        assert (ada.name, ada.description) == (f"{GRIN} Ada", f"{GRIN}x")

    # Removing

    async def test_removing_evidence_prunes_what_nothing_supports_and_keeps_the_chunks(
        self, stores: Stores, tenant: TenantId
    ) -> None:
        a, b = await put(stores, tenant, "a.md", ["one", "two"])
        evidence = [says(a, ("Ada", "longest"), "Bob", facts=[ADA_KNOWS_BOB]), says(b, ("ada", "short"))]
        await stores.graph.put_evidence(tenant, evidence)
        assert await stores.graph.remove_evidence(tenant, [a]) == GraphChange(pruned=2)
        assert await exported(stores.graph, tenant) == merge_contributions([evidence[1].contribution])
        state = (await stores.catalogue.states(tenant, [doc("a.md")]))[doc("a.md")]
        assert [(chunk.id, chunk.extraction_key) for chunk in state.chunks] == [(a, None), (b, "key-1")]
        assert await stores.graph.remove_evidence(tenant, [a]) == GraphChange()
        await stores.graph.put_evidence(tenant, evidence)  # the chunk can be read again
        assert await exported(stores.graph, tenant) == merge_contributions(one.contribution for one in evidence)

    async def test_removed_chunks_are_gone_with_all_they_said(self, stores: Stores, tenant: TenantId) -> None:
        a, b = await put(stores, tenant, "a.md", ["one", "two"])
        await stores.graph.put_evidence(tenant, [says(a, "Ada"), says(b, "Ada", "Bob", facts=[ADA_KNOWS_BOB])])
        assert await stores.graph.remove_chunks(tenant, [b, ChunkId("unknown")]) == GraphChange(pruned=2)
        assert await names(stores, tenant) == {ADA: "Ada"}
        state = (await stores.catalogue.states(tenant, [doc("a.md")]))[doc("a.md")]
        assert [chunk.id for chunk in state.chunks] == [a]
        with pytest.raises(ProvenanceMissing):
            await stores.graph.put_evidence(tenant, [says(b, "Ada")])

    async def test_the_winner_is_found_again_whoever_goes(self, stores: Stores, tenant: TenantId) -> None:
        spelled = [("Ada", "aaaa"), ("Ada", "bbbb"), ("ADA", "cc"), ("ada", ""), ("Ada", "aaaa"), ("ADA", "dddddd")]
        chunks = await put(stores, tenant, "a.md", [f"text {number}" for number in range(len(spelled))])
        evidence = [says(chunk, one) for chunk, one in zip(chunks, spelled, strict=True)]
        await stores.graph.put_evidence(tenant, evidence)
        for gone in (5, 2, 0, 4, 1, 3):
            await stores.graph.remove_evidence(tenant, [chunks[gone]])
            evidence[gone] = says(chunks[gone])
            assert await exported(stores.graph, tenant) == merge_contributions(one.contribution for one in evidence)

    # What was said under a key

    async def test_contributions_are_given_back_as_they_were(self, stores: Stores, tenant: TenantId) -> None:
        a, b, c, d = await put(stores, tenant, "a.md", ["one", "two", "three", "four"])
        rich = says(a, ("Ada", "first"), "ADA", ("Bob", GRIN), facts=[ADA_KNOWS_BOB], key="rich")
        await stores.graph.put_evidence(
            tenant, [rich, says(b, key="empty"), failed(c, "failed"), says(d, "X", key="x")]
        )
        found = await stores.graph.contributions(tenant, ["rich", "empty", "failed", "unknown"])
        assert found == {"rich": rich, "empty": says(b, key="empty")}
        assert await stores.graph.contributions(new_tenant(), ["rich"]) == {}
        await stores.graph.remove_chunks(tenant, [a])
        assert await stores.graph.contributions(tenant, ["rich"]) == {}

    async def test_of_equal_contributions_one_is_given(self, stores: Stores, tenant: TenantId) -> None:
        a, b = await put(stores, tenant, "a.md", ["one", "two"])
        await stores.graph.put_evidence(tenant, [says(a, "Ada"), says(b, "Ada")])
        found = await stores.graph.contributions(tenant, ["key-1"])
        assert found["key-1"] == says(min(a, b), "Ada")

    # What the vector store follows

    async def test_changes_of_existence_and_readers_wait_until_they_are_followed(
        self, stores: Stores, tenant: TenantId
    ) -> None:
        (a,) = await put(stores, tenant, "a.md", ["one"])
        (b,) = await put(stores, tenant, "b.md", ["two"], subjects=["user:ana"])
        await stores.graph.put_evidence(tenant, [says(a, "Ada", "Bob", facts=[ADA_KNOWS_BOB])])
        await stores.graph.put_evidence(tenant, [says(b, "Bob", "Cat")])
        await stores.graph.remove_evidence(tenant, [a])
        syncs = await stores.graph.pending_syncs(tenant)
        assert [(sync.entities, sync.relationships) for sync in syncs] == [
            ((ADA, BOB), (KNOWS,)),
            ((BOB, CAT), ()),
            ((ADA, BOB), (KNOWS,)),
        ]
        assert await stores.graph.pending_syncs(tenant, limit=2) == syncs[:2]
        await stores.graph.synced(tenant, [syncs[0].id, syncs[1].id])
        assert await stores.graph.pending_syncs(tenant) == syncs[2:]
        assert await stores.graph.pending_syncs(new_tenant()) == []

    async def test_more_evidence_of_the_same_audience_is_nothing_to_follow(
        self, stores: Stores, tenant: TenantId
    ) -> None:
        a, b = await put(stores, tenant, "a.md", ["one", "two"])
        await stores.graph.put_evidence(tenant, [says(a, "Ada")])
        (sync,) = await stores.graph.pending_syncs(tenant)
        await stores.graph.put_evidence(tenant, [says(b, ("ADA", "longer"))])
        await stores.graph.remove_evidence(tenant, [a])
        assert await stores.graph.pending_syncs(tenant) == [sync]

    async def test_readers_are_all_who_may_read_some_evidence(self, stores: Stores, tenant: TenantId) -> None:
        (a,) = await put(stores, tenant, "a.md", ["one"], subjects=["user:ana", "group:sre"])
        (b,) = await put(stores, tenant, "b.md", ["two"], subjects=["user:ben"])
        await stores.graph.put_evidence(tenant, [says(a, "Ada", "Bob", facts=[ADA_KNOWS_BOB]), says(b, "Ada")])
        entities, relationships = await stores.graph.readers(tenant, [ADA, BOB, CAT], [KNOWS, RelationshipId("a|b|c")])
        assert entities == {ADA: ("group:sre", "user:ana", "user:ben"), BOB: ("group:sre", "user:ana")}
        assert relationships == {KNOWS: ("group:sre", "user:ana")}

    # Audiences

    async def test_a_reader_knows_a_thing_by_visible_evidence_alone(self, stores: Stores, tenant: TenantId) -> None:
        (a,) = await put(stores, tenant, "a.md", ["one"], subjects=["user:ana"])
        (b,) = await put(stores, tenant, "b.md", ["two"], subjects=["user:ben"])
        (c,) = await put(stores, tenant, "c.md", ["three"])
        await stores.graph.put_evidence(
            tenant,
            [
                says(a, ("ADA", "known to Ana"), "Bob", facts=[("Ada", "knows", "Bob", "Ana says so")]),
                says(b, ("Ada", "Ben"), ("Cat", "secret")),
                says(c, ("ada", "all"), "bob", facts=[("Ada", "knows", "Bob", "all")]),
            ],
        )
        (ada,) = await stores.graph.entities(tenant, [ADA, CAT], view=ANA)
        assert (ada.name, ada.description, ada.mentions) == ("ADA", "known to Ana", 2)
        ada, cat = await stores.graph.entities(tenant, [ADA, CAT], view=BEN)
        assert (ada.name, ada.description, ada.mentions) == ("Ada", "Ben", 2)
        assert cat.description == "secret"
        (ada,) = await stores.graph.entities_named(tenant, ["ada", "cat"], view=View(subjects=(EVERYONE,)))
        assert (ada.name, ada.description, ada.mentions) == ("ada", "all", 1)
        assert await names(stores, tenant, View(subjects=("user:cleo",))) == {}
        assert await names(stores, tenant, View(subjects=())) == {}
        for view, weight, text, from_name in (
            (ALL, 2, "Ana says so", "ADA"),
            (ANA, 2, "Ana says so", "ADA"),
            (BEN, 1, "all", "Ada"),
        ):
            (of,) = await stores.graph.relationships_of(tenant, [ADA], view=view, limit=9, chunk_limit=9)
            assert await stores.graph.relationships(tenant, [KNOWS], view=view, chunk_limit=9) == [of]
            assert (of.weight, of.description, of.from_name) == (weight, text, from_name)
            assert len(of.chunks) == weight
        assert [one.chunk_id for one in await stores.graph.mentions(tenant, ADA, view=BEN)] == sorted([b, c])
        assert await stores.graph.mentions(tenant, CAT, view=ANA) == []
        assert await stores.graph.chunks_naming(tenant, [ADA, CAT], view=ANA, limit=9) == {ADA: tuple(sorted([a, c]))}

    async def test_a_relationship_only_others_assert_does_not_exist(self, stores: Stores, tenant: TenantId) -> None:
        (a,) = await put(stores, tenant, "a.md", ["one"], subjects=["user:ana"])
        (c,) = await put(stores, tenant, "c.md", ["three"])
        await stores.graph.put_evidence(tenant, [says(a, "Ada", "Bob", facts=[ADA_KNOWS_BOB]), says(c, "Ada", "Bob")])
        for view in (BEN, View(subjects=("user:ben",), filter=parse_filter({"source_type": "document"}))):
            assert await stores.graph.relationships_of(tenant, [ADA], view=view, limit=9, chunk_limit=9) == []
            assert await stores.graph.relationships(tenant, [KNOWS], view=view, chunk_limit=9) == []

    async def test_a_winner_that_only_others_still_say_is_forgotten(self, stores: Stores, tenant: TenantId) -> None:
        a, b = await put(stores, tenant, "a.md", ["one", "two"], subjects=["user:ana"])
        (c,) = await put(stores, tenant, "c.md", ["three"], subjects=["user:ben"])
        first, second = (says(chunk, "ADA", "Bob", facts=[("Ada", "knows", "Bob", "long")]) for chunk in (a, c))
        other = says(b, "Ada", "Bob", facts=[("Ada", "knows", "Bob", "x")])
        await stores.graph.put_evidence(tenant, [first, second, other])
        await stores.graph.remove_evidence(tenant, [a])
        (knows,) = await stores.graph.relationships_of(tenant, [ADA], view=ANA, limit=9, chunk_limit=9)
        assert (knows.from_name, knows.description) == ("Ada", "x")
        assert await names(stores, tenant, ANA) == {ADA: "Ada", BOB: "Bob"}
        assert await names(stores, tenant, BEN) == {ADA: "ADA", BOB: "Bob"}
        assert await exported(stores.graph, tenant) == merge_contributions([second.contribution, other.contribution])

    async def test_moved_chunks_are_read_by_whom_they_were_moved_to(self, stores: Stores, tenant: TenantId) -> None:
        a, b = await put(stores, tenant, "a.md", ["one", "two"], subjects=["user:ana"])
        await stores.graph.put_evidence(
            tenant, [says(a, ("ADA", "long"), "Bob", facts=[ADA_KNOWS_BOB]), says(b, ("Ada", "x"))]
        )
        before = await exported(stores.graph, tenant)
        await stores.graph.move_chunks(tenant, [a], ["user:ben", "user:ben"])
        assert await exported(stores.graph, tenant) == before
        (ada,) = await stores.graph.entities(tenant, [ADA, BOB], view=ANA)
        assert (ada.name, ada.description, ada.mentions) == ("Ada", "x", 1)
        ada, bob = await stores.graph.entities(tenant, [ADA, BOB], view=BEN)
        assert (ada.name, ada.description, bob.mentions) == ("ADA", "long", 1)
        assert (await stores.graph.pending_syncs(tenant))[-1].entities == (ADA, BOB)
        assert (await stores.graph.pending_syncs(tenant))[-1].relationships == (KNOWS,)
        assert (await stores.graph.readers(tenant, [ADA], [KNOWS])) == (
            {ADA: ("user:ana", "user:ben")},
            {KNOWS: ("user:ben",)},
        )
        syncs = await stores.graph.pending_syncs(tenant)
        await stores.graph.move_chunks(tenant, [a], ["user:ben"])
        assert await stores.graph.pending_syncs(tenant) == syncs

    async def test_readers_are_those_of_the_chunk_in_every_question_until_it_is_moved(
        self, stores: Stores, tenant: TenantId
    ) -> None:
        (a,) = await put(stores, tenant, "a.md", ["one"], subjects=["user:ana"])
        await stores.graph.put_evidence(tenant, [says(a, "Ada", "Bob", facts=[ADA_KNOWS_BOB])])
        await put(stores, tenant, "a.md", ["one"], subjects=["user:ben"])
        source_filter = parse_filter({"source_id": "a.md"})
        for subjects, seen in ((ANA.subjects, 1), (BEN.subjects, 0)):
            for view in (View(subjects), View(subjects, source_filter)):
                assert len(await stores.graph.entities(tenant, [ADA], view=view)) == seen
                assert len(await stores.graph.mentions(tenant, ADA, view=view)) == seen
                assert len(await stores.graph.chunks_naming(tenant, [ADA], view=view, limit=9)) == seen
                assert len(await stores.graph.relationships(tenant, [KNOWS], view=view, chunk_limit=9)) == seen
                of = await stores.graph.relationships_of(tenant, [ADA], view=view, limit=9, chunk_limit=9)
                assert len(of) == seen

    async def test_chunks_moved_before_they_speak_speak_to_the_new_readers(
        self, stores: Stores, tenant: TenantId
    ) -> None:
        (a,) = await put(stores, tenant, "a.md", ["one"], subjects=["user:ana"])
        await stores.graph.move_chunks(tenant, [a], ["user:ben"])
        await stores.graph.put_evidence(tenant, [says(a, "Ada")])
        assert (await names(stores, tenant, ANA), await names(stores, tenant, BEN)) == ({}, {ADA: "Ada"})

    # Filters

    @pytest.mark.parametrize(
        ("fields", "expected"),
        [
            ({}, "abc"),
            ({"source_type": "document"}, "abc"),
            ({"source_type": "page"}, ""),
            ({"source_id": "a.md"}, "a"),
            ({"source_id": ["a.md", "c.md", "x"]}, "ac"),
            ({"team": "sre"}, "a"),
            ({"team": ["sre", "web"]}, "ab"),
            ({"metadata.team": "web"}, "b"),
            ({"tags": "red"}, "ab"),
            ({"tags": ["blue", "green"]}, "bc"),
            ({"tags": "red", "team": "web"}, "b"),
            ({"version": 2}, "ac"),
            ({"version": 2.0}, "ac"),
            ({"version": "2"}, "b"),
            ({"version": {"gte": 1, "lte": 2}}, "ac"),
            ({"version": {"gte": "1"}}, "b"),
            ({"version": {"gte": 2.5}}, "c"),
            ({"huge": 2**62 + 1}, "a"),
            ({"huge": 2**62}, ""),
            ({"huge": {"gte": 2**62 + 1, "lte": 2**63 - 1}}, "a"),
            ({"public": True}, "a"),
            ({"public": False}, "b"),
            ({"public": 1}, "c"),
            ({"public": {"gte": 0}}, "c"),
            ({"date": {"gte": "2024-02-01", "lte": "2024-12-31"}}, "b"),
            ({"date": {"gte": "2024-01-31T00:00:00Z"}}, "bc"),
            ({"date": {"lte": "2024-06-30"}, "team": ["sre", "web"]}, "ab"),
            ({"nothing": "x"}, ""),
            ({"nothing": {"lte": 5}}, ""),
            ({"none": "x"}, ""),
            ({"team": []}, ""),
            ({"a`b'c": "q`'"}, "a"),
        ],
    )
    async def test_a_filter_asks_the_source_of_the_evidence(
        self, stores: Stores, tenant: TenantId, fields: dict[str, object], expected: str
    ) -> None:
        rows = {
            "a": {
                "team": "sre",
                "tags": ["red"],
                "version": 2,
                "public": True,
                "date": "2024-01-31",
                "huge": 2**62 + 1,
                "a`b'c": "q`'",
            },
            "b": {
                "team": "web",
                "tags": ["red", "green"],
                "version": "2",
                "public": False,
                "date": "2024-06-30",
                "none": [],
            },
            "c": {"team": "ops", "tags": ["blue"], "version": [2, 3.5], "public": 1, "date": "2025-01-01"},
        }
        chunks: dict[str, ChunkId] = {}
        for letter, metadata in rows.items():
            (chunks[letter],) = await put(stores, tenant, f"{letter}.md", [letter], metadata=metadata)
        await stores.graph.put_evidence(
            tenant,
            [
                says(chunk, letter * 3, "Bob", facts=[(letter * 3, "is", "Bob", letter)])
                for letter, chunk in chunks.items()
            ],
        )
        view = filtered(**fields)
        seen = sorted(chunks[letter] for letter in expected)
        assert [one.chunk_id for one in await stores.graph.mentions(tenant, BOB, view=view)] == seen
        found = await names(stores, tenant, view)
        assert sorted(found) == sorted([*(f"thing:{letter * 3}" for letter in expected), *([BOB] if expected else [])])
        assert [one.mentions for one in await stores.graph.entities(tenant, [BOB], view=view)] == [len(seen)][
            : len(seen)
        ]
        relationships = await stores.graph.relationships_of(tenant, [BOB], view=view, limit=9, chunk_limit=9)
        assert [one.description for one in relationships] == list(expected)
        assert [one.ref.id for one in await stores.catalogue.sources(tenant, view=view)] == [
            f"{one}.md" for one in expected
        ]

    async def test_a_filter_decides_name_description_and_weight_too(self, stores: Stores, tenant: TenantId) -> None:
        (a,) = await put(stores, tenant, "a.md", ["one"])
        (b,) = await put(stores, tenant, "b.md", ["two"])
        fact = ("Ada", "knows", "Bob", "a long description")
        await stores.graph.put_evidence(
            tenant,
            [says(a, ("ADA", "longest"), "Bob", facts=[fact]), says(b, ("ada", "x"), "Bob", facts=[ADA_KNOWS_BOB])],
        )
        view = filtered(source_id="b.md")
        (ada,) = await stores.graph.entities(tenant, [ADA], view=view)
        assert (ada.name, ada.description, ada.mentions) == ("ada", "x", 1)
        (knows,) = await stores.graph.relationships_of(tenant, [BOB], view=view, limit=9, chunk_limit=9)
        assert (knows.from_name, knows.description, knows.weight, knows.chunks) == ("ada", "", 1, (b,))

    # Tenants

    async def test_tenants_with_equal_ids_are_apart(self, stores: Stores, tenant: TenantId) -> None:
        other = new_tenant()
        (a,) = await put(stores, tenant, "a.md", ["one"])
        assert await put(stores, other, "a.md", ["one"]) == [a]
        await stores.graph.put_evidence(tenant, [says(a, ("Ada", "of this"), "Bob", facts=[ADA_KNOWS_BOB])])
        await stores.graph.put_evidence(other, [says(a, ("Ada", "of that"))])
        (ada,) = await stores.graph.entities(tenant, [ADA], view=ALL)
        assert (ada.description, ada.mentions) == ("of this", 1)
        assert await stores.graph.relationships(other, [KNOWS], view=ALL, chunk_limit=1) == []
        assert await stores.graph.readers(other, [ADA, BOB], [KNOWS]) == ({ADA: (EVERYONE,)}, {})
        await stores.graph.move_chunks(other, [a], ["user:ben"])
        assert await names(stores, tenant, ANA) == {ADA: "Ada", BOB: "Bob"}
        await stores.graph.remove_chunks(other, [a])
        assert await names(stores, other) == {}
        assert await names(stores, tenant) == {ADA: "Ada", BOB: "Bob"}

    # Pages and order

    async def test_pages_of_entities_are_complete_and_in_order_of_name_and_id(
        self, stores: Stores, tenant: TenantId
    ) -> None:
        words = [f"word {number}" for number in range(25)] + ["﨎", "𠀀", "zz", "wor", "worz"]
        (a,) = await put(stores, tenant, "a.md", ["one"])
        raw = [
            Entity(EntityId(f"{type_}:{word}"), type_, word, "", (word,), (a,))
            for word in words
            for type_ in ("b", "a")
        ]
        contribution = Contribution(tuple(sorted(raw, key=lambda entity: entity.id)))
        await stores.graph.put_evidence(tenant, [Evidence(a, "key-1", ExtractionState.DONE, contribution)])
        expected = [f"{type_}:{word}" for word in sorted(words) for type_ in ("a", "b")]
        for prefix in ("", "word", "word 1", "﨎", "zzz"):
            found: list[EntityId] = []
            while page := await stores.graph.search_entities(
                tenant, prefix, view=ALL, after=found[-1] if found else None, limit=7
            ):
                found += [entity.id for entity in page]
            assert found == [id_ for id_ in expected if id_[2:].startswith(prefix)]
        assert await stores.graph.search_entities(tenant, "word", view=ALL, after=EntityId("a:a"), limit=1) != []
        assert await stores.graph.search_entities(tenant, "word", view=ALL, after=EntityId("a:x"), limit=1) == []
        assert await stores.graph.search_entities(tenant, "", view=ALL, limit=0) == []
        named = await stores.graph.entities_named(tenant, ["zz", "𠀀", "zz"], view=ALL)
        assert [entity.id for entity in named] == ["a:zz", "a:𠀀", "b:zz", "b:𠀀"]

    async def test_a_page_is_filled_past_what_the_reader_may_not_see(self, stores: Stores, tenant: TenantId) -> None:
        (a,) = await put(stores, tenant, "a.md", ["one"], subjects=["user:ben"])
        (b,) = await put(stores, tenant, "b.md", ["two"])
        await stores.graph.put_evidence(
            tenant, [says(a, *[f"a{number:03}" for number in range(250)]), says(b, "b1", "b2", "b3")]
        )
        page = await stores.graph.search_entities(tenant, "", view=ANA, limit=2)
        assert [entity.name for entity in page] == ["b1", "b2"]
        page = await stores.graph.search_entities(tenant, "", view=ANA, after=page[-1].id, limit=2)
        assert [entity.name for entity in page] == ["b3"]

    async def test_pages_of_mentions_are_complete_and_in_order_of_code_points(
        self, stores: Stores, tenant: TenantId
    ) -> None:
        chunks: list[ChunkId] = []
        for name in (f"{GRIN}.md", f"{HALFWIDTH}.md", "\ue000.md", "\uffff.md", "\U0010ffff", "é.md", "a.md", "a!md"):
            chunks += await put(stores, tenant, name, ["one", "two"])
        await stores.graph.put_evidence(
            tenant, [says(chunk, ("Ada", chunk[-9:]), "Bob", facts=[ADA_KNOWS_BOB]) for chunk in chunks]
        )
        found: list[ChunkId] = []
        while page := await stores.graph.mentions(tenant, ADA, view=ALL, after=found[-1] if found else None, limit=3):
            assert [one.description for one in page] == [one.chunk_id[-9:] for one in page]
            found += [one.chunk_id for one in page]
        assert found == sorted(chunks)
        assert (await stores.graph.chunks_naming(tenant, [ADA], view=ALL, limit=5))[ADA] == tuple(sorted(chunks)[:5])
        assert await stores.graph.chunks_naming(tenant, [ADA], view=ALL, limit=0) == {}
        (knows,) = await stores.graph.relationships(tenant, [KNOWS], view=ALL, chunk_limit=5)
        assert (knows.weight, knows.chunks) == (len(chunks), tuple(sorted(chunks)[:5]))
        assert (await exported(stores.graph, tenant)).entities[0].provenance == tuple(sorted(chunks))
        assert (await stores.graph.contributions(tenant, ["key-1"]))["key-1"].chunk_id == min(chunks)

    async def test_of_each_entity_the_heaviest_relationships_come_ties_by_id(
        self, stores: Stores, tenant: TenantId
    ) -> None:
        a, b = await put(stores, tenant, "a.md", ["one", "two"])
        (c,) = await put(stores, tenant, "c.md", ["three"], subjects=["user:ben"])
        spokes = ["Bob", "Cat", "﨎", "𠀀", "Dee"]
        facts = [("Hub", "is", spoke, "") for spoke in spokes]
        await stores.graph.put_evidence(
            tenant,
            [
                says(a, "Hub", *spokes, facts=facts),
                says(b, "Hub", "Dee", "Cat", facts=[("Hub", "is", "Dee", ""), ("Cat", "is", "Dee", "")]),
                says(c, "Hub", "Cat", facts=[("Hub", "is", "Cat", "")]),
            ],
        )
        hub = EntityId("thing:hub")

        async def heaviest(view: View, entities: Sequence[EntityId], limit: int) -> list[tuple[str, int]]:
            found = await stores.graph.relationships_of(tenant, entities, view=view, limit=limit, chunk_limit=0)
            assert all(one.chunks == () for one in found)
            assert [one.id for one in found] == sorted(one.id for one in found)
            return [(one.id.replace("thing:", ""), one.weight) for one in found]

        assert await heaviest(ALL, [hub], 3) == [("hub|is|bob", 1), ("hub|is|cat", 2), ("hub|is|dee", 2)]
        for view in (ANA, View(ANA.subjects, parse_filter({"source_type": "document"}))):
            assert await heaviest(view, [hub], 2) == [("hub|is|bob", 1), ("hub|is|dee", 2)]
            assert await heaviest(view, [hub], 4) == [
                ("hub|is|bob", 1),
                ("hub|is|cat", 1),
                ("hub|is|dee", 2),
                ("hub|is|﨎", 1),
            ]
        assert (
            await heaviest(ALL, [CAT, EntityId("thing:dee"), CAT], 1)
            == [("cat|is|dee", 1), ("hub|is|cat", 2), ("hub|is|dee", 2)][1:]
        )
        assert await heaviest(ALL, [EntityId("thing:nobody")], 3) == []

    async def test_direction_and_type_part_relationships(self, stores: Stores, tenant: TenantId) -> None:
        (a,) = await put(stores, tenant, "a.md", ["one"])
        facts = [("Ada", "founded", "Bob", ""), ("Ada", "sued", "Bob", ""), ("Bob", "sued", "Ada", "")]
        await stores.graph.put_evidence(tenant, [says(a, "Ada", "Bob", facts=facts)])
        found = await stores.graph.relationships_of(tenant, [ADA], view=ALL, limit=9, chunk_limit=9)
        assert [(one.from_id, one.type, one.to_id) for one in found] == [
            (ADA, "founded", BOB),
            (ADA, "sued", BOB),
            (BOB, "sued", ADA),
        ]

    async def test_the_export_is_in_order_of_ids_over_many_pages(self, stores: Stores, tenant: TenantId) -> None:
        words = [f"n{number}" for number in range(1100)] + ["﨎", "𠀀", "ю"]
        chunks = await put(stores, tenant, "a.md", ["one", "two"])
        facts = [("n0", "is", word, "") for word in words[1:]]
        await stores.graph.put_evidence(tenant, [says(chunk, *words, facts=facts) for chunk in chunks])
        graph = await exported(stores.graph, tenant)
        assert [one.id for one in graph.entities] == sorted(f"thing:{word}" for word in words)
        assert [one.id for one in graph.relationships] == sorted(f"thing:n0|is|thing:{word}" for word in words[1:])
        assert {one.weight for one in graph.relationships} == {2}

    # Hostile values

    @pytest.mark.parametrize("text", HOSTILE)
    async def test_any_text_is_data(self, stores: Stores, tenant: TenantId, text: str) -> None:
        name, key = f"Ada {text}", f"key {text}"
        (a,) = await put(stores, tenant, f"{text}/x y.txt", [text], subjects=[f"user:{text}"])
        evidence = says(a, (name, text), (f"Bob {text}", ""), facts=[(name, f"x{text}", f"Bob {text}", text)], key=key)
        await stores.graph.put_evidence(tenant, [evidence])
        assert await exported(stores.graph, tenant) == evidence.contribution
        assert await stores.graph.contributions(tenant, [key]) == {key: evidence}
        ids = [entity.id for entity in evidence.contribution.entities]
        seen = await stores.graph.entities(tenant, ids, view=View(subjects=(f"user:{text}",)))
        assert [one.id for one in seen] == ids
        assert [
            one.chunk_id
            for one in await stores.graph.mentions(tenant, ids[0], view=filtered(source_id=f"{text}/x y.txt"))
        ] == [a]
        assert await stores.graph.search_entities(tenant, f"zz{text}", view=ALL) == []
        await stores.graph.remove_chunks(tenant, [a])
        assert await exported(stores.graph, tenant) == Contribution()

    @pytest.mark.parametrize("type_", ["a`b", "entity", "chunk", "a'b\\", "苹果", "incident-report", "-"])
    async def test_any_type_is_data_and_makes_no_row_of_the_platform(
        self, stores: Stores, tenant: TenantId, type_: str
    ) -> None:
        (a,) = await put(stores, tenant, "a.md", ["one"])
        ada = Entity(EntityId(f"{type_}:ada"), type_, "Ada", "", ("Ada",), (a,))
        await stores.graph.put_evidence(tenant, [Evidence(a, "k", ExtractionState.DONE, Contribution((ada,)))])
        assert (await exported(stores.graph, tenant)).entities == (ada,)
        counts = await stores.catalogue.counts(tenant)
        assert counts == {"sources": 1, "chunks": 1, "entities": 1, "relationships": 0}

    @pytest.mark.parametrize("name", ["x" * 4096, "😀" * 1024, "::\\:" * 1000, "./data/x y.txt", "😀"])
    async def test_a_source_id_may_be_long_and_strange(self, stores: Stores, tenant: TenantId, name: str) -> None:
        a, b = await put(stores, tenant, name, ["one", "two"])
        await stores.graph.put_evidence(tenant, [says(a, "Ada"), says(b, "Ada")])
        assert [
            one.chunk_id for one in await stores.graph.mentions(tenant, ADA, view=filtered(source_id=name))
        ] == sorted([a, b])
        assert await stores.graph.remove_chunks(tenant, [a, b]) == GraphChange(pruned=1)
        assert (await stores.catalogue.states(tenant, [doc(name)]))[doc(name)].chunks == ()

    async def test_things_whose_keys_are_over_4000_bytes_stay_apart(self, stores: Stores, tenant: TenantId) -> None:
        (a,) = await put(stores, tenant, "a.md", ["one"])
        long = "𠀀" * 255
        ends = [f"{long}a", f"{long}b"]
        facts = [(ends[0], f"r{'𠀀' * 63}", ends[1], "x"), (ends[1], f"r{'𠀀' * 63}", ends[0], "y")]
        (hashed,) = await put(stores, tenant, "y" * 3900, ["two"])
        evidence = [says(a, *ends, facts=facts), says(hashed, *ends)]
        await stores.graph.put_evidence(tenant, evidence)
        graph = await exported(stores.graph, tenant)
        assert graph == merge_contributions(one.contribution for one in evidence)
        assert len(graph.relationships) == 2
        assert {
            one.description
            for one in await stores.graph.relationships(
                tenant, [one.id for one in graph.relationships], view=ALL, chunk_limit=1
            )
        } == {"x", "y"}
        assert len(chunk_id(SourceRef("document", "y" * 3900), "two", 0)) < 4000 < len(tenant) + len(hashed)

    async def test_chunks_of_the_same_text_in_two_sources_are_two(self, stores: Stores, tenant: TenantId) -> None:
        a, b = [await put(stores, tenant, name, ["same"]) for name in ("a.md", "b.md")]
        assert a != b
        assert chunk_of(doc("a.md"), "same") in a
        await stores.catalogue.put_sources(tenant, [source_write(doc("a.md"), ["same"])])
        await stores.graph.put_evidence(tenant, [says(*a, "Ada"), says(*b, "Ada")])
        await stores.graph.remove_chunks(tenant, a)
        assert [one.mentions for one in await stores.graph.entities(tenant, [ADA], view=ALL)] == [1]


class TestMemoryGraphStore(GraphStoreContract):
    @pytest.fixture
    def stores(self) -> Stores:
        return memory_stores()


@pytest.fixture(scope="module")
async def session(neo4j_server: Neo4jAddress) -> AsyncIterator[Neo4jSession]:
    async with neo4j_session(neo4j_server) as session:
        yield session


@pytest.mark.neo4j
class TestNeo4jGraphStore(GraphStoreContract):
    @pytest.fixture
    def stores(self, session: Neo4jSession) -> Stores:
        return neo4j_stores(session)
