"""Noun phrases that are key terms: those that recur, or stand in the title or a heading."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Final

from spacy.tokens import Doc, Span

from knotwork.adapters.models.rules.candidates import MODEL_RANK, Candidate, is_wordlike
from knotwork.adapters.models.rules.loading import lemma
from knotwork.adapters.models.rules.vocabulary import HEAD_TYPES, LIGHT_ADJECTIVES

_MAX_TERM_TOKENS: Final = 4
_MIN_REPEATS: Final = 2  # occurrences that make a noun phrase a key term
_COMMON: Final = frozenset(("NN", "NNS"))


def key_terms(doc: Doc, headlines: set[str]) -> Iterator[Candidate]:
    """Noun phrases of two to four words, nouns at their end: key terms where they recur or stand in title or headings.

    A single noun is a key term only where it is the whole of a title or heading.
    """
    spans = list(_noun_phrases(doc))
    names = [_term_name(span) for span in spans]
    counts = Counter(name.casefold() for name in names)
    for span, name in zip(spans, names, strict=True):
        key = name.casefold()
        if len(span) > 1:
            firm = counts[key] >= _MIN_REPEATS or any(key in line for line in headlines)
            if firm or span[-2].tag_ in _COMMON:
                kind = HEAD_TYPES.get(lemma(span[-1].lower_, "noun"), "concept")
                yield Candidate(MODEL_RANK + 2, span.start, span.end, kind, not firm, name)
        elif key in headlines:
            yield Candidate(MODEL_RANK + 3, span.start, span.end, "concept", name=name)


def _noun_phrases(doc: Doc) -> Iterator[Span]:
    start = None
    for index in range(len(doc) + 1):
        tag = doc[index].tag_ if index < len(doc) else ""
        if tag in _COMMON or (tag == "JJ" and start is None and doc[index].lower_ not in LIGHT_ADJECTIVES):
            start = index if start is None else start
            continue
        if start is not None:
            while (
                start < index and doc[start].tag_ == "JJ" and index - start > 1 and doc[start + 1].tag_ not in _COMMON
            ):
                start += 1
            if doc[index - 1].tag_ in _COMMON and index - start <= _MAX_TERM_TOKENS and is_wordlike(doc[start:index]):
                yield doc[start:index]
            start = None
        if tag == "JJ" and index < len(doc) and doc[index].lower_ not in LIGHT_ADJECTIVES:
            start = index


def _term_name(span: Span) -> str:
    """The phrase with its last noun in the singular, so that `retry budgets` meets `retry budget`."""
    last = span[-1]
    words = [token.text for token in span[:-1]]
    return " ".join([*words, lemma(last.lower_, "noun") if last.tag_ == "NNS" else last.text])
