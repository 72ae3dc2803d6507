"""What models see of a chunk, and the keys under which their answers are kept and used again."""

from __future__ import annotations

import json

from knotwork.domain.ids import content_hash, split_entity_id, split_relationship_id
from knotwork.domain.model import Chunk, EntityId, ParsedText, RelationshipId

PREVIEW_CHARS = 200


def embedding_text(chunk: Chunk) -> str:
    """What the embedder reads of a chunk: title and headings first, as they say what the text is about."""
    context = [part for part in (chunk.title, *chunk.headings) if part and not chunk.text.startswith(part)]
    return "\n".join([*dict.fromkeys(context), chunk.text])


def embedding_key(embedder_id: str, chunk: Chunk) -> str:
    """Hash of the embedder and all it sees: an equal key means an equal vector."""
    return _key(embedder_id, embedding_text(chunk))


def extraction_key(extractor_id: str, chunk: Chunk) -> str:
    """Hash of the extractor and all it sees: under an equal key an answer is used again."""
    return _key(extractor_id, chunk.title, *chunk.headings, chunk.text)


def entity_text(id_: EntityId) -> str:
    """What the embedder reads of an entity: normalised name and type, so that the vector depends on the id alone."""
    type_, name = split_entity_id(id_)
    return name if type_ in {"unknown", "concept"} else f"{name} ({type_.replace('-', ' ')})"


def relationship_text(id_: RelationshipId) -> str:
    """What the embedder reads of a relationship: the fact as a short sentence, which depends on the id alone."""
    from_id, type_, to_id = split_relationship_id(id_)
    return f"{split_entity_id(from_id)[1]} {type_.replace('-', ' ')} {split_entity_id(to_id)[1]}"


def text_hash(parsed: ParsedText) -> str:
    """Hash of a parsed document with its title, headings and pages."""
    headings = [[heading.start, heading.level, heading.text] for heading in parsed.headings]
    pages = [[page.start, page.page] for page in parsed.pages]
    return _key(parsed.title, json.dumps(headings), json.dumps(pages), parsed.text)


def _key(*parts: str) -> str:
    return content_hash(json.dumps(parts))
