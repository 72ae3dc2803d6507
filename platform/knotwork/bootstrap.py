"""Builds the adapters from the settings and hands them to the services; nothing else knows both."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from urllib.parse import urlsplit

import structlog
from pydantic import SecretStr
from qdrant_client import AsyncQdrantClient

from knotwork.adapters.files.inbox import FileInbox
from knotwork.adapters.files.saved_queries import write_saved_queries
from knotwork.adapters.files.traversal_files import traversal_files
from knotwork.adapters.files.usage_journal import FileUsageJournal
from knotwork.adapters.models.extractors import EndpointExtractors, NoExtractors, OneExtractor
from knotwork.adapters.models.fastembed_embedder import FastembedEmbedder
from knotwork.adapters.models.http_reranker import HttpReranker
from knotwork.adapters.models.openai_chooser import OpenAIChooser
from knotwork.adapters.models.openai_embedder import OpenAIEmbedder
from knotwork.adapters.models.openai_http import OpenAIEndpoint
from knotwork.adapters.models.packaged_embedder import PackagedEmbedder
from knotwork.adapters.models.pooled_chunker import PooledChunker
from knotwork.adapters.models.pooled_extractor import PackagedExtractor
from knotwork.adapters.models.workers import WorkerPool
from knotwork.adapters.neo4j.audit import Neo4jAudit
from knotwork.adapters.neo4j.catalogue import Neo4jCatalogue
from knotwork.adapters.neo4j.compaction import Neo4jCompaction
from knotwork.adapters.neo4j.embedded import EmbeddedNeo4j
from knotwork.adapters.neo4j.graph_store import Neo4jGraphStore
from knotwork.adapters.neo4j.graph_walk import Neo4jGraphWalk
from knotwork.adapters.neo4j.keeper import Keeper
from knotwork.adapters.neo4j.keys import Neo4jKeyStore
from knotwork.adapters.neo4j.ledger import Neo4jLedger
from knotwork.adapters.neo4j.outlines import Neo4jOutlines
from knotwork.adapters.neo4j.session import Neo4jSession, open_driver
from knotwork.adapters.neo4j.skill_store import Neo4jSkillStore
from knotwork.adapters.neo4j.statements import cypher_folder
from knotwork.adapters.neo4j.traversals import Neo4jTraversals
from knotwork.adapters.neo4j.usage import Neo4jUsageStore
from knotwork.adapters.parsing.pooled_parser import PooledParser
from knotwork.adapters.qdrant.edge_store import EdgeVectorStore
from knotwork.adapters.qdrant.server_store import ServerVectorStore
from knotwork.config import EmbedderSettings, Settings
from knotwork.domain.catalogue import TenantSettings
from knotwork.domain.model import TenantId
from knotwork.domain.retrieval import Mode
from knotwork.errors import SetupFailed, UnknownTenant
from knotwork.ports.catalogue import Catalogue
from knotwork.ports.chooser import Chooser
from knotwork.ports.compaction import Compactable
from knotwork.ports.graph_store import GraphStore
from knotwork.ports.keys import KeyStore
from knotwork.ports.ledger import Ledger
from knotwork.ports.models import Embedder, Extractor
from knotwork.ports.parser import Parser
from knotwork.ports.reranker import Reranker
from knotwork.ports.retriever import Retriever
from knotwork.ports.vector_store import VectorStore
from knotwork.services.access import Access
from knotwork.services.auto import AutoRetriever
from knotwork.services.citations import Citations
from knotwork.services.compact import Compaction
from knotwork.services.exploration import Exploration
from knotwork.services.export import Exporter
from knotwork.services.extract import Extractors, GraphBuilder
from knotwork.services.health import Health
from knotwork.services.index import Indexer
from knotwork.services.intake import Intake
from knotwork.services.local import LocalRetriever
from knotwork.services.maintenance import Maintenance, OperationKind
from knotwork.services.metered import MeteredRetrieval
from knotwork.services.model_change import ModelChange
from knotwork.services.model_in_use import EmbedderInUse
from knotwork.services.naming import Naming
from knotwork.services.navigate import LexicalChooser, NavigateRetriever
from knotwork.services.paths import PathFinder
from knotwork.services.paths_retriever import PathsRetriever
from knotwork.services.refine import Refinement
from knotwork.services.repair import Repairer
from knotwork.services.restore import Importer
from knotwork.services.retrieve import HybridRetriever, KeywordRetriever, Retrieval, SemanticRetriever
from knotwork.services.skill_graphs import SkillGraphs
from knotwork.services.sources import Sources
from knotwork.services.tenants import Tenants
from knotwork.services.traversals import Traversals
from knotwork.services.upkeep import Upkeep
from knotwork.services.usage import UsageMeter
from knotwork.services.vector_sync import VectorSync
from knotwork.services.verify import Verifier

log = structlog.get_logger()

PARSE_TIMEOUT_S = 300.0  # one document; 50 MB of PDF were read in less

SKILLS_TIMEOUT_S = 10.0  # one evaluation of a skill graph; 5,000 skills with a pattern each need 1.2 s of a core
SKILLS_MEMORY_BYTES = 1 << 30  # address space of a process that evaluates them

QUERY_ATTEMPTS = 2  # at a model's answer while somebody waits for it
QUERY_CONCURRENCY = 16  # requests to such a model at once; further ones wait for their turn

DEFAULT_TENANT = TenantId("default")

OnProgress = Callable[[int, int, str], None]  # done, total, what is under way


@dataclass(frozen=True, slots=True)
class Browser:
    """Where Neo4j Browser is and how to log in; the password is in a file that its owner alone can read."""

    url: str
    bolt_uri: str
    user: str
    pid: int
    log: str


@dataclass(frozen=True, slots=True)
class Platform:
    """Everything that runs, by its port or service."""

    settings: Settings
    catalogue: Catalogue
    ledger: Ledger
    graph: GraphStore
    vectors: VectorStore
    keys: KeyStore
    embedder: Embedder
    pool: WorkerPool
    intake: Intake
    retrieval: Retrieval
    meter: UsageMeter
    sync: VectorSync
    parser: Parser
    access: Access
    tenants: Tenants
    sources: Sources
    upkeep: Upkeep
    citations: Citations
    exploration: Exploration
    naming: Naming
    paths: PathFinder
    traversals: Traversals
    health: Health
    skill_graphs: SkillGraphs
    exporter: Exporter
    importer: Importer
    verifier: Verifier
    repairer: Repairer
    compaction: Compaction
    maintenance: Maintenance
    browser: Browser | None  # None: your own Neo4j, which has its own
    extractor: str  # what reads chunks: an id, or `none`


@dataclass(frozen=True, slots=True)
class Models:
    """Models given by the caller instead of those that the settings name; `extractor` None builds no graph."""

    embedder: Embedder | None  # None: that of the settings
    extractor: Extractor | None
    next_embedder: Embedder | None = None  # to change over to


@asynccontextmanager
async def open_platform(
    settings: Settings, on_progress: OnProgress | None = None, *, models: Models | None = None
) -> AsyncGenerator[Platform]:
    """Start everything that the settings ask for; leaving the block stops it in order.

    Raises:
        SetupFailed: something cannot be started; the message says what to do.
        DimensionMismatch: the embedder differs from the one that filled the vector store.
    """
    async with AsyncExitStack() as stack:
        pool = WorkerPool(settings.workers)
        stack.push_async_callback(pool.close)
        parsing = WorkerPool(1)  # of its own: a slow document delays documents, never an embedding
        stack.push_async_callback(parsing.close)
        routing = WorkerPool(2, memory_bytes=SKILLS_MEMORY_BYTES)  # two: a runaway expression leaves one to the others
        stack.push_async_callback(routing.close)
        chooser, reranker = _chooser(settings, stack), _reranker(settings, stack)
        vectors = await _vector_store(settings, stack)
        present, following = await _embedders(settings, models, pool, vectors, stack)
        embedder = EmbedderInUse(present)
        await vectors.prepare(model=embedder.id, dimension=embedder.dimension)
        if following is None or following is present:  # what was begun for another model is not gone on with
            await vectors.drop_successor()
        session, browser, compactable, keeper = await _neo4j(settings, stack, on_progress)
        await session.apply_schema()
        catalogue, ledger = Neo4jCatalogue(session), Neo4jLedger(session)
        graph = Neo4jGraphStore(session)
        sync = VectorSync(graph, vectors, embedder)
        extractors, extractor = _given(models) if models else await _extractors(settings, pool, stack)
        chunker = PooledChunker(pool, max_tokens=settings.chunk_tokens, overlap_tokens=settings.chunk_overlap)
        graph_builder = GraphBuilder(
            catalogue=catalogue,
            graph=graph,
            extractors=extractors,
            sync=sync,
            concurrency=settings.extraction_concurrency,
        )
        indexer = Indexer(
            catalogue=catalogue,
            ledger=ledger,
            graph=graph,
            vectors=vectors,
            embedder=embedder,
            chunker=chunker,
            graph_builder=graph_builder,
            sync=sync,
            freshness_target_s=settings.freshness_target_s,
        )
        known = await _known_tenants(catalogue, vectors, sync)
        keys = Neo4jKeyStore(session)
        access = Access(keys)
        if settings.first_key is not None:
            await access.adopt_first(DEFAULT_TENANT, settings.first_key.get_secret_value())
        intake = Intake(catalogue=catalogue, ledger=ledger, indexer=indexer, inbox=await _inbox(settings))
        stack.push_async_callback(intake.stop)
        if unfinished := await intake.start():
            log.info("runs_taken_up", runs=unfinished)
        meter = await _meter(settings, session, stack)
        maintenance = Maintenance()
        stack.push_async_callback(maintenance.stop)
        change: ModelChange | None = None
        if following:
            change = ModelChange(
                catalogue=catalogue,
                vectors=vectors,
                in_use=embedder,
                following=following,
                hold_all=intake.hold_all,
                alone=lambda: maintenance.alone(OperationKind.CHANGE_MODEL, None),
            )
            changing = asyncio.create_task(change.run())
            stack.push_async_callback(_end, changing)
        exporter = Exporter(
            catalogue=catalogue, graph=graph, vectors=vectors, embedder=embedder, chunker=chunker, hold=intake.hold
        )
        audit = Neo4jAudit(session)
        verifier = Verifier(
            catalogue=catalogue,
            graph=graph,
            audit=audit,
            vectors=vectors,
            embedder=embedder,
            sync=sync,
            hold=intake.hold,
        )
        tenants = Tenants(catalogue=catalogue, vectors=vectors, intake=intake, on_gone=meter.forget)
        tenants.know(known)
        naming, paths = Naming(graph), PathFinder(graph, Neo4jGraphWalk(session))
        traversals = await _traversals(settings, session, naming, has_browser=browser is not None)
        retrieval = MeteredRetrieval(
            _with_auto(
                {
                    Mode.SEMANTIC: SemanticRetriever(vectors, embedder),
                    Mode.KEYWORD: KeywordRetriever(vectors),
                    Mode.HYBRID: HybridRetriever(vectors, embedder),
                    Mode.LOCAL: _warming(LocalRetriever(graph, vectors, embedder), stack),
                    Mode.NAVIGATE: NavigateRetriever(
                        Neo4jOutlines(session),
                        vectors,
                        chooser,
                        documents=settings.navigate_documents,
                        chunks=settings.navigate_chunks,
                    ),
                    Mode.PATHS: PathsRetriever(naming, paths, vectors),
                },
                embedder,
            ),
            meter=meter,
            models={
                Mode.SEMANTIC: embedder,
                Mode.HYBRID: embedder,
                Mode.LOCAL: embedder,
                Mode.NAVIGATE: chooser,
                Mode.AUTO: embedder,
            },
            steady=embedder.steady,
            refinement=Refinement(vectors, reranker),
        )
        yield Platform(
            settings=settings,
            catalogue=catalogue,
            ledger=ledger,
            graph=graph,
            vectors=vectors,
            keys=keys,
            embedder=embedder,
            pool=pool,
            intake=intake,
            retrieval=retrieval,
            meter=meter,
            sync=sync,
            parser=PooledParser(parsing, timeout_s=PARSE_TIMEOUT_S),
            access=access,
            tenants=tenants,
            sources=Sources(catalogue=catalogue, ledger=ledger, intake=intake),
            upkeep=Upkeep(
                catalogue=catalogue,
                intake=intake,
                chunker=chunker,
                embedder=embedder,
                graph_builder=graph_builder,
            ),
            citations=Citations(catalogue=catalogue, vectors=vectors),
            exploration=Exploration(graph),
            naming=naming,
            paths=paths,
            traversals=traversals,
            health=Health(
                catalogue=catalogue,
                vectors=vectors,
                models=lambda: _models_in_words(embedder, change, extractor),
                trouble=lambda: keeper.trouble if keeper else None,
            ),
            skill_graphs=SkillGraphs(
                store=Neo4jSkillStore(session), pool=routing, embedder=embedder, timeout_s=SKILLS_TIMEOUT_S
            ),
            exporter=exporter,
            importer=Importer(
                catalogue=catalogue,
                graph=graph,
                vectors=vectors,
                embedder=embedder,
                chunker=chunker,
                sync=sync,
                exporter=exporter,
                hold=intake.hold,
            ),
            verifier=verifier,
            repairer=Repairer(
                catalogue=catalogue,
                audit=audit,
                vectors=vectors,
                embedder=embedder,
                sync=sync,
                intake=intake,
                verifier=verifier,
            ),
            compaction=Compaction(
                intake=intake,
                stores=[*_compactable(vectors), *compactable],
                holds=[meter.hold, *([change.hold] if change else [])],
            ),
            maintenance=maintenance,
            browser=browser,
            extractor=extractor,
        )


def _given(models: Models) -> tuple[Extractors, str]:
    if models.extractor is None:
        return NoExtractors(), "none"
    return OneExtractor(models.extractor), models.extractor.id


async def _embedders(
    settings: Settings, models: Models | None, pool: WorkerPool, vectors: VectorStore, stack: AsyncExitStack
) -> tuple[Embedder, Embedder | None]:
    """The embedder whose vectors are stored, and the one to change over to (None: no change is asked for).

    After a change the settings may go on naming the former one as the present: what is stored decides.
    """
    configured = (models and models.embedder) or _embedder(settings, settings.embedding, pool, stack)
    wanted = settings.next_embedding
    following = (models and models.next_embedder) or (wanted and _embedder(settings, wanted, pool, stack)) or None
    if following and await vectors.holds(model=following.id, dimension=following.dimension):
        return following, following
    return configured, following


@asynccontextmanager
async def open_embedder(settings: Settings) -> AsyncGenerator[Embedder]:
    """The configured embedder alone, for what needs no store.

    Raises:
        SetupFailed: the settings do not name one whole.
    """
    async with AsyncExitStack() as stack:
        pool = WorkerPool(1)
        stack.push_async_callback(pool.close)
        yield _embedder(settings, settings.embedding, pool, stack)


def _embedder(settings: Settings, wanted: EmbedderSettings, pool: WorkerPool, stack: AsyncExitStack) -> Embedder:
    if wanted.kind == "packaged":
        embedder: Embedder = PackagedEmbedder(pool)
        stack.push_async_callback(embedder.close)
        return embedder
    if not wanted.model or not wanted.dimension:
        raise SetupFailed(
            f"{wanted.prefix}EMBEDDER is {wanted.kind}; set {wanted.prefix}EMBEDDING_MODEL and "
            f"{wanted.prefix}EMBEDDING_DIMENSION too"
        )
    if wanted.kind == "fastembed":
        embedder = FastembedEmbedder(wanted.model, dimension=wanted.dimension)
        stack.push_async_callback(embedder.close)
        return embedder
    if wanted.url is None:
        raise SetupFailed(f"{wanted.prefix}EMBEDDER is openai; set {wanted.prefix}EMBEDDING_URL too")
    endpoint = _endpoint(settings, wanted.url, wanted.api_key)
    stack.push_async_callback(endpoint.close)
    return OpenAIEmbedder(
        endpoint,
        model=wanted.model,
        dimension=wanted.dimension,
        batch=settings.embedding_batch,
    )


def _models_in_words(embedder: Embedder, change: ModelChange | None, extractor: str) -> str:
    progress = change.progress if change else None
    changing = f" (changing to {progress.model}: {progress.done:,} of {progress.total:,} points)" if progress else ""
    if change and change.trouble:
        changing += f" (the change does not go on: {change.trouble})"
    return f"embedder {embedder.id}{changing}, extractor {extractor}"


async def _vector_store(settings: Settings, stack: AsyncExitStack) -> VectorStore:
    if settings.qdrant_url:
        key = settings.qdrant_api_key.get_secret_value() if settings.qdrant_api_key else None
        store: VectorStore = ServerVectorStore(AsyncQdrantClient(url=settings.qdrant_url, api_key=key))
    else:
        store = EdgeVectorStore(settings.home / "qdrant")
        await store.open()
    stack.push_async_callback(store.close)
    return store


async def _neo4j(
    settings: Settings, stack: AsyncExitStack, on_progress: OnProgress | None
) -> tuple[Neo4jSession, Browser | None, list[Compactable], Keeper | None]:
    if settings.neo4j_uri:
        if settings.neo4j_password is None:
            raise SetupFailed("KNOTWORK_NEO4J_URI is set; set KNOTWORK_NEO4J_PASSWORD too")
        driver = open_driver(settings.neo4j_uri, settings.neo4j_user, settings.neo4j_password.get_secret_value())
        stack.push_async_callback(driver.close)
        return Neo4jSession(driver, database=settings.neo4j_database), None, [], None
    server = EmbeddedNeo4j(
        settings.home, settings.neo4j_cache, settings.neo4j_heap_mb, on_progress, settings.neo4j_java_options
    )
    address = await server.start()
    stack.push_async_callback(server.stop)
    keeper = Keeper(server.is_gone, server.restart)
    keeping = asyncio.create_task(keeper.run())
    stack.push_async_callback(_end, keeping)
    driver = open_driver(address.bolt_uri, address.user, address.password)
    stack.push_async_callback(driver.close)
    browser = Browser(
        f"{address.http_url}/browser/", address.bolt_uri, address.user, address.pid, str(address.log_path)
    )
    session = Neo4jSession(driver)
    return session, browser, [Neo4jCompaction(server, session)], keeper


async def _traversals(settings: Settings, session: Neo4jSession, naming: Naming, *, has_browser: bool) -> Traversals:
    """The shipped traversals and those of the user's folder, each checked."""
    files = traversal_files(cypher_folder() / "traversals", is_shipped=True)
    files += traversal_files(settings.traversals or settings.home / "traversals", is_shipped=False)
    traversals = Traversals(
        Neo4jTraversals(session), naming, files, max_rows=settings.traversal_rows, timeout_s=settings.traversal_s
    )
    await traversals.check()
    if has_browser:  # its users import these
        shipped = (cypher_folder() / "browser").glob("*.cypher")
        queries = {path.stem: path.read_text(encoding="utf-8") for path in shipped}
        write_saved_queries(settings.home / "browser", queries | traversals.saved_queries(DEFAULT_TENANT))
    return traversals


