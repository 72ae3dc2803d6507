"""Navigating: outlines of documents, the documents chosen by them, and the order of what was read in those."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import fsum, log, sqrt
from typing import cast

from knotwork.domain.bm25 import OUTLINE_LENGTH, query_terms, term_weights
from knotwork.domain.model import ChunkId, ParsedText, SourceRef
from knotwork.domain.retrieval import Scored

SHOWN = 200  # documents that a chooser is shown, at most
OUTLINE_HEADINGS = 500  # of a document, at most; a book has a few hundred
HEADING_CHARS = 200

Terms = Mapping[int, float]  # term id → weight


@dataclass(frozen=True, slots=True)
class Outline:
    """What a reader sees of a document before opening it; headings in the order of its text.

    `word_score` is the BM25 score of its best passage for the question at hand, where a search was made, else 0.
    """

    ref: SourceRef
    title: str
    headings: tuple[str, ...] = ()
    word_score: float = 0.0


@dataclass(frozen=True, slots=True)
class Chosen:
    """The documents that a choice comes to, best first, and how many of its entries were dropped."""

    refs: tuple[SourceRef, ...]
    dropped: int


def outline_headings(parsed: ParsedText) -> list[str]:
    """The headings of a text, in order: the first 500, each at most 200 characters long."""
    ordered = sorted(parsed.headings)
    return [text[:HEADING_CHARS] for heading in ordered if (text := heading.text.strip())][:OUTLINE_HEADINGS]


def sanitise_choice(raw: object, shown: Collection[SourceRef], limit: int) -> Chosen:
    """The documents that a chooser's answer names. Total: any value gives a choice, perhaps of nothing.

    Args:
        raw: {"documents": [{"type", "id"}, ...]}, or that list alone, best first; anything else names nothing.
        shown: What could be chosen.
        limit: Documents, at most.
    Returns:
        Pairs that were shown, each once, at most `limit`; entries that were not shown, repeated or over the limit, or
        that are no pair, are counted as dropped, and so is an answer of another form.
    """
    if isinstance(raw, Mapping):
        raw = cast("Mapping[object, object]", raw).get("documents")
    if not isinstance(raw, list | tuple):
        return Chosen((), 1)
    entries = cast("Sequence[object]", raw)
    known, refs = frozenset(shown), list[SourceRef]()
    for entry in entries:
        ref = _ref(entry)
        if ref in known and ref not in refs and len(refs) < limit:
            refs.append(ref)
    return Chosen(tuple(refs), len(entries) - len(refs))


def rank_outlines(question: str, outlines: Sequence[Outline]) -> list[Outline]:
    """Outlines by the question's words, best first; equals stay in their order.

    One half is BM25 over id, title and headings, with the statistics of these outlines, the other `word_score`; each is
    divided by its greatest, so that neither the number of documents nor of passages shifts the balance.
    """
    texts = ["\n".join([one.ref.id, one.title, *one.headings]) for one in outlines]
    weights = [term_weights(text, OUTLINE_LENGTH) for text in texts]
    idf = _idf(query_terms(question), weights)
    seen = _shares([fsum(idf[term] * terms[term] for term in idf if term in terms) for terms in weights])
    said = _shares([one.word_score for one in outlines])
    order = sorted(range(len(outlines)), key=lambda place: -(seen[place] + said[place]))
    return [outlines[place] for place in order]


def rank_read(question: str, texts: Mapping[ChunkId, str]) -> list[Scored]:
    """Chunks that were read, by the cosine of their words' weights and the question's.

    A word weighs idf(t) in the question and idf(t) times its BM25 weight in a chunk; the statistics are those of the
    chunks given, so that nothing else that is stored moves a score.

    Args:
        question: Any text.
        texts: What each chunk says, with title and headings.
    Returns:
        One Scored per chunk, best first, ties by id; unitless, in [0, 1].
    """
    weights = {id_: term_weights(text) for id_, text in texts.items()}
    idf = _idf({term for terms in weights.values() for term in terms} | query_terms(question).keys(), weights.values())
    asked = {term: idf[term] for term in query_terms(question)}
    scored: list[Scored] = []
    for id_, terms in weights.items():
        read = {term: idf[term] * weight for term, weight in terms.items()}
        shared = fsum(asked[term] * read[term] for term in asked if term in read)
        scored.append(Scored(id_, min(1.0, shared / (_length(asked) * _length(read))) if shared else 0.0))
    return sorted(scored, key=lambda hit: (-hit.score, hit.id))


def _idf(terms: Iterable[int], documents: Collection[Terms]) -> dict[int, float]:
    """Inverse document frequency of each term among these documents, as keyword search has it."""
    holding = Counter(term for document in documents for term in document)
    total = sum(1 for document in documents if document)
    return {term: log(1 + (total - holding[term] + 0.5) / (holding[term] + 0.5)) for term in terms}


def _shares(scores: Sequence[float]) -> list[float]:
    """Each score as a share of the greatest."""
    greatest = max(scores, default=0.0)
    return [score / greatest if greatest > 0 else 0.0 for score in scores]


def _length(weights: Terms) -> float:
    return sqrt(fsum(weight * weight for weight in weights.values()))


def _ref(entry: object) -> SourceRef | None:
    """The (type, id) pair that an entry names."""
    if not isinstance(entry, Mapping):
        return None
    pair = cast("Mapping[object, object]", entry)
    type_, id_ = pair.get("type"), pair.get("id")
    return SourceRef(type_, id_) if isinstance(type_, str) and isinstance(id_, str) else None
