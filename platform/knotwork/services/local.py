"""Mode local: from what a question names, through the graph, to the passages that bear on it, with no model call.

The question's names, the facts nearest to it, and the chunks nearest to it and most like it in words start a
personalised PageRank over names and chunks, which is read from the graph only as far as it matters; passages are ranked
by it.

Source: Gutiérrez et al., "From RAG to Memory: Non-Parametric Continual Learning for LLMs" (HippoRAG 2), ICML 2025.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace

import structlog

from knotwork.domain.model import EVERYONE, ChunkId, Passage, RelationshipId, TenantId
from knotwork.domain.question_names import longest_first, names_in
from knotwork.domain.retrieval import Reader, RetrievalResult, RetrieveOptions, Scored, checked_query
from knotwork.errors import StoreUnavailable
from knotwork.ports.graph_store import GraphStore
from knotwork.ports.models import Embedder
from knotwork.ports.vector_store import Collection, VectorStore, View
from knotwork.services.access import answer_soon
from knotwork.services.local_explanation import Explanation
from knotwork.services.local_links import near_links
from knotwork.services.local_seeds import DENSE_SEEDS, KEYWORD_SEEDS, Seeds, near_entities, near_facts
from knotwork.services.local_walk import Walk, chunk_of
from knotwork.services.passages import passages_for, view_of

log = structlog.get_logger()

WARM_UP = "who is tied to whom, and by what"
GRAPH_S = 10.0  # how long the graph may take for the first read of each question before it counts as away


class LocalRetriever:
    """Personalised PageRank over names and chunks around the question; scores are 1 for the best."""

    def __init__(self, graph: GraphStore, vectors: VectorStore, embedder: Embedder) -> None:
        self._graph, self._vectors, self._embedder = graph, vectors, embedder

    async def retrieve(self, reader: Reader, query: str, options: RetrieveOptions) -> tuple[Passage, ...]:
        return (await self.retrieve_with_usage(reader, query, options)).passages

    async def warm_up(self, tenant: TenantId) -> None:
        """Ask the graph what nobody asked, so that it plans its statements before somebody waits for them.

        No model is called: it may cost money.
        """
        reader, view = Reader(tenant), View((EVERYONE,))
        try:
            await Walk(self._graph, reader, view).read([span.name for span in names_in(WARM_UP)], [ChunkId(WARM_UP)])
            await self._graph.relationships(tenant, [RelationshipId(WARM_UP)], view=view, chunk_limit=1)
        except StoreUnavailable as error:
            log.info("warm_up_failed", mode="local", reason=str(error))

    async def retrieve_with_usage(self, reader: Reader, query: str, options: RetrieveOptions) -> RetrievalResult:
        query, view = checked_query(query), view_of(reader, options)
        embeddings = await self._embedder.embed([query], purpose="query")
        vector, wanted = embeddings.vectors[0], max(DENSE_SEEDS, options.top_k)
        dense, keyword, entities, facts = await asyncio.gather(
            self._vectors.search_dense(
                reader.tenant, Collection.CHUNKS, vector, view=view, limit=wanted, with_payload=False
            ),
            self._vectors.search_keyword(reader.tenant, query, view=view, limit=KEYWORD_SEEDS, with_payload=False),
            near_entities(self._graph, self._vectors, reader, view, vector),
            near_facts(self._graph, self._vectors, reader, view, vector),
        )
        spans = names_in(query)
        walk, seeds = Walk(self._graph, reader, view), Seeds({}, entities, facts, dense, keyword)
        looked_for = {*(span.name for span in spans), *seeds.near_names, *seeds.fact_ends}
        chunks = [ChunkId(hit.id) for hit in (*dense[:DENSE_SEEDS], *keyword)]
        await answer_soon(walk.read(looked_for, chunks), within_s=GRAPH_S)
        standing = longest_first(spans, walk.names.keys())
        seeds = replace(seeds, names={span.name: walk.names[span.name] for span in standing})
        for link in await near_links(self._graph, self._vectors, reader, view, seeds.names):
            walk.link(link.name, link.near, link.similarity)
        if starts := seeds.starts(walk.names):
            await walk.run(starts)
        passages = await passages_for(self._vectors, reader, options, _ranked(walk), query_vector=vector)
        explanation = Explanation(walk, seeds, [passage.id for passage in passages])
        await explanation.read_facts()
        return RetrievalResult(
            tuple(
                replace(passage, metadata={**passage.metadata, **explanation.of_passage(passage.id)})
                for passage in passages
            ),
            embeddings.usage,
            explanation.of_answer() if options.explain else None,
        )


def _ranked(walk: Walk) -> list[Scored]:
    """The chunks that the walk reached, the best with score 1."""
    shares = {id_: share for node, share in walk.ranks.items() if (id_ := chunk_of(node)) and share > 0}
    best = max(shares.values(), default=1.0)
    scored = [Scored(id_, share / best) for id_, share in shares.items()]
    return sorted(scored, key=lambda hit: (-hit.score, hit.id))
