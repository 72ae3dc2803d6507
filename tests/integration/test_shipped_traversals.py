"""Each shipped traversal over one graph of known content: its rows to the last value, and those of a reader."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass

import pytest
import pytest_asyncio

from knotwork.adapters.files.traversal_files import traversal_files
from knotwork.adapters.neo4j.statements import cypher_folder
from knotwork.adapters.neo4j.traversals import Neo4jTraversals
from knotwork.domain.ids import chunk_id
from knotwork.domain.model import EVERYONE, SourceRef, Subject
from knotwork.domain.retrieval import Reader
from knotwork.services.naming import Naming
from knotwork.services.traversals import Traversals
from support.stack import SentenceExtractor, Stack, Stores, open_stack

pytestmark = pytest.mark.neo4j

BOARD = "group:board"
SHIPPED = traversal_files(cypher_folder() / "traversals", is_shipped=True)
Rows = Sequence[Sequence[object]]


@dataclass(frozen=True, slots=True)
class Document:
    """A source of one chunk; `A verb B.` is a fact, and each capitalised word an entity."""

    text: str
    date: str | None = None
    subject: Subject = EVERYONE


DOCUMENTS = {
    "plan": Document("Checkout uses Ledger. Ledger needs Budget. Ana owns Checkout.", "2026-01-05"),
    "ops": Document("Ledger needs Budget. Portal needs Ledger. Ana owns Portal.", "2026-02-01"),
    "notes": Document("Ana and Zed went for a long walk."),
    "board": Document("Mole owns Budget. Ana pays Budget. Ana owns Portal. Yan spoke.", "2026-03-01", BOARD),
}
# Of another tenant: the same sources and names, and other facts.
OTHERS = {
    "plan": Document("Budget needs Checkout. Ledger owns Ana. Portal uses Budget. Zed spoke.", "2026-04-01"),
    "ops": Document("Ledger owns Budget. Ana needs Budget. Checkout owns Ledger. Ana spoke of Zed.", "2026-05-01"),
    "board": Document("Zed spoke with Ana.", "2026-06-01"),
}


@dataclass(frozen=True, slots=True)
class Example:
    """A traversal with its parameters, and what it answers."""

    name: str
    given: Mapping[str, object]
    open: Rows  # to a reader of what everyone may read
    whole: Rows  # to a reader of the board's too, and to a caller without subjects


def fact(text: str) -> str:
    a, type_, b = text.split()
    return f"thing:{a}|{type_}|thing:{b}"


def chunk(source: str) -> str:
    return chunk_id(SourceRef("document", source), DOCUMENTS[source].text, 0)


def said(description: str, *sources: str) -> dict[str, object]:
    return {"description": description, "chunks": len(sources), "chunk": min(map(chunk, sources))}


LEDGER_NEEDS_BUDGET = ["thing:ledger", "Ledger", "needs", "in", "Ledger needs Budget", 2]
BY_CHECKOUT = [fact("checkout uses ledger"), fact("ledger needs budget")]
BY_PORTAL = [fact("portal needs ledger"), fact("ledger needs budget")]
OF_CHECKOUT = ["thing:checkout", "Checkout", [fact("ana owns checkout")], [fact("checkout uses ledger")]]
OF_PORTAL = ["thing:portal", "Portal", [fact("ana owns portal")], [fact("portal needs ledger")]]
PORTAL_NEEDS_LEDGER = [fact("portal needs ledger"), ["Portal needs Ledger"], [chunk("ops")]]
TOLD_OF_ANA = [
    ["2026-01-05", "document", "plan", "", ["Ana owns Checkout"], [chunk("plan")]],
    ["2026-02-01", "document", "ops", "", ["Ana owns Portal"], [chunk("ops")]],
]
OF_OPS = [
    ["thing:ana", "Ana", 1],
    ["thing:budget", "Budget", 1],
    ["thing:ledger", "Ledger", 1],
    ["thing:portal", "Portal", 1],
]
BUDGET_SAID = [said("Ledger needs Budget", "plan", "ops"), said("Mole owns Budget", "board")]
LEDGER_SAID = [said("Checkout uses Ledger", "plan"), said("Ledger needs Budget", "ops")]
EXAMPLES = [
    Example(
        "neighbourhood",
        {"entity": "Budget"},
        [LEDGER_NEEDS_BUDGET],
        [
            LEDGER_NEEDS_BUDGET,
            ["thing:ana", "Ana", "pays", "in", "Ana pays Budget", 1],
            ["thing:mole", "Mole", "owns", "in", "Mole owns Budget", 1],
        ],
    ),
    Example(
        "neighbourhood",
        {"entity": "Portal"},
        [
            ["thing:ana", "Ana", "owns", "in", "Ana owns Portal", 1],
            ["thing:ledger", "Ledger", "needs", "out", "Portal needs Ledger", 1],
        ],
        [
            ["thing:ana", "Ana", "owns", "in", "Ana owns Portal", 2],
            ["thing:ledger", "Ledger", "needs", "out", "Portal needs Ledger", 1],
        ],
    ),
    Example(
        "shortest-paths",
        {"start": "ana", "goal": "budget"},
        [
            [
                3,
                ["thing:ana", "thing:checkout", "thing:ledger", "thing:budget"],
                [fact("ana owns checkout"), *BY_CHECKOUT],
            ],
            [3, ["thing:ana", "thing:portal", "thing:ledger", "thing:budget"], [fact("ana owns portal"), *BY_PORTAL]],
        ],
        [[1, ["thing:ana", "thing:budget"], [fact("ana pays budget")]]],
    ),
    Example(
        "common-neighbours",
        {"first": "Ana", "second": "Ledger"},
        [OF_CHECKOUT, OF_PORTAL],
        [
            ["thing:budget", "Budget", [fact("ana pays budget")], [fact("ledger needs budget")]],
            OF_CHECKOUT,
            OF_PORTAL,
        ],
    ),
    Example(
        "dependants",
        {"entity": "Budget", "types": ["needs", "uses", "pays"], "depth": "2"},
        [
            [1, "thing:ledger", "Ledger", [fact("ledger needs budget")]],
            [2, "thing:checkout", "Checkout", BY_CHECKOUT],
            [2, "thing:portal", "Portal", BY_PORTAL],
        ],
        [
            [1, "thing:ana", "Ana", [fact("ana pays budget")]],
            [1, "thing:ledger", "Ledger", [fact("ledger needs budget")]],
            [2, "thing:checkout", "Checkout", BY_CHECKOUT],
            [2, "thing:portal", "Portal", BY_PORTAL],
        ],
    ),
    Example(
        "most-central",
        {"type": "thing"},
        [
            ["thing:ledger", "Ledger", 3, 3],
            ["thing:ana", "Ana", 2, 2],
            ["thing:checkout", "Checkout", 2, 2],
            ["thing:portal", "Portal", 2, 2],
            ["thing:budget", "Budget", 1, 1],
        ],
        [
            ["thing:ana", "Ana", 3, 3],
            ["thing:budget", "Budget", 3, 3],
            ["thing:ledger", "Ledger", 3, 3],
            ["thing:checkout", "Checkout", 2, 2],
            ["thing:portal", "Portal", 2, 2],
            ["thing:mole", "Mole", 1, 1],
        ],
    ),
    Example(
        "source-entities",
        {"source_id": "ops"},
        OF_OPS,
        OF_OPS,
    ),
    Example(
        "source-entities",
        {"source_id": "board"},
        [],
        [
            ["thing:ana", "Ana", 1],
            ["thing:budget", "Budget", 1],
            ["thing:mole", "Mole", 1],
            ["thing:portal", "Portal", 1],
            ["thing:yan", "Yan", 1],
        ],
    ),
    Example(
        "similar-entities",
        {"entity": "Checkout"},
        [["thing:portal", "Portal", 2, 1.0], ["thing:budget", "Budget", 1, 0.5]],
        [["thing:portal", "Portal", 2, 1.0], ["thing:budget", "Budget", 2, 2 / 3]],
    ),
    Example("orphans", {}, [["thing:zed", "Zed", 1]], [["thing:yan", "Yan", 1], ["thing:zed", "Zed", 1]]),
    Example(
        "co-mentions",
        {"entity": "Ana"},
        [
            ["thing:budget", "Budget", 2, [chunk("ops"), chunk("plan")]],
            ["thing:ledger", "Ledger", 2, [chunk("ops"), chunk("plan")]],
            ["thing:zed", "Zed", 1, [chunk("notes")]],
        ],
        [
            ["thing:ledger", "Ledger", 2, [chunk("ops"), chunk("plan")]],
            ["thing:mole", "Mole", 1, [chunk("board")]],
            ["thing:yan", "Yan", 1, [chunk("board")]],
            ["thing:zed", "Zed", 1, [chunk("notes")]],
        ],
    ),
    Example(
        "only-source-says",
        {"source_id": "ops"},
        [[fact("ana owns portal"), ["Ana owns Portal"], [chunk("ops")]], PORTAL_NEEDS_LEDGER],
        [PORTAL_NEEDS_LEDGER],
    ),
    Example(
        "timeline",
        {"entity": "Ana"},
        [*TOLD_OF_ANA],
        [*TOLD_OF_ANA, ["2026-03-01", "document", "board", "", ["Ana owns Portal"], [chunk("board")]]],
    ),
    Example(
        "differing-descriptions",
        {},
        [
            [
                "thing:ana",
                "Ana",
                3,
                [
                    said("Ana and Zed went for a long walk", "notes"),
                    said("Ana owns Checkout", "plan"),
                    said("Ana owns Portal", "ops"),
                ],
            ],
            ["thing:ledger", "Ledger", 2, LEDGER_SAID],
        ],
        [
            [
                "thing:ana",
                "Ana",
                3,
                [
                    said("Ana and Zed went for a long walk", "notes"),
                    said("Ana owns Checkout", "plan"),
                    said("Ana owns Portal", "ops", "board"),
                ],
            ],
            ["thing:budget", "Budget", 2, BUDGET_SAID],
            ["thing:ledger", "Ledger", 2, LEDGER_SAID],
            ["thing:portal", "Portal", 2, [said("Ana owns Portal", "board"), said("Portal needs Ledger", "ops")]],
        ],
    ),
]
each = pytest.mark.parametrize("example", EXAMPLES, ids=[f"{one.name}-{number}" for number, one in enumerate(EXAMPLES)])


async def put(stack: Stack, documents: Mapping[str, Document]) -> None:
    await asyncio.gather(
        *(
            stack.put(id_, one.text, subjects=[one.subject], metadata={"date": one.date} if one.date else {})
            for id_, one in documents.items()
        )
    )


@pytest_asyncio.fixture(scope="module")
async def stack(stores: Stores) -> AsyncGenerator[Stack]:
    """The graph that each example is over."""
    async with open_stack(stores, SentenceExtractor()) as stack:
        await put(stack, DOCUMENTS)
        yield stack


@pytest_asyncio.fixture(scope="module", autouse=True)
async def other(stores: Stores) -> AsyncGenerator[Stack]:
    """Another tenant's, with the same names and sources."""
    async with open_stack(stores, SentenceExtractor()) as other:
        await put(other, OTHERS)
        yield other


