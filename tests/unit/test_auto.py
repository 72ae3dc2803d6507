"""Mode auto: the built-in graph, what it decides, its ceilings, and the trace that tells of it."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any, Literal, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knotwork.adapters.memory.models import HashEmbedder
from knotwork.domain.model import ChunkId, Passage, TenantId, Usage
from knotwork.domain.retrieval import Mode, Reader, RetrievalResult, RetrieveOptions
from knotwork.errors import AmbiguousName, InvalidInput, LimitReached, ModelFailed, PlatformError, StoreUnavailable
from knotwork.ports.models import Embeddings
from knotwork.services.auto import STEPS, AutoRetriever
from knotwork.services.auto_graph import ROUTES, TOOL, Came, came_of, mode_graph
from knotwork.services.auto_ways import WAYS
from knotwork.skills import SkillContext, ToolResult

READER = Reader(TenantId("acme"), None)
MODES = tuple(way.mode for way in WAYS)
PAGE = Path(__file__).parents[2] / "docs" / "guide" / "questions.md"


class Fixed:
    """A mode that answers with these texts, or fails, or hangs; `asked` counts."""

    def __init__(self, *texts: str, error: PlatformError | None = None, hangs: bool = False) -> None:
        self.texts, self.error, self.hangs, self.asked = texts, error, hangs, 0

    async def retrieve(self, reader: Reader, query: str, options: RetrieveOptions) -> Sequence[Passage]:
        return (await self.retrieve_with_usage(reader, query, options)).passages

    async def retrieve_with_usage(self, reader: Reader, query: str, options: RetrieveOptions) -> RetrievalResult:
        del reader, query, options
        self.asked += 1
        if self.hangs:
            await asyncio.Event().wait()
        if self.error:
            raise self.error
        passages = tuple(Passage(ChunkId(text), text, 1.0, None, {"title": ""}) for text in self.texts)
        return RetrievalResult(passages, Usage(10, 0))


class Plain:
    """A retriever of a user's own, with `retrieve` alone."""

    async def retrieve(self, reader: Reader, query: str, options: RetrieveOptions) -> Sequence[Passage]:
        del reader, query, options
        return [Passage(ChunkId("a"), "a", 1.0, None, {})]


def auto(modes: dict[Mode, Fixed], embedder: HashEmbedder | None = None, **options: Any) -> AutoRetriever:
    return AutoRetriever(modes, embedder or HashEmbedder(), **options)


def trace(result: RetrievalResult) -> dict[str, Any]:
    assert result.explanation is not None
    return cast("dict[str, Any]", result.explanation["auto"])


async def ask(retriever: AutoRetriever, question: str, **options: Any) -> RetrievalResult:
    return await retriever.retrieve_with_usage(READER, question, RetrieveOptions(**options))


def all_answer() -> dict[Mode, Fixed]:
    return {mode: Fixed(f"from {mode.value} about LGR-1207") for mode in MODES}


@pytest.mark.parametrize(
    ("question", "mode"),
    [
        ("LGR-1207", Mode.KEYWORD),
        ("What does LGR-1207 mean?", Mode.KEYWORD),
        ("How is Anvil connected to Crane?", Mode.PATHS),
        ("What does the travel policy say about hotels?", Mode.NAVIGATE),
        ("Who leads the team whose service stops Anvil?", Mode.LOCAL),
        ("Which teams depend on the crane?", Mode.LOCAL),
        ("What are the main themes of the incidents?", Mode.GLOBAL),
    ],
)
async def test_a_question_goes_to_the_mode_that_its_form_asks_for(question: str, mode: Mode) -> None:
    modes = all_answer()
    told = trace(await ask(auto(modes), question))
    assert told["mode"] == mode.value
    assert [step["mode"] for step in told["steps"]] == [mode.value]
    label = next(way.label for way in WAYS if way.mode is mode)
    assert told["why"] == f"entry {mode.value!r} was chosen for this turn ({label})"
    assert [one.asked for one in modes.values()] == [int(one is modes[mode]) for one in modes.values()]


