"""Mode navigate: choose documents by their outlines, then read them, as a person does; no vectors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import structlog

from knotwork.domain.filters import AnyOf, Filter
from knotwork.domain.model import NO_USAGE, ChunkId, Passage, SourceRef, Usage
from knotwork.domain.navigation import SHOWN, Chosen, Outline, rank_outlines, rank_read, sanitise_choice
from knotwork.domain.retrieval import Reader, RetrievalResult, RetrieveOptions, checked_query
from knotwork.errors import ModelFailed, ModelRefused, PlatformError
from knotwork.ports.chooser import Choice, Chooser
from knotwork.ports.outlines import Outlines
from knotwork.ports.vector_store import Collection, StoredPoint, VectorStore, View
from knotwork.services.passages import passage_from, view_of

log = structlog.get_logger()

SEARCHED = (800, 3200)  # chunks that the search over titles looks at: more only where long documents crowd out others


class LexicalChooser:
    """Picks the documents whose outlines, and best passages, have most of the question's words."""

    id = "lexical/1"

    async def choose(self, question: str, outlines: Sequence[Outline], limit: int) -> Choice:
        """See `Chooser`; the same answer every time, in any script, without a model."""
        picked = rank_outlines(question, outlines)[:limit]
        return Choice({"documents": [{"type": one.ref.type, "id": one.ref.id} for one in picked]})


@dataclass(frozen=True, slots=True)
class _Chosen:
    """What was chosen, by whom, and why it was not the configured chooser, if it was not."""

    outlines: tuple[Outline, ...]
    dropped: int
    chooser: str
    usage: Usage = NO_USAGE
    instead_of: str | None = None
    reason: str | None = None


