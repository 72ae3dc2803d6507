"""Paths over the real graph: hop by hop with the chunks that say so, as each reader may see it."""

from __future__ import annotations

import random
from collections.abc import AsyncGenerator, Sequence

import pytest
import pytest_asyncio

from knotwork.adapters.memory.models import ReplayExtractor
from knotwork.adapters.neo4j.graph_walk import Neo4jGraphWalk
from knotwork.domain.filters import parse_filter
from knotwork.domain.paths import Direction
from knotwork.domain.retrieval import Reader, RetrieveOptions
from knotwork.errors import AmbiguousName, InvalidInput, NotFound
from knotwork.ports.vector_store import View
from knotwork.services.naming import Naming
from knotwork.services.paths import HUB, PathFinder, Paths, Reach
from knotwork.services.paths_retriever import PathsRetriever
from support.stack import SentenceExtractor, Stack, Stores, open_stack

pytestmark = pytest.mark.neo4j

HOSTILE = ("'", '"', "(", "[", "~", "*", "\\", "a' OR 1=1", "{}", "😀", "\u202eא", "AND OR NOT", "`", "$x", "*:*")


class Walks:
    """One tenant, walked by its services."""

    def __init__(self, stack: Stack, stores: Stores) -> None:
        self.stack = stack
        self.finder = PathFinder(stack.graph, Neo4jGraphWalk(stores.session))
        self.naming = Naming(stack.graph)
        self.retriever = PathsRetriever(self.naming, self.finder, stack.vectors)

    async def between(self, *names: str, view: View = View(), **options: object) -> Paths:  # noqa: B008 - frozen
        reader = Reader(self.stack.tenant, view.subjects)
        ends = [await self.naming.entity(reader, name, view=view) for name in names]
        return await self.finder.between(reader, ends, view=view, **options)  # type: ignore[arg-type] - of the test

    async def reach(self, name: str, view: View = View(), **options: object) -> Reach:  # noqa: B008 - frozen
        reader = Reader(self.stack.tenant, view.subjects)
        entity = await self.naming.entity(reader, name, view=view)
        return await self.finder.reach(reader, entity, view=view, **options)  # type: ignore[arg-type] - of the test

    async def ask(self, question: str, subjects: tuple[str, ...] | None = None, top_k: int = 10) -> list[str]:
        passages = await self.retriever.retrieve(
            Reader(self.stack.tenant, subjects), question, RetrieveOptions(top_k=top_k)
        )
        return [passage.text for passage in passages]


@pytest_asyncio.fixture
async def walks(stores: Stores) -> AsyncGenerator[Walks]:
    async with open_stack(stores, SentenceExtractor()) as stack:
        yield Walks(stack, stores)


def lines(found: Paths) -> list[list[str]]:
    return [[hop.id for hop in path.hops] for path in found.paths]


def ids(*triples: str) -> list[str]:
    return ["|".join((f"thing:{a}", type_, f"thing:{b}")) for a, type_, b in (one.split() for one in triples)]


async def test_a_path_over_two_documents_is_found_with_both_chunks(walks: Walks) -> None:
    await walks.stack.put("one", "Anvil supports Beam.")
    await walks.stack.put("two", "Beam holds Crane.")
    found = await walks.between("Anvil", "crane")
    assert lines(found) == [ids("anvil supports beam", "beam holds crane")]
    assert [hop.description for hop in found.paths[0].hops] == ["Anvil supports Beam", "Beam holds Crane"]
    assert all(len(hop.chunks) == 1 for hop in found.paths[0].hops)
    assert (found.is_complete, [one.name for one in found.paths[0].entities]) == (True, ["Anvil", "Beam", "Crane"])
    assert sorted(await walks.ask("How is Anvil tied to Crane?")) == ["Anvil supports Beam.", "Beam holds Crane."]


async def test_two_names_that_only_share_a_chunk_have_no_path(walks: Walks) -> None:
    await walks.stack.put("one", "Anvil and Crane stood beside each other. Beam holds Dome. Ember heats Flint.")
    assert lines(await walks.between("Anvil", "Crane")) == []
    assert lines(await walks.between("Beam", "Ember", hops=6)) == []
    assert await walks.ask("How is Anvil tied to Crane?") == []
    assert await walks.ask("Nothing here is named.") == []


async def test_relationships_of_one_pair_are_several_paths_and_keep_their_direction(walks: Walks) -> None:
    await walks.stack.put("one", "Anvil founded Beam. Anvil sued Beam. Crane acquired Dome.")
    assert lines(await walks.between("Anvil", "Beam")) == [ids("anvil founded beam"), ids("anvil sued beam")]
    assert lines(await walks.between("Dome", "Crane")) == [ids("crane acquired dome")]
    assert lines(await walks.between("Dome", "Crane", direction=Direction.OUT)) == []
    assert lines(await walks.between("Crane", "Dome", direction=Direction.OUT)) == [ids("crane acquired dome")]


async def test_what_depends_on_a_thing_is_told_with_depths_and_counts(walks: Walks) -> None:
    await walks.stack.put(
        "one", "Beam needs Anvil. Crane needs Beam. Dome needs Crane. Anvil needs Ember. Flint likes Anvil."
    )
    found = await walks.reach("Anvil", types=["needs"], direction=Direction.IN, depth=5)
    assert [(one.depth, one.entity.name) for one in found.reached] == [(1, "Beam"), (2, "Crane"), (3, "Dome")]
    assert (found.counts, found.is_complete) == ({1: 1, 2: 1, 3: 1}, True)
    inverse = await walks.reach("Anvil", types=["needs"], direction=Direction.OUT)
    assert [one.entity.name for one in inverse.reached] == ["Ember"]
    assert [one.entity.name for one in (await walks.reach("Anvil", depth=1)).reached] == ["Beam", "Ember", "Flint"]
    for question in ("What needs, directly or not, Anvil?", "Who is needing Anvil"):
        texts = await walks.ask(question)
        assert texts
        assert all("Flint" not in text or "needs" in text for text in texts)