async def test_where_cues_decide_the_embedder_is_not_asked_and_else_its_tokens_count() -> None:
    embedder = HashEmbedder()
    result = await ask(auto(all_answer(), embedder), "Which teams depend on the crane?")
    assert (embedder.calls, result.usage, result.asked) == (0, Usage(10, 0), (Mode.LOCAL,))
    retriever = auto(all_answer(), embedder)
    question = "What is allowed here?"
    first, again = await ask(retriever, question), await ask(retriever, question)
    assert first == again, "examples are embedded on nobody's account"
    assert first.usage == Usage(10 + len(question.split()), 0)
    assert first.asked[0] is Mode.AUTO


async def test_an_embedder_that_fails_leaves_the_choice_to_the_cues_and_the_trace_says_so() -> None:
    embedder = HashEmbedder()
    embedder.faults.fail("What is allowed here?")
    told = trace(await ask(auto(all_answer(), embedder), "What is allowed here?"))
    assert (told["mode"], told["scored_by"]) == ("semantic", "cues")
    assert told["fallback"]["from"] == f"cues+{embedder.id}"
    assert told["fallback"]["reason"].startswith("ModelFailed")


async def test_examples_are_embedded_anew_for_another_model() -> None:
    class Changing:
        """As `EmbedderInUse` while the model is changed."""

        def __init__(self) -> None:
            self.present = HashEmbedder(16)

        @property
        def id(self) -> str:
            return self.present.id

        @property
        def dimension(self) -> int:
            return self.present.dimension

        async def embed(self, texts: Sequence[str], *, purpose: Literal["passage", "query"] = "passage") -> Embeddings:
            return await self.present.embed(texts, purpose=purpose)

        async def close(self) -> None: ...

    embedder = Changing()
    retriever = AutoRetriever(all_answer(), embedder)
    await ask(retriever, "What is allowed here?")
    embedder.present = HashEmbedder(32)
    told = trace(await ask(retriever, "What is allowed here?"))
    assert told["scored_by"] == f"cues+{embedder.id}"


async def test_nothing_found_leads_to_the_next_mode_and_says_why() -> None:
    modes = {Mode.PATHS: Fixed(), Mode.LOCAL: Fixed("found"), Mode.HYBRID: Fixed("not asked")}
    result = await ask(auto(modes), "How is Anvil connected to Crane?")
    told = trace(result)
    assert [passage.text for passage in result.passages] == ["found"]
    assert told["mode"] == "local"
    assert told["why"] == "the route 'paths' → 'local' fired (no path between the names)"
    assert [(step["from"], step["mode"], step["passages"]) for step in told["steps"]] == [
        (None, "paths", 0),
        ("paths", "local", 1),
    ]
    assert result.usage == Usage(20, 0)
    assert result.asked == (Mode.PATHS, Mode.LOCAL)


async def test_a_code_that_stands_in_no_passage_is_looked_for_otherwise() -> None:
    modes = {Mode.KEYWORD: Fixed("of something else"), Mode.HYBRID: Fixed("b")}
    assert trace(await ask(auto(modes), "LGR-1207"))["mode"] == "hybrid"
    modes[Mode.KEYWORD] = Fixed("Error lgr-1207 means full.")
    assert trace(await ask(auto(modes), "LGR-1207"))["mode"] == "keyword"


async def test_of_several_names_one_that_no_passage_has_leads_to_local() -> None:
    modes = {Mode.HYBRID: Fixed("Anvil is old.", "Anvils are new."), Mode.LOCAL: Fixed("both")}
    told = trace(await ask(auto(modes), "Is Anvil older than Crane?"))
    assert told["why"] == "the route 'hybrid' → 'local' fired (one of several names is in no passage)"
    modes[Mode.HYBRID] = Fixed("Anvil is old.", "Crane is new.")
    assert trace(await ask(auto(modes), "Is Anvil older than Crane?"))["mode"] == "hybrid"