async def _inbox(settings: Settings) -> FileInbox | None:
    """Where requests wait while Neo4j is away; None: a home that may not last keeps nothing."""
    if not _keeps(settings):
        return None
    inbox = FileInbox(settings.home / "inbox")
    await inbox.open()
    return inbox


def _keeps(settings: Settings) -> bool:
    """Whether the home keeps what cannot be written while Neo4j is away."""
    return not (settings.neo4j_uri and settings.qdrant_url) if settings.inbox is None else settings.inbox


async def _meter(settings: Settings, session: Neo4jSession, stack: AsyncExitStack) -> UsageMeter:
    """The meter of usage, counting."""
    journal = FileUsageJournal(settings.home / "usage.json") if _keeps(settings) else None
    meter = UsageMeter(Neo4jUsageStore(session), journal=journal, keep_days=settings.usage_days)
    stack.push_async_callback(meter.stop)
    await meter.start()
    return meter


def _warming(local: LocalRetriever, stack: AsyncExitStack) -> LocalRetriever:
    """The retriever, warmed up in the background, so that neither the start nor the first question waits for it."""
    stack.push_async_callback(_end, asyncio.create_task(local.warm_up(DEFAULT_TENANT)))
    return local


def _with_auto(modes: dict[Mode, Retriever], embedder: Embedder) -> dict[Mode, Retriever]:
    """The modes, and auto, which routes among them."""
    return {**modes, Mode.AUTO: AutoRetriever(modes, embedder)}


