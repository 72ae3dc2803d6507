"""Indexing on the real stores: replace, prune, gates, and what each of them costs."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator

import pytest

from knotwork.domain.catalogue import AcceptedRun, ExtractionState, Run, RunKind, RunState, SourceChange, TenantSettings
from knotwork.domain.inputs import text_hash
from knotwork.domain.model import Contribution, ParsedText, Source, SourceRef, Usage
from knotwork.domain.retrieval import Mode, Reader, RetrieveOptions
from knotwork.errors import ModelFailed, ModelRefused, NotFound
from knotwork.ports.models import Extraction, ExtractionInput
from knotwork.ports.vector_store import Collection
from knotwork.run_ids import new_run_id
from support.stack import SentenceExtractor, Stack, Stores, TextChunker, open_stack

pytestmark = pytest.mark.neo4j

PARAGRAPHS = "\n\n".join(
    f"Checkout calls Ledger{number}. It does so many times a day, as every order of the shop needs it."
    for number in range(6)
)


@pytest.fixture
async def stack(stores: Stores) -> AsyncGenerator[Stack]:
    async with open_stack(stores, SentenceExtractor()) as stack:
        yield stack


def extractor_of(stack: Stack) -> SentenceExtractor:
    assert isinstance(stack.extractors.extractor, SentenceExtractor)
    return stack.extractors.extractor


async def test_a_source_becomes_chunks_entities_and_relationships(stack: Stack) -> None:
    result = await stack.put("a.md", "Checkout calls Ledger.")
    assert (result.written, result.removed, result.freshness_met) == (1, 0, True)
    graph = result.graph
    assert (graph.ran, graph.entities, graph.relationships, graph.pruned, graph.extraction_calls) == (True, 2, 1, 0, 1)
    exported = await stack.exported()
    assert [entity.id for entity in exported.entities] == ["thing:checkout", "thing:ledger"]
    assert [fact.id for fact in exported.relationships] == ["thing:checkout|calls|thing:ledger"]
    assert set(await stack.points(Collection.ENTITIES)) == {"thing:checkout", "thing:ledger"}
    assert set(await stack.points(Collection.RELATIONSHIPS)) == {"thing:checkout|calls|thing:ledger"}


async def test_the_same_again_changes_nothing_and_costs_no_model_call_and_no_write(stack: Stack) -> None:
    await stack.put("a.md", PARAGRAPHS)
    before = await stack.exported()
    embedded, extracted = stack.embedder.calls, extractor_of(stack).calls
    stack.calls.names.clear()
    result = await stack.put("a.md", PARAGRAPHS)
    assert (result.written, result.removed, result.batches) == (0, 0, 0)
    assert (result.graph.entities, result.graph.pruned, result.graph.extraction_calls) == (0, 0, 0)
    assert (stack.embedder.calls, extractor_of(stack).calls) == (embedded, extracted)
    writes = {
        "upsert",
        "set_payload",
        "delete",
        "flush",
        "put_sources",
        "put_evidence",
        "remove_evidence",
        "remove_chunks",
    }
    assert [name for name in stack.calls.names if name.split(".")[1] in writes] == []
    assert await stack.exported() == before


async def test_new_text_replaces_the_old_and_prunes_what_only_it_said(stack: Stack) -> None:
    await stack.put("a.md", "Checkout calls Ledger.")
    result = await stack.put("a.md", "Checkout calls Wallet.")
    assert (result.written, result.removed) == (1, 1)
    assert result.graph.pruned == 2  # Ledger and the relationship to it
    assert [entity.id for entity in (await stack.exported()).entities] == ["thing:checkout", "thing:wallet"]
    assert set(await stack.points(Collection.ENTITIES)) == {"thing:checkout", "thing:wallet"}
    for mode in (Mode.SEMANTIC, Mode.KEYWORD, Mode.HYBRID, Mode.LOCAL):
        assert all("Ledger" not in text for text in await texts(stack, "Ledger", mode)), mode


async def test_an_edit_costs_models_only_the_chunks_it_touches(stack: Stack) -> None:
    await stack.put("a.md", PARAGRAPHS)
    texts_before, calls_before = stack.embedder.texts, extractor_of(stack).calls
    result = await stack.put("a.md", PARAGRAPHS.replace("Ledger3", "Wallet"))
    assert result.written == result.removed <= 3
    assert extractor_of(stack).calls - calls_before == result.written
    # the new chunks, the new entity and the new relationship
    assert stack.embedder.texts - texts_before == result.written + 2


async def test_what_two_sources_share_outlives_one_of_them(stack: Stack) -> None:
    await stack.put("a.md", "Paris borders Seine.")
    await stack.put("b.md", "Paris hosts Louvre.")
    await stack.delete("a.md")
    exported = await stack.exported()
    assert [entity.id for entity in exported.entities] == ["thing:louvre", "thing:paris"]
    assert [fact.id for fact in exported.relationships] == ["thing:paris|hosts|thing:louvre"]
    assert await stack.catalogue.counts(stack.tenant) == {"sources": 1, "chunks": 1, "entities": 2, "relationships": 1}


async def test_equal_documents_keep_their_own_evidence_and_share_the_models_work(stack: Stack) -> None:
    await stack.put("a/readme.md", "Checkout calls Ledger.")
    embedded, extracted = stack.embedder.texts, extractor_of(stack).calls
    result = await stack.put("b/readme.md", "Checkout calls Ledger.")
    assert (result.graph.extraction_calls, extractor_of(stack).calls) == (0, extracted)
    assert stack.embedder.texts == embedded
    assert [fact.weight for fact in (await stack.exported()).relationships] == [2]
    await stack.delete("a/readme.md")
    assert [fact.weight for fact in (await stack.exported()).relationships] == [1]
    assert await stack.found("Ledger", Mode.LOCAL) == ["b/readme.md"]


async def test_an_emptied_source_loses_chunks_and_graph_and_says_so(stack: Stack) -> None:
    await stack.put("a.md", "Checkout calls Ledger.")
    result = await stack.put("a.md", "")
    assert (result.written, result.removed, result.graph.ran, result.graph.pruned) == (0, 1, True, 3)
    assert await stack.exported() == Contribution()
    assert await stack.points(Collection.CHUNKS) == await stack.points(Collection.ENTITIES) == {}


async def test_a_deleted_source_is_found_by_no_mode(stack: Stack) -> None:
    await stack.put("a.md", "Checkout calls Ledger.")
    await stack.put("b.md", "Warehouse ships Parcels.")
    await stack.delete("a.md")
    for mode in (Mode.SEMANTIC, Mode.KEYWORD, Mode.HYBRID, Mode.LOCAL):
        assert "a.md" not in await stack.found("Checkout calls Ledger", mode), mode
    with pytest.raises(NotFound):
        await stack.delete("a.md")


async def test_a_failed_chunk_stays_findable_is_counted_and_is_tried_again(stack: Stack) -> None:
    extractor_of(stack).faults.fail("Checkout calls Ledger.")
    result = await stack.put("a.md", "Checkout calls Ledger.")
    assert (result.graph.unusable_chunks, result.graph.failed_chunks, result.graph.extraction_calls) == (1, 1, 1)
    assert await stack.found("Ledger", Mode.SEMANTIC) == ["a.md"]
    extractor_of(stack).faults.failing.clear()
    again = await stack.put("a.md", "Checkout calls Ledger.")
    assert (again.graph.entities, again.graph.failed_chunks, again.graph.extraction_calls) == (2, 0, 1)


async def test_four_bad_answers_in_ten_documents_name_exactly_those_four(stack: Stack) -> None:
    bad: list[object] = [
        "prose, no JSON",
        None,
        42,
        {"entities": [{"name": 42}], "relationships": [{"from": "X", "to": "Y"}]},
    ]
    for number, answer in enumerate(bad):
        extractor_of(stack).answers[f"Bad{number} calls Ledger."] = answer
    texts = [f"Bad{number} calls Ledger." for number in range(4)] + [
        f"Good{number} calls Ledger." for number in range(6)
    ]
    results = await asyncio.gather(*(stack.put(f"{number}.md", text) for number, text in enumerate(texts)))
    assert [number for number, result in enumerate(results) if result.graph.unusable_chunks] == [0, 1, 2, 3]
    assert [result.graph.failed_chunks for result in results[:4]] == [1, 1, 1, 0]  # the last is well formed, only empty
    states = await stack.catalogue.states(stack.tenant, [SourceRef("document", "3.md")])
    assert [chunk.extraction_state for state in states.values() for chunk in state.chunks] == [ExtractionState.EMPTY]


async def test_a_run_that_fails_leaves_the_data_as_it_was(stack: Stack) -> None:
    await stack.put("a.md", "Checkout calls Ledger.")
    before, points = await stack.exported(), await stack.points(Collection.CHUNKS)
    new_text = PARAGRAPHS + "\n\nPoison stops Embedders."
    *_, last = await TextChunker().chunk(ParsedText(new_text), SourceRef("document", "new.md"))
    stack.embedder.faults.fail(last.text, ModelRefused("the endpoint does not like it"))
    for id_ in ("a.md", "new.md"):
        run = await stack.intake.put(stack.tenant, Source(SourceRef("document", id_), "", ""), ParsedText(new_text))
        over = await stack.intake.wait(stack.tenant, run.id)
        assert (over.state, over.error_code) == (RunState.FAILED, "model_refused")
    assert await stack.exported() == before
    assert await stack.points(Collection.CHUNKS) == points


async def test_a_source_whose_model_keeps_failing_ends_and_holds_up_no_other(stack: Stack) -> None:
    stack.embedder.faults.fail("Poison stops Embedders.", ModelFailed("the endpoint answers 500"))
    runs = [
        await stack.intake.put(stack.tenant, Source(SourceRef("document", id_), "", ""), ParsedText(text))
        for id_, text in (("bad.md", "Poison stops Embedders."), ("good.md", "Checkout calls Ledger."))
    ]
    bad, good = [await stack.intake.wait(stack.tenant, run.id) for run in runs]
    assert (bad.state, bad.error_code, good.state) == (RunState.FAILED, "model_failed", RunState.DONE)


async def test_without_an_extractor_nothing_of_the_graph_is_read_or_written(stack: Stack) -> None:
    stack.extractors.extractor = None
    result = await stack.put("a.md", "Checkout calls Ledger.")
    assert result.graph.ran is False
    assert [
        name for name in stack.calls.names if name.startswith("graph.") and not name.endswith("pending_syncs")
    ] == []
    assert "catalogue.tenant" not in stack.calls.names


async def test_a_switch_that_is_off_costs_one_read_and_never_asks_the_flag(stack: Stack) -> None:
    await stack.catalogue.put_tenant(stack.tenant, TenantSettings(graph=False))
    result = await stack.put("a.md", "Checkout calls Ledger.", graph=True)
    assert (result.graph.ran, extractor_of(stack).calls) == (False, 0)
    assert stack.calls.names.count("catalogue.tenant") == 1
    assert [
        name for name in stack.calls.names if name.startswith("graph.") and not name.endswith("pending_syncs")
    ] == []


async def test_turning_the_switch_off_removes_the_graph_and_on_brings_it_back_inert_flags_kept(stack: Stack) -> None:
    await stack.put("a.md", "Checkout calls Ledger.")
    await stack.put("b.md", "Warehouse ships Parcels.", graph=False)
    before = await stack.exported()
    await stack.catalogue.put_tenant(stack.tenant, TenantSettings(graph=False))
    assert await stack.intake.refresh(stack.tenant) == 2
    await stack.intake.settle(stack.tenant)
    assert await stack.exported() == Contribution()
    assert await stack.points(Collection.ENTITIES) == {}
    await stack.catalogue.put_tenant(stack.tenant, TenantSettings(graph=True))
    await stack.intake.refresh(stack.tenant)
    await stack.intake.settle(stack.tenant)
    assert await stack.exported() == before


async def test_a_flag_turned_off_removes_that_sources_graph_alone(stack: Stack) -> None:
    await stack.put("a.md", "Checkout calls Ledger.")
    await stack.put("b.md", "Checkout calls Wallet.")
    run = await stack.intake.update(stack.tenant, SourceRef("document", "a.md"), SourceChange(graph=False))
    result = await stack.finished(run)
    assert (result.graph.ran, result.graph.pruned) == (True, 2)
    assert [entity.id for entity in (await stack.exported()).entities] == ["thing:checkout", "thing:wallet"]


async def test_an_extractor_that_calls_a_model_reads_only_where_a_tenant_turned_it_on(stack: Stack) -> None:
    stack.extractors.extractor = SentenceExtractor(calls_model=True)
    assert (await stack.put("a.md", "Checkout calls Ledger.")).graph.ran is False
    await stack.catalogue.put_tenant(stack.tenant, TenantSettings(graph=True))
    assert (await stack.put("a.md", "Checkout calls Ledger.")).graph.entities == 2


async def test_another_extractor_replaces_the_evidence_of_the_first(stack: Stack) -> None:
    await stack.put("a.md", "Checkout calls Ledger.")
    second = SentenceExtractor(version=2)
    second.answers["Checkout calls Ledger."] = {"entities": [{"name": "Checkout", "type": "service"}]}
    stack.extractors.extractor = second
    result = await stack.put("a.md", "Checkout calls Ledger.")
    assert (result.written, result.graph.extraction_calls, result.graph.entities) == (0, 1, 1)
    assert [entity.id for entity in (await stack.exported()).entities] == ["service:checkout"]


async def test_readers_change_at_once_in_every_mode_without_a_model_call(stack: Stack) -> None:
    await stack.put("a.md", "Checkout calls Ledger.")
    embedded, extracted = stack.embedder.calls, extractor_of(stack).calls
    change = SourceChange(auth_subjects=("group:sre",))
    await stack.finished(await stack.intake.update(stack.tenant, SourceRef("document", "a.md"), change))
    assert (stack.embedder.calls, extractor_of(stack).calls) == (embedded, extracted)
    for mode in (Mode.SEMANTIC, Mode.KEYWORD, Mode.HYBRID, Mode.LOCAL):
        assert await stack.found("Ledger", mode, subjects=("*",)) == [], mode
        assert await stack.found("Ledger", mode, subjects=("*", "group:sre")) == ["a.md"], mode
    assert (await stack.points(Collection.ENTITIES))["thing:ledger"]["subjects"] == ["group:sre"]


async def test_six_puts_of_one_source_at_once_leave_the_last_accepted(stack: Stack) -> None:
    results = await asyncio.gather(*(stack.put("a.md", f"Checkout calls Ledger{number}.") for number in range(6)))
    assert len(results) == 6
    assert await stack.catalogue.counts(stack.tenant) == {"sources": 1, "chunks": 1, "entities": 2, "relationships": 1}
    assert [entity.id for entity in (await stack.exported()).entities] == ["thing:checkout", "thing:ledger5"]


async def test_runs_that_a_process_left_behind_are_taken_up_by_the_next(stack: Stack) -> None:
    await stack.intake.stop()
    source = SourceRef("document", "a.md")
    await stack.ledger.accept(stack.tenant, [left_behind(source, "Checkout calls Ledger.")])
    await stack.intake.start()
    await stack.intake.settle(stack.tenant)
    assert await stack.found("Ledger", Mode.LOCAL) == ["a.md"]


async def test_tokens_are_counted_and_an_absent_count_is_zero(stack: Stack) -> None:
    class Counting(SentenceExtractor):
        async def extract(self, chunk: ExtractionInput) -> Extraction:
            return Extraction((await super().extract(chunk)).raw, Usage(7, 3))

    stack.extractors.extractor = Counting()
    graph = (await stack.put("a.md", "Checkout calls Ledger.")).graph
    assert (graph.input_tokens, graph.output_tokens) == (7, 3)


def left_behind(ref: SourceRef, text: str) -> AcceptedRun:
    """A request that was recorded by a process that ended before it could carry it out."""
    parsed = ParsedText(text)
    source = Source(ref, "", text_hash(parsed), size_chars=len(text))
    return AcceptedRun(Run(new_run_id(), RunKind.INDEX, ref, accepted_at=time.time(), source=source), parsed)


async def texts(stack: Stack, query: str, mode: Mode) -> list[str]:
    result = await stack.retrieval.query(Reader(stack.tenant), query, mode, RetrieveOptions(top_k=20))
    return [passage.text for passage in result.passages]