@pytest_asyncio.fixture(scope="module")
async def shipped(stores: Stores, stack: Stack) -> Traversals:
    service = Traversals(Neo4jTraversals(stores.session), Naming(stack.graph), SHIPPED, max_rows=1000, timeout_s=10)
    await service.check()
    return service


async def rows(shipped: Traversals, reader: Reader, example: Example) -> Sequence[list[object]]:
    return [list(row) for row in (await shipped.run(reader, example.name, example.given))[1].rows]


def test_each_shipped_traversal_has_an_example() -> None:
    assert {one.name for one in EXAMPLES} == {file.name for file in SHIPPED}


@each
@pytest.mark.parametrize("subjects", [None, (EVERYONE, BOARD)])
async def test_a_shipped_traversal_answers_its_question(
    shipped: Traversals, stack: Stack, example: Example, subjects: tuple[Subject, ...] | None
) -> None:
    assert await rows(shipped, Reader(stack.tenant, subjects), example) == example.whole


@each
async def test_a_reader_is_answered_from_what_they_may_read(
    shipped: Traversals, stack: Stack, example: Example
) -> None:
    assert await rows(shipped, Reader(stack.tenant, (EVERYONE, "group:other")), example) == example.open


@each
async def test_the_same_names_in_another_tenant_have_an_answer_of_their_own(
    shipped: Traversals, other: Stack, example: Example
) -> None:
    """So that the examples above would show a traversal that reads beyond its tenant."""
    found = await rows(shipped, Reader(other.tenant), example)
    assert found
    assert found not in (example.open, example.whole)