async def _end(task: asyncio.Task[None]) -> None:
    task.cancel()
    await asyncio.wait({task})


def _compactable(vectors: VectorStore) -> list[Compactable]:
    return [vectors] if isinstance(vectors, EdgeVectorStore) else []


async def _extractors(settings: Settings, pool: WorkerPool, stack: AsyncExitStack) -> tuple[Extractors, str]:
    if settings.extractor == "none":
        return NoExtractors(), "none"
    if settings.extractor == "packaged":
        extractor = await PackagedExtractor.start(pool, timeout_s=settings.model_timeout_s)
        return OneExtractor(extractor), extractor.id
    if not settings.extraction_url or not settings.extraction_model:
        raise SetupFailed("KNOTWORK_EXTRACTOR is openai; set KNOTWORK_EXTRACTION_URL and KNOTWORK_EXTRACTION_MODEL too")
    endpoint = _endpoint(settings, settings.extraction_url, settings.extraction_api_key)
    stack.push_async_callback(endpoint.close)
    extractors = EndpointExtractors(endpoint, model=settings.extraction_model)
    return extractors, extractors.for_tenant(TenantSettings()).id


def _chooser(settings: Settings, stack: AsyncExitStack) -> Chooser:
    if settings.chooser == "lexical":
        return LexicalChooser()
    if not settings.chooser_url or not settings.chooser_model:
        raise SetupFailed("KNOTWORK_CHOOSER is openai; set KNOTWORK_CHOOSER_URL and KNOTWORK_CHOOSER_MODEL too")
    endpoint = _query_endpoint(settings, settings.chooser_url, settings.chooser_api_key)
    stack.push_async_callback(endpoint.close)
    return OpenAIChooser(endpoint, model=settings.chooser_model)


