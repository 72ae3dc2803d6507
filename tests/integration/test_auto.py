"""Mode auto over the sample documents, with the packaged embedder and extractor."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import AsyncGenerator, Iterator
from pathlib import Path
from typing import Any, cast

import pytest
import pytest_asyncio
from pydantic import SecretStr

from knotwork.adapters.neo4j.embedded import Neo4jAddress
from knotwork.adapters.parsing.registry import parse_bytes
from knotwork.bootstrap import Platform, open_platform
from knotwork.config import Settings
from knotwork.domain.catalogue import TenantSettings
from knotwork.domain.model import EVERYONE, ParsedText, Source, SourceRef, TenantId
from knotwork.domain.retrieval import Mode, Reader, RetrievalResult, RetrieveOptions
from knotwork.services.auto_graph import mode_graph
from knotwork.skills import SkillContext
from support.command_line import SAMPLES

pytestmark = pytest.mark.neo4j

TENANT = TenantId("auto-samples")
DOCUMENTS = SAMPLES / "documents"


@pytest_asyncio.fixture(scope="module")
async def platform(neo4j_server: Neo4jAddress, tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[Platform]:
    settings = Settings(
        home=tmp_path_factory.mktemp("auto"),
        neo4j_uri=neo4j_server.bolt_uri,
        neo4j_password=SecretStr(neo4j_server.password),
        workers=1,
    )
    async with open_platform(settings) as opened:
        await opened.catalogue.put_tenant(TENANT, TenantSettings())
        await asyncio.gather(*(opened.intake.put(TENANT, *document) for document in documents()))
        await opened.intake.settle(TENANT)
        yield opened
        await opened.tenants.delete(TENANT)


def documents() -> Iterator[tuple[Source, ParsedText]]:
    for path in sorted(DOCUMENTS.rglob("*.*")):
        parsed, media_type = parse_bytes(path.read_bytes(), path.name)
        ref = SourceRef("document", path.relative_to(DOCUMENTS).as_posix())
        yield Source(ref, parsed.title or path.name, "", (EVERYONE,), {}, media_type), parsed


async def ask(platform: Platform, question: str, **options: Any) -> RetrievalResult:
    return await platform.retrieval.query(Reader(TENANT, (EVERYONE,)), question, Mode.AUTO, RetrieveOptions(**options))


def trace(result: RetrievalResult) -> dict[str, Any]:
    assert result.explanation is not None
    return cast("dict[str, Any]", result.explanation["auto"])


@pytest.mark.parametrize(
    ("question", "modes", "source"),
    [
        ("LGR-1207", ["keyword"], "services/ledger.md"),
        ("LGR-9999", ["keyword", "hybrid"], None),
        ("How is Checkout connected to Pelagia Cloud?", ["paths"], "services/ledger.md"),
        ("What does the data retention policy say about legal hold?", ["navigate"], "policies/data-retention.pdf"),
        ("Who is on call for the service that caused INC-2041?", ["local"], "incidents/inc-2041-postmortem.md"),
        ("Does the search forgive typing errors?", ["semantic"], "services/finder.md"),
        ("How is Wolverton connected to Zanzibar?", ["paths", "local"], None),
    ],
)
async def test_a_question_is_answered_by_the_mode_a_person_would_choose(
    platform: Platform, question: str, modes: list[str], source: str | None
) -> None:
    result = await ask(platform, question)
    told = trace(result)
    assert [step["mode"] for step in told["steps"]] == modes
    assert told["mode"] == modes[-1]
    assert result.passages
    if source:
        assert source in {passage.source.id for passage in result.passages if passage.source}
    assert result == await ask(platform, question), "answer, usage and trace"


@pytest.mark.parametrize(
    ("labels", "least"),
    [(SAMPLES / "questions.jsonl", 0.9), (SAMPLES.parent / "bench" / "routing_questions.jsonl", 0.9)],
    ids=["samples", "held-out"],
)
async def test_at_least_nine_in_ten_start_where_a_person_would(platform: Platform, labels: Path, least: float) -> None:
    rows = [json.loads(line) for line in labels.read_text(encoding="utf-8").splitlines()]  # noqa: ASYNC240 - a small file
    modes = [mode for mode in platform.retrieval.modes if mode is not Mode.AUTO]
    asked = [row for row in rows if row["mode"] in modes]
    graph = mode_graph(modes, platform.embedder)
    scored = [await graph.score_entries(SkillContext(row["question"])) for row in asked]
    hits = sum(one.chosen == row["mode"] for one, row in zip(scored, asked, strict=True))
    assert hits / len(asked) >= least
    assert max(Counter(row["mode"] for row in asked).values()) / len(asked) < least / 2, "no one mode would do"


async def test_the_answer_is_that_of_the_mode_chosen(platform: Platform) -> None:
    question = "Which services are affected if Skein stops?"
    alone = await platform.retrieval.query(Reader(TENANT, (EVERYONE,)), question, Mode.LOCAL, RetrieveOptions())
    result = await ask(platform, question)
    assert (result.passages, result.usage) == (alone.passages, alone.usage)
    explained = await ask(platform, question, explain=True)
    assert explained.explanation is not None
    assert {"auto", "seeds"} <= explained.explanation.keys()
