"""The world in which the law of the graph is tried: what two tenants hold, and a service that indexes it.

What a history has left is a `Holding` a tenant; a fresh index of it is the yardstick. The same service runs in the test
and in processes that are killed (support/law_process.py).
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, nullcontext
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise
from typing import Any, Literal, TypeVar, cast

from knotwork.adapters.memory.models import HashEmbedder
from knotwork.adapters.models.pooled_chunker import cut
from knotwork.adapters.neo4j.audit import Neo4jAudit
from knotwork.domain.catalogue import TenantSettings
from knotwork.domain.model import EVERYONE, Metadata, ParsedText, Source, SourceRef, Subject, TenantId
from knotwork.ports.models import Extraction, ExtractionInput
from knotwork.services.export import Exporter
from knotwork.services.model_change import ModelChange
from knotwork.services.model_in_use import EmbedderInUse
from knotwork.services.tenants import Tenants
from knotwork.services.verify import Verifier
from support.stack import CHUNK_TOKENS, MODELS, SentenceExtractor, Stack, Stores, Switchable, TextChunker, build_stack

Port = TypeVar("Port")
Key = tuple[str, str, str]  # model, title, text: all that an extractor sees

# Each about as long as a chunk, so that an edit moves boundaries; few names, so that documents share them.
PARAGRAPHS = (
    "Checkout calls Ledger. Every order of the shop goes this way, day and night, in each of the houses that we keep.",
    "Wallet calls Ledger. It does so for refunds only, which are few and far between in most weeks of the year.",
    "LEDGER stores Payments. Nobody reads them but those who keep the books of the shop and of the house.",
    "Ledger feeds Reports. Reports please Auditors. They are read on Mondays, when there is nothing else to do.",
    "Fraud blocks Orders. Checkout asks Fraud. What it blocks is looked at by people within the hour, or let go.",
    "Café calls Wallet. Café calls Ledger. The machine at the door has had a mind of its own since the spring.",
    "nothing here has a name, and so there is nothing that anybody could draw from it, however long they look.",
    "Checkout calls Ledger.",
    "Wallet trusts Checkout. Checkout trusts Wallet. Neither of them has ever had a reason to regret it so far.",
    "Ångström measures Light. Straße meets STRASSE. Of such words there are more than a keyboard of ours has keys.",
)
TITLES = ("", "Plan", "Ledger")
SUBJECTS: tuple[tuple[Subject, ...], ...] = ((EVERYONE,), ("user:ana",), ("group:sre", "user:ana"))
METADATA: tuple[Metadata, ...] = ({}, {"team": "sre", "n": 1}, {"team": ["web", "sre"], "n": [1, 2.5]})
FIVE = ("Ada", "Bob", "Cat", "Dee", "Eve")  # whom documents of several writers name
NAMES = ("a.md", "b/a.md", "😀 'x`.md", "d.md")


@dataclass(frozen=True, slots=True)
class Document:
    """A source as its owner wants it; paragraphs are places in PARAGRAPHS, or texts."""

    paragraphs: tuple[int | str, ...]
    title: str = ""
    subjects: tuple[Subject, ...] = (EVERYONE,)
    metadata: Metadata = field(default_factory=dict[str, Any])
    graph: bool | None = None

    def source(self, name: str) -> Source:
        return Source(SourceRef("document", name), self.title, "", self.subjects, self.metadata, graph=self.graph)

    @property
    def parsed(self) -> ParsedText:
        texts = (one if isinstance(one, str) else PARAGRAPHS[one] for one in self.paragraphs)
        return ParsedText("\n\n".join(texts), self.title)


def about_all_five(writer: int, version: int) -> Document:
    """Names the same five in three paragraphs, forwards or backwards, in words of the writer's own."""
    people = FIVE if writer % 2 else FIVE[::-1]
    facts = " ".join(f"{one} knows {other}." for one, other in pairwise(people))
    said = (f"{facts} So says writer {writer} in paragraph {paragraph}." for paragraph in (1, 2, version))
    return Document(tuple(said), title="Five", subjects=("user:ana",) if writer % 3 else ("*",))


@dataclass(slots=True)
class Holding:
    """What one tenant has: settings, and documents by name."""

    settings: TenantSettings
    documents: dict[str, Document] = field(default_factory=dict[str, Document])

    def keys(self, name: str) -> frozenset[Key]:
        """All that an extractor is shown of this document, as things now stand."""
        document = self.documents.get(name)
        if document is None or not self.settings.graph or document.graph is False:
            return frozenset()
        model = str(self.settings.extraction_model)
        return frozenset((model, document.title, text) for text in _chunk_texts(document.parsed))


@cache
def _chunk_texts(parsed: ParsedText) -> tuple[str, ...]:
    return tuple(chunk.text for chunk in cut(parsed, SourceRef("document", "any"), CHUNK_TOKENS, 0))


class ModelExtractor(SentenceExtractor):
    """What a model of this name reads. One whose name ends in an even number sees half of the relationships."""

    def __init__(self, model: str, note: Callable[[Key], None]) -> None:
        super().__init__(calls_model=True)
        self.id = f"replay/{model}"
        self._model, self._note = model, note

    async def extract(self, chunk: ExtractionInput) -> Extraction:
        self._note((self._model, chunk.title, chunk.text))
        extraction = await super().extract(chunk)
        if int(self._model[-1]) % 2:
            return extraction
        raw = cast("dict[str, list[dict[str, str]]]", extraction.raw)
        entities = [{**entity, "type": "part"} for entity in raw["entities"]]
        return Extraction({"entities": entities, "relationships": raw["relationships"][::2]})


