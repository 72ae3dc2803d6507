"""The packaged extractor: names and typed relationships of a chunk, by a small English model and rules, offline.

Pure functions, meant to run in worker processes (the model holds the interpreter): an answer depends on the chunk's
text, title and headings alone, is the same alone and in a batch, and never fails, whatever the text.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple, TypedDict

from spacy.tokens import Doc, Token

from knotwork.adapters.models.rules.asides import Prose, take_out
from knotwork.adapters.models.rules.blocks import MAX_CHARS, split_blocks
from knotwork.adapters.models.rules.coreference import Coreference
from knotwork.adapters.models.rules.loading import installed_model, pipeline
from knotwork.adapters.models.rules.mentions import Mentions, find_mentions
from knotwork.adapters.models.rules.relations import RelationReader
from knotwork.adapters.models.rules.scripts import is_english, names_and_terms
from knotwork.adapters.models.rules.spellings import join_spellings
from knotwork.adapters.models.rules.structure import Layout, read_layout
from knotwork.adapters.models.rules.topic import Topic, read_title
from knotwork.adapters.models.rules.types import settle_types, type_by_form

RULES_VERSION: Final = "6"
"""Raised whenever the rules' answer to any text changes: extractions are reused as long as the id stays."""

EXTRACTOR_ID: Final = f"packaged-rules/{RULES_VERSION}+{'-'.join(installed_model()[:2])}"

ChunkText = tuple[str, str, tuple[str, ...]]
"""(text, title, heading trail) of a chunk: all that an extractor sees."""

_MAX_DESCRIPTION: Final = 480  # characters
_BATCH: Final = 32  # chunks the model reads at once


class EntityRow(TypedDict):
    name: str
    type: str
    description: str


RelationshipRow = TypedDict("RelationshipRow", {"from": str, "to": str, "type": str, "description": str})


class RawExtraction(TypedDict):
    entities: list[EntityRow]
    relationships: list[RelationshipRow]


def extract_rules(text: str, title: str, headings: tuple[str, ...]) -> RawExtraction:
    """Entities and relationships of one chunk, in order of appearance.

    Args:
        text: The chunk, plain or Markdown, in any language; its first 24,000 characters are read.
        title: Title of its source; it stands for the page's topic, which pronouns refer to.
        headings: Heading trail, outermost first.
    Returns:
        A raw extraction. An entity's description is the sentence that defines it, or empty; a relationship's is the
        sentence that asserts it; both at most 480 characters.
    """
    return extract_rules_many([(text, title, headings)])[0]


def extract_rules_many(items: Sequence[ChunkText]) -> list[RawExtraction]:
    """`extract_rules` of each item, in order; the model reads them in batches, which changes the speed alone."""
    answers: list[RawExtraction] = [{"entities": [], "relationships": []} for _ in items]
    english: list[tuple[str, _Plan]] = []
    for index, (text, title, headings) in enumerate(items):
        if is_english(text[:MAX_CHARS]):
            topic = read_title(title, text)
            layout = read_layout(split_blocks(text, headings), topic, headings)
            prose = take_out(block.text for block in layout.prose)
            english.append((prose.text, _Plan(index, topic, layout, prose)))
        else:
            answers[index] = _without_model(text[:MAX_CHARS], title)
    nlp = pipeline()
    with nlp.memory_zone():  # words of these texts leave the vocabulary with them
        for doc, plan in nlp.pipe(english, as_tuples=True, batch_size=_BATCH):
            _, _, headings = items[plan.item]
            answers[plan.item] = _read(doc, plan, headings)
    return answers


class _Plan(NamedTuple):
    item: int  # index
    topic: Topic | None
    layout: Layout
    prose: Prose


def _read(doc: Doc, plan: _Plan, headings: Sequence[str]) -> RawExtraction:
    topic = plan.topic
    marked = (word for block in plan.layout.prose for word in block.marked)
    mentions = find_mentions(doc, topic, marked, headings)
    subject = mentions.thing(topic.name) if topic else None
    hosts = _hosts(doc, plan.prose)
    join_spellings(doc, mentions, topic, hosts)
    facts: dict[tuple[int, str, int], str] = {}
    reader = RelationReader(doc, mentions, Coreference(doc, mentions, subject), hosts)
    for fact in reader.facts():
        facts.setdefault((fact.subject, fact.type, fact.object), _sentence(fact.token, plan.prose))
    for thing, token in reader.definitions.items():
        mentions.things[thing].description = _sentence(token, plan.prose)
    for stated in plan.layout.facts:
        ends = mentions.thing(stated.source), stated.type, mentions.thing(stated.target)
        facts.setdefault(ends, stated.line)
    for term, line in plan.layout.definitions:
        mentions.things[mentions.thing(term)].description = line
    for said in mentions.styles:
        facts.setdefault(said, "")
    aliases = list(mentions.aliases)
    if topic and subject is not None and topic.bare != topic.name:
        aliases.append((subject, mentions.thing(topic.bare)))
    for thing, alias in aliases:
        mentions.share_type(thing, alias)
        facts[thing, "also-known-as", alias] = ""
    settle_types(doc, mentions)
    return _rows(mentions, facts, subject)


def _sentence(token: Token, prose: Prose) -> str:
    return prose.quote(token.sent.start_char, token.sent.end_char)


def _hosts(doc: Doc, prose: Prose) -> dict[int, int]:
    """For each aside, its first token and the token that it was cut out after."""
    starts = {token.idx: token.i for token in doc}
    ends = {token.idx + len(token): token.i for token in doc}
    return {
        starts[aside.start]: ends[aside.cut] for aside in prose.asides if aside.start in starts and aside.cut in ends
    }


def _rows(mentions: Mentions, facts: dict[tuple[int, str, int], str], topic: int | None) -> RawExtraction:
    named = {owner for owner in mentions.at if owner >= 0 and not mentions.things[owner].tentative}
    ends = {end for source, _, target in facts for end in (source, target)}
    kept = sorted(named | ends | ({topic} if topic is not None else set()))
    things = mentions.things
    return {
        "entities": [
            {"name": things[i].name, "type": things[i].type, "description": _cut(things[i].description)} for i in kept
        ],
        "relationships": [
            {"from": things[source].name, "to": things[target].name, "type": kind, "description": _cut(sentence)}
            for (source, kind, target), sentence in facts.items()
        ],
    }


def _without_model(text: str, title: str) -> RawExtraction:
    topic = read_title(title, text)
    found = dict(names_and_terms(text))
    if topic:
        found.setdefault(topic.name, "concept")
    return {
        "entities": [
            {"name": name, "type": type_by_form(name) or kind, "description": ""} for name, kind in found.items()
        ],
        "relationships": [],
    }


def _cut(sentence: str) -> str:
    sentence = " ".join(sentence.split())
    return sentence if len(sentence) <= _MAX_DESCRIPTION else sentence[: _MAX_DESCRIPTION - 1] + "…"