async def test_a_name_of_several_types_is_answered_with_the_candidates(stores: Stores) -> None:
    extractor = ReplayExtractor()
    for text, type_ in (("Jaguar runs.", "animal"), ("Jaguar drives.", "car")):
        entities = [{"name": "Jaguar", "type": type_}, {"name": "Speed", "type": "thing"}]
        extractor.answers[text] = {
            "entities": entities,
            "relationships": [{"from": "Jaguar", "type": "has", "to": "Speed"}],
        }
    async with open_stack(stores, extractor) as stack:
        walks = Walks(stack, stores)
        await stack.put("one", "Jaguar runs.")
        await stack.put("two", "Jaguar drives.", subjects=["group:cars"])
        with pytest.raises(AmbiguousName) as raised:
            await walks.between("jaguar", "Speed")
        assert [one["id"] for one in raised.value.candidates] == ["animal:jaguar", "car:jaguar"]
        with pytest.raises(AmbiguousName):
            await walks.ask("How is Jaguar tied to Speed?")
        assert lines(await walks.between("car:Jaguar", "Speed")) == [["car:jaguar|has|thing:speed"]]
        assert await walks.ask("How is the car Jaguar tied to Speed?") == ["Jaguar drives."]
        everyone = View(("*",))  # for a reader who sees one of them the name is not ambiguous
        assert lines(await walks.between("jaguar", "Speed", view=everyone)) == [["animal:jaguar|has|thing:speed"]]


async def test_names_and_bounds_of_no_use_are_refused(walks: Walks) -> None:
    await walks.stack.put("one", "Anvil supports Beam.")
    with pytest.raises(NotFound):
        await walks.between("Anvil", "nobody")
    for hops, count in ((0, 1), (7, 1), (3, 0), (3, 51)):
        with pytest.raises(InvalidInput):
            await walks.between("Anvil", "Beam", hops=hops, count=count)
    with pytest.raises(InvalidInput):
        await walks.between("Anvil", "anvil")
    for name in HOSTILE:
        with pytest.raises(NotFound):
            await walks.between("Anvil", name)
        assert await walks.ask(name) == []


async def test_a_hub_is_passed_and_not_walked_through(walks: Walks) -> None:
    names = [f"N{number}" for number in range(HUB + 20)]
    await walks.stack.put("crowd", "\n\n".join(f"Hub has {name}." for name in names))
    await walks.stack.put("ends", "Anvil joins Hub. Hub joins Beam. Queue has N7. Other has Queue.")
    found = await walks.between("Anvil", "Beam", hops=2)
    assert lines(found) == [ids("anvil joins hub", "hub joins beam")]
    beyond = await walks.between("Anvil", "Other", hops=4)  # through the hub and one of its many
    assert (lines(beyond), beyond.is_complete, beyond.hubs) == ([], False, ("thing:hub",))
    reach = await walks.reach("Hub", direction=Direction.OUT, depth=1, limit=50)
    assert (len(reach.reached), reach.counts, reach.is_complete) == (50, {1: HUB + 21}, False)


async def walked(walks: Walks, names: Sequence[str], view: View) -> list[object]:
    """Everything that paths and reach say of some names, but for the ids of tenants."""
    answers: list[object] = []
    for first in names:
        for second in names:
            try:
                answers.append(await walks.between(first, second, view=view, hops=4, count=4))
            except (NotFound, InvalidInput) as error:
                answers.append(str(error))
        try:
            answers.append(await walks.reach(first, view=view, types=["x", "y"], direction=Direction.OUT))
        except NotFound as error:
            answers.append(str(error))
    return answers


@pytest.mark.parametrize("seed", [1, 2])
async def test_a_reader_gets_the_paths_of_a_store_that_holds_only_what_they_see(stores: Stores, seed: int) -> None:
    """Rights by subject, and a filter: neither edges nor degrees nor descriptions may come from what they leave out."""
    chance = random.Random(seed)
    names = [f"E{number}" for number in range(7)]
    documents: list[tuple[str, str, str, int]] = []
    for number in range(9):
        pairs = [chance.sample(names, 2) for _ in range(3)]
        text = " ".join(f"{a} {chance.choice('xy')} {b}." for a, b in pairs)
        documents.append((f"doc{number}", text, chance.choice(["*", "group:a", "group:b"]), chance.choice([1, 2])))
    reader = ("*", "group:a")
    async with open_stack(stores, SentenceExtractor()) as whole, open_stack(stores, SentenceExtractor()) as part:
        for name, text, subject, year in documents:
            await whole.put(name, text, subjects=[subject], metadata={"year": year})
            if subject in reader:
                await part.put(name, text, subjects=[subject], metadata={"year": year})
        assert await walked(Walks(whole, stores), names[:4], View(reader)) == await walked(
            Walks(part, stores), names[:4], View()
        )
        narrow = parse_filter({"year": 1})
        assert await walked(Walks(whole, stores), names[:3], View(reader, narrow)) == await walked(
            Walks(part, stores), names[:3], View(None, narrow)
        )