class PerTenant(Switchable):
    """The extractor that a tenant's settings name; `failing` texts fail in all of them."""

    def __init__(self, note: Callable[[Key], None]) -> None:
        super().__init__(None)
        self._note = note
        self._extractors: dict[str, ModelExtractor] = {}
        self.failing: set[str] = set()

    @property
    def configured(self) -> bool:
        return True

    def for_tenant(self, settings: TenantSettings) -> ModelExtractor:
        model = str(settings.extraction_model)
        extractor = self._extractors.setdefault(model, ModelExtractor(model, self._note))
        extractor.faults.failing.clear()
        for text in self.failing:
            extractor.faults.fail(text)
        return extractor


class Mortal:
    """Stops a service in this process dead at one call of a port: from then on none of its calls comes through.

    The cheap equal of a kill: nothing is cleaned up, and what the stores acknowledged stays. Stores that lose what they
    had not flushed are tried with processes.
    """

    def __init__(self) -> None:
        self.dead = asyncio.Event()
        self._left = 0
        self._when = ""

    def arm(self, calls: int, when: Literal["before", "after"]) -> None:
        """Die at the `calls`-th call from now, before or after it."""
        self._left, self._when = calls, when

    def port(self, port: Port) -> Port:
        return cast("Port", _MortalPort(port, self))

    async def call(self, function: Any, args: tuple[object, ...], kwargs: dict[str, object]) -> object:
        if self.dead.is_set():
            raise asyncio.CancelledError
        self._left -= 1
        if self._left != 0:
            return await function(*args, **kwargs)
        if self._when == "after":
            await function(*args, **kwargs)
        self.dead.set()
        raise asyncio.CancelledError


class _MortalPort:
    def __init__(self, port: object, mortal: Mortal) -> None:
        self._port, self._mortal = port, mortal

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._port, name)
        if not inspect.iscoroutinefunction(value):
            return value

        async def call(*args: object, **kwargs: object) -> object:
            return await self._mortal.call(value, args, kwargs)

        return call


@dataclass(frozen=True, slots=True)
class Service:
    """One start of the platform's services, for these tenants."""

    tenants: Sequence[TenantId]
    stack: Stack
    extractors: PerTenant
    settings: Tenants
    exporter: Exporter
    verifier: Verifier
    embedders: Mapping[int, HashEmbedder]  # by version: the one that began, and those to change over to
    change_to: Callable[[int], ModelChange]  # this version of the embedder

    @property
    def embedder_calls(self) -> int:
        return sum(embedder.calls for embedder in self.embedders.values())

    async def start(self) -> None:
        """Take up what an earlier start left, as the platform does."""
        for tenant in self.tenants:
            await self.stack.sync.follow(tenant)
        await self.stack.intake.start()

    async def put(self, tenant: TenantId, name: str, document: Document) -> None:
        await self.stack.intake.put(tenant, document.source(name), document.parsed)

    async def settle(self) -> None:
        for tenant in self.tenants:
            await self.stack.intake.settle(tenant)

    async def export(self, tenant: TenantId) -> bytes:
        return b"".join([line async for line in self.exporter.export(tenant)])


def build_service(
    stores: Stores,
    tenants: Sequence[TenantId],
    extractors: PerTenant,
    *,
    wrap: Callable[[Any], Any] = lambda port: port,
    concurrency: int = 1,
) -> Service:
    """The services over these stores; `wrap` is put around every port that they write through."""
    embedders = {version: HashEmbedder(version=version) for version in MODELS}
    embedder = EmbedderInUse(embedders[stores.model])
    stack = build_stack(
        stores, tenants[0], None, wrap=wrap, extractors=extractors, concurrency=concurrency, in_use=embedder
    )
    catalogue, graph, vectors = stack.catalogue, stack.graph, stack.vectors
    exporter = Exporter(
        catalogue=catalogue,
        graph=graph,
        vectors=vectors,
        embedder=embedder,
        chunker=TextChunker(),
        hold=stack.intake.hold,
    )
    verifier = Verifier(
        catalogue=catalogue,
        graph=graph,
        audit=Neo4jAudit(stores.session),
        vectors=vectors,
        embedder=embedder,
        sync=stack.sync,
        hold=stack.intake.hold,
    )
    settings = Tenants(catalogue=wrap(catalogue), vectors=vectors, intake=stack.intake)

    @asynccontextmanager
    async def hold() -> AsyncGenerator[None]:
        """Of these tenants alone: what other tests left to a shared Neo4j need not end."""
        async with AsyncExitStack() as held:
            for tenant in tenants:
                await held.enter_async_context(stack.intake.hold(tenant))
            yield

    def change_to(version: int) -> ModelChange:
        return ModelChange(
            catalogue=wrap(catalogue),
            vectors=wrap(vectors),
            in_use=embedder,
            following=embedders[version],
            hold_all=hold,
            alone=nullcontext,
        )

    return Service(tenants, stack, extractors, settings, exporter, verifier, embedders, change_to)