def _reranker(settings: Settings, stack: AsyncExitStack) -> Reranker | None:
    if not settings.rerank_url:
        return None
    base, _, path = settings.rerank_url.rstrip("/").rpartition("/")
    if not urlsplit(base).hostname:
        raise SetupFailed("KNOTWORK_RERANK_URL: give the whole URL of the endpoint, as http://127.0.0.1:8080/rerank")
    endpoint = _query_endpoint(settings, base, settings.rerank_api_key)
    stack.push_async_callback(endpoint.close)
    return HttpReranker(endpoint, path=path, model=settings.rerank_model)


def _query_endpoint(settings: Settings, url: str, key: SecretStr | None) -> OpenAIEndpoint:
    """An endpoint that somebody waits for."""
    return OpenAIEndpoint(
        url,
        api_key=key.get_secret_value() if key else None,
        timeout_s=settings.query_model_timeout_s,
        attempts=QUERY_ATTEMPTS,
        concurrency=QUERY_CONCURRENCY,
    )


def _endpoint(settings: Settings, url: str, key: SecretStr | None) -> OpenAIEndpoint:
    return OpenAIEndpoint(
        url,
        api_key=key.get_secret_value() if key else None,
        timeout_s=settings.model_timeout_s,
        attempts=settings.model_attempts,
        concurrency=max(settings.extraction_concurrency, 4),
    )


async def _known_tenants(catalogue: Catalogue, vectors: VectorStore, sync: VectorSync) -> list[TenantId]:
    """All tenants, the default one with them; what an earlier process left when it was killed is done."""
    try:
        await catalogue.tenant(DEFAULT_TENANT)
    except UnknownTenant:
        await vectors.drop_tenant(DEFAULT_TENANT)  # what its deletion left if it was killed
        await catalogue.delete_tenant(DEFAULT_TENANT)
        await catalogue.put_tenant(DEFAULT_TENANT, TenantSettings())
    known = await catalogue.tenants()
    for tenant in known:
        await sync.follow(tenant)
    return known