@pytest.mark.parametrize(
    "error", [StoreUnavailable("neo4j", "away"), AmbiguousName("x", []), LimitReached("slow"), ModelFailed("odd")]
)
async def test_a_mode_that_fails_gives_way_and_the_trace_names_its_error(error: PlatformError) -> None:
    modes = {Mode.LOCAL: Fixed(error=error), Mode.HYBRID: Fixed("found")}
    told = trace(await ask(auto(modes), "Which teams depend on the crane?"))
    assert told["mode"] == "hybrid"
    assert told["steps"][0]["error"] == {"code": error.code, "message": str(error)}


async def test_where_every_mode_fails_the_last_error_is_raised() -> None:
    modes = {Mode.LOCAL: Fixed(error=LimitReached("x")), Mode.HYBRID: Fixed(error=StoreUnavailable("qdrant", "away"))}
    with pytest.raises(StoreUnavailable):
        await ask(auto(modes), "Which teams depend on the crane?")


async def test_what_was_found_is_kept_when_a_later_mode_finds_nothing() -> None:
    modes = {Mode.HYBRID: Fixed("Anvil is old.", "And new."), Mode.LOCAL: Fixed()}
    result = await ask(auto(modes), "Is Anvil older than Crane?")
    assert (trace(result)["mode"], len(result.passages)) == ("hybrid", 2)
    assert [step["mode"] for step in trace(result)["steps"]] == ["hybrid", "local"]


async def test_time_ends_a_search_and_keeps_what_was_found() -> None:
    modes = {Mode.HYBRID: Fixed("Anvil is old."), Mode.LOCAL: Fixed(hangs=True)}
    told = trace(await ask(auto(modes, time_s=0.05), "Is Anvil older than Crane?"))
    assert (told["mode"], told["stopped_by"]) == ("hybrid", "time")
    with pytest.raises(LimitReached):
        await ask(auto({Mode.HYBRID: Fixed(hangs=True)}, time_s=0.05), "Is Anvil older than Crane?")


async def test_a_time_out_of_a_mode_itself_is_not_taken_for_the_ceiling() -> None:
    class Broken(Fixed):
        async def retrieve_with_usage(self, reader: Reader, query: str, options: RetrieveOptions) -> RetrievalResult:
            raise TimeoutError

    with pytest.raises(TimeoutError):
        await ask(auto({Mode.HYBRID: Broken()}), "Is Anvil older than Crane?")


async def test_steps_have_a_ceiling() -> None:
    modes = {mode: Fixed() for mode in MODES}
    told = trace(await ask(auto(modes, steps=2), "How is Anvil connected to Crane?"))
    assert (len(told["steps"]), told["stopped_by"]) == (2, "steps")


async def test_a_mode_alone_is_always_chosen() -> None:
    for mode in MODES:
        assert trace(await ask(auto({mode: Fixed("x")}), "Why?"))["mode"] == mode.value


async def test_a_retriever_of_a_users_own_needs_no_usage() -> None:
    result = await AutoRetriever({Mode.LOCAL: Plain()}, HashEmbedder()).retrieve_with_usage(
        READER, "Why?", RetrieveOptions()
    )
    assert len(result.passages) == 1


async def test_an_empty_question_is_refused() -> None:
    with pytest.raises(InvalidInput):
        await ask(auto(all_answer()), "  ")


questions = st.lists(
    st.sampled_from(
        [
            "who",
            "the team whose",
            "LGR-1207",
            "Anvil",
            "Crane",
            "connected",
            "how",
            "the policy",
            "main themes",
            "?",
            "苹果",
        ]
    ),
    min_size=1,
    max_size=8,
).map(" ".join)
behaviours = st.sampled_from(
    [
        (),
        ("about LGR-1207",),
        ("Anvil.", "Crane."),
        ("Anvil and Crane",),
        StoreUnavailable("neo4j", "away"),
        LimitReached("slow"),
    ]
)