class NavigateRetriever:
    """The best passages of the documents that a chooser picks; scores are cosines of word weights, in [-1, 1]."""

    def __init__(
        self, outlines: Outlines, vectors: VectorStore, chooser: Chooser, *, documents: int = 3, chunks: int = 40
    ) -> None:
        """Read at most `documents` documents and `chunks` chunks of each."""
        self._outlines, self._vectors, self._chooser = outlines, vectors, chooser
        self._documents, self._chunks = documents, chunks
        self._lexical = LexicalChooser()

    async def retrieve(self, reader: Reader, query: str, options: RetrieveOptions) -> tuple[Passage, ...]:
        return (await self.retrieve_with_usage(reader, query, options)).passages

    async def retrieve_with_usage(self, reader: Reader, query: str, options: RetrieveOptions) -> RetrievalResult:
        """See `MeteredRetriever`. Where another chooser had to do it, the explanation says so unasked."""
        query, view = checked_query(query), view_of(reader, options)
        shown, more = await self._shown(reader, query, view)
        chosen = await self._choose(query, shown)
        read: dict[ChunkId, StoredPoint] = {}
        place: dict[ChunkId, int] = {}
        for number, outline in enumerate(chosen.outlines, start=1):
            for point in await self._read(reader, query, view, outline.ref):
                read[ChunkId(point.id)] = point
                place[ChunkId(point.id)] = number
        passages: list[Passage] = []
        for hit in rank_read(query, {id_: _words(point.payload) for id_, point in read.items()}):
            if options.min_score is None or hit.score >= options.min_score:
                document = _document(chosen.outlines[place[hit.id] - 1], place[hit.id], chosen.chooser)
                passages.append(passage_from(hit.id, read[hit.id].payload, hit.score, document=document))
        tell = options.explain or chosen.instead_of is not None
        explanation = _explanation(shown, chosen, len(read), more=more) if tell else None
        return RetrievalResult(tuple(passages[: options.top_k]), chosen.usage, explanation)

    async def _shown(self, reader: Reader, query: str, view: View) -> tuple[list[Outline], bool]:
        """The outlines to choose from, the likeliest first, and whether there are more of them than are shown."""
        shown = await self._outlines.first(reader.tenant, view=view, limit=SHOWN + 1)
        more = len(shown) > SHOWN
        if more:
            found = await self._found(reader, query, view)
            shown = await self._outlines.of(reader.tenant, found, view=view)
        hits = await self._vectors.search_keyword(reader.tenant, query, view=view, limit=SEARCHED[0])
        score_of = {_ref(hit.payload): hit.score for hit in reversed(hits)}  # of the best passage
        return rank_outlines(query, [replace(one, word_score=score_of.get(one.ref, 0.0)) for one in shown]), more

    async def _found(self, reader: Reader, query: str, view: View) -> list[SourceRef]:
        """At most 200 documents by a search over titles and headings, and over texts between equals, best first."""
        found: dict[SourceRef, None] = {}
        for limit in SEARCHED:
            hits = await self._vectors.search_keyword(reader.tenant, query, view=view, limit=limit, by_outline=True)
            found = dict.fromkeys(_ref(hit.payload) for hit in hits)
            if len(found) >= SHOWN or len(hits) < limit:
                break
        return list(found)[:SHOWN]

    async def _choose(self, query: str, shown: Sequence[Outline]) -> _Chosen:
        """What the chooser picks; the lexical one, by name, where it fails or names nothing that was shown."""
        if not shown:
            return _Chosen((), 0, self._chooser.id)
        outline_of = {one.ref: one for one in shown}
        usage = NO_USAGE
        try:
            choice = await self._chooser.choose(query, shown, self._documents)
            usage = choice.usage
            chosen = sanitise_choice(choice.raw, outline_of.keys(), self._documents)
            if chosen.refs or not chosen.dropped:
                return _chosen(chosen, outline_of, self._chooser.id, usage)
            failure: PlatformError = ModelFailed("it named no document that was shown to it")
        except (ModelFailed, ModelRefused) as error:
            failure = error
        log.warning("chooser_failed", chooser=self._chooser.id, instead=self._lexical.id, reason=str(failure))
        choice = await self._lexical.choose(query, shown, self._documents)
        chosen = sanitise_choice(choice.raw, outline_of.keys(), self._documents)
        return replace(
            _chosen(chosen, outline_of, self._lexical.id, usage), instead_of=self._chooser.id, reason=str(failure)
        )

    async def _read(self, reader: Reader, query: str, view: View, ref: SourceRef) -> list[StoredPoint]:
        """The chunks of a document that are read: those with the question's words, then any, up to the limit."""
        conditions = (AnyOf("source_type", (ref.type,)), AnyOf("source_id", (ref.id,)))
        within = View(view.subjects, Filter((*(view.filter.conditions if view.filter else ()), *conditions)))
        hits = await self._vectors.search_keyword(reader.tenant, query, view=within, limit=self._chunks)
        found = {hit.id: StoredPoint(hit.id, hit.payload) for hit in hits}
        if len(found) < self._chunks:
            rest, _ = await self._vectors.scroll(
                reader.tenant, Collection.CHUNKS, view=within, after=None, limit=self._chunks
            )
            for point in rest[: self._chunks - len(found)]:
                found.setdefault(point.id, point)
        return list(found.values())


def _chosen(chosen: Chosen, outline_of: Mapping[SourceRef, Outline], chooser: str, usage: Usage) -> _Chosen:
    return _Chosen(tuple(outline_of[ref] for ref in chosen.refs), chosen.dropped, chooser, usage)


def _ref(payload: Mapping[str, object]) -> SourceRef:
    return SourceRef(str(payload["source_type"]), str(payload["source_id"]))


def _words(payload: Mapping[str, object]) -> str:
    """What is read of a chunk: title, headings and text, as keyword search does."""
    headings = payload["headings"]
    parts = [payload["title"], *(headings if isinstance(headings, list) else ()), payload["text"]]
    return "\n".join(str(part) for part in parts)


def _document(outline: Outline, rank: int, chooser: str) -> dict[str, object]:
    """The document chosen, as a passage of it names it."""
    return {"type": outline.ref.type, "id": outline.ref.id, "title": outline.title, "rank": rank, "chosen_by": chooser}


def _explanation(shown: Sequence[Outline], chosen: _Chosen, read: int, *, more: bool) -> dict[str, object]:
    told: dict[str, object] = {
        "chooser": chosen.chooser,
        "documents": [
            {"type": one.ref.type, "id": one.ref.id, "title": one.title, "headings": list(one.headings)}
            for one in chosen.outlines
        ],
        "shown": len(shown),
        "all_shown": not more,
        "dropped": chosen.dropped,
        "chunks_read": read,
    }
    if chosen.instead_of is not None:
        told["fallback"] = {"from": chosen.instead_of, "to": chosen.chooser, "reason": chosen.reason}
    return told