@given(st.data())
async def test_whatever_comes_back_the_ceiling_holds_and_the_trace_names_every_search(data: st.DataObject) -> None:
    wired = data.draw(st.lists(st.sampled_from(MODES), min_size=1, unique=True))
    drawn = {mode: data.draw(behaviours) for mode in wired}
    question = data.draw(questions)

    async def once() -> tuple[RetrievalResult | str, list[Mode]]:
        modes = {
            mode: Fixed(error=one) if isinstance(one, PlatformError) else Fixed(*one) for mode, one in drawn.items()
        }
        try:
            found: RetrievalResult | str = await ask(auto(modes), question)
        except PlatformError as error:
            found = error.code
        asked = [mode for mode, one in modes.items() for _ in range(one.asked)]
        return found, asked

    found, asked = await once()
    assert (found, asked) == await once(), "equal questions over equal stores"
    assert len(asked) == len(set(asked)) <= STEPS
    if isinstance(found, str):
        assert all(isinstance(drawn[mode], PlatformError) for mode in asked)
        return
    told = trace(found)
    assert sorted(step["mode"] for step in told["steps"]) == sorted(mode.value for mode in asked)
    assert told["mode"] in {step["mode"] for step in told["steps"] if "error" not in step}
    assert sum(one["share"] for one in told["scores"]) == pytest.approx(1, abs=1e-3)
    assert all(step["why"] and step["edge"] for step in told["steps"])
    json.dumps(told)


def test_the_graph_of_any_modes_is_without_problems_and_reaches_each() -> None:
    for size in range(1, len(MODES) + 1):
        for modes in combinations(MODES, size):
            graph = mode_graph(modes, HashEmbedder())
            assert graph.checkup().problems == ()
            assert {skill.id for skill in graph.skills} == {mode.value for mode in modes}


def test_no_route_leads_to_a_mode_that_was_tried() -> None:
    graph = mode_graph(MODES, HashEmbedder())
    nothing = Came(0, tried=frozenset(mode.value for mode in MODES))
    for mode in MODES:
        ctx = SkillContext("Why?", 1, mode.value, ToolResult(TOOL, nothing))
        assert graph.next_skill(ctx) == mode.value
        fresh = Came(0, tried=frozenset({mode.value}))
        onward = next(end.value for start, end, _, holds in ROUTES if start is mode and holds(fresh))
        assert graph.next_skill(replace(ctx, last_tool_result=ToolResult(TOOL, fresh))) == onward


def test_what_came_back_is_read_from_passages_in_any_spelling() -> None:
    assert not came_of("Is Café Anvil older than Crane?", ["the CAFÉ ANVIL\nold", "crane\nnew"], tried=["hybrid"]).unmet
    assert came_of("Is Anvil older than Crane?", ["Anvil only"], tried=["hybrid"]).unmet
    assert not came_of("Is Anvil old?", ["nothing of it"], tried=["hybrid"]).unmet, "one name"
    assert came_of('"cold chain" log', ["a warm chain"], tried=[]).missing
    assert not came_of('"cold chain" log', ["the Cold  chain broke"], tried=[]).missing
    assert not came_of("words alone", ["another"], tried=[]).missing
    assert not came_of("LGR-1207", [f"{'filler ' * 200} (lgr-1207)."], tried=[]).missing, "however long a passage is"
    assert came_of("Is Anvil older than Crane?", ["x"] * 5 + ["Anvil", "Crane"], tried=[]).unmet, "beyond the best"


def test_the_drawing_in_the_guide_is_that_of_the_graph() -> None:
    drawn = re.findall(r"```mermaid\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert drawn == [mode_graph(MODES, HashEmbedder()).to_mermaid()]
